"""What files of others hold: pairs, judgments in the form of verdict folders, and verdicts of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.judge.binding import imported_digest
from pfgen_rs.judge.decisions import Decision, decide
from pfgen_rs.judge.letters import Letter
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.verdicts import Verdict

__all__ = ["Collector", "Imported", "decided", "iso_time", "unix_time"]

Judgment = dict[str, Any]


@dataclass(frozen=True)
class Imported:
    """Pairs with judgments and verdicts of people.

    `judgments`: records as in the journal of a verdict folder. `humans`: pair id, rater, letter.
    `notes`: what is missing or was left out, for the user.
    """

    pairs: list[Pair]
    judgments: list[Judgment] = field(default_factory=list)
    humans: list[tuple[str, str, Letter]] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    @property
    def judges(self) -> list[str]:
        """The judges, in the order in which they occur."""
        return list(dict.fromkeys(each["judge"]["model"] for each in self.judgments))

    def of_judge(self, judge: str | None) -> Imported:
        """Returns the same with the judgments of one judge.

        `judge`: may be `None` if there is at most one. Raises `InputError` for an unknown or unclear choice.
        """
        known = self.judges
        if judge is None and len(known) <= 1:
            return self
        if judge not in known:
            names = ", ".join(known) or "none"
            problem = "several judges" if judge is None else f"unknown judge {judge!r}"
            raise InputError(f"{problem}: choose one of {names}")
        return replace(
            self, judgments=[each for each in self.judgments if each["judge"]["model"] == judge]
        )

    def by_pair(self) -> dict[str, list[Judgment]]:
        """Returns the judgments of each pair, also of pairs without any."""
        found: dict[str, list[Judgment]] = {pair.id: [] for pair in self.pairs}
        for each in self.judgments:
            found[each["pair"]].append(each)
        return found


class Collector:
    """Collects what a reader finds, each pair once and each judgment once."""

    def __init__(self, source: str) -> None:
        """`source`: name of the format, the `engine` of its judgments."""
        self.source = source
        self.pairs: dict[str, Pair] = {}
        self.judgments: dict[tuple[str, str, int], Judgment] = {}
        self.humans: dict[tuple[str, str], Letter] = {}

    def add_pair(self, pair: Pair) -> None:
        """Add a pair, which may occur again unchanged. Raises `InputError` if other texts have its id."""
        if self.pairs.setdefault(pair.id, pair) != pair:
            raise InputError(f"pair {pair.id!r:.80} occurs twice with different texts")

    def add_judgment(
        self,
        pair: Pair,
        order: int,
        judge: str,
        shown: Letter | None,
        *,
        prompt: str,
        output: str = "",
        probabilities: Mapping[str, float] | None = None,
        timestamp: str | None = None,
        problem: str = "no verdict",
        **more: Any,
    ) -> None:
        """Add a judgment. `problem`: why there is no verdict. Raises `InputError` for a second one."""
        key = (judge, pair.id, order)
        if key in self.judgments:
            raise InputError(
                f"second judgment of pair {pair.id!r:.80} in order {order} by {judge!r:.80}"
            )
        self.judgments[key] = {
            "pair": pair.id,
            "question_id": pair.question_id,
            "task": pair.task,
            "models": list(pair.models),
            "order": order,
            "sample": 0,
            "prompt": prompt,
            "judge": {
                "engine": self.source,
                "model": judge,
                "temperature": None,
                "seed": None,
                "base_url": None,
            },
            "digest": imported_digest(self.source, judge, pair, order),
            "output": output,
            "finish_reason": None,
            "shown": shown,
            "probabilities": None if probabilities is None else dict(probabilities),
            "problem": problem if shown is None else None,
            "usage": None,
            "left_out": [],
            "timestamp": timestamp,
            **more,
        }

    def add_human(self, pair: Pair, rater: str, verdict: Letter) -> None:
        """Add a rater's verdict. Raises `InputError` for a second one."""
        if (pair.id, rater) in self.humans:
            raise InputError(f"second verdict of rater {rater!r:.80} on pair {pair.id!r:.80}")
        self.humans[pair.id, rater] = verdict

    def imported(self, *notes: str) -> Imported:
        """Returns what was found. Raises `InputError` if there is no pair."""
        if not self.pairs:
            raise InputError(f"contains no pairs in the format {self.source}")
        return Imported(
            list(self.pairs.values()),
            list(self.judgments.values()),
            [(pair, rater, verdict) for (pair, rater), verdict in self.humans.items()],
            tuple(notes),
        )


def decided(judgments: Sequence[Judgment]) -> tuple[Letter | None, Decision]:
    """Returns the letter of a pair's judgments for formats with one verdict a pair, and the whole decision.

    Both orders: their verdict if they agree, else C (rule `tie`); one order: its verdict.
    """
    verdicts = {
        each["order"]: Verdict(each["shown"], each["probabilities"])
        for each in judgments
        if each["sample"] == 0
    }
    decision = decide(verdicts.get(1), verdicts.get(2))
    if len(verdicts) == 1:
        first, second = decision.verdicts
        return first or second, decision
    return decision.tie, decision


def iso_time(seconds: object) -> str | None:
    """Returns a time in seconds since 1970 as ISO 8601, `None` for anything else."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return None


def unix_time(timestamp: str | None) -> float:
    """Returns an ISO 8601 time in seconds since 1970; -1, as FastChat has it, for anything else."""
    try:
        return datetime.fromisoformat(timestamp or "").timestamp()
    except ValueError:
        return -1
