"""Scoring the outputs for tasks of llm-jp-eval at one step, for a row of the curve."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from pfgen_rs.llm_jp_eval.catalog import find_task
from pfgen_rs.llm_jp_eval.data import TaskData
from pfgen_rs.llm_jp_eval.scoring import Evaluation, evaluate, standard_errors
from pfgen_rs.training.curve import TASK_ANSWERS, TASK_COLUMNS
from pfgen_rs.training.task_sample import (
    AVERAGED_CATEGORIES,
    AVR,
    STDERR,
    TaskSample,
)

__all__ = ["MeasuredTasks", "measure_tasks"]

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
    asked = _tasks_with_outputs(sample, outputs)
    row: dict[str, Any] = dict.fromkeys(sample.schema)
    row |= {TASK_COLUMNS + one.data.task + TASK_ANSWERS: len(one.places) for one in asked}
    given = [one for one in asked if one.places]
    if not given:
        return MeasuredTasks(row, None)
    datas = [one.data for one in given]
    found = evaluate(datas, {one.data.task: one.texts for one in given}, sample.variant)
    index = pl.Series("index", [place for one in given for place in one.places], pl.Int64)
    table = found.frame.drop(_NOT_KEPT).with_columns(index)
    return MeasuredTasks(row | _task_figures(sample, datas, found), table)


class _WithOutputs(NamedTuple):
    """A task with only those samples that have an output, their places among all, and the outputs."""

    data: TaskData
    places: list[int]
    texts: list[str]


def _tasks_with_outputs(sample: TaskSample, outputs: Sequence[str | None]) -> list[_WithOutputs]:
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


def _task_figures(
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
            for score, weight in _weights_in_average(datas).items()
        ]
        known = [share for share in shares if share is not None]
        figures[TASK_COLUMNS + AVR] = found.averages[AVR]
        figures[TASK_COLUMNS + AVR + STDERR] = math.hypot(*known) if known == shares else None
    return figures


def _weights_in_average(datas: Sequence[TaskData]) -> dict[str, float]:
    """Returns the weights of scores in AVR, the mean of the categories' means."""
    categories = {
        f"{data.task}_{data.metrics[0]}": category
        for data in datas
        if (category := find_task(data.task).category) in AVERAGED_CATEGORIES
    }
    sizes = Counter(categories.values())
    return {score: 1 / (len(sizes) * sizes[home]) for score, home in categories.items()}
