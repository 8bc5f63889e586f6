"""Pairs out of the answers of two or more runs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import polars as pl

from pfgen_rs.errors import BenchmarkError, InputError, SettingsError
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.questions.examples import read_examples

__all__ = ["pairs_of_runs", "references_of"]


def pairs_of_runs(
    runs: Mapping[str, pl.DataFrame],
    *,
    references: Mapping[str, str] | None = None,
    trials: int | None = 1,
    sample: int | None = None,
    seed: int = 0,
) -> list[Pair]:
    """Returns pairs of answers to the same question, for every two of the runs.

    `runs`: by name, the frames of results (`Result.frame`), in which a question's n-th answer is that of
    trial n. `references`: reference answers by question. `trials`: how many trials of each question to pair
    (`None`: as many as both runs have); the n-th answer of one run meets the n-th of the other. `sample`:
    number of pairs for every two runs, spread as evenly as possible over the questions, drawn with `seed`
    (default: all). Which of two models comes first alternates from pair to pair, so that each is a and b
    equally often.

    Raises `InputError` for fewer than two runs and for runs that share no question, and `SettingsError` for a
    sample that is larger than what there is.
    """
    if len(runs) < 2:
        raise InputError("expected at least two runs to pair")
    texts = {name: _answers_by_question(frame) for name, frame in runs.items()}
    known = references or {}
    found: list[Pair] = []
    for one, other in combinations(texts, 2):
        places = list(_shared_places(texts[one], texts[other], trials))
        if not places:
            raise InputError(f"runs {one!r} and {other!r} have no question in common")
        if sample is not None:
            places = _balanced_sample(places, sample, f"{seed} {one} {other}")
        for index, (question_id, trial) in enumerate(places):
            a, b = (one, other) if index % 2 == 0 else (other, one)
            found.append(_pair_of_answers(texts, question_id, trial, a, b, known))
    return found


def _answers_by_question(frame: pl.DataFrame) -> dict[str, list[tuple[str, str]]]:
    answers: dict[str, list[tuple[str, str]]] = {}
    rows = frame.select("question_id", "question", "answer").iter_rows()
    for question_id, question, answer in rows:
        answers.setdefault(question_id, []).append((question, answer))
    return dict(sorted(answers.items()))


def _shared_places(
    one: Mapping[str, Sequence[object]], other: Mapping[str, Sequence[object]], trials: int | None
) -> Iterator[tuple[str, int]]:
    for question_id in one:
        count = min(len(one[question_id]), len(other.get(question_id, ())))
        for trial in range(count if trials is None else min(trials, count)):
            yield question_id, trial


def _balanced_sample(
    places: Sequence[tuple[str, int]], count: int, seed: str
) -> list[tuple[str, int]]:
    """Draw places so that the numbers of two questions differ by one at most, where there are enough."""
    if not 0 < count <= len(places):
        raise SettingsError(
            f"invalid sample {count}: expected 1 to {len(places)} pairs of two runs"
        )
    source = random.Random(seed)  # noqa: S311
    by_question: dict[str, list[int]] = {}
    for question_id, trial in places:
        by_question.setdefault(question_id, []).append(trial)
    for trials in by_question.values():
        source.shuffle(trials)
    order = list(by_question)
    source.shuffle(order)
    drawn: list[tuple[str, int]] = []
    while len(drawn) < count:
        for question_id in order:
            if by_question[question_id] and len(drawn) < count:
                drawn.append((question_id, by_question[question_id].pop()))
    return sorted(drawn)


def _pair_of_answers(
    texts: Mapping[str, Mapping[str, list[tuple[str, str]]]],
    question_id: str,
    trial: int,
    a: str,
    b: str,
    references: Mapping[str, str],
) -> Pair:
    question = texts[a][question_id][trial][0]
    return Pair(
        id=f"{question_id}/{trial + 1}/{a}/{b}",
        question_id=question_id,
        question=question,
        reference=references.get(question),
        models=(a, b),
        answers=(texts[a][question_id][trial][1], texts[b][question_id][trial][1]),
    )


def references_of(benchmark: str | None) -> dict[str, str]:
    """Returns the benchmark's example answers by question, which serve as references; empty without any."""
    try:
        return dict(read_examples(benchmark))
    except BenchmarkError:
        return {}
