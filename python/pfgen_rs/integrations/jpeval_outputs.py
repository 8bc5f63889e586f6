"""Outputs for llm-jp-eval that come from harnesses one by one, evaluated together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pfgen_rs.llm_jp_eval.catalog import tasks
from pfgen_rs.llm_jp_eval.data import Sample, TaskData
from pfgen_rs.llm_jp_eval.scoring import Evaluation, evaluate

__all__ = ["TaskOutput", "evaluated_outputs"]


class TaskOutput(NamedTuple):
    """An output with what it is compared with. `gold`: as it stands in the file."""

    task: str
    metrics: tuple[str, ...]
    gold: str
    output: str


def evaluated_outputs(outputs: Iterable[TaskOutput], variant: str) -> Evaluation:
    """Evaluate outputs of one or more tasks, which are those of all samples in the order of the files."""
    own: dict[str, list[TaskOutput]] = {}
    for one in outputs:
        own.setdefault(one.task, []).append(one)
    datas = [_data_of_outputs(own[task]) for task in tasks() if task in own]
    texts = {task: [one.output for one in found] for task, found in own.items()}
    return evaluate(datas, texts, variant)


def _data_of_outputs(outputs: list[TaskOutput]) -> TaskData:
    samples = tuple(Sample("", one.gold) for one in outputs)
    return TaskData(outputs[0].task, "", "", 1, outputs[0].metrics, samples, (), "", "")
