"""`pfgen-rs data`: lists, installs and finds benchmarks."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table

from pfgen_rs import install as installer
from pfgen_rs.cli import app as loading, options, process, terminal
from pfgen_rs.questions.locate import Available, benchmark_path, inventory

app = loading.group("List, install and find benchmarks.")

_REVISION_WIDTH = 10


@app.command("list")
def list_benchmarks(output_format: options.Format = "table") -> None:
    """List the bundled, installed and installable benchmarks."""
    available = inventory()
    if output_format == "json":
        rows = [{**asdict(b), "path": None if b.path is None else str(b.path)} for b in available]
        process.emit_json(rows)
        return
    terminal.show(*_data_report(available, terminal.width()))


def _data_report(available: Sequence[Available], room: int) -> list[RenderableType]:
    """Returns a table that fits a window of `room` columns; long folders are listed below it."""
    table = _data_table(available, folders=True)
    if terminal.table_width(table) <= room:
        return [table]
    brief = _data_table(available, folders=False)
    places = (terminal.cell(f"{found.name}: {found.path}") for found in available if found.path)
    return [brief, *places]


def _data_table(available: Sequence[Available], *, folders: bool) -> Table:
    headings = ["name", "state", "questions", "revision", *(["folder"] if folders else [])]
    table = terminal.new_table(*headings, numbers=("questions",))
    table.columns[0].no_wrap = True
    for found in available:
        cells = [found.name, found.state, found.questions, (found.revision or "")[:_REVISION_WIDTH]]
        table.add_row(*map(terminal.cell, cells), *([terminal.cell(found.path or "")] * folders))
    return table


def _names_of_installable_data(incomplete: str) -> list[str]:
    return [name for name in installer.known() if name.startswith(incomplete)]


@app.command("install")
def install(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", autocompletion=_names_of_installable_data, help="Name of the benchmark."
        ),
    ] = "pfgen-bench",
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="DIR|ARCHIVE|URL",
            help="Install from a checkout, an archive (.tar.gz, .tar.xz, .tar, .zip) or a mirror of it "
            "instead of downloading from the publisher.",
        ),
    ] = None,
) -> None:
    """Install a published benchmark for the current user.

    Every file is verified against its known digest, for any source, and nothing is changed unless all match.
    Set PFGEN_RS_CACHE to install to another folder.

    For example:

    - `pfgen-rs data install pfgen-bench`

    - `pfgen-rs data install --from ~/src/pfgen-bench`
    """
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn())
    with terminal.progress(*columns, DownloadColumn(), TransferSpeedColumn()) as bar:
        task = bar.add_task(f"installing {name}", total=None)

        def received(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        folder = installer.install(name, source, received)
    process.emit(f"{name} is installed in {folder}\n")


def _names_of_usable_data(incomplete: str) -> list[str]:
    usable = (found.name for found in inventory() if found.path is not None)
    return [name for name in usable if name.startswith(incomplete)]


@app.command("where")
def where(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            autocompletion=_names_of_usable_data,
            help="Name of the benchmark (default: the one that commands use).",
        ),
    ] = None,
) -> None:
    """Print only the path of a benchmark's folder of question files.

    Example: `ls "$(pfgen-rs data where mini)"`
    """
    process.emit(f"{benchmark_path(name)}\n")
