"""The documents of a task of llm-jp-eval: its samples, with their prompts."""

from __future__ import annotations

from typing import Any

import datasets

from pfgen_rs.integrations.lm_eval.jpeval_choices import jpeval_choices
from pfgen_rs.llm_jp_eval.data import item_id
from pfgen_rs.llm_jp_eval.prompts import filled, template

__all__ = ["jpeval_documents"]


def jpeval_documents(jpeval_task: str, **metadata: Any) -> datasets.DatasetDict:
    """Returns the split `test` with the samples of the chosen split, in file order.

    The harness calls this with `dataset_kwargs` and metadata. Raises `InputError` for missing or invalid
    files, and `SettingsError` for invalid settings.
    """
    chosen = jpeval_choices(metadata)
    data = chosen.read(jpeval_task)
    own = template(data, chosen.shots)
    rows = [
        {
            "id": item_id(data.task, data.split, index),
            "task": data.task,
            "input": sample.input,
            "gold": sample.output,
            "prompt": filled(own, sample.input),
            "metrics": list(data.metrics),
            "variant": chosen.variant,
        }
        for index, sample in enumerate(data.samples)
    ]
    return datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})
