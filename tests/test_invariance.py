"""The same responses give the same values: any input form, any threads, any chunks."""

import csv
import gzip
import json
import lzma
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings as examples, strategies as st
from polars.testing import assert_frame_equal

import helpers
import small
from helpers import python, zstd
from pfgen_rs import Benchmark, Settings, scan, score_file
from pfgen_rs.questions.locate import bundled_path

Columns = dict[str, list[str]]
# Line ends that are none here, text without a visible form, characters outside the first plane.
ODD = ["", *'\u2028\u0085\0𠮷\r\n"\\,^$\U0010ffff', "\r\n"]


@pytest.fixture(scope="module")
def columns(mini: Benchmark) -> Columns:
    """Some hundred responses: references, cut and joined, with odd characters in between."""
    questions, answers = [], []
    for i, question in enumerate(mini):
        references = [answer for texts in question.answers.values() for answer in texts[i : i + 8]]
        for j, reference in enumerate(references):
            odd = ODD[(i + j) % len(ODD)]
            questions.append(question.text if j % 2 else question.id)
            answers.append(reference[: 7 * j + i] + odd + reference * (j % 3) + odd)
    order = sorted(range(len(answers)), key=lambda row: row * 7919 % len(answers))
    return {"question": [questions[i] for i in order], "answer": [answers[i] for i in order]}


@pytest.fixture(scope="module")
def expected(mini: Benchmark, columns: Columns) -> pl.DataFrame:
    """Scores from lists, on one thread, all rows at once."""
    return mini.score_batch(columns["question"], columns["answer"], threads=1, chunk_size=10**9)


def assert_same(got: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert_frame_equal(got, expected, check_exact=True)


def chunked(columns: Columns) -> pl.DataFrame:
    frame = pl.DataFrame(columns)
    return pl.concat([frame[:5], frame[5:6], frame[6:6], frame[6:]], rechunk=False)


def arrow(columns: Columns, kind: pa.DataType) -> pa.Table:
    return pa.table({name: pa.array(values, kind) for name, values in columns.items()})


def rows(columns: Columns) -> int:
    return len(next(iter(columns.values())))


TABLES: dict[str, Callable[[Columns], Any]] = {
    "mapping": dict,
    "list of dicts": lambda c: pl.DataFrame(c).with_columns(x=1).to_dicts(),
    "iterator of dicts": lambda c: iter(pl.DataFrame(c).to_dicts()),
    "datasets": lambda c: datasets.Dataset.from_dict({**c, "x": range(rows(c))}),
    "datasets, selected": lambda c: datasets.Dataset.from_dict(
        {name: ["x", *values] for name, values in c.items()}
    ).select(range(1, rows(c) + 1)),
    "datasets, streamed": lambda c: datasets.Dataset.from_dict(dict(c)).to_iterable_dataset(),
    "mapping of Arrow": lambda c: {name: pa.array(values) for name, values in c.items()},
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "polars, chunked": chunked,
    "polars, categories": lambda c: pl.DataFrame(c).cast(pl.Categorical),
    "polars, more columns": lambda c: pl.DataFrame(c).with_columns(x=1)["x", "answer", "question"],
    "pyarrow, Utf8": lambda c: arrow(c, pa.string()),
    "pyarrow, LargeUtf8": lambda c: arrow(c, pa.large_string()),
    "pyarrow, Utf8View": lambda c: arrow(c, pa.string_view()),
    "pyarrow, chunked": lambda c: pa.concat_tables(
        [arrow(c, pa.string())[:9], arrow(c, pa.string())[9:9], arrow(c, pa.string())[9:]]
    ),
    "pyarrow, batch": lambda c: arrow(c, pa.string()).to_batches()[0],
    "pyarrow, reader": lambda c: arrow(c, pa.string()).to_reader(max_chunksize=10),
    "pandas": pd.DataFrame,
    "pandas, objects": lambda c: pd.DataFrame(c, dtype=object),
    "pandas, other index": lambda c: pd.DataFrame(c, index=range(rows(c), 0, -1)),
}
PAIRS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "polars": pl.Series,
    "polars, chunked": lambda v: pl.concat([pl.Series(v[:3]), pl.Series(v[3:])], rechunk=False),
    "polars, sliced": lambda v: pl.Series(["x", *v, "y"])[1:-1],
    "Utf8": lambda v: pa.array(v, pa.string()),
    "LargeUtf8": lambda v: pa.array(v, pa.large_string()),
    "Utf8View": lambda v: pa.array(v, pa.string_view()),
    "sliced": lambda v: pa.array(["x", *v, "y"]).slice(1, len(v)),
    "chunked": lambda v: pa.chunked_array([v[:4], [], v[4:]], pa.string()),
    "pandas": pd.Series,
    "numpy": lambda v: np.array(v, dtype=object),
}


@pytest.mark.parametrize("form", TABLES)
def test_tables(form: str, mini: Benchmark, columns: Columns, expected: pl.DataFrame) -> None:
    assert_same(mini.score_batch(TABLES[form](columns)), expected)


@pytest.mark.parametrize("form", TABLES)
def test_named_fields(form: str, mini: Benchmark, columns: Columns, expected: pl.DataFrame) -> None:
    renamed = {"prompt": columns["question"], "output": columns["answer"]}
    if form in ("polars, more columns", "datasets"):
        renamed |= columns  # which must not be taken
        renamed["question"] = renamed["answer"] = ["?"] * len(columns["answer"])
    made = TABLES[form](renamed)
    fields: dict[str, Any] = {"question_field": "prompt", "answer_field": "output"}
    if form == "polars, more columns":
        made = pl.DataFrame(renamed)
    assert_same(mini.score_batch(made, **fields), expected)


@pytest.mark.parametrize("form", ["polars", "polars, lazy", "list of dicts", "datasets"])
def test_evaluating_and_scanning_take_the_same(
    form: str, mini: Benchmark, columns: Columns, expected: pl.DataFrame
) -> None:
    for result in (mini.evaluate(TABLES[form](columns)), score_file(TABLES[form](columns), mini)):
        assert_same(result.frame.select(expected.columns), expected)
        assert result.frame["answer"].to_list() == columns["answer"]
    scanned = scan(TABLES[form](columns), mini).collect()
    assert_same(scanned.select(expected.columns), expected)


@pytest.mark.parametrize("form", PAIRS)
def test_pairs(form: str, mini: Benchmark, columns: Columns, expected: pl.DataFrame) -> None:
    made = {name: PAIRS[form](values) for name, values in columns.items()}
    assert_same(mini.score_batch(made["question"], made["answer"]), expected)


WITH_DUCKDB = """
import sys
import duckdb, pfgen_rs
relation = duckdb.connect().read_parquet(sys.argv[1])
pfgen_rs.load_benchmark("mini").score_batch(relation).write_parquet(sys.argv[2])
"""


def test_duckdb(columns: Columns, expected: pl.DataFrame, tmp_path: Path) -> None:
    """In a process of its own, since DuckDB complains about itself when one ends."""
    pl.DataFrame(columns).write_parquet(tmp_path / "in.parquet")
    files = [str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet")]
    done = python(WITH_DUCKDB, *files)
    assert done.returncode == 0, done.stderr
    assert_same(pl.read_parquet(files[1]), expected)


@pytest.mark.parametrize("threads", [1, 2, None])
@pytest.mark.parametrize("chunk_size", [1, 7, 65536])
def test_threads_and_chunks(
    threads: int | None, chunk_size: int, mini: Benchmark, columns: Columns, expected: pl.DataFrame
) -> None:
    got = mini.score_batch(columns, threads=threads, chunk_size=chunk_size)
    assert_same(got, expected)


@pytest.mark.parametrize("form", ["mapping", "polars", "polars, lazy", "pyarrow, Utf8"])
def test_no_rows(form: str, expected: pl.DataFrame) -> None:
    fresh = small.benchmark(FIRST, SECOND)
    got = fresh.score_batch(TABLES[form]({"question": [], "answer": []}))
    assert got.height == 0
    assert got.columns[:6] == expected.columns[:6]
    assert not fresh._scorers, "nothing had to be built"


def test_one_by_one(mini: Benchmark, columns: Columns, expected: pl.DataFrame) -> None:
    for question, answer, row in zip(*columns.values(), expected.to_dicts(), strict=True):
        assert_same_row(mini, question, answer, row)


# Files.


def write_lines(path: Path, columns: Columns) -> bytes:
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    lines = [json.dumps(record, ensure_ascii=i % 2 == 0) for i, record in enumerate(records)]
    return ("\n".join(lines) + "\n").encode()


def write_array(columns: Columns, **how: Any) -> bytes:
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return json.dumps(records, **how).encode()


def gzipped(path: Path, columns: Columns) -> None:
    write_csv(path, columns)
    path.write_bytes(gzip.compress(path.read_bytes()))


def write_csv(path: Path, columns: Columns, delimiter: str = ",") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n", delimiter=delimiter)
        writer.writerows([list(columns), *zip(*columns.values(), strict=True)])


FILES: dict[str, Callable[[Path, Columns], object]] = {
    "a.jsonl": lambda p, c: p.write_bytes(write_lines(p, c)),
    "a.jsonl.xz": lambda p, c: p.write_bytes(lzma.compress(write_lines(p, c))),
    "a.jsonl.gz": lambda p, c: p.write_bytes(gzip.compress(write_lines(p, c))),
    "a.jsonl.zst": lambda p, c: p.write_bytes(zstd.compress(write_lines(p, c))),
    "a.json": lambda p, c: p.write_bytes(write_array(c)),
    "a.json, indented": lambda p, c: p.write_bytes(write_array(c, indent=2)),
    "a.json.xz": lambda p, c: p.write_bytes(lzma.compress(write_array(c, ensure_ascii=False))),
    "a.jsonl, an array": lambda p, c: p.write_bytes(b"\n" + write_array(c)),
    "a.parquet": lambda p, c: pl.DataFrame(c).write_parquet(p),
    "a.arrow": lambda p, c: pl.DataFrame(c).write_ipc(p),
    "a.feather": lambda p, c: pl.DataFrame(c).write_ipc(p, compression="zstd"),
    "a.csv": write_csv,
    "a.csv.gz": lambda p, c: gzipped(p, c),
    "a.tsv": lambda p, c: write_csv(p, c, delimiter="\t"),
}


@pytest.mark.parametrize("name", FILES)
def test_files(
    name: str, mini: Benchmark, columns: Columns, expected: pl.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / name.partition(",")[0]
    FILES[name](path, columns)
    for threads in (1, 2):
        result = score_file(path, mini, threads=threads)
        assert result.frame["answer"].to_list() == columns["answer"]
        assert_same(result.frame.select(expected.columns), expected)


# Any text.


def assert_same_row(benchmark: Benchmark, question: str, answer: str, row: dict[str, Any]) -> None:
    """A row of a batch is what the same response scores alone."""
    score = benchmark.score(question, answer)
    assert row["length"] == len(answer)
    assert (row["helpfulness"], row["average"]) == (score.helpfulness, score.average)
    for source in benchmark.sources:
        assert row[f"fluency_{source}"] == score.fluency.get(source)
        assert row[f"truthfulness_{source}"] == score.truthfulness.get(source)


# Different sources, keyword rules of both kinds, odd references.
FIRST = {
    "question_id": "Q1",
    "question": "一",
    "keywords": [{"t": "猫"}, {"t": "い.", "importance": 0.5}],
    "answers": {"A": ["猫はいる。", "^𠮷\0$"], "B": ["\u2028い"]},
}
SECOND = {"question_id": "Q2", "question": "二", "answers": {"C": ["\r\n", "犬はいない。"]}}
SMALL = {
    "pfgen-bench": small.benchmark(FIRST, SECOND),
    "paper": small.benchmark(FIRST, SECOND, settings=Settings(variant="paper")),
}
TEXTS = st.text(
    st.one_of(st.sampled_from("猫犬はいる。"), st.sampled_from("".join(ODD))), max_size=60
)
LONG = st.builds(lambda text, times: text * times, TEXTS, st.integers(1, 20))
RESPONSES = st.lists(
    st.tuples(st.sampled_from(["Q1", "Q2", "一", "二"]), st.one_of(TEXTS, LONG, st.text())),
    min_size=1,
    max_size=12,
)
FORMS: list[Callable[[Columns], Any]] = [dict, pl.DataFrame, chunked, pd.DataFrame]
FORMS += [partial(arrow, kind=kind) for kind in (pa.large_string(), pa.string_view())]


@examples(max_examples=150)
@given(
    variant=st.sampled_from(sorted(SMALL)),
    responses=RESPONSES,
    form=st.sampled_from(FORMS),
    threads=st.sampled_from([1, 2, None]),
    chunk_size=st.sampled_from([1, 2, 7, 100]),
)
def test_any_text(
    variant: str,
    responses: list[tuple[str, str]],
    form: Callable[[Columns], Any],
    threads: int | None,
    chunk_size: int,
) -> None:
    benchmark = SMALL[variant]
    questions, answers = (list(column) for column in zip(*responses, strict=True))
    expected = benchmark.score_batch(questions, answers, threads=1)
    table = form({"question": questions, "answer": answers})
    got = benchmark.score_batch(table, threads=threads, chunk_size=chunk_size)
    assert_same(got, expected)
    for question, answer, row in zip(questions, answers, got.to_dicts(), strict=True):
        assert_same_row(benchmark, question, answer, row)


@examples(max_examples=60)
@given(responses=RESPONSES, name=st.sampled_from(sorted(FILES)))
def test_any_text_in_files(
    responses: list[tuple[str, str]], name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    benchmark = SMALL["pfgen-bench"]
    questions, answers = (list(column) for column in zip(*responses, strict=True))
    path = tmp_path_factory.mktemp("any") / name
    FILES[name](path, {"question": questions, "answer": answers})
    result = score_file(path, benchmark)
    assert result.frame["answer"].to_list() == answers
    expected = benchmark.score_batch(questions, answers)
    assert_same(result.frame.select(expected.columns), expected)


# The same bits whatever instructions the processor has: each set scores in a process of its own.


SCRIPT = """
import sys
from pathlib import Path
import pfgen_rs
from pfgen_rs import _native
bench = pfgen_rs.load_benchmark(sys.argv[1])
print(_native.INSTRUCTIONS)
for path in sorted(Path(sys.argv[2]).glob("**/result.json")):
    same = pfgen_rs.score_file(path.parent, bench).to_bytes() == path.read_bytes()
    print(path.parent.name, "same" if same else "DIFFERENT")
"""
SETS = ["portable", "avx2", "avx512"]


def score(instructions: str, benchmark: Path, runs: Path) -> list[str]:
    done = helpers.python(SCRIPT, benchmark, runs, env={"PFGEN_RS_INSTRUCTIONS": instructions})
    assert done.returncode == 0, done.stderr
    used, *results = done.stdout.splitlines()
    if used != instructions:
        pytest.skip(f"this processor has no {instructions}")
    return results


@pytest.mark.parametrize("instructions", SETS)
def test_bundled_runs(instructions: str, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in ("careless", "faithful"):
        target = runs / name / "result.json"
        target.parent.mkdir(parents=True)
        source = bundled_path() / "runs" / name / "trials.jsonl.xz"
        (runs / name / "trials.jsonl.xz").write_bytes(source.read_bytes())
        scored = helpers.pfgen("score", runs / name, "-b", "mini", "--out", target.parent)
        assert scored.returncode == 0, scored.stderr
    assert score(instructions, bundled_path(), runs) == ["careless same", "faithful same"]


@pytest.mark.published
@pytest.mark.slow
@pytest.mark.parametrize("instructions", SETS[:2])
def test_published_runs(instructions: str, published_dir: Path) -> None:
    """The best set scores them in other tests."""
    results = score(instructions, published_dir / "data", published_dir / "result")
    assert len(results) == 24
    assert {result.split()[-1] for result in results} == {"same"}
