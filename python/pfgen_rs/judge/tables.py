"""Tables of decisions, for people and for files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.errors import OutputError, SettingsError
from pfgen_rs.io import write_atomic
from pfgen_rs.io.table_writer import csv_text
from pfgen_rs.judge.decisions import RULES, Rule
from pfgen_rs.judge.letters import LETTERS
from pfgen_rs.report.markup import inert

__all__ = ["decision_counts", "decision_rows", "write_frame", "write_tables"]

_WRITERS = {".jsonl": "write_ndjson", ".csv": "write_csv", ".parquet": "write_parquet"}


def _check_rule(rule: str) -> None:
    if rule not in RULES:
        raise SettingsError(f"unknown rule {rule!r}: expected one of {', '.join(RULES)}")


def decision_rows(decisions: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Returns one row a pair with its decision by a rule and its `state`.

    `decisions`: as `VerdictFolder.decisions` returns them. Raises `SettingsError` for an unknown rule.
    """
    _check_rule(rule)
    if rule in ("strict", "probability"):
        state = pl.col(f"{rule}_state")
    else:
        needed = pl.col("judged_1") if rule == "first" else pl.col("judged_1") & pl.col("judged_2")
        lacking = pl.when(needed).then(pl.lit("invalid")).otherwise(pl.lit("missing"))
        state = pl.when(pl.col(rule).is_null()).then(lacking).otherwise(pl.lit("decided"))
    return decisions.select(
        "pair",
        "question_id",
        "task",
        "model_a",
        "model_b",
        decision=pl.col(rule),
        state=state,
        v1="v1",
        v2="v2",
        p_a="p_a",
        p_b="p_b",
        p_c="p_c",
        margin="margin",
        outside="outside",
    )


def decision_counts(decisions: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Returns how often each decision occurs, one row a pair of models.

    Columns: `model_a`, `model_b`, `A`, `B`, `C`, `undecided`, `invalid`, `missing`, `pairs`; models are in
    alphabetical order, and wins of pairs in either order are added.
    """
    rows = decision_rows(decisions, rule)
    turned = pl.col("model_a") > pl.col("model_b")
    letter = (
        pl.when(turned)
        .then(pl.col("decision").replace({"A": "B", "B": "A"}))
        .otherwise(pl.col("decision"))
    )
    return (
        rows.select(
            model_a=pl.when(turned).then("model_b").otherwise("model_a"),
            model_b=pl.when(turned).then("model_a").otherwise("model_b"),
            letter=letter,
            state="state",
        )
        .group_by("model_a", "model_b")
        .agg(
            *((pl.col("letter") == x).sum().alias(x) for x in LETTERS),
            *((pl.col("state") == x).sum().alias(x) for x in ("undecided", "invalid", "missing")),
            pairs=pl.len(),
        )
        .sort("model_a", "model_b")
    )


def write_frame(frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table to a file: `.jsonl`, `.csv` or `.parquet`. Raises `SettingsError` and `OutputError`."""
    kind = Path(path).suffix
    if kind not in _WRITERS:
        raise SettingsError(f"{path}: unknown format: expected {', '.join(_WRITERS)}")
    buffer = BytesIO()
    try:
        if kind == ".csv":
            buffer.write(csv_text(frame).encode())
        else:
            getattr(frame, _WRITERS[kind])(buffer)
    except pl.exceptions.PolarsError as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error
    write_atomic(path, buffer.getvalue())


def write_tables(
    tables: Mapping[str, pl.DataFrame],
    everything: Mapping[str, Any],
    folder: str | os.PathLike[str],
) -> None:
    """Write tables to a folder: each as Parquet and CSV, all as `tables.md`, and `everything` as `all.json`.

    Raises `OutputError`.
    """
    place = Path(folder)
    for name, table in tables.items():
        write_frame(table, place / f"{name}.parquet")
        write_frame(table, place / f"{name}.csv")
    texts = [
        f"## {name.replace('_', ' ')}\n\n{_markdown_table(table)}" for name, table in tables.items()
    ]
    write_atomic(place / "tables.md", "\n".join(texts).encode())
    content = json.dumps(everything, ensure_ascii=False, indent=1)
    write_atomic(place / "all.json", f"{content}\n".encode())


def _markdown_table(table: pl.DataFrame) -> str:
    numbers = [kind.is_numeric() for kind in table.dtypes]
    rows = [
        [inert(name.replace("_", " ")) for name in table.columns],
        ["--:" if number else ":--" for number in numbers],
        *(list(map(_markdown_cell, row)) for row in table.iter_rows()),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _markdown_cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else inert(str(value))
