"""Outputs of inference made elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pfgen_rs.ask.request import Request, Respondent
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.formats import response_text
from pfgen_rs.io.json_lines import Line, parsed_lines
from pfgen_rs.io.lines import as_text
from pfgen_rs.io.text import counted, plural
from pfgen_rs.llm_jp_eval.catalog import SPLITS, tasks
from pfgen_rs.llm_jp_eval.data import TaskData, item_id, used
from pfgen_rs.llm_jp_eval.prompts import Item, PromptSettings, items

_TEXTS = ("output", "text", "response", "completion", "generated_text")
_ID = re.compile(rf"(.+)/({'|'.join(SPLITS)})/(0|[1-9][0-9]{{0,8}})(?:#([0-9a-f]{{16}}))?")
_DIGEST = re.compile("[0-9a-f]{64}")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Made:
    """How an output was made: the digest of what was asked, or its first digits.

    In a run, also the model and the parameters that were left out.
    """

    digest: str
    model: Mapping[str, Any] | None
    left_out: tuple[str, ...]


@dataclass
class Outputs:
    """The outputs of the file `path`, by task and index; null outputs and failed requests have none.

    `made`: how outputs were made, by id, where the file says so.
    """

    path: Path
    texts: dict[str, dict[int, str]] = field(default_factory=dict)
    made: dict[str, Made] = field(default_factory=dict)

    def add(self, name: str, task: str, index: int, record: Mapping[str, Any]) -> None:
        """Add what a record says under its id. Raises `InputError`."""
        own = self.texts.setdefault(task, {})
        if record.get("error"):
            return
        if made := _made(record):
            self.made[name] = made
        text = _text(record)
        if text is not None:
            own[index] = text


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

    def read(line: Line) -> None:
        task, own_split, index = _place(line.record)
        name = item_id(task, own_split or split, index)
        if own_split not in (None, split):
            raise InputError(f"{name} is not of the split {split}: choose --split {own_split}")
        if name in lines:
            raise InputError(f"duplicate id {name!r}, which line {lines[name]} has as well")
        lines[name] = line.number
        found.add(name, task, index, line.record)

    for _ in parsed_lines(file, read):
        pass
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


def check_digests(
    datas: Sequence[TaskData],
    found: Outputs,
    n: int | None,
    prompts: PromptSettings,
    top_p: float | None = None,
) -> bool:
    """Check that outputs answer the prompts of these samples, as far as they say what they answer.

    `top_p`: of a run. Returns whether all of them say so. Raises `InputError` with the first that answers
    another prompt, or was asked with other parameters than recorded.
    """
    if not found.made:
        return False
    wrong, silent = [], 0
    for item in items(datas, n, prompts):
        made = found.made.get(item.id)
        if made is None:
            silent += item.index in found.texts.get(item.task, {})
            continue
        own = item.digest() if made.model is None else _digest_of_request(item, made.model, top_p)
        if not own.startswith(made.digest):
            wrong.append(item.id)
    if wrong:
        answer = plural(len(wrong), "answers another prompt", "answer other prompts")
        raise InputError(
            f"{counted(len(wrong), 'output')} {answer} than the {plural(len(wrong), 'sample', 'samples')} "
            f"here, by the digest, the first is {wrong[0]}: choose --data, --shots and the other options of "
            "prompts as they were",
            path=found.path,
        )
    return not silent


def _digest_of_request(item: Item, model: Mapping[str, Any], top_p: float | None) -> str:
    """Returns the digest of a run's request to a model, as records have it; nothing for no such record."""
    settings: dict[str, Any] = {key: model.get(key) for key in ("model", "temperature", "seed")}
    try:
        who = Respondent("", **settings, max_tokens=item.max_tokens, top_p=top_p)
        return Request(item.id, (("user", item.prompt),)).digest(who)
    except (SettingsError, TypeError, ValueError):
        return ""


def _made(record: Mapping[str, Any]) -> Made | None:
    found = _ID.fullmatch(str(record.get("custom_id", record.get("id"))))
    if found and found[4]:
        return Made(found[4], None, ())
    digest, model, left_out = (record.get(key) for key in ("digest", "model", "left_out"))
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        return None
    names = left_out if isinstance(left_out, list) else []
    return Made(digest, model if isinstance(model, dict) else None, tuple(map(str, names)))


def _place(record: Mapping[str, Any]) -> tuple[str, str | None, int]:
    name = record.get("custom_id", record.get("id"))
    if isinstance(name, str) and (match := _ID.fullmatch(name)):
        _check_task(match[1])
        return match[1], match[2], int(match[3])
    task, index, split = record.get("task"), record.get("index"), record.get("split")
    if isinstance(task, str) and isinstance(index, int) and not isinstance(index, bool):
        if index < 0 or (split is not None and split not in SPLITS):
            raise InputError(f"invalid index {index} or split {as_text(split)}")
        _check_task(task)
        return task, split, index
    if name is not None:
        shown = f"{as_text(name)}"[:_SHOWN]
        raise InputError(f"unknown id {shown!r}: expected TASK/SPLIT/INDEX, such as jamp/test/0")
    keys = ", ".join(map(repr, list(record)[:8])) or "nothing"
    raise InputError(f"no id: expected 'id', 'custom_id', or 'task' and 'index', found {keys}")


def _check_task(task: str) -> None:
    if task not in tasks():
        raise InputError(f"unknown task {task!r:.60}: expected one of {', '.join(tasks())}")


def _text(record: Mapping[str, Any]) -> str | None:
    for key in _TEXTS:
        if key not in record:
            continue
        value = record[key]
        if key == "response" and isinstance(value, Mapping):
            return response_text(value)
        if isinstance(value, list):
            raise InputError(
                f"{key!r} is a list of {len(value)}: expected a single output a sample"
            )
        if value is not None and not isinstance(value, str):
            raise InputError(f"{key!r} must be text, not {as_text(value)!s:.60}")
        return value
    keys = ", ".join(map(repr, list(record)[:8]))
    raise InputError(f"no output: expected one of {', '.join(_TEXTS)}; found {keys}")
