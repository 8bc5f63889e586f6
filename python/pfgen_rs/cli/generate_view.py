"""Shows progress, tasks for people, and the outcome of `pfgen-rs generate`."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from pfgen_rs.cli import output, process, progress, streams
from pfgen_rs.cli.score_table import tell_cut
from pfgen_rs.io.text import counted, plural, visible

if TYPE_CHECKING:
    from pfgen_rs.ask.costs import Prices
    from pfgen_rs.ask.protocol import Task, Usage
    from pfgen_rs.generate.runner import Run

_SHOWN = 5
EVERY = 30.0
"""Seconds between progress lines if standard error is not a terminal."""
PUBLISHED_EXAMPLES = 20
_END = b"."


@contextmanager
def generation_progress(
    doing: str = "generating",
) -> Iterator[Callable[[int, int, float, int], None]]:
    """Show a progress bar with answers per second, failures and remaining time. Yields its update function.

    If standard error is not a terminal, prints the same as a line at intervals.
    """
    process.interrupt_reads()
    name = TextColumn("{task.description}", markup=False)
    rate = TextColumn("{task.fields[rate]}", markup=False)
    columns = (SpinnerColumn(), name, BarColumn(), MofNCompleteColumn(), rate)
    counts: list[Counts] = []
    with (
        output.progress(*columns, TimeRemainingColumn()) as bar,
        progress.logged("pfgen_rs.generate"),
        progress.told_at_times(lambda: _line(counts[-1]) if counts else "", EVERY),
    ):
        task = bar.add_task(doing, total=None, rate="")

        def update(done: int, total: int, rate: float, failed: int) -> None:
            counts[:] = [Counts(done, total, rate, failed)]
            shown = ", ".join([*_rate(rate, " answers"), *_failures(failed)])
            bar.update(task, completed=done, total=total, rate=shown)

        yield update


class Counts(NamedTuple):
    """Progress of a run."""

    done: int
    total: int
    rate: float
    failed: int


def _line(now: Counts) -> str:
    parts = [f"{now.done:,} of {counted(now.total, 'answer')}", *_rate(now.rate)]
    if now.rate:
        left = (now.total - now.done - now.failed) / now.rate
        parts.append(f"{_duration(left)} left")
    return ", ".join([*parts, *_failures(now.failed)])


def _rate(rate: float, of: str = "") -> list[str]:
    return [f"{rate:,.1f}{of}/s"] if rate else []


def _failures(failed: int) -> list[str]:
    return [f"{failed:,} failed"] if failed else []


def _duration(seconds: float) -> str:
    """Format a duration for people, rounded up."""
    if seconds <= 90:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def ask_person(task: Task) -> str | None:
    """Show a task and read the pasted answer. Returns `None` at the end of the input."""
    parts = [
        f"--- trial {task.trial} ---",
        *_pasted_lines(task.system),
        *_pasted_lines(task.prompt),
    ]
    streams.emit("\n".join(parts) + "\n")
    streams.emit("--- paste the answer, then a line with only a dot; Ctrl-D quits ---\n")
    process.interrupt_reads()
    answer = b""
    while (line := sys.stdin.buffer.readline()).strip() != _END:
        if not line:
            return answer.decode(errors="replace") if answer.strip() else None
        answer += line
    return answer.decode(errors="replace")


def _pasted_lines(text: str | None) -> list[str]:
    return [] if text is None else [visible(line) for line in text.split("\n")]


def tell_beginning(benchmark: str, questions: int, trials: int, folder: Path | None) -> None:
    """Print the benchmark, because the default one is small; `folder`: where answers are written."""
    into = "" if folder is None else f", into {folder}"
    asked = f"{counted(questions, 'question')}, {counted(trials, 'trial')}"
    streams.remark(f"benchmark {benchmark}: {asked}{into}")


def check_examples(wanted: int, questions: int) -> None:
    """Warn if there are too few examples: each prompt shows examples of other questions than its own."""
    there = max(questions - 1, 0)
    # No warning for the default.
    if wanted > there and wanted != PUBLISHED_EXAMPLES:
        streams.warn(
            f"prompts show {counted(there, 'example answer')} instead of {wanted}: no more are available"
        )


def tell_run(run: Run, prices: Prices | None = None) -> None:
    """Print the numbers of trials, answers and tokens, the cost at these prices, and failures."""
    _tell_failures(run)
    if run.elsewhere:
        count = len(run.elsewhere)
        streams.warn(
            f"{counted(count, 'trial')} {plural(count, 'is', 'are')} being worked on by other processes"
        )
    streams.emit(
        f"{run.folder}: {run.finished} of {counted(run.trials, 'trial')}, "
        f"{counted(run.answers, 'new answer')}\n"
    )
    if run.result is None:  # else said with the score
        tell_cut(run.folder)
    if run.usage:
        streams.emit(f"used: {_used(run.usage, prices)}\n")
    if run.total_usage and run.total_usage != run.usage:
        streams.emit(f"used by the whole run: {_used(run.total_usage, prices)}\n")


def _used(usage: Usage, prices: Prices | None) -> str:
    if not usage.reported:
        return f"{counted(usage.requests, 'request')}; no numbers of tokens were reported"

    def part(count: int, what: str) -> str:
        return f" ({count:,} {what})" if count else ""

    unknown = usage.requests - usage.reported
    return ", ".join(
        [
            counted(usage.requests, "request") + part(unknown, "without a number of tokens"),
            counted(usage.prompt_tokens, "prompt token") + part(usage.cached_tokens, "cached"),
            counted(usage.completion_tokens, "completion token")
            + part(usage.reasoning_tokens, "of reasoning"),
            *([] if prices is None else [_cost(usage, prices)]),
        ]
    )


def _cost(usage: Usage, prices: Prices) -> str:
    """Cached tokens cost as much as the others."""
    return "cost " + prices.shown(prices.cost(usage.prompt_tokens, usage.completion_tokens))


def tell_score(run: Run, *, partial: bool) -> None:
    """Print the scores, or why there are none; `partial`: whether unfinished trials count, too."""
    if run.result is not None:
        from pfgen_rs.cli.options import RowsFormat
        from pfgen_rs.cli.score_table import report_gaps, show_results

        report_gaps(run.result)
        show_results([run.result], RowsFormat.TABLE)
    elif partial:
        streams.warn("nothing to score: no question has an answer")
    else:
        streams.warn(
            f"nothing to score: no trial is complete{_worst_question(run)}; --score-partial scores "
            "the answers of unfinished trials"
        )


def tell_import(unused: Sequence[tuple[int, str]], blank: int) -> None:
    """Warn about imported answers that could not be used."""
    if unused:
        trial, question = unused[0]
        streams.warn(
            f"{len(unused)} of the imported answers do not match an open task, the first: trial {trial}, "
            f"{question!r}"
        )
    if blank:
        streams.warn(f"{blank} of the imported answers are empty or failed: their tasks stay open")


def _tell_failures(run: Run) -> None:
    earlier = set(run.earlier)
    for failure in [*(f for f in run.failures if f not in earlier), *run.earlier][:_SHOWN]:
        when = "given up earlier: " if failure in earlier else ""
        streams.warn(f"{when}trial {failure.trial}, {failure.question}: {failure.reason}")
    if run.failures:
        count = len(run.failures)
        streams.warn(
            f"{counted(count, 'task')} {plural(count, 'has', 'have')} no answer, as listed in "
            f"{run.folder / 'unscored.jsonl'}: "
            "run the same command with --retry-failed to ask again"
        )


def _worst_question(run: Run) -> str:
    """Returns a note on the question that failed most often."""
    failed = Counter(failure.question for failure in run.failures)
    if not failed:
        return ""
    [(question, times)] = failed.most_common(1)
    often = f"{times} of {run.trials}"
    if times == run.trials:
        often = "the only trial" if times == 1 else f"all {times}"
    return f"; {question!r} failed in {often}"
