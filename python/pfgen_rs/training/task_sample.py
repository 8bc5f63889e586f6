"""The fixed sample of tasks of llm-jp-eval that is evaluated beside the questions of a benchmark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from pfgen_rs.ask.protocol import Parameters, Task
from pfgen_rs.errors import SettingsError
from pfgen_rs.generate.prompts import Mode
from pfgen_rs.llm_jp_eval.averages import AVERAGES
from pfgen_rs.llm_jp_eval.catalog import chosen_tasks, find_task
from pfgen_rs.llm_jp_eval.data import TaskData, item_id, raw_digest, read_tasks, used
from pfgen_rs.llm_jp_eval.predictions import check_variant
from pfgen_rs.llm_jp_eval.prompts import filled, template
from pfgen_rs.training.checks import checked_texts, count, whole
from pfgen_rs.training.curve import TASK_ANSWERS, TASK_COLUMNS

__all__ = ["AVERAGED_CATEGORIES", "AVR", "STDERR", "TaskSample"]

STDERR = "_se"
AVR = "AVR"
AVERAGED_CATEGORIES = frozenset(AVERAGES[AVR])
"""The categories of which AVR is the mean."""
_TOP = 0.0  # the temperature at which the likeliest token is taken


@dataclass(frozen=True)
class TaskSample:
    """The first samples of some tasks, asked in the same way at every step.

    `datas`: the tasks in the order in which they are run, with the samples that are used. `digest`: of the
    files that they are from. The tasks to generate have parameters of their own: at most `output_length` new
    tokens, temperature 0, no stop strings.
    """

    datas: tuple[TaskData, ...]
    digest: str
    n: int | None
    shots: int
    split: str
    variant: str
    mode: Mode

    @classmethod
    def of(
        cls,
        names: str | Sequence[str],
        *,
        n: int | None,
        shots: int,
        split: str,
        folder: str | os.PathLike[str] | None,
        variant: str,
        mode: Mode,
    ) -> TaskSample:
        """Read the samples of tasks, by names or categories.

        Raises `SettingsError` for unknown names and invalid settings, and `InputError` for missing or invalid
        files.
        """
        names = (names,) if isinstance(names, str) else checked_texts(names, "tasks")
        n, shots = None if n is None else count(n, "n"), whole(shots, "the number of shots")
        check_variant(variant)
        if not names:
            raise SettingsError("no tasks chosen")
        datas = read_tasks(folder, [task.name for task in chosen_tasks(names)], split)
        first = (replace(data, samples=data.samples[: used(data, n)]) for data in datas)
        sample = cls(tuple(first), raw_digest(datas), n, shots, split, variant, mode)
        sample.tasks  # noqa: B018 - for its errors
        return sample

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks to generate, in the order of the answers; a task's question is its sample's id."""
        return tuple(task for data in self.datas for task in self._tasks_of(data))

    def _tasks_of(self, data: TaskData) -> Iterator[Task]:
        own = template(data, self.shots)
        parameters = Parameters(data.output_length, _TOP, None, ())
        for index, sample in enumerate(data.samples):
            name = item_id(data.task, data.split, index)
            prompt = filled(own, sample.input)
            yield Task(name, 1, self.mode, prompt, 0, parameters=parameters)

    @cached_property
    def schema(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """The columns that the curve has for the tasks, with their types."""
        columns: dict[str, pl.DataType | type[pl.DataType]] = {}
        for data in self.datas:
            for metric in data.metrics:
                columns[self.column(data, metric)] = pl.Float64
                columns[self.column(data, metric) + STDERR] = pl.Float64
            columns[TASK_COLUMNS + data.task + TASK_ANSWERS] = pl.Int64
        if self.has_average:
            columns |= {TASK_COLUMNS + AVR: pl.Float64, TASK_COLUMNS + AVR + STDERR: pl.Float64}
        return columns

    @property
    def has_average(self) -> bool:
        """Whether the tasks cover every category that AVR needs."""
        return {find_task(data.task).category for data in self.datas} >= AVERAGED_CATEGORIES

    def column(self, data: TaskData, metric: str) -> str:
        """Returns a column's name: that of the task for its main metric, else also that of the metric."""
        main = metric == data.metrics[0]
        return TASK_COLUMNS + (data.task if main else f"{data.task}_{metric}")

    @cached_property
    def description(self) -> dict[str, Any]:
        """The settings that must agree for steps to be comparable, as values for JSON."""
        return {
            "tasks": [data.task for data in self.datas],
            "tasks_split": self.split,
            "tasks_n": self.n,
            "tasks_shots": self.shots,
            "tasks_variant": self.variant,
            "tasks_data": self.digest,
        }
