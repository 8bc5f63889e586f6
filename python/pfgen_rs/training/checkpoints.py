"""Finding checkpoints in a folder, and detecting which are complete."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pfgen_rs.errors import InputError, SettingsError, unreadable

__all__ = ["Checkpoint", "Settling", "find_checkpoints"]

_STEP = "{step}"
_NUMBER = r"([0-9]{1,18})"
# As in epoch=1-step=500, global_step500, iter_0000500 (Megatron); else the last number counts.
_USUAL = [rf"(?i:step)[=_-]?{_NUMBER}", rf"(?i:iter(?:ation)?)[=_-]?{_NUMBER}", _NUMBER]
# Path, size and modification time (ns) of every file.
Print = tuple[tuple[str, int, int], ...]


class Checkpoint(NamedTuple):
    """A folder with a model, and the step in its name."""

    step: int
    path: Path


def find_checkpoints(
    folder: str | os.PathLike[str], *patterns: str, step: str | None = None
) -> list[Checkpoint]:
    """Returns the folders in `folder` that match one of these globs, by step.

    `step`: the part of a name that has the step, such as `step={step}` (default: the number behind `step` or
    `iter`, else the last number). Names without a step are ignored; of folders with the same step, the first
    by name is used. Raises `SettingsError` if `step` lacks `{step}`, and `InputError` if `folder` cannot be
    read.
    """
    forms = _USUAL if step is None else [_step_form(step)]
    try:
        with os.scandir(folder) as entries:
            paths = [Path(entry.path) for entry in entries if entry.is_dir()]
    except OSError as error:
        raise InputError(unreadable(error), path=Path(folder)) from error
    found: dict[int, Path] = {}
    for path in sorted(path for path in paths if any(map(path.match, patterns))):
        steps = next(filter(None, (re.findall(form, path.name) for form in forms)), None)
        if steps:
            found.setdefault(int(steps[-1]), path)
    return [Checkpoint(step, found[step]) for step in sorted(found)]


def _step_form(template: str) -> str:
    if template.count(_STEP) != 1:
        raise SettingsError(f"invalid step {template!r}: expected a text with {_STEP} in it")
    before, after = map(re.escape, template.split(_STEP))
    return f"{before}{_NUMBER}{after}"


class Settling:
    """Detects whether a checkpoint is complete.

    A checkpoint is complete if it contains the file `marker` or, without `marker`, if the sizes and
    modification times of its files have not changed for at least `seconds` between two calls.
    """

    def __init__(
        self,
        seconds: float,
        marker: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._marker, self._clock = seconds, marker, clock
        self._seen: dict[Path, tuple[Print, float]] = {}

    def settled(self, path: Path) -> Print | None:
        """Returns the files of a complete checkpoint, or `None` if it may still be written to."""
        now, files = self._clock(), _checkpoint_files(path)
        if self._marker is not None:
            return files if (path / self._marker).exists() else None
        before, since = self._seen.get(path, ((), now))
        if files != before:
            since = now
        self._seen[path] = files, since
        return files if files and now - since >= self._seconds else None


def _checkpoint_files(path: Path) -> Print:
    found: list[tuple[str, int, int]] = []
    for folder, _, names in os.walk(path):
        found += _checkpoint_file_states(folder, names)
    return tuple(sorted(found))


def _checkpoint_file_states(folder: str, names: Sequence[str]) -> list[tuple[str, int, int]]:
    found = []
    for name in names:
        place = os.path.join(folder, name)  # noqa: PTH118 - `os.walk` returns strings
        try:
            about = os.stat(place)  # noqa: PTH116
        except (
            OSError
        ):  # just removed, so the checkpoint is being written, and the next call will differ
            continue
        found.append((place, about.st_size, about.st_mtime_ns))
    return found
