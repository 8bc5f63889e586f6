"""The leaderboard for programs: `leaderboard.parquet`, `.csv` and `.json` beside the main `README.md`."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pfgen_rs import _native
from pfgen_rs.checkout.files import write_changed
from pfgen_rs.checkout.published import Published
from pfgen_rs.errors import InputError
from pfgen_rs.questions.files import digest

__all__ = ["JSON", "read_rows", "write_tables"]

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
_PARQUET, _CSV = "leaderboard.parquet", "leaderboard.csv"


def write_tables(
    folder: Path, runs: Sequence[Published], metadata_hash: str, *, force: bool = False
) -> list[Path]:
    """Write the three files unless they tell of these results already; gives those that changed.

    The JSON object has `signature` and `metadata_hash` of the questions, `results`, a digest of what it was
    made from, and `runs`, the rows of `entries.frame`.
    """
    about = "".join(f"{run.digest}  {run.run}\n" for run in runs) + _native.__version__
    head = {"metadata_hash": metadata_hash, "results": digest(about.encode())}
    if not force and _is_current(folder, head):
        return []
    from pfgen_rs.checkout.entries import entries, frame  # only now, since it is much to load
    from pfgen_rs.metrics.settings import Settings
    from pfgen_rs.metrics.signature import signature

    head = {"signature": signature(metadata_hash, Settings()), **head}
    table = frame(entries(runs))
    parquet, csv = io.BytesIO(), io.BytesIO()
    table.write_parquet(parquet)
    table.write_csv(csv)
    text = json.dumps({**head, "runs": table.to_dicts()}, ensure_ascii=False, indent=1) + "\n"
    # The one that tells what they were made from comes last: a report that is killed is made good later.
    contents = {_PARQUET: parquet.getvalue(), _CSV: csv.getvalue(), JSON: text.encode()}
    return [
        folder / name for name, content in contents.items() if write_changed(folder / name, content)
    ]


def _is_current(folder: Path, head: dict[str, str]) -> bool:
    try:
        found = _load(folder / JSON)
    except InputError:
        return False
    there = all((folder / name).is_file() for name in (_PARQUET, _CSV))
    return there and all(found.get(key) == value for key, value in head.items())


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a `leaderboard.json`; `InputError` where it is none, or columns are missing or wrong."""
    rows = _load(path).get("runs")
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


def _load(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes().decode())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is damaged or no JSON: {error}", path=path) from None
    if not isinstance(found, dict):
        raise InputError("is no leaderboard: it holds no object", path=path)
    return found
