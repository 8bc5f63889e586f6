"""Benchmarks that are pickled as where they are, rather than with all reference answers."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from pfgen_rs.errors import BenchmarkError
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.known_questions import settings_of_folder
from pfgen_rs.questions.locate import benchmark_path, name_of
from pfgen_rs.questions.question import read_folder
from pfgen_rs.questions.question_set import QuestionSet, stated_by

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
    folder = Path(os.path.abspath(benchmark_path(name)))  # noqa: PTH100 - resolve follows links
    return read_once(kind, folder, settings)


def read_once(kind: type[Q], folder: Path, settings: Settings | None) -> Q:
    """Returns the benchmark of a folder, which is read once per process and settings (`None`: its own)."""
    return cast("Q", _read_once(cast("Any", kind), folder, settings))


@lru_cache(maxsize=8)
def _read_once(kind: Any, folder: Path, settings: Settings | None) -> QuestionSet:
    questions, metadata_hash = read_folder(folder)
    chosen = settings_of_folder(folder, settings, stated_by(questions))
    return cast("QuestionSet", kind(questions, metadata_hash, chosen, folder))
