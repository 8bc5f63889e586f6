"""Layouts of records: where the question is in one, and where the answer, recognised by its keys.

A module adds a layout to `LAYOUTS`; another package does so by an entry point of the group
`pfgen_rs.layouts`. `recognised` finds the one of a file by a first record, and `exchanges` reads records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pfgen_rs.errors import InputError
from pfgen_rs.io.messages import Spoken, exchange, is_chat, spoken
from pfgen_rs.io.text import counted, plural
from pfgen_rs.registry import Registry

QUESTIONS = ("question", "prompt", "instruction", "input", "query")
"""What a question is called, as far as records are recognised."""
ANSWERS = (
    "answer",
    "response",
    "output",
    "completion",
    "generated_text",
    "generation",
    "prediction",
)
"""What an answer is called."""
_EXACT = frozenset({"question", "custom_id"})
_ID = re.compile(r"(0|[1-9][0-9]{0,8})/(.+)", re.DOTALL)
_ADVICE = "with --{0}-field (in Python: {0}_field=)"

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Layout:
    """How records of one kind are read.

    `title`: its name in messages. `find`: returns the paths of question and answer in a record of this
    layout, `None` for others; raises `InputError` if several fields could be meant. `refused`: says why a
    record has no answer. `is_general`: whether it gives way to other layouts with the same keys. `is_joined`:
    whether questions stand in another file, of requests, under the same `custom_id`. `same`: a key whose
    value is the same in all records, since others repeat the answers.
    """

    title: str
    find: Callable[[Record], tuple[str, str] | None]
    refused: Callable[[Record], str | None] = lambda _: None
    is_general: bool = False
    is_joined: bool = False
    same: str | None = None


LAYOUTS: Registry[Layout] = Registry("layout", "pfgen_rs.io.layouts", "pfgen_rs.layouts")
_CHOSEN = "fields"


@dataclass(frozen=True)
class ReadAs:
    """What a file was read as: a layout, and the paths of question and answer.

    `layout`: its name. `prompts`: number of questions that are prompts with a question in them; `several`:
    those with several, of which the last counts. `reasoned`: number of answers from which reasoning was left
    out. `requests`: the file with the questions. `is_flat`: whether both are texts under a key each, rather
    than within something, and records are read as they are.
    """

    layout: str
    question: str
    answer: str
    prompts: int = 0
    several: int = 0
    reasoned: int = 0
    requests: str | None = None
    is_flat: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether questions and answers are under the names that pfgen-bench gives them."""
        return (self.question, self.answer) == ("question", "answer")

    @property
    def advice(self) -> str:
        """What to do about questions that are unknown, if that is known."""
        if self.question != "custom_id" or self.requests is not None:
            return ""
        return (
            "the custom_id of this output is not a question of the benchmark: name the requests of the batch "
            "with --requests (in Python: requests=)"
        )

    @property
    def is_told(self) -> bool:
        """Whether users should know, since it is not what they chose, or pfgen-bench's."""
        is_own = self.is_plain or self.layout == _CHOSEN
        return not is_own or bool(self.prompts or self.reasoned)

    @property
    def asks_prompts(self) -> bool:
        """Whether a question may be a prompt that contains one."""
        return self.requests is not None or self.question.split(".")[-1] not in _EXACT

    def counting(self, prompts: int, several: int, reasoned: int) -> ReadAs:
        """Returns it with these numbers."""
        return replace(self, prompts=prompts, several=several, reasoned=reasoned)

    def __str__(self) -> str:
        """Say what was recognised, in one line."""
        asked = self.question if self.requests is None else f"the requests in {self.requests}"
        said = f"read as {LAYOUTS.get(self.layout).title}: question from {asked}, answer from {self.answer}"
        if self.prompts:
            verb = plural(self.prompts, "contains", "contain")
            said += f"; {counted(self.prompts, 'prompt')} {verb} a question"
        if self.several:
            said += f", {self.several:,} of them several, of which the last counts"
        if self.reasoned:
            said += f"; reasoning left out of {counted(self.reasoned, 'answer')}"
        return said


PLAIN = ReadAs("pfgen", "question", "answer")


class Exchange(NamedTuple):
    """A question with an answer, and whether reasoning was left out."""

    question: str
    answer: str
    reasoned: bool = False


def recognised(
    record: Record, layout: str | None, fields: tuple[str | None, str | None]
) -> ReadAs | None:
    """Returns how records like this one are read, or `None` if that is unknown.

    `layout`: the name of the one to try. `fields`: paths of question and answer that are chosen. Raises
    `InputError` for a record that could be read in several ways.
    """
    question, answer = fields
    if layout is None and question is not None and answer is not None:
        return ReadAs(_CHOSEN, question, answer)
    if layout is None and fields == (None, None) and is_plain(record):
        return PLAIN
    found = _found(_without(record, fields), layout)
    if found is None:
        return None
    return replace(found, question=question or found.question, answer=answer or found.answer)


def _found(record: Record, name: str | None) -> ReadAs | None:
    if name is not None:
        layout = LAYOUTS.get(name)
        paths = layout.find(record)
        if paths is None:
            keys = ", ".join(map(repr, record)) or "nothing"
            advice = "leave out --as (in Python: layout=) to have it recognised"
            raise InputError(
                f"is not of the layout {name} ({layout.title}): found {keys}; {advice}"
            )
        return ReadAs(name, *paths)
    found = {
        name: ReadAs(name, *paths)
        for name, layout in LAYOUTS.usable().items()
        if (paths := layout.find(record)) is not None
    }
    special = [each for name, each in found.items() if not LAYOUTS.get(name).is_general]
    could = special or list(found.values())
    if len({(each.question, each.answer) for each in could}) > 1:
        titles = " or ".join(f"{LAYOUTS.get(each.layout).title} ({each.layout})" for each in could)
        raise InputError(f"could be {titles}: choose one with --as (in Python: layout=)")
    return could[0] if could else None


def _without(record: Record, fields: tuple[str | None, str | None]) -> Record:
    """Returns a record in which nothing competes with the chosen fields."""
    if fields == (None, None):
        return record
    kept = dict(record)
    for chosen, names, stands in zip(
        fields, (QUESTIONS, ANSWERS), ("question", "answer"), strict=True
    ):
        if chosen is not None:
            kept = {key: value for key, value in kept.items() if key not in names}
            kept[stands] = "text"
    return kept


def is_plain(keys: Sequence[str] | Record) -> bool:
    """Whether a record is plainly one of pfgen-bench's: a question, an answer, and no other answer."""
    return "question" in keys and [key for key in ANSWERS if key in keys] == ["answer"]


def _pfgen(record: Record) -> tuple[str, str] | None:
    return ("question", "answer") if "question" in record and "answer" in record else None


LAYOUTS.add("pfgen", Layout("pfgen-bench trials", _pfgen, is_general=True))
LAYOUTS.add(_CHOSEN, Layout("chosen fields", lambda _: None))


def only(kind: str, names: Sequence[str]) -> str | None:
    """Returns the one name of a `kind` of field, `None` if there is none. Raises `InputError` for several."""
    if len(names) > 1:
        could = " or ".join(map(repr, names))
        raise InputError(f"the {kind} could be {could}: choose one {_ADVICE.format(kind)}")
    return names[0] if names else None


def at(record: Any, path: str) -> Any:
    """Returns the value at a path of keys and indices, such as `choices.0.message.content`.

    A key that contains dots is found, too. Raises `KeyError` with the part that is missing.
    """
    if isinstance(record, Mapping) and path in record:
        return record[path]
    value = record
    for part in path.split("."):
        is_index = isinstance(value, Sequence) and not isinstance(value, str) and part.isdecimal()
        if is_index and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, Mapping) and part in value:
            value = value[part]
        else:
            raise KeyError(part)
    return value


def has(record: Any, path: str) -> bool:
    """Whether there is a value other than null at a path."""
    try:
        return at(record, path) is not None
    except KeyError:
        return False


def exchanges(
    record: Record, read_as: ReadAs, questions: Mapping[str, str] | None
) -> Iterator[Exchange]:
    """Yield the question of a record with each of its answers. Raises `InputError`.

    `questions`: those of requests by `custom_id`.
    """
    if (why := LAYOUTS.get(read_as.layout).refused(record)) is not None:
        raise InputError(why)
    answers = _value(record, read_as.answer, "answer")
    if read_as.question == read_as.answer and (
        isinstance(answers, list) or read_as.layout != _CHOSEN
    ):
        if not is_chat(answers):
            raise InputError(f"{read_as.answer!r} must be a list of messages")
        asked, answer = exchange(answers)
        yield Exchange(asked.text, answer.text, answer.reasoned)
        return
    question = _asked(record, read_as, questions)
    for answer in _answers(answers, read_as.answer):
        yield Exchange(question, answer.text, answer.reasoned)


def _asked(record: Record, read_as: ReadAs, questions: Mapping[str, str] | None) -> str:
    found = _value(record, read_as.question, "question")
    if questions is None:
        text = _of(found, read_as.question, "user").text
        return named(text)[1] if read_as.question == "custom_id" else text
    if found not in questions:
        raise InputError(f"no request in {read_as.requests} has the custom_id {found!r:.80}")
    return questions[found]


def named(custom_id: str) -> tuple[int | None, str]:
    """Returns the trial and the question that a `custom_id` of this package's requests names."""
    match = _ID.fullmatch(custom_id)
    return (None, custom_id) if match is None else (int(match[1]), match[2])


def _value(record: Record, path: str, kind: str) -> Any:
    try:
        return at(record, path)
    except KeyError as error:
        keys = ", ".join(map(repr, record)) or "nothing"
        part = "" if "." not in path else f" (there is no {error.args[0]!r})"
        problem = f"missing key {path!r}{part}: found {keys}; choose another {_ADVICE.format(kind)}"
        raise InputError(problem) from None


def _answers(value: Any, path: str) -> Iterator[Spoken]:
    """Yield the answers: one text, or lists of them, as harnesses write repeated ones."""
    if isinstance(value, list) and value and not is_chat(value):
        for each in value:
            yield from _answers(each, path)
        return
    if value is None:
        raise InputError(f"{path!r} must be text, not null")
    yield _of(value, path, "assistant")


def _of(value: Any, path: str, role: str) -> Spoken:
    if isinstance(value, int | float):
        raise InputError(f"{path!r} must be text, not {value}: only generated text can be scored")
    try:
        return spoken(value, role)
    except InputError as error:
        raise InputError(f"{path!r}: {error.problem}") from None
