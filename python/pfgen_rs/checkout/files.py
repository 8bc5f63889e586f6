"""Files of a checkout: written whole or not at all, and only where that changes them."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

__all__ = ["sweep", "write_changed"]

_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")


def write_changed(path: Path, content: bytes) -> bool:
    """Write a file unless it has this content already; whether it was written."""
    try:
        if path.read_bytes() == content:
            return False
    except OSError:
        pass  # not there, or no file: writing tells
    from pfgen_rs.io import write_atomic  # here, since where nothing is stale nothing needs it

    write_atomic(path, content)
    return True


def sweep(folder: Path) -> None:
    """Remove files that `write_changed` was killed over before they were in place."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if _UNFINISHED.fullmatch(entry.name):
                with suppress(OSError):
                    os.unlink(entry.path)  # noqa: PTH108 - the entry has a path, but is none
