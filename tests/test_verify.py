"""Comparing results: places, units, missing keys."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import readings
from helpers import write_benchmark, write_run
from pfgen_rs import InputError, Settings, load_benchmark, score_file
from pfgen_rs.comparisons import compare_runs
from pfgen_rs.metrics.settings import Summation
from pfgen_rs.verify import compare, verify

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with its `result.json`, beside its benchmark."""
    benchmark = write_benchmark(tmp_path / "tiny")
    folder = write_run(tmp_path / "run", model="m")
    score_file(folder, benchmark).to_json(folder / "result.json")
    return folder


def result_of(run: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((run / "result.json").read_bytes())
    return result


def sample(result: dict[str, Any]) -> dict[str, Any]:
    scores: dict[str, Any] = result["questions"]["Q01"]["samples"][0]["scores"]
    return scores


def add(holder: dict[str, Any], key: str, amount: float) -> None:
    holder[key] += amount


def test_the_same_result_passes(run: Path) -> None:
    checked = verify(run, run.parent / "tiny")
    assert checked.identical
    assert checked.passed
    assert checked.largest is None
    assert checked.numbers == checked.agreeing > 50
    assert checked.signature == load_benchmark(run.parent / "tiny").signature


# Name: (place, unit of the last printed digit, what changes it by an amount).
FIGURES: dict[str, tuple[str, float, Callable[[dict[str, Any], float], None]]] = {
    "score": ("score", 1e-4, lambda r, x: add(r, "score", x)),
    "score_std": ("score_std", 1e-4, lambda r, x: add(r, "score_std", x)),
    "length": ("length", 0.1, lambda r, x: add(r, "length", x)),
    "length_std": ("length_std", 0.1, lambda r, x: add(r, "length_std", x)),
    "fluency of the run": (
        "scores.fluency.A",
        1e-5,
        lambda r, x: add(r["scores"]["fluency"], "A", x),
    ),
    "average of the run": ("scores.average", 1e-5, lambda r, x: add(r["scores"], "average", x)),
    "score of a question": (
        "questions.Q02.score",
        1e-4,
        lambda r, x: add(r["questions"]["Q02"], "score", x),
    ),
    "truthfulness of a question": (
        "questions.Q02.scores.truthfulness.B",
        1e-5,
        lambda r, x: add(r["questions"]["Q02"]["scores"]["truthfulness"], "B", x),
    ),
    "fluency of an answer": (
        "questions.Q01.samples[0].scores.fluency.A",
        1e-6,
        lambda r, x: add(sample(r)["fluency"], "A", x),
    ),
    "helpfulness of an answer": (
        "questions.Q01.samples[0].scores.helpfulness",
        1e-5,
        lambda r, x: add(sample(r), "helpfulness", x),
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_unit_of_the_last_digit_is_tolerated(run: Path, name: str) -> None:
    place, unit, change = FIGURES[name]
    ours = result_of(run)
    for units, tolerable in ((1, True), (-1, True), (2, False), (-2, False)):
        theirs = copy.deepcopy(ours)
        change(theirs, units * unit)
        numbers, agreeing, [difference] = compare(theirs, ours)
        assert agreeing == numbers - 1
        assert difference.place == place
        assert difference.tolerable == tolerable
        assert math.isclose(difference.size, abs(units) * unit, rel_tol=1e-6)


# Name: (what changes a result, place, note).
OTHER: dict[str, tuple[Change, str, str]] = {
    "trials": (lambda r: r.update(num_trials=3), "num_trials", ""),
    "hash": (lambda r: r.update(input_hash="0"), "input_hash", ""),
    "config": (lambda r: r["config"].update(model="n"), "config.model", ""),
    "missing key": (lambda r: r.pop("score"), "score", "missing in the file"),
    "added key": (lambda r: r.update(extra=1), "extra", "only in the file"),
    "missing question": (
        lambda r: r["questions"].pop("Q02"),
        "questions.Q02",
        "missing in the file",
    ),
    "missing sample": (
        lambda r: r["questions"]["Q01"]["samples"].pop(),
        "questions.Q01.samples[1]",
        "missing in the file",
    ),
    "text for a number": (lambda r: r.update(score="0.5"), "score", ""),
    "truth for a number": (lambda r: r.update(num_trials=True), "num_trials", ""),
    "object for a number": (lambda r: r.update(score={}), "score", ""),
    "no number": (lambda r: r.update(score=math.nan), "score", ""),
    "too large a number": (lambda r: r.update(score=10**400), "score", ""),
    "answer": (
        lambda r: r["questions"]["Q01"]["samples"][0].update(answer="犬"),
        "questions.Q01.samples[0].answer",
        "",
    ),
    "missed rule": (
        lambda r: r["questions"]["Q01"]["samples"][1]["scores"]["helpfulness_results"][0].insert(
            0, "犬"
        ),
        "questions.Q01.samples[1].scores.helpfulness_results[0][0]",
        "",
    ),
}


@pytest.mark.parametrize("name", OTHER)
def test_everything_else_must_be_the_same(run: Path, name: str) -> None:
    change, place, note = OTHER[name]
    ours = result_of(run)
    theirs = copy.deepcopy(ours)
    change(theirs)
    differences = compare(theirs, ours)[2]
    assert (differences[0].place, differences[0].note) == (place, note)
    assert not differences[0].tolerable


def test_other_bytes_with_the_same_numbers_pass(run: Path) -> None:
    (run / "result.json").write_text(json.dumps(result_of(run)), encoding="utf-8")
    checked = verify(run, run.parent / "tiny")
    assert checked.passed
    assert not checked.identical


def test_the_largest_difference_is_a_number(run: Path) -> None:
    theirs = result_of(run)
    theirs["score"] += 0.25
    theirs["length"] += 0.1
    theirs["input_hash"] = "other"
    (run / "result.json").write_text(json.dumps(theirs), encoding="utf-8")
    checked = verify(run, run.parent / "tiny")
    assert checked.largest is not None
    assert checked.largest.place == "score"
    assert [failure.place for failure in checked.failures] == ["input_hash", "score"]
    assert checked.agreeing == checked.numbers - 2


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_a_result_that_cannot_be_read(run: Path, content: bytes | None) -> None:
    path = run / "result.json"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        verify(run, run.parent / "tiny")
    assert str(path) in str(caught.value)


def test_a_partial_run_is_compared_as_far_as_it_goes(run: Path) -> None:
    trials = run / "trials.jsonl"
    trials.write_bytes(trials.read_bytes().split(b"\n")[0])
    places = {difference.place for difference in verify(run, run.parent / "tiny").failures}
    assert {"input_hash", "num_trials", "questions.Q02"} <= places


# Files written by a Python before 3.12, and since.


@pytest.fixture
def telling(tmp_path: Path) -> tuple[Path, Path]:
    """A run whose values depend on how `sum` adds, and its benchmark."""
    benchmark = readings.write_benchmark(tmp_path / "set")
    return readings.write_run(tmp_path / "run", benchmark, "plain"), benchmark


@pytest.mark.parametrize("summation", ["plain", "compensated"])
def test_the_reading_of_a_file_is_found(telling: tuple[Path, Path], summation: Summation) -> None:
    run, benchmark = telling
    readings.write_result(run, benchmark, summation)
    for settings in (None, readings.COMPENSATED):
        loaded = load_benchmark(benchmark, settings=settings)
        checked = verify(run, loaded)
        assert checked.summation == summation
        assert checked.identical
        assert checked.numbers == checked.agreeing
        found = load_benchmark(benchmark, settings=Settings(summation=summation)).signature
        assert checked.signature == found


def test_differences_are_those_to_the_better_reading(telling: tuple[Path, Path]) -> None:
    run, benchmark = telling
    for summation in readings.ADD:
        theirs = json.loads(readings.write_result(run, benchmark, summation))
        theirs["score"] += 0.25
        theirs["config"]["model"] = "renamed"  # edited after publishing
        (run / "result.json").write_text(json.dumps(theirs), encoding="utf-8")
        checked = verify(run, benchmark)
        assert checked.summation == summation
        assert [found.place for found in checked.failures] == ["config.model", "score"]
        assert checked.agreeing == checked.numbers - 1


def test_a_file_that_fits_both_readings_is_plain(run: Path) -> None:
    plain = score_file(run, run.parent / "tiny")
    assert plain.with_summation("compensated").to_bytes() == plain.to_bytes()
    assert verify(run, run.parent / "tiny").summation == "plain"


def test_variant_paper_has_one_reading(run: Path) -> None:
    benchmark = load_benchmark(run.parent / "tiny", settings=Settings(variant="paper"))
    checked = verify(run, benchmark)
    assert checked.summation == "plain"
    assert not checked.passed


def test_runs_are_compared_in_one_reading(telling: tuple[Path, Path]) -> None:
    run, benchmark = telling
    other = readings.write_run(run.parent / "other", benchmark, "plain")
    plain = score_file(run, benchmark)
    compensated = score_file(other, benchmark, settings=readings.COMPENSATED)
    for results in ([plain, compensated], [compensated, plain]):
        found = compare_runs(results, resamples=100).statistics
        assert {pair.difference for pair in found.pairs} == {0.0}
        assert found.signature == results[0].signature
