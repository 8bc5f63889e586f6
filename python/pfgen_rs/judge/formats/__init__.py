"""Formats of other tools' judgments: each is one file of this folder, which registers itself.

    @judge_format(
        "my-tool",
        files="`verdicts.jsonl`",
        verdicts="`winner`: A or B",
        pair_id="`id`",
        example={"id": "1", "winner": "A"},
        recognises=lambda record: "winner" in record,
        write=None,
    )
    def read_my_tool(paths: Sequence[Path]) -> Imported: ...

The file is called like the format, with `_` for `-`. Other packages add theirs by an entry point of the
group `pfgen_rs.judge_formats`, whose name is the format's and whose object is the decorated function. The
choices of `judge import` and `judge export`, the table in the documentation and shared tests follow.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfgen_rs.errors import InputError, SettingsError

if TYPE_CHECKING:
    from pfgen_rs.judge.imported import Imported

__all__ = [
    "JudgeFormat",
    "detect_format",
    "format_names",
    "get_format",
    "judge_format",
    "read_format",
    "write_format",
]

GROUP = "pfgen_rs.judge_formats"
Reader = Callable[[Sequence[Path]], "Imported"]
Writer = Callable[[Path, "Imported"], int]
_formats: dict[str, JudgeFormat] = {}


@dataclass(frozen=True)
class JudgeFormat:
    """A format.

    `files`, `verdicts`, `pair_id`: which files have the judgments, how a verdict is written, and what becomes
    the id of a pair, as Markdown for the documentation. `example`: a record that can be read on its own.
    `recognises`: whether a record is of this format. `read`: reads all files; raises `InputError`. `write`:
    writes a file and returns the number of pairs in it; `None` for formats that are only imported.
    """

    name: str
    files: str
    verdicts: str
    pair_id: str
    example: Mapping[str, Any]
    recognises: Callable[[Mapping[str, Any]], bool]
    read: Reader
    write: Writer | None = None


def judge_format(name: str, **about: Any) -> Callable[[Reader], Reader]:
    """Register the decorated reader as the format `name`; `about`: the other fields of `JudgeFormat`."""

    def register(read: Reader) -> Reader:
        _formats[name] = JudgeFormat(name, read=read, **about)
        return read

    return register


def format_names() -> list[str]:
    """Returns the names of all formats, without importing them."""
    own = [module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)]
    return list(dict.fromkeys([*own, *_foreign(), *_formats]))


def get_format(name: str) -> JudgeFormat:
    """Returns a format by name. Raises `SettingsError` for an unknown one."""
    if name not in format_names():
        raise SettingsError(f"unknown format {name!r}: expected one of {', '.join(format_names())}")
    if name not in _formats:
        if name in _foreign():
            _foreign()[name].load()
        else:
            import_module(f"{__name__}.{name.replace('-', '_')}")
    return _formats[name]


@cache
def _foreign() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def detect_format(paths: Sequence[str | os.PathLike[str]]) -> str:
    """Returns the name of the format that the first records of files have.

    Files of questions and answers alone say nothing. Raises `InputError` if no format or several fit.
    """
    from pfgen_rs.judge.records import files_of

    files = files_of([Path(path) for path in paths])
    fitting = list(dict.fromkeys(name for path in files for name in _fitting(path)))
    if len(fitting) == 1:
        return fitting[0]
    problem = "several formats fit" if fitting else "unknown format"
    names = ", ".join(fitting or format_names())
    raise InputError(f"{problem}: name one of {names}", path=files[0])


def _fitting(path: Path) -> list[str]:
    from pfgen_rs.judge.records import records

    for _, record in records(path):
        return [name for name in format_names() if get_format(name).recognises(record)]
    return []


def read_format(paths: Sequence[str | os.PathLike[str]], name: str | None = None) -> Imported:
    """Read files of one format. A folder stands for the `.json` and `.jsonl` files in it.

    `name`: one of `format_names()` (default: as `detect_format` says). Raises `InputError` with file and line
    or element, and `SettingsError` for an unknown name.
    """
    from pfgen_rs.judge.records import files_of

    if not paths:
        raise SettingsError("no files to read")
    read = get_format(name or detect_format(paths)).read
    return read(files_of([Path(path) for path in paths]))


def write_format(path: str | os.PathLike[str], imported: Imported, name: str) -> int:
    """Write a file in a format; returns the number of pairs in it.

    Raises `SettingsError` for an unknown name and a format that is only imported, and `OutputError`.
    """
    write = get_format(name).write
    if write is None:
        known = ", ".join(each for each in format_names() if get_format(each).write)
        raise SettingsError(f"the format {name!r} can be imported only: expected one of {known}")
    return write(Path(path), imported)
