"""Writes files atomically: they appear complete or not at all."""

from __future__ import annotations

import atexit
import errno
import glob
import io
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pfgen_rs.errors import OutputError
from pfgen_rs.io.remote.urls import is_url, refused_url


def writing_failed(path: str | os.PathLike[str], error: OSError) -> OutputError:
    """Returns the error to raise if `path` cannot be written."""
    return OutputError(f"{path}: cannot be written: {error.strerror or error}")


def refuse_url(path: str | os.PathLike[str]) -> None:
    """Raise `OutputError` for a URL, of which a `Path` would be a folder named like the scheme."""
    if is_url(path):
        raise OutputError(str(refused_url(path, "write a local file, and copy it")))


def new_file(path: Path) -> tuple[Path, IO[bytes]]:
    """Create a temporary file beside `path`, which is to replace it.

    Removes those of writers that were killed.
    """
    refuse_url(path)
    remove_unfinished(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Opened here rather than by `tempfile`, so that the umask applies: querying the umask would change
        # it for all threads.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        while True:
            temporary = path.parent / f".{path.name}.{os.urandom(8).hex()}.tmp"
            file = os.fdopen(os.open(temporary, flags, 0o666), "wb")
            if own(file.fileno(), temporary):
                return temporary, file
            file.close()
    except OSError as error:
        raise writing_failed(path, error) from error


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


def write_atomic(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file atomically.

    Raises `OutputError` on failure, leaving an existing file unchanged.
    """
    refuse_url(path)
    temporary, file = new_file(Path(path))
    try:
        with file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            put_in_place(temporary, path, file)
    except OSError as error:
        raise writing_failed(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


# Folders whose files are written all at once.


_ABANDONED = 24 * 3600.0  # seconds after which another process's temporary folder is removed


@contextmanager
def staged_folder(out: Path, prefix: str) -> Iterator[Path]:
    """Yield a new temporary folder; if the block succeeds, its files take their places in `out`.

    `out` is created if it does not exist, with all files at once. In an existing folder, files are replaced
    one by one, each atomically, and others are left alone. If the block fails, nothing is changed. Raises
    `OutputError` for folders that cannot be written.
    """
    import shutil  # as rarely needed
    import tempfile

    temporary = None
    try:
        if out.exists() and not out.is_dir():
            raise OutputError(f"{out}: not a directory")
        beside = out if out.is_dir() else out.parent
        beside.mkdir(parents=True, exist_ok=True)
        remove_old_folders(beside, prefix)
        temporary = Path(tempfile.mkdtemp(prefix=f".{prefix}.", suffix=".tmp", dir=beside))
        content = temporary / "content"  # with the permissions of a new folder
        content.mkdir()
        yield content
        _check_places(content, out)
        _move(content, out)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise writing_failed(Path(error.filename or out), error) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _check_places(source: Path, target: Path) -> None:
    """Find out before the first file is moved whether a file and a folder have the same name."""
    if source.is_dir() != target.is_dir() and os.path.lexists(target):
        raise OutputError(f"{target}: {'not a directory' if source.is_dir() else 'a directory'}")
    if source.is_dir() and target.is_dir():
        for child in source.iterdir():
            _check_places(child, target / child.name)


def _move(source: Path, target: Path) -> None:
    if not (source.is_dir() and target.is_dir()):
        try:
            put_in_place(source, target)
            return
        except OSError:  # another process may have made the folder in between
            if not (source.is_dir() and target.is_dir()):
                raise
    for child in sorted(source.iterdir()):
        _move(child, target / child.name)


def remove_old_folders(folder: Path, prefix: str) -> None:
    """Remove what killed processes have left of the folders that they filled."""
    import shutil

    for left in folder.glob(f".{prefix}.*.tmp"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)


# Copies in the folder for temporary files, which go with their last user, or at the end of the process.


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


# What differs between operating systems, besides locks (see `locks`), signals and standard streams.
#
# Windows does not replace, rename or remove what is open in any process, such as a virus scanner that looks
# at each new file for a moment. It gives some names to devices, and forbids some characters in names.
# Backslashes separate its folders, so they quote nothing in commands.


try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]


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
