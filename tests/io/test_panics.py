"""What polars prints of a damaged file does not appear beside the error; what others print stays."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import polars as pl
import pytest

from helpers import CATS, pfgen, write_benchmark
from pfgen_rs.io import tables


def test_no_text_of_a_panic_stands_before_the_error_of_a_damaged_table(tmp_path: Path) -> None:
    bench, path = write_benchmark(tmp_path / "bench"), tmp_path / "x.parquet"
    pl.DataFrame({"question": [CATS] * 300, "answer": ["答え"] * 300}).write_parquet(path)
    whole, seen = path.read_bytes(), 0
    for at in range(len(whole) - 400, len(whole) - 8, 23):  # of the description at the end
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :])
        done = pfgen("score", path, f"--benchmark={bench}")
        assert "panicked" not in done.stderr
        if done.returncode:
            seen += 1
            assert done.stderr.startswith(("error:", "warning:"))
    assert seen


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
