"""Files of other formats and encodings: said what they are, and what to do."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import polars as pl
import pytest

from helpers import GOOD, lines, pfgen, write_benchmark
from pfgen_rs import InputError, score_file
from pfgen_rs.io.formats import other_encoding

CSV = "question,answer\n" + "".join(f"{question},{answer}\n" for question, answer in GOOD)


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "x" * 100)
    return buffer.getvalue()


def table(kind: str) -> bytes:
    buffer = io.BytesIO()
    frame = pl.DataFrame(GOOD, schema=["question", "answer"], orient="row")
    getattr(frame, f"write_{kind}")(buffer)
    return buffer.getvalue()


FILES: dict[str, tuple[str, bytes, str]] = {
    "xlsx": ("a.xlsx", zipped("[Content_Types].xml", "xl/workbook.xml"), "Excel workbook"),
    "xlsx of openpyxl": ("a.xlsx", zipped("docProps/app.xml"), "save it as CSV (UTF-8)"),
    "xlsx called CSV": ("a.csv", zipped("xl/workbook.xml"), "Excel workbook"),
    "xls": ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "Excel workbook (.xls)"),
    "zip": ("a.jsonl", zipped("run/trials.jsonl"), "is a ZIP archive: unpack it"),
    "Parquet": ("a.dat", table("parquet"), "must end in .parquet"),
    "Arrow": ("a.jsonl", table("ipc"), "must end in .arrow"),
    "UTF-16": ("a.jsonl", lines().decode().encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
    "UTF-16, no mark": ("a.jsonl", lines().decode().encode("utf-16-be"), "UTF-16"),
    "UTF-16 CSV": ("a.csv", CSV.encode("utf-16"), "UTF-16"),
    "UTF-16 CSV, no mark": ("a.csv", CSV.encode("utf-16-le"), "UTF-16"),
    "Shift-JIS": ("a.jsonl", lines().decode().encode("cp932"), "iconv -f SHIFT_JIS -t UTF-8"),
    "Shift-JIS CSV": ("a.csv", CSV.encode("cp932"), "looks like Shift-JIS"),
    "Shift-JIS header": (
        "a.csv",
        ("質問" + CSV).encode("cp932"),
        "header is not UTF-8; it looks like Shift-JIS",
    ),
    "EUC-JP": ("a.jsonl", lines().decode().encode("euc_jp"), "iconv -f EUC-JP -t UTF-8"),
    "EUC-JP TSV": ("a.tsv", CSV.replace(",", "\t").encode("euc_jp"), "EUC-JP"),
}


@pytest.mark.parametrize("name", FILES)
def test_other_formats(name: str, tmp_path: Path) -> None:
    file, content, problem = FILES[name]
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        score_file(path, write_benchmark(tmp_path / "tiny"))
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)
    assert "not JSON" not in str(caught.value)


def test_the_command_says_the_same(tmp_path: Path) -> None:
    write_benchmark(tmp_path / "tiny")
    done = pfgen("score", "-", "-b", tmp_path / "tiny", stdin=zipped("xl/workbook.xml"))
    assert done.returncode == 2
    assert done.stderr == (
        "error: -: is an Excel workbook (.xlsx): save it as CSV (UTF-8) and score that file\n"
    )


@pytest.mark.parametrize(
    "text", [b"\xff", b"\xe9t\xe9 \xe0 la plage", "naïve café".encode("latin-1"), b"\x80\x81\x82"]
)
def test_other_bytes_are_not_called_japanese(text: bytes) -> None:
    assert other_encoding(text) == ""


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_byte_order_mark_is_no_part_of_the_header(suffix: str, tmp_path: Path) -> None:
    bench = write_benchmark(tmp_path / "tiny")
    text = CSV if suffix == ".csv" else CSV.replace(",", "\t")
    path = tmp_path / f"a{suffix}"
    path.write_bytes(text.encode("utf-8-sig"))
    assert score_file(path, bench).frame["answer"].to_list() == [answer for _, answer in GOOD]
