"""Sets without the reference answers of some models, such as that of a run that is scored (scoring 11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from pfgen_rs import _native
from pfgen_rs.errors import BenchmarkError, InputError, meant
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import np
from pfgen_rs.metrics.settings import BY_SOURCE, score_names, share_name
from pfgen_rs.questions.left_out import (
    LeaveOut,
    LeftOut,
    answers_of,
    count_answers,
    families_in,
    own_models,
    without_answers,
)
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.scoring import batch

OTHERS = 4
"""Other models whose reference answers show what leaving out does to scores: those with the most."""

Q = TypeVar("Q", bound=QuestionSet)
Levels = Mapping[str, Mapping[str, float]]
"""By question and source, the mean Fluency with baseline 1 of its own answers, for one reference answer."""


def without_own(benchmark: Q, model: str | None, leave_out: LeaveOut | None) -> Q:
    """Returns the benchmark without the reference answers of a run's model, or of its family, if asked to.

    Raises `InputError` if the model is not known, and what `without_models` raises.
    """
    if leave_out is None:
        return benchmark
    if not model:
        raise InputError(
            "no model is known whose reference answers could be left out: name it with --model "
            "(in Python: model=), or as 'model' in the run's config.json"
        )
    families = families_in(benchmark.folder) if leave_out == "family" else {}
    return without_models(benchmark, own_models(benchmark.models, model, leave_out, families))


def without_models(benchmark: Q, models: Sequence[str]) -> Q:
    """Returns the benchmark without the reference answers of these models; see `Benchmark.without_models`."""
    names = tuple(sorted(set(models)))
    _check(benchmark, names)
    answers = count_answers(benchmark, names)
    found = _remaining(benchmark, names) if answers else benchmark.with_settings({})
    if emptied := sorted(_places(benchmark) - _places(found)):
        raise BenchmarkError(
            f"question {emptied[0][0]}: all reference answers of source {emptied[0][1]!r} are by "
            f"{shortened(', '.join(names), 120)}: without them there is nothing to score with"
        )
    scales = _scales(benchmark, found, names) if answers else {}
    found.left_out = LeftOut(names if answers else (), answers, scales)
    return found


def _check(benchmark: QuestionSet, models: Sequence[str]) -> None:
    if not benchmark.models:
        raise BenchmarkError(
            "the set does not say who wrote its reference answers: none can be left out (sets built from "
            "candidates with a 'model' say so)"
        )
    if benchmark.left_out is not None:
        raise BenchmarkError("reference answers are left out already: begin with the whole set")
    for name in models:
        if name not in benchmark.models:
            raise BenchmarkError(
                f"no reference answers are by a model {name!r}{meant(name, benchmark.models)}"
            )


def _places(benchmark: QuestionSet) -> set[tuple[str, str]]:
    return {(question.id, source) for question in benchmark for source in question.sources}


def _remaining(benchmark: Q, models: Collection[str]) -> Q:
    """Returns the set without these models' answers, nor questions and sources that have no others."""
    kept = (without_answers(question, models) for question in benchmark)
    questions = [question for question in kept if question is not None]
    return type(benchmark)(questions, benchmark.metadata_hash, benchmark.settings)


def _levels(benchmark: QuestionSet) -> Levels:
    counted = benchmark.settings.variant != "paper"  # which divides by the number of answers before
    return {
        question.id: {
            source: baseline / (len(question.answers[source]) if counted else 1)
            for source, baseline in benchmark._baselines(question).items()
        }
        for question in benchmark.prepare()
    }


# Scales: what keeps scores of other models' answers as they were (scoring 11.2 and 11.3).


def _scales(
    whole: QuestionSet, found: QuestionSet, models: Sequence[str]
) -> dict[str, dict[str, tuple[float, float]]]:
    before, after = _levels(whole), _levels(found)
    by_source = _shown_by_others(whole, models, before)
    return {
        key: {
            source: (own / before[key][source] * by_source[source][0], by_source[source][1])
            for source, own in levels.items()
        }
        for key, levels in after.items()
    }


def _shown_by_others(
    whole: QuestionSet, models: Sequence[str], levels: Levels
) -> dict[str, tuple[float, float]]:
    """Returns factors of Fluency and Truthfulness by source, from answers of other models to the set.

    Each is scored without its own model's answers, with and without those of `models`.
    """
    kept, left = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for other in _others(whole, models):
        fewer = _remaining(whole, {other, *models})
        if len(fewer):
            alone, places = _remaining(whole, {other}), _places(fewer)
            kept.update(_values(alone, whole, other, places, levels))
            left.update(_values(fewer, whole, other, places, levels))
    return {
        source: tuple(  # type: ignore[misc]
            1 + _damping(whole, models, source) * (kept[key] / left[key] - 1) if left[key] else 1.0
            for key in ((metric, source) for metric in BY_SOURCE)
        )
        for source in whole.sources
    }


def _others(whole: QuestionSet, models: Sequence[str]) -> list[str]:
    others = [name for name in whole.models if name not in models]
    return sorted(others, key=lambda name: (-count_answers(whole, {name}), name))[:OTHERS]


def _damping(whole: QuestionSet, models: Sequence[str], source: str) -> float:
    """A set changes less if a model is one of all than, as for the others' answers, one of fewer."""
    every = sum(len(q.answers[source]) for q in whole if source in q.answers)
    share = count_answers(whole, models, source) / every
    return max(0.0, (1 - 2 * share) / (1 + share))


def _values(
    part: QuestionSet,
    whole: QuestionSet,
    model: str,
    places: Collection[tuple[str, str]],
    levels: Levels,
) -> Counter[tuple[str, str]]:
    """Returns sums of Fluency, by the whole set's baselines, and Truthfulness of a model's answers."""
    rows = [
        (question.id, source, answer)
        for question in whole
        for source, own in answers_of(question, {model}).items()
        if (question.id, source) in places
        for answer in own
    ]
    numbers = np.array([part._number_of[key] for key, _, _ in rows], np.uint32)
    column = part._coder.column([answer for _, _, answer in rows])
    scored = batch.score_column(part, _native.Codes(numbers), column)
    columns = dict(zip(score_names(part.sources), scored.columns, strict=True))
    level, found = _levels(part), Counter[tuple[str, str]]()
    for source in part.sources:
        at = np.array([place for place, (_, name, _) in enumerate(rows) if name == source], int)
        keys = [rows[place][0] for place in at]
        counts = np.array([len(part[key].sources) for key in keys])
        scale = np.array([level[key][source] / levels[key][source] for key in keys])
        for metric, factor in zip(BY_SOURCE, (counts * scale, counts), strict=True):
            shares = columns[share_name(metric, source)][at]
            found[metric, source] = float((shares * factor).sum())  # type: ignore[assignment]
    return found
