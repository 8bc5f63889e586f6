"""A run's folder in pfgen-bench's format; several processes may work in it at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pfgen_rs.errors import GenerationError, InputError, unreadable
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.generate.open_trial import OpenTrial, journal_path, journaled
from pfgen_rs.generate.unscored import UNSCORED
from pfgen_rs.io import remove_unfinished, run_files, write_atomic, writing_failed
from pfgen_rs.io.locks import locked
from pfgen_rs.io.records import parse_line, text_field
from pfgen_rs.io.run_files import CONFIG, USAGE

__all__ = ["RunFolder"]

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
