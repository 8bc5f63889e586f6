"""Copies in the folder for temporary files, which go with their last user, or at the end of the process."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from typing import IO, cast

__all__ = ["remove_temporary_files", "temporary_copy"]

_THERE: set[str] = set()


def temporary_copy(suffix: str) -> IO[bytes]:
    """Returns a new file with a name, which is removed when it is closed. Raises `OSError`."""
    import tempfile  # only pipes and remote files need it

    file = tempfile.NamedTemporaryFile(prefix="pfgen-rs-", suffix=suffix)  # noqa: SIM115 - for its user
    _THERE.add(file.name)
    weakref.finalize(file, _THERE.discard, file.name)
    return cast("IO[bytes]", file)


def remove_temporary_files() -> None:
    """Remove all copies, for a process that ends without cleaning up."""
    for name in list(_THERE):
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108 - a name that is gone is fine
