"""Untrusted text in terminals, pages and spreadsheets; counts with their nouns."""

from __future__ import annotations

import csv
import html
import json
import re
import sys
import unicodedata
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, strategies as st

import pfgen_rs
from helpers import CATS, pfgen, write_benchmark
from pfgen_rs.cli import process
from pfgen_rs.io.table_writer import csv_text
from pfgen_rs.io.text import ACTING, acts, escaped_json, inert, visible
from pfgen_rs.report.site.pages import plain, shown

ROOT = Path(pfgen_rs.__file__).parent
SCRIPT = ROOT / "report" / "site" / "assets" / "text.js"
ANY = st.text(st.characters())  # surrogates, too
ACTORS = ["\x1b", "\n", "\x9b", "\u202e", "\u200f", "\u2066", "\u200d", "\u2028", "\u2029"]
ACTORS += ["\U000e0001", "\ud800", "\udfff"]  # a tag, and surrogates


def active(text: str) -> list[str]:
    return [c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


@pytest.mark.parametrize("character", ACTORS, ids=ascii)
def test_acting_characters_are_written_out_everywhere(character: str) -> None:
    assert acts(character)
    text = f"あ{character}い"
    code = f"U+{ord(character):04X}"
    escape = repr(character)[1:-1]
    assert visible(text) == f"あ{escape}い"
    assert html.unescape(inert(text)) == f"あ{escape}い"
    assert plain(text) == f"あ⟨{code}⟩い"
    assert shown(text) == f'<bdi>あ<span class="control">{code}</span>い</bdi>'
    document = json.dumps(text, ensure_ascii=False)
    assert json.loads(escaped_json(document)) == text
    assert not active(escaped_json(document))


@given(ANY)
def test_nothing_acts(text: str) -> None:
    for safe in (visible(text), inert(text), plain(text), str(shown(text))):
        assert not active(safe)
        safe.encode()


@given(st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp"))))
def test_other_characters_stay(text: str) -> None:
    assert visible(text) == plain(text) == text
    assert html.unescape(inert(text)) == text
    assert not re.search(
        r"[\\`*_{}\[\]<>!|~@$]|:(?! )|\.(?![0-9 ]|$)", re.sub(r"&#[0-9]+;", "", inert(text))
    )


def test_every_character_is_in_one_class() -> None:
    acting = {c for c in map(chr, range(sys.maxunicode + 1)) if acts(c)}
    assert {unicodedata.category(c) for c in acting} == ACTING
    assert all(visible(c) != c for c in acting)


def test_scripts_of_pages_escape_the_same_categories() -> None:
    classes = re.findall(r"\[((?:\\p\{\w+\})+)\]", SCRIPT.read_text("utf-8"))
    assert len(classes) == 3
    for found in classes:
        assert set(re.findall(r"\w\w(?=\})", found)) == ACTING


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
    process.emit_csv([{"a": text, "b": 1.5}])
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
        made_of = ("score", answers, f"--benchmark={bench}", "--keep=note")
        done = pfgen(*made_of, f"--per-response={made}", *option)
        assert done.returncode == 0, done.stderr
        [row] = csv.DictReader(made.read_text(encoding="utf-8").splitlines())
        assert (row["answer"], row["note"]) == (f"{first}=1+1", f"{first}@x")
        assert float(row["average"]) >= 0
