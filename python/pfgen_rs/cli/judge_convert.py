"""`pfgen-rs judge import` and `export`: judgments in the formats of other tools."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import output
from pfgen_rs.io.counted import counted

__all__ = ["ExportName", "ImportName", "export_verdicts", "import_verdicts"]


class ImportName(StrEnum):
    """A format that can be read."""

    FASTCHAT = "fastchat"
    VICUNA_QA = "vicuna-qa"
    ALPACA_EVAL = "alpaca-eval"
    PANDALM = "pandalm"
    ARENA_HARD = "arena-hard"
    PROMETHEUS = "prometheus"


class ExportName(StrEnum):
    """A format that can be written."""

    FASTCHAT = "fastchat"
    VICUNA_QA = "vicuna-qa"
    ALPACA_EVAL = "alpaca-eval"
    PANDALM = "pandalm"
    PANDALM_RESULTS = "pandalm-results"
    ARENA_HARD = "arena-hard"
    PROMETHEUS = "prometheus"


def import_verdicts(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…",
            help="Judgments, and files of questions, answers or pairs that belong to them; a folder stands "
            "for the .json and .jsonl files in it.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FOLDER", help="New folder of verdicts to write."),
    ],
    source: Annotated[
        ImportName | None,
        typer.Option("--from", help="Format of the files (default: recognised)."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Judge to import, if the files have several."),
    ] = None,
) -> None:
    """Import judgments of another tool as a folder of verdicts.

    Verdicts of people go to humans.jsonl in that folder.

    Example: `pfgen-rs judge import pairwise-gpt-4/ question.jsonl --from vicuna-qa --out verdicts`
    """
    from pfgen_rs.judge.formats.imported import HUMANS, write_folder
    from pfgen_rs.judge.formats.registry import read_format

    found = read_format(files, source.value if source else None).of_judge(judge)
    write_folder(out, found)
    for note in found.notes:
        output.warn(note)
    judgments = counted(len(found.judgments), "judgment")
    output.emit(f"wrote {counted(len(found.pairs), 'pair')} and {judgments} to {out}\n")
    if found.humans:
        raters = len({rater for _, rater, _ in found.humans})
        written = counted(len(found.humans), "verdict")
        output.emit(f"wrote {written} of {counted(raters, 'rater')} to {out / HUMANS}\n")


def export_verdicts(
    verdicts: Annotated[
        Path, typer.Argument(metavar="VERDICTS", help="Folder of verdicts.", show_default=False)
    ],
    target: Annotated[
        ExportName, typer.Option("--to", help="Format to write.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write.")],
) -> None:
    """Export a folder of verdicts for another tool.

    Only alpaca-eval keeps probabilities, as soft preferences.

    Example: `pfgen-rs judge export verdicts --to alpaca-eval --out annotations.json`
    """
    from pfgen_rs.judge.formats.imported import read_folder
    from pfgen_rs.judge.formats.registry import write_format

    found = read_folder(verdicts)
    written = write_format(out, found, target.value)
    for note in found.notes:
        output.warn(note)
    if written < len(found.pairs):
        left_out = counted(len(found.pairs) - written, "pair")
        output.warn(f"{left_out} left out: no judgment, or none that {target.value} can express")
    output.emit(f"wrote {counted(written, 'pair')} to {out}\n")
