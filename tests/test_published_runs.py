"""Published runs, scored again: `result.json` byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import oracle
from pfgen_rs import Benchmark, Result, score_file

pytestmark = pytest.mark.published


def assert_same_bytes(got: bytes, expected: bytes) -> None:
    """Equal bytes; where they differ, say which entry does rather than print megabytes."""
    if got == expected:
        return
    ours, theirs = json.loads(got), json.loads(expected)
    for one, other in ((ours, theirs), (ours["questions"], theirs["questions"])):
        assert list(one) == list(other)
        assert {k for k in one if json.dumps(one[k]) != json.dumps(other[k])} <= {"questions"}
    pytest.fail("the values are equal, but not how they are written")


def rescored(benchmark: Benchmark, responses: Path, folder: Path) -> bytes:
    """The bytes of the result that is written into `folder` for a run."""
    target = folder / "result.json"
    score_file(responses, benchmark).to_json(target)
    return target.read_bytes()


def test_a_run_is_byte_identical(
    published_run: str, published_dir: Path, published_benchmark: Benchmark, tmp_path: Path
) -> None:
    run = published_dir / published_run
    got = rescored(published_benchmark, run, tmp_path)
    assert_same_bytes(got, (run / "result.json").read_bytes())


def test_all_runs_are_there(published_dir: Path) -> None:
    runs = {path.parent for path in (published_dir / "result").glob("**/trials.jsonl*")}
    assert len(runs) == 24
    assert all((run / "result.json").is_file() for run in runs)


def test_the_sample_answers_are_byte_identical(
    published_dir: Path, published_benchmark: Benchmark, tmp_path: Path
) -> None:
    data = published_dir / "data"
    got = rescored(published_benchmark, data / "questions.jsonl", tmp_path)
    assert_same_bytes(got, (data / "result.json").read_bytes())


# The published run of the reference answers has further responses to these questions (samples of it
# stand in no question file), so their figures and the sums over them need more than the files.
MORE_RESPONSES = {"Q01", "Q10", "Q16", "Q20", "Q21", "Q33"}
SUMS = {"length", "length_std", "scores", "questions"}


@pytest.fixture(scope="module")
def final(published_dir: Path) -> dict[str, Any]:
    """The published result of the reference answers as responses."""
    path = published_dir / "data" / "final" / "result.json"
    result: dict[str, Any] = json.loads(path.read_bytes())
    return result


def test_reference_answers_as_responses(reference_run: Result, final: dict[str, Any]) -> None:
    got = reference_run.to_dict()
    assert list(got) == list(final)
    for key in got.keys() - SUMS - {"input_hash"}:  # the hash is of a file that is not published
        assert json.dumps(got[key]) == json.dumps(final[key]), key
    ours, theirs = got["questions"], final["questions"]
    assert list(ours) == list(theirs)
    assert {q for q in ours if json.dumps(ours[q]) != json.dumps(theirs[q])} == MORE_RESPONSES


def test_reference_answers_summed_up(reference_run: Result, final: dict[str, Any]) -> None:
    """The run's `scores`, once the six questions have the published values."""
    ours, theirs = reference_run.to_dict()["questions"], final["questions"]
    entries = [(theirs if q in MORE_RESPONSES else ours)[q]["scores"] for q in ours]
    assert json.dumps(oracle.running_scores(entries)) == json.dumps(final["scores"])


def test_samples_of_the_reference_answers(
    published_benchmark: Benchmark, final: dict[str, Any]
) -> None:
    for key, entry in final["questions"].items():
        for sample in entry["samples"]:
            got = published_benchmark.score(key, sample["answer"]).to_dict()
            assert json.dumps(got) == json.dumps(sample["scores"])
    strangers = {
        key
        for key in MORE_RESPONSES
        for sample in final["questions"][key]["samples"]
        if not any(sample["answer"] in a for a in published_benchmark[key].answers.values())
    }
    assert strangers == MORE_RESPONSES - {"Q16"}
