"""The samples of llm-jp-eval's tasks that are run at every step, and the figures of a step's outputs."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any

from pfgen_rs.ask.protocol import Parameters, Task
from pfgen_rs.io.cleaning import Mode
from pfgen_rs.lazy import pl
from pfgen_rs.llm_jp_eval import prompts, scoring
from pfgen_rs.llm_jp_eval.catalog import AVERAGES, chosen_tasks, find_task
from pfgen_rs.llm_jp_eval.data import TaskData, item_id, raw_digest, read_tasks, used
from pfgen_rs.llm_jp_eval.metrics.samples import check_variant
from pfgen_rs.training.checks import checked_texts, count, whole

TASK_COLUMNS = "llm_jp_eval/"
"""The names of columns about tasks begin with this."""
TASK_ANSWERS = "_answers"
"""Those with the number of a task's outputs end with this."""
_STDERR = "_se"
_AVR = "AVR"
_AVERAGED = frozenset(AVERAGES[_AVR])
"""The categories of which AVR is the mean."""
_TOP = 0.0  # the temperature at which the likeliest token is taken


class TaskSample:
    """The first samples of some tasks, asked in the same way at every step.

    `names`: of tasks or categories. `datas`: the tasks in the order in which they are run, with the samples
    that are used. The tasks to generate have parameters of their own: at most `output_length` new tokens,
    temperature 0, no stop strings. Raises `SettingsError` for unknown names and invalid settings, and
    `InputError` for missing or invalid files.
    """

    def __init__(
        self,
        names: str | Sequence[str],
        *,
        n: int | None,
        shots: int,
        split: str,
        folder: str | os.PathLike[str] | None,
        variant: str,
        mode: Mode,
    ) -> None:
        names = (names,) if isinstance(names, str) else checked_texts(names, "tasks")
        self._n = None if n is None else count(n, "n")
        self._shots, self._mode = whole(shots, "the number of shots"), mode
        self._split, self.variant = split, variant
        check_variant(variant)
        datas = read_tasks(folder, [task.name for task in chosen_tasks(names)], split)
        self._digest = raw_digest(datas)
        self.datas = tuple(
            replace(data, samples=data.samples[: used(data, self._n)]) for data in datas
        )
        self.tasks = tuple(task for data in self.datas for task in self._tasks_of(data))
        """The tasks to generate, in the order of the answers; a task's question is its sample's id."""

    def _tasks_of(self, data: TaskData) -> Iterator[Task]:
        own = prompts.template(data, self._shots)
        parameters = Parameters(data.output_length, _TOP, None, ())
        for index, sample in enumerate(data.samples):
            name = item_id(data.task, data.split, index)
            prompt = prompts.filled(own, sample.input)
            yield Task(name, 1, self._mode, prompt, 0, parameters=parameters)

    @cached_property
    def schema(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """The columns that the curve has for the tasks, with their types."""
        columns: dict[str, pl.DataType | type[pl.DataType]] = {}
        for data in self.datas:
            for metric in data.metrics:
                columns[_column(data, metric)] = pl.Float64
                columns[_column(data, metric) + _STDERR] = pl.Float64
            columns[TASK_COLUMNS + data.task + TASK_ANSWERS] = pl.Int64
        if self._has_average:
            columns |= {TASK_COLUMNS + _AVR: pl.Float64, TASK_COLUMNS + _AVR + _STDERR: pl.Float64}
        return columns

    @property
    def _has_average(self) -> bool:
        """Whether the tasks cover every category that AVR needs."""
        return {find_task(data.task).category for data in self.datas} >= _AVERAGED

    @cached_property
    def description(self) -> dict[str, Any]:
        """The settings that must agree for steps to be comparable, as values for JSON."""
        return {
            "tasks": [data.task for data in self.datas],
            "tasks_split": self._split,
            "tasks_n": self._n,
            "tasks_shots": self._shots,
            "tasks_variant": self.variant,
            "tasks_data": self._digest,
        }

    def scored(self, outputs: Sequence[str | None]) -> tuple[dict[str, Any], pl.DataFrame | None]:
        """Score the outputs, in the order of `tasks`; figures are those over samples with an output.

        Returns the columns of `schema`, of which tasks without any output have none of the figures, and a
        table with a row for each output (`task`, `index`, `output`, `pred`, `gold`, `value`, `exact`,
        `char_f1`), `None` if there are none at all.
        """
        row: dict[str, Any] = {}
        datas, texts, index = [], {}, []
        rest = iter(outputs)
        for data in self.datas:
            own = list(islice(rest, len(data.samples)))
            places = [place for place, text in enumerate(own) if text is not None]
            row[TASK_COLUMNS + data.task + TASK_ANSWERS] = len(places)
            if places:
                datas.append(replace(data, samples=tuple(data.samples[place] for place in places)))
                texts[data.task] = [text for text in own if text is not None]
                index += places
        if not datas:
            return row, None
        found = scoring.evaluate(datas, texts, self.variant)
        # What the files have is not written at every step.
        table = found.frame.drop("input").with_columns(pl.Series("index", index, pl.Int64))
        return row | self._figures(datas, found), table

    def _figures(
        self, datas: Sequence[TaskData], found: scoring.Evaluation
    ) -> dict[str, float | None]:
        """Returns each task's figures and AVR, if all its tasks have some, with standard errors."""
        figures: dict[str, float | None] = {}
        errors = scoring.standard_errors(found)
        for data in datas:
            for metric in data.metrics:
                column, score = _column(data, metric), f"{data.task}_{metric}"
                figures |= {column: found.scores[score], column + _STDERR: errors[score]}
        if self._has_average and len(datas) == len(self.datas):
            shares = [
                None if (error := errors[score]) is None else weight * error
                for score, weight in _weights(datas).items()
            ]
            known = [share for share in shares if share is not None]
            figures[TASK_COLUMNS + _AVR] = found.averages[_AVR]
            figures[TASK_COLUMNS + _AVR + _STDERR] = math.hypot(*known) if known == shares else None
        return figures


def _column(data: TaskData, metric: str) -> str:
    """Returns a column's name: that of the task for its main metric, else also that of the metric."""
    main = metric == data.metrics[0]
    return TASK_COLUMNS + (data.task if main else f"{data.task}_{metric}")


def _weights(datas: Sequence[TaskData]) -> dict[str, float]:
    """Returns the weights of scores in AVR, the mean of the categories' means."""
    categories = {
        f"{data.task}_{data.metrics[0]}": category
        for data in datas
        if (category := find_task(data.task).category) in _AVERAGED
    }
    sizes = Counter(categories.values())
    return {score: 1 / (len(sizes) * sizes[home]) for score, home in categories.items()}
