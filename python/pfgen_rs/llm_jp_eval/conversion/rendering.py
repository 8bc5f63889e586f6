"""Evaluation and tuning files, byte for byte as the reference writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from pfgen_rs.llm_jp_eval.catalog import TaskInfo
from pfgen_rs.llm_jp_eval.conversion.splits import Pair

__all__ = ["FIRST", "Encoded", "encoded", "evaluation_file", "tuning_file"]

FIRST = 100
"""Number of samples in `tuning/dev_first100`."""

Encoded = tuple[str, str]
"""Input and output of a sample as JSON, without the quotes."""

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_INTRODUCTION = (
    "以下は、タスクを説明する指示と、文脈のある入力の組み合わせです。"
    "要求を適切に満たす応答を書きなさい。"
)


def encoded(samples: Iterable[Pair]) -> list[Encoded]:
    """Returns the texts of samples as they stand between the quotes of JSON."""
    return [(_inside_quotes(given), _inside_quotes(output)) for given, output in samples]


def _inside_quotes(text: str) -> str:
    return _ENCODER.encode(text)[1:-1]


def evaluation_file(info: TaskInfo, samples: Sequence[Encoded]) -> bytes:
    """Returns an evaluation file, as `json.dump(…, ensure_ascii=False, indent=4)` writes it."""
    head = {
        "instruction": info.instruction,
        "output_length": info.output_length,
        "metrics": list(info.metrics),
        "few_shots": [],
    }
    # json.dumps with an indent is written in Python and ten times as slow, so only the head is left to it.
    start = json.dumps(head, ensure_ascii=False, indent=4).removesuffix("\n}")
    objects = ",\n".join(
        f'        {{\n            "input": "{given}",\n            "output": "{output}"\n        }}'
        for given, output in samples
    )
    return f'{start},\n    "samples": [\n{objects}\n    ]\n}}'.encode()


def tuning_file(info: TaskInfo, samples: Sequence[Encoded]) -> bytes:
    """Returns a tuning file: samples with ids and complete texts."""
    task, instruction = info.name, _inside_quotes(info.instruction)
    task_part = rf"{_INTRODUCTION}\n\n### 指示:\n{instruction}"
    objects = ",\n".join(
        f'    {{\n        "ID": "{task}-{index}",\n        "instruction": "{instruction}",\n'
        f'        "input": "{given}",\n        "output": "{output}",\n        "text": "{task_part}'
        rf"{_tuning_input(given)}\n\n### 応答:\n{output}"
        '"\n    }'
        for index, (given, output) in enumerate(samples)
    )
    return f"[\n{objects}\n]".encode()


def _tuning_input(given: str) -> str:
    return rf"\n\n### 入力:\n{given}" if given else ""
