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

from pfgen_rs.cli import output, process, progress_log
from pfgen_rs.io.safe_text import visible

if TYPE_CHECKING:
    from pfgen_rs.generate.prompts import Task
    from pfgen_rs.generate.runner import Run

__all__ = [
    "EVERY",
    "ask_person",
    "check_examples",
    "generation_progress",
    "tell_beginning",
    "tell_import",
    "tell_run",
]

_SHOWN = 5
EVERY = 30.0
"""Seconds between progress lines if standard error is not a terminal."""
PUBLISHED_EXAMPLES = 20
_END = b"."


@contextmanager
def generation_progress() -> Iterator[Callable[[int, int, float, int], None]]:
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
        progress_log.logged("pfgen_rs.generate"),
        progress_log.told_at_times(lambda: _generation_line(counts[-1]) if counts else "", EVERY),
    ):
        task = bar.add_task("generating", total=None, rate="")

        def update(done: int, total: int, rate: float, failed: int) -> None:
            counts[:] = [Counts(done, total, rate, failed)]
            shown = ", ".join([*_generation_rate(rate, " answers"), *_generation_failures(failed)])
            bar.update(task, completed=done, total=total, rate=shown)

        yield update


class Counts(NamedTuple):
    """Progress of a run."""

    done: int
    total: int
    rate: float
    failed: int


def _generation_line(now: Counts) -> str:
    parts = [f"{now.done:,} of {now.total:,} answers", *_generation_rate(now.rate)]
    if now.rate:
        left = (now.total - now.done - now.failed) / now.rate
        parts.append(f"{_generation_duration(left)} left")
    return ", ".join([*parts, *_generation_failures(now.failed)])


def _generation_rate(rate: float, of: str = "") -> list[str]:
    return [f"{rate:,.1f}{of}/s"] if rate else []


def _generation_failures(failed: int) -> list[str]:
    return [f"{failed:,} failed"] if failed else []


def _generation_duration(seconds: float) -> str:
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
    output.emit("\n".join(parts) + "\n")
    output.emit("--- paste the answer, then a line with only a dot; Ctrl-D quits ---\n")
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
    output.remark(f"benchmark {benchmark}: {questions} questions, {trials:,} trials{into}")


def check_examples(wanted: int, questions: int) -> None:
    """Warn if there are too few examples: each prompt shows examples of other questions than its own."""
    there = max(questions - 1, 0)
    # No warning for the default.
    if wanted > there and wanted != PUBLISHED_EXAMPLES:
        output.warn(
            f"prompts show {there} example answers instead of {wanted}: no more are available"
        )


def tell_run(run: Run, *, score: bool) -> None:
    """Print the numbers of trials and answers, failures with their reasons and, if requested, the scores."""
    _tell_generation_failures(run)
    if run.elsewhere:
        output.warn(f"{len(run.elsewhere)} trials are being worked on by other processes")
    output.emit(
        f"{run.folder}: {run.finished} of {run.trials} trials, {run.answers:,} new answers\n"
    )
    if run.result is not None:
        from pfgen_rs.cli.options import RowsFormat
        from pfgen_rs.cli.score import report_gaps, show_results

        report_gaps(run.result)
        show_results([run.result], RowsFormat.TABLE, plain=False)
    elif score:
        output.warn(f"nothing to score: no trial is complete{_worst_generated_question(run)}")


def tell_import(unused: Sequence[tuple[int, str]], blank: int) -> None:
    """Warn about imported answers that could not be used."""
    if unused:
        trial, question = unused[0]
        output.warn(
            f"{len(unused)} of the imported answers do not match an open task, the first: trial {trial}, "
            f"{question!r}"
        )
    if blank:
        output.warn(f"{blank} of the imported answers are empty: their tasks stay open")


def _tell_generation_failures(run: Run) -> None:
    earlier = set(run.earlier)
    for failure in [*(f for f in run.failures if f not in earlier), *run.earlier][:_SHOWN]:
        when = "given up earlier: " if failure in earlier else ""
        output.warn(f"{when}trial {failure.trial}, {failure.question}: {failure.reason}")
    if run.failures:
        output.warn(
            f"{len(run.failures)} tasks have no answer and are listed in {run.folder / 'unscored.jsonl'}: "
            "run the same command with --retry-failed to ask again"
        )


def _worst_generated_question(run: Run) -> str:
    """Returns a note on the question that failed most often."""
    failed = Counter(failure.question for failure in run.failures)
    if not failed:
        return ""
    [(question, times)] = failed.most_common(1)
    often = f"all {times}" if times == run.trials else f"{times} of {run.trials}"
    return f"; {question!r} failed in {often}"
