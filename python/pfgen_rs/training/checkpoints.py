"""Finding checkpoints in a folder, and detecting which are complete."""

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pfgen_rs import errors

PATTERNS = ("step_*", "checkpoint-*")  # the second is that of transformers' `Trainer`


class Checkpoint(NamedTuple):
    """A folder with a model, and the step in its name."""

    step: int
    path: Path


# As in epoch=1-step=500, global_step500, iter_0000500 (Megatron); else the last number counts.
_STEPS = (
    r"(?i:step)[=_-]?([0-9]{1,18})",
    r"(?i:iter(?:ation)?)[=_-]?([0-9]{1,18})",
    r"([0-9]{1,18})",
)
# Path, size and modification time (ns) of every file.
Print = tuple[tuple[str, int, int], ...]


def find_checkpoints(folder: str | os.PathLike[str], *patterns: str) -> list[Checkpoint]:
    """Returns the folders in `folder` that match one of these globs, by step.

    The step is the number behind `step` or `iter` in a name, else the last number. Names without a step are
    ignored; of folders with the same step, the first by name is used. Raises `InputError` if `folder` cannot
    be read.
    """
    try:
        with os.scandir(folder) as entries:
            paths = [Path(entry.path) for entry in entries if entry.is_dir()]
    except OSError as error:
        raise errors.InputError(errors.unreadable(error), path=Path(folder)) from error
    found: dict[int, Path] = {}
    for path in sorted(path for path in paths if any(map(path.match, patterns))):
        steps = next(filter(None, (re.findall(form, path.name) for form in _STEPS)), None)
        if steps:
            found.setdefault(int(steps[-1]), path)
    return [Checkpoint(step, found[step]) for step in sorted(found)]


class Settling:
    """Detects whether a checkpoint is complete.

    A checkpoint is complete if it contains the file `marker` or, without `marker`, if the sizes and
    modification times of its files have not changed for at least `seconds` between two calls.
    """

    def __init__(self, seconds: float, marker: str | None = None) -> None:
        self._seconds, self._marker = seconds, marker
        self._seen: dict[Path, tuple[Print, float]] = {}

    def settled(self, path: Path) -> Print | None:
        """Returns the files of a complete checkpoint, or `None` if it may still be written to."""
        now, files = time.monotonic(), _files(path)
        if self._marker is not None:
            return files if (path / self._marker).exists() else None
        before, since = self._seen.get(path, ((), now))
        if files != before:
            since = now
        self._seen[path] = files, since
        return files if files and now - since >= self._seconds else None


def _files(path: Path) -> Print:
    found: list[tuple[str, int, int]] = []
    for folder, _, names in os.walk(path):
        for name in names:
            place = os.path.join(folder, name)  # noqa: PTH118 - `os.walk` returns strings
            with suppress(OSError):  # just removed: being written, and the next call will differ
                about = os.stat(place)  # noqa: PTH116
                found.append((place, about.st_size, about.st_mtime_ns))
    return tuple(sorted(found))
