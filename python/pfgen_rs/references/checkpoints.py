"""What finished steps have left, on disk: a build that was killed goes on from there.

A step's arrays are written first and its record last, each whole or not at all: a record stands for a
finished step.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pfgen_rs.errors import OutputError
from pfgen_rs.io import write_atomic
from pfgen_rs.references.funnel import StepReport
from pfgen_rs.references.pool import Pool, State

__all__ = ["Checkpoints", "open_folder"]

_MANIFEST = "manifest.json"


def open_folder(folder: Path, about: Mapping[str, Any], *, resume: bool) -> bool:
    """Make `folder` ready for a build that depends on `about`; whether there is something to go on from.

    What was left by another build, or when not resuming, is removed.
    """
    manifest = folder / _MANIFEST
    content = json.dumps(about, sort_keys=True, ensure_ascii=False).encode()
    if resume and manifest.is_file() and manifest.read_bytes() == content:
        return True
    shutil.rmtree(folder, ignore_errors=True)
    write_atomic(manifest, content)
    return False


class Checkpoints:
    """The records of one question in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def pool_folder(self, number: int, step: str) -> Path:
        """Where a step puts a new pool; what an interrupted one left there is removed."""
        folder = self._folder / f"{number}-{step}"
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def load(self, number: int, step: str) -> tuple[State, StepReport] | None:
        """The state after a finished step, and its report."""
        record = self._folder / f"{number}-{step}.json"
        if not record.is_file():
            return None
        data = json.loads(record.read_bytes())
        with np.load(record.with_suffix(".npz"), allow_pickle=False) as arrays:
            kept = np.unpackbits(arrays["kept"], count=data["rows"]).astype(np.bool_)
            weights = arrays.get("weights")
        pool = Pool(self._folder / data["pool"])
        return State(pool, kept, weights), StepReport.from_dict(data["report"])

    def save(self, number: int, state: State, report: StepReport) -> None:
        """Record a finished step."""
        arrays: dict[str, Any] = {"kept": np.packbits(state.kept)}
        if state.weights is not None:
            arrays["weights"] = state.weights
        content = io.BytesIO()
        np.savez(content, **arrays)
        record = self._folder / f"{number}-{report.step}.json"
        write_atomic(record.with_suffix(".npz"), content.getvalue())
        pool = state.pool.folder.relative_to(self._folder).as_posix()
        data = {"rows": len(state.kept), "pool": pool, "report": report.to_dict()}
        write_atomic(record, json.dumps(data, ensure_ascii=False).encode())


def remove(folder: Path) -> None:
    """Remove all that is kept for going on; `OutputError` where that fails."""
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be removed: {error.strerror or error}") from error
