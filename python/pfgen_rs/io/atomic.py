"""Writes files atomically: they appear complete or not at all."""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from pfgen_rs.errors import OutputError
from pfgen_rs.io.remote.urls import is_url, refused_url
from pfgen_rs.io.system import own, put_in_place, remove_abandoned

__all__ = [
    "append",
    "new_file",
    "remove_unfinished",
    "temporary_file",
    "write_atomic",
    "writing_failed",
]


def writing_failed(path: str | Path, error: OSError) -> OutputError:
    """Returns the error to raise if `path` cannot be written."""
    return OutputError(f"{path}: cannot be written: {error.strerror or error}")


def _refuse_url(path: str | os.PathLike[str]) -> None:
    """Raise `OutputError` for a URL, of which a `Path` would be a folder named like the scheme."""
    if is_url(path):
        raise OutputError(str(refused_url(path, "write a local file, and copy it")))


def new_file(path: Path, *, private: bool = False) -> tuple[Path, IO[bytes]]:
    """Create a temporary file beside `path`, which is to replace it; `private`: for its owner alone.

    Removes those of writers that were killed.
    """
    _refuse_url(path)
    remove_unfinished(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Opened here rather than by `tempfile`, so that the umask applies: querying the umask would change
        # it for all threads.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        while True:
            temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}.tmp"
            file = os.fdopen(os.open(temporary, flags, 0o600 if private else 0o666), "wb")
            if own(file.fileno(), temporary):
                return temporary, file
            file.close()
    except OSError as error:
        raise writing_failed(path, error) from error


def temporary_file(suffix: str) -> tuple[Path, IO[bytes]]:
    """Create a file in the folder for temporary files, to be removed by the caller."""
    import tempfile  # only what is uploaded needs it

    try:
        file = tempfile.NamedTemporaryFile(prefix="pfgen-rs-", suffix=suffix, delete=False)  # noqa: SIM115
    except OSError as error:
        raise writing_failed(tempfile.gettempdir(), error) from error
    return Path(file.name), cast("IO[bytes]", file)


def remove_unfinished(path: Path) -> None:
    """Remove temporary files of killed writers of `path`."""
    for temporary in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        remove_abandoned(temporary)


def append(path: Path, file: IO[bytes], size: int, content: bytes) -> None:
    """Append to an unbuffered file of `size` bytes; on failure it keeps that size. Raises `OutputError`."""
    rest = memoryview(content)
    try:
        while rest:  # a nearly full disk accepts a part before it reports an error
            rest = rest[file.write(rest) :]
    except OSError as error:
        with suppress(OSError):
            file.truncate(size)
        raise writing_failed(path, error) from error


@contextmanager
def _atomic_replacement(path: Path, *, private: bool) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` on success, and is removed otherwise."""
    temporary, file = new_file(path, private=private)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            put_in_place(temporary, path, file)
    except OSError as error:
        raise writing_failed(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_atomic(path: str | os.PathLike[str], content: bytes, *, private: bool = False) -> None:
    """Write a file atomically; `private`: one that its owner alone may read.

    Raises `OutputError` on failure, leaving an existing file unchanged.
    """
    _refuse_url(path)
    with _atomic_replacement(Path(path), private=private) as file:
        file.write(content)
