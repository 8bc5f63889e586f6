"""Where responses lie: files, folders of runs, pipes and standard input, all readable more than once."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import sys
import tempfile
import weakref
from pathlib import Path
from typing import IO, Any, cast

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.run_files import CONFIG, RESPONSES, is_trial

__all__ = ["Raw", "Source", "has_lone_surrogate", "read_config"]

_BLOCK = 1 << 20
SURROGATE = "holds a lone surrogate (\\ud800…\\udfff), which is no Unicode text"


class Source:
    """A file, or what is copied into a temporary one while it is read for the first time.

    `path` is how it is called in messages. Nothing is opened before it is read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        place = Path(path)
        if path != "-" and os.path.isdir(place):  # noqa: PTH112 - is_dir raises for impossible names
            place = _run_file(place)
        self.path = str(place)
        self._copy: IO[bytes] | None = None
        self._state: tuple[int, ...] | None = None

    @property
    def suffix(self) -> str:
        """The ending of the name, in small letters."""
        return Path(self.path).suffix.lower()

    @property
    def size(self) -> int | None:
        """Bytes on disk, where that is known before reading."""
        try:
            found = Path(self.path).stat() if self.path != "-" else os.fstat(sys.stdin.fileno())
        except (OSError, ValueError):
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def open(self) -> Raw:
        """The bytes from the beginning; later openings give the same ones or an `InputError`."""
        try:
            if self._copy is not None:
                return Raw(_reopened(self._copy))
            if self.path == "-":
                return Raw(cast("IO[bytes]", sys.stdin.buffer), self._new_copy())
            return self._opened(cast("IO[bytes]", open(self.path, "rb", buffering=0)))  # noqa: PTH123
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(unreadable(error), path=self.path) from error

    def _opened(self, file: IO[bytes]) -> Raw:
        try:
            found = os.fstat(file.fileno())
            if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                return Raw(file, self._new_copy())
            self._check(found)
        except BaseException:
            file.close()
            raise
        return Raw(file)

    def file(self) -> str:
        """The name of a regular file with the bytes: a pipe is read to its end first."""
        with self.open() as raw:
            if not raw.copied:
                return self.path
            raw.drain()
        return cast("IO[bytes]", self._copy).name

    def _new_copy(self) -> IO[bytes]:
        self._copy = tempfile.NamedTemporaryFile(  # noqa: SIM115 - open as long as the source is there
            prefix="pfgen-rs-", suffix=self.suffix
        )
        weakref.finalize(self, self._copy.close)
        return self._copy

    def _check(self, found: os.stat_result) -> None:
        state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        if self._state is not None and self._state != state:
            raise InputError("the file changed while it was in use: score it again", path=self.path)
        self._state = state


def _reopened(copy: IO[bytes]) -> IO[bytes]:
    copy.flush()
    return open(copy.name, "rb", buffering=0)  # noqa: PTH123


class Raw(io.RawIOBase):
    """Bytes as they lie on disk: counted, digested, and copied where there is a copy to fill."""

    def __init__(self, file: IO[bytes], copy: IO[bytes] | None = None) -> None:
        self._file, self._into = file, copy
        self._hash = hashlib.sha1(usedforsecurity=False)
        self.count = 0

    @property
    def copied(self) -> bool:
        """Whether the bytes come from a pipe."""
        return self._into is not None

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the whole buffer unless the file ends: what is read at once must not depend on pipes."""
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view):
            got = self._file.readinto(view[filled:])  # type: ignore[attr-defined]
            if not got:
                break
            filled += got
        self._hash.update(view[:filled])
        if self._into is not None:
            self._into.write(view[:filled])
        self.count += filled
        return filled

    def seekable(self) -> bool:
        """Files are, pipes are not."""
        return self._into is None and self._file.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go on elsewhere; digest and count are then of no use."""
        return self._file.seek(offset, whence)

    def drain(self) -> str:
        """Read to the end; gives the SHA-1 of all bytes."""
        buffer = bytearray(_BLOCK)
        while self.readinto(buffer):
            pass
        if self._into is not None:
            self._into.flush()
        return self._hash.hexdigest()

    def close(self) -> None:
        """Close the file, except standard input."""
        if not self.closed and self._file is not sys.stdin.buffer:
            self._file.close()
        super().close()


def _run_file(folder: Path) -> Path:
    for name in RESPONSES:
        if (folder / name).is_file():
            return folder / name
    raise InputError(
        f"the folder has none of {', '.join(RESPONSES)}{_unpacked(folder)}", path=folder
    )


def _unpacked(folder: Path) -> str:
    trials = sum(is_trial(path.name) for path in folder.iterdir())
    if not trials:
        return ""
    return (
        f", but {trials} finished trials (trial_001.jsonl …), as an interrupted run leaves them: generate "
        "on, which packs them in the end, or score their lines: cat trial_*.jsonl | pfgen-rs score -"
    )


def read_config(place: str) -> dict[str, Any] | None:
    """The run's `config.json`, where there is one beside the file."""
    path = Path(place).parent / CONFIG
    if place == "-" or not path.is_file():
        return None
    try:
        config = json.loads(path.read_bytes().decode())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"is no JSON: {error}", path=path) from None
    if not isinstance(config, dict):
        raise InputError("must hold an object", path=path)
    if has_lone_surrogate(config):
        raise InputError(SURROGATE, path=path)
    return config


def has_lone_surrogate(record: dict[str, Any]) -> bool:
    """Whether any text in it is no Unicode."""
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
