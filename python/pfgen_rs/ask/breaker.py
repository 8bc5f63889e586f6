"""Stopping a run in which every task fails, before all of them have been tried."""

from __future__ import annotations

from typing import NamedTuple

from pfgen_rs.ask.protocol import Failed
from pfgen_rs.errors import GenerationError
from pfgen_rs.io.text import shortened

_OPEN = (
    "These tasks stay open: run the command again once the cause is removed, or ignore such failures with "
    "--keep-going"
)


class _Limit(NamedTuple):
    """Number in a row that ends the run: as long as nothing was answered, and afterwards."""

    before: int
    after: int


_FAILURES = _Limit(8, 64)
_BLANKS = _Limit(32, 320)  # base models often generate some
_QUESTIONS = 4
"""Number of different questions that must be concerned, since a model may never answer a few of them."""
_SHOWN = 120  # characters of an output


class Breaker:
    """Ends a run with `GenerationError` if too many tasks in a row fail, or have answers of no use.

    `questions`: number of questions in the benchmark. Failures that concern their task alone end it only if
    they also outnumber the tasks still in progress: rejections arrive long before answers do.
    """

    def __init__(self, questions: int) -> None:
        self._spread = min(questions, _QUESTIONS)
        self._before = True
        self._failures, self._rejections, self._blanks = _Streak(), _Streak(), _Streak()

    def answered(self) -> None:
        """Count an answer, which ends all streaks."""
        self._before = False
        for streak in (self._failures, self._rejections, self._blanks):
            streak.clear()

    def failed(self, failed: Failed, waiting: int) -> None:
        """Count a failure; `waiting`: number of tasks in progress."""
        limit = self._limit(_FAILURES)
        streak = self._failures
        if failed.individual:
            limit, streak = max(_FAILURES.after, waiting), self._rejections
        streak.add(failed.task.question, failed.reason, failed.cure)
        self._check(streak, limit, "tasks failed", _OPEN)

    def blank(self, question: str, reason: str, cure: str) -> None:
        """Count a blank answer."""
        self._blanks.add(question, reason, cure)
        self._check(self._blanks, self._limit(_BLANKS), "answers were blank", _OPEN)

    def unread(self, question: str, reason: str, output: str, again: str) -> None:
        """Count an output in which what was asked for cannot be read; `again`: how to ask for it again."""
        example = shortened(output.strip(), _SHOWN)
        self._blanks.add(question, f"{reason}, as in {example!r}" if example else reason, "")
        what = f"{again} once the cause is removed, or ignore such outputs with --keep-going"
        self._check(self._blanks, self._limit(_BLANKS), "outputs could not be read", what)

    def _limit(self, limit: _Limit) -> int:
        return limit.before if self._before else limit.after

    def _check(self, streak: _Streak, limit: int, what: str, then: str) -> None:
        if streak.count < limit or len(streak.questions) < self._spread:
            return
        none = ", and no task was answered" if self._before else ""
        cure = f"{streak.cure[:1].upper()}{streak.cure[1:]}. " if streak.cure else ""
        raise GenerationError(
            f"{streak.count} {what} in a row{none}: {streak.reason.rstrip('.')}. {cure}{then}"
        )


class _Streak:
    """Events in a row, with the reason for the first one."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Start again."""
        self.count = 0
        self.questions: set[str] = set()
        self.reason = self.cure = ""

    def add(self, question: str, reason: str, cure: str) -> None:
        """Count one."""
        if not self.count:
            self.reason, self.cure = reason, cure
        self.count += 1
        self.questions.add(question)
