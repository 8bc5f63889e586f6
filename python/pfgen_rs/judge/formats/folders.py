"""Imported judgments as verdict folders, and verdict folders as what files of others can hold."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, OutputError
from pfgen_rs.io import writing_failed
from pfgen_rs.io.counted import counted, plural
from pfgen_rs.io.json_lines import write_objects
from pfgen_rs.judge.formats.imported import Imported
from pfgen_rs.judge.pairs import read_humans, write_pairs
from pfgen_rs.judge.verdict_folder import VerdictFolder, open_verdict_folder

__all__ = ["HUMANS", "read_folder", "write_folder"]

HUMANS = "humans.jsonl"
"""Verdicts of people in a verdict folder, where `read_folder` looks for them."""
_JUDGMENTS = "judgments.jsonl"


def write_folder(out: str | os.PathLike[str], imported: Imported) -> None:
    """Write a new verdict folder with the judgments of one judge, and `humans.jsonl` if there are raters.

    Without judgments there are only pairs and raters. Raises `InputError` if there are several judges, and
    `OutputError` if the folder has anything in it.
    """
    chosen, folder = imported.of_judge(None), Path(out)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(f"{folder}: already exists: choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise writing_failed(folder, error) from error
    if chosen.humans:
        write_objects(
            folder / HUMANS,
            ({"id": pair, "rater": rater, "verdict": each} for pair, rater, each in chosen.humans),
        )
    if not chosen.judgments:
        write_pairs(folder / "pairs.jsonl", chosen.pairs)
        return
    open_verdict_folder(folder, _imported_config(chosen.judgments[0]), chosen.pairs)
    write_objects(folder / _JUDGMENTS, chosen.judgments)


def _imported_config(judgment: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "pairwise",
        "judge": judgment["judge"],
        "prompt": {"name": judgment["prompt"]},
    }


def read_folder(path: str | os.PathLike[str]) -> Imported:
    """Read a verdict folder: pairs, the last judgment of each pair in each order, and raters if it has them.

    Samples after the first are left out, and so are judgments of other texts than the pairs' present ones,
    with notes. Raises `InputError`.
    """
    folder = VerdictFolder(path)
    pairs = folder.pairs()
    known = {pair.id for pair in pairs}
    others = 0
    for judgment in folder.judgments():
        if judgment.get("pair") not in known:
            raise InputError(
                f"has a judgment of an unknown pair {judgment.get('pair')!r:.80}",
                path=folder.path / _JUDGMENTS,
            )
        others += bool(judgment.get("sample", 0))
    last = {(each["pair"], each["order"]): each for each in folder.present_judgments()}
    humans = folder.path / HUMANS
    rows = read_humans(humans, known).rows() if humans.is_file() else []
    counts = f"{counted(others, 'judgment')} of further samples {plural(others, 'was', 'were')}"
    notes = [f"{counts} left out"] if others else []
    notes += replace(folder.read()[1], unbound=0).notes()  # files of others bind nothing to texts
    return Imported(pairs, list(last.values()), rows, tuple(notes))
