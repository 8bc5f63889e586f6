"""Prompts: instruction, examples and input in the published template, or in one of your own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from string import Formatter

from pfgen_rs.errors import SettingsError
from pfgen_rs.io.text import counted
from pfgen_rs.llm_jp_eval.data import Sample, TaskData

SHOTS = 4
"""Number of examples in a prompt by default."""
_INPUT = "{input}"
_PROMPT = (
    "以下は、タスクを説明する指示と、文脈のある入力の組み合わせです。要求を適切に満たす応答を書きなさい。"
    "\n\n### 指示:\n{instruction}{few_shots_text}\n\n### 入力:\n{input}\n\n### 応答:\n"
)
_EXAMPLE = "\n\n### 入力:\n{input}\n\n### 応答:\n{output}"
_PLANE = 0xF0000  # private characters, one of which stands for a text that is not inserted yet


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
    own, own_example = custom or _PROMPT, custom_fewshots or _EXAMPLE
    if custom == "" or custom_fewshots == "":
        raise SettingsError("a template is empty")
    inserted = _Inserted(own + own_example)
    values = {"instruction": inserted.mark(data.instruction), "input": _INPUT}
    if shots or custom is None:
        examples = (_marked_example(inserted, own_example, each) for each in data.shots[:shots])
        values["few_shots_text"] = "".join(examples)
    elif custom_fewshots is not None:
        _marked_example(inserted, own_example, Sample("", ""))  # for its errors
    text = _formatted(own, values, "template")
    parts = tuple(map(inserted.resolve, _parts(text)))
    return Template(inserted.resolve(text), parts)


def filled(template: str, text: str) -> str:
    """Returns the prompt for an input. Of a plain string, the last `{input}` is replaced."""
    if isinstance(template, Template):
        return text.join(template.parts)
    before, placeholder, after = template.rpartition(_INPUT)
    if not placeholder:
        raise SettingsError("the template has no {input}")
    return before + text + after


def template_digest(custom: str | None, custom_fewshots: str | None = None) -> str | None:
    """Returns the first 8 hex digits of the SHA-256 of templates of one's own, `None` without any.

    With a template for examples, the digest is that of both, joined by a NUL character.
    """
    if custom is None and custom_fewshots is None:
        return None
    joined = custom or "" if custom_fewshots is None else f"{custom or ''}\0{custom_fewshots}"
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:8]


class _Inserted:
    """Texts that are inserted literally: marks stand for them while a template is formatted."""

    def __init__(self, templates: str) -> None:
        self._mark = next(c for c in map(chr, range(_PLANE, _PLANE + 0xFFFE)) if c not in templates)
        self._texts: list[str] = []

    def mark(self, text: str) -> str:
        """Returns what stands for a text."""
        self._texts.append(text)
        return f"{self._mark}{len(self._texts) - 1}{self._mark}"

    def resolve(self, text: str) -> str:
        """Returns a formatted text with the texts in the place of their marks."""
        mark = self._mark
        return re.sub(f"{mark}([0-9]+){mark}", lambda found: self._texts[int(found[1])], text)


def _marked_example(inserted: _Inserted, own: str, sample: Sample) -> str:
    values = {"input": inserted.mark(sample.input), "output": inserted.mark(sample.output)}
    return _formatted(own, values, "template of examples")


def _formatted(text: str, values: Mapping[str, str], name: str) -> str:
    """Returns a template with its placeholders replaced, doubled braces halved."""
    made = []
    for literal, field in _fields(text, name):
        made.append(literal)
        if field is None:
            continue
        if field not in values:
            expected = ", ".join(f"{{{key}}}" for key in values)
            raise SettingsError(
                f"unknown placeholder {{{field}}} in the {name}: expected {expected}"
            )
        made.append(values[field])
    return "".join(made)


def _parts(text: str) -> list[str]:
    """Returns the texts around the inputs of a template that is formatted a second time."""
    name = "template (braces are halved twice: write four of them for one)"
    parts = [""]
    for literal, field in _fields(text, name):
        parts[-1] += literal
        if field == "input":
            parts.append("")
        elif field is not None:
            shown = re.sub("[\U000f0000-\U000fffff].*", "…", field, flags=re.DOTALL)
            raise SettingsError(f"unknown placeholder {{{shown}}} in the {name}: expected {_INPUT}")
    if len(parts) == 1:
        raise SettingsError("the template has no {input}")
    return parts


def _fields(text: str, name: str) -> list[tuple[str, str | None]]:
    try:
        found = list(Formatter().parse(text))
    except ValueError as error:
        raise SettingsError(f"invalid {name}: {error}") from None
    for _, field, spec, conversion in found:
        if spec or conversion:
            raise SettingsError(f"invalid {name}: {{{field}}} must have no format")
    return [(literal, field) for literal, field, _, _ in found]
