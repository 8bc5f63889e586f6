"""The state of a checkout's runs: their results, and what is stale about them.

Compares digests only, so a checkout that is up to date is done at once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pfgen_rs.checkout.checkout import DATA, Checkout, Run, remove_unfinished
from pfgen_rs.checkout.published import ADVICE, Published, digest_line, read_published
from pfgen_rs.errors import BenchmarkError, InputError, PfgenError, unreadable
from pfgen_rs.io import known_files, run_files
from pfgen_rs.io.run_files import CONFIG, README, RESULT
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.questions.question import file_digest

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
    problems: list[PfgenError] = field(default_factory=list)
    packed: bytes | None = None
    unfinished: list[Path] = field(default_factory=list)
    files: known_files.Files | None = None
    remembered: bool = False


def remembered_run(checkout: Checkout, run: Run) -> State | None:
    """Returns the state of a run of which nothing is stale, if its files are those of an earlier report."""
    files = known_files.file_states(run.folder, run.files)
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
    files = known_files.file_states(state.run.folder, names)
    if state.files is None or files is None or not known_files.is_settled(files, now):
        return
    if any(files[name] != old for name, old in state.files.items() if name not in (RESULT, README)):
        return
    if files == state.files or _is_written(state):
        checkout.known.keep(state.published, files)


def _is_written(state: State) -> bool:
    """Whether the files of a run are those that were written for its result."""
    try:
        digest = file_digest((state.run.folder / RESULT).read_bytes())
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
    except PfgenError as error:
        state.problems.append(error)
    except OSError as error:
        state.problems.append(InputError(unreadable(error), path=error.filename or run.folder))
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
    except InputError as error:
        if lost:
            state.problems.append(error)
        problem = error.problem.removesuffix(f": {ADVICE}")
        return (f"result.json cannot be used ({problem})",)
    if lost and state.published.result["metadata_hash"] != checkout.metadata_hash:
        problem = (
            "was made with other questions than those in data/, and cannot be rebuilt without its responses: "
            "left unchanged"
        )
        state.problems.append(BenchmarkError(problem, path=path))
    return ()


def _inspected_config(run: Run) -> dict[str, Any] | None:
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
        return file_digest(state.packed)
    try:
        return file_digest(state.run.responses.read_bytes()) if state.run.responses else None
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
