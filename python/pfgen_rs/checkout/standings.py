"""Rows of a leaderboard: of a checkout's results or of a `leaderboard.json`, and some of them alone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, PfgenError, unreadable

__all__ = ["JSON", "choices", "load_standings", "read_rows", "read_standings", "selected"]

JSON = "leaderboard.json"
_NUMBER, _ANY_TEXT = (int, float), (str, type(None))
_NEEDED = {
    **dict.fromkeys(("run", "model", "icon"), (str,)),
    **dict.fromkeys(("organisation", "mode", "engine"), _ANY_TEXT),
    **dict.fromkeys(("rank", "rank_low", "rank_high"), (int, type(None))),
    **dict.fromkeys(("score_low", "score_high"), (*_NUMBER, type(None))),
    **dict.fromkeys(("score", "score_std", "num_trials", "length", "length_std"), _NUMBER),
    **dict.fromkeys(("fluency", "truthfulness", "helpfulness"), _NUMBER),
}

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


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a `leaderboard.json`; `InputError` where it is none, or columns are missing or wrong."""
    rows = load_standings(path).get("runs")
    if not isinstance(rows, list):
        raise InputError("is no leaderboard: it has no list of 'runs'", path=path)
    for number, row in enumerate(rows, 1):
        wrong = [name for name, kinds in _NEEDED.items() if not _has(row, name, kinds)]
        if wrong:
            raise InputError(
                f"run {number} has no {wrong[0]!r}, or one of the wrong kind: write the file anew with "
                "pfgen-rs report",
                path=path,
            )
    return rows


def _has(row: object, name: str, kinds: tuple[type, ...]) -> bool:
    return isinstance(row, dict) and name in row and type(row[name]) in kinds


def load_standings(path: Path) -> dict[str, Any]:
    """The object of a `leaderboard.json`; `InputError` where it is none."""
    try:
        found = json.loads(path.read_bytes().decode())
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is damaged or no JSON: {error}", path=path) from None
    if not isinstance(found, dict):
        raise InputError("is no leaderboard: it holds no object", path=path)
    return found
