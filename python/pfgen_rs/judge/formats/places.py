"""Records of JSON files with their places, for messages: JSON lines, or one array of objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, Item
from pfgen_rs.io import write_atomic
from pfgen_rs.io.json_lines import lines, write_objects

__all__ = ["Place", "all_records", "files_of", "records", "write_array", "write_lines"]

_SUFFIXES = {".json", ".jsonl"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record is: `with place:` gives `InputError`s raised within it file and line or element."""

    path: Path
    number: int
    item: Item = "line"

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and error.path is None:
            raise InputError(
                error.problem, path=self.path, line=self.number, item=self.item
            ) from None


def files_of(paths: Sequence[Path]) -> list[Path]:
    """Returns the files at these paths; a folder stands for the JSON files right in it, by name.

    They may be compressed.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.iterdir() if _SUFFIXES & {*each.suffixes})
            if not inside:
                raise InputError("contains no .json or .jsonl files", path=path)
            found += inside
        else:
            found.append(path)
    return found


def all_records(paths: Iterable[Path]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the records of several files."""
    for path in paths:
        yield from records(path)


def records(path: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines or of a JSON array, with their places.

    Raises `InputError` with file and line or element.
    """
    for line in lines(path):
        yield Place(path, line.number, line.item), line.record


def write_lines(path: Path, values: Iterable[Mapping[str, Any]]) -> int:
    """Write objects as JSON lines, atomically; returns how many. Raises `OutputError`."""
    written = list(values)
    write_objects(path, written)
    return len(written)


def write_array(path: Path, values: Iterable[Mapping[str, Any]]) -> int:
    """Write objects as a JSON array, atomically; returns how many. Raises `OutputError`."""
    written = list(values)
    text = json.dumps(written, ensure_ascii=False, indent=4) + "\n"
    write_atomic(path, text.encode("utf-8", "surrogatepass"))
    return len(written)
