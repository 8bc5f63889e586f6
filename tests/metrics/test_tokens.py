"""Tokens as units: they score as characters do, in every form of input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings as examples, strategies as st
from polars.testing import assert_frame_equal

import pfgen_rs
import small
from helpers import pfgen, write_benchmark
from pfgen_rs import Benchmark, BenchmarkError, InputError, Settings, load_benchmark, score_file
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.reading import read_ahead
from pfgen_rs.io.source import Source
from pfgen_rs.metrics import units
from pfgen_rs.metrics.settings import Variant
from pfgen_rs.metrics.units import Unit

VARIANTS = ("pfgen-bench", "paper")
TOKEN_TEXTS = st.text("abあ猫。、\ue000\U0010ffff", max_size=20)


def ids(text: str) -> list[int]:
    """A token for each character; other numbers than their code points."""
    return [(ord(character) * 7) % 1_056_768 for character in text]


@pytest.mark.parametrize("variant", VARIANTS)
@examples(max_examples=100)
@given(
    answers=st.lists(TOKEN_TEXTS.filter(bool), min_size=1, max_size=5),
    texts=st.lists(TOKEN_TEXTS, min_size=1, max_size=4),
)
def test_tokens_score_as_characters(variant: Variant, answers: list[str], texts: list[str]) -> None:
    letters = small.benchmark({"answers": {"A": answers}}, settings=Settings(variant, skipped="^$"))
    tokens = small.benchmark(
        {"answers": {"A": list(map(ids, answers))}}, settings=Settings(variant, unit="token")
    )
    asked, lists = ["Q1"] * len(texts), list(map(ids, texts))
    frame = tokens.score_batch(asked, lists)
    assert_frame_equal(frame, letters.score_batch(asked, texts), check_exact=True)
    assert tokens.scorer()(asked, lists).tolist() == frame["average"].to_list()
    score = tokens.score("Q1", lists[0])
    assert score.to_dict() == letters.score("Q1", texts[0]).to_dict()
    assert score.helpfulness == 1.0
    index, other = pfgen_rs.NgramIndex({"A": lists}, "token"), pfgen_rs.NgramIndex({"A": texts})
    pattern = answers[0][:2]
    assert index.locate(ids(pattern)) == other.locate(pattern)
    assert [list(g.text) for g in index.ngrams(2, 1)] != [[]]


@pytest.fixture
def tokens() -> Benchmark:
    answers = {"A": [[5, 6, 7, 8], [6, 7, 9]], "B": [[0, 1_056_767]]}
    return small.benchmark({"answers": answers}, settings=Settings(unit="token"))


ROWS = [[5, 6, 7], [], [0, 1_056_767, 3]]
FORMS: list[Any] = [
    ROWS,
    [tuple(row) for row in ROWS],
    [np.array(row, dtype=np.int32) for row in ROWS],
    pl.Series(ROWS),
    pl.Series(ROWS, dtype=pl.List(pl.UInt64)),
    pa.array(ROWS, pa.list_(pa.int32())),
    pa.array(ROWS, pa.large_list(pa.uint32())),
    pa.chunked_array([pa.array(ROWS[:1]), pa.array(ROWS[1:])]),
    pl.Series([[1], *ROWS])[1:],
]


@pytest.mark.parametrize("rows", FORMS, ids=range(len(FORMS)))
def test_forms_of_tokens(tokens: Benchmark, rows: Any) -> None:
    expected = tokens.score_batch(["Q1"] * 3, ROWS)
    assert expected["length"].to_list() == [3, 0, 3]
    assert_frame_equal(tokens.score_batch(["Q1"] * 3, rows), expected, check_exact=True)
    assert tokens.scorer()("Q1", rows).tolist() == expected["average"].to_list()
    coder = units.coder("token")
    assert coder.lengths(rows).tolist() == [3, 0, 3]
    assert [list(coder.decode(coded)) for coded in coder.encode(rows)] == ROWS


def test_tables_of_tokens(tokens: Benchmark) -> None:
    expected = tokens.score_batch(["Q1"] * 3, ROWS)
    table = pl.DataFrame({"question": ["Q1"] * 3, "answer": ROWS})
    for data in (table, table.lazy(), table.to_arrow(), {"question": ["Q1"] * 3, "answer": ROWS}):
        assert_frame_equal(tokens.score_batch(data), expected, check_exact=True)
    fixed = pl.Series([[5, 6], [7, 7]], dtype=pl.Array(pl.Int8, 2))
    same = tokens.score_batch(["Q1"] * 2, [[5, 6], [7, 7]])
    assert_frame_equal(tokens.score_batch(["Q1"] * 2, fixed), same, check_exact=True)
    assert tokens.score_batch(["Q1"] * 2, pl.Series([[], []]))["length"].to_list() == [0, 0]
    frame = pfgen_rs.scan(table, tokens).collect()
    assert frame["average"].to_list() == expected["average"].to_list()
    assert frame["answer"].to_list() == ROWS
    result = tokens.evaluate(table)
    assert result.frame["answer"].to_list() == ROWS
    samples = result.to_dict()["questions"]["Q1"]["samples"]
    assert sorted(sample["answer"] for sample in samples) == sorted(ROWS)
    assert json.loads(result.to_bytes())["signature"] == tokens.signature


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([[1], [2, -1]], "row 1: token ids must be whole numbers from 0 to 1056767, not -1"),
        ([[1_056_768]], "row 0: .* not 1056768"),
        ([[2**70]], "row 0: .* not 1180591620717411303424"),
        ([[1.0]], r"row 0: .* not 1\.0"),
        ([[True]], "row 0: .* not True"),
        ([[None]], "row 0: .* not None"),
        (["ab"], "row 0 must be a list of token ids, not str"),
        ([[1], 2], "row 1 must be a list of token ids, not int"),
        ("ab", "not a single string"),
        (pl.Series([[1], [-2]]), "row 1: .* not -2"),
        (pl.Series([[1], [2, None]]), "row 1: .* not null"),
        (pl.Series([[1], None]), "row 1 is null"),
        (pl.Series([[2**63]], dtype=pl.List(pl.UInt64)), "row 0: .* not 9223372036854775808"),
        (pl.Series([[1.5]]), "not of lists of Float64"),
        (pl.Series([1, 2]), "not of Int64"),
        (pl.Series(["a"]), "expected a column of lists of token ids, not of"),
    ],
)
def test_what_is_no_token(tokens: Benchmark, rows: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        tokens.scorer()("Q1", rows)


def test_answers_and_units_must_fit() -> None:
    cases: list[tuple[Any, Any, Unit, str]] = [
        (["a"], [], "token", "question Q1: the reference answers are texts"),
        ([[1]], [], "word", r"lists of token ids, .* 'word'"),
        ([[1]], [{"t": "a"}], "token", "question Q1: keyword rules need text"),
    ]
    for answers, rules, unit, words in cases:
        data = {"answers": {"A": answers}, "keywords": rules}
        with pytest.raises(BenchmarkError, match=words):
            small.benchmark(data, settings=Settings(unit=unit))


# Files.


def token_folder(folder: Path) -> Path:
    changes = {
        "Q01": {"keywords": [], "answers": {"A": [[1, 2, 3], [2, 3]], "B": [[9]]}},
        "Q02": {"keywords": [], "answers": {"A": [[4, 5], [5, 5, 6]], "B": [[7, 8]]}},
    }
    return write_benchmark(folder, changes)


RECORDS = [
    {"question": "Q01", "answer": [1, 2, 3], "n": 1},
    {"question": "Q02", "answer": [], "n": 2},
    {"question": "Q02", "answer": [5, 5, 1_056_767], "n": 3},
    {"question": "Q01", "answer": [2, 3, 0], "n": 4},
]


def json_lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return load_benchmark(token_folder(tmp_path / "set"), settings=Settings(unit="token"))


def test_files_of_tokens(benchmark: Benchmark, tmp_path: Path) -> None:
    table = pl.DataFrame(RECORDS)
    table.write_parquet(tmp_path / "run.parquet")
    table.write_ipc(tmp_path / "run.arrow")
    (tmp_path / "run.jsonl").write_text("\n" + json_lines(RECORDS).replace("\n", "\r\n\n"))
    expected = benchmark.score_batch(table["question"], table["answer"])
    assert expected["length"].to_list() == [3, 0, 3, 3]
    for suffix in ("parquet", "arrow", "jsonl"):
        path = tmp_path / f"run.{suffix}"
        result = score_file(path, benchmark)
        assert_frame_equal(result.frame.select(expected.columns), expected, check_exact=True)
        assert result.frame["answer"].to_list() == table["answer"].to_list()
        sample = result.to_dict()["questions"]["Q01"]["samples"][0]
        assert {"answer": sample["answer"], "n": sample["n"]} in [
            {"answer": r["answer"], "n": r["n"]} for r in RECORDS
        ]
        assert '"answer": [\n' in result.to_bytes().decode()
        lazy = pfgen_rs.scan(path, benchmark).select(expected.columns).collect()
        assert_frame_equal(lazy, expected, check_exact=True)
    table.with_columns(answer=pl.lit("1 2")).write_csv(tmp_path / "run.csv")
    with pytest.raises(InputError, match="CSV cannot contain lists of token ids"):
        score_file(tmp_path / "run.csv", benchmark)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("text", "'answer' must be a list of token ids, not \"text\""),
        (None, "'answer' must be a list of token ids, not null"),
        ([1, -1], "'answer' contains -1: token ids must be whole numbers from 0 to 1056767"),
        ([2**64], "'answer' contains 18446744073709551616"),
        ([1.0], r"'answer' contains 1\.0"),
        ([True], "'answer' contains true"),
        ([[1]], r"'answer' contains \[1\]"),
    ],
)
def test_bad_token_lines(answer: Any, problem: str, benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(json_lines([*RECORDS, {"question": "Q01", "answer": answer}, *RECORDS]))
    with pytest.raises(InputError, match=f"line 5: {problem}"):
        score_file(path, benchmark)
    result = score_file(path, benchmark, skip_bad_lines=True)
    assert (result.height, [p.line for p in result.problems]) == (8, [5])
    with pytest.raises(InputError, match="'answer' must be text"):
        score_file(path, write_benchmark(tmp_path / "texts"))


def test_bad_rows_of_tokens(benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"

    def write(rows: list[Any], kind: Any = None) -> None:
        table = {"question": ["Q01"] * len(rows), "answer": pl.Series(rows, dtype=kind)}
        pl.DataFrame(table).write_parquet(path)

    write([[1], [-1], None, [2], [None], [1_056_768]], pl.List(pl.Int64))
    result = score_file(path, benchmark, skip_bad_lines=True)
    assert (result.height, [problem.line for problem in result.problems]) == (2, [2, 3, 5, 6])
    with pytest.raises(InputError, match="row 2: token ids must be whole numbers"):
        score_file(path, benchmark)
    write([[2**63]], pl.List(pl.UInt64))
    with pytest.raises(InputError, match="row 1: token ids must be whole numbers"):
        score_file(path, benchmark)
    for row in ("a", [1.5]):
        write([row])
        with pytest.raises(InputError, match="must be lists of token ids"):
            score_file(path, benchmark)


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([[1], "a"], "answer 0 of source 'A' must be text"),
        ([[1], [2.5]], "answers of source 'A': row 1: .* not 2.5"),
        ([[-1]], "answers of source 'A': row 0"),
        ([[], []], "only empty answers"),
    ],
)
def test_bad_reference_tokens(tmp_path: Path, answers: Any, problem: str) -> None:
    folder = write_benchmark(tmp_path, {"Q01": {"keywords": [], "answers": {"A": answers}}})
    with pytest.raises(BenchmarkError, match=problem):
        load_benchmark(folder, settings=Settings(unit="token"))
    mixed = {"A": [[1]], "B": ["a"]}
    write_benchmark(tmp_path, {"Q01": {"keywords": [], "answers": mixed}})
    with pytest.raises(BenchmarkError, match="must be all texts or all lists"):
        load_benchmark(folder)


def test_chunks_of_tokens_are_told_apart(tmp_path: Path) -> None:
    rows: list[list[list[int]]] = [[[1, 2], [3]], [[1], [2, 3]], [[], [1, 2, 3]], [[], []]]
    seen = set()
    path = tmp_path / "run.parquet"
    for answers in rows:
        column = pl.Series(answers, dtype=pl.List(pl.Int64))
        pl.DataFrame({"question": ["a", "b"], "answer": column}).write_parquet(path)
        with read_ahead([Source(path)], Options(tokens=True)) as readings:
            [chunk] = next(readings)
        seen.add(chunk.identity())
        assert chunk.answers.to_list() == answers
    assert len(seen) == len(rows)


# The command line.


def test_commands(tmp_path: Path) -> None:
    folder, run, out = tmp_path / "set", tmp_path / "run.jsonl", tmp_path / "out.csv"
    token_folder(folder)
    run.write_text(json_lines(RECORDS))
    unit = ("-b", folder, "--unit", "token")
    done = pfgen("score", run, *unit, "--format", "json", "--per-response", out)
    [row] = json.loads(done.stdout)
    assert "|unit:token|" in row["signature"]
    assert pl.read_csv(out, infer_schema=False)["answer"].to_list()[2] == "5 5 1056767"
    explained = pfgen("explain", "Q01", "1 2 3 77", *unit)
    assert "1 2 3 77" in explained.stdout
    assert "Tokens:" in explained.stdout
    scoring = {"scoring": {"unit": "token"}}
    for path in folder.iterdir():
        path.write_text(json.dumps(json.loads(path.read_bytes()) | scoring), encoding="utf-8")
    stated = ("-b", folder)
    found = json.loads(pfgen("index", "count", "Q01", "2 3", *stated, "--format", "json").stdout)
    assert found == [{"pattern": "2 3", "count": 2}]
    assert "2 3" in pfgen("index", "top", "Q01", "-n", "2", *stated).stdout
    refused = pfgen("index", "count", "Q01", "two", *stated)
    assert refused.returncode == 2
    assert "expected token ids separated by spaces, not 'two'" in refused.stderr
