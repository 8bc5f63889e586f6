"""`pfgen-rs llm-jp-eval install`: raw files for the current user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.cli.llm_jp_eval_missing import missing_lines
from pfgen_rs.io.counted import counted
from pfgen_rs.io.safe_text import visible

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.installing import DataSet, Installation

__all__ = ["install_raw_files"]


def install_raw_files(
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIR|ARCHIVE",
            help="Folder or archive with raw files: checkouts or archives of the repositories, or the "
            "reference's raw_files (default: only list what is missing and where it is published).",
            show_default=False,
        ),
    ] = None,
    accept_unknown: Annotated[
        bool,
        typer.Option(
            "--accept-unknown",
            help="Also install files that are not the published ones, by their paths.",
        ),
    ] = False,
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Install raw files of the data sets for the current user, and list what is missing.

    Files are recognised by their digests, whatever their names, and by their paths. Nothing is downloaded:
    download the files that are listed as missing, and name their folder with --from. Several folders can be
    installed one after another. Set PFGEN_RS_CACHE to install to another folder.

    Example: `pfgen-rs llm-jp-eval install --from ~/Downloads/jglue`
    """
    from pfgen_rs.llm_jp_eval.installing import install_raw, raw_installation

    with output.busy("reading raw files"):
        found = (
            raw_installation()
            if source is None
            else install_raw(source, accept_unknown=accept_unknown)
        )
    if output_format is options.JsonFormat.JSON:
        output.emit_json(asdict(found) | {"folder": str(found.folder)})
        return
    _show_datasets(found.datasets)
    for name, reason in found.refused.items():
        output.warn(f"{name} is not installed: {reason}")
    output.emit("".join(f"{visible(line)}\n" for line in _installed_lines(found, source)))


def _installed_lines(found: Installation, source: Path | None) -> Iterator[str]:
    if found.missing:
        yield from missing_lines(found.missing)
        advice = "download what is missing and run `pfgen-rs llm-jp-eval install --from FOLDER`"
        yield advice
    if source is None:
        count = counted(sum(each.files for each in found.datasets), "raw file")
        yield f"{count} in {found.folder}"
    else:
        count = counted(sum(each.files for each in found.taken), "raw file")
        yield f"installed {count} in {found.folder}; next: `pfgen-rs llm-jp-eval convert`"


def _show_datasets(datasets: Iterable[DataSet]) -> None:
    table = output.new_table("data set", "licence", "tasks", "files", "state", numbers=("files",))
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for each in datasets:
        tasks = "wiki_*" if each.tasks[0].startswith("wiki_") else ", ".join(each.tasks)
        cells = [each.name, each.licence, tasks, f"{each.files:,}", _state_of_data(each)]
        table.add_row(*map(output.cell, cells))
    output.show(table)


def _state_of_data(dataset: DataSet) -> str:
    if dataset.status is None:
        return "missing"
    return f"{dataset.missing:,} missing" if dataset.missing else dataset.status
