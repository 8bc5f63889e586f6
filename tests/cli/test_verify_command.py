"""Results compared: places, units, missing keys; `pfgen-rs verify` as a process, and the published runs."""

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import readings
from helpers import pfgen, write_benchmark, write_run
from pfgen_rs import InputError, Settings, load_benchmark, score_file
from pfgen_rs.comparisons import compare_runs
from pfgen_rs.metrics.settings import Summation
from pfgen_rs.verify import compare, verify


def verified_run(folder: Path, benchmark: Path, **changes: Any) -> Path:
    write_run(folder, model="m")
    result = score_file(folder, benchmark).to_dict()
    text = json.dumps({**result, **changes}, ensure_ascii=False, indent=2)
    (folder / "result.json").write_bytes(text.encode())
    return folder


def test_good_runs_pass(benchmark: Path, tmp_path: Path) -> None:
    for name in "ab":
        verified_run(tmp_path / "runs" / name, benchmark)
    done = pfgen("verify", tmp_path / "runs" / "*", "-b", benchmark)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 of 2 runs pass; " in done.stdout
    assert "2 files have the same bytes" in done.stdout
    assert "|v:" in done.stdout.splitlines()[-1]


def test_paths_stay_legible_in_narrow_windows(benchmark: Path, tmp_path: Path) -> None:
    names = [f"some-organisation/a-model-with-a-long-name-{size}b" for size in (13, 70)]
    for name in names:
        verified_run(tmp_path / "runs" / name, benchmark)
    done = pfgen("verify", tmp_path / "runs/*/*", "-b", benchmark, env={"COLUMNS": "80"})
    assert done.returncode == 0
    _, _, _, *rows = done.stdout.splitlines()[: 3 + len(names)]
    for name, row in zip(names, rows, strict=True):
        assert cell_len(row) <= 80
        run = row.split()[0]
        assert run.startswith("…")
        assert name.endswith(run[1:])
        assert len(run) >= 30
    assert "not shown: agree, sums, file (use a wider window or --format json)" in done.stdout
    for width, wanted in ((92, "not shown: sums, file (use"), (120, " agree "), (999, " agree ")):
        wider = pfgen("verify", tmp_path / "runs/*/*", "-b", benchmark, env={"COLUMNS": f"{width}"})
        assert wanted in wider.stdout
        assert ("not shown" in wider.stdout) == (width == 92)
    assert all(str(tmp_path / "runs" / name) in wider.stdout for name in names)


def test_a_unit_passes_and_more_fails(benchmark: Path, tmp_path: Path) -> None:
    result = score_file(write_run(tmp_path / "run", model="m"), benchmark)
    near = round(result.score + 1e-4, 4)
    verified_run(tmp_path / "run", benchmark, score=near)
    done = pfgen("verify", tmp_path / "run", "-b", benchmark)
    assert done.returncode == 0
    assert "0.0001 (score)" in done.stdout
    assert "0 files have the same bytes" in done.stdout
    more = {f"extra {number}": number for number in range(4)}
    verified_run(tmp_path / "run", benchmark, score=0.1, num_trials=7, length=1.0, **more)
    done = pfgen("verify", tmp_path / "run", "-b", benchmark)
    assert done.returncode == 1
    assert "FAILED" in done.stdout
    assert f"num_trials: theirs 7, ours {result.num_trials}" in done.stdout
    assert "… and 2 more" in done.stdout


def test_a_broken_run_does_not_hide_the_others(benchmark: Path, tmp_path: Path) -> None:
    broken = write_run(tmp_path / "a-broken")
    file = broken / "trials.jsonl"
    bad = verified_run(tmp_path / "b-bad", benchmark, score=0.0)
    good = verified_run(tmp_path / "c-good", benchmark)
    done = pfgen("verify", broken, bad, good, "-b", benchmark, "--format", "json")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {broken / 'result.json'}: ")
    entries = json.loads(done.stdout)
    assert "error" in entries[0]
    assert [entry["passed"] for entry in entries[1:]] == [False, True]
    [failure] = entries[1]["listed_failures"]
    assert (failure["place"], failure["theirs"], failure["unit"]) == ("score", 0.0, 1e-4)
    assert entries[2]["identical"]
    assert entries[2]["largest_difference"] is None
    for path, message in ((broken, "no published result"), (file, "not a run folder with")):
        done = pfgen("verify", path, "-b", benchmark)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr


def test_strange_values_are_reported(benchmark: Path, tmp_path: Path) -> None:
    run = verified_run(tmp_path / "run", benchmark, score=float("nan"), extra="\x1b[31m")
    done = pfgen("verify", run, "-b", benchmark, "-f", "json")
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    [entry] = json.loads(done.stdout, parse_constant=pytest.fail)
    assert [failure["place"] for failure in entry["listed_failures"]] == ["score", "extra"]
    assert "\x1b" not in pfgen("verify", run, "-b", benchmark).stdout


def test_the_reading_of_sums_is_named(tmp_path: Path) -> None:
    benchmark = readings.write_benchmark(tmp_path / "set")
    for name in readings.ADD:
        readings.write_run(tmp_path / "runs" / name, benchmark, name)
    runs = tmp_path / "runs" / "*"
    done = pfgen("verify", runs, "-b", benchmark)
    assert done.returncode == 0
    assert "2 files have the same bytes" in done.stdout
    for name in readings.ADD:
        [line] = [line for line in done.stdout.splitlines() if f"/{name} " in line]
        assert f" {name} " in line
    entries = json.loads(pfgen("verify", runs, "-b", benchmark, "-f", "json").stdout)
    assert [entry["summation"] for entry in entries] == ["compensated", "plain"]
    assert ["sum:compensated" in entry["signature"] for entry in entries] == [True, False]


def test_score_writes_either_reading(tmp_path: Path) -> None:
    benchmark = readings.write_benchmark(tmp_path / "set")
    for name in readings.ADD:
        run = readings.write_run(tmp_path / name, benchmark, name)
        out = tmp_path / f"{name}-out"
        done = pfgen("score", run, "-b", benchmark, "--summation", name, "--out", out)
        assert done.returncode == 0, done.stderr
        assert ("sum:compensated" in done.stdout) == (name == "compensated")
        assert (out / "result.json").read_bytes() == (run / "result.json").read_bytes()


@pytest.mark.published
def test_some_published_runs(published_dir: Path) -> None:
    runs = [
        published_dir / "result" / "openai" / "chatgpt-o1" / "*",
        published_dir / "result/*/gpt-4/*",
    ]
    done = pfgen("verify", *runs, "-b", published_dir / "data")
    assert done.returncode == 0
    assert "2 of 2 runs pass" in done.stdout


@pytest.mark.published
@pytest.mark.slow
def test_all_published_runs(published_dir: Path) -> None:
    done = pfgen("verify", published_dir / "result/*/*/*", "-b", published_dir, "-f", "json")
    entries = json.loads(done.stdout)
    assert done.returncode == 0
    assert len(entries) == len(list(published_dir.glob("result/*/*/*/result.json")))
    assert all(entry["identical"] for entry in entries)
    assert all(entry["agreeing"] == entry["numbers"] > 1000 for entry in entries)


# Comparing results: places, units, missing keys.


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
    **dict.fromkeys(("score", "score_std", "questions.Q02.score"), 1e-4),
    **dict.fromkeys(("length", "length_std"), 0.1),
    **dict.fromkeys(("scores.fluency.A", "scores.average"), 1e-5),
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
