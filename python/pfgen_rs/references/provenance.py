"""Where a set comes from: every input, setting, count and reason, in one file beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pfgen_rs import _native
from pfgen_rs.errors import InputError, OutputError, unreadable
from pfgen_rs.io import write_atomic
from pfgen_rs.references.candidates import Gathered, Input
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.normalise import Style
from pfgen_rs.references.outlines import Outline
from pfgen_rs.references.writing import BuiltQuestion, built_names

__all__ = [
    "has_gathered",
    "load_gathered",
    "provenance",
    "refuse_foreign",
    "save_gathered",
    "settings",
    "state_of",
]

_GATHERED = "gathered.json"


def settings(config: BuildConfig) -> dict[str, Any]:
    """All settings that decide what comes out, as they are used; but not where files lie."""
    found = asdict(config)
    for key in ("folder", "out", "candidates", "questions"):
        del found[key]
    return found


def provenance(
    config: BuildConfig, style: Style, inputs: Sequence[Input], questions: Sequence[BuiltQuestion]
) -> dict[str, Any]:
    """The content of the file: no times, no folders, so that the same build gives the same bytes."""
    return {
        "name": config.name or Path(config.out).name,
        "pfgen_rs": _native.__version__,
        "settings": settings(config),
        "style": style.digest,
        "inputs": [asdict(each) for each in inputs],
        "questions": {each.outline.question_id: _question(each) for each in questions},
    }


def _question(question: BuiltQuestion) -> dict[str, Any]:
    return {
        "question": question.outline.question,
        "candidates": question.candidates,
        "models": dict(question.models),
        "steps": [report.to_dict() for report in question.reports],
        "answers": {source: len(answers) for source, answers in question.answers.items()},
    }


def refuse_foreign(folder: Path, work: Path, only: Sequence[str]) -> None:
    """Raise `OutputError` where a set cannot, or must not, be written into `folder`.

    Question files that no build has written are not touched (an interrupted build has left its `work` folder
    and, perhaps, some files), and a build of some questions does not take the others away.
    """
    _refuse_unwritable(folder)
    built = built_names(folder)
    if not work.is_dir():
        for path in sorted(folder.glob("Q*.json*")):
            if path.name not in built and path.with_suffix("").name not in built:
                raise OutputError(
                    f"{folder}: has question files that were not built (such as {path.name}); "
                    "name another folder"
                )
    others = sorted(built - {f"{question_id}.json" for question_id in only})
    if only and others:
        raise OutputError(
            f"{folder}: holds a set with other questions, too ({Path(others[0]).stem}, …), which a build "
            "of some questions would take away; name another folder (--out)"
        )


def _refuse_unwritable(folder: Path) -> None:
    """Say before the work what would go wrong after it."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: not a directory: choose another")
    for place in (folder, *folder.parents):
        if place.exists():
            if not os.access(place, os.W_OK | os.X_OK):
                raise OutputError(f"{place}: not writable: choose another folder")
            return


def state_of(path: str) -> tuple[int, int]:
    """What changes when a file does: its size and the time of its last change, in ns."""
    if path == "-":
        return 0, 0
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    return found.st_size, found.st_mtime_ns


def has_gathered(folder: Path) -> bool:
    """Whether all candidates were sorted into pools."""
    return (folder / _GATHERED).is_file()


def save_gathered(folder: Path, gathered: Gathered) -> None:
    """Record that all candidates are sorted into pools."""
    questions = [[asdict(outline), count] for outline, count in gathered.questions]
    data = {"inputs": [asdict(each) for each in gathered.inputs], "questions": questions}
    write_atomic(folder / _GATHERED, json.dumps(data, ensure_ascii=False).encode())


def load_gathered(folder: Path) -> Gathered | None:
    """What `save_gathered` recorded."""
    path = folder / _GATHERED
    if not path.is_file():
        return None
    data = json.loads(path.read_bytes())
    questions = [(Outline(**outline), count) for outline, count in data["questions"]]
    return Gathered([Input(**each) for each in data["inputs"]], questions)
