"""Key numbers of a check, by question."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.metrics.names import COLUMNS
from pfgen_rs.references.check.concerns import concerns_about

__all__ = ["Tables", "summarise"]

Row = dict[str, Any]
Tables = Mapping[str, pl.DataFrame]

_COPIES = ("answers", "distinct", "near_pairs", "in_near_pairs")
_SELF = [f"self_{metric}" for metric in COLUMNS]
_SCHEMA: dict[str, Any] = {
    "question_id": pl.String,
    "sources": pl.Int64,
    **dict.fromkeys(_COPIES, pl.Int64),
    "length": pl.Float64,
    "length_std": pl.Float64,
    **dict.fromkeys(_SELF, pl.Float64),
    "agreement": pl.Float64,
    "note_average": pl.Float64,
    "note_known": pl.Float64,
    "all_rules": pl.Float64,
    "verbatim": pl.Int64,
    "warnings": pl.String,
}


def summarise(benchmark: Benchmark, tables: Tables) -> pl.DataFrame:
    """Returns one row per question with key numbers of all tables and `warnings` (empty if there are none).

    Columns: `question_id`, `sources`, `answers`, `distinct` texts, `near_pairs` of them and how many texts
    are `in_near_pairs`; mean `length` and `length_std`; the means of the self-scores (`self_…`); `agreement`,
    the lowest mean of Fluency and Truthfulness of one source's answers against another (null for a single
    source); the example answer's `note_average`, and `note_known`, the share of its n-grams known to the
    source that knows most; `all_rules`, the share of answers that satisfy all rules; `verbatim`, the number
    of answers of runs found verbatim in the set (null without runs). Thresholds for warnings:
    `concerns.LIMITS`.
    """
    parts = {
        name: _summary_rows_by_question(table)
        for name, table in tables.items()
        if "question_id" in table
    }
    rows = []
    for question in benchmark:
        found = {name: part.get(question.id, []) for name, part in parts.items()}
        backtracking = benchmark.helpfulness(question).backtracking
        remarks = "; ".join(concerns_about(found, benchmark.settings, backtracking))
        numbers = {
            **_summary_answer_counts(found),
            **_summary_lengths(found),
            **_summary_scores(found),
            **_summary_shares(found),
        }
        rows.append({"question_id": question.id, **numbers, "warnings": remarks})
    return pl.DataFrame(rows, schema=_SCHEMA)


def _summary_rows_by_question(table: pl.DataFrame) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for row in table.iter_rows(named=True):
        rows.setdefault(row["question_id"], []).append(row)
    return rows


def _summary_answer_counts(found: Mapping[str, list[Row]]) -> Row:
    [copies] = found["near_duplicates"]
    verbatim = None
    if "contamination" in found:
        verbatim = sum(row["verbatim"] for row in found["contamination"])
    counts = {name: copies[name] for name in _COPIES}
    return {"sources": len(found["lengths"]), **counts, "verbatim": verbatim}


def _summary_lengths(found: Mapping[str, list[Row]]) -> Row:
    """Combine the means and standard deviations of all sources."""
    rows = found["lengths"]
    total = sum(row["answers"] for row in rows)
    mean = math.fsum(row["mean"] * row["answers"] for row in rows) / total
    squares = ((row["std"] ** 2 + (row["mean"] - mean) ** 2) * row["answers"] for row in rows)
    return {"length": mean, "length_std": math.sqrt(math.fsum(squares) / total)}


def _summary_scores(found: Mapping[str, list[Row]]) -> Row:
    means = {
        name: _summary_mean([row[metric] for row in found["self_scores"]])
        for name, metric in zip(_SELF, COLUMNS, strict=True)
    }
    others = [row["both"] for row in found["sources"] if row["source"] != row["against"]]
    return {**means, "agreement": min(others, default=None)}


def _summary_mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _summary_shares(found: Mapping[str, list[Row]]) -> Row:
    notes = found["coverage"]
    known = [row["known"] for row in notes if row["known"] is not None]
    [together] = [row for row in found["rules"] if row["rule"] is None and row["source"] is None]
    return {
        "note_average": notes[0]["average"],
        "note_known": max(known, default=None),
        "all_rules": together["share"],
    }
