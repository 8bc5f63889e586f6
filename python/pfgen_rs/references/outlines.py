"""Questions without their answers: id, text, category, example answer and keyword rules."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.errors import BenchmarkError, ConfigError, unreadable
from pfgen_rs.metrics.helpfulness import parse_rules
from pfgen_rs.questions import question

_ID = re.compile(r"Q[A-Za-z0-9_-]{1,60}")
_KEYS = ("question_id", "question", "category", "note", "keywords")


@dataclass(frozen=True)
class Outline:
    """A question without its reference answers."""

    question_id: str
    question: str
    category: str = ""
    note: str = ""
    keywords: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.question_id):  # used as a file name
            raise ConfigError(
                f"invalid id {self.question_id!r}: expected Q followed by letters, digits, - or _"
            )

    def to_dict(self, answers: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Returns the contents of the question file, with keys in the published order."""
        own = {key: getattr(self, key) for key in _KEYS[:-1]}
        keywords = [dict(rule) for rule in self.keywords]
        return {**own, "keywords": keywords, "answers": {s: list(a) for s, a in answers.items()}}


def read_outlines(path: Path) -> list[Outline]:
    """Read outlines from a folder of question files, JSON lines, or TOML with `[[question]]` tables.

    Raises `ConfigError`, naming the file and the entry, for unknown or missing keys, invalid keyword rules,
    and duplicate ids or texts.
    """
    if path.is_dir():
        questions, _ = question.read_folder(path)
        return [Outline(q.id, q.text, q.category, q.note, q.keywords) for q in questions]
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            records = tomllib.loads(text).get("question", [])
        else:
            records = [json.loads(line) for line in text.split("\n") if line.strip()]
    except OSError as error:
        raise ConfigError(unreadable(error), path=path) from error
    except ValueError as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON lines"
        raise ConfigError(f"invalid {kind}: {error}", path=path) from None
    outlines = [
        _parse_outline(record, f"question {i}", path) for i, record in enumerate(records, 1)
    ]
    if not outlines:
        raise ConfigError("no questions", path=path)
    _reject_duplicate_outlines(outlines, path)
    return outlines


def _parse_outline(record: object, where: str, path: Path) -> Outline:
    if not isinstance(record, dict):
        raise ConfigError(f"{where}: expected an object, not {record!r}", path=path)
    unknown = sorted(set(record) - set(_KEYS))
    if unknown:
        shown = ", ".join(_KEYS)
        raise ConfigError(
            f"{where}: unknown key {unknown[0]!r}: expected one of {shown}", path=path
        )
    for key in _KEYS[:-1]:
        if not isinstance(record.get(key, ""), str) or (key in _KEYS[:2] and not record.get(key)):
            raise ConfigError(f"{where}: {key!r} must be text", path=path)
    keywords = record.get("keywords", [])
    try:
        parse_rules(keywords)
        return Outline(**{**record, "keywords": tuple(keywords)})
    except (BenchmarkError, ConfigError) as error:
        raise ConfigError(f"{where}: {error}", path=path) from None


def _reject_duplicate_outlines(outlines: Iterable[Outline], path: Path) -> None:
    seen: set[str] = set()
    for outline in outlines:
        for value in dict.fromkeys((outline.question_id, outline.question)):
            if value in seen:
                raise ConfigError(f"duplicate question {value!r}", path=path)
            seen.add(value)


def numbered_outlines(texts: Iterable[str]) -> list[Outline]:
    """Returns outlines with only a text and a numbered id: Q01, Q02 and so on."""
    return [Outline(f"Q{number:02}", text) for number, text in enumerate(texts, 1)]
