"""Checkouts of pfgen-bench: finds runs, and what is stale about them.

Compares digests only, so a checkout that is up to date is done at once.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pfgen_rs.checkout.files import is_unfinished, remove_unfinished
from pfgen_rs.checkout.known_runs import KnownRuns
from pfgen_rs.checkout.published import Published, digest_line, read_published
from pfgen_rs.errors import (
    BenchmarkError,
    BenchmarkNotFoundError,
    InputError,
    PfgenError,
    unreadable,
)
from pfgen_rs.io import run_files
from pfgen_rs.io.known_files import Files, file_states, is_settled
from pfgen_rs.io.run_files import CONFIG, EXAMPLES, README, RESPONSES, RESULT
from pfgen_rs.questions.files import (
    combined_digest,
    file_digest,
    question_paths,
    read_question_file,
)

__all__ = [
    "RUNS",
    "Checkout",
    "Run",
    "State",
    "find_runs",
    "inspect_run",
    "is_checkout",
    "open_checkout",
    "remember_run",
    "remembered_run",
]

_DATA, RUNS = "data", "result"
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
        names = (EXAMPLES,) if self.name == _DATA else RESPONSES
        return next((self.folder / name for name in names if (self.folder / name).is_file()), None)


@dataclass(frozen=True)
class Checkout:
    """A checkout: its runs, the hash and number of its question files, and what earlier reports found."""

    folder: Path
    runs: list[Run]
    metadata_hash: str
    questions: int
    known: KnownRuns = field(repr=False)

    @property
    def readme(self) -> Path:
        """The file with the leaderboard."""
        return self.folder / README

    @property
    def data(self) -> Path:
        """The folder of the questions."""
        return self.folder / _DATA


@dataclass
class State:
    """The state of a run; `published` is its result if it is usable.

    `packed`: the new content of `trials.jsonl.xz`, if it changes. `files`: the run's files before they were
    read, unless they had just changed; `remembered`: whether that was enough to know that nothing is stale.
    """

    run: Run
    published: Published | None = None
    stale: bool = False
    stale_readme: bool = False
    problems: list[PfgenError] = field(default_factory=list)
    packed: bytes | None = None
    unfinished: list[Path] = field(default_factory=list)
    files: Files | None = None
    remembered: bool = False


def open_checkout(folder: str | os.PathLike[str]) -> Checkout:
    """Find runs, digest question files, and remove temporary files of a report that was killed.

    Raises `BenchmarkNotFoundError` if the folder is not a checkout, and `BenchmarkError` for a question file
    that cannot be read.
    """
    place = Path(folder)
    runs = find_runs(place)
    paths = question_paths(place / _DATA)
    known = KnownRuns(place)
    metadata_hash = _metadata_hash_of_checkout(paths, known)
    remove_unfinished(place)
    return Checkout(place, runs, metadata_hash, len(paths), known)


def _metadata_hash_of_checkout(paths: Sequence[Path], known: KnownRuns) -> str:
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
    return (place / _DATA).is_dir() and (place / RUNS).is_dir()


def find_runs(folder: str | os.PathLike[str]) -> list[Run]:
    """Returns the runs of a checkout by name. Raises `BenchmarkNotFoundError` if it is not a checkout."""
    place = Path(folder)
    if not place.is_dir():
        raise BenchmarkNotFoundError("not a directory", path=place)
    try:
        question_paths(place / _DATA)
    except BenchmarkNotFoundError:
        raise BenchmarkNotFoundError(
            "not a checkout of pfgen-bench: no question files data/Q*.json", path=place
        ) from None
    return sorted(_runs_in_checkout(place), key=lambda run: run.name)


def _runs_in_checkout(checkout: Path) -> Iterator[Run]:
    for top in (RUNS, _DATA):
        for folder, _, names in os.walk(checkout / top):
            own = tuple(sorted(filter(_concerns_run_in_checkout, names)))
            run = Run(Path(folder), Path(folder).relative_to(checkout).as_posix(), own)
            if _is_run_in_checkout(run, names):
                yield run


def _is_run_in_checkout(run: Run, names: list[str]) -> bool:
    if run.name == _DATA:
        return CONFIG in names or RESULT in names
    return any(
        name == RESULT or name in RESPONSES or run_files.is_trial_file(name) for name in names
    )


def _concerns_run_in_checkout(name: str) -> bool:
    return name in _OWN or run_files.is_trial_file(name) or is_unfinished(name)


def remembered_run(checkout: Checkout, run: Run) -> State | None:
    """Returns the state of a run of which nothing is stale, if its files are those of an earlier report."""
    files = file_states(run.folder, run.files)
    published = checkout.known.published(run.name, files, checkout.metadata_hash)
    return None if published is None else State(run, published, remembered=True)


def remember_run(checkout: Checkout, state: State) -> None:
    """Remember a run of which nothing is stale any more, for later reports.

    A result and a README that were just written are read, so that they are known to be what is there.
    """
    if state.remembered or state.published is None or state.problems or state.unfinished:
        return
    now = time.time_ns()
    names = sorted({*(state.files or ()), RESULT, README})
    files = file_states(state.run.folder, names)
    if state.files is None or files is None or not is_settled(files, now):
        return
    if any(files[name] != old for name, old in state.files.items() if name not in (RESULT, README)):
        return
    if files == state.files or _is_written_in_checkout(state):
        checkout.known.keep(state.published, files)


def _is_written_in_checkout(state: State) -> bool:
    """Whether the files of a run are those that were written for its result."""
    try:
        digest = file_digest((state.run.folder / RESULT).read_bytes())
    except OSError:
        return False
    return (
        state.published is not None
        and digest == state.published.digest
        and _is_checkout_readme_current(state)
    )


def inspect_run(checkout: Checkout, run: Run, *, force: bool = False) -> State:
    """Find out what is stale about a run, and pack its finished trials in memory; writes nothing.

    Problems of the run are listed, not raised.
    """
    state = State(run)
    config = None  # stays so where the run cannot be scored
    now = time.time_ns()
    files = file_states(run.folder, run.files)
    if files is not None and is_settled(files, now):
        state.files = files
    try:
        remove_unfinished(run.folder)
        found = _config_in_checkout(run)
        _pack_trials_of_checkout(checkout, state)
        config = found
    except (PfgenError, OSError) as error:
        state.problems.append(_checkout_error(error, run.folder))
    there = state.packed is not None or run.responses is not None
    _read_result_in_checkout(checkout, state, lost=not there)
    if there and config is not None:
        state.stale = force or _is_stale_in_checkout(checkout, state, config)
    state.stale_readme = force or not _is_checkout_readme_current(state)
    if state.published is not None and not state.stale_readme:
        state.published.drop_samples()
    return state


def _read_result_in_checkout(checkout: Checkout, state: State, *, lost: bool) -> None:
    """Read the result. If the responses are lost, it cannot be rebuilt, so its faults are problems."""
    path = state.run.folder / RESULT
    try:
        if path.exists():
            state.published = read_published(state.run.folder, state.run.name)
    except InputError as error:
        if lost:
            state.problems.append(error)
        return
    if (
        lost
        and state.published
        and state.published.result["metadata_hash"] != checkout.metadata_hash
    ):
        problem = (
            "was made with other questions than those in data/, and cannot be rebuilt without its responses: "
            "left unchanged"
        )
        state.problems.append(BenchmarkError(problem, path=path))


def _checkout_error(error: PfgenError | OSError, place: Path) -> PfgenError:
    if isinstance(error, PfgenError):
        return error
    return InputError(unreadable(error), path=error.filename or place)


def _config_in_checkout(run: Run) -> dict[str, Any] | None:
    """Returns the run's configuration; `None` for a result without any other files."""
    path = run.folder / CONFIG
    if not path.is_file():
        if run.responses is None and (run.folder / RESULT).exists():
            return None
        raise InputError("missing config.json, which names the model", path=run.folder)
    try:
        config = json.loads(path.read_bytes().decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"invalid JSON: {error}", path=path) from None
    if not isinstance(config, dict) or not isinstance(config.get("model"), str):
        raise InputError("expected a JSON object with the name of the 'model'", path=path)
    return config


def _pack_trials_of_checkout(checkout: Checkout, state: State) -> None:
    if state.run.name == _DATA:
        return
    state.packed, state.unfinished = run_files.packed_trials(state.run.folder, checkout.questions)


def _is_stale_in_checkout(checkout: Checkout, state: State, config: dict[str, Any]) -> bool:
    if state.published is None:
        return True
    result = state.published.result
    return (
        result["metadata_hash"] != checkout.metadata_hash
        or result["config"] != config
        or "signature" in result  # of other settings
        or result.get("input_hash") != _input_hash_in_checkout(state)
    )


def _input_hash_in_checkout(state: State) -> str | None:
    """Returns the SHA-1 of the responses; `None` if they cannot be read, which scoring will report."""
    if state.packed is not None:
        return file_digest(state.packed)
    try:
        return file_digest(state.run.responses.read_bytes()) if state.run.responses else None
    except OSError:
        return None


def _is_checkout_readme_current(state: State) -> bool:
    try:
        text = (state.run.folder / README).read_bytes()
    except OSError:
        return False
    published = state.published
    return published is not None and b"\n%b\n" % digest_line(published.digest).encode() in text
