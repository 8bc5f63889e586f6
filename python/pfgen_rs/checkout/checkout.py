"""Checkouts of pfgen-bench: finds their runs, and what is stale about them, by digests alone."""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pfgen_rs import Settings, errors
from pfgen_rs.checkout.published import KnownRuns, Published, digest_line, read_published
from pfgen_rs.io import atomic, known_files, run_files
from pfgen_rs.io.run_files import CONFIG, EXAMPLES, README, RESPONSES, RESULT
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.questions import question
from pfgen_rs.runs.published import ADVICE

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
        except errors.BenchmarkError:  # which scoring reports
            return None
        return None if benchmark.settings == Settings() else benchmark.signature

    def remembered(self, run: Run) -> "State | None":
        """Returns the state of a run with nothing stale, if its files are those of an earlier report."""
        files = known_files.file_states(run.folder, run.files)
        published = self.known.published(run.name, files, self.metadata_hash)
        return None if published is None else State(run, published, remembered=True)

    def remember(self, state: "State") -> None:
        """Remember a run of which nothing is stale any more, for later reports.

        A result and a README that were just written are read, so that they are known to be what is there.
        """
        if state.remembered or state.published is None or state.problems or state.unfinished:
            return
        now = time.time_ns()
        names = sorted({*(state.files or ()), RESULT, README})
        files = known_files.file_states(state.run.folder, names)
        if state.files is None or files is None or not known_files.is_settled(files, now):
            return
        others = {name: old for name, old in state.files.items() if name not in (RESULT, README)}
        if any(files[name] != old for name, old in others.items()):
            return
        if files == state.files or _is_written(state):
            self.known.keep(state.published, files)


def open_checkout(folder: str | os.PathLike[str], *, as_published: bool = False) -> Checkout:
    """Find runs, digest question files, and remove temporary files of a report that was killed.

    `as_published`: let hashes alone decide what is stale. Raises `BenchmarkNotFoundError` if the folder is
    not a checkout, and `BenchmarkError` for a question file that cannot be read.
    """
    place = Path(folder)
    runs = find_runs(place)
    paths = question.question_paths(place / DATA)
    known = KnownRuns(place, as_published=as_published)
    metadata_hash = _metadata_hash(paths, known)
    remove_unfinished(place)
    return Checkout(place, runs, metadata_hash, len(paths), known, as_published)


def _metadata_hash(paths: Sequence[Path], known: KnownRuns) -> str:
    now = time.time_ns()
    files = known_files.file_states(paths[0].parent, [path.name for path in paths])
    found = None if files is None else known.metadata_hash(files)
    if found is None:
        found = question.combined_digest(
            question.file_digest(question.read_question_file(path)) for path in paths
        )
        if files is not None and known_files.is_settled(files, now):
            known.keep_questions(files, found)
    return found


def is_checkout(place: Path) -> bool:
    """Whether a folder looks like a checkout of pfgen-bench, with questions and results."""
    return (place / DATA).is_dir() and (place / RUNS).is_dir()


def find_runs(folder: str | os.PathLike[str]) -> list[Run]:
    """Returns the runs of a checkout by name. Raises `BenchmarkNotFoundError` if it is not a checkout."""
    place = Path(folder)
    if not place.is_dir():
        raise errors.BenchmarkNotFoundError("not a directory", path=place)
    try:
        question.question_paths(place / DATA)
    except errors.BenchmarkNotFoundError:
        raise errors.BenchmarkNotFoundError(
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
    atomic.write_atomic(path, content)
    return True


def is_unfinished(name: str) -> bool:
    """Whether this is the name of a temporary file of `write_changed`."""
    return _UNFINISHED.fullmatch(name) is not None


def remove_unfinished(folder: Path) -> None:
    """Remove temporary files that a killed `write_changed` has left, and none that is being written."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_unfinished(entry.name):
                atomic.remove_abandoned(entry.path)


# The state of a checkout's runs: their results, and what is stale about them.


_LISTED = 10  # runs with the same reasons that have a line each
_NAMED = 3  # runs that are named where more than that have the same reasons
_KEYS = 4  # keys of a configuration that are named


@dataclass
class State:
    """The state of a run; `published` is its result if it is usable, `stale` why it is to be scored.

    `packed`: the new content of `trials.jsonl.xz`, if it changes. `files`: the run's files before they were
    read, unless they had just changed; `remembered`: whether that was enough to know that nothing is stale.
    """

    run: Run
    published: Published | None = None
    stale: tuple[str, ...] = ()
    stale_readme: bool = False
    problems: list[errors.PfgenError] = field(default_factory=list)
    packed: bytes | None = None
    unfinished: list[Path] = field(default_factory=list)
    files: known_files.Files | None = None
    remembered: bool = False


def _is_written(state: State) -> bool:
    """Whether the files of a run are those that were written for its result."""
    try:
        digest = question.file_digest((state.run.folder / RESULT).read_bytes())
    except OSError:
        return False
    return (
        state.published is not None
        and digest == state.published.digest
        and _is_readme_current(state)
    )


def inspect_run(checkout: Checkout, run: Run, *, force: bool = False) -> State:
    """Find out what is stale about a run, and pack its finished trials in memory; writes nothing.

    Problems of the run are listed, not raised.
    """
    state = State(run)
    now = time.time_ns()
    files = known_files.file_states(run.folder, run.files)
    if files is not None and known_files.is_settled(files, now):
        state.files = files
    config = _packed(checkout, state)
    there = state.packed is not None or run.responses is not None
    fault = _read_result(checkout, state, lost=not there)
    if there and config is not None:
        if force:
            fault = ("everything is scored again",)
        elif state.published is not None:
            fault = _stale_reasons(checkout, state, state.published.result, config)
        state.stale = fault
    state.stale_readme = force or not _is_readme_current(state)
    if state.published is not None and not state.stale_readme:
        state.published.drop_samples()
    return state


def _packed(checkout: Checkout, state: State) -> dict[str, Any] | None:
    """Pack finished trials. Returns the configuration; `None` if the run cannot be scored."""
    run = state.run
    try:
        remove_unfinished(run.folder)
        config = _inspected_config(run)
        if run.name != DATA:
            packed = run_files.packed_trials(run.folder, checkout.questions)
            state.packed, state.unfinished = packed
        return config
    except errors.PfgenError as error:
        state.problems.append(error)
    except OSError as error:
        state.problems.append(
            errors.InputError(errors.unreadable(error), path=error.filename or run.folder)
        )
    return None


def _read_result(checkout: Checkout, state: State, *, lost: bool) -> tuple[str, ...]:
    """Read the result; returns why there is none.

    If the responses are lost, it cannot be rebuilt, so its faults are problems.
    """
    path = state.run.folder / RESULT
    if not path.exists():
        return ("no result.json",)
    try:
        state.published = read_published(state.run.folder, state.run.name)
    except errors.InputError as error:
        if lost:
            state.problems.append(error)
        problem = error.problem.removesuffix(f": {ADVICE}")
        return (f"result.json cannot be used ({problem})",)
    if lost and state.published.result["metadata_hash"] != checkout.metadata_hash:
        problem = (
            "was made with other questions than those in data/, and cannot be rebuilt without its responses: "
            "left unchanged"
        )
        state.problems.append(errors.BenchmarkError(problem, path=path))
    return ()


def _inspected_config(run: Run) -> dict[str, Any] | None:
    """Returns the run's configuration; `None` for a result without any other files."""
    path = run.folder / CONFIG
    if not path.is_file():
        if run.responses is None and (run.folder / RESULT).exists():
            return None
        raise errors.InputError("missing config.json, which names the model", path=run.folder)
    try:
        config = json.loads(path.read_bytes().decode())
    except (ValueError, RecursionError) as error:
        raise errors.InputError(f"invalid JSON: {error}", path=path) from None
    if not isinstance(config, dict) or not isinstance(config.get("model"), str):
        raise errors.InputError("expected a JSON object with the name of the 'model'", path=path)
    return config


def _stale_reasons(
    checkout: Checkout, state: State, result: Mapping[str, Any], config: Mapping[str, Any]
) -> tuple[str, ...]:
    """Returns why a result is stale: what it was made from has changed."""
    found = []
    if result.get("input_hash") != _input_hash(state):
        found.append("its answers have changed since it was scored")
    if result["metadata_hash"] != checkout.metadata_hash:
        found.append("was scored with other questions")
    if checkout.as_published:  # pfgen-bench's own tool compares these two alone
        return tuple(found)
    if result["config"] != config:
        keys = _edited_keys(result["config"], config)
        found.append(f"its config.json has been edited since it was scored ({keys})")
    if _defining_parts(result.get("signature")) != _defining_parts(checkout.signature):
        found.append("was scored with other settings")
    return tuple(found)


def _input_hash(state: State) -> str | None:
    """Returns the SHA-1 of the responses; `None` if they cannot be read, which scoring will report."""
    if state.packed is not None:
        return question.file_digest(state.packed)
    try:
        return (
            question.file_digest(state.run.responses.read_bytes()) if state.run.responses else None
        )
    except OSError:
        return None


def _is_readme_current(state: State) -> bool:
    try:
        text = (state.run.folder / README).read_bytes()
    except OSError:
        return False
    published = state.published
    return published is not None and b"\n%b\n" % digest_line(published.digest).encode() in text


def _defining_parts(signature: str | None) -> list[str]:
    """Returns what defines the scores: neither the version nor how sums are added, which is kept."""
    parts = (signature or "").split("|")
    return [part for part in parts if not part.startswith(("v:", "sum:"))]


def _edited_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Returns the keys of a configuration that differ, the first four of them."""
    missing = object()
    keys = sorted(key for key in {*old, *new} if old.get(key, missing) != new.get(key, missing))
    return ", ".join(map(shortened, keys[:_KEYS])) + ", …" * (len(keys) > _KEYS)


def reason_lines(stale: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yields lines that say which runs are scored and why; more than 10 with the same reasons share one."""
    groups: dict[str, list[str]] = {}
    for run, reasons in stale.items():
        groups.setdefault(", and ".join(reasons), []).append(run)
    for why, runs in groups.items():
        if len(runs) <= _LISTED:
            yield from (f"{run}: {why}" for run in runs)
        else:
            yield f"{counted(len(runs), 'run')}: {why}: {', '.join(runs[:_NAMED])}, …"
