"""Prompts for judges: built-in ones, and a user's own (judging 2 and 6.1)."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.json_lines import parsed
from pfgen_rs.judge.verdicts import Which

Kind = Literal["criteria", "pairwise", "grade"]

_FASTCHAT_NAMES = {
    "ref_answer_1": "reference",
    "ref_answer_2": "reference2",
    "question_1": "user1",
    "question_2": "user2",
    "answer_1": "assistant1",
    "answer_2": "assistant2",
}
_OWN = ("question", "criteria", "answer_a", "answer_b", "answer", "rubric")
PLACEHOLDERS = (*_OWN, *_FASTCHAT_NAMES.values())
"""Placeholders of templates, written in braces."""

_NEEDED: Mapping[Kind, tuple[tuple[str, ...], ...]] = {
    "criteria": (("question",),),
    "pairwise": (("question",), ("answer_a",), ("answer_b",)),
    "grade": (("answer", "assistant2", "assistant1"),),
}
"""Placeholders that a template of each kind must have: one of each group."""

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NO_REFERENCE = "/no-reference"
_CLOSENESS = "あなたの仕事は、模範回答に近いアシスタントの回答を高く評価することです。\n"
_REFERENCE_BLOCKS = (
    "[模範回答の開始]\n{reference}\n[模範回答の終了]\n\n",
    "\n\n[模範回答開始]\n{reference}\n[模範回答終了]",
)
_BOTH, _QUESTION_ALONE = "下記の質問と模範回答から", "下記の質問から"
_KEYS: Mapping[str, type] = {
    **dict.fromkeys(("text", "system", "verdict"), str),
    **dict.fromkeys(("brackets", "result", "fastchat"), bool),
    "scale": list,
    "max_tokens": int,
}


@dataclass(frozen=True)
class Prompt:
    """A template with placeholders in braces, such as `{question}`.

    `text` is sent as one user message, after the message `system`, if any. `verdict`: how the verdict is read
    (see `read_verdict`). `scale`: lowest and highest rating; `brackets`: whether ratings are written `[[n]]`;
    `result`: whether they are written `[RESULT] n`, as Prometheus does. `max_tokens`: limit of the
    judge's output, if the prompt has one of its own.
    """

    name: str
    kind: Kind
    text: str
    system: str | None = None
    verdict: Which = "first"
    scale: tuple[int, int] = (1, 10)
    brackets: bool = False
    result: bool = False
    max_tokens: int | None = None

    @property
    def placeholders(self) -> set[str]:
        """The names of the placeholders."""
        return set(_PLACE.findall(f"{self.system or ''}{self.text}"))

    def filled(self, values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Returns the messages, as role and content, with values in place of the placeholders.

        Texts are inserted in one pass: braces in them stay as they are. Raises `SettingsError` if a value is
        missing.
        """
        for name in sorted(self.placeholders - values.keys()):
            raise SettingsError(f"prompt {self.name!r} needs {{{name}}}, which is missing")
        turns = (("system", self.system), ("user", self.text))
        return tuple(
            (role, _PLACE.sub(lambda match: values[match[1]], text))
            for role, text in turns
            if text is not None
        )

    def without_reference(self) -> Prompt:
        """Returns the prompt for questions without a reference answer; its name says so.

        Raises `SettingsError` for prompts of which it is not known how to leave the reference out.
        """
        if "reference" not in self.placeholders:
            return self
        text = self.text.replace(_CLOSENESS, "").replace(_BOTH, _QUESTION_ALONE)
        for block in _REFERENCE_BLOCKS:
            text = text.replace(block, "")
        found = replace(self, name=self.name + _NO_REFERENCE, text=text)
        if "reference" in found.placeholders:
            raise SettingsError(
                f"prompt {self.name!r} needs a reference answer to every question: add 'reference' to the "
                "records, or choose another prompt"
            )
        return found


@cache
def built_in_prompts() -> Mapping[str, Prompt]:
    """Returns the built-in prompts by name."""
    text = (resources.files("pfgen_rs.judge") / "prompts.toml").read_text(encoding="utf-8")
    return _prompts_of_table(tomllib.loads(text))


def find_prompt(name: str, kind: Kind, file: str | os.PathLike[str] | None = None) -> Prompt:
    """Returns a prompt by name, from a user's file or the built-in ones.

    Raises `SettingsError` if it is unknown or of another kind, and what `read_prompts` raises.
    """
    known = dict(built_in_prompts()) if file is None else dict(read_prompts(file))
    prompt = known.get(name)
    if prompt is None or prompt.kind != kind:
        fitting = ", ".join(each.name for each in known.values() if each.kind == kind) or "none"
        what = "unknown prompt" if prompt is None else f"prompt of kind {prompt.kind}"
        raise SettingsError(f"{what} {name!r}: expected one of {fitting}")
    return prompt


def read_prompts(path: str | os.PathLike[str]) -> Mapping[str, Prompt]:
    """Read a user's prompts: TOML as `prompts.toml` of this package, or FastChat's `judge_prompts.jsonl`.

    TOML has tables `[pairwise.NAME]`, `[grade.NAME]` and `[criteria]` with `text` and optionally `system`,
    `verdict` (first, last, brackets), `fastchat`, `scale`, `brackets`, `result`, `max_tokens`. Raises
    `InputError` for files that cannot be read, and for unknown or missing placeholders and keys.
    """
    file = Path(path)
    try:
        if file.suffix == ".jsonl":
            return {prompt.name: prompt for _, prompt in parsed(file, _fastchat_prompt) if prompt}
        return _prompts_of_table(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(unreadable(error), path=file) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", path=file) from None
    except SettingsError as error:
        raise InputError(str(error), path=file) from None


def _prompts_of_table(table: Mapping[str, Any]) -> dict[str, Prompt]:
    found: dict[str, Prompt] = {}
    for kind, entries in table.items():
        if kind == "criteria":
            found[kind] = _prompt_of_entry(kind, "criteria", entries)
        elif kind in ("pairwise", "grade") and isinstance(entries, Mapping):
            for name, entry in entries.items():
                found[name] = _prompt_of_entry(name, kind, entry)  # type: ignore[arg-type]
        else:
            raise SettingsError(f"unknown table [{kind}]: expected pairwise, grade or criteria")
    if not found:
        raise SettingsError("contains no prompts")
    return found


def _prompt_of_entry(name: str, kind: Kind, entry: Any) -> Prompt:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("text"), str):
        raise SettingsError(f"prompt {name!r} needs 'text'")
    for key, value in entry.items():
        expected = _KEYS.get(key)
        if expected is None:
            known = ", ".join(sorted(_KEYS))
            raise SettingsError(f"prompt {name!r}: unknown key {key!r}: expected one of {known}")
        if type(value) is not expected:
            raise SettingsError(
                f"prompt {name!r}: {key!r} must be of type {expected.__name__}, not {value!r:.60}"
            )
    given = {"verdict": "first", "scale": [1, 10], **entry}
    scale, verdict = given["scale"], given["verdict"]
    if [*map(type, scale)] != [int, int] or not scale[0] < scale[1]:
        raise SettingsError(f"prompt {name!r}: invalid scale {scale!r:.60}: expected [LOW, HIGH]")
    if verdict not in ("first", "last", "brackets"):
        raise SettingsError(
            f"prompt {name!r}: invalid verdict {verdict!r:.60}: expected first, last or brackets"
        )
    if given.pop("fastchat", False):
        given["verdict"] = "fastchat"
    return _checked_prompt(Prompt(name, kind, **{**given, "scale": tuple(scale)}))


def _checked_prompt(prompt: Prompt) -> Prompt:
    unknown = sorted(prompt.placeholders - set(PLACEHOLDERS))
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise SettingsError(
            f"prompt {prompt.name!r}: unknown placeholder {{{unknown[0]}}}: expected one of {known}"
        )
    for group in _NEEDED[prompt.kind]:
        if prompt.placeholders.isdisjoint(group):
            needed = " or ".join(f"{{{name}}}" for name in group)
            raise SettingsError(f"prompt {prompt.name!r}: missing placeholder {needed}")
    return prompt


def _fastchat_prompt(record: Mapping[str, Any]) -> Prompt | None:
    """Returns a prompt; `None` for pairwise ones about several turns, which have no counterpart here."""
    try:
        name, text = str(record["name"]), str(record["prompt_template"])
        pairwise = record.get("type") == "pairwise"
        if pairwise and "{answer_a_1}" in text:
            return None
        for theirs, ours in _FASTCHAT_NAMES.items():
            text = text.replace(f"{{{theirs}}}", f"{{{ours}}}")
        system = record.get("system_prompt") or None
        kind: Kind = "pairwise" if pairwise else "grade"
        way: Which = "brackets" if pairwise else "first"
        return _checked_prompt(Prompt(name, kind, text, system, way, brackets=not pairwise))
    except (SettingsError, KeyError, TypeError) as error:
        raise InputError(f"is not a prompt of FastChat: {error}") from None
