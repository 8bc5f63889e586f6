"""Writes the files of a folder all at once."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pfgen_rs.errors import OutputError
from pfgen_rs.io import atomic

_ABANDONED = 24 * 3600.0  # seconds after which another process's temporary folder is removed


@contextmanager
def staged_folder(out: Path, prefix: str) -> Iterator[Path]:
    """Yield a new temporary folder; if the block succeeds, its files take their places in `out`.

    `out` is created if it does not exist, with all files at once. In an existing folder, files are replaced
    one by one, each atomically, and others are left alone. If the block fails, nothing is changed. Raises
    `OutputError` for folders that cannot be written.
    """
    temporary = None
    try:
        if out.exists() and not out.is_dir():
            raise OutputError(f"{out}: not a directory")
        beside = out if out.is_dir() else out.parent
        beside.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(beside, prefix)
        temporary = Path(tempfile.mkdtemp(prefix=f".{prefix}.", suffix=".tmp", dir=beside))
        content = temporary / "content"  # with the permissions of a new folder
        content.mkdir()
        yield content
        _check_places(content, out)
        _move(content, out)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise atomic.writing_failed(Path(error.filename or out), error) from error
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
            atomic.put_in_place(source, target)
            return
        except OSError:  # another process may have made the folder in between
            if not (source.is_dir() and target.is_dir()):
                raise
    for child in sorted(source.iterdir()):
        _move(child, target / child.name)


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove what killed processes have left."""
    for left in folder.glob(f".{prefix}.*.tmp"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
