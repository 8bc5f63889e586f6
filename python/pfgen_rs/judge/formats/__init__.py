"""Formats of other tools' judgments: each is one file of this folder, which registers itself.

    @judge_format(
        "my-tool",
        files="`verdicts.jsonl`",
        verdicts="`winner`: A or B",
        pair_id="`id`",
        example={"id": "1", "winner": "A"},
        recognises=lambda record: "winner" in record,
        write=None,  # or a function that yields records
    )
    def read_my_tool(paths: Sequence[Path]) -> Imported: ...

Other packages add theirs by an entry point of the group `pfgen_rs.judge_formats`, whose name is the
format's and whose object is the decorated function. The choices of `judge import` and `judge export`, the
table in the documentation and shared tests follow. These expect that every key of `example` is required, and
that a pair's second judgment by one judge is refused. A file may have pairs without judgments: data for
choosing a judge.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.json_lines import write_objects
from pfgen_rs.registry import Registry

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

Reader = Callable[[Sequence[Path]], "Imported"]
Writer = Callable[["Imported"], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True)
class JudgeFormat:
    """A format.

    `files`, `verdicts`, `pair_id`: which files have the judgments, how a verdict is written, and what becomes
    the id of a pair, as Markdown for the documentation. `example`: a record that can be read on its own.
    `recognises`: whether a record is of this format. `read`: reads all files; raises `InputError`. `write`:
    returns the records of a file, one a pair; `None` for formats that are only imported. `is_array`: whether
    files are written as a JSON array rather than as JSON lines.
    """

    name: str
    files: str
    verdicts: str
    pair_id: str
    example: Mapping[str, Any]
    recognises: Callable[[Mapping[str, Any]], bool]
    read: Reader
    write: Writer | None = None
    is_array: bool = False


_registry: Registry[JudgeFormat] = Registry("format", __name__, "pfgen_rs.judge_formats")


def format_names() -> list[str]:
    """Returns the names of all formats."""
    return _registry.names()


def get_format(name: str) -> JudgeFormat:
    """Returns a format by name. Raises `SettingsError` for an unknown one."""
    return _registry.get(name)


def judge_format(name: str, **about: Any) -> Callable[[Reader], Reader]:
    """Register the decorated reader as the format `name`; `about`: the other fields of `JudgeFormat`."""

    def register(read: Reader) -> Reader:
        _registry.add(name, JudgeFormat(name, read=read, **about))
        return read

    return register


def detect_format(paths: Sequence[str | os.PathLike[str]]) -> str:
    """Returns the name of the format that the first records of files have.

    Files of questions and answers alone say nothing. Raises `InputError` if no format or several fit.
    """
    from pfgen_rs.judge.imported import files_of, records

    files, first, failed = files_of(paths), [], None
    for path in files:
        try:
            first += [record for _, record in islice(records([path]), 1)]
        except InputError as error:  # perhaps of a file that the format leaves out
            failed = failed or error
    fitting = [
        name for name, each in _registry.usable().items() if any(map(each.recognises, first))
    ]
    if len(fitting) == 1:
        return fitting[0]
    if failed and not fitting:
        raise failed
    problem = "several formats fit:" if fitting else "unknown format: expected one of"
    names = ", ".join(fitting or format_names())
    raise InputError(f"{problem} {names}", path=files[0])


def read_format(paths: Sequence[str | os.PathLike[str]], name: str | None = None) -> "Imported":
    """Read files of one format. A folder stands for the files in it (`imported.files_of`).

    `name`: one of `format_names()` (default: as `detect_format` says). Raises `InputError` with file and line
    or element, and `SettingsError` for an unknown name.
    """
    from pfgen_rs.judge.imported import files_of

    chosen = get_format(name or detect_format(paths))
    found = chosen.read(files_of(paths))
    if not found.pairs:
        raise InputError(f"contains no judgments or pairs in the format {chosen.name}")
    return found


def write_format(path: str | os.PathLike[str], imported: "Imported", name: str) -> int:
    """Write a file in a format; returns the number of pairs in it.

    Raises `SettingsError` for an unknown name and a format that is only imported, and `OutputError`.
    """
    chosen = get_format(name)
    if chosen.write is None:
        known = ", ".join(name for name, each in _registry.usable().items() if each.write)
        raise SettingsError(f"the format {name!r} can be imported only: expected one of {known}")
    written = list(chosen.write(imported))
    if chosen.is_array:
        text = json.dumps(written, ensure_ascii=False, indent=4) + "\n"
        write_atomic(path, text.encode("utf-8", "surrogatepass"))
    else:
        write_objects(Path(path), written)
    return len(written)
