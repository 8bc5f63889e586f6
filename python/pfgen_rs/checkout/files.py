"""Files of a checkout: written atomically, and only if their content changes."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pfgen_rs.io.system import remove_abandoned

__all__ = ["is_unfinished", "remove_unfinished", "write_changed"]

_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")


def write_changed(path: Path, content: bytes) -> bool:
    """Write a file unless it already has this content. Returns whether it was written."""
    try:
        if path.read_bytes() == content:
            return False
    except OSError:
        pass  # not there, or no file: writing tells
    from pfgen_rs.io import write_atomic  # here, since where nothing is stale nothing needs it

    write_atomic(path, content)
    return True


def is_unfinished(name: str) -> bool:
    """Whether this is the name of a temporary file of `write_changed`."""
    return _UNFINISHED.fullmatch(name) is not None


def remove_unfinished(folder: Path) -> None:
    """Remove temporary files that a killed `write_changed` has left, and none that is being written."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_unfinished(entry.name):
                remove_abandoned(entry.path)
