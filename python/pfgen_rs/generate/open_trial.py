"""A trial in progress: its answers so far, in a journal file whose lock claims the trial.

trial_003.jsonl             the finished trial, written atomically
.trial_003.partial.jsonl    until then: one line per answer, locked by the process working on the trial
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Self

from pfgen_rs.errors import InputError
from pfgen_rs.io import remove_unfinished, write_atomic, writing_failed
from pfgen_rs.io.atomic import append
from pfgen_rs.io.locks import is_lock_at, let_go, lock
from pfgen_rs.io.records import parse_line, text_field
from pfgen_rs.io.run_files import partial_trial_file_name

__all__ = ["OpenTrial", "journal_path", "journaled"]


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
