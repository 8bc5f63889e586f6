"""Records of JSON files with their places, for messages: JSON lines, or one array of objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, Item, unreadable
from pfgen_rs.io import write_atomic
from pfgen_rs.io.source import SURROGATE, has_lone_surrogate
from pfgen_rs.judge.json_lines import objects

__all__ = ["Place", "all_records", "files_of", "records", "write_array"]


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
    """Returns the files at these paths; a folder stands for the JSON files right in it, by name."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.iterdir() if each.suffix in (".json", ".jsonl"))
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
    if not _is_json_array(path):
        for number, record in objects(path):
            yield Place(path, number), record
        return
    for number, value in enumerate(_array(path), 1):
        place = Place(path, number, "element")
        with place:
            if not isinstance(value, dict):
                raise InputError(f"expected an object, found {json.dumps(value)[:60]}")
            if has_lone_surrogate(value):
                raise InputError(SURROGATE)
        yield place, value


def _is_json_array(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(256)
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def _array(path: Path) -> Sequence[Any]:
    try:
        values = json.loads(path.read_bytes())
    except RecursionError:
        raise InputError("is nested too deeply", path=path) from None
    except (OSError, ValueError) as error:
        raise InputError(f"is not JSON: {error}", path=path) from None
    found: Sequence[Any] = values
    return found


def write_array(path: Path, values: Iterable[Mapping[str, Any]]) -> None:
    """Write objects as a JSON array, atomically. Raises `OutputError`."""
    text = json.dumps(list(values), ensure_ascii=False, indent=4) + "\n"
    write_atomic(path, text.encode("utf-8", "surrogatepass"))
