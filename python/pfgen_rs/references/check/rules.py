"""How many reference answers satisfy each keyword rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs._native import NOT_FOUND
from pfgen_rs.benchmark import Benchmark
from pfgen_rs.metrics.helpfulness import Helpfulness, Rule
from pfgen_rs.references.check.steps import CheckProgress, tracked

__all__ = ["RARE", "rules"]

RARE = 0.5
_SCHEMA: dict[str, Any] = {
    "question_id": pl.String,
    "rule": pl.Int64,
    "label": pl.String,
    "importance": pl.Float64,
    "source": pl.String,
    "answers": pl.Int64,
    "met": pl.Int64,
    "share": pl.Float64,
    "remark": pl.String,
}


def rules(benchmark: Benchmark, *, progress: CheckProgress | None = None) -> pl.DataFrame:
    """Count the reference answers that satisfy each rule within the characters that are read.

    Columns: `question_id`, `rule` (from 0; null: all rules at once), `label`, `importance`, `source` (null:
    all), `answers`, `met`, `share`, and, for rows over all sources, `remark`: `hardly any` if less than half
    of the answers satisfy the rule, `all` if every answer does.
    """
    rows = [
        row
        for question in tracked(list(benchmark), "rules", progress)
        for row in _rules_of_question(
            question.id, question.rules, benchmark.helpfulness(question), question.answers
        )
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _rules_of_question(
    question_id: str,
    parsed: Sequence[Rule],
    helpfulness: Helpfulness,
    answers: Any,
) -> list[tuple[Any, ...]]:
    met = {source: _rules_met(helpfulness, texts, len(parsed)) for source, texts in answers.items()}
    parts: list[tuple[str | None, NDArray[np.bool_]]] = list(met.items())
    parts.append((None, np.concatenate(list(met.values()))))
    rows: list[tuple[Any, ...]] = []
    for source, matrix in parts:
        for number, (rule, column) in enumerate(zip(parsed, matrix.T, strict=True)):
            about = (number, _label_in_rules_check(rule), rule.importance)
            rows.append((question_id, *about, source, *_counts_of_rules_met(column, source)))
        about_all = (None, "all rules", None)
        rows.append(
            (question_id, *about_all, source, *_counts_of_rules_met(matrix.all(axis=1), source))
        )
    return rows


def _rules_met(helpfulness: Helpfulness, answers: Sequence[str], count: int) -> NDArray[np.bool_]:
    """Returns whether each answer satisfies each rule; bool, shape (answers, rules)."""
    rows = [
        [
            position != NOT_FOUND
            for _, _, position in helpfulness.positions(helpfulness.ends(answer))
        ]
        for answer in answers
    ]
    return np.array(rows, dtype=np.bool_).reshape(len(answers), count)


def _counts_of_rules_met(met: Any, source: str | None) -> tuple[int, int, float, str | None]:
    share = int(met.sum()) / len(met)
    remark = None
    if source is None and (share < RARE or share == 1):
        remark = "all" if share == 1 else "hardly any"
    return len(met), int(met.sum()), share, remark


def _label_in_rules_check(rule: Rule) -> str:
    """Returns a rule's name or, if it has none, its patterns."""
    if rule.name is not None:
        return rule.name
    if rule.kind == "t":
        return rule.pattern
    return "(" + f" {rule.kind} ".join(map(_label_in_rules_check, rule.parts)) + ")"
