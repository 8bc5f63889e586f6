"""Quotation marks in the wrong places of a CSV: refused with their line, unless all readers agree on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pfgen_rs import InputError
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.reading import Reading
from pfgen_rs.io.source import Source

HEADER = "question,answer\n"


def answers(path: Path, text: str, size: int = 8 << 20) -> list[str]:
    path.write_text(text, "utf-8", newline="")
    chunks = Reading(Source(path), Options(text_size=size)).chunks()
    return [answer for chunk in chunks for answer in chunk.answers.to_list()]


@pytest.mark.parametrize(
    ("records", "line"),
    [
        ('猫,a"b\n海,c\n空,"d"\n', 2),
        ('猫,a\n海,b"\n空,c"\n', 3),
        ('猫,"a\nb"\n海,c"d\n空,"e"\n', 4),
        ('猫,"a "b" c"\n', 2),
        ('猫,"a"b\n海,c\n', 2),
        ('猫"猫",a",b\n', 2),
        ('猫,"a\n say "b" c\nd"\n', 3),
    ],
)
def test_marks_that_hide_where_records_begin(tmp_path: Path, records: str, line: int) -> None:
    for text in (HEADER + records, "\ufeff" + HEADER + records):
        for size in (8 << 20, 30):
            with pytest.raises(InputError, match="quotation mark") as error:
                answers(tmp_path / "a.csv", text, size)
            assert (error.value.line, error.value.item) == (line, "line")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ('猫,a 5" x 7" b\n海,c\n', ['a 5" x 7" b', "c"]),
        ('猫,"a ""b"" c"\n海,""\n', ['a "b" c', ""]),
        ('猫,"""a"""\r\n海,"b\r\nc"\r\n', ['"a"', "b\r\nc"]),
    ],
)
def test_marks_that_all_readers_understand(
    tmp_path: Path, records: str, expected: list[str]
) -> None:
    for size in (8 << 20, 30):
        assert answers(tmp_path / "a.csv", HEADER + records, size) == expected
        tabs = (HEADER + records).replace(",", "\t")
        assert answers(tmp_path / "a.tsv", tabs, size) == expected


def test_a_mark_in_the_header(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="quotation mark"):
        answers(tmp_path / "a.csv", 'question,"ans"wer\n猫,a\n')
