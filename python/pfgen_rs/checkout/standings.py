"""Rows of a leaderboard: of a checkout's results or of a `leaderboard.json`, and some of them alone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.report.tables import read_rows

__all__ = ["choices", "read_standings", "selected"]

Row = dict[str, Any]


def read_standings(place: str | os.PathLike[str]) -> tuple[list[Row], Sequence[PfgenError]]:
    """Rows as `entries.frame` has them, best first, and the results that cannot be used.

    `place`: a checkout, whose results are read anew, or a `leaderboard.json`. Raises
    `BenchmarkNotFoundError` for a folder that is no checkout and `InputError` for a file that is no
    leaderboard.
    """
    path = Path(place)
    if path.is_file():
        return read_rows(path), []
    from pfgen_rs.checkout.entries import frame, read_entries  # only now, since it is much to load

    found, problems = read_entries(path)
    return frame(found).to_dicts(), problems


def selected(rows: Sequence[Row], *, model: str | None = None, **exactly: str | None) -> list[Row]:
    """Rows whose model contains a text and whose other columns are as wanted, in capitals or not.

    Raises `InputError` for a column that the rows lack.
    """
    wanted = {name: value for name, value in exactly.items() if value is not None}
    for name in wanted:
        if any(name not in row for row in rows):
            raise InputError(f"there is no column {name!r} to choose by")
    return [row for row in rows if _contains(row, model) and _matches(row, wanted)]


def choices(rows: Sequence[Row], **exactly: str | None) -> dict[str, list[str]]:
    """For each column in which no row is as wanted, what there is to choose from, in order."""
    found = {}
    for name, value in exactly.items():
        if value is not None and not any(_matches(row, {name: value}) for row in rows):
            found[name] = sorted({row[name] for row in rows if row[name]}, key=str.casefold)
    return found


def _contains(row: Row, model: str | None) -> bool:
    return model is None or model.casefold() in row["model"].casefold()


def _matches(row: Row, wanted: Mapping[str, str]) -> bool:
    return all((row[name] or "").casefold() == value.casefold() for name, value in wanted.items())
