"""Answers with something that pfgen-bench removes when it generates: counted, told, removed on request."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from hypothesis import given, strategies as st

from helpers import CATS, GOOD, SEAS, lines, pfgen, write_benchmark
from pfgen_rs import Benchmark, SettingsError, _native, load_benchmark, scan, score_file, score_runs
from pfgen_rs.io import cleaning
from pfgen_rs.io.cleaning import MODES, Mode, default_stop

WHITE = "".join(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))
PIECES = st.sampled_from([*WHITE, "Q:", "A:", "\n\n", *"猫Q:é\ufeff\u3001𠮷", ""])
TEXTS = st.lists(PIECES, max_size=6).map("".join)
MESS = [" {}", "{}\n", "\u3000{}\n\nそして", "{}\nQ: 次の質問", "{}"]
CLEAN = GOOD * 5
DIRTY = [(q, mess.format(a)) for (q, a), mess in zip(CLEAN, MESS * 4, strict=True)]


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path / "tiny"))


def written(folder: Path, answers: list[tuple[str, str]], mode: str | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "trials.jsonl").write_bytes(lines(answers))
    if mode is not None:
        (folder / "config.json").write_text(json.dumps({"mode": mode}))
    return folder


@given(texts=st.lists(TEXTS, max_size=5), mode=st.sampled_from(MODES))
def test_a_column_is_cleaned_as_each_answer(texts: list[str], mode: Mode) -> None:
    column = pl.Series("answer", texts, dtype=pl.String)
    expected = [cleaning.cleaned(text, mode, default_stop(mode)) for text in texts]
    assert cleaning.clean_column(column, mode).to_list() == expected
    assert column.to_list() == texts
    dirty = sum(text != clean for text, clean in zip(texts, expected, strict=True))
    native = _native.Texts(column)
    assert bool(cleaning.count_unclean(native, mode)) == bool(dirty)
    begin = cleaning.count_unclean(native, None)["begin with white space"]
    assert begin == sum(text[:1].isspace() for text in texts)


def test_cleaning_gives_the_score_of_clean_answers(bench: Benchmark, tmp_path: Path) -> None:
    dirty, clean = written(tmp_path / "dirty", DIRTY), written(tmp_path / "clean", CLEAN)
    expected = score_file(clean, bench)
    as_it_is = score_file(dirty, bench)
    assert as_it_is.score < expected.score
    assert as_it_is.frame["answer"].to_list() == [answer for _, answer in DIRTY]
    assert as_it_is.signature == expected.signature
    counts = {"begin with white space": 8, "end with white space": 4, "contain 'Q:'": 4}
    assert as_it_is.unclean == counts
    assert not expected.unclean
    found = score_file(dirty, bench, clean=True)
    assert found.score == expected.score
    assert found.frame["answer"].to_list() == [answer for _, answer in CLEAN]
    assert found.signature == expected.signature.replace("|v:", "|clean:completion|v:")
    published, ours = expected.to_dict(), found.to_dict()
    assert "signature" not in published
    assert ours.pop("signature") == found.signature
    assert {**ours, "input_hash": ""} == {**published, "input_hash": ""}
    [again] = score_runs(dirty, bench, clean=True)  # whose samples are read again
    assert again.to_dict()["questions"] == ours["questions"]


def test_the_mode_is_that_of_the_run(bench: Benchmark, tmp_path: Path) -> None:
    answers = [(CATS, "はい。A: 猫です。\n\n続き"), (SEAS, "海です。Q: 次")]
    chat = written(tmp_path / "chat", answers, "chat")
    found = score_file(chat, bench, clean=True)
    assert found.frame["answer"].to_list() == ["猫です。\n\n続き", "海です。"]
    assert "|clean:chat|" in found.signature
    assert score_file(chat, bench).unclean == {"contain 'Q:'": 1, "contain 'A:'": 1}
    forced = score_file(chat, bench, clean="completion")
    assert forced.frame["answer"].to_list() == ["はい。A: 猫です。", "海です。"]
    assert "|clean:completion|" in forced.signature


def test_everything_that_scores_can_clean(bench: Benchmark, tmp_path: Path) -> None:
    path = written(tmp_path / "dirty", DIRTY)
    table = pl.DataFrame(DIRTY, schema=["question", "answer"], orient="row")
    expected = bench.score_batch(pl.DataFrame(CLEAN, schema=table.schema, orient="row"))
    assert bench.score_batch(table, clean=True).equals(expected)
    pairs = [table["question"].to_list(), table["answer"].to_list()]
    assert bench.score_batch(*pairs, clean="completion").equals(expected)
    result = bench.evaluate(table, clean=True)
    assert result.frame.select(expected.columns).equals(expected)
    assert "|clean:completion|" in result.signature
    assert score_file(table, bench, clean=True).score == result.score
    assert bench.evaluate(table).unclean["contain 'Q:'"] == 4
    for source in (path, table):
        scanned = scan(source, bench, clean=True).collect()
        assert scanned.select(expected.columns).equals(expected)
        assert scanned["signature"].unique().to_list() == [result.signature]
    assert scan(table, bench, clean=True).collect()["answer"].equals(table["answer"])


def test_what_cannot_be_cleaned(bench: Benchmark, tmp_path: Path) -> None:
    path, unknown = written(tmp_path / "dirty", DIRTY), cast("Any", "loud")
    for call in (score_file, score_runs):
        with pytest.raises(SettingsError, match="unknown mode 'loud': expected one of completion"):
            call(path, bench, clean=unknown)


def test_verbs_agree_with_their_numbers() -> None:
    found = Counter({"begin with white space": 2, "end with white space": 1, "contain 'Q:'": 1})
    expected = "2 of 3 answers begin with white space, 1 ends with white space, 1 contains 'Q:'"
    assert cleaning.described(found, 3) == expected
    assert cleaning.described(Counter({"contain 'Q:'": 1}), 1) == "1 of 1 answer contains 'Q:'"


def test_python_logs_it(bench: Benchmark, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    score_file(written(tmp_path / "clean", CLEAN), bench)
    assert not caplog.messages
    score_file(written(tmp_path / "dirty", DIRTY), bench)
    [message] = caplog.messages
    assert "8 of 20 answers begin with white space" in message
    assert "scored unchanged; clean=True (on the command line, --clean) removes this" in message


def test_the_command(tmp_path: Path) -> None:
    tiny = write_benchmark(tmp_path / "tiny")
    dirty, clean = written(tmp_path / "dirty", DIRTY), written(tmp_path / "clean", CLEAN)
    path = dirty / "trials.jsonl"

    def scored(*arguments: str | Path) -> tuple[dict[str, Any], str]:
        done = pfgen("score", *arguments, "-b", tiny, "--format", "json")
        assert done.returncode == 0, done.stderr
        [row] = json.loads(done.stdout)
        return row, done.stderr

    counts = "8 of 20 answers begin with white space, 4 end with white space, 4 contain 'Q:'"
    expected, silent = scored(clean)
    row, told = scored(dirty)
    assert row["score"] < expected["score"]
    way = "scored unchanged; --clean removes this, as pfgen-bench does during generation"
    assert (silent, told) == ("", f"warning: {path}: {counts}: {way}\n")
    table = tmp_path / "table.parquet"
    row, told = scored(dirty, "--clean", "--per-response", table)
    assert row["score"] == expected["score"]
    assert told.startswith(f"{path}: 8 of 20 answers begin with white space")
    assert told.endswith("removed before scoring, as in mode completion\n")
    rows = pl.read_parquet(table)
    assert rows["signature"].unique().to_list() == [row["signature"]]
    assert "|clean:completion|" in row["signature"]
    assert rows["answer"].to_list() == [answer for _, answer in CLEAN]
