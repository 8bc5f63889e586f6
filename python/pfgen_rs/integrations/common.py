"""Shared by the integrations: benchmarks that are read once per process, and outputs for llm-jp-eval."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.questions.placed import read_once

if TYPE_CHECKING:
    from pfgen_rs.generate import Mode, Task
    from pfgen_rs.llm_jp_eval.scoring import Evaluation


def loaded(
    benchmark: str | os.PathLike[str] | None = None, settings: Settings | None = None
) -> Benchmark:
    """Load a benchmark like `load_benchmark`.

    Each folder is read once per process and settings, because harnesses create the same scorer repeatedly.
    """
    folder = Path(os.path.abspath(benchmark_path(benchmark)))  # noqa: PTH100 - resolve follows links
    return read_once(Benchmark, folder, settings)


def prepared(benchmark: str | os.PathLike[str] | None = None) -> Benchmark:
    """Load a benchmark like `loaded`, with all scorers ready."""
    return loaded(benchmark).prepare()


def asked(
    benchmark: str | None, mode: Mode, trials: int, num_examples: int, seed: str, prefix: str
) -> Iterator[tuple[Task, str]]:
    """Yield the tasks of all trials, trial by trial, with the example answers to their questions.

    `mode`, `num_examples`, `seed` and `prefix` are those of `Prompter`.
    """
    from pfgen_rs.generate import Prompter, read_examples  # which scorers do without

    examples = read_examples(benchmark)
    prompter = Prompter(examples, mode, num_examples=num_examples, seed=seed, prefix=prefix)
    for trial in range(1, trials + 1):
        for task, example in zip(prompter.tasks(trial), examples, strict=True):
            yield task, example.answer


class TaskOutput(NamedTuple):
    """An output with what it is compared with. `gold`: as it stands in the file."""

    task: str
    metrics: tuple[str, ...]
    gold: str
    output: str


def output_value(name: str, predicted: str, gold: str) -> float:
    """Returns a metric of one prediction; for correlations it is the number predicted."""
    from pfgen_rs.llm_jp_eval.metrics import CORRELATIONS, metric, parse_float

    if name in CORRELATIONS:
        return parse_float(predicted)
    return metric(name, [predicted], [gold])[0]


def evaluated_outputs(outputs: Iterable[TaskOutput], variant: str) -> Evaluation:
    """Evaluate outputs of one or more tasks, which are those of all samples in the order of the files."""
    from pfgen_rs.llm_jp_eval.catalog import tasks
    from pfgen_rs.llm_jp_eval.data import Sample, TaskData
    from pfgen_rs.llm_jp_eval.scoring import evaluate

    own: dict[str, list[TaskOutput]] = {}
    for one in outputs:
        own.setdefault(one.task, []).append(one)
    datas, texts = [], {}
    for task in filter(own.__contains__, tasks()):
        samples = tuple(Sample("", one.gold) for one in own[task])
        datas.append(TaskData(task, "", "", 1, own[task][0].metrics, samples, (), "", ""))
        texts[task] = [one.output for one in own[task]]
    return evaluate(datas, texts, variant)
