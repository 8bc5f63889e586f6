"""Prompts for inference made elsewhere, and its outputs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pfgen_rs.ask.request import Request, Respondent
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.formats import response_text
from pfgen_rs.io.json_lines import parsed
from pfgen_rs.io.lines import as_text
from pfgen_rs.io.text import counted, plural
from pfgen_rs.llm_jp_eval.catalog import SPLITS, tasks
from pfgen_rs.llm_jp_eval.data import TaskData, item_id, used
from pfgen_rs.llm_jp_eval.prompts import filled
from pfgen_rs.llm_jp_eval.results import PromptSettings

FORMATS = ("jsonl", "openai-completions", "openai-chat")
"""Formats of prompts: ours, and the lines of OpenAI's batch API, which vLLM's run-batch takes as well."""
_TEXTS = ("output", "text", "response", "completion", "generated_text")
_ID = re.compile(rf"(.+)/({'|'.join(SPLITS)})/(0|[1-9][0-9]{{0,8}})(?:#([0-9a-f]{{16}}))?")
_DIGEST = re.compile("[0-9a-f]{64}")
_IN_IDS = 16  # digits of digests
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

    def digest(self) -> str:
        """Returns the SHA-256 of what is asked: of the JSON list of prompt and `max_tokens`."""
        asked = json.dumps([self.prompt, self.max_tokens], ensure_ascii=False)
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()

    def digest_for(self, model: Mapping[str, Any], top_p: float | None) -> str | None:
        """Returns the digest of a run's request to a model, as records have it; `None` for no such record."""
        settings: dict[str, Any] = {key: model.get(key) for key in ("model", "temperature", "seed")}
        try:
            who = Respondent("", **settings, max_tokens=self.max_tokens, top_p=top_p)
            return Request(self.id, (("user", self.prompt),)).digest(who)
        except (SettingsError, TypeError, ValueError):
            return None

    def record(self) -> dict[str, Any]:
        """Returns the item as a line of our own format."""
        return {**asdict(self), "digest": self.digest()}


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
    """Returns an item as a line of OpenAI's batch API, with temperature 0.

    What comes back has nothing but the id, which therefore ends in the first digits of the digest.
    """
    if chat:
        asked: dict[str, Any] = {"messages": [{"role": "user", "content": item.prompt}]}
    else:
        asked = {"prompt": item.prompt}
    return {
        "custom_id": f"{item.id}#{item.digest()[:_IN_IDS]}",
        "method": "POST",
        "url": "/v1/chat/completions" if chat else "/v1/completions",
        "body": {"model": model, **asked, "max_tokens": item.max_tokens, "temperature": 0},
    }


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
    """The outputs of the file `path`, by task and index.

    `failed`: number of outputs that are null, or of requests that failed according to the file. `made`: how
    outputs were made, by id, where the file says so.
    """

    path: Path
    texts: dict[str, dict[int, str]] = field(default_factory=dict)
    failed: int = 0
    made: dict[str, Made] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self.texts.values()))

    def add(self, name: str, read: _Read) -> None:
        """Add an output under its id."""
        own = self.texts.setdefault(read.task, {})
        if read.made is not None:
            self.made[name] = read.made
        if read.text is None:
            self.failed += 1
        else:
            own[read.index] = read.text


@dataclass(frozen=True, slots=True)
class _Read:
    task: str
    split: str | None
    index: int
    text: str | None
    made: Made | None


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
    for number, read in parsed(file, _read):
        name = item_id(read.task, read.split or split, read.index)
        try:
            if (read.split or split) != split:
                raise InputError(f"{name} is not of the split {split}: choose --split {read.split}")
            if name in lines:
                raise InputError(f"duplicate id {name!r}, which line {lines[name]} has as well")
        except InputError as error:
            raise InputError(error.problem, path=file, line=number) from None
        lines[name] = number
        found.add(name, read)
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
        own = item.digest() if made.model is None else item.digest_for(made.model, top_p)
        if own is None or not own.startswith(made.digest):
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


def _read(record: dict[str, Any]) -> _Read:
    task, split, index = _place(record)
    if record.get("error"):
        return _Read(task, split, index, None, None)
    return _Read(task, split, index, _text(record), _made(record))


def _made(record: Mapping[str, Any]) -> Made | None:
    for key in ("custom_id", "id"):
        found = _ID.fullmatch(str(record.get(key)))
        if found and found[4]:
            return Made(found[4], None, ())
    digest, model, left_out = (record.get(key) for key in ("digest", "model", "left_out"))
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        return None
    names = left_out if isinstance(left_out, list) else []
    return Made(digest, model if isinstance(model, dict) else None, tuple(map(str, names)))


def _place(record: Mapping[str, Any]) -> tuple[str, str | None, int]:
    for key in ("custom_id", "id"):
        value = record.get(key)
        if isinstance(value, str) and (match := _ID.fullmatch(value)):
            _check_task(match[1])
            return match[1], match[2], int(match[3])
    task, index, split = record.get("task"), record.get("index"), record.get("split")
    if isinstance(task, str) and isinstance(index, int) and not isinstance(index, bool):
        if index < 0 or (split is not None and split not in SPLITS):
            raise InputError(f"invalid index {index} or split {as_text(split)}")
        _check_task(task)
        return task, split, index
    for key in ("custom_id", "id"):
        if key in record:
            shown = f"{as_text(record[key])}"[:_SHOWN]
            raise InputError(
                f"unknown id {shown!r}: expected TASK/SPLIT/INDEX, such as jamp/test/0"
            )
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


def check_format(name: str, model: str | None) -> None:
    """Raises `SettingsError` for unknown formats, and for batches without a model."""
    if name not in FORMATS:
        raise SettingsError(f"unknown format {name!r}: expected one of {', '.join(FORMATS)}")
    if name != "jsonl" and not model:
        raise SettingsError(f"the format {name} requires the name of a model")
