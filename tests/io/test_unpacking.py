"""xz that is decompressed at once reads as by `lzma.open`: whole, damaged, cut short, in several streams."""

from __future__ import annotations

import io
import lzma

import pytest

from pfgen_rs.io.compression import read_some, unpacking

TEXT = b"".join(b'{"question": "Q%02d", "answer": "%d"}\n' % (i % 50, i * i) for i in range(12_000))
WHOLE = lzma.compress(TEXT)


def damaged(at: int) -> bytes:
    return WHOLE[:at] + bytes(byte ^ 0x55 for byte in WHOLE[at : at + 40]) + WHOLE[at + 40 :]


CASES = {
    "whole": WHOLE,
    "empty": lzma.compress(b""),
    "damaged at the start": damaged(30),
    "damaged within": damaged(len(WHOLE) // 2),
    "damaged at the end": damaged(len(WHOLE) - 20),
    "cut short": WHOLE[: len(WHOLE) * 2 // 3],
    "cut to its header": WHOLE[:12],
    "two streams": WHOLE + lzma.compress(b"more\n"),
    "padded": WHOLE + b"\0" * 8,
    "with something else behind it": WHOLE + b"something else",
}


def pieces(data: bytes, size: int, *, at_once: bool) -> list[tuple[bytes, str | None]]:
    """What is read, piece by piece, up to the end or the damage."""
    file = io.BufferedReader(io.BytesIO(data))
    stream = unpacking(file, len(data) if at_once else None)
    found = [read_some(stream, size)]
    while found[-1][0] and found[-1][1] is None:
        found.append(read_some(stream, size))
    return found


@pytest.mark.parametrize("size", [1 << 14, 1 << 21])
@pytest.mark.parametrize("name", CASES)
def test_it_reads_as_piece_by_piece(name: str, size: int) -> None:
    assert pieces(CASES[name], size, at_once=True) == pieces(CASES[name], size, at_once=False)


def test_only_what_is_asked_for_is_decompressed() -> None:
    data = lzma.compress(bytes(1 << 26))
    assert len(data) < 1 << 20
    stream = unpacking(io.BufferedReader(io.BytesIO(data)), len(data))
    text, damage = read_some(stream, 1 << 12)
    assert (text, damage) == (bytes(1 << 12), None)
    assert stream.tell() == 1 << 12


@pytest.mark.parametrize("at_once", [True, False])
def test_other_ways_to_read_go_on_at_the_same_place(at_once: bool) -> None:
    stream = unpacking(io.BufferedReader(io.BytesIO(WHOLE)), len(WHOLE) if at_once else None)
    assert stream.read1(1000) == TEXT[:1000]
    line = stream.readline()
    assert TEXT[1000:].startswith(line)
    assert line.endswith(b"\n")
    assert stream.read(100) == TEXT[1000 + len(line) :][:100]
    assert stream.seek(5000) == 5000
    assert stream.read1(10) == TEXT[5000:5010]
