"""Results of finished steps on disk, from which an interrupted build can resume.

A step's arrays are written first and its record last, each atomically, so a record implies a finished step.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from pfgen_rs.errors import BuildError, OutputError
from pfgen_rs.io import write_atomic, writing_failed
from pfgen_rs.references.funnel import StepReport
from pfgen_rs.references.pool import Pool, State, damaged

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Checkpoints", "locked", "open_folder", "remove"]

_MANIFEST = "manifest.json"


def open_folder(folder: Path, about: Mapping[str, Any], *, resume: bool) -> bool:
    """Prepare `folder` for a build that depends on `about`; returns whether it can be resumed.

    Files of a different build, or of any build unless `resume` is set, are removed.
    """
    manifest = folder / _MANIFEST
    content = json.dumps(about, sort_keys=True, ensure_ascii=False).encode()
    if resume and manifest.is_file() and manifest.read_bytes() == content:
        return True
    for left in folder.iterdir():
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    write_atomic(manifest, content)
    return False


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create and lock `folder`; raises `BuildError` if another build is using it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if fcntl is None:
            yield
            return
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise writing_failed(folder, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise BuildError(
            f"{folder}: another build of this set is running; wait until it ends"
        ) from None
    try:
        yield
    finally:
        os.close(handle)


class Checkpoints:
    """The checkpoints of one question, stored in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def pool_folder(self, number: int, step: str) -> Path:
        """Returns the folder for a step's new pool, after removing leftovers of an interrupted build."""
        folder = self._folder / f"{number}-{step}"
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def load(self, number: int, step: str) -> tuple[State, StepReport] | None:
        """Returns the state after a finished step and its report, or `None` if the step has not finished."""
        record = self._folder / f"{number}-{step}.json"
        if not record.is_file():
            return None
        try:
            return self._loaded(record)
        except (OSError, ValueError, LookupError, TypeError, BadZipFile) as error:
            raise damaged(record) from error

    def _loaded(self, record: Path) -> tuple[State, StepReport]:
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
    """Remove all checkpoints; raises `OutputError` on failure."""
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be removed: {error.strerror or error}") from error
