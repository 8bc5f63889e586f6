"""Opens files that may be compressed, judging by their content rather than their names."""

from __future__ import annotations

import io
import lzma
import sys
import zlib
from pathlib import Path
from typing import Any

SUFFIXES = (".gz", ".xz", ".zst")
XZ, _GZIP, _ZSTD = b"\xfd7zXZ\x00", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20
_AT_ONCE = 8 << 20  # bytes; larger files are read piece by piece


UNPACKED_LIMIT = 1 << 28
"""Most bytes of a file that is held in memory as a whole, unpacked: 256 MiB."""


class UnpackingError(Exception):
    """A file is damaged, cut short or too large; the message follows its name."""


def read_whole(path: Path, limit: int | None = None) -> bytes:
    """Returns the content of a file, unpacked if it is xz, gzip or zstd.

    Raises `OSError`, and `UnpackingError` if it is damaged or has more than `limit` bytes (default:
    `UNPACKED_LIMIT`).
    """
    limit = UNPACKED_LIMIT if limit is None else limit
    with path.open("rb") as file:
        stream = unpacking(file, path.stat().st_size)
        content, damage = read_some(stream, limit + 1)
    if damage is not None:
        raise UnpackingError(damage)
    if len(content) > limit:
        unpacked = "" if stream is file else " once unpacked"
        raise UnpackingError(f"larger than {limit:,} bytes{unpacked}")
    return content


def unpacking(file: io.BufferedReader[Any], size: int | None = None) -> io.BufferedIOBase:
    """Returns a stream that decompresses `file` as it is read; `file` itself if it is not compressed.

    `size`: number of bytes in the file, if known.
    """
    start = file.peek(len(XZ))
    if start.startswith(XZ):
        return (
            _XzInMemory(file.read()) if size is not None and size <= _AT_ONCE else lzma.open(file)
        )
    if start.startswith(_GZIP):
        import gzip  # what is read most is not compressed, or xz

        return gzip.open(file)
    if start.startswith(_ZSTD):
        return _zstd().open(file)  # type: ignore[no-any-return]
    return file


def _zstd() -> Any:
    if sys.version_info < (3, 14):
        from backports import zstd
    else:
        from compression import zstd
    return zstd


def _damage() -> tuple[type[Exception], ...]:
    """Returns what is raised by reads from `unpacking` if the data is damaged or cut short."""
    return (EOFError, OSError, lzma.LZMAError, zlib.error, _zstd().ZstdError)


class _XzInMemory(io.BufferedIOBase):
    """Decompresses xz from memory in large pieces.

    `lzma.open` takes 8 KB at a time, and takes the interpreter's lock again after each of them, for which it
    waits while other threads run. It still reads whatever is not a single undamaged stream, since its
    errors come after all that precedes the damage.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._given = data, 0
        self._decompressor: lzma.LZMADecompressor | None = lzma.LZMADecompressor()
        self._file = lzma.LZMAFile(io.BytesIO(data))  # noqa: SIM115 - of memory

    def read1(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes; none only at the end."""
        if self._decompressor is None or size is None or size <= 0:
            return self._piecewise().read1(-1 if size is None else size)
        if self._decompressor.eof and not self._decompressor.unused_data:
            return b""
        data = b"" if self._given else self._data
        try:
            text = self._decompressor.decompress(data, size)
        except (lzma.LZMAError, EOFError):
            text = b""
        self._given += len(text)
        return text or self._piecewise().read1(size)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes, or fewer at the end."""
        return self._piecewise().read(-1 if size is None else size)

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line with its end."""
        return self._piecewise().readline(-1 if size is None else size)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Continue at another offset of the decompressed text."""
        return self._piecewise().seek(offset, whence)

    def tell(self) -> int:
        """Returns the offset in the decompressed text."""
        return self._file.tell() if self._decompressor is None else self._given

    def readable(self) -> bool:
        """Always true."""
        return True

    def _piecewise(self) -> lzma.LZMAFile:
        if self._decompressor is not None:
            self._file.seek(self._given)
            self._decompressor = None
        return self._file


def read_some(stream: io.BufferedIOBase, size: int) -> tuple[bytes, str | None]:
    """Read `size` bytes from `unpacking`, or fewer at the end; with the problem if the data is damaged."""
    parts, damage = read_parts(stream, size)
    return b"".join(parts), damage


def read_parts(stream: io.BufferedIOBase, size: int) -> tuple[list[bytes], str | None]:
    """The same in parts, none of which is empty: for callers that join them with more."""
    parts, missing = [], size
    try:
        # Unlike `read`, `read1` returns what precedes the damage.
        while missing and (part := stream.read1(min(missing, _CHUNK))):
            parts.append(part)
            missing -= len(part)
    except _damage() as error:
        if isinstance(stream, io.BufferedReader):
            raise
        reason = f"the compressed data is damaged or cut short here ({error}): copy the file again"
        return parts, reason
    return parts, None
