"""`pfgen-rs judge dialogues tables`: the paper's tables, from dialogue records or from ratings."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.cli.judge_dialogue_options import (
    FieldsFile,
    PerCategory,
    Seed,
    read_dialogue_fields,
    show_dialogue_grid,
)
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    from pfgen_rs.judge.dialogues.sources import Made

__all__ = ["tables"]


class PrintedFormat(StrEnum):
    """How tables are printed."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"


class PlotFormat(StrEnum):
    """The format of figures."""

    SVG = "svg"
    PNG = "png"
    NONE = "none"


class LanguageName(StrEnum):
    """The language of figures."""

    ENGLISH = "en"
    JAPANESE = "ja"


def tables(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA…",
            help="Dialogue records, or ratings: FastChat's judgments (JSON lines), CSV with a column per "
            "judge, folders of `judge dialogues grade`.",
            show_default=False,
        ),
    ],
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            "-t",
            metavar="NAME",
            help="Table to make: 1, 2, 3, 4, 5, 12, 13 or length-bias of dialogue records; 6, means or "
            "judges of ratings; repeatable (default: all that the data allows).",
        ),
    ] = None,
    turn: Annotated[
        int,
        typer.Option(min=1, max=2, metavar="1|2", help="Turn of table 5 and of the length bias."),
    ] = 2,
    per_category: PerCategory = 60,
    seed: Seed = 0,
    resamples: Annotated[
        int, typer.Option(metavar="N", help="Number of bootstrap resamples for intervals.")
    ] = 1000,
    level: options.Level = 0.95,
    questions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="MT-bench's questions, for the categories of ratings."),
    ] = None,
    fields: FieldsFile = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder for each table as Parquet, CSV, Markdown and figure.",
        ),
    ] = None,
    plot: Annotated[
        PlotFormat | None,
        typer.Option(
            help="Format of figures with --out (default: svg if matplotlib is installed)."
        ),
    ] = None,
    language: Annotated[
        LanguageName, typer.Option(help="Language of figures.")
    ] = LanguageName.ENGLISH,
    font: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            envvar="PFGEN_RS_FONT",
            help="Font for Japanese text in figures (default: an installed font).",
        ),
    ] = None,
    output_format: Annotated[
        PrintedFormat, typer.Option("--format", "-f", help="Output format.")
    ] = PrintedFormat.TABLE,
) -> None:
    """Make the tables of the paper on Japanese MT-bench++, and compare judges.

    - `1`, `3`, `4`: mean scores by people and by the judge, in light versions, of first and of second answers

    - `2`: number of dialogues; `12`, `13`: mean lengths

    - `5`: correlation of people and judge; `length-bias`: how much more the judge likes long answers

    - `6`, `means`: ratings of models by version, turn and category; `judges`: how judges agree

    For example:

    - `pfgen-rs judge dialogues tables dialogues.jsonl --out tables`

    - `pfgen-rs judge dialogues tables gpt-4_single.jsonl --questions question.jsonl`
    """
    from pfgen_rs.judge.dialogues.report import Options, write_tables
    from pfgen_rs.judge.dialogues.sources import tables_of

    chosen = Options(per_category, seed, 1 if turn == 1 else 2, level, resamples)
    made = tables_of(data, table, chosen, fields=read_dialogue_fields(fields), questions=questions)
    for note in made.notes:
        output.warn(note)
    _print_dialogue_tables(made, output_format)
    if out is not None:
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            written = write_tables(
                out,
                made.tables,
                plot=_figure_format(plot),
                language=language.value,
                font=font,
            )
        for remark in remarks:
            output.warn(str(remark.message))
        output.remark(f"wrote {counted(len(written), 'file')} to {out}")


def _figure_format(plot: PlotFormat | None) -> str | None:
    from pfgen_rs.drawing.style import available

    if plot is None:
        return PlotFormat.SVG.value if available() else None
    return None if plot is PlotFormat.NONE else plot.value


def _print_dialogue_tables(made: Made, output_format: PrintedFormat) -> None:
    if output_format is PrintedFormat.JSON:
        output.emit_json({table.name: table.frame.to_dicts() for table in made.tables})
    elif output_format is PrintedFormat.MARKDOWN:
        output.emit("\n".join(table.markdown() for table in made.tables))
    else:
        for table in made.tables:
            show_dialogue_grid(table.grid, table.title)
            for note in table.notes:
                if note not in made.notes:  # which are warnings already
                    output.emit(f"{note}\n")
