"""Remembers what a score needs of question files besides the index, so that unchanged ones are not read.

    CACHE/questions/KEY.json      one file per folder of question files

Files are recognised as `pfgen_rs.io.known_files` says.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from pfgen_rs import _native
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.io import known_files
from pfgen_rs.metrics.helpfulness import parse_rules
from pfgen_rs.metrics.settings import Chosen, Settings, chosen_settings
from pfgen_rs.questions.about import parse_about
from pfgen_rs.questions.locate import benchmark_path, name_of
from pfgen_rs.questions.question import (
    Question,
    UnreadAnswers,
    question_paths,
    read_folder,
    read_question,
    set_question_file,
    stated_unit,
)
from pfgen_rs.questions.question_set import QuestionSet, stated_by

_VERSION = [6, _native.__version__]  # of the format, and of what decides which files are questions


class KnownQuestion(NamedTuple):
    """What is remembered of a question.

    `answers`: how many reference answers there are, by source. `file`: name of the question file. The
    others: as in the file.
    """

    id: str
    text: str
    digest: str
    answers: dict[str, int]
    file: str
    category: str
    note: str
    keywords: list[Any]
    scoring: dict[str, Any] | None
    about: dict[str, Any] | None
    models: list[str]
    makers: dict[str, list[int | None]]

    def in_folder(self, folder: Path) -> Question:
        """Returns the question, whose reference answers are read if they are asked for."""
        question = Question(
            id=self.id,
            text=self.text,
            category=self.category,
            note=self.note,
            keywords=self.keywords,
            answers=UnreadAnswers(
                self.answers, partial(_answers_in_file, folder / self.file, self.digest)
            ),
            rules=parse_rules(self.keywords),
            scoring=self.scoring,
            about=parse_about(self.about),
            models=tuple(self.models),
            makers={source: tuple(own) for source, own in self.makers.items()},
        )
        set_question_file(question, self.file, self.digest)
        return question


def _answers_in_file(path: Path, digest: str) -> Mapping[str, Sequence[str]]:
    """Read the reference answers in a question file. Raises `BenchmarkError` if it has changed."""
    question = read_question(path)
    if question.digest != digest:
        raise BenchmarkError("changed while it was in use: score again", path=path)
    return question.answers


class KnownSet(NamedTuple):
    """The questions of a folder, sorted by id, and how answers are scored.

    Reference answers are read if they are asked for.
    """

    questions: list[Question]
    metadata_hash: str
    settings: Settings


def settings_of_folder(
    folder: Path, chosen: Chosen, stated: Mapping[str, Any] | None, *, rules: bool = True
) -> Settings:
    """Returns `chosen_settings` for the question files in a folder."""
    if stated is None and not isinstance(chosen, Settings):
        chosen = {"unit": stated_unit(folder), **(chosen or {})}
    return chosen_settings(chosen, stated, rules=rules)


class KnownQuestions:
    """What is known about a folder of question files, in the states that they have now.

    Raises `BenchmarkNotFoundError` if there are none.
    """

    def __init__(self, folder: Path) -> None:
        self._now, self._place = time.time_ns(), folder
        paths = question_paths(folder)
        self._folder, self._names = paths[0].parent, [path.name for path in paths]
        self._files = known_files.file_states(self._folder, self._names)
        self._path = known_files.path_of_known("questions", self._folder)

    def found(self, chosen: Chosen) -> KnownSet | None:
        """Returns the questions, if all files are as they were when they were read.

        Only for answers in characters. `chosen`: as for `load_benchmark`, whose errors it raises.
        """
        if self._files is None:
            return None
        known = known_files.read_known(self._path, _VERSION)
        if known is None or known["files"] != self._files:
            return None
        questions = [
            KnownQuestion(*values).in_folder(self._folder) for values in known["questions"]
        ]
        rules = any(question.rules for question in questions)
        settings = settings_of_folder(self._place, chosen, questions[0].scoring, rules=rules)
        if settings.unit != "character":
            return None
        return KnownSet(questions, known["metadata_hash"], settings)

    def keep(self, benchmark: QuestionSet) -> None:
        """Remember questions that were read from these files afterwards, unless files had just changed.

        Only for answers in characters.
        """
        if self._files is None or not known_files.is_settled(self._files, self._now):
            return
        if benchmark.settings.unit != "character" or self.found(benchmark.settings) is not None:
            return
        questions = [
            KnownQuestion(
                question.id,
                question.text,
                str(question.digest),
                {source: len(answers) for source, answers in question.answers.items()},
                str(question.file),
                question.category,
                question.note,
                list(question.keywords),
                None if question.scoring is None else dict(question.scoring),
                None if question.about is None else question.about.stated(),
                list(question.models),
                {source: list(own) for source, own in question.makers.items()},
            )
            for question in benchmark
        ]
        known_files.write_known(
            self._path,
            {
                "version": _VERSION,
                "files": self._files,
                "metadata_hash": benchmark.metadata_hash,
                "questions": questions,
            },
        )


# Benchmarks that are pickled as where they are, rather than with all reference answers.


Q = TypeVar("Q", bound=QuestionSet)


class Place(NamedTuple):
    """Where a process finds a benchmark that was read from a folder, and what it must be."""

    name: str
    metadata_hash: str
    settings: Settings

    @classmethod
    def of(cls, benchmark: QuestionSet, folder: Path) -> Place:
        """Returns the place of a benchmark that was read from this folder."""
        return cls(name_of(folder.absolute()), benchmark.metadata_hash, benchmark.settings)

    def found(self, kind: type[Q]) -> Q:
        """Returns the benchmark, which a process reads once.

        Raises `BenchmarkError` if another one is there.
        """
        folder = benchmark_path(self.name).absolute()
        found = read_once(kind, folder, self.settings)
        if found.metadata_hash != self.metadata_hash:  # it may have been built again since
            _read_once.cache_clear()
            found = read_once(kind, folder, self.settings)
        if found.metadata_hash != self.metadata_hash:
            raise BenchmarkError(
                f"benchmark {self.name!r} has other questions here than where this was made "
                f"(set {found.metadata_hash[:8]}, not {self.metadata_hash[:8]}): install the same one"
            )
        return found


class Placed:
    """Stands for a benchmark in a pickle; when that is read, it is the benchmark.

    One that was not read from a folder is pickled whole.
    """

    def __init__(self, benchmark: QuestionSet) -> None:
        self._benchmark = benchmark

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle where the benchmark is."""
        benchmark, folder = self._benchmark, self._benchmark.folder
        if folder is None:
            return benchmark.__reduce__()
        return _found_there, (type(benchmark), *Place.of(benchmark, folder))


def _found_there(kind: type[Q], *place: Any) -> Q:
    return Place(*place).found(kind)


def loaded(
    kind: type[Q], name: str | os.PathLike[str] | None = None, settings: Settings | None = None
) -> Q:
    """Load a benchmark like `load_benchmark`, once per process and settings: harnesses ask repeatedly."""
    return read_once(kind, benchmark_path(name).absolute(), settings)


def read_once(kind: type[Q], folder: Path, settings: Settings | None) -> Q:
    """Returns the benchmark of a folder, which is read once per process and settings (`None`: its own)."""
    return cast("Q", _read_once(cast("Any", kind), folder, settings))


@lru_cache(maxsize=8)
def _read_once(kind: Any, folder: Path, settings: Settings | None) -> QuestionSet:
    questions, metadata_hash = read_folder(folder)
    chosen = settings_of_folder(folder, settings, stated_by(questions))
    return cast("QuestionSet", kind(questions, metadata_hash, chosen, folder))
