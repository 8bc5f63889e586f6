"""Opens files that may be compressed, judging by their content rather than their names."""

from __future__ import annotations

import gzip
import io
import lzma
import sys
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

__all__ = ["DAMAGE", "SUFFIXES", "TruncatedError", "decompress", "read_some", "unpacking"]

SUFFIXES = (".gz", ".xz", ".zst")
# Raised by reads from `unpacking` if the data is damaged or cut short.
DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, zstd.ZstdError)
_XZ, _GZIP, _ZSTD = b"\xfd7zXZ\x00", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20


class TruncatedError(Exception):
    """Compressed data is damaged or cut short; `partial` is what could be read."""

    def __init__(self, reason: str, partial: bytes) -> None:
        self.partial = partial
        super().__init__(reason)


def decompress(data: bytes) -> bytes:
    """Returns `data`, decompressed if it is xz, gzip or zstd.

    Raises `TruncatedError` for damaged data.
    """
    file = io.BufferedReader(io.BytesIO(data))
    stream = unpacking(file)
    if stream is file:
        return data
    unpacked = io.BytesIO()
    try:
        # Unlike `read`, `read1` returns what precedes the damage.
        while chunk := stream.read1(_CHUNK):
            unpacked.write(chunk)
    except DAMAGE as error:
        raise TruncatedError(str(error), unpacked.getvalue()) from None
    return unpacked.getvalue()


def unpacking(file: io.BufferedReader[Any]) -> io.BufferedIOBase:
    """Returns a stream that decompresses `file` as it is read; `file` itself if it is not compressed."""
    start = file.peek(len(_XZ))
    if start.startswith(_XZ):
        return lzma.open(file)
    if start.startswith(_GZIP):
        return gzip.open(file)
    if start.startswith(_ZSTD):
        return zstd.open(file)
    return file


def read_some(stream: io.BufferedIOBase, size: int) -> tuple[bytes, str | None]:
    """Read `size` bytes from `unpacking`, or fewer at the end; with the problem if the data is damaged."""
    parts, missing = [], size
    try:
        # Unlike `read`, `read1` returns what precedes the damage.
        while missing and (part := stream.read1(min(missing, _CHUNK))):
            parts.append(part)
            missing -= len(part)
    except DAMAGE as error:
        if isinstance(stream, io.BufferedReader):
            raise
        reason = f"the compressed data is damaged or cut short here ({error}): copy the file again"
        return b"".join(parts), reason
    return b"".join(parts), None
