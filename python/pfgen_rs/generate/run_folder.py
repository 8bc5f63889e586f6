"""A run's folder in pfgen-bench's format; several processes may work in it at once.

trial_003.jsonl             a finished trial, written atomically
.trial_003.partial.jsonl    until then: one line per answer, locked by the process working on the trial
unscored.jsonl              failed tasks, and why they failed
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple, Self

from pfgen_rs.errors import GenerationError, InputError, unreadable
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.io import run_files
from pfgen_rs.io.atomic import append, remove_unfinished, write_atomic, writing_failed
from pfgen_rs.io.lines import parse_line, text_field
from pfgen_rs.io.locks import is_lock_at, let_go, lock, locked
from pfgen_rs.io.run_files import CONFIG, USAGE, partial_trial_file_name


def journal_path(trial: Path) -> Path:
    """Returns the path of the journal of an unfinished trial."""
    return trial.with_name(partial_trial_file_name(trial.name))


def journaled(trial: Path, questions: Sequence[str]) -> dict[str, bytes]:
    """Returns the lines of an unfinished trial by question, without claiming it; empty if not yet begun."""
    try:
        content = journal_path(trial).read_bytes()
    except OSError:
        return {}
    return {question: line for question, line, _ in _whole_trial_lines(content, set(questions))}


class OpenTrial:
    """A claimed trial. Created by `claim`; ended by `finish` or `release`.

    `lines`: the answers so far by question, as lines including the newline.
    """

    def __init__(self, path: Path, questions: Sequence[str], journal: IO[bytes]) -> None:
        self.path = path
        self._questions = questions
        self._journal = journal
        self.lines: dict[str, bytes] = {}
        self._size = 0

    @classmethod
    def claim(cls, path: Path, questions: Sequence[str]) -> Self | None:
        """Claim the trial in file `path`; returns `None` if it is finished or claimed by another process.

        Answers already in the journal are kept, up to the first incomplete line. Raises `OutputError`.
        """
        while not path.exists():
            try:
                journal = journal_path(path).open("a+b", buffering=0)
                if not lock(journal.fileno()):
                    journal.close()
                    return None
            except OSError as error:
                raise writing_failed(journal_path(path), error) from error
            claimed = cls(path, questions, journal)
            if claimed._is_current() and not path.exists():
                claimed._read()
                return claimed
            claimed.release()  # another process has just finished or released it
        return None

    def _is_current(self) -> bool:
        """Whether the locked journal is still the file that others would open."""
        return is_lock_at(journal_path(self.path), self._journal.fileno())

    def _read(self) -> None:
        remove_unfinished(self.path)
        self._journal.seek(0)
        for question, line, end in _whole_trial_lines(self._journal.read(), set(self._questions)):
            self.lines[question] = line
            self._size = end
        self._journal.truncate(self._size)

    @property
    def missing(self) -> list[str]:
        """The unanswered questions, in order."""
        return [question for question in self._questions if question not in self.lines]

    def add(self, question: str, answer: str) -> None:
        """Append an answer to the journal; raises `OutputError` if it cannot be written."""
        now = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
        record = {"question": question, "answer": answer, "timestamp": now}
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        self._append(line)
        self.lines[question] = line

    def _append(self, line: bytes) -> None:
        append(journal_path(self.path), self._journal, self._size, line)
        self._size += len(line)

    def finish(self) -> None:
        """Write the trial atomically, in the order of the questions, and remove the journal."""
        write_atomic(self.path, b"".join(self.lines[question] for question in self._questions))
        self.lines.clear()
        self._size = 0
        self.release()

    def release(self) -> None:
        """Give up the claim, removing an empty journal. May be called twice."""
        if self._journal.closed:
            return
        is_empty = not self._size and self._is_current()
        path = journal_path(self.path) if is_empty else None
        let_go(self._journal.fileno(), path, self._journal.close)


def _whole_trial_lines(content: bytes, questions: set[str]) -> Iterator[tuple[str, bytes, int]]:
    """Yield questions, lines and end offsets, up to the first incomplete line or unknown question."""
    end = 0
    for line in content.splitlines(keepends=True):
        try:
            question = text_field(record := parse_line(line), "question")
            text_field(record, "answer")
        except InputError:
            return
        if not line.endswith(b"\n") or question not in questions:
            return
        end += len(line)
        yield question, line, end


UNSCORED = "unscored.jsonl"


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
    return [_parse_unscored_line(line, path, n) for n, line in enumerate(lines, 1) if line.strip()]


def _parse_unscored_line(line: bytes, path: Path, number: int) -> Failure:
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


FIELDS = ("question", "answer")


class RunFolder:
    """The folder `path` of a run whose trials answer `questions`, in this order."""

    def __init__(self, path: Path, questions: Sequence[str]) -> None:
        self.path = path
        self.questions = questions

    @classmethod
    def open(cls, config: RunConfig, results: Path, questions: Sequence[str]) -> Self:
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
        for trial in folder._trials():
            # Left by a process that was killed just after finishing the trial.
            journal_path(trial).unlink(missing_ok=True)
        return folder

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
        found = Counter(_question_in_run_folder(line, trial, n) for n, line in enumerate(lines, 1))
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

    def claim(self, trial: int) -> OpenTrial | None:
        """Claim a trial; returns `None` if it is finished or claimed by another process."""
        return OpenTrial.claim(self.trial_path(trial), self.questions)

    def answers(self) -> dict[int, list[dict[str, str]]]:
        """Returns all answers so far by trial, with `question` and `answer`, without claiming anything.

        Finished trials are complete; of the others, the answers in their journals are returned.
        """
        found = {number: self._answers(number) for number in self._begun()}
        return {number: answers for number, answers in sorted(found.items()) if answers}

    def _begun(self) -> set[int]:
        """Returns the numbers of the trials that are finished or have a journal."""
        names = (path.name for path in self.path.iterdir())
        return {number for name in names if (number := run_files.trial_number(name)) is not None}

    def _answers(self, trial: int) -> list[dict[str, str]]:
        journal = journaled(self.trial_path(trial), self.questions)
        # Looked at second, because another process may just have finished the trial.
        if self.is_finished(trial):
            lines = self.trial_path(trial).read_bytes().splitlines()
        else:
            lines = list(journal.values())
        records = map(parse_line, lines)
        return [{key: text_field(record, key) for key in FIELDS} for record in records]

    def missing(self, trial: int) -> list[str]:
        """Returns the unanswered questions of a trial, without claiming it or writing anything."""
        if self.is_finished(trial):
            return []
        answered = journaled(self.trial_path(trial), self.questions)
        return [question for question in self.questions if question not in answered]

    def pack(self) -> None:
        """Write all finished trials to `trials.jsonl.xz`, unless it is up to date."""
        with locked(self.path):
            content, _ = run_files.packed_trials(self.path, len(self.questions))
            if content is not None:
                write_atomic(self.path / run_files.PACKED, content)


def _question_in_run_folder(line: bytes, trial: Path, number: int) -> str:
    try:
        return text_field(parse_line(line), "question")
    except InputError as error:
        problem = f"{error.problem}: remove the file to generate the trial again"
        raise InputError(problem, path=trial, line=number) from None
