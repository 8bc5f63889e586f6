"""Writes files atomically: they appear complete or not at all."""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pfgen_rs.errors import OutputError

__all__ = ["append", "new_file", "remove_unfinished", "write_atomic", "writing_failed"]


def writing_failed(path: Path, error: OSError) -> OutputError:
    """Returns the error to raise if `path` cannot be written."""
    return OutputError(f"{path}: cannot be written: {error.strerror or error}")


def new_file(path: Path) -> tuple[Path, IO[bytes]]:
    """Create a temporary file beside `path`, which is to replace it."""
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Opened here rather than by `tempfile`, so that the umask applies: querying the umask would change
        # it for all threads.
        return temporary, temporary.open("xb")
    except OSError as error:
        raise writing_failed(path, error) from error


def remove_unfinished(path: Path) -> None:
    """Remove temporary files of killed writers of `path`. Nobody else may be writing it."""
    for temporary in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        temporary.unlink(missing_ok=True)


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
def _atomic_replacement(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` on success, and is removed otherwise."""
    temporary, file = new_file(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise writing_failed(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_atomic(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file atomically. Raises `OutputError` on failure, leaving an existing file unchanged."""
    with _atomic_replacement(Path(path)) as file:
        file.write(content)
