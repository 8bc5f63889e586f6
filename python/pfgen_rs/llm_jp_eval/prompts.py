"""Prompts: instruction, examples and input in the published template or in your own; requests with them."""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any

from pfgen_rs.ask.request import Messages, Request, Respondent
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import json_lines
from pfgen_rs.io.layouts import ReadAs, exchanges
from pfgen_rs.io.layouts.batches import batch_output, text_of_response
from pfgen_rs.io.lines import as_text
from pfgen_rs.io.text import counted
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData, item_id, used
from pfgen_rs.llm_jp_eval.registry import NAME, SPLITS, plain_name, tasks

SHOTS = 4
"""Number of examples in a prompt by default."""
_INPUT = "{input}"
PROMPT = (
    "以下は、タスクを説明する指示と、文脈のある入力の組み合わせです。要求を適切に満たす応答を書きなさい。"
    "\n\n### 指示:\n{instruction}{few_shots_text}\n\n### 入力:\n{input}\n\n### 応答:\n"
)
_EXAMPLE = "\n\n### 入力:\n{input}\n\n### 応答:\n{output}"
_IN_IDS = 16  # digits of digests
_JINJA = re.compile(r"\{%|(?<!\{)\{\{(?!\{)")
_BRACES = str.maketrans({"{": "{{", "}": "}}"})


class Template(str):
    """A template as result files have it, with `{input}` where the input belongs.

    `parts`: the texts around the input, of which prompts are made. They differ from the template itself where
    a template of your own has doubled braces, which the published tool undoes only in the prompt.
    """

    __slots__ = ("parts",)
    parts: tuple[str, ...]

    def __new__(cls, text: str, parts: tuple[str, ...]) -> "Template":
        """Make a template of its text and its parts."""
        self = super().__new__(cls, text)
        self.parts = parts
        return self


def template(
    data: TaskData,
    shots: int = SHOTS,
    custom: str | None = None,
    custom_fewshots: str | None = None,
) -> Template:
    """Returns the template of a task's prompts, with its first `shots` examples.

    `custom`: a template of your own with the placeholders `{instruction}`, `{few_shots_text}` (not without
    examples) and `{input}`. `custom_fewshots`: one for an example, with `{input}` and `{output}`; both as the
    published tool reads them, so that a brace is written as four (`{{{{`). Without one, the template is that
    of the task, if it has one. Instruction, examples and inputs are inserted literally. Raises
    `SettingsError` for too few examples and unusable templates.
    """
    if shots < 0:
        raise SettingsError(f"the number of examples must be at least 0, not {shots}")
    if len(data.shots) < shots:
        there = counted(len(data.shots), "example")
        raise SettingsError(
            f"{data.task} has {there} (train/{data.task}.json), not {shots}: choose fewer"
        )
    if custom == "" or custom_fewshots == "":
        raise SettingsError("a template is empty")
    own, example = custom or data.template or PROMPT, custom_fewshots or _EXAMPLE
    if not custom and data.template and _JINJA.search(data.template):
        raise SettingsError(
            f"the template of {data.task} ({data.split}/{data.task}.json) is one of Jinja, whose variables "
            "are not known here: name another with --template"
        )
    _fields(example, ("input", "output"), "template of examples")
    with_examples = ["few_shots_text"] if shots or custom is None else []
    _fields(own, ("instruction", *with_examples, "input"), "template")

    def made(inserted: Callable[[str], str]) -> str:
        examples = [
            example.format(input=inserted(each.input), output=inserted(each.output))
            for each in data.shots[:shots]
        ]
        instruction = inserted(data.instruction)
        return own.format(instruction=instruction, few_shots_text="".join(examples), input=_INPUT)

    # What is formatted a second time has the braces of inserted texts doubled.
    return Template(made(str), _parts(made(lambda text: text.translate(_BRACES))))


def filled(template: Template, text: str) -> str:
    """Returns the prompt for an input."""
    return text.join(template.parts)


def template_digest(custom: str | None, custom_fewshots: str | None = None) -> str | None:
    """Returns the first 8 hex digits of the SHA-256 of templates of one's own, `None` without any.

    With a template for examples, the digest is that of both, joined by a NUL character.
    """
    if custom is None and custom_fewshots is None:
        return None
    joined = custom or "" if custom_fewshots is None else f"{custom or ''}\0{custom_fewshots}"
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _parts(text: str) -> tuple[str, ...]:
    """Returns the texts around the inputs of a template that is formatted a second time."""
    parts = [""]
    name = "template (braces are halved twice: write four of them for one)"
    for literal, placeholder in _fields(text, ("input",), name):
        parts[-1] += literal
        if placeholder is not None:
            parts.append("")
    if len(parts) == 1:
        raise SettingsError("the template has no {input}")
    return tuple(parts)


def _fields(text: str, known: Collection[str], name: str) -> list[tuple[str, str | None]]:
    """Returns literal texts, each with the placeholder after it. Raises `SettingsError` for unknown ones."""
    try:
        found = list(Formatter().parse(text))
    except ValueError as error:
        raise SettingsError(f"invalid {name}: {error}") from None
    for _, placeholder, spec, conversion in found:
        if spec or conversion:
            raise SettingsError(f"invalid {name}: {{{placeholder}}} must have no format")
        if placeholder is not None and placeholder not in known:
            expected = ", ".join(f"{{{key}}}" for key in known)
            raise SettingsError(
                f"unknown placeholder {{{placeholder:.60}}} in the {name}: expected {expected}"
            )
    return [(literal, placeholder) for literal, placeholder, _, _ in found]


@dataclass(frozen=True)
class PromptSettings:
    """How prompts are made. `prompt`, `fewshots`: templates of one's own. `chat`: prompts are user messages.

    `max_tokens`: maximum number of new tokens, if it is not the task's. `shots`: number of examples, unless
    a task states its own; `None` if it is not known how the prompts of outputs were made. `intro`: what the
    first turn of a chat begins with, whose earlier turns are the examples; templates of one's own take the
    place of such turns.
    """

    shots: int | None = SHOTS
    prompt: str | None = None
    fewshots: str | None = None
    chat: bool = False
    max_tokens: int | None = None
    intro: str = ""

    @property
    def mode(self) -> str:
        """How a model is asked."""
        return "chat" if self.chat or self.has_turns else "completion"

    @property
    def has_turns(self) -> bool:
        """Whether examples are earlier turns of a chat."""
        return bool(self.intro) and self.prompt is None and self.fewshots is None

    def template(self, data: TaskData) -> Template:
        """Returns a task's template, the bare input if it is not known. Raises `SettingsError`.

        Of chats with turns, it is that of the last one.
        """
        if self.shots is None:
            return Template(_INPUT, ("", ""))
        shots = data.number_of_shots(self.shots)
        made = template(data, shots, self.prompt, self.fewshots)
        if not self.has_turns:
            return made
        before = "" if shots else self._beginning(data)
        return Template(before + _INPUT, (before, ""))

    def turns(self, data: TaskData) -> Messages:
        """Returns the turns of a chat before the last one; none unless examples are turns."""
        if self.shots is None or not self.has_turns:
            return ()
        turns, before = [], self._beginning(data)
        for example in data.shots[: data.number_of_shots(self.shots)]:
            turns += [("user", before + example.input), ("assistant", example.output)]
            before = ""
        return tuple(turns)

    def _beginning(self, data: TaskData) -> str:
        return f"{self.intro}\n{data.instruction}\n\n"


@dataclass(frozen=True, slots=True)
class Item:
    """A sample to be asked; `max_tokens`: maximum number of new tokens; `turns`: those before the prompt.

    `chat`: the profile asks for a chat.
    """

    id: str
    task: str
    split: str
    index: int
    prompt: str
    max_tokens: int
    turns: Messages = ()
    chat: bool = False

    @property
    def messages(self) -> Messages:
        """All turns, the prompt as the last one."""
        return (*self.turns, ("user", self.prompt))

    def digest(self) -> str:
        """Returns the SHA-256 of what is asked: of the JSON list of turns, prompt and `max_tokens`."""
        asked = json.dumps([*self.turns, self.prompt, self.max_tokens], ensure_ascii=False)
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()

    def record(self) -> dict[str, Any]:
        """Returns the item as a line of our own format."""
        record = {**asdict(self), "digest": self.digest()}
        del record["turns"], record["chat"]
        return {**record, **({"messages": self._said()} if self.chat else {})}

    def _said(self) -> list[dict[str, str]]:
        return [{"role": role, "content": text} for role, text in self.messages]

    def batch_line(
        self, model: str, *, chat: bool, sampling: Mapping[str, float | None] | None = None
    ) -> Mapping[str, Any]:
        """Returns the item as a line of OpenAI's batch API, which vLLM's run-batch takes as well.

        `sampling`: of the profile, instead of temperature 0.
        What comes back has nothing but the id, which therefore ends in the first digits of the digest.
        """
        asked: dict[str, Any] = {"messages": self._said()} if chat else {"prompt": self.prompt}
        how = {"max_tokens": self.max_tokens, "temperature": 0, **(sampling or {})}
        return {
            "custom_id": f"{self.id}#{self.digest()[:_IN_IDS]}",
            "method": "POST",
            "url": "/v1/chat/completions" if chat else "/v1/completions",
            "body": {"model": model, **asked, **how},
        }


def items(datas: Sequence[TaskData], n: int | None, prompts: PromptSettings) -> Iterator[Item]:
    """Yield the first `n` samples of each task, `None` for all. Raises `SettingsError`."""
    for data in datas:
        made, turns, task = prompts.template(data), prompts.turns(data), plain_name(data.task)
        limit = prompts.max_tokens or data.output_length
        for index in range(used(data, n)):
            prompt = filled(made, data.samples[index].input)
            name = item_id(data.task, data.split, index)
            yield Item(name, task, data.split, index, prompt, limit, turns, prompts.has_turns)


# Outputs of inference made elsewhere.


_TEXTS = ("output", "text", "response", "completion", "generated_text")
_ID = re.compile(
    rf"({NAME.pattern})/({'|'.join(SPLITS)})/(0|[1-9][0-9]{{0,8}})(?:#([0-9a-f]{{16}}))?"
)
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Made:
    """How an output was made: the digest of what was asked, or its first digits.

    In a run, also the model and the parameters that were left out.
    """

    digest: str
    model: Mapping[str, Any] | None
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Outputs:
    """The outputs of the file `path`, by task and index; null outputs and failed requests have none.

    `made`: how outputs were made, by id, where the file says so. `reasons`: why outputs ended, as servers
    call it (`stop`, `length`), by id. `further`: more outputs of the same ids, which answer other prompts by
    their digests.
    """

    path: Path
    texts: dict[str, dict[int, str]] = field(default_factory=dict)
    made: dict[str, Made] = field(default_factory=dict)
    reasons: dict[str, str | None] = field(default_factory=dict)
    further: "list[Outputs]" = field(default_factory=list)

    def layers(self) -> "list[Outputs]":
        """Returns these outputs and further ones; in each, an id has one output at most."""
        return [self, *self.further]


def read_outputs(path: str | Path, split: str = "test") -> Outputs:
    """Read outputs by id: JSON lines, also compressed, or a JSON array.

    An object is identified by `custom_id` or `id` (`jamp/test/0`), or the `id` of its `doc`. Its text is
    under `output`, `text`, `response`, `completion` or `generated_text`, or where batch APIs and samples of
    lm-evaluation-harness have it. Null texts and
    failed requests are missing outputs. Raises `InputError` with file and line for anything else, outputs of
    other splits, and ids that occur twice, unless their digests differ.
    """
    file, found = Path(path), Outputs(Path(path))
    if file.is_dir():
        advice = "expected a file of outputs, such as outputs.jsonl of a run"
        raise InputError(f"is a directory: {advice}", path=file)
    lines: dict[str, list[int]] = {}

    def read(line: json_lines.Line) -> None:
        task, index, digest = _place(line.record, split)
        name = item_id(task, split, index)
        failed = line.record.get("error")
        made = None if failed else _made(line.record, digest)
        layer = _layer(found, name, made, lines.setdefault(name, []))
        lines[name].append(line.number)
        own = layer.texts.setdefault(task, {})
        if made:
            layer.made[name] = made
        layer.reasons[name] = _reason(line.record)
        if (text := None if failed else _text(line.record)) is not None:
            own[index] = text

    for _ in json_lines.parsed_lines(file, read):
        pass
    if not lines:
        raise InputError("has no outputs", path=file)
    return found


def _layer(found: Outputs, name: str, made: Made | None, lines: Sequence[int]) -> Outputs:
    """Returns the outputs that a further one of an id belongs to. `lines`: where the id stands already."""
    known = {each.made[name].digest for each in found.layers() if name in each.made}
    if lines and (made is None or len(known) < len(lines) or made.digest in known):
        raise InputError(f"duplicate id {name!r}, which line {lines[-1]} has as well")
    if len(lines) == len(found.layers()):
        found.further.append(Outputs(found.path))
    return found.layers()[len(lines)]


@dataclass
class Matched:
    """The outputs that answer the prompts of tasks.

    `texts`: by task in the order of the samples, `None` where one is missing. `reasons`: why they ended,
    likewise. `made`: how they were made, as
    far as they say so; `silent`: whether some do not. `right`, `wrong`: ids with an output that answers the
    prompt here, and with one that answers another.
    """

    texts: dict[str, list[str | None]] = field(default_factory=dict)
    reasons: dict[str, list[str | None]] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)
    silent: bool = False
    right: set[str] = field(default_factory=set)
    wrong: dict[str, None] = field(default_factory=dict)


def matching_outputs(
    datas: Iterable[TaskData],
    found: Outputs,
    n: int | None,
    prompts: PromptSettings,
    top_p: float | None = None,
) -> Matched:
    """Find the outputs of the first `n` samples of each task (`None`: all) by ids and digests.

    `top_p`: of a run. Raises `InputError` for outputs of samples that a task does not have.
    """
    matched = Matched()
    if not found.made:  # nothing depends on the prompts then
        prompts = PromptSettings(None)
    for data in datas:
        _check_indices(data, found)
        asked = items([data], n, prompts)
        pairs = [_matching(item, found, top_p, matched) for item in asked]
        matched.texts[data.task] = [text for text, _ in pairs]
        matched.reasons[data.task] = [reason for _, reason in pairs]
    return matched


def _check_indices(data: TaskData, found: Outputs) -> None:
    for index in found.texts.get(plain_name(data.task), {}):
        if index >= len(data.samples):
            name, there = item_id(data.task, data.split, index), len(data.samples)
            problem = f"unknown id {name!r}: {data.task} has {counted(there, 'sample')}"
            raise InputError(f"{problem}, counted from 0", path=found.path)


def _matching(
    item: Item, found: Outputs, top_p: float | None, matched: Matched
) -> tuple[str | None, str | None]:
    """Returns the output that answers an item and why it ended, and notes what it says of itself."""
    for layer in found.layers():
        text, made = layer.texts.get(item.task, {}).get(item.index), layer.made.get(item.id)
        if made is None:
            if text is not None:
                matched.silent = True
                return text, layer.reasons.get(item.id)
            continue
        own = item.digest() if made.model is None else _digest_of_request(item, made.model, top_p)
        if own.startswith(made.digest):
            matched.right.add(item.id)
            matched.made.append(made)
            return text, layer.reasons.get(item.id)
        matched.wrong[item.id] = None
    return None, None


def check_digests(path: Path, matched: Sequence[Matched]) -> None:
    """Raises `InputError` with the first output that answers no prompt of its id here."""
    right = {name for each in matched for name in each.right}
    wrong = [name for each in matched for name in each.wrong if name not in right]
    if wrong:
        raise InputError(
            f"by their digests, {counted(len(set(wrong)), 'output')} answered prompts other than those here, "
            f"the first is {wrong[0]}: choose --data, --shots and the other options of prompts as they were",
            path=path,
        )


def _digest_of_request(item: Item, model: Mapping[str, Any], top_p: float | None) -> str:
    """Returns the digest of a run's request to a model, as records have it; nothing for no such record."""
    settings: dict[str, Any] = {key: model.get(key) for key in ("model", "temperature", "seed")}
    try:
        who = Respondent("", **settings, max_tokens=item.max_tokens, top_p=top_p)
        return Request(item.id, item.messages).digest(who)
    except (SettingsError, TypeError, ValueError):
        return ""


def _place(record: Mapping[str, Any], split: str) -> tuple[str, int, str | None]:
    """Returns task, index and the first digits of the digest in a record's id."""
    document = record.get("doc")
    named = document if isinstance(document, Mapping) else record
    name = record.get("custom_id", named.get("id"))
    match = _ID.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        shown = f"{as_text(name)!r:.60}"
        raise InputError(f"unknown id {shown}: expected TASK/SPLIT/INDEX, such as jamp/test/0")
    if match[1] not in tasks():
        raise InputError(f"{name}: unknown task {match[1]!r}: name its folder with --task-folder")
    if match[2] != split:
        raise InputError(f"{name} is not of the split {split}: choose --split {match[2]}")
    return match[1], int(match[3]), match[4]


def _made(record: Mapping[str, Any], digest_in_id: str | None) -> Made | None:
    if digest_in_id:
        return Made(digest_in_id, None, ())
    digest, model, left_out = (record.get(key) for key in ("digest", "model", "left_out"))
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        return None
    names = left_out if isinstance(left_out, list) else []
    return Made(digest, model if isinstance(model, dict) else None, tuple(map(str, names)))


def _reason(record: Mapping[str, Any]) -> str | None:
    """Returns why an output ended, as records of runs and outputs of batches have it."""
    match record:
        case {"finish_reason": str(reason)}:
            return reason
        case {"response": {"body": {"choices": [{"finish_reason": str(reason)}, *_]}}}:
            return reason
    return None


def _text(record: Mapping[str, Any]) -> str | None:
    output = batch_output(record)
    if output is not None:
        return output[1]
    if "doc" in record and "resps" in record:  # unfiltered, as those of other tools
        [found] = exchanges(record, ReadAs("lm-eval", "doc.id", "resps"), None)
        return found.answer
    for key in _TEXTS:
        if key not in record:
            continue
        value = record[key]
        if key == "response" and isinstance(value, Mapping):
            return text_of_response(record)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{key!r} must be a single text, not {as_text(value)!s:.60}")
        return value
    raise InputError(f"no output: expected one of {', '.join(_TEXTS)}")
