"""The folder of a site: what in it is ours, and nothing else, is overwritten and removed."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

from pfgen_rs.errors import OutputError, unreadable
from pfgen_rs.io import write_atomic

__all__ = ["MARKER", "SiteFolder"]

MARKER = ".pfgen-site.json"
"""A file that lists the others: paths in the folder, with slashes, sorted."""


class SiteFolder:
    """A folder that a site is written into, from any thread.

    It is new, empty, or that of an earlier site, which the marker tells; anything else raises `OutputError`
    before a file is touched. Every file is written whole or not at all, and only where its content changes.
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = Path(place)
        self._marker = self.place / MARKER
        self._before = self._listed()
        self._written: set[str] = set()
        if self._before is None:
            self._refuse_foreign()
            write_atomic(
                self._marker, _content(())
            )  # so that a site that was interrupted is known as ours

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the site; `name` is its path there, with slashes."""
        self._written.add(name)
        _write_changed(self.place / name, content)

    def finish(self) -> None:
        """Remove the files of the earlier site that this one does not have, and list those that it has."""
        for name in (self._before or set()) - self._written:
            self._remove(name)
        _write_changed(self._marker, _content(self._written))

    def _listed(self) -> set[str] | None:
        """The files of the earlier site; `None` where there is no marker."""
        try:
            names = json.loads(self._marker.read_bytes())["files"]
            return {name for name in names if isinstance(name, str)}
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return (
                set()
            )  # damaged: it tells whose folder this is, and nothing is known to be removed

    def _refuse_foreign(self) -> None:
        try:
            is_foreign = next(self.place.iterdir(), None) is not None
        except FileNotFoundError:
            return
        except OSError as error:
            raise OutputError(f"{self.place}: {unreadable(error)}") from error
        if is_foreign:
            raise OutputError(
                f"{self.place}: not empty and not a site ({MARKER} is missing), so nothing was written: "
                "choose a new or empty folder"
            )

    def _remove(self, name: str) -> None:
        """Remove a listed file, unless the list or a link leads out of the folder; and folders left empty."""
        parts = PurePosixPath(name).parts
        path = self.place.joinpath(*parts)
        home = self.place.resolve()
        with suppress(OSError, ValueError):  # it is gone, stays, or is no name: either harms nobody
            if ".." in parts or not path.parent.resolve().is_relative_to(home):
                return
            path.unlink()
            for parent in path.parents[: len(parts) - 1]:
                parent.rmdir()


def _content(names: set[str] | tuple[()]) -> bytes:
    about = "Files of a site written by pfgen-rs, which updates and removes these alone."
    return (json.dumps({"about": about, "files": sorted(names)}, indent=0) + "\n").encode()


def _write_changed(path: Path, content: bytes) -> None:
    try:
        if path.read_bytes() == content:
            return
    except OSError:
        pass  # it is not there; why else it could not be read, writing will say
    write_atomic(path, content)
