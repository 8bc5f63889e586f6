"""Scores of the answers and outputs of one step, for a row of the curve."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.llm_jp_eval.catalog import TaskData, find_task
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


@dataclass(frozen=True)
class Measured:
    """Scores of all answers: float64, shape (trials, questions), NaN where there is no answer.

    `texts`: the answers in the same order, flattened; `None` where there is none.
    """

    texts: Sequence[str | None]
    lengths: Floats
    metrics: dict[str, Floats]


def measure(sample: FixedSample, texts: Sequence[str | None]) -> Measured | None:
    """Score the answers to a sample's tasks on this thread only, leaving the others to training.

    `None` is a task without an answer, and the result if there are no answers at all. Raises `InputError` for
    values that are not valid text.
    """
    given = np.array([text is not None for text in texts], dtype=bool)
    if not given.any():
        return None
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
    measured: Measured | None, step: int, tokens: int | None, baseline: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Returns a row of the curve; differences from `baseline` (the row of step 0) are paired by question."""
    row: dict[str, Any] = {"step": step, "tokens": tokens}
    if measured is None:
        return row | {"questions": 0, "answers": 0}
    means, score = _by_question(measured.metrics["average"])
    row |= _bounds("score", score)
    for name in PARTS:
        row |= _bounds(name, _by_question(measured.metrics[name])[1])
    if baseline is not None and baseline["question_scores"] is not None:
        changes = means - np.array(baseline["question_scores"], dtype=np.float64)
        changes = changes[~np.isnan(changes)]
        if len(changes):
            # The spread of the questions' changes already includes the noise of trials.
            row |= _bounds("difference", from_summary(changes, np.zeros_like(changes), 1))
    empty = [not text for text in measured.texts if text is not None]
    return row | {
        "question_se": score.question_se,
        "trial_se": score.trial_se,
        "length": float(measured.lengths[~np.isnan(measured.lengths)].mean()),
        "empty": sum(empty) / len(empty),
        "questions": score.questions,
        "answers": score.responses,
        "question_scores": [None if np.isnan(mean) else mean for mean in means.tolist()],
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


def _by_question(values: Floats) -> tuple[Floats, Estimate]:
    """Returns the questions' means (NaN without answers), and their mean, clustered by question."""
    counts = (~np.isnan(values)).sum(axis=0)
    if counts.min() == len(values):
        means, sds = values.mean(axis=0), values.std(axis=0)
    else:
        answered = [column[~np.isnan(column)] for column in values.T]
        means = np.array([column.mean() if len(column) else np.nan for column in answered])
        sds = np.array([column.std() if len(column) else np.nan for column in answered])
    known = counts > 0
    return means, from_summary(means[known], sds[known], counts[known].tolist())


def _bounds(name: str, estimate: Estimate) -> dict[str, float | None]:
    return {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


# Scoring the outputs for tasks of llm-jp-eval at one step, for a row of the curve.


def measure_tasks(
    sample: TaskSample, outputs: Sequence[str | None]
) -> tuple[dict[str, Any], pl.DataFrame | None]:
    """Score the outputs for a sample's tasks, in order; figures are those over samples with an output.

    Returns the columns of `TaskSample.schema`, of which tasks without any output have none of the figures,
    and a table with a row for each output (`task`, `index`, `output`, `pred`, `gold`, `value`, `exact`,
    `char_f1`), `None` if there are none at all.
    """
    row: dict[str, Any] = {}
    datas, texts, index = [], {}, []
    rest = iter(outputs)
    for data in sample.datas:
        own = list(islice(rest, len(data.samples)))
        places = [place for place, text in enumerate(own) if text is not None]
        row[TASK_COLUMNS + data.task + TASK_ANSWERS] = len(places)
        if places:
            datas.append(replace(data, samples=tuple(data.samples[place] for place in places)))
            texts[data.task] = [text for text in own if text is not None]
            index += places
    if not datas:
        return row, None
    found = evaluate(datas, texts, sample.variant)
    # What the files have is not written at every step.
    table = found.frame.drop("input").with_columns(pl.Series("index", index, pl.Int64))
    return row | _figures(sample, datas, found), table


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
