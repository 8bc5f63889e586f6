"""`pfgen_rs.scan`: scores within polars queries."""

import gzip
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars._typing import EngineType
from polars.testing import assert_frame_equal

from helpers import CATS, GOOD, SEAS, lines, write_benchmark
from pfgen_rs import (
    Benchmark,
    InputError,
    UnknownQuestionError,
    load_benchmark,
    scan,
    scanning,
    score_file,
)
from pfgen_rs.io import reading
from pfgen_rs.io.chunk import Options
from pfgen_rs.runs import outputs
from pfgen_rs.runs.resumable import Job
from pfgen_rs.scoring import batch
from pfgen_rs.scoring.inputs import Responses


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path / "tiny")).prepare()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for i, path in enumerate(paths):
        path.write_bytes(lines(GOOD * (i + 1)))
    return paths


@pytest.fixture
def expected(benchmark: Benchmark, files: list[Path]) -> pl.DataFrame:
    return outputs.per_response([score_file(path, benchmark) for path in files])


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_files_as_a_table(
    benchmark: Benchmark, files: list[Path], expected: pl.DataFrame, engine: EngineType
) -> None:
    for source in (files, str(files[0].parent / "*.jsonl"), [str(path) for path in files]):
        lazy = scan(source, benchmark)
        assert lazy.collect_schema() == expected.schema
        assert_frame_equal(lazy.collect(engine=engine), expected, check_exact=True)


def test_queries(benchmark: Benchmark, files: list[Path], expected: pl.DataFrame) -> None:
    lazy = scan(files, benchmark)
    queries: list[Callable[[pl.LazyFrame], pl.LazyFrame]] = [
        lambda t: t.filter(pl.col("average") > 0.3),
        lambda t: t.filter(pl.col("question") == CATS).select("line", "fluency"),
        lambda t: t.filter(pl.col("average") > 0.3, pl.col("line") > 2).select("answer"),
        lambda t: t.select("file", "answer"),
        lambda t: t.select(pl.len()),
        lambda t: t.head(5),
        lambda t: t.slice(3, 6).select("line", "average"),
        lambda t: t.filter(pl.col("line") == 4).head(2),
        lambda t: t.head(5).filter(pl.col("line") == 4),
        lambda t: t.tail(3),
        lambda t: t.group_by("question_id").agg(pl.col("average").mean()).sort("question_id"),
        lambda t: t.join(t.select("file", "line", x="average"), on=["file", "line"]).sort(
            "file", "line"
        ),
        lambda t: t.with_columns(better=pl.col("average").rank()),
    ]
    for query in queries:
        wanted = query(expected.lazy()).collect()
        assert_frame_equal(query(lazy).collect(), wanted)
        assert_frame_equal(query(lazy).collect(engine="streaming"), wanted)


def test_scores_that_nobody_asks_for_are_not_computed(
    benchmark: Benchmark, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    real = batch.score_responses

    def counted(bench: Benchmark, found: Responses, **more: object) -> object:
        seen.append(len(found.questions))
        return real(bench, found, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(batch, "score_responses", counted)
    lazy = scan(files, benchmark)
    lazy.select("answer").filter(pl.col("answer") != "").collect()
    assert sum(seen) == 0
    lazy.filter(pl.col("question") == SEAS).collect()
    assert sum(seen) == 12


@pytest.mark.parametrize("suffix", ["parquet", "csv", "ipc", "ndjson"])
def test_sinks(
    benchmark: Benchmark, files: list[Path], expected: pl.DataFrame, tmp_path: Path, suffix: str
) -> None:
    target = tmp_path / f"out.{suffix}"
    getattr(scan(files, benchmark), f"sink_{suffix}")(target)
    read: dict[str, Callable[[Path], pl.DataFrame]] = {
        "parquet": pl.read_parquet,
        "csv": lambda path: pl.read_csv(path, schema=expected.schema),
        "ipc": pl.read_ipc,
        "ndjson": lambda path: pl.read_ndjson(path, schema=expected.schema),
    }
    assert_frame_equal(read[suffix](target), expected)


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_lazy_table_keeps_its_columns(benchmark: Benchmark, engine: EngineType) -> None:
    table = pl.DataFrame({"id": range(400), "q": [q for q, _ in GOOD] * 100}).with_columns(
        text=pl.Series([a for _, a in GOOD] * 100), q=pl.col("q").cast(pl.Categorical)
    )
    expected = benchmark.score_batch(table["q"].cast(pl.String), table["text"])
    named = {"question_field": "q", "answer_field": "text"}
    for source in (table, table.lazy()):
        got = scan(source, benchmark, **named)  # type: ignore[arg-type]
        assert got.collect_schema().names()[:3] == ["id", "q", "text"]
        frame = got.collect(engine=engine)
        assert_frame_equal(frame.select(expected.columns), expected, check_exact=True)
        assert frame.get_column("signature").unique().to_list() == [benchmark.signature]
        best = got.filter(pl.col("average") == pl.col("average").max()).select("id")
        assert best.collect(engine=engine).height == 100


def test_errors(benchmark: Benchmark, files: list[Path], tmp_path: Path) -> None:
    files[1].write_bytes(lines() + b"oops\n")
    with pytest.raises(InputError, match=r"b\.jsonl, line 5") as caught:
        scan(files, benchmark).collect()
    assert caught.value.line == 5
    with pytest.raises(InputError, match=r"b\.jsonl, line 5"):
        scan(files, benchmark).sink_parquet(tmp_path / "out.parquet")
    assert scan(files, benchmark, skip_bad_lines=True).collect().height == 20
    with pytest.raises(InputError, match="no file matches"):
        scan(tmp_path / "z*.jsonl", benchmark)
    table = pl.DataFrame({"question": [CATS, "?", None], "answer": ["x", "y", "z"]})
    with pytest.raises(InputError, match="null"):
        scan(table[[0, 2]], benchmark).collect()
    with pytest.raises(UnknownQuestionError):
        scan(table[:2], benchmark).collect(engine="streaming")
    assert scan(table, benchmark, skip_bad_lines=True).collect().height == 1
    with pytest.raises(InputError, match="has no answer, only 'question'"):
        scan(table.drop("answer"), benchmark)
    with pytest.raises(InputError, match="length"):
        scan(table.with_columns(length=1), benchmark)


# Other columns of files.


OTHERS: list[dict[str, Any]] = [
    {"id": n, "line": -n, "meta": {"url": f"u{n}"}, "tags": ["a", None][: n % 3], "none": None}
    for n in range(len(GOOD) * 10)
]
ROWS = [{"question": q, "answer": a} for q, a in GOOD * 10]
TABLE = pl.DataFrame(
    [row | other for row, other in zip(ROWS, OTHERS, strict=True)],
    schema_overrides={"none": pl.Null},
)
CHATS = [
    {"messages": [{"role": "user", "content": q}, {"role": "assistant", "content": a}], **other}
    for (q, a), other in zip(GOOD * 10, OTHERS, strict=True)
]
JSON = "\n".join(
    json.dumps(row | other, ensure_ascii=False) for row, other in zip(ROWS, OTHERS, strict=True)
)
CHAT_LINES = "\n".join(json.dumps(chat, ensure_ascii=False) for chat in CHATS)
WRITE: dict[str, Callable[[Path], Any]] = {
    "a.parquet": TABLE.write_parquet,
    "a.arrow": TABLE.write_ipc,
    "a.csv": TABLE.select("question", "answer", "id", "line").write_csv,
    "a.jsonl": lambda path: path.write_text(JSON + "\n"),
    "a.jsonl.gz": lambda path: path.write_bytes(gzip.compress(JSON.encode() + b"\n")),
    "a.json": lambda path: path.write_text("[" + JSON.replace("\n", ",\n") + "]"),
    "chats.jsonl": lambda path: path.write_text(CHAT_LINES + "\n"),
    "chats.parquet": pl.DataFrame(CHATS).write_parquet,
}


def as_json(value: Any) -> Any:
    return None if value is None else json.dumps(value)


@pytest.mark.parametrize("name", WRITE)
def test_other_columns_of_files_are_kept(name: str, benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITE[name](path)
    lazy = scan(path, benchmark)
    columns = lazy.collect_schema().names()
    *fixed, last = scan(path, benchmark, keep="none").collect_schema().names()
    others = [n if n != "line" else "input_line" for n in OTHERS[0]][: 2 if ".csv" in name else 5]
    assert columns == [*fixed, *others, last]
    frame = lazy.collect(engine="streaming")
    assert frame.schema == lazy.collect_schema()
    assert_frame_equal(frame, lazy.collect())
    typed = name in ("a.parquet", "a.arrow")
    for key, column in zip(OTHERS[0], others, strict=False):
        expected = [other[key] if typed else as_json(other[key]) for other in OTHERS]
        found = frame[column].to_list()
        if not typed and key in ("meta", "tags"):  # polars writes nested columns without spaces
            found, expected = ([json.loads(text) for text in each] for each in (found, expected))
        assert found == expected
    with Job(
        benchmark, [str(path)], Options(), per_response=tmp_path / "t.parquet", keep="all"
    ) as j:
        j.run()
        j.write()
    assert_frame_equal(frame, pl.read_parquet(tmp_path / "t.parquet").cast(frame.schema))


def test_queries_read_only_the_columns_they_use(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.parquet", "a.jsonl"):
        WRITE[name](tmp_path / name)
    read: list[list[str]] = []
    scored: list[int] = []
    real, real_scores = reading.read_ahead, batch.score_responses

    def spied(files: Any, options: Options) -> Any:
        read.append([kept.key for kept in options.keep])
        return real(files, options)

    def counted(bench: Benchmark, found: Responses, **more: Any) -> object:
        scored.append(len(found.questions))
        return real_scores(bench, found, **more)

    monkeypatch.setattr(scanning, "read_ahead", spied)
    monkeypatch.setattr(batch, "score_responses", counted)
    for name, kind in (("a.parquet", int), ("a.jsonl", str)):
        lazy = scan(tmp_path / name, benchmark)
        assert not read
        found = lazy.filter(pl.col("id").cast(pl.Int64) >= 30).select("average", "input_line")
        assert found.collect(engine="streaming")["input_line"].to_list() == [
            kind(-n) for n in range(30, 40)
        ]
        assert lazy.filter(pl.col("average") > 2).select(pl.len()).collect().item() == 0
        assert lazy.head(3).select("tags").collect().height == 3
        lazy.select("file", "answer").collect()
        assert read == [["id", "line"], [], ["tags"], []]
        assert scored == [10, 40]
        read.clear()
        scored.clear()


def test_files_with_other_columns_are_one_table(benchmark: Benchmark, tmp_path: Path) -> None:
    for name in ("a.parquet", "a.csv", "a.jsonl"):
        WRITE[name](tmp_path / name)
    paths = [tmp_path / name for name in ("a.parquet", "a.csv", "a.jsonl")]
    ids = scan(paths, benchmark, keep=["id"]).select("id").collect()["id"].to_list()
    assert ids == [str(other["id"]) for other in OTHERS] * 3
    assert "id" in scan(paths[2], benchmark, keep="id").collect_schema()
    for wrong, message in ((paths, "'meta' has type Struct"), (paths[0], "missing column 'nope'")):
        with pytest.raises(InputError, match=message):
            scan(wrong, benchmark, keep="all" if wrong is paths else ["nope"])


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((pl.Binary, pl.Int64), "type Binary"),
        ((pl.List(pl.Null), pl.List(pl.Int64)), pl.List(pl.Int64)),
        ((pl.List(pl.Null), pl.Int64), r"type List\(Null\)"),
        ((pl.List(pl.Null), pl.Null), pl.List(pl.Null)),
        ((pl.Enum(["a"]), pl.Null), pl.String),
    ],
)
def test_types_of_a_column_that_differ_between_files(
    benchmark: Benchmark, tmp_path: Path, kinds: Any, expected: Any
) -> None:
    for at, kind in enumerate(kinds):
        table = pl.DataFrame(GOOD, schema=["question", "answer"], orient="row").with_columns(
            pl.lit(None, kind).alias("k"), pl.lit(1).alias("")
        )
        table.write_parquet(tmp_path / f"{at}.parquet")
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            scan(str(tmp_path / "*.parquet"), benchmark)
        return
    frame = scan(str(tmp_path / "*.parquet"), benchmark).collect()
    assert (frame.schema["k"], frame.height, "" in frame.columns) == (
        expected,
        2 * len(GOOD),
        False,
    )


def test_a_pipe_keeps_its_columns(benchmark: Benchmark, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    threading.Thread(target=lambda: pipe.write_text(JSON), daemon=True).start()
    lazy = scan(pipe, benchmark)
    assert lazy.select("id").collect()["id"].to_list() == [str(n) for n in range(40)]


def test_damaged_and_empty_files(benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("oops\n" + JSON + "\n")
    with pytest.raises(InputError, match=r"x\.jsonl, line 1"):
        scan(path, benchmark).collect()
    assert scan(path, benchmark, skip_bad_lines=True).select("id").collect().height == 40
    path.write_text("")
    assert scan(path, benchmark).collect().is_empty()
