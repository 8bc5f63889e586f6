"""Copies in the folder for temporary files, which go with their last user, or at the end of the process."""

from __future__ import annotations

import atexit
import io
import os
from contextlib import suppress
from typing import IO

__all__ = ["remove_temporary_files", "temporary_copy"]

_THERE: set[str] = set()


def temporary_copy(suffix: str) -> IO[bytes]:
    """Returns a new file with a name, which is removed when it is closed. Raises `OSError`."""
    import tempfile  # only pipes and remote files need it

    return _Copy(*tempfile.mkstemp(prefix="pfgen-rs-", suffix=suffix))


class _Copy(io.BufferedRandom):
    """A file that is removed when it is closed.

    Unlike those of `tempfile`, it can be opened once more by its name on Windows. There, a file that is open
    or mapped elsewhere stays until the process ends.
    """

    def __init__(self, handle: int, path: str) -> None:
        self._path = path
        _THERE.add(path)
        super().__init__(io.FileIO(handle, "r+b"))

    @property
    def name(self) -> str:
        """The path."""
        return self._path

    def close(self) -> None:
        """Close and remove the file."""
        try:
            super().close()
        finally:
            _remove_temporary_file(self._path)


def remove_temporary_files() -> None:
    """Remove all copies, for a process that ends without cleaning up."""
    for name in list(_THERE):
        _remove_temporary_file(name)


def _remove_temporary_file(name: str) -> None:
    if name in _THERE:
        with suppress(PermissionError):  # on Windows, it is open elsewhere
            with suppress(FileNotFoundError):
                os.unlink(name)  # noqa: PTH108 - a copy may be closed when most of Python has ended
            _THERE.discard(name)


atexit.register(remove_temporary_files)
if hasattr(os, "register_at_fork"):  # a fork leaves them to this process
    os.register_at_fork(after_in_child=_THERE.clear)
