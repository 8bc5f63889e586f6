"""Evaluation and tuning files, byte for byte as the reference writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from pfgen_rs.llm_jp_eval.catalog import TaskInfo
from pfgen_rs.llm_jp_eval.conversion.splits import Pair

__all__ = ["FIRST", "Encoded", "encoded", "evaluation_file", "tuning_file"]

FIRST = 100
"""Number of samples in `tuning/dev_first100`."""

Encoded = tuple[bytes, bytes]
"""Input and output of a sample as JSON in UTF-8, without the quotes."""

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_INTRODUCTION = (
    "以下は、タスクを説明する指示と、文脈のある入力の組み合わせです。"
    "要求を適切に満たす応答を書きなさい。"
)
_BLOCK = 1000  # samples
_EVALUATION_SAMPLE = b"""        {
            "input": "%b",
            "output": "%b"
        }"""
_TUNING_SAMPLE = b"""    {
        "ID": "%b",
        "instruction": "%b",
        "input": "%b",
        "output": "%b",
        "text": "%b"
    }"""


def encoded(samples: Iterable[Pair]) -> list[Encoded]:
    """Returns the texts of samples as they stand between the quotes of JSON."""
    return [(_inside_quotes(given), _inside_quotes(output)) for given, output in samples]


def _inside_quotes(text: str) -> bytes:
    return _ENCODER.encode(text)[1:-1].encode()


def evaluation_file(info: TaskInfo, samples: Sequence[Encoded]) -> Iterator[bytes]:
    """Yield an evaluation file in blocks, as `json.dump(…, ensure_ascii=False, indent=4)` writes it."""
    head = {
        "instruction": info.instruction,
        "output_length": info.output_length,
        "metrics": list(info.metrics),
        "few_shots": [],
    }
    # json.dumps with an indent is written in Python and ten times as slow, so only the head is left to it.
    start = json.dumps(head, ensure_ascii=False, indent=4).removesuffix("\n}").encode()
    objects = (_EVALUATION_SAMPLE % sample for sample in samples)
    return _in_blocks(start + b',\n    "samples": [\n', objects, b"\n    ]\n}")


def tuning_file(info: TaskInfo, samples: Sequence[Encoded]) -> Iterator[bytes]:
    """Yield a tuning file in blocks: samples with ids and complete texts."""
    return _in_blocks(b"[\n", _tuning_samples(info, samples), b"\n]")


def _tuning_samples(info: TaskInfo, samples: Sequence[Encoded]) -> Iterator[bytes]:
    instruction = _inside_quotes(info.instruction)
    start = _inside_quotes(f"{_INTRODUCTION}\n\n### 指示:\n{info.instruction}")
    before_input = _inside_quotes("\n\n### 入力:\n")
    before_output = _inside_quotes("\n\n### 応答:\n")
    for index, (given, output) in enumerate(samples):
        asked = before_input + given if given else b""
        text = start + asked + before_output + output
        sample_id = f"{info.name}-{index}".encode()
        yield _TUNING_SAMPLE % (sample_id, instruction, given, output, text)


def _in_blocks(start: bytes, objects: Iterator[bytes], end: bytes) -> Iterator[bytes]:
    before = start
    while block := list(islice(objects, _BLOCK)):
        yield before + b",\n".join(block)
        before = b",\n"
    yield end
