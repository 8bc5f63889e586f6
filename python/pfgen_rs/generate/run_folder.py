"""A run's folder in pfgen-bench's format; several processes may work in it at once.

journal.jsonl       the journal: one record an answer, with who gave it and what it took
trial_003.jsonl     a finished trial, written atomically once all its answers are in the journal
unscored.jsonl      failed tasks, and why they failed
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from pfgen_rs.ask.journal import Journal, journal_records
from pfgen_rs.errors import GenerationError, InputError, unreadable
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.io import run_files
from pfgen_rs.io.atomic import remove_unfinished, write_atomic, writing_failed
from pfgen_rs.io.lines import parse_line, text_field
from pfgen_rs.io.locks import locked
from pfgen_rs.io.run_files import ANSWERS, CONFIG, USAGE
from pfgen_rs.io.text import counted

UNSCORED = "unscored.jsonl"
_FIELDS = ("question", "answer")


class Failure(NamedTuple):
    """A question left unanswered in a trial, and the reason."""

    question: str
    trial: int
    reason: str


def read_failures(folder: Path) -> list[Failure]:
    """Read all failures, sorted by trial; raises `InputError` if the file is invalid."""
    path = folder / UNSCORED
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    return [_failure(line, path, n) for n, line in enumerate(lines, 1) if line.strip()]


def _failure(line: bytes, path: Path, number: int) -> Failure:
    try:
        record = parse_line(line)
        trial = record.get("trial")
        if type(trial) is not int:
            raise InputError("'trial' must be an integer")
        return Failure(text_field(record, "question"), trial, text_field(record, "reason"))
    except InputError as error:
        problem = f"{error.problem}: remove the file to retry all failed tasks"
        raise InputError(problem, path=path, line=number) from None


def record_failures(folder: Path, trial: int, reasons: Mapping[str, str]) -> None:
    """Replace the failures of a trial (reasons by question), removing the file if no failures remain.

    Safe to call from several processes at once. Raises `OutputError`.
    """
    with locked(folder):
        old = read_failures(folder)
        new = [Failure(question, trial, reason) for question, reason in reasons.items()]
        kept = sorted([f for f in old if f.trial != trial] + new, key=lambda f: f.trial)
        if kept == old:
            return
        if not kept:
            (folder / UNSCORED).unlink()
            return
        lines = (json.dumps(f._asdict(), ensure_ascii=False) + "\n" for f in kept)
        # What servers say of an error may name accounts, and quotes what they were sent.
        write_atomic(folder / UNSCORED, "".join(lines).encode(), private=True)


class RunFolder:
    """The folder `path` of a run whose trials answer `questions`, in this order.

    Answers go to the journal `journal.jsonl`, trials to files of their own once all questions are answered.
    A process claims whole trials. `models`: those that have answered, according to servers.
    """

    def __init__(self, path: Path, questions: Sequence[str]) -> None:
        self.path = path
        self.questions = questions
        self.models: set[str] = set()
        self._answers: defaultdict[int, dict[str, Mapping[str, Any]]] = defaultdict(dict)
        self._journal = Journal(path / ANSWERS, ("trial", "question"), self._note)
        self._open = ExitStack()  # of the journal, once there is something to claim

    @classmethod
    @contextmanager
    def opened(cls, config: RunConfig, results: Path, questions: Sequence[str]) -> Iterator[Self]:
        """Create the folder, or check that an existing one can be continued.

        Raises `GenerationError` if it belongs to another configuration or other questions, `InputError` if
        packing would lose answers, and `OutputError`.
        """
        folder = cls(config.folder(results), questions)
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise writing_failed(folder.path, error) from error
        with locked(folder.path):
            for name in (CONFIG, UNSCORED, USAGE, run_files.PACKED):
                remove_unfinished(folder.path / name)
            folder._write_config(f"{config.to_json()}\n".encode())
            for trial in folder._trials():
                folder._check(trial)
            run_files.packed_trials(folder.path, len(questions))
        folder._look()
        with folder._open:
            yield folder

    @classmethod
    def seen(cls, config: RunConfig, results: Path, questions: Sequence[str]) -> Self:
        """Returns a folder as it is now, which need not exist and is only looked at."""
        folder = cls(config.folder(results), questions)
        folder._look()
        return folder

    def _look(self) -> None:
        """Read the journal without opening it: a finished run may be in a folder that is only read."""
        for record in journal_records(self._journal.path):
            self._note(record)

    def _note(self, record: Mapping[str, Any]) -> None:
        trial, question = record.get("trial"), record.get("question")
        if type(trial) is int and isinstance(record.get("answer"), str):
            self._answers[trial][str(question)] = record
        if isinstance(record.get("served"), str):
            self.models.add(record["served"])

    def _write_config(self, content: bytes) -> None:
        path = self.path / CONFIG
        try:
            old = path.read_bytes()
        except FileNotFoundError:
            write_atomic(path, content)
            return
        except OSError as error:
            raise InputError(unreadable(error), path=path) from error
        if old != content:
            raise GenerationError(
                f"{path}: does not match the configuration that its folder is named after: restore it, or "
                "use another results folder"
            )

    def _trials(self) -> list[Path]:
        return sorted(path for path in self.path.iterdir() if run_files.is_trial_file(path.name))

    def _check(self, trial: Path) -> None:
        try:
            lines = trial.read_bytes().splitlines()
        except OSError as error:
            raise InputError(unreadable(error), path=trial) from error
        found = Counter(_question(line, trial, n) for n, line in enumerate(lines, 1))
        if found != Counter(self.questions):
            raise GenerationError(
                f"{trial}: does not answer each of the {len(self.questions)} questions once: remove it to "
                "generate the trial again, or use another results folder"
            )

    def trial_path(self, trial: int) -> Path:
        """Returns the path of a finished trial."""
        return self.path / run_files.trial_file_name(trial)

    def is_finished(self, trial: int) -> bool:
        """Whether a trial is finished."""
        return self.trial_path(trial).exists()

    def claim(self, trial: int) -> bool:
        """Claim a trial; returns false if it is finished or claimed by another process."""
        if self.is_finished(trial):
            return False
        if not self._journal.is_open:
            self._open.enter_context(self._journal)
        if not self._journal.claim((trial,)):
            return False
        self._journal.refresh()
        if self.is_finished(trial):  # by the process that has just released it
            self.release(trial)
            return False
        remove_unfinished(self.trial_path(trial))
        return True

    def release(self, trial: int) -> None:
        """Give up the claim on a trial."""
        self._journal.release((trial,))

    def missing(self, trial: int) -> list[str]:
        """Returns the unanswered questions of a trial, in order."""
        if self.is_finished(trial):
            return []
        answered = self._answers.get(trial, {})
        return [question for question in self.questions if question not in answered]

    def add(self, trial: int, question: str, answer: str, about: Mapping[str, Any]) -> None:
        """Append an answer to the journal, with what else is known; raises `OutputError`."""
        now = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
        record = {"trial": trial, "question": question, "answer": answer, "timestamp": now}
        if not self._journal.add({**record, **about}) and question in self.missing(trial):
            raise InputError(
                f"has a record of trial {trial} without an answer: remove its line",
                path=self._journal.path,
                question=question,
            )

    def finish(self, trial: int) -> None:
        """Write a trial whose questions are all answered, in their order. Raises `OutputError`."""
        records = self._answers[trial]
        lines = (_published(records[question]) for question in self.questions)
        write_atomic(self.trial_path(trial), "".join(lines).encode())
        del self._answers[trial]

    def answers(self) -> dict[int, list[dict[str, str]]]:
        """Returns all answers so far by trial, with `question` and `answer`, without claiming anything."""
        if self._journal.is_open:
            self._journal.refresh()
        numbers = (run_files.trial_number(path.name) for path in self.path.iterdir())
        begun = {*self._answers, *(number for number in numbers if number is not None)}
        found = {number: self._answers_of(number) for number in sorted(begun)}
        return {number: answers for number, answers in found.items() if answers}

    def _answers_of(self, trial: int) -> list[dict[str, str]]:
        if self.is_finished(trial):
            lines = self.trial_path(trial).read_bytes().splitlines()
            records: list[Mapping[str, Any]] = [parse_line(line) for line in lines]
        else:
            answered = self._answers[trial]
            records = [answered[question] for question in self.questions if question in answered]
        return [{key: text_field(record, key) for key in _FIELDS} for record in records]

    def pack(self) -> None:
        """Write all finished trials to `trials.jsonl.xz`, unless it is up to date."""
        with locked(self.path):
            content, _ = run_files.packed_trials(self.path, len(self.questions))
            if content is not None:
                write_atomic(self.path / run_files.PACKED, content)


def _published(record: Mapping[str, Any]) -> str:
    kept = {key: record.get(key) for key in (*_FIELDS, "timestamp")}
    return json.dumps(kept, ensure_ascii=False) + "\n"


def _question(line: bytes, trial: Path, number: int) -> str:
    try:
        return text_field(parse_line(line), "question")
    except InputError as error:
        problem = f"{error.problem}: remove the file to generate the trial again"
        raise InputError(problem, path=trial, line=number) from None


def cut_note(folder: Path) -> str | None:
    """Returns a remark on answers that the token limit ended, as far as servers said; or `None`.

    Raises `InputError` if the journal cannot be read.
    """
    reasons = [record.get("finish_reason") for record in journal_records(folder / ANSWERS)]
    cut, known = reasons.count("length"), sum(reason is not None for reason in reasons)
    if not cut:
        return None
    return f"{cut:,} of {counted(known, 'answer')} ended by the token limit (--max-tokens)"
