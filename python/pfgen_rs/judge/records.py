"""Records in files of other tools: their places for messages, their ids and times, and their texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, Item
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.json_lines import id_field, lines, write_objects
from pfgen_rs.io.lines import text_field

_SUFFIXES = {".json", ".jsonl"}
_REFERENCES = "reference_answer"
_LONG_NUMBER = 16  # other programs read such numbers as floats


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record is: `with place:` gives `InputError`s raised within it file and line or element."""

    path: Path
    number: int
    item: Item = "line"

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and error.path is None:
            raise InputError(
                error.problem, path=self.path, line=self.number, item=self.item
            ) from None


def files_of(paths: Sequence[Path]) -> list[Path]:
    """Returns the files at these paths; a folder stands for the JSON files right in it, by name.

    They may be compressed.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.iterdir() if _SUFFIXES & {*each.suffixes})
            if not inside:
                raise InputError("contains no .json or .jsonl files", path=path)
            found += inside
        else:
            found.append(path)
    return found


def all_records(paths: Iterable[Path]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the records of several files."""
    for path in paths:
        yield from records(path)


def records(path: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines or of a JSON array, with their places.

    Raises `InputError` with file and line or element.
    """
    for line in lines(path):
        yield Place(path, line.number, line.item), line.record


def write_lines(path: Path, values: Iterable[Mapping[str, Any]]) -> int:
    """Write objects as JSON lines, atomically; returns how many. Raises `OutputError`."""
    written = list(values)
    write_objects(path, written)
    return len(written)


def write_array(path: Path, values: Iterable[Mapping[str, Any]]) -> int:
    """Write objects as a JSON array, atomically; returns how many. Raises `OutputError`."""
    written = list(values)
    text = json.dumps(written, ensure_ascii=False, indent=4) + "\n"
    write_atomic(path, text.encode("utf-8", "surrogatepass"))
    return len(written)


def written_id(name: str) -> str | int:
    """Returns an id as FastChat writes it: digits as a number, if other programs read it exactly."""
    plain = name.isascii() and name.isdigit() and len(name) < _LONG_NUMBER
    return int(name) if plain and str(int(name)) == name else name


def iso_time(seconds: object) -> str | None:
    """Returns a time in seconds since 1970 as ISO 8601, `None` for anything else."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return None


def unix_time(timestamp: str | None) -> float:
    """Returns an ISO 8601 time in seconds since 1970; -1, as FastChat has it, for anything else."""
    try:
        return datetime.fromisoformat(timestamp or "").timestamp()
    except ValueError:
        return -1


def own_id(record: Mapping[str, Any]) -> str:
    """Returns `question_id`, or `uid` as newer files of Arena-Hard call it. Raises `InputError`."""
    return id_field(record, "uid" if "question_id" not in record else "question_id")


class Texts:
    """Questions, answers and reference answers by question id: lists of the texts of the turns."""

    def __init__(self) -> None:
        self.questions: dict[str, list[str]] = {}
        self.categories: dict[str, str] = {}
        self.answers: dict[tuple[str, str], list[str]] = {}
        self.references: dict[str, list[str]] = {}

    def take(self, place: Place, record: Mapping[str, Any]) -> bool:
        """Take a record if it is a question or an answer. Raises `InputError`.

        Answers in a folder `reference_answer` are references.
        """
        if "choices" in record or "messages" in record:
            self._take_answer(place, record)
        elif "games" not in record and ("turns" in record or "prompt" in record):
            question = own_id(record)
            self.questions[question] = _turns_of(record)
            if "category" in record:
                self.categories[question] = text_field(record, "category")
        else:
            return False
        return True

    def _take_answer(self, place: Place, record: Mapping[str, Any]) -> None:
        question = own_id(record)
        if place.path.parent.name == _REFERENCES:
            self.references[question] = _answers_of(record)
            return
        model = text_field(record, "model_id" if "model_id" in record else "model")
        self.answers[question, model] = _answers_of(record)

    def question(self, question: str, turn: int) -> str:
        """Returns the user's texts up to a turn (from 1), separated by empty lines; empty if unknown."""
        return _up_to(self.questions.get(question), turn)

    def answer(self, question: str, model: str, turn: int) -> str:
        """Returns a model's answers up to a turn, separated by empty lines; empty if unknown."""
        return _up_to(self.answers.get((question, model)), turn)

    def reference(self, question: str, turn: int) -> str | None:
        """Returns the reference answers up to a turn, `None` without any."""
        return _up_to(self.references.get(question), turn) or None

    def note(self) -> tuple[str, ...]:
        """Returns what to tell the user if no texts were found."""
        if self.questions and self.answers:
            return ()
        lacking = " and ".join(
            name
            for name, known in (("questions", self.questions), ("answers", self.answers))
            if not known
        )
        return (
            f"the files have no {lacking}: these texts are empty; add question.jsonl and model_answer/",
        )


def _up_to(turns: list[str] | None, turn: int) -> str:
    return "\n\n".join((turns or [])[:turn])


def _turns_of(record: Mapping[str, Any]) -> list[str]:
    if "turns" not in record:
        return [text_field(record, "prompt")]
    turns = record["turns"]
    if not isinstance(turns, list):
        raise InputError("'turns' must be a list of texts")
    return [_text_of(turn, "turns") for turn in turns]


def _answers_of(record: Mapping[str, Any]) -> list[str]:
    """Returns the texts of the assistant's turns."""
    if "messages" in record:
        messages = record["messages"]
        if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
            raise InputError("'messages' must be a list of objects")
        return [
            _text_of(m.get("content"), "content") for m in messages if m.get("role") == "assistant"
        ]
    choices = record["choices"]
    first = choices[0] if isinstance(choices, list) and choices else None
    turns = first.get("turns") if isinstance(first, dict) else None
    if not isinstance(turns, list):
        raise InputError("'choices' must be a list of an object with 'turns'")
    return [_text_of(turn, "turns") for turn in turns]


def _text_of(value: Any, key: str) -> str:
    """Returns a text, or that of an object with `content` or `answer`."""
    while isinstance(value, dict):
        value = value.get("content", value.get("answer"))
    if not isinstance(value, str):
        raise InputError(f"{key!r} must contain texts only")
    return value
