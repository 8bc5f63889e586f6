"""What models answer and judges grade: dialogue records and MT-bench's questions in one form."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.json_lines import lines
from pfgen_rs.judge.dialogues.fields import Fields
from pfgen_rs.judge.dialogues.mt_bench import ModelAnswers, Question, read_questions
from pfgen_rs.judge.dialogues.records import Dialogue, read_dialogues

__all__ = [
    "TURNS",
    "Item",
    "Turns",
    "items_of_dialogues",
    "items_of_questions",
    "read_items",
    "record_answers",
    "with_references",
]

Turns = Literal["second", "both"]
TURNS: tuple[Turns, ...] = ("second", "both")


@dataclass(frozen=True, slots=True)
class Item:
    """A dialogue to continue.

    `users`: what the user says in each turn. `given`: answers to the first turns that do not come from the
    model. `reference`: reference answers, one per turn, or none. `question`: whether it is one of
    MT-bench's questions, whose categories math, reasoning and coding are graded with a reference answer.
    """

    id: str
    category: str
    users: tuple[str, ...]
    given: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    question: bool = False


def read_items(
    path: str | os.PathLike[str], fields: Fields | None = None, turns: Turns | None = None
) -> tuple[list[Item], Sequence[Dialogue]]:
    """Read dialogue records or MT-bench's questions, whichever the file has; also returns the dialogues.

    `turns`: whether the model writes the second answer (the default for dialogues) or both (the only choice
    for questions, which have no answers). Raises `InputError` with file and line, and `SettingsError`.
    """
    if turns is not None and turns not in TURNS:
        raise SettingsError(f"unknown turns {turns!r}: expected one of {', '.join(TURNS)}")
    first = next(islice(lines(Path(path)), 1), None)
    if first is not None and "question_id" in first.record and fields is None:
        if turns == "second":
            raise InputError(
                "contains questions without first answers: models write both answers",
                path=os.fspath(path),
            )
        return items_of_questions(read_questions(path)), ()
    dialogues = read_dialogues(path, fields)
    return items_of_dialogues(dialogues, turns or "second"), dialogues


def items_of_dialogues(dialogues: Iterable[Dialogue], turns: Turns = "second") -> list[Item]:
    """Returns dialogues to continue with the second answer, or to answer in both turns."""
    return [
        Item(
            each.id,
            each.category,
            (each.user1, each.user2),
            (each.first.text,) if turns == "second" else (),
        )
        for each in dialogues
    ]


def items_of_questions(questions: Iterable[Question]) -> list[Item]:
    """Returns MT-bench's questions, to be answered in every turn."""
    return [
        Item(each.id, each.category, each.turns, reference=each.reference, question=True)
        for each in questions
    ]


def with_references(items: Iterable[Item], references: Mapping[str, tuple[str, ...]]) -> list[Item]:
    """Returns the items with reference answers, by id; those without one keep what they have."""
    return [replace(each, reference=references.get(each.id, each.reference)) for each in items]


def record_answers(dialogues: Iterable[Dialogue]) -> list[ModelAnswers]:
    """Returns the second answers in dialogue records, by author, each after the first answer of its dialogue.

    Raises `InputError` if an author has two second answers in a dialogue.
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for dialogue in dialogues:
        for answer in dialogue.seconds:
            mine = found.setdefault(answer.author, {})
            if dialogue.id in mine:
                raise InputError(
                    f"dialogue {dialogue.id!r:.80} has two second answers by {answer.author!r:.80}"
                )
            mine[dialogue.id] = (dialogue.first.text, answer.text)
    return [ModelAnswers(author, answers) for author, answers in found.items()]
