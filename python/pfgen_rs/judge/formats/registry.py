"""The formats by name, and which of them files have."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.judge.formats import (
    alpaca_eval,
    arena_hard,
    fastchat,
    pandalm,
    prometheus,
    vicuna_qa,
)
from pfgen_rs.judge.formats.imported import Imported
from pfgen_rs.judge.formats.places import files_of, records

__all__ = ["FORMATS", "Format", "detect_format", "read_format", "write_format"]


class Format(NamedTuple):
    """A format of others: reading (if files can be read), recognising a record, and writing."""

    summary: str
    write: Callable[[Path, Imported], int]
    read: Callable[[Sequence[Path]], Imported] | None = None
    recognised: Callable[[Mapping[str, Any]], bool] | None = None


FORMATS: Mapping[str, Format] = {
    fastchat.NAME: Format(
        "FastChat's pairwise judgments",
        fastchat.write_fastchat,
        fastchat.read_fastchat,
        fastchat.recognised_fastchat,
    ),
    vicuna_qa.NAME: Format(
        "pairwise files of Japanese Vicuna QA",
        vicuna_qa.write_vicuna_qa,
        vicuna_qa.read_vicuna_qa,
        vicuna_qa.recognised_vicuna_qa,
    ),
    alpaca_eval.NAME: Format(
        "AlpacaEval's annotations",
        alpaca_eval.write_alpaca_eval,
        alpaca_eval.read_alpaca_eval,
        alpaca_eval.recognised_alpaca_eval,
    ),
    pandalm.NAME: Format(
        "PandaLM's test set, and results on it",
        pandalm.write_pandalm,
        pandalm.read_pandalm,
        pandalm.recognised_pandalm,
    ),
    f"{pandalm.NAME}-results": Format(
        "results on PandaLM's test set", pandalm.write_pandalm_results
    ),
    arena_hard.NAME: Format(
        "Arena-Hard's judgments with five levels",
        arena_hard.write_arena_hard,
        arena_hard.read_arena_hard,
        arena_hard.recognised_arena_hard,
    ),
    prometheus.NAME: Format(
        "relative grading of Prometheus",
        prometheus.write_prometheus,
        prometheus.read_prometheus,
        prometheus.recognised_prometheus,
    ),
}
"""Formats by name; `pandalm` reads results, too, which are written by a name of their own."""


def detect_format(paths: Sequence[str | os.PathLike[str]]) -> str:
    """Returns the name of the format that the first records of files have.

    Files of questions and answers alone say nothing. Raises `InputError` if no format or several fit.
    """
    files = files_of([Path(path) for path in paths])
    found = {name: None for path in files for name in _fitting(path)}
    if len(found) == 1:
        return next(iter(found))
    names = ", ".join(_readable())
    problem = "several formats fit" if found else "unknown format"
    raise InputError(f"{problem}: name one of {', '.join(found) or names}", path=files[0])


def _fitting(path: Path) -> list[str]:
    for _, record in records(path):
        return [n for n, each in FORMATS.items() if each.recognised and each.recognised(record)]
    return []


def _readable() -> list[str]:
    return [name for name, each in FORMATS.items() if each.read]


def read_format(paths: Sequence[str | os.PathLike[str]], name: str | None = None) -> Imported:
    """Read files of one format. A folder stands for the `.json` and `.jsonl` files in it.

    `name` (default: as `detect_format` says): see `FORMATS`. Raises `InputError` with file and line or
    element, and `SettingsError` for an unknown name.
    """
    if not paths:
        raise SettingsError("no files to read")
    name = name or detect_format(paths)
    read = FORMATS[name].read if name in FORMATS else None
    if read is None:
        raise SettingsError(f"unknown format {name!r}: expected one of {', '.join(_readable())}")
    return read(files_of([Path(path) for path in paths]))


def write_format(path: str | os.PathLike[str], imported: Imported, name: str) -> int:
    """Write a file in the format `name`; returns the number of pairs in it.

    Raises `SettingsError` for an unknown name, and `OutputError`.
    """
    if name not in FORMATS:
        raise SettingsError(f"unknown format {name!r}: expected one of {', '.join(FORMATS)}")
    return FORMATS[name].write(Path(path), imported)
