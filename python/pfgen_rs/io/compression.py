"""Opening files that may be compressed, by what they contain rather than by their names."""

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

__all__ = ["DAMAGE", "SUFFIXES", "TruncatedError", "decompress", "unpacking"]

SUFFIXES = (".gz", ".xz", ".zst")
# What reading from `unpacking` raises where the data is damaged or ends too early.
DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, zstd.ZstdError)
_XZ, _GZIP, _ZSTD = b"\xfd7zXZ\x00", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20


class TruncatedError(Exception):
    """Compressed data that is damaged or ends too early; `partial` is what could be read."""

    def __init__(self, reason: str, partial: bytes) -> None:
        self.partial = partial
        super().__init__(reason)


def decompress(data: bytes) -> bytes:
    """`data` as it is, or unpacked where it begins like xz, gzip or zstd.

    Raises `TruncatedError` for damaged data.
    """
    file = io.BufferedReader(io.BytesIO(data))
    stream = unpacking(file)
    if stream is file:
        return data
    unpacked = io.BytesIO()
    try:
        # Unlike `read`, `read1` hands over what precedes the damage.
        while chunk := stream.read1(_CHUNK):
            unpacked.write(chunk)
    except DAMAGE as error:
        raise TruncatedError(str(error), unpacked.getvalue()) from None
    return unpacked.getvalue()


def unpacking(file: io.BufferedReader[Any]) -> io.BufferedIOBase:
    """`file` itself, or what unpacks it while it is read."""
    start = file.peek(len(_XZ))
    if start.startswith(_XZ):
        return lzma.open(file)
    if start.startswith(_GZIP):
        return gzip.open(file)
    if start.startswith(_ZSTD):
        return zstd.open(file)
    return file
