"""Results go to other processes: small, and with the texts of their files."""

from __future__ import annotations

import io
import pickle
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pfgen_rs
from helpers import GOOD, lines, python, write_benchmark, write_run
from pfgen_rs import Benchmark, BenchmarkError, Result, load_benchmark, score_file, score_runs
from pfgen_rs.questions.locate import sample_runs
from pfgen_rs.training import Reward


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
