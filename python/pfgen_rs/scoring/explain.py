"""Where an answer's score comes from, character by character (or word by word, or token by token)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from pfgen_rs import _native
from pfgen_rs.errors import SettingsError
from pfgen_rs.metrics.units import Answer
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.scoring import batch
from pfgen_rs.scoring.batch import Score

__all__ = ["Explanation", "RuleReport", "explain"]


class RuleReport(NamedTuple):
    """A keyword rule: its label, importance, position (`None`: not found), and whether the cut meets it."""

    label: str
    importance: float
    position: int | None
    met: bool


@dataclass(frozen=True)
class Explanation:
    """An answer's score and its origin.

    `pieces` are the answer's characters or other units, for display: they make up the answer. `characters`
    has a row a piece (as far as it is read): `character`, the piece; for every source S `df_S`, the number of
    S's answers that contain the Truthfulness window starting there, `covering_df_S`, the largest such number
    among the windows that cover the piece, and `gain_S`, what the piece adds to Fluency's raw sum of document
    frequencies; and whether Truthfulness skips it. `score.details` has the best cuts.
    """

    question_id: str
    question: str
    answer: Answer
    pieces: list[str]
    score: Score
    characters: pl.DataFrame
    rules: list[RuleReport]


def explain(benchmark: QuestionSet, question: str | Question, answer: Answer) -> Explanation:
    """Explain one answer to a question (variant `pfgen-bench` only)."""
    if benchmark.settings.variant != "pfgen-bench":
        raise SettingsError(
            f"cannot explain scores of variant {benchmark.settings.variant!r}: use variant 'pfgen-bench'"
        )
    found = benchmark.find(question)
    score = batch.score(benchmark, found.id, answer)
    windows, coverage, gains, skipped = _native.explain(
        benchmark.columns(found), benchmark.settings.native, benchmark.coder.one(answer)
    )
    pieces = benchmark.coder.pieces(answer)
    columns = [pl.Series("character", pieces[: len(skipped)], dtype=pl.String)]
    for i, source in enumerate(found.sources):
        columns.append(pl.Series(f"df_{source}", windows[:, i]))
        columns.append(pl.Series(f"covering_df_{source}", coverage[:, i]))
        columns.append(pl.Series(f"gain_{source}", gains[:, i]))
    columns.append(pl.Series("skipped", skipped))
    return Explanation(
        question_id=found.id,
        question=found.text,
        answer=answer,
        pieces=pieces,
        score=score,
        characters=pl.DataFrame(columns),
        rules=_rules(benchmark, found, answer, score.details.helpfulness_cut),
    )


def _rules(
    benchmark: QuestionSet, question: Question, answer: Answer, cut: int
) -> list[RuleReport]:
    helpfulness = benchmark.helpfulness(question)
    ends = helpfulness.ends(answer) if isinstance(answer, str) else {}
    return [
        RuleReport(
            label=label,
            importance=rule.importance,
            position=None if position == _native.NOT_FOUND else position,
            met=position <= cut,
        )
        for rule, label, position in helpfulness.positions(ends)
    ]
