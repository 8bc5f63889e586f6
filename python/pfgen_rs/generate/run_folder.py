"""A run's folder in pfgen-bench's format; several processes may work in it at once.

journal.jsonl       the journal: one record an answer, with who gave it and what it took
trial_003.jsonl     a finished trial, written atomically once all its answers are in the journal
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from pfgen_rs.ask.journal import Journal, Key, journal_records
from pfgen_rs.errors import GenerationError, InputError, unreadable
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.io import run_files
from pfgen_rs.io.atomic import remove_abandoned, write_atomic, writing_failed
from pfgen_rs.io.lines import parse_line, text_field
from pfgen_rs.io.locks import locked
from pfgen_rs.io.text import counted

_FIELDS = ("question", "answer")


class RunFolder(Journal):
    """The folder of a run whose trials answer `questions`, in this order, and the journal of its answers.

    A trial is written to a file of its own with its last answer. `models`: those that have answered, as
    servers say.
    """

    def __init__(self, config: RunConfig, results: Path, questions: Sequence[str]) -> None:
        self.folder, self.questions = config.folder(results), questions
        super().__init__(self.folder / run_files.ANSWERS, ("trial", "question"), self._noted_answer)
        self._config = f"{config.to_json()}\n".encode()
        self.models: set[str] = set()
        self._answers: defaultdict[int, dict[str, Mapping[str, Any]]] = defaultdict(dict)

    def prepare(self) -> None:
        """Create the folder, or check that an existing one can be continued, and read it.

        Raises `GenerationError` if it belongs to another configuration or other questions, `InputError` if
        packing would lose answers, and `OutputError`.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise writing_failed(self.folder, error) from error
        with locked(self.folder):
            for temporary in self.folder.glob(".*.tmp"):
                remove_abandoned(temporary)
            self._write_config()
            for trial in sorted(self.folder.iterdir()):
                if run_files.is_trial_file(trial.name):
                    self._check(trial)
            run_files.packed_trials(self.folder, len(self.questions))
        self.look()
        self.finish_trials()

    def _noted_answer(self, record: Mapping[str, Any]) -> None:
        trial, question = record.get("trial"), record.get("question")
        if type(trial) is not int or not isinstance(record.get("answer"), str):
            problem = "is not the record of an answer: remove the line to ask for it again"
            raise InputError(problem, path=self.path, line=self._lines + 1)
        self._answers[trial][str(question)] = record
        if isinstance(record.get("served"), str):
            self.models.add(record["served"])

    def _write_config(self) -> None:
        path = self.folder / run_files.CONFIG
        try:
            old = path.read_bytes()
        except FileNotFoundError:
            write_atomic(path, self._config)
            return
        except OSError as error:
            raise InputError(unreadable(error), path=path) from error
        if old != self._config:
            raise GenerationError(
                f"{path}: does not match the configuration that its folder is named after: restore it, or "
                "use another results folder"
            )

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
        return self.folder / run_files.trial_file_name(trial)

    def is_finished(self, trial: int) -> bool:
        """Whether a trial is finished."""
        return self.trial_path(trial).exists()

    def __contains__(self, key: Key) -> bool:
        """Whether a question of a trial is answered."""
        return super().__contains__(key) or self.is_finished(key[0])

    def add(self, record: Mapping[str, Any]) -> bool:
        """Append an answer, and write its trial if it is the last one."""
        added = super().add(record)
        self._finish(record["trial"])
        return added

    def finish_trials(self) -> None:
        """Write all trials whose answers are complete."""
        for trial in list(self._answers):
            self._finish(trial)

    def _finish(self, trial: int) -> None:
        records = self._answers[trial]
        if len(records) < len(self.questions):
            return
        if not self.is_finished(trial):
            lines = (_published(records[question]) for question in self.questions)
            write_atomic(self.trial_path(trial), "".join(lines).encode())
        del self._answers[trial]

    def answers(self) -> dict[int, list[dict[str, str]]]:
        """Returns all answers so far by trial, with `question` and `answer`, without claiming anything."""
        self.look()
        numbers = (run_files.trial_number(path.name) for path in self.folder.iterdir())
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
        with locked(self.folder):
            content, _ = run_files.packed_trials(self.folder, len(self.questions))
            if content is not None:
                write_atomic(self.folder / run_files.PACKED, content)


def _published(record: Mapping[str, Any]) -> str:
    kept = {key: record.get(key) for key in (*_FIELDS, "timestamp")}
    with suppress(KeyError, TypeError, ValueError):  # a record that somebody else wrote
        time = datetime.fromisoformat(record["timestamp"]).replace(tzinfo=None)
        kept["timestamp"] = time.isoformat(timespec="microseconds")
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
    records = journal_records(folder / run_files.ANSWERS)
    reasons = [record.get("finish_reason") for record in records]
    cut, known = reasons.count("length"), sum(reason is not None for reason in reasons)
    if not cut:
        return None
    return f"{cut:,} of {counted(known, 'answer')} ended by the token limit (--max-tokens)"
