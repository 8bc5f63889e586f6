"""Fixed samples that are evaluated at every step: questions of a benchmark, samples of llm-jp-eval."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pfgen_rs import _native
from pfgen_rs.ask.protocol import Parameters, Task
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.generate.prompts import Prompter
from pfgen_rs.io.cleaning import Mode
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.llm_jp_eval.catalog import (
    AVERAGES,
    TaskData,
    chosen_tasks,
    find_task,
    item_id,
    raw_digest,
    read_tasks,
    used,
)
from pfgen_rs.llm_jp_eval.measures import check_variant
from pfgen_rs.llm_jp_eval.prompts import filled, template
from pfgen_rs.questions.examples import Example, read_examples
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.training.checks import checked_texts, count, whole


class FixedSample:
    """A fixed set of tasks: some questions of a benchmark, with a number of trials of each.

    `examples`: the benchmark's example answers (default: those in its folder). `questions`: the texts of the
    questions, in order. The tasks are trial 1 of all questions, then trial 2, and so on. Prompts are created
    once: O(trials · questions). `optional`: it may be empty (`questions=0`). Raises `SettingsError`, and
    `InputError` for an unknown question or one without an example answer.
    """

    def __init__(
        self,
        benchmark: QuestionSet,
        examples: Sequence[Example] | None = None,
        *,
        trials: int,
        questions: int | Sequence[str] | None,
        seed: str = "",
        mode: Mode,
        num_examples: int,
        optional: bool = False,
    ) -> None:
        if examples is None and benchmark.folder is None:
            raise SettingsError(
                "the benchmark was not read from files: pass its example answers as `examples`"
            )
        if examples is None:
            examples = read_examples(benchmark.folder)
        self.benchmark, self.trials = benchmark, count(trials, "trials")
        if benchmark.settings.unit == "token":
            raise SettingsError(
                "cannot evaluate texts with a benchmark whose answers are lists of tokens"
            )
        self.prompter = Prompter(examples, mode, num_examples=num_examples, seed=seed)
        self.questions: tuple[str, ...] = ()
        if not (optional and questions == 0):
            self.questions = _chosen(benchmark, self.prompter.questions, questions, seed)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks to generate, in the order of the answers."""
        trials = range(1, self.trials + 1)
        return tuple(task for j in trials for task in self.prompter.tasks(j, self.questions))

    @cached_property
    def numbers(self) -> NDArray[np.uint32]:
        """The number of each task's question, for scoring: uint32, shape (tasks,)."""
        return self.benchmark.numbers.find(_native.Texts([task.question for task in self.tasks]))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the questions."""
        return tuple(self.benchmark.find(text).id for text in self.questions)

    @cached_property
    def description(self) -> dict[str, Any]:
        """The settings that must agree for steps to be comparable, as values for JSON."""
        prompts = "\0".join(f"{task.system}\0{task.prompt}" for task in self.tasks)
        return {
            "signature": self.benchmark.signature,
            "mode": self.prompter.mode,
            "trials": self.trials,
            "questions": list(self.ids),
            "prompts": _digest(prompts),
        }


def _chosen(
    benchmark: QuestionSet, known: Sequence[str], wanted: int | Sequence[str] | None, seed: str
) -> tuple[str, ...]:
    """Returns texts of questions: all of `known`, a number of them, or the given ones (texts or ids).

    The result is in the order of `known`. A number of questions is chosen by hashes of their texts with the
    seed, so a larger number includes the questions of a smaller one. Raises `SettingsError` for an invalid
    number, and `InputError` for an unknown question or one without an example answer.
    """
    if wanted is None:
        chosen = set(known)
    elif isinstance(wanted, int):
        if not 1 <= wanted <= len(known):
            raise SettingsError(f"questions must be between 1 and {len(known)}, not {wanted}")
        chosen = set(sorted(known, key=lambda text: _digest(f"{seed}::{text}"))[:wanted])
    else:
        chosen = {benchmark.find(question).text for question in checked_texts(wanted, "questions")}
    for text in chosen - set(known):
        raise InputError("no example answer to this question", question=text)
    if not chosen:
        raise SettingsError("no questions chosen")
    for text in chosen:
        benchmark.find(text)
    return tuple(text for text in known if text in chosen)


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


# The fixed sample of tasks of llm-jp-eval that is evaluated beside the questions of a benchmark.


TASK_COLUMNS = "llm_jp_eval/"
"""The names of columns about tasks begin with this."""
TASK_ANSWERS = "_answers"
"""Those with the number of a task's outputs end with this."""
STDERR = "_se"
AVR = "AVR"
AVERAGED_CATEGORIES = frozenset(AVERAGES[AVR])
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
        own = template(data, self._shots)
        parameters = Parameters(data.output_length, _TOP, None, ())
        for index, sample in enumerate(data.samples):
            name = item_id(data.task, data.split, index)
            prompt = filled(own, sample.input)
            yield Task(name, 1, self._mode, prompt, 0, parameters=parameters)

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
            "tasks_split": self._split,
            "tasks_n": self._n,
            "tasks_shots": self._shots,
            "tasks_variant": self.variant,
            "tasks_data": self._digest,
        }
