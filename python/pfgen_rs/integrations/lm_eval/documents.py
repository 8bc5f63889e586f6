"""The documents of a task: every question in every trial, with its prompt."""

from __future__ import annotations

from typing import Any

import datasets

from pfgen_rs.benchmark import load_benchmark
from pfgen_rs.generate import Mode, Prompter, Task, read_examples
from pfgen_rs.integrations.lm_eval.choices import Choices, choices

__all__ = ["documents"]


def documents(pfgen_mode: Mode, **metadata: Any) -> datasets.DatasetDict:
    """Returns the split `test`: one trial after another, so that `--limit` drops trials before questions.

    The harness calls this with `dataset_kwargs` and metadata. Raises `PfgenError` for an unusable benchmark
    or invalid settings.
    """
    chosen = choices(metadata)
    bench = load_benchmark(chosen.benchmark)
    examples = read_examples(chosen.benchmark)
    samples = dict(examples)
    prompter = Prompter(
        examples,
        pfgen_mode,
        num_examples=chosen.num_examples,
        seed=chosen.seed,
        prefix=chosen.prefix,
    )
    rows = [
        {"question_id": bench.find(task.question).id, "sample": samples[task.question]}
        | _document_row(task, chosen)
        for trial in range(1, chosen.trials + 1)
        for task in prompter.tasks(trial)
    ]
    return datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})


def _document_row(task: Task, chosen: Choices) -> dict[str, Any]:
    return {
        "question": task.question,
        "trial": task.trial,
        "mode": task.mode,
        "seed": task.seed,
        "system": task.system or "",
        "prompt": task.prompt,
        "benchmark": chosen.benchmark,
        "think": chosen.think,
    }
