"""Everything the commands print: results to standard output, remarks and errors to standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from pfgen_rs.cli import process, table_fit
from pfgen_rs.cli.progress_fit import OneLineProgress
from pfgen_rs.cli.streams import (
    BAD_INPUT,
    emit,
    emit_csv,
    emit_json,
    errors_reported,
    fail,
    remark,
    report_error,
    warn,
    writing,
)
from pfgen_rs.io.safe_text import visible

if TYPE_CHECKING:
    from pfgen_rs.io import Source

__all__ = [
    "BAD_INPUT",
    "building",
    "busy",
    "cell",
    "emit",
    "emit_csv",
    "emit_json",
    "errors_reported",
    "fail",
    "first_that_fits",
    "new_table",
    "progress",
    "remark",
    "report_error",
    "resumable",
    "scoring",
    "show",
    "track",
    "warn",
    "width",
]

# Told the file that is being read, the bytes read of it, and the responses scored since the last call.
Progressed = Callable[["Source", int, int], None]
_BARS = 8  # what began last
_UNLIMITED = 10_000  # columns; where nobody looks, nothing needs to be folded


def show(*parts: RenderableType) -> None:
    """Print tables and text; unfolded where standard output is no terminal.

    A table that is too wide for the terminal is printed with its columns below each other. Lines of
    text are left to the terminal to fold, so that they are copied whole.
    """
    console = _console()
    with writing(), console.capture() as captured:  # the end of a capture touches the stream, too
        for part in parts:
            if isinstance(part, Table) and not table_fit.fits(part, console.width):
                console.print(table_fit.stacked(part))
            else:
                console.print(part, soft_wrap=isinstance(part, Text))
    emit(captured.get())


def _console() -> Console:
    terminal = sys.stdout.isatty()
    width = None if terminal or "COLUMNS" in os.environ else _UNLIMITED
    return Console(width=width, markup=False, highlight=False, emoji=False)


def width() -> int:
    """Columns of the window; very many where nobody looks."""
    return _console().width


def first_that_fits(*tables: Table) -> Table:
    """The first table for which there is room; the first of all where there is none for any."""
    room = width()
    return next((table for table in tables if table_fit.fits(table, room)), tables[0])


def new_table(*columns: str, numbers: Iterable[str] = (), title: str | None = None) -> Table:
    """An empty table; columns named in `numbers` are right-aligned and never folded."""
    shown = None if title is None else cell(title)
    table = Table(title=shown, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.collapse_padding, table.pad_edge = True, False
    right = set(numbers)
    for name in columns:
        if name in right:
            table.add_column(cell(name), justify="right", no_wrap=True)
        else:
            table.add_column(cell(name), overflow="fold")
    return table


def cell(value: object, style: str = "") -> Text:
    """A value as text that cannot act: no markup, no control characters."""
    return Text(visible(str(value)), style=style)


def track(items: Sequence[str], doing: str) -> Iterator[str]:
    """The items, with a progress bar on standard error where that is a terminal.

    Ctrl-C ends work on an item even while it waits for input.
    """
    name = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with progress(*columns) as bar:
        task = bar.add_task(doing, total=len(items))
        for item in items:
            bar.update(task, description=visible(f"{doing} {item}"))
            process.interrupt_reads()
            yield item
            bar.advance(task)


@contextmanager
def scoring(sources: Sequence[Source]) -> Iterator[Progressed]:
    """A bar of the bytes that were read, with the rate and the time left; call it as files are scored."""
    process.interrupt_reads()
    name = TextColumn("{task.description}", markup=False)
    rate = TextColumn("{task.fields[rate]}", markup=False)
    columns = (SpinnerColumn(), name, BarColumn(), DownloadColumn(), rate, TimeRemainingColumn())
    sizes = {id(source): source.size for source in sources}
    total = None if None in sizes.values() else sum(size or 0 for size in sizes.values())
    with progress(*columns) as bar:
        task = bar.add_task("scoring", total=total, rate="")
        begun, scored, read = 0.0, 0, dict.fromkeys(sizes, 0)

        def update(source: Source, done: int, responses: int) -> None:
            nonlocal begun, scored
            read[id(source)] = done
            if begun:
                scored += responses
            else:  # before the first responses are scored, their indexes are built
                begun = time.monotonic()
            rate = f"{scored / (time.monotonic() - begun):,.0f} responses/s" if scored else ""
            bar.update(
                task,
                description=visible(f"scoring {source.path}"),
                completed=sum(read.values()),
                rate=rate,
            )

        yield update


@contextmanager
def building() -> Iterator[Callable[[str, str, float, float], None]]:
    """A bar for each question or file at work, with its step; call it with what is done and the whole."""
    process.interrupt_reads()
    name = TextColumn("{task.description}", markup=False)
    step = TextColumn("{task.fields[step]}", markup=False)
    with progress(SpinnerColumn(), name, step, BarColumn(), TimeElapsedColumn()) as bar:
        tasks: dict[str, Any] = {}

        def update(what: str, doing: str, done: float, total: float) -> None:
            if what not in tasks:
                if len(tasks) >= _BARS:
                    bar.remove_task(tasks.pop(next(iter(tasks))))
                tasks[what] = bar.add_task(visible(what), step="")
            bar.update(tasks[what], step=doing, completed=done, total=total or None)

        yield update


@contextmanager
def busy(doing: str) -> Iterator[None]:
    """A line that moves for as long as something is done."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with progress(*columns) as bar:
        bar.add_task(visible(doing), total=None)
        yield


@contextmanager
def resumable(
    kept: Callable[[], Path | None], doing: str, how: str, *, after_errors: str | None = None
) -> Iterator[None]:
    """Say where finished work is kept and how to go on, if an interruption or outside cause ends the block.

    Outside causes are a full disk, too little memory and the like. Other errors, which the same command would
    repeat, say themselves what to change; `after_errors` is how to go on then, where that is possible.
    """
    try:
        yield
    except BaseException as error:
        repeats = isinstance(error, Exception) and not isinstance(error, OSError | MemoryError)
        advice = after_errors if repeats else how
        if advice is not None and (folder := kept()) is not None:
            warn(f"what was {doing} so far is kept in {folder}: {advice}")
        raise


@contextmanager
def progress(*columns: ProgressColumn) -> Iterator[Progress]:
    """A progress display that vanishes when done, and never appears without a terminal."""
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    bar = OneLineProgress(*columns, console=console, transient=True)
    if not sys.stderr.isatty():
        yield bar  # shows nothing, as nobody starts it
        return
    with bar:
        yield bar
