"""The folder of a site: only its files are overwritten and removed, and what has not changed can stay."""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any

import pfgen_rs
from pfgen_rs import _native, errors
from pfgen_rs.io.atomic import remove_unfinished, write_atomic, writing_failed
from pfgen_rs.io.locks import alone_with

_EVERY = 5  # seconds between two markers, while a site is made
_LOCK = ".pfgen-site.lock"  # there while a process writes, and after one that was killed


State = list[int]
"""Size of a file, and when it was last changed, in nanoseconds."""


@dataclass(frozen=True)
class Part:
    """Files that are made of the same: `key` is a digest of that, `value` what other parts need of it."""

    key: str
    files: dict[str, State]
    value: Any = None


@dataclass
class Marker:
    """What the file says. `whole`: digest of what the whole site is made of, once it is complete."""

    files: set[str] = field(default_factory=set)
    parts: dict[str, Part] = field(default_factory=dict)
    whole: str | None = None

    @classmethod
    def read(cls, path: Path) -> "Marker | None":
        """Read it; `None` if there is none. Of a damaged one, what is left: the folder is a site's anyway."""
        try:
            content = json.loads(path.read_bytes())
            names = content["files"]
            files = {name for name in names if isinstance(name, str)}
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return cls()
        parts, whole = content.get("parts"), content.get("whole")
        if parts is None or content.get("digest") != digest_of(parts, whole):
            return cls(files)  # damaged, or of a site without parts
        return cls(files, {name: Part(*part) for name, part in parts.items()}, whole)

    def content(self) -> bytes:
        """Returns the file's content."""
        listing = {"about": _ABOUT, "files": sorted(self.files)}
        if not self.parts:
            return (json.dumps(listing, indent=0) + "\n").encode()
        parts = {
            name: [part.key, part.files, part.value] for name, part in sorted(self.parts.items())
        }
        remembered = {"parts": parts, "whole": self.whole}
        remembered["digest"] = digest_of(parts, self.whole)
        return (json.dumps({**listing, **remembered}, separators=(",", ":")) + "\n").encode()


class SiteFolder:
    """A folder for a site, which any thread may write to.

    It must be new, empty, or have the marker of an earlier site; otherwise `OutputError` is raised before any
    file is touched. Files are written atomically, and only if their content changes.

    Parts of the site are files with the key of what they are made of. `kept` says whether those of the
    earlier site can stay; they are recognised by size and time. `anew`: none can. The marker lists files
    before they change, and what is remembered is written now and then, so that a site that was interrupted is
    gone on with, and none of its files is forgotten.
    """

    def __init__(self, place: str | os.PathLike[str], *, anew: bool = False) -> None:
        self.place = Path(place)
        self._marker = self.place / MARKER
        self._anew = anew
        self._lock = Lock()
        self._saved = time.monotonic()
        self._new = Marker()
        self._planned: set[str] = set()
        self._listed: set[str] | None = None  # by the marker of the unfinished site
        self._before = self._read()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other processes from writing this site; raises `OutputError` while one does so."""
        try:
            self.place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise writing_failed(self.place, error) from error
        with alone_with(self.place / _LOCK) as is_alone:
            if not is_alone:
                raise errors.OutputError(
                    f"{self.place}: another process is writing this site: try again when it has finished"
                )
            self._before = self._read()  # another process may just have finished
            yield

    def plan(self, names: Iterable[str]) -> None:
        """Say which files may be written next; without this, those of the last seconds may be forgotten."""
        with self._lock:
            self._planned.update(names)
            if self._listed is not None and not self._planned <= self._listed:
                self._save_unfinished()

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
                self._save_unfinished()
        return part

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return self._state(name) is not None

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the site; `name` is its path within the folder, with slashes."""
        path = self.place / name
        is_written = _is_there(path, content)
        with self._lock:
            self._new.files.add(name)
            if not is_written:
                self._announce(name)
        if not is_written:
            write_atomic(path, content)

    def finish(self, whole: str | None = None) -> None:
        """Remove files of the earlier site that this one does not have, and write the marker.

        `whole`: for `is_whole`; without it, what was remembered may stay, but is looked at again.
        """
        gone = self._before.files - self._new.files
        is_left = self._before.whole is None  # else nothing but the marker was begun
        for name in {MARKER, *gone, *(self._new.files if is_left else ())}:
            self._clean(name, is_gone=name in gone)
        self._new.whole = whole
        content = self._new.content()
        if not _is_there(self._marker, content):
            write_atomic(self._marker, content)

    def _read(self) -> Marker:
        """Returns the marker of the earlier site, or an empty one; raises `OutputError` for other folders."""
        found = Marker.read(self._marker)
        if found is None:
            self._refuse_foreign()
        if found is None or self._anew:
            return Marker(found.files if found else set())
        return found

    def _announce(self, name: str) -> None:
        """Have the marker list a file that is about to change, or soon if others were listed just now."""
        is_due = self._listed is None or time.monotonic() - self._saved > _EVERY
        if is_due and (self._listed is None or name not in self._listed):
            self._save_unfinished()

    def _save_unfinished(self) -> None:
        """Write what is remembered, with all files that the site had or will have."""
        listed = self._before.files | self._planned | self._new.files
        write_atomic(
            self._marker, Marker(listed, {**self._before.parts, **self._new.parts}).content()
        )
        self._listed = listed
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
            is_foreign = any(path.name != _LOCK for path in self.place.iterdir())
        except FileNotFoundError:
            return
        except NotADirectoryError:
            raise errors.OutputError(
                f"{self.place}: not a directory: choose a new or empty folder"
            ) from None
        except OSError as error:
            raise errors.OutputError(f"{self.place}: {errors.unreadable(error)}") from error
        if is_foreign:
            raise errors.OutputError(
                f"{self.place}: not empty and not a site ({MARKER} is missing), so nothing was written: "
                "choose a new or empty folder"
            )

    def _clean(self, name: str, *, is_gone: bool) -> None:
        """Remove temporary files of a listed file; if it is gone from the site, itself and empty folders.

        Not outside the folder, links included.
        """
        parts = PurePosixPath(name).parts
        path = self.place.joinpath(*parts)
        with suppress(OSError, ValueError):  # it is gone, stays, or is no name: either harms nobody
            if ".." in parts or not path.parent.resolve().is_relative_to(self.place.resolve()):
                return
            remove_unfinished(path)
            if is_gone:
                path.unlink(missing_ok=True)
                for parent in path.parents[: len(parts) - 1]:
                    parent.rmdir()


def _is_there(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False  # it is not there; why else it could not be read, writing will say


# The file that makes a folder a site: it lists the files, and remembers what each part was made of.


MARKER = ".pfgen-site.json"
"""The file that lists the others: sorted paths within the folder, with slashes."""

_ABOUT = "Files of a site written by pfgen-rs, which updates and removes these alone."
_TEXTS = {".py", ".toml", ".js", ".css", ".svg", ".j2"}


def digest_of(*values: Any) -> str:
    """Returns a digest of values of JSON types."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def files_digest(paths: Iterable[Path]) -> str:
    """Returns a digest of the contents of files, in this order; those that cannot be read have none."""
    found = hashlib.sha256()
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError:
            found.update(b"-\n")
            continue
        found.update(b"%d\n" % len(content))
        found.update(content)
    return found.hexdigest()


@cache
def code_digest() -> str:
    """Returns a digest of all that makes pages: the version, and the package's texts."""
    package = Path(pfgen_rs.__file__).parent
    texts = sorted(path for path in package.rglob("*.*") if path.suffix in _TEXTS)
    return digest_of(_native.__version__, files_digest(texts))


# Names of runs in a site: of their folders, and as people read them.


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 60
_PREFIX = "result/"


def slug(name: str) -> str:
    """Returns a folder name for any text: its readable part, and eight digits of its SHA-256.

    Because of the digits, no two runs share a folder, even on file systems that ignore case, and links stay
    valid when other runs are added or removed.

    >>> slug("result/ACME/写本-7b/0a1b2c3")
    'ACME-7b-0a1b2c3-cb0d98e0'
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    safe = _UNSAFE.sub("-", name.removeprefix(_PREFIX))
    readable = re.sub(r"-{2,}", "-", safe)[-_LONGEST:].strip("-.")
    return f"{readable}-{digest}" if readable else digest
