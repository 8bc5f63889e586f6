"""Finds, decompresses and hashes question files, without parsing them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from pfgen_rs.errors import BenchmarkError, BenchmarkNotFoundError, unreadable
from pfgen_rs.io import compression
from pfgen_rs.metrics.units import UNITS, Unit

__all__ = [
    "PROVENANCE",
    "combined_digest",
    "file_digest",
    "question_paths",
    "read_question_file",
    "stated_unit",
]

PROVENANCE = "provenance.json"
"""File beside the questions of a built set that records how it was built."""

_PATTERN = "Q*.json*"


def question_paths(folder: Path) -> list[Path]:
    """Returns the `Q*.json` files of a folder (or of its `data` folder), plain or compressed, sorted by name.

    Raises `BenchmarkNotFoundError` if there are none.
    """
    for place in (folder, folder / "data"):
        paths = sorted(path for path in place.glob(_PATTERN) if _is_question_file(path))
        if paths:
            return paths
    raise BenchmarkNotFoundError("the folder has no question files (Q*.json)", path=folder)


def read_question_file(path: Path) -> bytes:
    """Returns the decompressed content of a question file. Raises `BenchmarkError` if it cannot be read."""
    try:
        return compression.read_whole(path)
    except OSError as error:
        raise BenchmarkError(unreadable(error), path=path) from error
    except compression.UnpackingError as error:
        raise BenchmarkError(str(error), path=path) from None


def file_digest(content: bytes) -> str:
    """Returns the SHA-1 of a file's content, in hexadecimal."""
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def combined_digest(digests: Iterable[str]) -> str:
    """Returns the metadata hash of a question set, given its files' digests in the order of their names."""
    return file_digest("".join(digests).encode())


def stated_unit(folder: Path) -> Unit:
    """Returns the unit that a set was built with before question files stated it; else `character`."""
    for place in (folder, folder / "data"):
        try:
            unit = json.loads((place / PROVENANCE).read_bytes())["settings"]["unit"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            continue
        if unit in UNITS:
            return cast("Unit", unit)
    return "character"


def _is_question_file(path: Path) -> bool:
    return path.suffix == ".json" or (
        path.suffix in compression.SUFFIXES and path.with_suffix("").suffix == ".json"
    )
