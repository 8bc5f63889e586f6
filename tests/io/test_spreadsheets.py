"""CSV files hold no cell that a spreadsheet would run, unless `--raw` asks for it."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from helpers import CATS, pfgen, write_benchmark
from pfgen_rs.cli import streams
from pfgen_rs.io.table_writer import csv_text

CELLS = {
    '=HYPERLINK("http://x","y")': True,
    "+1+1": True,
    "-2+3": True,
    "@SUM(A1)": True,
    "\t=1": True,
    "-0.25": False,
    "-": False,
    "+1,000": False,
    "-1e-5": False,
    "猫は=です": False,
    "": False,
}


@pytest.mark.parametrize(("text", "is_run"), CELLS.items())
def test_a_cell_that_a_spreadsheet_would_run_begins_with_a_quotation_mark(
    text: str, is_run: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = f"'{text}" if is_run else text
    table = pl.DataFrame({"a": [text], text or "b": [1.5]})
    streams.emit_csv([{"a": text, "b": 1.5}])
    for written in (csv_text(table), capsys.readouterr().out):
        [row] = csv.DictReader(written.splitlines(keepends=True))
        assert row["a"] == shown
    assert csv_text(table).splitlines(keepends=True)[0].count("'") == is_run
    [raw] = csv.DictReader(csv_text(table, raw=True).splitlines(keepends=True))
    assert raw["a"] == text


def test_per_response_tables_run_nothing_in_a_spreadsheet_unless_raw(tmp_path: Path) -> None:
    answers, bench = tmp_path / "a.jsonl", write_benchmark(tmp_path / "bench")
    frame = pl.DataFrame({"question": [CATS], "answer": ["=1+1"], "note": ["@x"]})
    frame.write_ndjson(answers)
    for option, first in (([], "'"), (["--raw"], "")):
        made = tmp_path / f"x{len(option)}.csv"
        command = (
            "score",
            answers,
            f"--benchmark={bench}",
            f"--per-response={made}",
            "--keep=note",
        )
        done = pfgen(*command, *option)
        assert done.returncode == 0, done.stderr
        [row] = csv.DictReader(made.read_text(encoding="utf-8").splitlines())
        assert (row["answer"], row["note"]) == (f"{first}=1+1", f"{first}@x")
        assert float(row["average"]) >= 0
