"""Comparing results: places, units, missing keys."""

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


def test_the_same_result_passes(run: Path) -> None:
    checked = verify(run, run.parent / "tiny")
    assert (checked.identical, checked.passed, checked.largest) == (True, True, None)
    assert checked.numbers == checked.agreeing > 50
    assert checked.signature == load_benchmark(run.parent / "tiny").signature


# Places of numbers, and a unit of their last printed digit.
FIGURES = {
    "score": 1e-4,
    "score_std": 1e-4,
    "length": 0.1,
    "length_std": 0.1,
    "scores.fluency.A": 1e-5,
    "scores.average": 1e-5,
    "questions.Q02.score": 1e-4,
    "questions.Q02.scores.truthfulness.B": 1e-5,
    "questions.Q01.samples[0].scores.fluency.A": 1e-6,
    "questions.Q01.samples[0].scores.helpfulness": 1e-5,
}


def add(result: Any, place: str, amount: float) -> None:
    """Change the number at a place of a result."""
    *path, last = place.replace("[0]", ".0").split(".")
    for key in path:
        result = result[int(key) if isinstance(result, list) else key]
    result[last] += amount


@pytest.mark.parametrize("place", FIGURES)
def test_a_unit_of_the_last_digit_is_tolerated(run: Path, place: str) -> None:
    unit, ours = FIGURES[place], result_of(run)
    for units, tolerable in ((1, True), (-1, True), (2, False), (-2, False)):
        theirs = copy.deepcopy(ours)
        add(theirs, place, units * unit)
        numbers, agreeing, [difference] = compare(theirs, ours)
        assert (agreeing, difference.place) == (numbers - 1, place)
        assert difference.tolerable == tolerable
        assert math.isclose(difference.size, abs(units) * unit, rel_tol=1e-6)


def samples(result: dict[str, Any]) -> Any:
    return result["questions"]["Q01"]["samples"]


# What changes a result, the place, and a note.
OTHER: list[tuple[Change, str, str]] = [
    (lambda r: r.update(num_trials=3), "num_trials", ""),
    (lambda r: r.update(input_hash="0"), "input_hash", ""),
    (lambda r: r["config"].update(model="n"), "config.model", ""),
    (lambda r: r.pop("score"), "score", "missing in the file"),
    (lambda r: r.update(extra=1), "extra", "only in the file"),
    (lambda r: r["questions"].pop("Q02"), "questions.Q02", "missing in the file"),
    (lambda r: samples(r).pop(), "questions.Q01.samples[1]", "missing in the file"),
    (lambda r: r.update(score="0.5"), "score", ""),
    (lambda r: r.update(num_trials=True), "num_trials", ""),
    (lambda r: r.update(score={}), "score", ""),
    (lambda r: r.update(score=math.nan), "score", ""),
    (lambda r: r.update(score=10**400), "score", ""),
    (lambda r: samples(r)[0].update(answer="犬"), "questions.Q01.samples[0].answer", ""),
    (
        lambda r: samples(r)[1]["scores"]["helpfulness_results"][0].insert(0, "犬"),
        "questions.Q01.samples[1].scores.helpfulness_results[0][0]",
        "",
    ),
]


def test_everything_else_must_be_the_same(run: Path) -> None:
    ours = result_of(run)
    for change, place, note in OTHER:
        theirs = copy.deepcopy(ours)
        change(theirs)
        first = compare(theirs, ours)[2][0]
        assert (first.place, first.note, first.tolerable) == (place, note, False)


def test_other_bytes_with_the_same_numbers_pass(run: Path) -> None:
    (run / "result.json").write_text(json.dumps(result_of(run)), encoding="utf-8")
    checked = verify(run, run.parent / "tiny")
    assert (checked.passed, checked.identical) == (True, False)


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
