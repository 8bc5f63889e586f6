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

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "WINDOWS",
    "command_words",
    "forbidden_name",
    "is_abandoned",
    "is_reader_gone",
    "own",
    "portable_name",
    "put_in_place",
]

WINDOWS = os.name == "nt"
_PATIENCE = 2.0  # seconds to wait until another process has closed a file
_EVERY = 0.05
_DEVICES = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE
)
_YOUNG = 60.0  # seconds
_LONGEST_NAME = 255  # bytes, of almost every file system
_FORBIDDEN = '<>:"|?*\\'


def own(handle: int) -> None:
    """Mark an open file as in use by this process, until it is closed or the process ends."""
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)  # which `is_abandoned` may hold for a moment


def is_abandoned(path: str | os.PathLike[str]) -> bool:
    """Whether the process that marked a file by `own` has ended; false where that cannot be known.

    A file that is still empty may be about to be marked. Windows removes no file that is in use anyway.
    """
    if fcntl is None:
        return True
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            about = os.fstat(handle)
            return about.st_size > 0 or time.time() - about.st_mtime > _YOUNG
        finally:
            os.close(handle)
    except OSError:
        return False


def put_in_place(new: Path, place: str | os.PathLike[str]) -> None:
    """Rename a file or folder, replacing a file that is there. Raises `OSError`.

    On Windows, it is tried for some time if a process has it open.
    """
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
