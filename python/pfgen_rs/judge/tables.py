"""Tables of decisions, for people and for files."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

import polars as pl

from pfgen_rs.errors import OutputError, SettingsError
from pfgen_rs.io import write_atomic
from pfgen_rs.judge.decisions import RULES, Rule
from pfgen_rs.judge.letters import LETTERS

__all__ = ["decision_counts", "decision_rows", "write_frame"]

_WRITERS = {".jsonl": "write_ndjson", ".csv": "write_csv", ".parquet": "write_parquet"}


def _check_rule(rule: str) -> None:
    if rule not in RULES:
        raise SettingsError(f"unknown rule {rule!r}: expected one of {', '.join(RULES)}")


def decision_rows(decisions: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Returns one row a pair with its decision by a rule and its `state`.

    `decisions`: as `VerdictFolder.decisions` returns them. Raises `SettingsError` for an unknown rule.
    """
    _check_rule(rule)
    state = pl.col("strict_state")
    if rule != "strict":
        state = pl.when(pl.col(rule).is_null()).then(pl.lit("invalid")).otherwise(pl.lit("decided"))
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

    Columns: `model_a`, `model_b`, `A`, `B`, `C`, `undecided`, `invalid`, `pairs`; models are in the order in
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
            *((pl.col("state") == x).sum().alias(x) for x in ("undecided", "invalid")),
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
        getattr(frame, _WRITERS[kind])(buffer)
    except pl.exceptions.PolarsError as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error
    write_atomic(path, buffer.getvalue())
