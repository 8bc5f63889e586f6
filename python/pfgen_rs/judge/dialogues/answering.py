"""Dialogues to continue, from records or MT-bench's questions, and models that answer them turn by turn."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Unpack

from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.loop import Asked, Limits, ask
from pfgen_rs.ask.protocol import Answered, Details, Engine
from pfgen_rs.ask.request import Group, Request
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.json_lines import journal_records, lines, write_objects
from pfgen_rs.judge.dialogues import fastchat_files
from pfgen_rs.judge.dialogues.fastchat_files import ModelAnswers, Question
from pfgen_rs.judge.dialogues.records import Dialogue, Fields, read_dialogues
from pfgen_rs.judge.requests import Judge, folder_config, judge_of_config, write_folder_config
from pfgen_rs.judge.verdicts import CUT, THOUGHT_BEGIN, without_thoughts

Turns = Literal["second", "both"]
TURNS: tuple[Turns, ...] = ("second", "both")


@dataclass(frozen=True, slots=True)
class Item:
    """A dialogue to continue.

    `users`: what the user says in each turn. `given`: answers to the first turns that do not come from the
    model. `reference`: reference answers, one per turn, or none.
    """

    id: str
    category: str
    users: tuple[str, ...]
    given: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()


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
        return items_of_questions(fastchat_files.read_questions(path)), ()
    dialogues = read_dialogues(path, fields)
    return items_of_dialogues(dialogues, turns or "second"), dialogues


def items_of_dialogues(dialogues: Iterable[Dialogue], turns: Turns = "second") -> list[Item]:
    """Returns dialogues to continue with the second answer, or to answer in both turns."""
    return [
        Item(d.id, d.category, (d.user1, d.user2), (d.first.text,) if turns == "second" else ())
        for d in dialogues
    ]


def items_of_questions(questions: Iterable[Question]) -> list[Item]:
    """Returns MT-bench's questions, to be answered in every turn."""
    return [
        Item(each.id, each.category, each.turns, reference=each.reference) for each in questions
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


@dataclass(frozen=True, slots=True)
class Chats:
    """A folder of answers: how the model is asked, its name in results, and the system message."""

    model: Judge
    folder: Path
    name: str
    system: str | None

    def answer(self, items: Sequence[Item], engine: Engine, **limits: Unpack[Limits]) -> Asked:
        """Let the model continue dialogues as chats, and keep its answers in the folder.

        Later turns see the earlier answers, those of the model without its thoughts. `limits` are those of
        `ask`. Nothing is asked twice: the same call continues after an interruption, and several processes
        may share the work. `model_answer.jsonl` then has the dialogues that are answered to the end, in
        FastChat's format. Raises `SettingsError` if the folder was begun with other settings, and what `ask`
        raises.
        """
        model = {"engine": self.model.engine, **self.model.identity()}
        about = {"kind": "answers", "name": self.name, "model": model, "system": self.system}
        write_folder_config(self.folder, about)
        turns: list[Asked] = []
        with self.journal() as journal:
            for turn in _turns(items):
                requests = self._requests(items, turn)
                if requests:
                    groups = [Group(self.model, requests)]
                    turns.append(ask(journal, groups, engine, _read_answer, **limits))
        self._export(items)
        return Asked(
            total=sum(len(item.users) - len(item.given) for item in items),
            stored=sum(turn.stored for turn in turns),
            new=sum(turn.new for turn in turns),
            failures=[failure for turn in turns for failure in turn.failures],
            elsewhere=sum(turn.elsewhere for turn in turns),
            unaffordable=sum(turn.unaffordable for turn in turns),
            spent=turns[-1].spent if turns else None,
        )

    def journal(self) -> Journal:
        """Returns the journal of answers, which is not open yet."""
        return Journal(self.folder / _ANSWERS, _KEY)

    def known_requests(self, items: Sequence[Item]) -> list[Request]:
        """Returns the requests that are known: those of later turns need the earlier answers."""
        return [request for turn in _turns(items) for request in self._requests(items, turn)]

    def _requests(self, items: Iterable[Item], turn: int) -> list[Request]:
        """Returns the requests for the answers to a turn, of items whose earlier answers are known."""
        stored = self._stored()
        earlier = [
            (item, self._earlier(item, turn, stored))
            for item in items
            if len(item.given) < turn <= len(item.users)
        ]
        return [self._request(item, turn, each) for item, each in earlier if each is not None]

    def complete(self, items: Iterable[Item]) -> dict[str, tuple[str, ...]]:
        """Returns the answers to the items that are answered to the end, by id."""
        stored = self._stored()
        answers = {item.id: self._earlier(item, len(item.users) + 1, stored) for item in items}
        return {item: tuple(each) for item, each in answers.items() if each is not None}

    def _export(self, items: Iterable[Item]) -> None:
        """Write the dialogues that are answered to the end, beside those of earlier calls with other data."""
        path, complete = self.folder / EXPORT, self.complete(items)
        turns = dict(fastchat_files.read_answers(path)[0].answers) if path.is_file() else {}
        others = {item.id for item in items} - complete.keys()  # answers to other texts
        turns = {item: each for item, each in {**turns, **complete}.items() if item not in others}
        if not turns:
            path.unlink(missing_ok=True)
            return
        times: dict[str, float] = {}
        for record in self._stored().values():
            item_id = str(record["item"])
            when = datetime.fromisoformat(str(record["timestamp"])).timestamp()
            times[item_id] = max(when, times.get(item_id, 0.0))
        made = (
            fastchat_files.answer_record(item, self.name, each, times.get(item, 0.0))
            for item, each in turns.items()
        )
        write_objects(path, made)

    def _stored(self) -> Stored:
        return {
            (str(each.get("item")), int(each.get("turn") or 0), str(each.get("digest"))): each
            for each in journal_records(self.folder / _ANSWERS)
        }

    def _request(self, item: Item, turn: int, earlier: Sequence[str]) -> Request:
        messages = [] if self.system is None else [("system", self.system)]
        for user, assistant in zip(item.users, earlier, strict=False):
            messages += [("user", user), ("assistant", assistant)]
        messages.append(("user", item.users[turn - 1]))
        about = {"item": item.id, "turn": turn, "category": item.category, "model": self.name}
        return Request(item.id, tuple(messages), about)

    def _earlier(self, item: Item, turn: int, stored: Stored) -> list[str] | None:
        """Returns the answers before a turn; `None` if one is missing.

        They are found by digest, so that all belong together.
        """
        answers = list(item.given[: turn - 1])
        while len(answers) < turn - 1:
            request = self._request(item, len(answers) + 1, answers)
            record = stored.get((item.id, len(answers) + 1, request.digest(self.model)))
            if record is None:
                return None
            answers.append(str(record["answer"]))
        return answers


def chats_in(
    out: str | os.PathLike[str], model: Judge, name: str | None = None, system: str | None = None
) -> Chats:
    """Returns the folder `out` of a model's answers; `name`: its name in results (default: the model's)."""
    return Chats(replace(model, logprobs=None), Path(out), name or model.model, system)


def poor_answers(folder: str | os.PathLike[str]) -> tuple[int, int]:
    """Returns how many answers of a folder are blank, and how many were cut off by the limit on tokens."""
    records = list(journal_records(Path(folder) / _ANSWERS))
    blank = sum(not str(record.get("answer") or "").strip() for record in records)
    return blank, sum(record.get("finish_reason") == "length" for record in records)


def read_model_answers(path: str | os.PathLike[str], items: Iterable[Item]) -> list[ModelAnswers]:
    """Read a folder of `Chats`, or a file in FastChat's format. Raises `InputError`.

    Of a folder, only the answers to the texts of `items`; files do not say which texts were answered.
    """
    folder = Path(path)
    if not folder.is_dir():
        return list(fastchat_files.read_answers(path))
    config = folder_config(folder)
    if config.get("kind") != "answers":
        raise InputError("is not a folder of answers", path=folder)
    model = judge_of_config({"judge": config.get("model")})
    chats = Chats(model, folder, str(config.get("name")), config.get("system"))
    return [ModelAnswers(chats.name, chats.complete(items))]


def _turns(items: Iterable[Item]) -> range:
    return range(1, 1 + max((len(item.users) for item in items), default=0))


def _read_answer(_: Request, answered: Answered) -> Mapping[str, Any]:
    """Returns an answer without thoughts; nothing of one that was cut off while thinking."""
    details = answered.details or Details()
    alone = without_thoughts(answered.text).strip()
    if alone.startswith(THOUGHT_BEGIN):
        alone = ""
    problem = CUT if details.finish_reason == "length" else "empty"
    return {
        "output": answered.text,
        "answer": alone,
        "finish_reason": details.finish_reason,
        "problem": None if alone else problem,
    }
