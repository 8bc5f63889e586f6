"""`pfgen-rs llm-jp-eval convert`: raw files to evaluation and tuning files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.cli.llm_jp_eval_missing import missing_lines
from pfgen_rs.cli.llm_jp_eval_options import TaskNames, listed_names
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.conversion.converting import Conversion, Converted

__all__ = ["convert_raw"]


def convert_raw(
    raw: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|ARCHIVE",
            help="Folder or archive of raw files: the repositories side by side, archives of them, or the "
            "reference's raw_files (default: the installed raw files).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder to write evaluation/ and tuning/ to (default: where `run` looks for data).",
            show_default=False,
        ),
    ] = None,
    tasks: TaskNames = None,
    tuning: Annotated[bool, typer.Option(help="Write tuning files as well.")] = True,
    layout_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="Write to a folder of this name in DIR, such as 1.3.0, as the reference does.",
        ),
    ] = None,
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Convert raw files to the files of llm-jp-eval, byte for byte.

    Tasks whose raw files are missing are left out and listed with the addresses of the files. Files are
    written, and replace files of the same name, only if everything else can be converted.

    For example:

    - `pfgen-rs llm-jp-eval convert`

    - `pfgen-rs llm-jp-eval convert --raw ~/src/jglue --tasks jsquad --out data`
    """
    from pfgen_rs.llm_jp_eval.conversion.converting import convert

    with output.progress(*_convert_columns()) as bar:
        shown = bar.add_task("reading raw files", total=None)
        found = convert(
            raw,
            out,
            tasks=listed_names(tasks),
            tuning=tuning,
            version=layout_version,
            progress=lambda name: bar.update(shown, description=f"converting {name}"),
        )
    if output_format is options.JsonFormat.JSON:
        output.emit_json(asdict(found) | {"folder": str(found.folder)})
        return
    _show_converted_tasks(found.tasks)
    for note in _conversion_notes(found):
        output.warn(note)
    if found.missing:
        output.warn(f"left out: {', '.join(each.task for each in found.missing)}")
    for line in missing_lines(found.missing):
        output.remark(line)
    output.emit(f"wrote {counted(len(found.files), 'file')} to {found.folder}\n")


def _convert_columns() -> Sequence[Any]:
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    return SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()


def _show_converted_tasks(converted: Iterable[Converted]) -> None:
    splits = ("train", "dev", "test")
    table = output.new_table("task", *splits, "raw files", numbers=splits)
    table.columns[0].no_wrap = True
    for each in converted:
        counts = [f"{each.samples[split]:,}" for split in splits]
        table.add_row(*map(output.cell, [each.task, *counts, each.status]))
    output.show(table)


def _conversion_notes(found: Conversion) -> Iterable[str]:
    meanings = {
        "stand-in": "not comparable: some raw files only stand in for the published ones",
        "changed": "not comparable: some raw files are not the published ones",
        "unverified": "the digests of the published files are unknown; numbers of samples agree",
    }
    for status, meaning in meanings.items():
        names = [each.task for each in found.tasks if each.status == status]
        if names:
            everything = len(names) == len(found.tasks) > 1
            yield f"{'all tasks' if everything else ', '.join(names)}: {meaning}"
