"""The folder of a site: only its files are overwritten and removed, and what has not changed can stay."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any

from pfgen_rs.errors import OutputError, unreadable
from pfgen_rs.io import write_atomic
from pfgen_rs.io.atomic import remove_unfinished
from pfgen_rs.report.site.marker import MARKER, Marker, Part, State

__all__ = ["MARKER", "SiteFolder"]

_EVERY = 5  # seconds between two markers, while a site is made


class SiteFolder:
    """A folder for a site, which any thread may write to.

    It must be new, empty, or have the marker of an earlier site; otherwise `OutputError` is raised before any
    file is touched. Files are written atomically, and only if their content changes.

    Parts of the site are files with the key of what they are made of. `kept` says whether those of the
    earlier site can stay; they are recognised by size and time. What is remembered is written now and then,
    so that a site that was interrupted is gone on with.
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = Path(place)
        self._marker = self.place / MARKER
        self._lock = Lock()
        self._saved = time.monotonic()
        self._new = Marker()
        before = Marker.read(self._marker)
        if before is None:
            self._refuse_foreign()
            write_atomic(
                self._marker, self._new.content()
            )  # so that it is known as ours from now on
        self._before = before or Marker()

    def is_whole(self, key: str) -> bool:
        """Whether the earlier site is complete, made of the same, and all of its files are as they were."""
        parts = self._before.parts.values()
        named = {name for part in parts for name in part.files}
        return (
            self._before.whole == key
            and named == self._before.files
            and all(self._is_unchanged(part) for part in parts)
        )

    def kept(self, name: str, key: str) -> Part | None:
        """Keep a part of the earlier site, if it has the same key and its files are as they were."""
        found = self._before.parts.get(name)
        if found is None or found.key != key or not self._is_unchanged(found):
            return None
        with self._lock:
            self._new.parts[name] = found
            self._new.files.update(found.files)
        return found

    def remember(self, name: str, key: str, files: Iterable[str], value: Any = None) -> Part:
        """Remember a part whose files were just written; `value` has JSON types."""
        states = {file: self._state(file) for file in files}
        part = Part(key, {file: state for file, state in states.items() if state}, value)
        with self._lock:
            self._new.parts[name] = part
            if time.monotonic() - self._saved > _EVERY:
                self._save(self._before.files)
        return part

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return self._state(name) is not None

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the site; `name` is its path within the folder, with slashes."""
        with self._lock:
            self._new.files.add(name)
        path = self.place / name
        if self._before.whole is None and path.parent.is_dir():
            remove_unfinished(path)  # of the site that was interrupted
        _write_into_site_folder(path, content)

    def finish(self, whole: str | None = None) -> None:
        """Remove files of the earlier site that this one does not have, and write the marker.

        `whole`: for `is_whole`; without it, what was remembered may stay, but is looked at again.
        """
        for name in self._before.files - self._new.files:
            self._remove(name)
        self._new.whole = whole
        self._save()

    def _save(self, more: Iterable[str] = ()) -> None:
        """Write what is remembered, with `more` files that the site may still have."""
        written = Marker(self._new.files.union(more), self._new.parts, self._new.whole)
        _write_into_site_folder(self._marker, written.content())
        self._saved = time.monotonic()

    def _is_unchanged(self, part: Part) -> bool:
        return all(self._state(name) == state for name, state in part.files.items())

    def _state(self, name: str) -> State | None:
        try:
            found = os.stat(self.place / name)  # noqa: PTH116 - many files, and paths are slow
        except (OSError, ValueError):
            return None
        return [found.st_size, found.st_mtime_ns]

    def _refuse_foreign(self) -> None:
        try:
            is_foreign = next(self.place.iterdir(), None) is not None
        except FileNotFoundError:
            return
        except NotADirectoryError:
            raise OutputError(
                f"{self.place}: not a directory: choose a new or empty folder"
            ) from None
        except OSError as error:
            raise OutputError(f"{self.place}: {unreadable(error)}") from error
        if is_foreign:
            raise OutputError(
                f"{self.place}: not empty and not a site ({MARKER} is missing), so nothing was written: "
                "choose a new or empty folder"
            )

    def _remove(self, name: str) -> None:
        """Remove a listed file, unless it is outside the folder (links included), and folders left empty."""
        parts = PurePosixPath(name).parts
        path = self.place.joinpath(*parts)
        home = self.place.resolve()
        with suppress(OSError, ValueError):  # it is gone, stays, or is no name: either harms nobody
            if ".." in parts or not path.parent.resolve().is_relative_to(home):
                return
            path.unlink()
            for parent in path.parents[: len(parts) - 1]:
                parent.rmdir()


def _write_into_site_folder(path: Path, content: bytes) -> None:
    try:
        if path.read_bytes() == content:
            return
    except OSError:
        pass  # it is not there; why else it could not be read, writing will say
    write_atomic(path, content)
