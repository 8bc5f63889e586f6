"""Dialogues to continue, from records or MT-bench's questions, and models that answer them turn by turn."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pfgen_rs.ask.costs import Budget
from pfgen_rs.ask.journal import Journal, journal_records
from pfgen_rs.ask.loop import Asked, AskingProgress, ask
from pfgen_rs.ask.protocol import Answered, Details, Engine
from pfgen_rs.ask.request import Request
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.json_lines import lines, write_objects
from pfgen_rs.judge.dialogues.mt_bench import (
    ModelAnswers,
    Question,
    answer_record,
    read_answers,
    read_questions,
)
from pfgen_rs.judge.dialogues.records import Dialogue, Fields, read_dialogues
from pfgen_rs.judge.requests import Judge, folder_config, judge_of_config, write_folder_config
from pfgen_rs.judge.tokens import CUT, THOUGHT_BEGIN, without_thoughts

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


# Answering: answers are kept like judgments, and exported for FastChat


EXPORT = "model_answer.jsonl"
"""The answers in FastChat's format."""
_ANSWERS = "answers.jsonl"
_KEY = ("item", "turn", "sample", "digest")
Stored = Mapping[tuple[str, int, str], dict[str, Any]]


def answer(
    items: Sequence[Item],
    engine: Engine,
    model: Judge,
    out: str | os.PathLike[str],
    *,
    name: str | None = None,
    system: str | None = None,
    budget: Budget | None = None,
    keep_going: bool = False,
    progress: AskingProgress | None = None,
) -> Asked:
    """Let a model continue dialogues as chats, and keep its answers in the folder `out`.

    Later turns see the earlier answers, those of the model without its thoughts. `model`: how the model is
    asked; `name`: its name in results (default: the model's). Nothing is asked twice: the same call
    continues after an interruption, and several processes may share the work. `model_answer.jsonl` then has
    the dialogues that are answered to the end, in FastChat's format. Raises `SettingsError` if the folder
    was begun with other settings, and what `ask` raises.
    """
    folder = Path(out)
    model = replace(model, logprobs=None)
    named = name or model.model
    write_folder_config(folder, _answering_config(model, named, system))
    asked = Asked(0, 0, 0)
    last = max((len(item.users) for item in items), default=0)
    with answer_journal(folder) as journal:
        for turn in range(1, last + 1):
            requests = list(_turn_requests(items, turn, model, named, system, journal.path))
            if requests:
                found = ask(
                    journal,
                    requests,
                    engine,
                    model,
                    _read_answer,
                    budget=budget,
                    keep_going=keep_going,
                    progress=progress,
                )
                asked = _both_asked(asked, found)
    _write_answers(folder, items, named, model, system)
    open_turns = sum(len(item.users) - len(item.given) for item in items) - asked.total
    return replace(asked, total=asked.total + open_turns)


def answer_requests(
    items: Iterable[Item],
    model: Judge,
    out: str | os.PathLike[str],
    *,
    name: str | None = None,
    system: str | None = None,
) -> list[Request]:
    """Returns the requests that are known: those of later turns need the earlier answers."""
    model = replace(model, logprobs=None)
    path, known = Path(out) / _ANSWERS, list(items)
    last = max((len(item.users) for item in known), default=0)
    return [
        request
        for turn in range(1, last + 1)
        for request in _turn_requests(known, turn, model, name or model.model, system, path)
    ]


def answer_journal(folder: str | os.PathLike[str]) -> Journal:
    """Returns the journal of answers, which is not open yet."""
    return Journal(Path(folder) / _ANSWERS, _KEY)


def read_model_answers(
    path: str | os.PathLike[str], items: Iterable[Item] | None = None
) -> list[ModelAnswers]:
    """Read a folder of answers, or a file in FastChat's format. Raises `InputError`.

    `items`: of a folder, only the answers to these texts; files do not say which texts were answered.
    """
    return [answers_of_folder(path, items)] if Path(path).is_dir() else list(read_answers(path))


def poor_answers(folder: str | os.PathLike[str]) -> tuple[int, int]:
    """Returns how many answers of a folder are blank, and how many were cut off by the limit on tokens."""
    records = list(journal_records(Path(folder) / _ANSWERS))
    blank = sum(not str(record.get("answer") or "").strip() for record in records)
    return blank, sum(record.get("finish_reason") == "length" for record in records)


def answers_of_folder(
    folder: str | os.PathLike[str], items: Iterable[Item] | None = None
) -> ModelAnswers:
    """Returns the answers of a folder made by `answer`: those to the texts of `items`, or all exported ones.

    Raises `InputError`.
    """
    path = Path(folder)
    config = folder_config(path)
    if config.get("kind") != "answers":
        raise InputError("is not a folder of answers", path=path)
    if not (path / EXPORT).is_file():
        raise InputError("has no dialogue that is answered to its end", path=path)
    [found] = read_answers(path / EXPORT)
    if items is None:
        return found
    model, stored = (
        judge_of_config({"judge": config.get("model")}),
        _stored_answers(path / _ANSWERS),
    )
    answers = {
        item.id: _earlier_answers(
            item, len(item.users) + 1, model, found.model, config.get("system"), stored
        )
        for item in items
    }
    present = {item: tuple(each) for item, each in answers.items() if each is not None}
    return ModelAnswers(found.model, present)


def _turn_requests(
    items: Iterable[Item], turn: int, model: Judge, name: str, system: str | None, path: Path
) -> Iterable[Request]:
    """Yield the requests for the answers to a turn, of items whose earlier answers are known."""
    stored = _stored_answers(path)
    for item in items:
        if len(item.given) < turn <= len(item.users):
            earlier = _earlier_answers(item, turn, model, name, system, stored)
            if earlier is not None:
                yield _turn_request(item, turn, earlier, name, system)


def _turn_request(
    item: Item, turn: int, earlier: Sequence[str], name: str, system: str | None
) -> Request:
    messages = [] if system is None else [("system", system)]
    for user, assistant in zip(item.users, earlier, strict=False):
        messages += [("user", user), ("assistant", assistant)]
    messages.append(("user", item.users[turn - 1]))
    about = {"item": item.id, "turn": turn, "category": item.category, "model": name}
    return Request(item.id, tuple(messages), about)


def _earlier_answers(
    item: Item, turn: int, model: Judge, name: str, system: str | None, stored: Stored
) -> list[str] | None:
    """Returns the answers before a turn; `None` if one is missing.

    They are found by digest, so that all belong together.
    """
    answers = list(item.given[: turn - 1])
    while len(answers) < turn - 1:
        request = _turn_request(item, len(answers) + 1, answers, name, system)
        record = stored.get((item.id, len(answers) + 1, request.digest(model)))
        if record is None:
            return None
        answers.append(str(record["answer"]))
    return answers


def _stored_answers(path: Path) -> Stored:
    return {
        (str(record.get("item")), int(record.get("turn") or 0), str(record.get("digest"))): record
        for record in journal_records(path)
    }


def _read_answer(_: Request, answered: Answered) -> Mapping[str, Any]:
    details = answered.details or Details()
    alone = _answer_alone(answered.text)
    problem = CUT if details.finish_reason == "length" else "empty"
    return {
        "output": answered.text,
        "answer": alone,
        "finish_reason": details.finish_reason,
        "problem": None if alone else problem,
    }


def _answer_alone(text: str) -> str:
    """Returns an answer without thoughts; nothing of one that was cut off while thinking."""
    content = without_thoughts(text).strip()
    return "" if content.startswith(THOUGHT_BEGIN) else content


def _write_answers(
    folder: Path, items: Iterable[Item], name: str, model: Judge, system: str | None
) -> None:
    """Write the dialogues that are answered to the end, and keep those of earlier calls with other data."""
    stored = _stored_answers(folder / _ANSWERS)
    path = folder / EXPORT
    turns: dict[str, tuple[str, ...]] = {}
    if path.is_file():
        turns.update(read_answers(path)[0].answers)
    times: dict[str, float] = {}
    for record in stored.values():
        when = datetime.fromisoformat(str(record["timestamp"])).timestamp()
        times[str(record["item"])] = max(when, times.get(str(record["item"]), 0.0))
    for item in items:
        answers = _earlier_answers(item, len(item.users) + 1, model, name, system, stored)
        if answers is not None:
            turns[item.id] = tuple(answers)
        else:
            turns.pop(item.id, None)  # answers to other texts
    if not turns:
        path.unlink(missing_ok=True)
        return
    records = (
        answer_record(item, name, each, times.get(item, 0.0)) for item, each in turns.items()
    )
    write_objects(path, records)


def _answering_config(model: Judge, name: str, system: str | None) -> dict[str, Any]:
    return {
        "kind": "answers",
        "name": name,
        "model": {"engine": model.engine, **model.identity()},
        "system": system,
    }


def _both_asked(one: Asked, other: Asked) -> Asked:
    return Asked(
        total=one.total + other.total,
        stored=one.stored + other.stored,
        new=one.new + other.new,
        failures=[*one.failures, *other.failures],
        elsewhere=one.elsewhere + other.elsewhere,
        unaffordable=one.unaffordable + other.unaffordable,
        spent=other.spent,
    )
