"""Answers of people and batch APIs, read from a file; and the tasks for them."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pfgen_rs.ask import Answered, Details, Outcome, Parameters, Task, wire
from pfgen_rs.ask.engines import command, engine
from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.layouts import named
from pfgen_rs.io.layouts.batches import batch_output
from pfgen_rs.io.lines import parse_line, text_field

Key = tuple[int, str]


@engine("manual")
class AnswersFile:
    """Reads answers from JSON lines with `question`, `trial` and `answer`, or outputs of a batch API.

    Other keys are ignored.

    `blank`: the number of answers that are empty or only white space, and of failed requests. Tasks without
    an answer, or with a blank one, stay open. Raises `InputError`, naming the file and line.
    """

    name = "manual"
    rolling = True  # a task without an answer holds up no other
    abilities = frozenset({"completion", "chat"})

    def __init__(self, model: str, path: str | os.PathLike[str]) -> None:
        self.model = model
        self._answers, self.blank = _read(Path(path))

    @property
    def unused(self) -> list[Key]:
        """Trial and question of the answers not used so far, in the order of the file."""
        return list(self._answers)

    def generate(self, tasks: Iterable[Task | None], _parameters: Parameters) -> Iterator[Outcome]:
        """Yield the answers found in the file."""
        for task in iter(tasks):
            if task is None:
                return
            found = self._answers.pop((task.trial, task.question), None)
            if found is not None:
                yield Answered(task, *found)

    def close(self) -> None:
        """Do nothing: no resources are held."""


def _read(path: Path) -> tuple[dict[Key, tuple[str, Details | None]], int]:
    """Returns the answers with what else is known of them, and the number of blank ones."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    answers: dict[Key, tuple[str, Details | None]] = {}
    blank = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = parse_line(line)
            output = batch_output(record)
            if output is not None and output[1] is None:
                blank += 1
                continue
            key, answer = _parsed(record if output is None else _answered(*output))
            if key in answers:
                raise InputError(f"duplicate answer in trial {key[0]}, question {key[1]!r}")
        except InputError as error:
            raise InputError(error.problem, path=path, line=number) from None
        if answer.strip():
            answers[key] = answer, None if output is None else _details_of_response(record)
        else:
            blank += 1
    return answers, blank


def _answered(custom_id: str, answer: str | None) -> Mapping[str, Any]:
    trial, question = named(custom_id)
    return {**({} if trial is None else {"trial": trial}), "question": question, "answer": answer}


def _details_of_response(record: Mapping[str, Any]) -> Details | None:
    if "response" not in record:
        return None
    body = record["response"]["body"]
    return wire.served_by(body, body["choices"][0])


def _parsed(record: Mapping[str, Any]) -> tuple[Key, str]:
    trial = record.get("trial")
    if type(trial) is not int:
        advice = ""
        if "trial" not in record:
            advice = ": expected the keys question, trial and answer, or a custom_id TRIAL/QUESTION"
        raise InputError(f"'trial' must be an integer, not {trial!r:.60}{advice}")
    return (trial, text_field(record, "question")), text_field(record, "answer")


def task_lines(tasks: Iterable[Task], parameters: Parameters) -> str:
    """Returns tasks as JSON lines, numbered from 1.

    `custom_id` is that of requests of batch APIs, whose outputs are imported by it.
    """
    lines = []
    for number, task in enumerate(tasks, 1):
        name = json.dumps(f"{task.trial}/{task.question}", ensure_ascii=False)
        lines.append(f'{command.task_line(number, task, parameters)[:-1]}, "custom_id": {name}}}\n')
    return "".join(lines)
