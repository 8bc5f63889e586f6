"""What commands show on a terminal: tables that fit its width, and progress bars.

Progress bars are imported where they are drawn: many commands show tables alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.table import Table

from pfgen_rs.cli import process
from pfgen_rs.cli.process import emit
from pfgen_rs.drawing.text_tables import (  # commands use these as parts of this module
    GAP as GAP,
    cell as cell,
    dropped as dropped,
    first_that_fits as first_that_fits,
    fits as fits,
    new_table as new_table,
    not_shown as not_shown,
    rendered,
    table_width as table_width,
    width as width,
)
from pfgen_rs.io.text import visible
from pfgen_rs.report.markup import cell_text

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from pfgen_rs.io.source import Source

# Called with the current file, the bytes read of it, and the responses scored since the last call.
Progressed = Callable[["Source", int, int], None]
_BARS = 8  # maximum number of bars; the oldest are removed


def show(*parts: RenderableType) -> None:
    """Print tables and text, as `rendered`."""
    emit(rendered(*parts))


def markdown(*parts: RenderableType) -> str:
    """Returns tables and text as Markdown; nothing in names and texts acts as Markdown or HTML."""
    blocks = []
    for part in parts:
        if isinstance(part, Table):
            columns = [[str(column.header), *map(str, column.cells)] for column in part.columns]
            head, *rows = zip(*columns, strict=True)
            marks = ["--:" if column.justify == "right" else "---" for column in part.columns]
            lines = [[cell_text(text.replace("\n", " ")) for text in row] for row in (head, *rows)]
            lines.insert(1, marks)
            blocks += [f"**{_line_text(str(part.title))}**"] if part.title else []
            blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
        else:
            blocks.append(_line_text(str(part)))
    return "\n\n".join(blocks) + "\n"


def _line_text(text: str) -> str:
    """Escape text outside of tables, where bars and apostrophes have no effect."""
    return cell_text(text).replace("&#124;", "|").replace("&#x27;", "'")


def track(items: Sequence[str], doing: str) -> Iterator[str]:
    """Iterate over items with a progress bar on standard error, if it is a terminal.

    Ctrl-C interrupts work on an item even while it waits for input.
    """
    from rich import progress as parts

    name = parts.TextColumn("{task.description}", markup=False)
    bars = (parts.BarColumn(), parts.MofNCompleteColumn(), parts.TimeElapsedColumn())
    columns = (parts.SpinnerColumn(), name, *bars)
    with progress(*columns) as bar:
        task = bar.add_task(doing, total=len(items))
        for item in items:
            bar.update(task, description=visible(f"{doing} {item}"))
            process.interrupt_reads()
            yield item
            bar.advance(task)


@contextmanager
def steps(doing: str, total: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar of steps, with remaining time. Yields what is called after each with its name."""
    from rich import progress as parts

    name = parts.TextColumn("{task.description}", markup=False)
    times = (parts.TimeElapsedColumn(), parts.TimeRemainingColumn())
    columns = (parts.SpinnerColumn(), name, parts.BarColumn(), parts.MofNCompleteColumn(), *times)
    with progress(*columns) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda done: bar.update(task, advance=1, description=visible(f"{doing} {done}"))


@contextmanager
def scoring(
    sources: Sequence[Source], doing: str = "scoring", items: str = "responses"
) -> Iterator[Progressed]:
    """Show a progress bar of bytes read, with rate and remaining time. Yields its update function.

    `doing`, `items`: what it says is done, and of what it says the rate.
    """
    process.interrupt_reads()
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich import progress as parts

    name = parts.TextColumn("{task.description}", markup=False)
    rate = parts.TextColumn("{task.fields[rate]}", markup=False)
    bars = (parts.BarColumn(), parts.DownloadColumn(), rate, parts.TimeRemainingColumn())
    columns = (parts.SpinnerColumn(), name, *bars)
    sizes = {id(source): source.size for source in sources}
    total = None if None in sizes.values() else sum(size or 0 for size in sizes.values())
    with progress(*columns) as bar:
        task = bar.add_task(doing, total=total, rate="")
        begun, scored, read = 0.0, 0, dict.fromkeys(sizes, 0)

        def update(source: Source, done: int, responses: int) -> None:
            nonlocal begun, scored
            read[id(source)] = done
            if begun:
                scored += responses
            else:  # excludes the time for building indexes before the first responses are scored
                begun = time.monotonic()
            # The clock of Windows may stand still for 16 ms.
            rate = (
                f"{scored / max(time.monotonic() - begun, 0.01):,.0f} {items}/s" if scored else ""
            )
            bar.update(
                task,
                description=visible(f"{doing} {source.path}"),
                completed=sum(read.values()),
                rate=rate,
            )

        yield update


@contextmanager
def building() -> Iterator[Callable[[str, str, float, float], None]]:
    """Show a progress bar for each question or file, with its current step. Yields the update function."""
    from rich import progress as parts

    process.interrupt_reads()
    name = parts.TextColumn("{task.description}", markup=False)
    step = parts.TextColumn("{task.fields[step]}", markup=False)
    columns = (parts.SpinnerColumn(), name, step, parts.BarColumn(), parts.TimeElapsedColumn())
    with progress(*columns) as bar:
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
    """Show a spinner while the block runs."""
    from rich import progress as parts

    name = parts.TextColumn("{task.description}", markup=False)
    with progress(parts.SpinnerColumn(), name, parts.TimeElapsedColumn()) as bar:
        bar.add_task(visible(doing), total=None)
        yield


@contextmanager
def progress(*columns: ProgressColumn) -> Iterator[Progress]:
    """Show progress bars, which disappear when done; only on a terminal."""
    from pfgen_rs.cli.progress import OneLineProgress

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    bar = OneLineProgress(*columns, console=console, transient=True)
    if not sys.stderr.isatty():
        yield bar  # not started, so it shows nothing
        return
    with bar:
        yield bar
