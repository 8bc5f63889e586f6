"""Results of finished steps on disk, which later builds reuse.

They are named by the step and its key: a digest of everything that the result depends on. The key of a step
is made of that of the step before it and of its own settings; the first of a question is that of its
candidates. Equal keys mean equal results.

A step's arrays are written first and its record last, each atomically: a record implies a finished step. Its
pool, which may be that of an earlier step, is beside it.
"""

import hashlib
import io
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from pfgen_rs.errors import BuildError
from pfgen_rs.io import atomic, locks
from pfgen_rs.lazy import np
from pfgen_rs.references.steps import Pool, State, StepReport, damaged

CANDIDATES = "candidates"
"""What the state before the first step is recorded as."""
_KEY_DIGITS = 20  # 80 bits


def key_of(*parts: Any) -> str:
    """Returns the key of what depends on these parts, which are JSON."""
    content = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:_KEY_DIGITS]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create and lock `folder`; raises `BuildError` if another build is using it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise atomic.writing_failed(folder, error) from error
    with locks.locked(folder, wait=False) as is_free:
        if not is_free:
            raise BuildError(f"{folder}: another build of this set is running; wait until it ends")
        yield


class Checkpoints:
    """The checkpoints of one question, stored in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

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
            data = json.loads(record.read_bytes())
            with np.load(record.with_suffix(".npz"), allow_pickle=False) as arrays:
                kept = np.unpackbits(arrays["kept"], count=data["rows"]).astype(np.bool_)
                weights = arrays.get("weights")
            pool = Pool(self._folder / data["pool"])
            report = StepReport.from_dict(data["report"])
        except (OSError, ValueError, LookupError, TypeError, BadZipFile) as error:
            raise damaged(record) from error
        if len(kept) and not pool.folder.is_dir():
            return None
        return State(pool, kept, weights), report

    def save(self, key: str, state: State, report: StepReport) -> None:
        """Record a finished step."""
        arrays: dict[str, Any] = {"kept": np.packbits(state.kept)}
        if state.weights is not None:
            arrays["weights"] = state.weights
        content = io.BytesIO()
        np.savez(content, **arrays)
        record = self._record(report.step, key)
        atomic.write_atomic(record.with_suffix(".npz"), content.getvalue())
        pool = state.pool.folder.relative_to(self._folder).as_posix()
        data = {"rows": len(state.kept), "pool": pool, "report": asdict(report)}
        atomic.write_atomic(record, json.dumps(data, ensure_ascii=False).encode())

    def prune(self, *needed: Path) -> None:
        """Remove other pools of the steps of those needed, and the steps of other builds that need these."""
        steps = {pool.name.partition("-")[0] for pool in needed}
        pools = (pool for pool in self._folder.glob("*/") if pool not in needed)
        others = {pool for pool in pools if pool.name.partition("-")[0] in steps}
        for record in self._folder.glob("*.json") if others else ():
            try:
                pool = self._folder / json.loads(record.read_bytes())["pool"]
            except (OSError, ValueError, LookupError, TypeError):
                continue
            if pool in others:
                record.unlink(missing_ok=True)
                record.with_suffix(".npz").unlink(missing_ok=True)
        for pool in others:
            shutil.rmtree(pool, ignore_errors=True)

    def _record(self, step: str, key: str) -> Path:
        return self._folder / f"{step}-{key}.json"
