"""Scoring the answers of one step, for a row of the curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.metrics.names import COLUMNS, PARTS
from pfgen_rs.scoring import batch
from pfgen_rs.stats import Estimate, from_summary
from pfgen_rs.training.sample import FixedSample

__all__ = ["Measured", "answer_table", "measure", "row_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Scores of all answers: float64, shape (trials, questions); `texts` in the same order, flattened."""

    texts: Sequence[str]
    lengths: Floats
    metrics: dict[str, Floats]


def measure(sample: FixedSample, texts: Sequence[str]) -> Measured:
    """Score the answers to a sample's tasks on this thread only, leaving the others to training.

    Raises `InputError` for values that are not valid text.
    """
    column = sample.benchmark.coder.column(texts, 1)
    lengths, columns = batch.score_arrays(sample.benchmark, sample.numbers, column, threads=1)
    shape = sample.trials, len(sample.questions)
    named = zip(COLUMNS, columns, strict=False)
    metrics = {name: values.reshape(shape) for name, values in named}
    return Measured(texts, lengths.astype(np.float64).reshape(shape), metrics)


def row_of(
    measured: Measured, step: int, tokens: int | None, baseline: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Returns a row of the curve; differences from `baseline` (the row of step 0) are paired by question."""
    score = _measured_estimate(measured.metrics["average"])
    row: dict[str, Any] = {
        "step": step,
        "tokens": tokens,
        **_measured_interval_bounds("score", score),
    }
    for name in PARTS:
        row |= _measured_interval_bounds(name, _measured_estimate(measured.metrics[name]))
    means = measured.metrics["average"].mean(axis=0)
    empty = [not text for text in measured.texts]
    return row | {
        "question_se": score.question_se,
        "trial_se": score.trial_se,
        **_measured_difference(means, baseline),
        "length": float(measured.lengths.mean()),
        "empty": sum(empty) / len(empty),
        "questions": score.questions,
        "answers": score.responses,
        "question_scores": means.tolist(),
    }


def answer_table(sample: FixedSample, measured: Measured) -> pl.DataFrame:
    """Returns all answers with scores: question_id, question, trial, answer, length, metrics, average."""
    questions = [task.question for task in sample.tasks]
    return pl.DataFrame(
        {
            "question_id": [sample.benchmark.find(question).id for question in questions],
            "question": questions,
            "trial": [task.trial for task in sample.tasks],
            "answer": list(measured.texts),
            "length": measured.lengths.ravel().astype(np.int64),
            **{name: values.ravel() for name, values in measured.metrics.items()},
        }
    )


def _measured_estimate(values: Floats) -> Estimate:
    """Returns the mean of a metric with standard errors clustered by question."""
    return from_summary(values.mean(axis=0), values.std(axis=0), len(values))


def _measured_interval_bounds(name: str, estimate: Estimate) -> dict[str, float | None]:
    return {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _measured_difference(
    means: Floats, baseline: Mapping[str, Any] | None
) -> dict[str, float | None]:
    if baseline is None or baseline["question_scores"] is None:
        return dict.fromkeys(("difference", "difference_low", "difference_high"))
    changes = means - np.array(baseline["question_scores"])
    # The spread of the questions' changes already includes the noise of trials.
    return _measured_interval_bounds("difference", from_summary(changes, np.zeros_like(changes), 1))
