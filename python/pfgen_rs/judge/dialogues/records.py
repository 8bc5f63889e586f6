"""Dialogue records of Japanese MT-bench++: two turns, several second answers, scores; any names of fields."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeVar

from pfgen_rs.errors import ConfigError, InputError
from pfgen_rs.io.json_lines import Line, id_field, parsed_lines, texts_field
from pfgen_rs.io.lines import text_field
from pfgen_rs.io.source import read_toml
from pfgen_rs.io.text import shortened

CATEGORIES = ("human", "roleplay", "writing", "STEM", "reasoning")
"""The categories, in the order of the paper's tables."""
TYPES = ("same", "free")
"""Second turns that stay in the category, and free ones."""
HUMAN = "human"
"""The author of answers that people wrote."""

Turn = Literal[1, 2]

_LOW, _HIGH = 1, 5
_ADVICE = "a [fields] table can give it another name"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its scores, 1 to 5, as exact fractions.

    `human`: the scores that people gave; may be empty. `judge`: the score of the judge model, or `None`.
    """

    author: str
    text: str
    human: tuple[Fraction, ...] = ()
    judge: Fraction | None = None

    @property
    def mean(self) -> Fraction | None:
        """The mean of the human scores; `None` without any."""
        return mean_of(self.human)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue of two turns with the answers to the second one.

    `source`: the record as it stands in its file, without the newline.
    """

    id: str
    category: str
    turn2_type: str
    user1: str
    first: Answer
    user2: str
    seconds: tuple[Answer, ...] = ()
    source: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True)
class Fields:
    """The keys of a dialogue record.

    `turns`: one key with a list of three texts, or three keys with one text each. `author`, `text`, `human`
    and `gpt` are keys of each second answer, the others of the record.
    """

    id: str = "id"
    category: str = "category"
    turn2_type: str = "turn2_type"
    turns: str | tuple[str, ...] = "turns"
    author1: str = "author1"
    human1: str = "human1"
    gpt1: str = "gpt1"
    answers2: str = "answers2"
    author: str = "author"
    text: str = "text"
    human: str = "human"
    gpt: str = "gpt"


def mean_of(values: Iterable[Fraction | None]) -> Fraction | None:
    """Returns the exact mean of the values that are not `None`; `None` without any."""
    found = [value for value in values if value is not None]
    return sum(found, Fraction(0)) / len(found) if found else None


def sorted_authors(authors: Iterable[str]) -> list[str]:
    """Returns distinct authors in ascending order, people last."""
    return sorted(set(authors), key=lambda author: (author == HUMAN, author))


def read_dialogues(
    path: str | os.PathLike[str], fields: Fields | None = None
) -> tuple[Dialogue, ...]:
    """Read dialogue records from JSON lines, plain or compressed.

    Ids are compared as strings, so that 11 is "11". Raises `InputError` with file and line for a missing or
    invalid field and for a duplicate id, and for a file without records.
    """
    names = fields or Fields()
    return read_unique(
        path, lambda line: _parsed_dialogue(line.record, names, line.text), "dialogues"
    )


T = TypeVar("T", bound=Any)  # it has an `id`


def read_unique(
    path: str | os.PathLike[str], parse: Callable[[Line], T], what: str
) -> tuple[T, ...]:
    """Read JSON lines with ids. Raises `InputError`, also for a duplicate id and without any record."""
    lines: dict[str, int] = {}

    def unique(line: Line) -> T:
        found = parse(line)
        first = lines.setdefault(found.id, line.number)
        if first != line.number:
            raise InputError(
                f"duplicate id {shortened(found.id)!r}: already on {line.item} {first}"
            )
        return found

    found = tuple(parsed_lines(Path(path), unique))
    if not found:
        raise InputError(f"contains no {what}", path=os.fspath(path))
    return found


def _parsed_dialogue(record: dict[str, Any], names: Fields, source: bytes) -> Dialogue:
    user1, assistant1, user2 = _turns(record, names.turns)
    if names.id not in record:
        text_field(record, names.id, _ADVICE)
    first = Answer(
        text_field(record, names.author1, _ADVICE),
        assistant1,
        _human_scores(record, names.human1),
        _judge_score(record, names.gpt1),
    )
    return Dialogue(
        id=id_field(record, names.id),
        category=_choice(record, names.category, CATEGORIES),
        turn2_type=_choice(record, names.turn2_type, TYPES),
        user1=user1,
        first=first,
        user2=user2,
        seconds=_second_answers(record, names),
        source=source,
    )


def _turns(record: Mapping[str, Any], key: str | tuple[str, ...]) -> Sequence[str]:
    if not isinstance(key, str):
        return [text_field(record, each, _ADVICE) for each in key]
    if key not in record:
        text_field(record, key, _ADVICE)
    return texts_field(record, key, 3)


def _choice(record: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str:
    value = text_field(record, key, _ADVICE)
    if value not in choices:
        shown = shortened(value)
        raise InputError(f"unknown {key} {shown!r}: expected one of {', '.join(choices)}")
    return value


def _second_answers(record: Mapping[str, Any], names: Fields) -> tuple[Answer, ...]:
    """Returns the answers to the second turn; none if the field is missing or null."""
    answers = record.get(names.answers2)
    if answers is None:
        return ()
    if not isinstance(answers, list):
        raise InputError(f"{names.answers2!r} must be a list, not {_shown(answers)}")
    return tuple(
        _second_answer(answer, names, place) for place, answer in enumerate(answers, start=1)
    )


def _second_answer(answer: object, names: Fields, place: int) -> Answer:
    try:
        if not isinstance(answer, dict):
            raise InputError(f"expected an object, not {_shown(answer)}")
        return Answer(
            text_field(answer, names.author, _ADVICE),
            text_field(answer, names.text, _ADVICE),
            _human_scores(answer, names.human),
            _judge_score(answer, names.gpt),
        )
    except InputError as error:
        raise InputError(f"{names.answers2!r}, answer {place}: {error.problem}") from None


def _human_scores(record: Mapping[str, Any], key: str) -> tuple[Fraction, ...]:
    value = record.get(key)
    if value is None:
        return ()
    return tuple(_score(each, key) for each in (value if isinstance(value, list) else [value]))


def _judge_score(record: Mapping[str, Any], key: str) -> Fraction | None:
    value = record.get(key)
    return None if value is None else _score(value, key)


def _score(value: object, key: str) -> Fraction:
    """Returns a score exactly as it is written: 4.2 is 21/5."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not _LOW <= value <= _HIGH:  # type: ignore[operator]
        raise InputError(f"{key!r} must be a score from {_LOW} to {_HIGH}, not {_shown(value)}")
    return Fraction(str(value))


def _shown(value: object) -> str:
    return repr(shortened(value if isinstance(value, str) else repr(value)))


def read_fields(path: str | os.PathLike[str]) -> Fields:
    """Read the table `[fields]` of a TOML file. Raises `ConfigError` with the file and the offending key."""
    path = Path(path)
    data = read_toml(path)
    table = data.pop("fields", None)
    if not isinstance(table, dict) or data:
        raise ConfigError("expected a table [fields], and nothing else", path=path)
    known = [each.name for each in fields(Fields)]
    for key, value in table.items():
        if key not in known:
            expected = f"expected one of {', '.join(known)}"
            raise ConfigError(f"[fields]: unknown key {key!r}: {expected}", path=path)
        if key == "turns" and isinstance(value, list) and len(value) == 3:
            table[key] = names = tuple(value)
        else:
            names = (value,)
        if not all(isinstance(name, str) for name in names):
            expected = "one key or a list of three keys" if key == "turns" else "a key"
            raise ConfigError(f"[fields]: {key} must be {expected}, not {value!r}", path=path)
    return Fields(**table)
