"""Answers of runs that stand in the set: whoever trained on it, or wrote it, need not be good."""

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
    """How many answers of runs stand verbatim in the set, by run and question; and examples.

    White space around answers is stripped on both sides. The first table: `run`, `question_id`, `answers`,
    `verbatim` (equal to a reference answer of the question), `stretch` (holding `stretch` characters on end
    of one; so do the verbatim ones that are as long), and their shares. The second: up to `shown` verbatim
    answers a run and question, as `run`, `question_id`, the `source` and `answer` (from 0) they equal, and
    `text`. `responses` as `scored_runs` gives them.
    """
    if stretch < 1:
        raise SettingsError(f"stretch must be at least 1 character, not {stretch}")
    counts, examples = [], []
    asked = {q: part for (q,), part in responses.group_by(["question_id"], maintain_order=True)}
    present = [question for question in benchmark if question.id in asked]
    for question in tracked(present, "contamination", progress):
        places, stretches = _places(question), _stretches(question, stretch)
        runs = asked[question.id].group_by(["run"], maintain_order=True)
        for (run,), part in runs:
            answers = [answer.strip() for answer in part.get_column("answer")]
            found = [answer for answer in answers if answer in places]
            copied = sum(_holds(answer, stretches, stretch) for answer in answers)
            shares = (len(found) / len(answers), copied / len(answers))
            counts.append((run, question.id, len(answers), len(found), copied, *shares))
            distinct = list(dict.fromkeys(found))
            examples += [(run, question.id, *places[text], text) for text in distinct[:shown]]
    return (
        pl.DataFrame(counts, schema=_COUNTS, orient="row"),
        pl.DataFrame(examples, schema=_EXAMPLES, orient="row"),
    )


def _places(question: Question) -> Mapping[str, tuple[str, int]]:
    """Every reference answer, stripped, with its first place. Nothing is copied by an empty one."""
    places: dict[str, tuple[str, int]] = {}
    for source, answers in question.answers.items():
        for number, answer in enumerate(answers):
            places.setdefault(answer.strip(), (source, number))
    places.pop("", None)
    return places


def _stretches(question: Question, length: int) -> frozenset[str]:
    return frozenset(
        answer[i : i + length]
        for answers in question.answers.values()
        for answer in answers
        for i in range(len(answer) - length + 1)
    )


def _holds(answer: str, stretches: frozenset[str], length: int) -> bool:
    return any(answer[i : i + length] in stretches for i in range(len(answer) - length + 1))
