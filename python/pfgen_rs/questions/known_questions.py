"""Remembers what a score needs of question files besides the index, so that unchanged ones are not read.

    CACHE/questions/KEY.json      one file per folder of question files

Files are recognised as `pfgen_rs.io.known_files` says.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pfgen_rs import _native
from pfgen_rs.io.known_files import (
    file_states,
    is_settled,
    path_of_known,
    read_known,
    write_known,
)
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.files import question_paths

if TYPE_CHECKING:
    from pfgen_rs.questions.question_set import QuestionSet

__all__ = ["KnownQuestion", "KnownQuestions", "KnownSet"]

_VERSION = [1, _native.__version__]  # of the format, and of what decides which files are questions


class KnownQuestion(NamedTuple):
    """What is remembered of a question.

    `answers`: how many reference answers there are, by source. `rules`: as in `Helpfulness.definition`.
    """

    id: str
    text: str
    digest: str
    answers: dict[str, int]
    rules: Sequence[Any]

    @property
    def sources(self) -> list[str]:
        """Names of the sources in the file's order."""
        return list(self.answers)

    def native_rules(self) -> _native.Rules:
        """Returns its keyword rules for native code, for answers in characters."""
        literals, others, rules = self.rules
        steps = [(importance, [(kind, n) for kind, n in steps]) for importance, steps in rules]
        return _native.Rules(_native.Texts(literals), others, steps)


@dataclass(frozen=True)
class KnownSet:
    """The questions of a folder, sorted by id, and how answers are scored."""

    questions: list[KnownQuestion]
    metadata_hash: str
    settings: Settings

    def __len__(self) -> int:
        """Count the questions."""
        return len(self.questions)

    def __iter__(self) -> Iterator[KnownQuestion]:
        """Iterate over the questions."""
        return iter(self.questions)

    @cached_property
    def sources(self) -> list[str]:
        """All sources, in the order of their first appearance."""
        return list(dict.fromkeys(source for question in self for source in question.sources))


class KnownQuestions:
    """What is known about a folder of question files, in the states that they have now.

    Raises `BenchmarkNotFoundError` if there are none.
    """

    def __init__(self, folder: Path) -> None:
        self._now = time.time_ns()
        paths = question_paths(folder)
        self._files = file_states(paths[0].parent, [path.name for path in paths])
        self._path = path_of_known("questions", paths[0].parent)

    def found(self, settings: Settings) -> KnownSet | None:
        """Returns the questions, if all files are as they were when they were read."""
        known = None if self._files is None else read_known(self._path, _VERSION)
        if known is None or known["files"] != self._files:
            return None
        questions = [KnownQuestion(*values) for values in known["questions"]]
        return KnownSet(questions, known["metadata_hash"], settings)

    def keep(self, benchmark: QuestionSet) -> None:
        """Remember questions that were read from these files afterwards, unless files had just changed.

        Only for answers in characters.
        """
        if self._files is None or not is_settled(self._files, self._now):
            return
        if benchmark.settings.unit != "character" or self.found(benchmark.settings) is not None:
            return
        questions = [
            KnownQuestion(
                question.id,
                question.text,
                str(question.digest),
                {source: len(answers) for source, answers in question.answers.items()},
                benchmark.helpfulness(question).definition,
            )
            for question in benchmark
        ]
        write_known(
            self._path,
            {
                "version": _VERSION,
                "files": self._files,
                "metadata_hash": benchmark.metadata_hash,
                "questions": questions,
            },
        )
