"""Damaged files, also compressed ones: read the same at once and in parts, or refused by name."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import helpers
import mutations
from pfgen_rs import PfgenError, score_file
from pfgen_rs.io import compression, tables
from pfgen_rs.io.compression import UnpackingError, read_some, read_whole, unpacking
from pfgen_rs.metrics import expressions

# Seeds that `make fuzz` found; those of CSV have stray quotation marks.
SEEDS = [("csv", 239), ("csv", 1099), ("csv", 1275)]


@pytest.mark.parametrize("target", mutations.TARGETS)
def test_some_damaged_files(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "TIME_LIMIT", 0.2)
    for seed in range(40):
        mutations.check(target, seed)


@pytest.mark.parametrize(("target", "seed"), SEEDS)
def test_what_was_found(target: str, seed: int) -> None:
    mutations.check(target, seed)


def test_no_text_of_a_panic_stands_beside_the_error_of_a_damaged_table(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    panics: list[BaseException] = []
    collected = pl.LazyFrame.collect

    def noted(self: pl.LazyFrame, **how: Any) -> Any:
        try:
            return collected(self, **how)
        except pl.exceptions.PanicException as error:
            panics.append(error)
            raise

    monkeypatch.setattr(pl.LazyFrame, "collect", noted)
    bench, path = helpers.write_benchmark(tmp_path / "bench"), tmp_path / "x.arrow"
    pl.DataFrame({"question": [helpers.CATS] * 300, "answer": ["答え"] * 300}).write_ipc(path)
    whole = path.read_bytes()
    for at in range(len(whole) - 900, len(whole) - 8, 7):  # of the description at the end
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :])
        with suppress(PfgenError):
            score_file(path, bench)
        assert "panicked" not in capfd.readouterr().err
    assert panics


def test_what_is_printed_while_a_table_is_read_is_not_lost(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def printed(frame: pl.DataFrame) -> pl.DataFrame:
        os.write(2, b"a line\n")
        return frame

    query = pl.LazyFrame({"a": [1]}).map_batches(printed)
    threads = [threading.Thread(target=tables._collected, args=(query,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert capfd.readouterr().err == "a line\n" * 8


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


def test_no_more_than_a_limit_is_decompressed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_UNPACKED_AT_ONCE", 1 << 20)
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


def test_a_question_file_of_blanks_is_too_large_rather_than_out_of_memory(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "Q01.json.gz", "wb", compresslevel=1) as file:
        for _ in range(300):
            file.write(b" " * (1 << 20))
    assert (tmp_path / "Q01.json.gz").stat().st_size < 2 << 20
    done = helpers.pfgen("score", tmp_path / "a.jsonl", "--benchmark", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Q01.json.gz: larger than 268,435,456 bytes once unpacked" in done.stderr


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz", ".zst"])
def test_whole_files_are_held_up_to_a_limit(suffix: str, tmp_path: Path) -> None:
    content, path = b"a" * (2 << 20), tmp_path / f"x{suffix}"
    packers = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress, ".zst": helpers.zstd.compress}
    path.write_bytes(packers[suffix](content))
    assert read_whole(path, len(content)) == content
    unpacked = " once unpacked" if suffix else ""
    with pytest.raises(UnpackingError, match=f"^larger than 1,048,576 bytes{unpacked}$"):
        read_whole(path, 1 << 20)
    path.write_bytes(path.read_bytes()[:-9])
    if suffix:
        with pytest.raises(UnpackingError, match="damaged or cut short"):
            read_whole(path)


def _with_checksum(content: bytes) -> bytes:
    compressed: bytes = helpers.zstd.compress(
        content, options={helpers.zstd.CompressionParameter.checksum_flag: 1}
    )
    return compressed


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress, _with_checksum])
def test_a_flipped_bit_is_noticed(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    content, path = TEXT[:4000], tmp_path / "x"
    packed = pack(content)
    for at in range(0, 8 * len(packed), 37):
        flipped = bytearray(packed)
        flipped[at // 8] ^= 1 << at % 8
        path.write_bytes(flipped)
        try:
            found = read_whole(path)
        except UnpackingError:
            continue
        # What holds no data, such as a time, may differ; what is no longer compressed is no text either.
        assert found in (content, bytes(flipped))
