"""Columns of the user's beside the scores, and files with several runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from helpers import CATS, GOOD, SEAS, pfgen, write_benchmark
from pfgen_rs import Benchmark, InputError, load_benchmark, score_file, score_runs
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.reading import MOST_RUNS
from pfgen_rs.io.run_files import result_names
from pfgen_rs.runs import resumable
from pfgen_rs.runs.resumable import Job

MODELS = ["org/one", "two", "../three"]
ROWS: list[dict[str, Any]] = [
    {
        "question": question,
        "answer": answer + model,
        "model": model,
        "seed": number,
        "line": -number,
        "at": datetime(2025, 1, 1 + number),
        "tags": ["a", "b"],
        "meta": {"x": number},
        "raw": b"\xff",
    }
    for number, (question, answer) in enumerate(GOOD)
    for model in MODELS
]
PLAIN = ["question", "answer", "model", "seed", "line"]
TABLE = pl.DataFrame(ROWS)


def write_jsonl(path: Path, frame: pl.DataFrame) -> None:
    frame.select(PLAIN).write_ndjson(path)


WRITE: dict[str, Callable[[Path, pl.DataFrame], Any]] = {
    "a.parquet": lambda path, frame: frame.write_parquet(path),
    "a.arrow": lambda path, frame: frame.write_ipc(path),
    "a.csv": lambda path, frame: frame.select(PLAIN).write_csv(path),
    "a.tsv": lambda path, frame: frame.select(PLAIN).write_csv(path, separator="\t"),
    "a.jsonl": write_jsonl,
    "a.json": lambda path, frame: frame.select(PLAIN).write_json(path),
}
READ: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".arrow": pl.read_ipc,
    ".csv": pl.read_csv,
    ".jsonl": pl.read_ndjson,
}


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path / "tiny"))


def job(bench: Benchmark, paths: list[Path], table: Path, **more: Any) -> pl.DataFrame:
    with Job(bench, [str(path) for path in paths], Options(), per_response=table, **more) as made:
        made.run()
        made.write()
    return READ[table.suffix](table)


# --keep


@pytest.mark.parametrize("suffix", READ)
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_tables_keep_all_columns(name: str, suffix: str, bench: Benchmark, tmp_path: Path) -> None:
    WRITE[name](tmp_path / name, TABLE)
    rows = job(bench, [tmp_path / name], tmp_path / f"t{suffix}")
    assert rows["seed"].to_list() == TABLE["seed"].to_list()
    assert rows["input_line"].to_list() == TABLE["line"].to_list()
    assert rows["line"].to_list() == [*range(1, len(ROWS) + 1)]
    assert rows.columns[-1] == "signature"
    if suffix in (".parquet", ".arrow"):
        kept = rows.select("model", "seed", "at", "tags", "meta", "raw")
        assert_frame_equal(kept, TABLE.select(kept.columns))
    else:
        assert rows["raw"][0] == "/w=="
    if suffix == ".csv":
        assert (rows["tags"][0], rows["meta"][0]) == ("a b", '{"x": 0}')
    scores = rows.select("average", "answer")
    plain = job(bench, [tmp_path / name], tmp_path / f"u{suffix}", keep="none")
    assert_frame_equal(scores, plain.select(scores.columns))
    assert plain.width == rows.width - 7


@pytest.mark.parametrize("name", WRITE)
def test_named_columns_are_kept(name: str, bench: Benchmark, tmp_path: Path) -> None:
    WRITE[name](tmp_path / name, TABLE)
    rows = job(bench, [tmp_path / name], tmp_path / "t.parquet", keep=["seed", "model", "line"])
    assert rows.columns[-4:] == ["seed", "model", "input_line", "signature"]
    seeds = TABLE["seed"].to_list()
    expected = seeds if name in ("a.parquet", "a.arrow") else list(map(str, seeds))
    assert rows["seed"].to_list() == expected
    assert rows["model"].to_list() == TABLE["model"].to_list()


def test_records_keep_nothing_unless_asked(bench: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records = [{"question": CATS, "answer": "猫", "x": x} for x in ("t", None, 1.5, [1, "あ"])]
    records += [{"question": SEAS, "answer": "海"}] * 4
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    rows = job(bench, [path], tmp_path / "t.parquet")
    assert "x" not in rows.columns
    rows = job(bench, [path], tmp_path / "t.parquet", keep=["x"])
    assert rows["x"].to_list() == ["t", None, "1.5", '[1, "あ"]', *[None] * 4]
    assert_frame_equal(job(bench, [path], tmp_path / "t.parquet", keep="all"), rows)


def test_files_with_other_columns_share_a_table(bench: Benchmark, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet", "c.csv")]
    TABLE.select("question", "answer", "seed").write_parquet(paths[0])
    TABLE.select("question", "answer", "seed", "model").write_parquet(paths[1])
    TABLE.select("question", "answer", "model").write_csv(paths[2])
    rows = job(bench, paths, tmp_path / "t.parquet")
    count, seeds, models = len(ROWS), TABLE["seed"].to_list(), TABLE["model"].to_list()
    assert rows["seed"].to_list() == [*seeds, *seeds, *[None] * count]
    assert rows["model"].to_list() == [*[None] * count, *models, *models]
    TABLE.select("question", "answer", pl.col("seed").cast(pl.String)).write_parquet(paths[1])
    rows = job(bench, paths[:2], tmp_path / "t.parquet")
    assert rows["seed"].to_list() == [str(seed) for seed in [*seeds, *seeds]]


def test_names_that_do_not_exist(bench: Benchmark, tmp_path: Path) -> None:
    for name in ("a.parquet", "a.csv"):
        WRITE[name](tmp_path / name, TABLE)
        with pytest.raises(InputError, match="missing column 'nope': found 'question', 'answer'"):
            job(bench, [tmp_path / name], tmp_path / "t.csv", keep=["nope"])
    WRITE["a.jsonl"](tmp_path / "a.jsonl", TABLE)
    with pytest.raises(InputError, match="cannot keep 'nope'"):
        job(bench, [tmp_path / "a.jsonl"], tmp_path / "t.csv", keep=["nope"])
    assert not (tmp_path / "t.csv").exists()


@pytest.mark.parametrize("run_field", [None, "model"])
@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_a_resumed_table_is_the_same(
    name: str,
    run_field: str | None,
    bench: Benchmark,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resumable, "_JOURNALED_FROM", 0)
    WRITE[name](tmp_path / name, TABLE)
    more: dict[str, Any] = {"keep": ["seed"], "run_field": run_field}
    options = Options(rows=5, text_size=300)
    paths, table = [str(tmp_path / name)], tmp_path / "t.jsonl"

    class StoppedError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StoppedError

    made = Job(bench, paths, options, per_response=table, **more)
    with pytest.raises(StoppedError), made:
        made.run(stop)
    assert made.left is not None
    with Job(bench, paths, options, per_response=table, **more) as made:
        assert made._store.resumes
        resumed = made.run()
        made.write()
    content = table.read_bytes()
    with Job(bench, paths, options, per_response=table, **more) as made:
        whole = made.run()
        made.write()
    assert table.read_bytes() == content
    assert [each.to_bytes() for each in resumed] == [each.to_bytes() for each in whole]


# --run-field


def separate(bench: Benchmark, tmp_path: Path, model: str) -> Any:
    path = tmp_path / "one.jsonl"
    write_jsonl(path, TABLE.filter(pl.col("model") == model))
    result = score_file(path, bench).to_dict()
    return {**result, "input_hash": "", "config": {"model": model}}


def comparable(result: dict[str, Any]) -> dict[str, Any]:
    for question in result["questions"].values():
        question["samples"] = [
            {key: sample[key] for key in ("answer", "scores")} for sample in question["samples"]
        ]
    return {**result, "input_hash": ""}


@pytest.mark.parametrize("name", WRITE)
@pytest.mark.parametrize("rows", [1, 5, 1000])
def test_each_run_is_as_if_alone(name: str, rows: int, bench: Benchmark, tmp_path: Path) -> None:
    WRITE[name](tmp_path / name, TABLE)
    with Job(
        bench,
        [str(tmp_path / name)],
        Options(rows=rows, text_size=max(200, rows)),
        per_response=tmp_path / "t.parquet",
        out=tmp_path / "out",
        run_field="model",
    ) as made:
        results = made.run()
        made.write()
    assert [(each.run, each.name, each.height) for each in results] == [
        (model, model, len(GOOD)) for model in MODELS
    ]
    folders = ["org__one", "two", "..__three"]
    for result, folder, model in zip(results, folders, MODELS, strict=True):
        written = json.loads((tmp_path / "out" / folder / "result.json").read_bytes())
        assert comparable(written) == comparable(separate(bench, tmp_path, model))
        expected = TABLE.filter(pl.col("model") == model)["answer"].to_list()
        assert result.frame["answer"].to_list() == expected
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert table["answer"].to_list() == TABLE["answer"].to_list()
    assert table["model"].to_list() == TABLE["model"].to_list()
    averages = dict(zip(table["answer"], table["average"], strict=True))
    for result in results:
        assert {answer: averages[answer] for answer in result.frame["answer"]} == dict(
            zip(result.frame["answer"], result.frame["average"], strict=True)
        )


def test_rows_carry_the_signature_of_their_run(bench: Benchmark, tmp_path: Path) -> None:
    partial = TABLE.filter((pl.col("model") != "two") | (pl.col("question") == CATS))
    WRITE["a.parquet"](tmp_path / "a.parquet", partial)
    rows = job(bench, [tmp_path / "a.parquet"], tmp_path / "t.parquet", run_field="model")
    assert rows["line"].to_list() == [*range(1, len(partial) + 1)]
    signed = rows.group_by("model").agg(pl.col("signature").unique()).to_dicts()
    assert {row["model"]: "questions:1/2" in row["signature"][0] for row in signed} == {
        "org/one": False,
        "two": True,
        "../three": False,
    }


def test_python_scores_runs_of_files_and_tables(bench: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    WRITE["a.parquet"](path, TABLE)
    for source in (path, [path], TABLE, TABLE.to_dicts()):
        results = score_runs(source, bench, run_field="model")
        assert [result.name for result in results] == MODELS
        assert [result.config for result in results] == [{"model": model} for model in MODELS]
        expected = [bench.evaluate(TABLE.filter(pl.col("model") == m)).score for m in MODELS]
        assert [result.score for result in results] == expected
    numbers = score_runs(TABLE, bench, run_field="seed")
    assert [result.name for result in numbers] == ["0", "1", "2", "3"]


@pytest.mark.parametrize("name", WRITE)
def test_responses_without_a_run(name: str, bench: Benchmark, tmp_path: Path) -> None:
    lacking = TABLE.with_columns(
        pl.when(pl.int_range(pl.len()) == 4).then(None).otherwise("model").alias("model")
    )
    WRITE[name](tmp_path / name, lacking)
    with pytest.raises(InputError, match=r" 5: missing value of 'model', which names the run"):
        score_runs(tmp_path / name, bench, run_field="model")
    first, *others = score_runs(tmp_path / name, bench, run_field="model", skip_bad_lines=True)
    assert [problem.line for problem in first.problems] == [5]
    assert not any(result.problems for result in others)
    assert sum(result.height for result in (first, *others)) == len(ROWS) - 1
    if name == "a.parquet":
        with pytest.raises(InputError, match="row 4: missing value of 'model'"):
            score_runs(lacking, bench, run_field="model")


def test_fields_that_cannot_name_runs(bench: Benchmark, tmp_path: Path) -> None:
    for name in ("a.parquet", "a.csv"):
        WRITE[name](tmp_path / name, TABLE)
        with pytest.raises(InputError, match=r"missing column 'nope': .*--run-field"):
            score_runs(tmp_path / name, bench, run_field="nope")
    with pytest.raises(InputError, match="'answer' cannot name runs"):
        score_runs(tmp_path / "a.csv", bench, run_field="answer")
    many = pl.DataFrame({"question": [CATS] * (MOST_RUNS + 1), "answer": ["猫"] * (MOST_RUNS + 1)})
    many = many.with_row_index("id")
    many.write_parquet(tmp_path / "many.parquet")
    for source in (tmp_path / "many.parquet", many):
        with pytest.raises(InputError, match="more than 1,000 values of 'id'"):
            score_runs(source, bench, run_field="id")


def test_names_of_folders() -> None:
    runs = [("a.jsonl", "../.."), ("a.jsonl", ".."), ("a.jsonl", 'x:"\n?'), ("a.jsonl", "猫" * 200)]
    names = result_names([*runs])
    assert names[:3] == ["..__._", "__", "x__"]
    assert len(names[3].encode()) <= 200
    assert all("/" not in name for name in names)
    assert result_names([("x/a.jsonl", "m"), ("x/b.jsonl", "m")]) == ["a/m", "b/m"]
    assert result_names([("a.jsonl", None)]) == [""]
    with pytest.raises(InputError, match="'A/b' and 'a:B' would have the same folder"):
        result_names([("a.jsonl", "A/b"), ("a.jsonl", "a:B")])


def test_the_command(tmp_path: Path) -> None:
    tiny = write_benchmark(tmp_path / "tiny")
    WRITE["a.jsonl"](tmp_path / "a.jsonl", TABLE.with_columns(pl.col("answer") + "\n"))
    done = pfgen(
        *("score", tmp_path / "a.jsonl", "-b", tiny, "--run-field", "model", "--format", "json"),
        *("--per-response", tmp_path / "t.csv", "--keep", "seed,line"),
    )
    assert done.returncode == 0, done.stderr
    assert {row["name"] for row in json.loads(done.stdout)} == set(MODELS)
    header = (tmp_path / "t.csv").read_text().splitlines()[0]
    assert header.endswith(",model,seed,input_line,signature")
    warnings = done.stderr.splitlines()
    assert len(warnings) == len(MODELS)
    assert ", run 'two': 4 of 4 answers end with white space" in warnings[1]
