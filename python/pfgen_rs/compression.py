"""Opening files that may be compressed, by what they contain rather than by their names."""

from __future__ import annotations

import gzip
import io
import lzma
import sys
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

__all__ = ["SUFFIXES", "TruncatedError", "decompress"]

SUFFIXES = (".gz", ".xz", ".zst")
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
    stream = _reader(data)
    if stream is None:
        return data
    unpacked = io.BytesIO()
    try:
        # Unlike `read`, `read1` hands over what precedes the damage.
        while chunk := stream.read1(_CHUNK):
            unpacked.write(chunk)
    except (EOFError, OSError, lzma.LZMAError, zlib.error, zstd.ZstdError) as error:
        raise TruncatedError(str(error), unpacked.getvalue()) from None
    return unpacked.getvalue()


def _reader(data: bytes) -> io.BufferedIOBase | None:
    source = io.BytesIO(data)
    if data.startswith(_XZ):
        return lzma.open(source)
    if data.startswith(_GZIP):
        return gzip.open(source)
    if data.startswith(_ZSTD):
        return zstd.open(source)
    return None
