"""`pfgen-rs data`: which benchmarks there are, and getting more."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

from pfgen_rs import install as installer
from pfgen_rs.cli import options, output
from pfgen_rs.questions.inventory import inventory
from pfgen_rs.questions.locate import benchmark_path

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="List, install and find benchmarks.")

_REVISION_WIDTH = 10


@app.command("list")
def list_benchmarks(output_format: options.Format = options.JsonFormat.TABLE) -> None:
    """List benchmarks: bundled, installed, and those that can be installed."""
    available = inventory()
    if output_format is options.JsonFormat.JSON:
        rows = [{**asdict(b), "path": None if b.path is None else str(b.path)} for b in available]
        output.emit_json(rows)
        return
    table = output.new_table(
        "name", "state", "questions", "revision", "folder", numbers=("questions",)
    )
    for found in available:
        table.add_row(
            output.cell(found.name),
            output.cell(found.state),
            output.cell(found.questions),
            output.cell((found.revision or "")[:_REVISION_WIDTH]),
            output.cell(found.path or ""),
        )
    output.show(table)


def _known_names(incomplete: str) -> list[str]:
    return [name for name in installer.known() if name.startswith(incomplete)]


@app.command("install")
def install(
    name: Annotated[
        str, typer.Argument(metavar="NAME", autocompletion=_known_names, help="Which benchmark.")
    ] = "pfgen-bench",
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="DIR|ARCHIVE|URL",
            help="A checkout, an archive (.tar.gz, .tar.xz, .tar, .zip) or a mirror of it, instead "
            "of the publisher's.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Fetch and check again what is already installed.")
    ] = False,
) -> None:
    """Install a published benchmark for the current user.

    Every file is checked against its known digest, whatever the source, and nothing changes unless
    all are right. PFGEN_RS_CACHE names another folder to install to.

    For example:

    - `pfgen-rs data install pfgen-bench`

    - `pfgen-rs data install --from ~/src/pfgen-bench`
    """
    columns = (TextColumn("{task.description}", markup=False), BarColumn())
    with output.progress(*columns, DownloadColumn(), TransferSpeedColumn()) as bar:
        task = bar.add_task(f"installing {name}", total=None)

        def received(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        folder = installer.install(name, source, received, force)
    output.emit(f"{name} is installed in {folder}\n")


def _usable_names(incomplete: str) -> list[str]:
    usable = (found.name for found in inventory() if found.path is not None)
    return [name for name in usable if name.startswith(incomplete)]


@app.command("where")
def where(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            autocompletion=_usable_names,
            help="Which benchmark; without it, the one that commands use by default.",
        ),
    ] = None,
) -> None:
    """Print the folder of a benchmark's question files, and nothing else.

    Example: `ls "$(pfgen-rs data where mini)"`
    """
    output.emit(f"{benchmark_path(name)}\n")
