"""Files that need not be read again because they have not changed, and what is remembered about them.

A file is taken for unchanged if size, times of change, inode and device are those that it had before it was
last read, as in git's index. Files that had changed within the last seconds before that are not remembered:
they could change again within the same tick of the clock.

What is remembered lies in a file of the user's cache folder: a line with the digest of the rest, and the
rest. A damaged file, or one of another version, costs only time.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import OutputError

_TICK = 2_000_000_000  # nanoseconds; the coarsest clock of a file system is that of FAT

Files = dict[str, list[int]]
"""Files of a folder: size, times of change of content and of status (ns), inode and device by name."""


def file_states(folder: str | os.PathLike[str], names: Iterable[str]) -> Files | None:
    """Returns the states of regular files. `None` if one is not there, or something else."""
    found: Files = {}
    try:
        for name in names:
            state = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - there are thousands
            if not stat.S_ISREG(state.st_mode):
                return None
            times = [state.st_mtime_ns, state.st_ctime_ns]
            found[name] = [state.st_size, *times, state.st_ino, state.st_dev]
    except (OSError, ValueError):
        return None
    return found


def is_settled(files: Files, now: int) -> bool:
    """Whether all files had last changed long enough before `now` (ns) for any change since to be seen."""
    return all(max(changed, status) < now - _TICK for _, changed, status, *_ in files.values())


def path_of_known(kind: str, folder: str | os.PathLike[str]) -> Path:
    """Returns the path of what is remembered about a folder, which need not exist."""
    key = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    return cache_folder() / kind / f"{key}.json"


def read_known(path: Path, version: Sequence[Any]) -> dict[str, Any] | None:
    """Returns what was remembered by this version; `None` if there is nothing, or the file is damaged."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
        if digest == _known_digest(content):
            found = json.loads(content)
            if found["version"] == version:
                return found  # type: ignore[no-any-return]
        _log_known("%s: damaged, or of another version: all files are read again", path)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass  # not there: nothing is known
    return None


def write_known(path: Path, known: dict[str, Any]) -> None:
    """Replace what is remembered. A file that cannot be written costs only time."""
    from pfgen_rs.io.atomic import write_atomic

    content = json.dumps(known, ensure_ascii=False, separators=(",", ":")).encode()
    try:
        write_atomic(path, _known_digest(content) + b"\n" + content)
    except OutputError as error:
        _log_known("%s", error)


def _log_known(message: str, about: object) -> None:
    import logging  # which takes a while, and there is rarely anything to log

    logging.getLogger(__name__).info(message, about)


def _known_digest(content: bytes) -> bytes:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest().encode()


# The folder for files that can be downloaded or built again.


CACHE_VARIABLE = "PFGEN_RS_CACHE"
"""Environment variable that overrides the user's cache folder."""


def cache_folder() -> Path:
    """Returns the cache folder, which need not exist."""
    override = os.environ.get(CACHE_VARIABLE)
    if override:
        return Path(override).absolute()
    import platformdirs

    return platformdirs.user_cache_path("pfgen_rs")
