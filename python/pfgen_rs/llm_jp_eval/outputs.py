"""Prompts for inference made elsewhere, and its outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.counted import counted
from pfgen_rs.io.json_lines import parsed
from pfgen_rs.io.records import as_text
from pfgen_rs.llm_jp_eval.catalog import SPLITS, tasks
from pfgen_rs.llm_jp_eval.data import TaskData, item_id, used
from pfgen_rs.llm_jp_eval.prompts import filled
from pfgen_rs.llm_jp_eval.results import PromptSettings

__all__ = [
    "FORMATS",
    "Item",
    "Outputs",
    "batch_line",
    "items",
    "outputs_by_task",
    "read_outputs",
]

FORMATS = ("jsonl", "openai-completions", "openai-chat")
"""Formats of prompts: ours, and the lines of OpenAI's batch API, which vLLM's run-batch takes as well."""
_TEXTS = ("output", "text", "response", "completion", "generated_text")
_ID = re.compile(rf"(.+)/({'|'.join(SPLITS)})/(0|[1-9][0-9]{{0,8}})")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Item:
    """A sample to be asked; `max_tokens`: maximum number of new tokens."""

    id: str
    task: str
    split: str
    index: int
    prompt: str
    max_tokens: int

    def record(self) -> dict[str, Any]:
        """Returns the item as a line of our own format."""
        return asdict(self)


def items(datas: Sequence[TaskData], n: int | None, prompts: PromptSettings) -> Iterator[Item]:
    """Yield the first `n` samples of each task, `None` for all. Raises `SettingsError`."""
    for data in datas:
        template = prompts.template(data)
        limit = prompts.max_tokens or data.output_length
        for index in range(used(data, n)):
            prompt = filled(template, data.samples[index].input)
            name = item_id(data.task, data.split, index)
            yield Item(name, data.task, data.split, index, prompt, limit)


def batch_line(item: Item, model: str, *, chat: bool) -> dict[str, Any]:
    """Returns an item as a line of OpenAI's batch API, with temperature 0."""
    if chat:
        asked: dict[str, Any] = {"messages": [{"role": "user", "content": item.prompt}]}
    else:
        asked = {"prompt": item.prompt}
    return {
        "custom_id": item.id,
        "method": "POST",
        "url": "/v1/chat/completions" if chat else "/v1/completions",
        "body": {"model": model, **asked, "max_tokens": item.max_tokens, "temperature": 0},
    }


@dataclass
class Outputs:
    """The outputs of the file `path`, by task and index.

    `failed`: number of outputs that are null, or of requests that failed according to the file.
    """

    path: Path
    texts: dict[str, dict[int, str]] = field(default_factory=dict)
    failed: int = 0

    def __len__(self) -> int:
        return sum(map(len, self.texts.values()))


@dataclass(frozen=True, slots=True)
class _Read:
    task: str
    split: str | None
    index: int
    text: str | None


def read_outputs(path: str | Path, split: str = "test") -> Outputs:
    """Read outputs by id: JSON lines, also compressed, or a JSON array.

    An object is identified by `custom_id` or `id` (`jamp/test/0`), or by `task` and `index`. Its text is
    under `output`, `text`, `response`, `completion` or `generated_text`, or in the response of OpenAI's batch
    API. Null texts and failed requests are missing outputs. Raises `InputError` with file and line for
    anything else, outputs of other splits, and ids that occur twice.
    """
    file, found = Path(path), Outputs(Path(path))
    if file.is_dir():
        advice = "expected a file of outputs, such as outputs.jsonl of a run"
        raise InputError(f"is a directory: {advice}", path=file)
    lines: dict[str, int] = {}
    for number, read in parsed(file, _read_output):
        name = item_id(read.task, read.split or split, read.index)
        try:
            if (read.split or split) != split:
                raise InputError(f"{name} is not of the split {split}: choose --split {read.split}")
            if name in lines:
                raise InputError(f"duplicate id {name!r}, which line {lines[name]} has as well")
        except InputError as error:
            raise InputError(error.problem, path=file, line=number) from None
        lines[name] = number
        own = found.texts.setdefault(read.task, {})
        if read.text is None:
            found.failed += 1
        else:
            own[read.index] = read.text
    if not lines:
        raise InputError("has no outputs", path=file)
    return found


def outputs_by_task(
    datas: Iterable[TaskData], found: Outputs, n: int | None = None
) -> dict[str, list[str | None]]:
    """Returns the outputs of the first `n` samples of each task (`None`: all), in order.

    Missing outputs are `None`. Raises `InputError` for outputs of samples that a task does not have.
    """
    sorted_outputs: dict[str, list[str | None]] = {}
    for data in datas:
        own = found.texts.get(data.task, {})
        for index in own:
            if index >= len(data.samples):
                name, there = item_id(data.task, data.split, index), len(data.samples)
                problem = f"unknown id {name!r}: {data.task} has {counted(there, 'sample')}"
                raise InputError(f"{problem}, counted from 0", path=found.path)
        sorted_outputs[data.task] = [own.get(index) for index in range(used(data, n))]
    return sorted_outputs


def _read_output(record: dict[str, Any]) -> _Read:
    task, split, index = _place_of_output(record)
    if record.get("error"):
        return _Read(task, split, index, None)
    return _Read(task, split, index, _text_of_output(record))


def _place_of_output(record: Mapping[str, Any]) -> tuple[str, str | None, int]:
    for key in ("custom_id", "id"):
        value = record.get(key)
        if isinstance(value, str) and (match := _ID.fullmatch(value)):
            _check_task_of_output(match[1])
            return match[1], match[2], int(match[3])
    task, index, split = record.get("task"), record.get("index"), record.get("split")
    if isinstance(task, str) and isinstance(index, int) and not isinstance(index, bool):
        if index < 0 or (split is not None and split not in SPLITS):
            raise InputError(f"invalid index {index} or split {as_text(split)}")
        _check_task_of_output(task)
        return task, split, index
    for key in ("custom_id", "id"):
        if key in record:
            shown = f"{as_text(record[key])}"[:_SHOWN]
            raise InputError(
                f"unknown id {shown!r}: expected TASK/SPLIT/INDEX, such as jamp/test/0"
            )
    keys = ", ".join(map(repr, list(record)[:8])) or "nothing"
    raise InputError(f"no id: expected 'id', 'custom_id', or 'task' and 'index', found {keys}")


def _check_task_of_output(task: str) -> None:
    if task not in tasks():
        raise InputError(f"unknown task {task!r:.60}: expected one of {', '.join(tasks())}")


def _text_of_output(record: Mapping[str, Any]) -> str | None:
    for key in _TEXTS:
        if key not in record:
            continue
        value = record[key]
        if key == "response" and isinstance(value, Mapping):
            return _text_of_response(value)
        if isinstance(value, list):
            raise InputError(
                f"{key!r} is a list of {len(value)}: expected a single output a sample"
            )
        if value is not None and not isinstance(value, str):
            raise InputError(f"{key!r} must be text, not {as_text(value)!s:.60}")
        return value
    keys = ", ".join(map(repr, list(record)[:8]))
    raise InputError(f"no output: expected one of {', '.join(_TEXTS)}; found {keys}")


def _text_of_response(response: Mapping[str, Any]) -> str | None:
    """Returns the text in a response of OpenAI's batch API, `None` if the request failed."""
    status, body = response.get("status_code", 200), response.get("body")
    if status != 200:
        return None
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise InputError("'response' has no body with choices, as OpenAI's batch API writes it")
    if len(choices) > 1:
        raise InputError(
            f"'response' has {len(choices)} choices: expected a single output a sample"
        )
    message = choices[0].get("message")
    if isinstance(message, Mapping):
        text = message.get("content")
        return "" if text is None else _choice_text(text)
    return _choice_text(choices[0].get("text"))


def _choice_text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError("the choice in 'response' must have a text or a message with text")
    return value


def check_format(name: str, model: str | None) -> None:
    """Raises `SettingsError` for unknown formats, and for batches without a model."""
    if name not in FORMATS:
        raise SettingsError(f"unknown format {name!r}: expected one of {', '.join(FORMATS)}")
    if name != "jsonl" and not model:
        raise SettingsError(f"the format {name} requires the name of a model")
