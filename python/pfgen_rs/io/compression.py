"""Opens files that may be compressed, judging by their content rather than their names."""

from __future__ import annotations

import io
import lzma
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

SUFFIXES = (".gz", ".xz", ".zst")
XZ, _GZIP, _ZSTD = b"\xfd7zXZ\x00", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20
_AT_ONCE, _UNPACKED_AT_ONCE = 8 << 20, 64 << 20  # bytes; larger files are read piece by piece


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
        return _opened_xz(file, size)
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


def _opened_xz(file: io.BufferedReader[Any], size: int | None) -> io.BufferedIOBase:
    """Opens xz; small files are decompressed at once.

    `lzma.open` takes 8 KB at a time, and takes the interpreter's lock again after each of them, for which it
    waits while other threads run. It still reads whatever is not a single undamaged stream, since its
    errors come after all that precedes the damage.
    """
    if size is None or size > _AT_ONCE:
        return lzma.open(file)
    data, decompressor = file.read(), lzma.LZMADecompressor()
    with suppress(lzma.LZMAError, EOFError):
        text = decompressor.decompress(data, _UNPACKED_AT_ONCE)
        if decompressor.eof and not decompressor.unused_data:
            return io.BytesIO(text)
    return lzma.open(io.BytesIO(data))


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
