"""Expands patterns and folders on the command line, and prevents overwriting inputs."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pfgen_rs.errors import InputError, OutputError
from pfgen_rs.io.remote.urls import (
    COPY_FIRST,
    MAGIC,
    identity_of_url,
    is_url,
    refused_url,
    shown_url,
    url_text,
)
from pfgen_rs.io.run_files import runs_below

if TYPE_CHECKING:
    from pfgen_rs.io.remote.storage import Storage


Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""One path or glob, or several."""

STANDARD_INPUT = "-"


def expand(patterns: Iterable[str], storage: Storage | None = None) -> list[str]:
    """Returns the paths that the patterns match, in order and without duplicates.

    A pattern is a path, `-` (standard input), or a glob (`**` matches any number of folders), whose matches
    are sorted; with `storage`, also a URL. Raises `InputError` if a glob matches nothing.
    """
    paths: dict[str, None] = {}
    for pattern in patterns:
        paths.update(dict.fromkeys(_paths_of_pattern(pattern, storage)))
    return list(paths)


def expand_runs(patterns: Iterable[str], storage: Storage | None = None) -> list[str]:
    """Like `expand`, but replaces a folder that only contains runs in subfolders by these, sorted.

    Does not look for runs within a run's folder. Raises `InputError` if one of the folders has finished
    trials that are not packed yet, since its run would otherwise be missing.
    """
    paths: dict[str, None] = {}
    for path in expand(patterns, storage):
        paths.update(dict.fromkeys(_runs_of_path(path, storage)))
    return list(paths)


def _runs_of_path(path: str, storage: Storage | None) -> list[str]:
    if not is_url(path):
        return runs_below(path) or [path]
    if storage is None or not path.endswith("/"):
        return [path]
    from pfgen_rs.io.remote.files import runs_below_url

    return runs_below_url(path, storage)


def _paths_of_pattern(pattern: str, storage: Storage | None) -> list[str]:
    if is_url(pattern):
        if storage is None:
            raise refused_url(pattern, COPY_FIRST)
        from pfgen_rs.io.remote.files import expanded_url

        return expanded_url(url_text(pattern), storage)
    # A file may actually be named "a[1].jsonl".
    if not MAGIC.intersection(pattern) or os.path.lexists(pattern):
        return [pattern]
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - keeps absolute patterns
    if not found:
        raise InputError("no file matches this pattern", path=pattern)
    return found


def refuse_overwriting(target: str | os.PathLike[str], inputs: Iterable[str]) -> None:
    """Raise `OutputError` if `target` is one of the inputs."""
    try:
        place = _identity_of_path(target)
    except InputError as error:
        raise OutputError(str(error)) from None
    if any(place == _identity_of_path(path) for path in inputs if path != STANDARD_INPUT):
        raise OutputError(f"{shown_url(target)}: is one of the inputs: choose another name")


def _identity_of_path(path: str | os.PathLike[str]) -> object:
    return identity_of_url(url_text(path)) if is_url(path) else Path(path).resolve()
