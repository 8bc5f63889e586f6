"""The leaderboard as data: `leaderboard.parquet`, `.csv` and `.json` next to the main `README.md`."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

from pfgen_rs.checkout.checkout import DATA
from pfgen_rs.checkout.files import write_changed
from pfgen_rs.checkout.published import Published
from pfgen_rs.checkout.standings import JSON, load_standings_object, results_digest
from pfgen_rs.errors import InputError
from pfgen_rs.io.table_writer import csv_text

__all__ = ["write_tables"]

_PARQUET, _CSV = "leaderboard.parquet", "leaderboard.csv"


def write_tables(
    folder: Path, runs: Sequence[Published], metadata_hash: str, *, force: bool = False
) -> list[Path]:
    """Write the three files unless they were made from these results. Returns those that changed.

    The JSON object has `signature` and `metadata_hash` of the questions, `results` (a digest of the results
    that it was made from), and `runs` (the rows of `entries_frame`).
    """
    results = results_digest((run.digest, run.run) for run in runs)
    head = {"metadata_hash": metadata_hash, "results": results}
    if not force and _are_report_tables_current(folder, head):
        return []
    # Slow to import, and rarely needed.
    from pfgen_rs.benchmark import load_for_scores
    from pfgen_rs.checkout.entries import entries, entries_frame

    head = {"signature": load_for_scores(folder / DATA).signature, **head}
    table = entries_frame(entries(runs))
    parquet = io.BytesIO()
    table.write_parquet(parquet)
    text = json.dumps({**head, "runs": table.to_dicts()}, ensure_ascii=False, indent=1) + "\n"
    # The file that names the results comes last, so a report that was killed is repeated.
    contents = {_PARQUET: parquet.getvalue(), _CSV: csv_text(table).encode(), JSON: text.encode()}
    return [
        folder / name for name, content in contents.items() if write_changed(folder / name, content)
    ]


def _are_report_tables_current(folder: Path, head: dict[str, str]) -> bool:
    try:
        found = load_standings_object(folder / JSON)
    except InputError:
        return False
    there = all((folder / name).is_file() for name in (_PARQUET, _CSV))
    return there and all(found.get(key) == value for key, value in head.items())
