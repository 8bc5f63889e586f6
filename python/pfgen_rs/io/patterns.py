"""Files named on a command line: patterns expanded, and inputs never overwritten."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from pfgen_rs.errors import InputError, OutputError

__all__ = ["STANDARD_INPUT", "expand", "refuse_overwriting"]

STANDARD_INPUT = "-"
_MAGIC = frozenset("*?[")


def expand(patterns: Iterable[str]) -> list[str]:
    """Paths that the patterns stand for, in order and without repeats.

    A pattern is a path, `-` (standard input), or a glob (`**` crosses folders), whose matches are
    sorted. Raises `InputError` where a glob matches nothing.
    """
    paths: dict[str, None] = {}
    for pattern in patterns:
        paths.update(dict.fromkeys(_matches(pattern)))
    return list(paths)


def _matches(pattern: str) -> list[str]:
    # A file may really be called "a[1].jsonl".
    if not _MAGIC.intersection(pattern) or os.path.lexists(pattern):
        return [pattern]
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - keeps absolute patterns
    if not found:
        raise InputError("no file matches this pattern", path=pattern)
    return found


def refuse_overwriting(target: str | os.PathLike[str], inputs: Iterable[str]) -> None:
    """Raise `OutputError` where `target` is one of the files that are read."""
    place = Path(target).resolve()
    if any(place == Path(path).resolve() for path in inputs if path != STANDARD_INPUT):
        raise OutputError(f"{target}: is one of the inputs; choose another name")
