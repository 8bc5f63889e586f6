"""Reading wanted members out of an archive or a folder.

Nothing is ever unpacked by a member's own path: the caller gets bytes and chooses the file name.
Paths that leave the archive are refused all the same, since such an archive was not published.
"""

import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, cast

from pfgen_rs.errors import InstallError, unreadable

Match = Callable[[str, int], str | None]
"""What a member is wanted as, by its name in the archive and its size in bytes; None if it is not wanted."""

MEMBER_LIMIT = 16 * 2**20
"""Most bytes a wanted member may have."""
MEMBERS_LIMIT = 100_000
"""Most members a tar archive may have, since its reader keeps every header."""
UNPACKED_LIMIT = 4 * 2**30
"""Most bytes a tar archive may have once decompressed, including unwanted members."""

_GZIP, _XZ, _ZIP = b"\x1f\x8b", b"\xfd7zXZ\x00", (b"PK\x03\x04", b"PK\x05\x06")
# What the standard library's readers raise on damaged input (gzip's own error is an OSError).
_DAMAGE = (
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_members(
    path: Path, wanted: Collection[str], label: str | None = None
) -> Generator[tuple[str, bytes]]:
    """Yield `(member, content)` for each wanted member in `path`, in the order found.

    `path` is a folder or a .tar.gz, .tar.xz, .tar or .zip file, recognised by content. A member
    `data/a.json` is found there, one folder down (`tree-1.0/data/a.json`), or as plain `a.json`
    at the top. Members that are absent are not yielded. `label` names the source in errors.

    Raises `InstallError` for an unreadable or oversized source, a member given twice, a wanted
    member that is not a regular file, and any member path that leaves the archive.
    """
    label = str(path) if label is None else label
    seen: set[str] = set()
    with _errors_explained(label):
        if path.is_dir():
            members = _from_folder(path, wanted, label)
        elif path.is_file():
            members = _from_file(path, lambda name, _: _matching(name, wanted), label, MEMBER_LIMIT)
        else:
            problem = (
                "neither an archive file nor a folder"
                if path.exists()
                else "no such file or folder"
            )
            raise InstallError(f"{label}: {problem}")
        for member, content in members:
            if member in seen:
                raise InstallError(f"{label}: duplicate member {member}")
            seen.add(member)
            yield member, content


def matching_members(
    path: Path, match: Match, label: str | None = None, limit: int | None = None
) -> Generator[tuple[str, bytes]]:
    """Yield what `match` calls each wanted member of an archive file, and its content, in the order found.

    `limit`: most bytes a wanted member may have (default: `MEMBER_LIMIT`). Raises `InstallError` as
    `read_members` does; a name may occur twice.
    """
    label = str(path) if label is None else label
    with _errors_explained(label):
        yield from _from_file(path, match, label, MEMBER_LIMIT if limit is None else limit)


def _from_folder(folder: Path, wanted: Collection[str], label: str) -> Iterator[tuple[str, bytes]]:
    # Links are followed here: the folder is the user's own, and digests decide.
    for member in wanted:
        places = (folder / member, folder / PurePosixPath(member).name)
        place = next(filter(Path.exists, places), None)
        if place is None:
            continue
        if not place.is_file():
            raise InstallError(f"{label}: {member} is not a regular file")
        with place.open("rb") as stream:
            yield member, _read_whole(stream, member, label, MEMBER_LIMIT)


def _from_file(path: Path, match: Match, label: str, limit: int) -> Iterator[tuple[str, bytes]]:
    with ExitStack() as opened:
        stream: IO[bytes] = opened.enter_context(path.open("rb"))
        start = stream.read(len(_XZ))
        stream.seek(0)
        if start.startswith(_ZIP):
            yield from _zip_members(stream, match, label, limit)
            return
        if start.startswith(_GZIP):
            stream = cast("IO[bytes]", opened.enter_context(gzip.open(stream, "rb")))
        elif start == _XZ:
            stream = opened.enter_context(lzma.open(stream, "rb"))
        yield from _tar_members(stream, match, label, limit)


def _tar_members(
    stream: IO[bytes], match: Match, label: str, limit: int
) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=_Bounded(stream, label, limit), mode="r:") as tar:
        for count, info in enumerate(tar, start=1):
            # Headers with negative sizes, which lead some readers in circles, end here as well.
            if count > MEMBERS_LIMIT:
                raise InstallError(
                    f"{label}: damaged archive, or more than {MEMBERS_LIMIT} members"
                )
            member = _wanted(info.name, info.size, match, label)
            if member is None:
                continue
            content = tar.extractfile(info) if info.isreg() else None
            if content is None:
                raise _irregular(info.name, label)
            _check_size(info.size, member, label, limit)
            with content:
                yield member, _read_whole(content, member, label, limit)


def _zip_members(
    stream: IO[bytes], match: Match, label: str, limit: int
) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            member = _wanted(info.filename, info.file_size, match, label)
            if member is None:
                continue
            # Zero: an archive made where files have no Unix type.
            if info.is_dir() or stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
                raise _irregular(info.filename, label)
            with archive.open(info) as content:
                yield member, _read_whole(content, member, label, limit)


def _wanted(name: str, size: int, match: Match, label: str) -> str | None:
    """Return what the member is wanted as; refuse unsafe names."""
    # Windows' reading of a name knows both separators, and drives.
    windows = PureWindowsPath(name)
    if windows.drive or windows.root or ".." in windows.parts:
        raise InstallError(
            f"{label}: member {name!r} points outside the archive: "
            "not the published archive, download it from its publisher"
        )
    return match(name, size)


def _matching(name: str, wanted: Collection[str]) -> str | None:
    """Find the wanted member that the archive's `name` stands for."""
    parts = PurePosixPath(name).parts
    for inner in (parts, parts[1:]):
        if "/".join(inner) in wanted:
            return "/".join(inner)
    if len(parts) != 1:
        return None
    return next((member for member in wanted if PurePosixPath(member).name == parts[0]), None)


def _read_whole(stream: IO[bytes], member: str, label: str, limit: int) -> bytes:
    content = stream.read(limit + 1)
    _check_size(len(content), member, label, limit)
    return content


def _check_size(size: int, member: str, label: str, limit: int) -> None:
    if size > limit:
        raise InstallError(f"{label}: {member} is larger than {limit} bytes")


def _irregular(name: str, label: str) -> InstallError:
    return InstallError(f"{label}: member {name!r} is a link, device or folder, not a regular file")


@contextmanager
def _errors_explained(label: str) -> Iterator[None]:
    """Turn what the readers raise into `InstallError`."""
    try:
        yield
    except _DAMAGE as error:
        raise InstallError(
            f"{label}: not a readable .tar.gz, .tar.xz, .tar or .zip archive ({error}); "
            "download it again, or give another source"
        ) from error
    except OSError as error:
        raise InstallError(f"{label}: {unreadable(error)}") from error


class _Bounded(io.BufferedIOBase):
    """A seekable stream that refuses positions and single reads beyond the limits.

    The second limit matters because tar headers may ask for a huge extended header at once.
    """

    def __init__(self, stream: IO[bytes], label: str, limit: int) -> None:
        self._stream = stream
        self._label = label
        self._limit = limit

    def read(self, size: int | None = -1, /) -> bytes:
        size = -1 if size is None else size
        if size > self._limit + tarfile.BLOCKSIZE:
            raise InstallError(f"{self._label}: damaged archive: a header of {size} bytes")
        content = self._stream.read(size)
        self._check(self._stream.tell())
        return content

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if whence == os.SEEK_SET:
            self._check(offset)
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def _check(self, position: int) -> None:
        if position > UNPACKED_LIMIT:
            raise InstallError(f"{self._label}: unpacks to more than {UNPACKED_LIMIT} bytes")
