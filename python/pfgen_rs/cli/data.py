"""`pfgen-rs data`: lists, installs, publishes and finds benchmarks."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table

from pfgen_rs import install as installer
from pfgen_rs.cli import app as loading, options, process, terminal
from pfgen_rs.io.text import counted
from pfgen_rs.questions import publishing
from pfgen_rs.questions.locate import Available, benchmark_path, inventory

app = loading.group("List, install, publish and find benchmarks.")

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
        str | None,
        typer.Argument(
            metavar="NAME|ARCHIVE|URL",
            autocompletion=_names_of_installable_data,
            help="Name of a published benchmark (default: pfgen-bench), or the archive of a set.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="DIR|ARCHIVE|URL",
            help="Install from a checkout, an archive (.tar.gz, .tar.xz, .tar, .zip) or a mirror of it "
            "instead of downloading from the publisher.",
        ),
    ] = None,
    sha256: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="Refuse an archive with another SHA-256."),
    ] = None,
) -> None:
    """Install a published benchmark, or a set's archive, for the current user.

    Every file is verified against its digest, for any source, and nothing is changed unless all match.
    The archive of a set, as `data publish` makes it, has those of its files; give its own with --sha256.
    Set PFGEN_RS_CACHE to install to another folder.

    For example:

    - `pfgen-rs data install pfgen-bench`

    - `pfgen-rs data install --from ~/src/pfgen-bench`

    - `pfgen-rs data install my-set.tar.xz`
    """
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn())
    with terminal.progress(*columns, DownloadColumn(), TransferSpeedColumn()) as bar:
        task = bar.add_task(f"installing {name or source or 'pfgen-bench'}", total=None)

        def received(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        folder = installer.install(
            name, source, received, sha256=sha256, check=publishing.check_loads
        )
    process.emit(f"{folder.name} is installed in {folder}\n")


@app.command("publish")
def publish(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a set.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Archive to write (default: NAME.tar.xz here)."),
    ] = None,
) -> None:
    """Make an archive of a set that others install.

    Checks the question files, provenance.json and the card (README.md), and warns of what is not known, such
    as licences. The archive has a digest of each file. The same files give the same bytes.

    Example: `pfgen-rs data publish my-set`
    """
    done = publishing.publish(folder, out)
    for warning in done.warnings:
        process.warn(warning)
    process.emit(
        f"{done.path}: {done.name}, {counted(done.questions, 'question')}, {done.size:,} bytes\n"
        f"SHA-256 {done.sha256}\n"
        f"to install it: pfgen-rs data install {shlex.quote(str(done.path))} --sha256 {done.sha256}\n"
    )


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
