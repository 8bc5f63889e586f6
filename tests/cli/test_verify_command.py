"""`pfgen-rs verify` as a process: exit codes, reports, and the published runs."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import readings
from helpers import pfgen, write_run
from pfgen_rs import score_file


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
