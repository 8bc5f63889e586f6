"""Results of finished steps on disk, which later builds reuse.

They are named by the step and its key: a digest of everything that the result depends on. The key of a step
is made of that of the step before it and of its own settings; the first of a question is that of its
candidates. Equal keys mean equal results, except for a selection whose budget is in seconds.

A step's arrays are written first and its record last, each atomically: a record implies a finished step. Its
pool, which may be that of an earlier step, is beside it.
"""

import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from pfgen_rs.errors import BuildError, OutputError
from pfgen_rs.io import locks
from pfgen_rs.io.atomic import write_atomic, writing_failed
from pfgen_rs.references.pool import Pool, State, damaged
from pfgen_rs.references.step import STEPS, StepReport

CANDIDATES = "candidates"
"""What the state before the first step is recorded as."""
_KEY_DIGITS = 20  # 80 bits
_OTHER_POOLS = 1  # of each step and question, besides those of the build that runs


def key_of(*parts: Any) -> str:
    """Returns the key of what depends on these parts, which are JSON."""
    content = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:_KEY_DIGITS]


def finished_steps(folder: Path) -> set[Path]:
    """Returns the records of all finished steps in the working folder of a build."""
    return {
        record
        for record in folder.glob("questions/*/*.json")
        if record.name.partition("-")[0] in STEPS
    }


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create and lock `folder`; raises `BuildError` if another build is using it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise writing_failed(folder, error) from error
    with locks.locked(folder, wait=False) as is_free:
        if not is_free:
            raise BuildError(f"{folder}: another build of this set is running; wait until it ends")
        yield


class Checkpoints:
    """The checkpoints of one question, stored in `folder`; `used` are the records loaded or saved so far.

    `pruned`: the names of the steps of other builds that `prune` removed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.used: set[Path] = set()
        self.pruned: set[str] = set()

    def new_pool(self, step: str, key: str) -> Path:
        """Returns the folder for a step's new pool, after removing what is left of the step, if anything."""
        folder = self.pool(step, key)
        self._record(step, key).unlink(missing_ok=True)  # first: it stands for all the rest
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def pool(self, step: str, key: str) -> Path:
        """Returns the folder of a step's pool."""
        return self._folder / f"{step}-{key}"

    def load(self, step: str, key: str) -> tuple[State, StepReport] | None:
        """Returns the state after a finished step and its report, or `None` if the step has not finished."""
        record = self._record(step, key)
        if not record.is_file():
            return None
        try:
            finished = self._loaded(record)
            os.utime(record)  # pools are removed in the order of their last use
        except (OSError, ValueError, LookupError, TypeError, BadZipFile) as error:
            raise damaged(record) from error
        self.used.add(record)
        return finished

    def _loaded(self, record: Path) -> tuple[State, StepReport] | None:
        data = json.loads(record.read_bytes())
        with np.load(record.with_suffix(".npz"), allow_pickle=False) as arrays:
            kept = np.unpackbits(arrays["kept"], count=data["rows"]).astype(np.bool_)
            weights = arrays.get("weights")
        pool = Pool(self._folder / data["pool"])
        if len(kept) and not pool.folder.is_dir():
            return None
        return State(pool, kept, weights), StepReport.from_dict(data["report"])

    def save(self, key: str, state: State, report: StepReport) -> None:
        """Record a finished step."""
        arrays: dict[str, Any] = {"kept": np.packbits(state.kept)}
        if state.weights is not None:
            arrays["weights"] = state.weights
        content = io.BytesIO()
        np.savez(content, **arrays)
        record = self._record(report.step, key)
        write_atomic(record.with_suffix(".npz"), content.getvalue())
        pool = state.pool.folder.relative_to(self._folder).as_posix()
        data = {"rows": len(state.kept), "pool": pool, "report": report.to_dict()}
        write_atomic(record, json.dumps(data, ensure_ascii=False).encode())
        self.used.add(record)

    def prune(self, *needed: Path) -> None:
        """Remove all pools of other builds but the last used of each step, and the steps that need them.

        `needed`: the pools of this build.
        """
        others: dict[str, list[Path]] = {}
        for pool in self._folder.glob("*/"):
            if pool not in needed:
                others.setdefault(pool.name.partition("-")[0], []).append(pool)
        old = [
            pool
            for pools in others.values()
            for pool in sorted(pools, key=_last_use, reverse=True)[_OTHER_POOLS:]
        ]
        self.pruned |= {pool.name.partition("-")[0] for pool in old}
        for record in self._folder.glob("*.json") if old else ():
            if self._folder / _pool_name(record) in old:
                self.pruned.add(record.name.partition("-")[0])
                record.unlink(missing_ok=True)
                record.with_suffix(".npz").unlink(missing_ok=True)
        for pool in old:
            shutil.rmtree(pool, ignore_errors=True)

    def _record(self, step: str, key: str) -> Path:
        return self._folder / f"{step}-{key}.json"


def _last_use(pool: Path) -> float:
    """Returns when a pool was last used, according to the record of the step that made it."""
    record = pool.with_suffix(".json")
    return record.stat().st_mtime if record.is_file() else 0.0


def _pool_name(record: Path) -> str:
    try:
        return str(json.loads(record.read_bytes())["pool"])
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def remove(folder: Path) -> None:
    """Remove all checkpoints; raises `OutputError` on failure."""
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be removed: {error.strerror or error}") from error
