"""Scores of the answers and outputs of one step, for a row of the curve."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.llm_jp_eval.catalog import find_task
from pfgen_rs.llm_jp_eval.data import TaskData
from pfgen_rs.llm_jp_eval.scoring import Evaluation, evaluate, standard_errors
from pfgen_rs.metrics.settings import COLUMNS, PARTS
from pfgen_rs.scoring import batch
from pfgen_rs.stats import Estimate, from_summary
from pfgen_rs.training.sample import (
    AVERAGED_CATEGORIES,
    AVR,
    STDERR,
    TASK_ANSWERS,
    TASK_COLUMNS,
    FixedSample,
    TaskSample,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Scores of all answers: float64, shape (trials, questions), NaN where there is no answer.

    `texts`: the answers in the same order, flattened; `None` where there is none.
    """

    texts: Sequence[str | None]
    lengths: Floats
    metrics: dict[str, Floats]


class _ByQuestion(NamedTuple):
    """Means, population standard deviations and numbers of answers, by question; NaN without answers."""

    means: Floats
    sds: Floats
    counts: NDArray[np.int64]

    def estimate(self) -> Estimate:
        """Returns the mean over the questions with answers, with standard errors clustered by question."""
        known = self.counts > 0
        return from_summary(self.means[known], self.sds[known], self.counts[known].tolist())


def measure(sample: FixedSample, texts: Sequence[str | None]) -> Measured:
    """Score the answers to a sample's tasks on this thread only, leaving the others to training.

    `None` is a task without an answer; at least one task must have one. Raises `InputError` for values that
    are not valid text.
    """
    given = np.array([text is not None for text in texts])
    column = sample.benchmark.coder.column([text for text in texts if text is not None], 1)
    numbers = sample.numbers[given]
    lengths, columns = batch.score_arrays(sample.benchmark, numbers, column, threads=1)

    def placed(values: NDArray[Any]) -> Floats:
        found = np.full(len(given), np.nan)
        found[given] = values
        return found.reshape(sample.trials, len(sample.questions))

    metrics = {name: placed(values) for name, values in zip(COLUMNS, columns, strict=False)}
    return Measured(texts, placed(lengths), metrics)


def row_of(
    measured: Measured, step: int, tokens: int | None, baseline: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Returns a row of the curve; differences from `baseline` (the row of step 0) are paired by question."""
    questions = _by_question(measured.metrics["average"])
    score = questions.estimate()
    row: dict[str, Any] = {"step": step, "tokens": tokens, **_bounds("score", score)}
    for name in PARTS:
        part = _by_question(measured.metrics[name]).estimate()
        row |= _bounds(name, part)
    empty = [not text for text in measured.texts if text is not None]
    means = [None if np.isnan(mean) else mean for mean in questions.means.tolist()]
    return row | {
        "question_se": score.question_se,
        "trial_se": score.trial_se,
        **_difference(questions.means, baseline),
        "length": float(measured.lengths[~np.isnan(measured.lengths)].mean()),
        "empty": sum(empty) / len(empty),
        "questions": score.questions,
        "answers": score.responses,
        "question_scores": means,
    }


def answer_table(sample: FixedSample, measured: Measured) -> pl.DataFrame:
    """Returns all answers with scores: question_id, question, trial, answer, length, metrics, average."""
    rows = [row for row, text in enumerate(measured.texts) if text is not None]
    tasks = [sample.tasks[row] for row in rows]
    return pl.DataFrame(
        {
            "question_id": [sample.benchmark.find(task.question).id for task in tasks],
            "question": [task.question for task in tasks],
            "trial": [task.trial for task in tasks],
            "answer": [measured.texts[row] for row in rows],
            "length": measured.lengths.ravel()[rows].astype(np.int64),
            **{name: values.ravel()[rows] for name, values in measured.metrics.items()},
        }
    )


def _by_question(values: Floats) -> _ByQuestion:
    counts = (~np.isnan(values)).sum(axis=0)
    if counts.min() == len(values):
        return _ByQuestion(values.mean(axis=0), values.std(axis=0), counts)
    answered = [column[~np.isnan(column)] for column in values.T]
    means = [column.mean() if len(column) else np.nan for column in answered]
    sds = [column.std() if len(column) else np.nan for column in answered]
    return _ByQuestion(np.array(means), np.array(sds), counts)


def _bounds(name: str, estimate: Estimate) -> dict[str, float | None]:
    return {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _difference(means: Floats, baseline: Mapping[str, Any] | None) -> dict[str, float | None]:
    unknown: dict[str, float | None] = dict.fromkeys(
        ("difference", "difference_low", "difference_high")
    )
    if baseline is None or baseline["question_scores"] is None:
        return unknown
    changes = means - np.array(baseline["question_scores"], dtype=np.float64)
    changes = changes[~np.isnan(changes)]
    if not len(changes):
        return unknown
    # The spread of the questions' changes already includes the noise of trials.
    return _bounds("difference", from_summary(changes, np.zeros_like(changes), 1))


# Scoring the outputs for tasks of llm-jp-eval at one step, for a row of the curve.


_NOT_KEPT = "input"  # what the files have is not written at every step


class MeasuredTasks(NamedTuple):
    """What one step's outputs are worth.

    `row`: the columns of `TaskSample.schema`; tasks without any output have none of their figures. `table`:
    a row for each output (`task`, `index`, `output`, `pred`, `gold`, `value`, `exact`, `char_f1`), `None` if
    there are none at all.
    """

    row: dict[str, Any]
    table: pl.DataFrame | None


def measure_tasks(sample: TaskSample, outputs: Sequence[str | None]) -> MeasuredTasks:
    """Score the outputs for a sample's tasks, in order; figures are those over samples with an output."""
    asked = _with_outputs(sample, outputs)
    row: dict[str, Any] = dict.fromkeys(sample.schema)
    row |= {TASK_COLUMNS + one.data.task + TASK_ANSWERS: len(one.places) for one in asked}
    given = [one for one in asked if one.places]
    if not given:
        return MeasuredTasks(row, None)
    datas = [one.data for one in given]
    found = evaluate(datas, {one.data.task: one.texts for one in given}, sample.variant)
    index = pl.Series("index", [place for one in given for place in one.places], pl.Int64)
    table = found.frame.drop(_NOT_KEPT).with_columns(index)
    return MeasuredTasks(row | _figures(sample, datas, found), table)


class _WithOutputs(NamedTuple):
    """A task with only those samples that have an output, their places among all, and the outputs."""

    data: TaskData
    places: list[int]
    texts: list[str]


def _with_outputs(sample: TaskSample, outputs: Sequence[str | None]) -> list[_WithOutputs]:
    found, rest = [], iter(outputs)
    for data in sample.datas:
        own = [
            (place, text)
            for place, text in enumerate(islice(rest, len(data.samples)))
            if text is not None
        ]
        samples = tuple(data.samples[place] for place, _ in own)
        places, texts = [place for place, _ in own], [text for _, text in own]
        found.append(_WithOutputs(replace(data, samples=samples), places, texts))
    return found


def _figures(
    sample: TaskSample, datas: Sequence[TaskData], found: Evaluation
) -> dict[str, float | None]:
    """Returns each task's figures and AVR, if all its tasks have some, with standard errors."""
    figures: dict[str, float | None] = {}
    errors = standard_errors(found)
    for data in datas:
        for metric in data.metrics:
            column, score = sample.column(data, metric), f"{data.task}_{metric}"
            figures |= {column: found.scores[score], column + STDERR: errors[score]}
    if sample.has_average and len(datas) == len(sample.datas):
        shares = [
            None if (error := errors[score]) is None else weight * error
            for score, weight in _weights(datas).items()
        ]
        known = [share for share in shares if share is not None]
        figures[TASK_COLUMNS + AVR] = found.averages[AVR]
        figures[TASK_COLUMNS + AVR + STDERR] = math.hypot(*known) if known == shares else None
    return figures


def _weights(datas: Sequence[TaskData]) -> dict[str, float]:
    """Returns the weights of scores in AVR, the mean of the categories' means."""
    categories = {
        f"{data.task}_{data.metrics[0]}": category
        for data in datas
        if (category := find_task(data.task).category) in AVERAGED_CATEGORIES
    }
    sizes = Counter(categories.values())
    return {score: 1 / (len(sizes) * sizes[home]) for score, home in categories.items()}
