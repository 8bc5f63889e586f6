"""The folder of a site: only files of the site are overwritten and removed."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

from pfgen_rs.errors import OutputError, unreadable
from pfgen_rs.io import write_atomic

__all__ = ["MARKER", "SiteFolder"]

MARKER = ".pfgen-site.json"
"""The file that lists the others: sorted paths within the folder, with slashes."""


class SiteFolder:
    """A folder for a site, which any thread may write to.

    It must be new, empty, or have the marker of an earlier site; otherwise `OutputError` is raised before any
    file is touched. Files are written atomically, and only if their content changes.
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = Path(place)
        self._marker = self.place / MARKER
        self._before = self._listed()
        self._written: set[str] = set()
        if self._before is None:
            self._refuse_foreign()
            write_atomic(
                self._marker, _site_folder_listing(())
            )  # so that a site that was interrupted is known as ours

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the site; `name` is its path within the folder, with slashes."""
        self._written.add(name)
        _write_into_site_folder(self.place / name, content)

    def finish(self) -> None:
        """Remove files of the earlier site that this one does not have, and write the marker."""
        for name in (self._before or set()) - self._written:
            self._remove(name)
        _write_into_site_folder(self._marker, _site_folder_listing(self._written))

    def _listed(self) -> set[str] | None:
        """Returns the files of the earlier site; `None` without a marker."""
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


def _site_folder_listing(names: set[str] | tuple[()]) -> bytes:
    about = "Files of a site written by pfgen-rs, which updates and removes these alone."
    return (json.dumps({"about": about, "files": sorted(names)}, indent=0) + "\n").encode()


def _write_into_site_folder(path: Path, content: bytes) -> None:
    try:
        if path.read_bytes() == content:
            return
    except OSError:
        pass  # it is not there; why else it could not be read, writing will say
    write_atomic(path, content)
