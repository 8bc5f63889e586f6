"""What `pfgen-rs generate` shows: progress, tasks for people, and what has become of a run."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from pfgen_rs.cli import output, signals
from pfgen_rs.cli.text import visible

if TYPE_CHECKING:
    from pfgen_rs.generate.prompts import Task
    from pfgen_rs.generate.runner import Run

__all__ = ["EVERY", "ask", "generating", "tell"]

_SHOWN = 5
EVERY = 30.0
"""Seconds between lines where standard error is no terminal."""
_END = b"."


@contextmanager
def generating() -> Iterator[Callable[[int, int, float, int], None]]:
    """A bar of the answers, with new ones a second, failures and the time left; call it with those figures.

    Where standard error is no terminal, a line now and then says the same.
    """
    signals.interrupt_reads()
    name = TextColumn("{task.description}", markup=False)
    rate = TextColumn("{task.fields[rate]}", markup=False)
    columns = (SpinnerColumn(), name, BarColumn(), MofNCompleteColumn(), rate)
    figures: list[Figures] = []
    with (
        output.progress(*columns, TimeRemainingColumn()) as bar,
        output.logged("pfgen_rs.generate"),
        output.told_at_times(lambda: _line(figures[-1]) if figures else "", EVERY),
    ):
        task = bar.add_task("generating", total=None, rate="")

        def update(done: int, total: int, rate: float, failed: int) -> None:
            figures[:] = [Figures(done, total, rate, failed)]
            shown = ", ".join([*_rate(rate, " answers"), *_failed(failed)])
            bar.update(task, completed=done, total=total, rate=shown)

        yield update


class Figures(NamedTuple):
    """How far a run is."""

    done: int
    total: int
    rate: float
    failed: int


def _line(now: Figures) -> str:
    parts = [f"{now.done:,} of {now.total:,} answers", *_rate(now.rate)]
    if now.rate:
        left = (now.total - now.done - now.failed) / now.rate
        parts.append(f"{_duration(left)} left")
    return ", ".join([*parts, *_failed(now.failed)])


def _rate(rate: float, of: str = "") -> list[str]:
    return [f"{rate:,.1f}{of}/s"] if rate else []


def _failed(failed: int) -> list[str]:
    return [f"{failed:,} failed"] if failed else []


def _duration(seconds: float) -> str:
    """A time as people say it, rounded up."""
    if seconds <= 90:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def ask(task: Task) -> str | None:
    """Show a task and read the answer that is pasted; `None` at the end of the input."""
    parts = [f"--- trial {task.trial} ---", *_lines(task.system), *_lines(task.prompt)]
    output.emit("\n".join(parts) + "\n")
    output.emit(
        "--- paste the answer, then a line that holds a dot alone; Ctrl-D ends it all ---\n"
    )
    signals.interrupt_reads()
    answer = b""
    while (line := sys.stdin.buffer.readline()).strip() != _END:
        if not line:
            return answer.decode(errors="replace") if answer.strip() else None
        answer += line
    return answer.decode(errors="replace")


def _lines(text: str | None) -> list[str]:
    return [] if text is None else [visible(line) for line in text.split("\n")]


def tell(run: Run, unused: int) -> None:
    """Say what is there, what was given up and why, and show the scores where there are any."""
    for failure in run.failures[:_SHOWN]:
        output.warn(f"trial {failure.trial}, {failure.question}: {failure.reason}")
    if run.failures:
        output.warn(
            f"{len(run.failures)} tasks have no answer and are listed in {run.folder / 'unscored.jsonl'}: "
            "run the same command with --retry-failed to ask again"
        )
    if run.elsewhere:
        output.warn(f"{len(run.elsewhere)} trials are being worked on by other processes")
    if unused:
        output.warn(f"{unused} of the imported answers answer nothing that was open")
    output.emit(
        f"{run.folder}: {run.finished} of {run.trials} trials, {run.answers:,} new answers\n"
    )
    if run.result is not None:
        from pfgen_rs.cli.score import ScoreFormat, report_gaps, show_results

        report_gaps(run.result)
        show_results([run.result], ScoreFormat.TABLE, plain=False)
