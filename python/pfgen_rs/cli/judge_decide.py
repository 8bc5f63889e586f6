"""`pfgen-rs judge decide`: decisions about pairs from the verdicts of both orders."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import options, output

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RuleName", "decide"]


class RuleName(StrEnum):
    """How a pair is decided."""

    PROBABILITY = "probability"
    STRICT = "strict"
    TIE = "tie"
    FIRST = "first"


def decide(
    verdicts: Annotated[
        Path, typer.Argument(metavar="VERDICTS", help="Folder of verdicts.", show_default=False)
    ],
    by: Annotated[
        RuleName,
        typer.Option(
            help="probability: largest mean probability of both orders; strict: what both orders say, else "
            "undecided; tie: the same, else a tie; first: the first order alone."
        ),
    ] = RuleName.PROBABILITY,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write all columns to a .jsonl, .csv or .parquet file.",
        ),
    ] = None,
    output_format: options.Rows = options.RowsFormat.TABLE,
) -> None:
    """Decide each pair, and count the decisions.

    A: the pair's first model wins, B: its second one, C: a tie. `--format json` or `csv` and `--out` have a
    row a pair.

    Example: `pfgen-rs judge decide verdicts --by probability`
    """
    from pfgen_rs.judge.tables import decision_counts, decision_rows
    from pfgen_rs.judge.verdict_folder import VerdictFolder

    found = VerdictFolder(verdicts).decisions()
    rows = decision_rows(found, by.value)
    if out is not None:
        from pfgen_rs.judge.tables import write_frame

        write_frame(found.with_columns(decision=rows["decision"], state=rows["state"]), out)
    if output_format is options.RowsFormat.JSON:
        output.emit_json(rows.to_dicts())
    elif output_format is options.RowsFormat.CSV:
        output.emit(rows.write_csv())
    else:
        _show_counts(decision_counts(found, by.value), by.value)


def _show_counts(counts: pl.DataFrame, rule: str) -> None:
    names = counts.columns[2:]
    table = output.new_table(
        "model a", "model b", *names, numbers=names, title=f"decisions by {rule}"
    )
    for row in counts.iter_rows():
        table.add_row(*(output.cell(value) for value in row))
    output.show(table)
