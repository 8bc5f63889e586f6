"""Prompts: instruction, examples and input in the published template or in your own; requests with them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from string import Formatter
from typing import Any

from pfgen_rs.errors import SettingsError
from pfgen_rs.io.text import counted
from pfgen_rs.llm_jp_eval.data import TaskData, item_id, used

SHOTS = 4
"""Number of examples in a prompt by default."""
_INPUT = "{input}"
_PROMPT = (
    "以下は、タスクを説明する指示と、文脈のある入力の組み合わせです。要求を適切に満たす応答を書きなさい。"
    "\n\n### 指示:\n{instruction}{few_shots_text}\n\n### 入力:\n{input}\n\n### 応答:\n"
)
_EXAMPLE = "\n\n### 入力:\n{input}\n\n### 応答:\n{output}"
_IN_IDS = 16  # digits of digests
_BRACES = str.maketrans({"{": "{{", "}": "}}"})


class Template(str):
    """A template as result files have it, with `{input}` where the input belongs.

    `parts`: the texts around the input, of which prompts are made. They differ from the template itself where
    a template of your own has doubled braces, which the published tool undoes only in the prompt.
    """

    __slots__ = ("parts",)
    parts: tuple[str, ...]

    def __new__(cls, text: str, parts: tuple[str, ...]) -> Template:
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
    published tool reads them, so that a brace is written as four (`{{{{`). Instruction, examples and inputs
    are inserted literally. Raises `SettingsError` for too few examples and unusable templates.
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
    own, example = custom or _PROMPT, custom_fewshots or _EXAMPLE
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
    for literal, field in _fields(text, ("input",), name):
        parts[-1] += literal
        if field is not None:
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
    for _, field, spec, conversion in found:
        if spec or conversion:
            raise SettingsError(f"invalid {name}: {{{field}}} must have no format")
        if field is not None and field not in known:
            expected = ", ".join(f"{{{key}}}" for key in known)
            raise SettingsError(
                f"unknown placeholder {{{field:.60}}} in the {name}: expected {expected}"
            )
    return [(literal, field) for literal, field, _, _ in found]


@dataclass(frozen=True)
class PromptSettings:
    """How prompts are made. `prompt`, `fewshots`: templates of one's own. `chat`: prompts are user messages.

    `max_tokens`: maximum number of new tokens, if it is not the task's. `shots`: `None` if it is not known
    how the prompts of outputs were made.
    """

    shots: int | None = SHOTS
    prompt: str | None = None
    fewshots: str | None = None
    chat: bool = False
    max_tokens: int | None = None

    def template(self, data: TaskData) -> Template:
        """Returns a task's template, the bare input if it is not known. Raises `SettingsError`."""
        if self.shots is None:
            return Template(_INPUT, ("", ""))
        return template(data, self.shots, self.prompt, self.fewshots)

    def record(self) -> dict[str, Any]:
        """Returns the settings for configurations."""
        return asdict(self)


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

    def record(self) -> dict[str, Any]:
        """Returns the item as a line of our own format."""
        return {**asdict(self), "digest": self.digest()}

    def batch_line(self, model: str, *, chat: bool) -> Mapping[str, Any]:
        """Returns the item as a line of OpenAI's batch API, which vLLM's run-batch takes as well.

        What comes back has nothing but the id, which therefore ends in the first digits of the digest.
        """
        said = {"messages": [{"role": "user", "content": self.prompt}]}
        asked: dict[str, Any] = said if chat else {"prompt": self.prompt}
        return {
            "custom_id": f"{self.id}#{self.digest()[:_IN_IDS]}",
            "method": "POST",
            "url": "/v1/chat/completions" if chat else "/v1/completions",
            "body": {"model": model, **asked, "max_tokens": self.max_tokens, "temperature": 0},
        }


def items(datas: Sequence[TaskData], n: int | None, prompts: PromptSettings) -> Iterator[Item]:
    """Yield the first `n` samples of each task, `None` for all. Raises `SettingsError`."""
    for data in datas:
        made = prompts.template(data)
        limit = prompts.max_tokens or data.output_length
        for index in range(used(data, n)):
            prompt = filled(made, data.samples[index].input)
            name = item_id(data.task, data.split, index)
            yield Item(name, data.task, data.split, index, prompt, limit)
