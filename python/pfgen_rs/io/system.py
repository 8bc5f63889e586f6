"""What differs between operating systems, besides locks (see `locks`), signals and standard streams.

Windows does not replace, rename or remove what is open in any process, such as a virus scanner that looks at
each new file for a moment. It gives some names to devices, and forbids some characters in names. Backslashes
separate its folders, so they quote nothing in commands.
"""

from __future__ import annotations

import errno
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "WINDOWS",
    "command_words",
    "forbidden_name",
    "is_reader_gone",
    "own",
    "portable_name",
    "put_in_place",
    "remove_abandoned",
]

WINDOWS = os.name == "nt"
_PATIENCE = 2.0  # seconds to wait until another process has closed a file
_EVERY = 0.05
_DEVICES = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE
)
_LONGEST_NAME = 255  # bytes, of almost every file system
_FORBIDDEN = '<>:"|?*\\'


def own(handle: int, path: str | os.PathLike[str]) -> bool:
    """Mark a new file as in use by this process, until it is closed or the process ends.

    Returns whether it is still there: `remove_abandoned` of another process may have come first.
    """
    if fcntl is None:
        return True
    with suppress(OSError):  # a file system without locks, where nothing is removed
        fcntl.flock(handle, fcntl.LOCK_EX)
    return os.path.lexists(path)


def remove_abandoned(path: str | os.PathLike[str]) -> None:
    """Remove a file unless the process that marked it by `own` has it open."""
    with suppress(OSError):
        if fcntl is None:
            os.unlink(path)  # noqa: PTH108 - which Windows refuses for a file in use
            return
        handle = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)  # noqa: PTH108 - while it is locked, so that `own` can tell
        finally:
            os.close(handle)


def put_in_place(new: Path, place: str | os.PathLike[str], file: IO[bytes] | None = None) -> None:
    """Rename a file or folder, replacing a file that is there. Raises `OSError`.

    `file`: the new file, if it is open, so that nobody removes it meanwhile (see `own`). On Windows, which
    refuses that, it is closed first; and it is tried for some time if a process has the old one open.
    """
    if WINDOWS and file is not None:
        file.close()
    # There, `replace` says of a folder that is in its place what it says of one that is in use.
    move = new.rename if new.is_dir() else new.replace
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            move(place)
            return
        except PermissionError:
            if not WINDOWS or time.monotonic() >= until:
                raise
        time.sleep(_EVERY)


def is_reader_gone(error: OSError) -> bool:
    """Whether writing to a pipe failed because its reader has closed it, for which Windows says `EINVAL`."""
    return isinstance(error, BrokenPipeError) or (WINDOWS and error.errno == errno.EINVAL)


def portable_name(name: str) -> str:
    """Returns a name of a file or folder that can be used on every system, given one without separators.

    >>> portable_name("org__model"), portable_name("aux.v2"), portable_name("model v1.")
    ('org__model', 'aux_.v2', 'model v1_')
    """
    if _DEVICES.fullmatch(name):
        stem, dot, rest = name.partition(".")
        name = f"{stem.rstrip(' ')}_{dot}{rest}"
    return f"{name[:-1]}_" if name.endswith((".", " ")) else name


def forbidden_name(name: str) -> str | None:
    """Returns why this system can have no file or folder of this name; `None` if it can."""
    if len(name.encode(errors="surrogatepass")) > _LONGEST_NAME:
        return f"a folder has a name of at most {_LONGEST_NAME} bytes"
    if not WINDOWS:
        return None
    found = [character for character in _FORBIDDEN if character in name]
    if found:
        return f"Windows allows no {found[0]!r} in names of folders"
    if name != portable_name(name):
        return f"Windows cannot have a folder {name!r}"
    return None


def command_words(command: str) -> list[str]:
    """Returns a program and its arguments. Raises `ValueError` for an open quotation.

    On Windows, backslashes separate folders, and only double quotation marks quote.
    """
    import shlex  # few commands need it

    if not WINDOWS:
        return shlex.split(command)
    words = shlex.shlex(command, posix=True, punctuation_chars=False)
    words.whitespace_split = True
    words.commenters = words.escape = ""
    words.quotes = '"'
    return list(words)
