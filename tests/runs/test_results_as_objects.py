"""What results say when they are asked: intervals, differences, tables; of runs and of published files."""

from __future__ import annotations

import json
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pfgen_rs
from helpers import pfgen, write_run
from pfgen_rs import Benchmark, InputError, PfgenError, Result, SettingsError, stats

RUNS = pfgen_rs.sample_runs()
NAMES = ("faithful", "careless", "babbling")


@pytest.fixture(scope="module")
def results(mini: Benchmark) -> list[Result]:
    return [pfgen_rs.score_file(RUNS[name], mini) for name in NAMES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place: Path = tmp_path_factory.mktemp("scored")
    done = pfgen("score", *map(str, RUNS.values()), "-b", "mini", "--out", place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def published(folder: Path) -> list[pfgen_rs.PublishedResult]:
    found = {Path(result.path).parent.name: result for result in pfgen_rs.load_results(folder)}
    return [found[name] for name in NAMES]


def test_intervals_are_those_of_the_statistics(results: list[Result]) -> None:
    for result in results:
        [row] = json.loads(
            pfgen("score", str(result.path), "-b", "mini", "--format", "json").stdout
        )
        assert result.interval() == (row["score_low"], row["score_high"], 0.95, "t")
        expected = stats.estimate(result.sample(), level=0.8)
        low, high, *how = result.interval(0.8, "bootstrap")
        assert (low, high, how) == (
            expected.bootstrap_low,
            expected.bootstrap_high,
            [0.8, "bootstrap"],
        )
        assert result.interval(0.8).low == pytest.approx(expected.low, abs=1e-5)


def test_one_question_has_no_interval(mini: Benchmark) -> None:
    one = mini.evaluate([{"question": "Q02", "answer": "光合成です。"}])
    for method in ("t", "bootstrap"):
        assert one.interval(method=method) == (None, None, 0.95, method)
    with pytest.raises(InputError, match="too few questions"):
        one.compare(one)


def test_answers_in_memory_are_compared_by_number(mini: Benchmark) -> None:
    texts = ["光合成です。", "風呂敷です。"]
    one, other = (mini.evaluate(["Q02", "Q14"], answers) for answers in (texts, texts[::-1]))
    assert one.compare(other).detectable is None
    assert str(one.compare(other)).startswith(
        "2 questions cannot tell whether answers and answers (2) differ"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1.5,), "level"), ((0.9, "normal"), "unknown method 'normal': expected t or bootstrap")],
)
def test_wrong_intervals_are_refused(arguments: Any, message: str, results: list[Result]) -> None:
    with pytest.raises(SettingsError, match=message):
        results[0].interval(*arguments)


@pytest.mark.parametrize("metric", stats.METRICS)
def test_a_comparison_is_that_of_the_command(metric: Any, results: list[Result]) -> None:
    a, b, _ = results
    options = (
        "-b",
        "mini",
        "--metric",
        metric,
        "--level",
        "0.9",
        "--limit",
        "0",
        "--format",
        "json",
    )
    told = json.loads(pfgen("compare", str(a.path), str(b.path), *options).stdout)
    found, [pair] = a.compare(b, metric=metric, level=0.9), told["pairs"]
    assert [str(found)] == told["verdicts"]
    names = ("a", "b", "metric", "difference", "p")
    assert [getattr(found, name) for name in names] == [pair[name] for name in names]
    assert found.detectable == pair["minimum_detectable"]
    assert found.interval == (pair["low"], pair["high"], 0.9, "bootstrap")
    back = b.compare(a, metric=metric, level=0.9)
    assert (back.difference, back.sentence) == (-found.difference, found.sentence)


def test_what_cannot_be_compared_is_refused(mini: Benchmark, results: list[Result]) -> None:
    result = results[0]
    other = pfgen_rs.score_file(RUNS["careless"], mini.with_settings({"max_n": 9}))
    for wrong, message in (
        (other, "different questions or settings"),
        (result, "duplicate run name"),
        (0.5, "expected a result to compare with, not float"),
        (replace(other, clean="qa"), "cleaned"),
    ):
        with pytest.raises(InputError, match=message):
            result.compare(wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="metric"):
        result.compare(results[1], metric="all")  # type: ignore[arg-type]
    compensated = results[1].with_summation("compensated")
    assert str(result.compare(compensated)) == str(result.compare(results[1]))


def test_tables_of_questions_and_categories(results: list[Result]) -> None:
    result = results[0]
    assert result.by_question is result.questions
    frame = result.to_polars()
    means = frame.group_by("question_id").agg(pl.mean("average")).sort("question_id")
    assert result.questions["average"].to_list() == pytest.approx(
        means["average"].to_list(), abs=1e-5
    )
    about = result.questions.select("question_id", "category")
    rows = means.join(about, on="question_id").group_by("category").agg(pl.mean("average"))
    expected = dict(rows.iter_rows())
    assert result.by_category["category"].to_list() == sorted(expected)
    for row in result.by_category.iter_rows(named=True):
        assert row["average"] == pytest.approx(expected[row["category"]], abs=1e-5)
    assert result.by_category["questions"].sum() == 14
    assert result.by_category["answers"].sum() == result.height


def test_the_same_rows_in_every_form(
    results: list[Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = results[0]
    pandas = result.to_pandas()
    assert list(pandas.columns) == result.to_polars().columns
    assert pandas["average"].tolist() == result.frame["average"].to_list()
    assert json.loads(result.to_json()) == result.to_dict()
    assert result.to_html().startswith("<!")
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(PfgenError, match=r"pandas cannot be imported .*pip install"):
        result.to_pandas()


@pytest.mark.parametrize("width", ["80", "120"])
def test_print_is_the_table_of_the_command(
    width: str, results: list[Result], published: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    how: Any = {"env": {"COLUMNS": width}}
    one = pfgen("score", str(results[0].path), "-b", "mini", **how).stdout
    every = pfgen("score", *(str(result.path) for result in results), "-b", "mini", **how).stdout
    assert f"{results[0]}\n" == one == f"{published[0]}\n"
    assert f"{pfgen_rs.leaderboard(results)}\n" == every
    assert f"{pfgen_rs.leaderboard([published[2], results[0], published[1]])}\n" == every


def test_notebooks_show_the_interval_and_the_weakest_questions(results: list[Result]) -> None:
    for result in results:
        low, high, *_ = result.interval()
        shown, weakest = (
            result._repr_html_(),
            result.questions.sort("average")["question_id"].to_list(),
        )
        assert f"{low:.3f} to {high:.3f}" in shown
        assert re.findall(r"<td><bdi>(Q\d+)</bdi>", shown) == weakest[:5]


def test_leaderboards_are_tables(results: list[Result], published: list[Any]) -> None:
    board = pfgen_rs.leaderboard(reversed(results))
    assert list(board) == board.results == results
    frame = board.to_polars()
    assert frame["rank"].to_list() == [1, 2, 3]
    expected = json.loads(
        pfgen("score", *map(str, RUNS.values()), "-b", "mini", "--format", "json").stdout
    )
    assert [each.pop("generation") for each in expected] == [None] * 3
    assert frame.drop("rank").to_dicts() == expected
    assert "mini/careless" in board._repr_html_()
    assert repr(board).count("\n") == 0
    for wrong, message in (([], "no results"), (["a.jsonl"], r"results\[0\] is of type str")):
        with pytest.raises(InputError, match=message):
            pfgen_rs.leaderboard(wrong)  # type: ignore[arg-type]
    mixed = pfgen_rs.leaderboard([published[0], results[2]]).to_polars()
    assert mixed.schema == frame.schema


def test_published_results_have_the_same_figures(
    results: list[Result], published: list[Any]
) -> None:
    same = ("score", "score_std", "length", "fluency", "truthfulness", "helpfulness", "num_trials")
    for loaded, result in zip(published, results, strict=True):
        more = ("name", "signature", "height", "_moments")
        assert [getattr(loaded, n) for n in same + more] == [
            getattr(result, n) for n in same + more
        ]
        assert loaded.interval(0.9) == result.interval(0.9)
        assert loaded.questions.drop("category").equals(result.questions.drop("category"))
        assert loaded.by_category["questions"].to_list() == [14]
        with pytest.raises(InputError, match="a bootstrap needs responses"):
            loaded.interval(method="bootstrap")


def test_published_results_are_compared_by_means(
    results: list[Result], published: list[Any]
) -> None:
    known = results[0].compare(results[1])
    found = published[0].compare(published[1])
    expected = stats.compare([r.sample() for r in results[:2]], interval="student").pairs[0]
    assert found.interval[:2] == pytest.approx((expected.low, expected.high), abs=1e-5)
    assert (found.difference, found.p) == pytest.approx((known.difference, known.p), abs=1e-5)
    assert found.interval.method == "t"
    assert "95 % Student's t interval +" in str(found)
    assert found.notes == ()
    assert results[0].compare(published[1]) == published[0].compare(results[1]) == found
    with pytest.raises(InputError, match="different questions or settings"):
        results[1].with_summation("compensated").compare(published[0])


def test_partial_and_cleaned_results_are_compared_by_what_they_share(
    tmp_path: Path, mini: Benchmark, results: list[Result]
) -> None:
    rows = results[0].frame.select("question", "answer")
    few = rows.filter(pl.col("question") != rows["question"][0])
    for name, data in (("whole", rows), ("few", few)):
        result = replace(mini.evaluate(data, clean="qa"), config={"model": name})
        (tmp_path / name).mkdir()
        result.to_json(tmp_path / name / "result.json", allow_partial=True)
    small, whole = pfgen_rs.load_results(tmp_path)
    assert (small.name, small.clean) == ("few", "qa")
    assert "questions=13/14" in repr(small)
    assert small.compare(whole).difference == 0
    assert "left out 1 question" in small.compare(whole).notes[0]
    with pytest.raises(InputError, match="were cleaned"):
        small.compare(results[1])


def test_damaged_files_are_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InputError, match=r"has no result\.json, nor have those below: expected"):
        pfgen_rs.load_results(tmp_path)
    path = tmp_path / "a" / "result.json"
    path.parent.mkdir()
    whole = (folder / "careless" / "result.json").read_text(encoding="utf-8")
    document = json.loads(whole)
    for content, message in (
        (whole[:-20], "invalid JSON"),
        ("[]", "expected an object"),
        (json.dumps({**document, "questions": {}}), "'questions' has the wrong type"),
        (json.dumps({**document, "signature": 1}), "'signature' has the wrong type"),
        (json.dumps({**document, "score": None}), "'score' has the wrong type"),
    ):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=f"{path.name}: .*{message}"):
            pfgen_rs.load_results(tmp_path)
    path.write_text(json.dumps({**document, "config": {}}), encoding="utf-8")
    [loaded] = pfgen_rs.load_results(path)
    assert loaded.name == "a"


def test_equal_results(results: list[Result], published: list[Any], tmp_path: Path) -> None:
    again = [pfgen_rs.score_file(RUNS[name], "mini") for name in NAMES]
    assert again == results
    assert list(map(hash, again)) == list(map(hash, results))
    assert len({*again, *results, *published, *pickle.loads(pickle.dumps(published))}) == 6
    a, b, _ = results
    changed = pfgen_rs.score_file(write_run(tmp_path, [("Q02", "光合成です。")]), "mini")
    path = str(changed.path)
    Path(path).write_text(Path(path).read_text("utf-8").replace("です", "だ"), encoding="utf-8")
    for one, other in ((a, b), (a, published[0]), (a, a.with_summation("compensated")), (a, 1)):
        assert one != other
    assert changed != pfgen_rs.score_file(path, "mini")


def test_results_come_from_process_pools(results: list[Result]) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(pfgen_rs.score_file, [RUNS[name] for name in NAMES], ["mini"] * 3))
    assert found == results
    assert str(found[0].compare(found[1])) == str(results[0].compare(results[1]))
    assert max(len(pickle.dumps(result)) for result in found) < 20_000
