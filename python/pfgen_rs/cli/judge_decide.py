"""`pfgen-rs judge decide`: decisions about pairs from the verdicts of both orders."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.io.safe_text import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from pfgen_rs.judge.requests import Coverage
    from pfgen_rs.judge.verdict_folder import VerdictFolder

__all__ = ["RuleName", "decide", "read_decisions"]

_SHOWN = 80  # characters of an output


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
    doubtful: Annotated[
        bool,
        typer.Option(
            "--doubtful",
            help="Show the verdicts instead whose output begins with a refusal or has several letters.",
        ),
    ] = False,
    output_format: options.Rows = options.RowsFormat.TABLE,
) -> None:
    """Decide each pair, and count the decisions.

    A: the pair's first model wins, B: its second one, C: a tie. A pair that lacks a judgment of its present
    texts is missing; judgments of other texts are never used. `--format json` or `csv` and `--out` have a row
    a pair.

    Example: `pfgen-rs judge decide verdicts --by probability`
    """
    from pfgen_rs.judge.decision_columns import decision_counts, decision_rows, write_frame
    from pfgen_rs.judge.verdict_folder import VerdictFolder, doubtful_share

    folder = VerdictFolder(verdicts)
    [(found, _)] = read_decisions([folder])
    if doubtful:
        rows = wide = folder.doubts().drop_nulls("doubt")
    else:
        rows = decision_rows(found, by.value)
        wide = found.with_columns(decision=rows["decision"], state=rows["state"])
    if out is not None:
        write_frame(wide, out)
    if output_format is options.RowsFormat.JSON:
        output.emit_json(rows.to_dicts())
    elif output_format is options.RowsFormat.CSV:
        from pfgen_rs.io.table_writer import csv_text

        output.emit(csv_text(rows))
    elif doubtful:
        _show_doubts(rows)
    else:
        _show_counts(decision_counts(found, by.value), by.value)
        share = doubtful_share(folder.doubts())
        if share is not None:
            output.warn(share)


def _show_doubts(rows: pl.DataFrame) -> None:
    if rows.is_empty():
        output.remark("no verdict is doubtful")
        return
    table = output.new_table("pair", "order", "verdict", "doubt", "output", numbers=["order"])
    for *cells, text in rows.iter_rows():
        table.add_row(*map(output.cell, cells), output.cell(shortened(text, _SHOWN)))
    output.show(table)


def read_decisions(folders: Sequence[VerdictFolder]) -> list[tuple[pl.DataFrame, Coverage]]:
    """Returns the decisions of folders on the same pairs, and says what is missing or out of date."""
    from pfgen_rs.judge.verdict_folder import check_same_pairs

    check_same_pairs(folders)
    found = [folder.read() for folder in folders]
    for folder, (_, coverage) in zip(folders, found, strict=True):
        place = f"{folder.path}: " if len(folders) > 1 else ""
        for note in coverage.notes():
            output.warn(f"{place}{note}")
    return found


def _show_counts(counts: pl.DataFrame, rule: str) -> None:
    names = counts.columns[2:]
    table = output.new_table(
        "model a", "model b", *names, numbers=names, title=f"decisions by {rule}"
    )
    for row in counts.iter_rows():
        table.add_row(*(output.cell(value) for value in row))
    output.show(table)
