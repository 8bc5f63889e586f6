"""CSV: empty lines are passed over, and stray quotation marks are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from pfgen_rs import InputError, PfgenError, load_benchmark, score_file
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.reading import Reading
from pfgen_rs.io.source import Source

HEADER = "question,answer\n"


def read(path: Path, text: str, **options: int) -> list[tuple[int, str, str]]:
    path.write_text(text, "utf-8", newline="")
    return [
        row
        for chunk in Reading(Source(path), Options(**options)).chunks()  # type: ignore[arg-type]
        for row in zip(
            chunk.lines.tolist(), chunk.questions.to_list(), chunk.answers.to_list(), strict=True
        )
    ]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ("猫,a\n\n", [(1, "猫", "a")]),
        ("\n猫,a\n", [(2, "猫", "a")]),
        ("猫,a\n\n\n海,b", [(1, "猫", "a"), (4, "海", "b")]),
        ("猫,a\r\n\r\n海,b\r\n", [(1, "猫", "a"), (3, "海", "b")]),
        ('猫,"a\n\nb"\n\n海,b\n', [(1, "猫", "a\n\nb"), (3, "海", "b")]),
        ("猫,\n\n", [(1, "猫", "")]),
        (",b\n\n", [(1, "", "b")]),
        (",\n海,b\n", [(1, "", ""), (2, "海", "b")]),
    ],
)
def test_empty_lines_are_passed_over_but_counted(
    tmp_path: Path, records: str, expected: list[tuple[int, str, str]]
) -> None:
    for size in (8 << 20, 30, 1):
        for rows in (1, 2, 1 << 16):
            found = read(tmp_path / "a.csv", HEADER + records, text_size=size, rows=rows)
            assert found == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEADER}Q01,a,b\n", "a row has more fields than the header: quote values that contain"),
        ("question;answer\nQ01;a\n", "found 'question;answer'; is the file separated by ';'"),
        ("x,y\nQ01,a\n", "missing columns 'question' and 'answer': found 'x', 'y'; choose others"),
        ("question,y\nQ01,a\n", "missing column 'answer': found 'question', 'y'; choose another"),
        ('question,"ans"wer\nQ01,a\n', "quotation mark"),
        (HEADER, "no responses"),
        (HEADER[:-1], "no responses"),
        (f"{HEADER},\n", "row 1, question '': the question is empty"),
    ],
)
def test_faults_of_a_csv_in_plain_words(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(PfgenError) as error:
        score_file(path, load_benchmark("mini"))
    assert words in str(error.value)


def answers(path: Path, text: str, size: int = 8 << 20) -> list[str]:
    return [answer for _, _, answer in read(path, text, text_size=size)]


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
