"""Checkouts of pfgen-bench: finds their runs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pfgen_rs.checkout.published import KnownRuns
from pfgen_rs.errors import BenchmarkError, BenchmarkNotFoundError
from pfgen_rs.io import run_files
from pfgen_rs.io.atomic import remove_abandoned
from pfgen_rs.io.known_files import file_states, is_settled
from pfgen_rs.io.run_files import CONFIG, EXAMPLES, README, RESPONSES, RESULT
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.question import (
    combined_digest,
    file_digest,
    question_paths,
    read_question_file,
)

DATA, RUNS = "data", "result"
_OWN = {CONFIG, RESULT, README, EXAMPLES, *RESPONSES}


@dataclass(frozen=True)
class Run:
    """A run: its folder, its path within the checkout with slashes, and the files that its state is of."""

    folder: Path
    name: str
    files: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def responses(self) -> Path | None:
        """The file of responses, or `None`."""
        names = (EXAMPLES,) if self.name == DATA else RESPONSES
        return next((self.folder / name for name in names if (self.folder / name).is_file()), None)


@dataclass(frozen=True)
class Checkout:
    """A checkout: its runs, the hash and number of its question files, and what earlier reports found.

    `as_published`: whether hashes alone decide what is stale (`staleness`).
    """

    folder: Path
    runs: list[Run]
    metadata_hash: str
    questions: int
    known: KnownRuns = field(repr=False)
    as_published: bool = False

    @property
    def readme(self) -> Path:
        """The file with the leaderboard."""
        return self.folder / README

    @property
    def data(self) -> Path:
        """The folder of the questions."""
        return self.folder / DATA

    @cached_property
    def signature(self) -> str | None:
        """The signature of results; `None` with the published settings, and where questions are invalid."""
        from pfgen_rs.benchmark import load_for_scores  # slow to import, and often not needed

        try:
            benchmark = load_for_scores(self.data)
        except BenchmarkError:  # which scoring reports
            return None
        return None if benchmark.settings == Settings() else benchmark.signature


def open_checkout(folder: str | os.PathLike[str], *, as_published: bool = False) -> Checkout:
    """Find runs, digest question files, and remove temporary files of a report that was killed.

    `as_published`: let hashes alone decide what is stale. Raises `BenchmarkNotFoundError` if the folder is
    not a checkout, and `BenchmarkError` for a question file that cannot be read.
    """
    place = Path(folder)
    runs = find_runs(place)
    paths = question_paths(place / DATA)
    known = KnownRuns(place, as_published=as_published)
    metadata_hash = _metadata_hash(paths, known)
    remove_unfinished(place)
    return Checkout(place, runs, metadata_hash, len(paths), known, as_published)


def _metadata_hash(paths: Sequence[Path], known: KnownRuns) -> str:
    now = time.time_ns()
    files = file_states(paths[0].parent, [path.name for path in paths])
    found = None if files is None else known.metadata_hash(files)
    if found is None:
        found = combined_digest(file_digest(read_question_file(path)) for path in paths)
        if files is not None and is_settled(files, now):
            known.keep_questions(files, found)
    return found


def is_checkout(place: Path) -> bool:
    """Whether a folder looks like a checkout of pfgen-bench, with questions and results."""
    return (place / DATA).is_dir() and (place / RUNS).is_dir()


def find_runs(folder: str | os.PathLike[str]) -> list[Run]:
    """Returns the runs of a checkout by name. Raises `BenchmarkNotFoundError` if it is not a checkout."""
    place = Path(folder)
    if not place.is_dir():
        raise BenchmarkNotFoundError("not a directory", path=place)
    try:
        question_paths(place / DATA)
    except BenchmarkNotFoundError:
        raise BenchmarkNotFoundError(
            "not a checkout of pfgen-bench: no question files data/Q*.json", path=place
        ) from None
    return sorted(_runs(place), key=lambda run: run.name)


def _runs(checkout: Path) -> Iterator[Run]:
    for top in (RUNS, DATA):
        for folder, _, names in os.walk(checkout / top):
            own = tuple(sorted(filter(_concerns, names)))
            run = Run(Path(folder), Path(folder).relative_to(checkout).as_posix(), own)
            if _is_run(run, names):
                yield run


def _is_run(run: Run, names: list[str]) -> bool:
    if run.name == DATA:
        return CONFIG in names or RESULT in names
    return any(
        name == RESULT or name in RESPONSES or run_files.is_trial_file(name) for name in names
    )


def _concerns(name: str) -> bool:
    return name in _OWN or run_files.is_trial_file(name) or is_unfinished(name)


# Files of a checkout: written atomically, and only if their content changes.


_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")


def write_changed(path: Path, content: bytes) -> bool:
    """Write a file unless it already has this content. Returns whether it was written."""
    try:
        if path.read_bytes() == content:
            return False
    except OSError:
        pass  # not there, or no file: writing tells
    from pfgen_rs.io.atomic import write_atomic

    write_atomic(path, content)
    return True


def is_unfinished(name: str) -> bool:
    """Whether this is the name of a temporary file of `write_changed`."""
    return _UNFINISHED.fullmatch(name) is not None


def remove_unfinished(folder: Path) -> None:
    """Remove temporary files that a killed `write_changed` has left, and none that is being written."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_unfinished(entry.name):
                remove_abandoned(entry.path)
