"""`pfgen_rs.scan`: scores within polars queries."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars._typing import EngineType
from polars.testing import assert_frame_equal

from helpers import CATS, GOOD, SEAS, lines, write_benchmark
from pfgen_rs import Benchmark, InputError, UnknownQuestionError, load_benchmark, scan, score_file
from pfgen_rs.runs import outputs
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
