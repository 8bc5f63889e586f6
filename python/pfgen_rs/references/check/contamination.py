"""Answers of runs found in the set: a sign that a model was trained on it, or wrote it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.errors import SettingsError
from pfgen_rs.questions.question import Question
from pfgen_rs.references.check.steps import CheckProgress, tracked

__all__ = ["STRETCH", "contamination"]

STRETCH = 50
_COUNTS = {
    "run": pl.String,
    "question_id": pl.String,
    "answers": pl.Int64,
    "verbatim": pl.Int64,
    "stretch": pl.Int64,
    "share_verbatim": pl.Float64,
    "share_stretch": pl.Float64,
}
_EXAMPLES = {
    "run": pl.String,
    "question_id": pl.String,
    "source": pl.String,
    "answer": pl.Int64,
    "text": pl.String,
}


def contamination(
    benchmark: Benchmark,
    responses: pl.DataFrame,
    *,
    stretch: int = STRETCH,
    shown: int = 3,
    progress: CheckProgress | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Count answers of runs that occur in the set, by run and question, and collect examples.

    Leading and trailing white space is ignored. Columns of the first table: `run`, `question_id`, `answers`,
    `verbatim` (answers equal to a reference answer of the question), `stretch` (answers that share `stretch`
    consecutive characters with one, including verbatim ones of at least that length), and their shares. The
    second table has up to `shown` verbatim answers per run and question: `run`, `question_id`, the `source`
    and the number `answer` (from 0) of the matching reference answer, and `text`. `responses` as returned by
    `scored_runs`. Raises `SettingsError` for a `stretch` below 1.
    """
    if stretch < 1:
        raise SettingsError(f"stretch must be at least 1 character, not {stretch}")
    counts, examples = [], []
    asked = {q: part for (q,), part in responses.group_by(["question_id"], maintain_order=True)}
    present = [question for question in benchmark if question.id in asked]
    for question in tracked(present, "contamination", progress):
        places, stretches = (
            _contamination_answer_places(question),
            _contamination_stretches(question, stretch),
        )
        runs = asked[question.id].group_by(["run"], maintain_order=True)
        for (run,), part in runs:
            answers = [answer.strip() for answer in part.get_column("answer")]
            found = [answer for answer in answers if answer in places]
            copied = sum(
                _holds_contamination_stretch(answer, stretches, stretch) for answer in answers
            )
            shares = (len(found) / len(answers), copied / len(answers))
            counts.append((run, question.id, len(answers), len(found), copied, *shares))
            distinct = list(dict.fromkeys(found))
            examples += [(run, question.id, *places[text], text) for text in distinct[:shown]]
    return (
        pl.DataFrame(counts, schema=_COUNTS, orient="row"),
        pl.DataFrame(examples, schema=_EXAMPLES, orient="row"),
    )


def _contamination_answer_places(question: Question) -> Mapping[str, tuple[str, int]]:
    """Map each stripped reference answer to its first place; empty ones do not count as copied."""
    places: dict[str, tuple[str, int]] = {}
    for source, answers in question.answers.items():
        for number, answer in enumerate(answers):
            places.setdefault(answer.strip(), (source, number))
    places.pop("", None)
    return places


def _contamination_stretches(question: Question, length: int) -> frozenset[str]:
    return frozenset(
        answer[i : i + length]
        for answers in question.answers.values()
        for answer in answers
        for i in range(len(answer) - length + 1)
    )


def _holds_contamination_stretch(answer: str, stretches: frozenset[str], length: int) -> bool:
    return any(answer[i : i + length] in stretches for i in range(len(answer) - length + 1))
