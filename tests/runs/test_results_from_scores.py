"""Results from pickles, and from rows of scores."""

from __future__ import annotations

import io
import itertools
import math
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings as examples, strategies as st

import pfgen_rs
from helpers import GOOD, SCRIPT, environment, lines, pfgen, python, write_benchmark, write_run
from pfgen_rs import (
    Benchmark,
    BenchmarkError,
    InputError,
    Result,
    Settings,
    load_benchmark,
    results_from_scores,
    scan,
    score_file,
    score_runs,
)
from pfgen_rs.integrations.arrow import scorer
from pfgen_rs.questions.locate import sample_runs
from pfgen_rs.training import Reward
from places import DOCS

PAGE = (DOCS / "how-to" / "scale.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def answers(mini: Benchmark) -> pl.DataFrame:
    """The answers of the bundled runs, and some that tie."""
    runs = sorted(pfgen_rs.sample_runs().values())
    frames = [pfgen_rs.score_file(run, mini).frame.select("question", "answer") for run in runs]
    few = pl.DataFrame({"question": ["Q02", "Q14"] * 4, "answer": ["光合成。", "布", "", "布"] * 2})
    return pl.concat([*frames, few])


def scored(rows: pl.DataFrame, bench: Benchmark) -> pl.DataFrame:
    return scan(rows, bench).collect().with_columns(pl.int_range(pl.len()).alias("row"))


def same(result: Result, expected: Result) -> bool:
    """Whether everything that is published is the same, to the last byte."""
    return (
        result.to_bytes(allow_partial=True) == expected.to_bytes(allow_partial=True)
        and result.by_question.equals(expected.by_question)
        and result.signature == expected.signature
        and result.unclean == expected.unclean
    )


@examples(max_examples=30, deadline=None)
@given(data=st.data())
def test_shuffled_rows_have_the_results_of_their_answers(
    data: st.DataObject, mini: Benchmark, answers: pl.DataFrame, tmp_path_factory: Any
) -> None:
    summation: Any = data.draw(st.sampled_from(["plain", "compensated"]))
    bench = mini.with_settings(Settings(summation=summation))
    chosen = data.draw(st.lists(st.integers(0, answers.height - 1), min_size=1, max_size=120))
    models = data.draw(st.lists(st.sampled_from("abc"), min_size=len(chosen), max_size=len(chosen)))
    rows = answers[chosen].with_columns(model=pl.Series(models))
    mixed = scored(rows, bench).sample(fraction=1, shuffle=True, seed=data.draw(st.integers(0, 9)))
    cuts = data.draw(st.lists(st.integers(0, mixed.height), max_size=3))
    folder = tmp_path_factory.mktemp("parts")
    for number, (start, end) in enumerate(itertools.pairwise([0, *sorted(cuts), mixed.height])):
        mixed[start:end].write_parquet(folder / f"{number}.parquet")
    results = results_from_scores(
        str(folder / "*.parquet"), bench, run_field="model", order_field="row"
    )
    assert sorted(result.name for result in results) == sorted(set(models))
    for result in results:
        expected = bench.evaluate(rows.filter(model=result.name))
        bare = result.to_dict(allow_partial=True)
        assert bare.pop("config") == {"model": result.name}
        assert bare == expected.to_dict(allow_partial=True)
        assert result.by_question.equals(expected.by_question)
        assert result.signature == expected.signature


@pytest.mark.parametrize("kind", ["frame", "lazy", "arrow", "batches", "engine", "batch"])
def test_tables_of_every_kind(kind: str, mini: Benchmark, answers: pl.DataFrame) -> None:
    frame = scan(answers, mini).collect()
    score = scorer(mini)
    data = answers.to_arrow().cast(pa.schema([("question", pa.string()), ("answer", pa.string())]))
    tables: dict[str, Any] = {
        "frame": lambda: frame,
        "lazy": lambda: scan(answers, mini),
        "arrow": frame.to_arrow,
        "batches": lambda: pa.RecordBatchReader.from_batches(
            score.schema(data.schema), score(data.to_batches(max_chunksize=7))
        ),
        "engine": lambda: score(data),
        "batch": lambda: mini.score_batch(answers).with_columns(signature=pl.lit(mini.signature)),
    }
    [result] = results_from_scores(tables[kind](), mini)
    expected = mini.evaluate(answers)
    if kind == "batch":
        assert result.by_question.equals(expected.by_question)
    else:
        assert same(result, expected)


@pytest.mark.parametrize(
    "settings",
    [Settings(variant="paper"), Settings(summation="compensated"), Settings(min_n=2, max_n=5)],
)
def test_other_settings(settings: Settings, mini: Benchmark, answers: pl.DataFrame) -> None:
    bench = mini.with_settings(settings)
    rows = scored(answers, bench).reverse()
    [result] = results_from_scores(rows, bench, order_field="row")
    assert same(result, bench.evaluate(answers))


def test_questions_of_several_sources(benchmark: Path) -> None:
    bench = pfgen_rs.load_benchmark(benchmark)
    texts = ["猫", "猫は眠ります。", ""]
    rows = pl.DataFrame({"question": bench.ids * 3, "answer": texts * len(bench)})
    [result] = results_from_scores(scored(rows, bench).reverse(), bench, order_field="row")
    assert same(result, bench.evaluate(rows))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_tables_that_score_writes_are_its_runs(suffix: str, tmp_path: Path) -> None:
    """Of runs that lack answers, too, as their signatures say."""
    bench = write_benchmark(tmp_path / "set")
    some = pfgen_rs.load_benchmark(bench)
    for name, ids in (("a", some.ids * 2), ("b", some.ids[:1])):
        rows = pl.DataFrame({"question": ids, "answer": ["猫は眠ります。 "] * len(ids)})
        rows.write_ndjson(tmp_path / f"{name}.jsonl")
    runs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    table = tmp_path / f"scores{suffix}"
    done = pfgen("score", *runs, "-b", bench, "--clean", "--per-response", table)
    assert done.returncode == 0, done.stderr
    results = results_from_scores(table, bench, run_field="file", order_field="line")
    expected = pfgen_rs.score_runs(list(map(str, runs)), bench, clean=True)
    for result, one in zip(results, expected, strict=True):
        assert (result.clean, result.signature) == ("completion", one.signature)
        assert result.by_question.equals(one.by_question)
        assert result.frame.drop("line").equals(one.frame.drop("line"))


def test_without_texts_there_are_no_samples(mini: Benchmark, answers: pl.DataFrame) -> None:
    rows = scan(answers, mini).collect().drop("question", "answer")
    [result] = results_from_scores(rows, mini)
    assert result.by_question.equals(mini.evaluate(answers).by_question)
    for ask in (result.to_dict, lambda: result.frame):
        with pytest.raises(InputError, match="the texts of the answers are not known: pass rows"):
            ask()
    [same] = results_from_scores(rows, mini)
    assert repr(same) == repr(result)
    assert same.by_question.equals(result.by_question)


def test_rows_without_scores_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = pa.table(
        {
            "question": ["Q02", "Q02", "Q99", "Q14", "Q02", "Q02"],
            "answer": ["光合成です。", None, "?", "布", "草", "葉"],
            "model": ["a", "a", "b", "b", None, "a"],
            "place": [1, 2, 3, 4, 5, None],
        }
    )
    path = tmp_path / "scores.parquet"
    pl.DataFrame(scorer("mini")(data)).write_parquet(path)
    results = results_from_scores(path, "mini", run_field="model", order_field="place")
    assert [(result.name, result.height) for result in results] == [("a", 1), ("b", 1)]
    assert [str(problem) for problem in results[0].problems] == [
        f"{path}, row {row}: {reason}"
        for row, reason in (
            (2, "the answer is null"),
            (3, "unknown question"),
            (5, "no 'model'"),
            (6, "no 'place'"),
        )
    ]
    assert results[1].problems == []
    for rows, message in ((data[2:3], "no rows with scores: row 1: unknown q"), (data[:0], "no r")):
        with pytest.raises(InputError, match=f"^{message}"):
            results_from_scores(scorer("mini")(rows), "mini")
    assert "4 rows without scores left out, such as" in caplog.text


WRONG: dict[str, pl.Expr] = {
    "question_id 'Q99' is none of the benchmark's": pl.lit("Q99").alias("question_id"),
    "the column 'question_id' must have texts, not List": pl.lit([1]).alias("question_id"),
    "the column 'signature' must have texts, not Binary": pl.lit(b"x").alias("signature"),
    "rows were scored as None, not as pfgen|": pl.lit(None).alias("signature"),
    "the column 'length' must have numbers, not String": pl.col("length").cast(pl.String),
    "the column 'row' must have integers, not Float64": pl.col("row").cast(pl.Float64),
    "the column 'row' has integers of more than 63 bits": pl.lit(2**64 - 1, pl.UInt64).alias("row"),
    "two rows have 3 in 'row'": pl.lit(3).alias("row"),
    "has nan in 'average': expected a score": pl.lit(None, pl.Float64).alias("average"),
    "has inf in 'helpfulness': expected a score": pl.lit(math.inf).alias("helpfulness"),
    "has 1e+308 in 'fluency_A': expected a score": pl.lit(1e308).alias("fluency_A"),
    "has nan in 'fluency_A': expected a score": pl.lit(None, pl.Float64).alias("fluency_A"),
    "has -3 in 'length': expected an integer from 0": pl.lit(-3).alias("length"),
    "has 8.3 in 'length': expected an integer from 0": pl.lit(8.3).alias("length"),
    "has 1099511627776 in 'length': expected": pl.lit(2**40).alias("length"),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_score_is_refused(message: str, mini: Benchmark, answers: pl.DataFrame) -> None:
    rows = scored(answers[:20], mini).with_columns(WRONG[message])
    with pytest.raises(InputError, match=re.escape(message)):
        results_from_scores(rows, mini, order_field="row")


def test_rows_scored_otherwise_are_refused(mini: Benchmark, answers: pl.DataFrame) -> None:
    rows = scored(answers[:5], mini.with_settings(Settings(max_n=9)))
    with pytest.raises(InputError, match=r"rows were scored as .*n:1-9.*, not as .*n:1-10"):
        results_from_scores(rows, mini)
    modes = [scan(answers[:5], mini, clean=mode).collect() for mode in ("chat", "qa")]
    with pytest.raises(InputError, match="rows were scored in several ways: "):
        results_from_scores(pl.concat(modes), mini)
    with pytest.raises(InputError, match="missing column 'signature': found "):
        results_from_scores(rows.drop("signature"), mini)


def test_files_that_cannot_be_read_are_named(tmp_path: Path, mini: Benchmark) -> None:
    for name, message in (
        ("a.parquet", "cannot be read as .parquet"),
        ("a.jsonl", "scores are read from .parquet, .arrow"),
    ):
        path = tmp_path / name
        path.write_bytes(b"no table")
        with pytest.raises(InputError, match=re.escape(f"{path}: {message}")):
            results_from_scores(path, mini)
    with pytest.raises(InputError, match="no file matches"):
        results_from_scores(str(tmp_path / "*.arrow"), mini)


@pytest.mark.skipif(os.name == "nt", reason="the script is for bash")
def test_the_array_job_of_the_page(tmp_path: Path, mini: Benchmark, answers: pl.DataFrame) -> None:
    [script] = re.findall(r"^```bash\n(#!/bin/bash\n.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    [count] = map(int, re.findall(r"^#SBATCH --array=1-(\d+)$", script, re.MULTILINE))
    (tmp_path / "answers").mkdir()
    rows = answers.with_columns(model=pl.lit("m"), place=pl.int_range(pl.len()))
    for number in range(count):
        rows.gather_every(count, number).write_parquet(tmp_path / f"answers/{number}.parquet")
    slurm = {"SLURM_SUBMIT_DIR": str(tmp_path), "SLURM_CPUS_PER_TASK": "1"}
    path = f"{Path(SCRIPT).parent}{os.pathsep}{os.environ['PATH']}"
    for number in range(count, 0, -1):
        more = {"SLURM_ARRAY_TASK_ID": str(number), "PFGEN_RS_BENCHMARK": "mini", "PATH": path}
        subprocess.run(["bash", "-c", script], env=environment() | slurm | more, check=True)
    [result] = results_from_scores(
        str(tmp_path / "scores" / "*.parquet"), mini, run_field="model", order_field="place"
    )
    expected = mini.evaluate(answers)
    assert result.by_question.equals(expected.by_question)
    assert (result.score, result.score_std) == (expected.score, expected.score_std)


# Results go to other processes: small, and with the texts of their files.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_benchmark(tmp_path / "tiny")


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def of_file(folder: Path, place: Path) -> Result:
    return score_file(write_run(place / "run", model="m"), folder)


def of_tokens(_: Path, place: Path) -> Result:
    ids = {"answers": {"A": [[1, 2, 3, 4], [1, 2, 3, 5]]}, "keywords": []}
    folder = write_benchmark(place / "ids", {"Q01": ids, "Q02": ids})
    bench = load_benchmark(folder, settings=pfgen_rs.Settings(unit="token"))
    return bench.evaluate(["Q01", "Q02"], [[1, 2, 3], [9]])


RESULTS: dict[str, Callable[[Path, Path], Result]] = {
    "a file": of_file,
    "rows": lambda folder, _: load_benchmark(folder).evaluate(*map(list, zip(*GOOD, strict=True))),
    "tokens": of_tokens,
    "compensated sums": lambda folder, place: of_file(folder, place).with_summation("compensated"),
    "a partial run": lambda folder, place: replace(of_file(folder, place), planned=9),
    "bad lines": lambda folder, place: score_file(
        _written(place / "bad.jsonl", lines() + b"{}\n"), folder, skip_bad_lines=True
    ),
    "one of several runs": lambda folder, place: score_runs(
        _written(place / "all.jsonl", lines().replace(b'", "answer', b'", "m": "x", "answer')),
        folder,
        run_field="m",
    )[0],
}


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_is_pickled_with_all_that_it_says(kind: str, folder: Path, tmp_path: Path) -> None:
    result = RESULTS[kind](folder, tmp_path)
    _ = result.by_question, result.frame  # what is kept of it does not go along
    read = again(result)
    assert repr(read) == repr(result)
    assert read.frame.equals(result.frame)
    assert read.to_dict(allow_partial=True) == result.to_dict(allow_partial=True)
    assert list(map(str, read.problems)) == list(map(str, result.problems))
    compensated = [each.with_summation("compensated") for each in (read, result)]
    assert compensated[0].to_dict(allow_partial=True) == compensated[1].to_dict(allow_partial=True)


def test_a_result_is_small() -> None:
    run = sample_runs()["careless"]
    table = score_file(run, "mini").frame.select("question", "answer")
    allowed = 200 * table.height
    for result in (score_file(run, "mini"), load_benchmark("mini").evaluate(table)):
        assert len(pickle.dumps(result)) < allowed


def test_another_process_reads_a_result(folder: Path, tmp_path: Path) -> None:
    result = of_file(folder, tmp_path)
    path = _written(tmp_path / "pickled", pickle.dumps(result))
    script = (
        "import pickle, sys\n"
        "result = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(result.score, len(result.frame), result.frame['answer'][0])\n"
    )
    done = python(script, path)
    assert done.stdout.split() == [str(result.score), "4", GOOD[0][1]], done.stderr
    shutil.rmtree(folder)
    assert "expected a folder of question files" in python(script, path).stderr
    write_benchmark(folder, {"Q01": {"note": "another"}})
    assert "has other questions here than where this was made" in python(script, path).stderr


def test_texts_of_a_changed_file_are_not_those_of_a_result(folder: Path, tmp_path: Path) -> None:
    read = again(of_file(folder, tmp_path))
    _written(tmp_path / "run" / "trials.jsonl", lines(GOOD[::-1]) + b"\n")
    assert read.score > 0
    with pytest.raises(pfgen_rs.InputError, match="changed"):
        _ = read.frame


def test_standard_input_goes_along(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines())))
    result = score_file("-", folder)
    assert again(result).frame["answer"].to_list() == [answer for _, answer in GOOD]


def test_a_benchmark_built_again_is_read_again(folder: Path, tmp_path: Path) -> None:
    assert again(of_file(folder, tmp_path)).score > 0
    write_benchmark(folder, {"Q01": {"note": "another"}})
    fresh = of_file(folder, tmp_path)
    assert again(fresh).to_bytes() == fresh.to_bytes()


def test_a_reward_is_pickled_by_name(folder: Path) -> None:
    reward = Reward("mini", "fluency", unknown=0.5)
    assert len(pickle.dumps(reward)) < 1000
    read = again(reward)
    asked = (["Q02", "Q14", "?"], ["光合成", "風呂敷", "猫"])
    assert read(*asked) == reward(*asked)
    pickled = pickle.dumps(Reward(folder))
    write_benchmark(folder, {"Q01": {"note": "another"}})
    with pytest.raises(BenchmarkError, match="has other questions here"):
        pickle.loads(pickled)


def test_a_reward_of_a_benchmark_without_a_folder_is_pickled_whole(folder: Path) -> None:
    bench = load_benchmark(folder)
    own = Benchmark(list(bench), bench.metadata_hash, bench.settings)
    asked = ([GOOD[0][0]], [GOOD[0][1]])
    pickled = pickle.dumps(Reward(own))
    shutil.rmtree(folder)
    assert pickle.loads(pickled)(*asked) == Reward(own)(*asked)
