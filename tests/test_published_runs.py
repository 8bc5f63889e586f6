"""Published runs, scored again: `result.json` byte for byte."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pfgen_rs import Benchmark, Question, score_file

pytestmark = pytest.mark.published


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
    # No comparison of the bytes themselves: the report of a difference would be megabytes long.
    assert json.loads(got) == json.loads((run / "result.json").read_bytes())
    assert (got == (run / "result.json").read_bytes()) is True


def test_all_runs_are_there(published_dir: Path) -> None:
    runs = {path.parent for path in (published_dir / "result").glob("**/trials.jsonl*")}
    assert len(runs) == 24
    assert all((run / "result.json").is_file() for run in runs)


def test_the_sample_answers_are_byte_identical(
    published_dir: Path, published_benchmark: Benchmark, tmp_path: Path
) -> None:
    data = published_dir / "data"
    got = rescored(published_benchmark, data / "questions.jsonl", tmp_path)
    assert json.loads(got) == json.loads((data / "result.json").read_bytes())
    assert (got == (data / "result.json").read_bytes()) is True


def own_answers(question: Question) -> list[str]:
    """The reference answers of a question in the order in which they were once scored."""
    return [answer for source in "PRST" for answer in question.answers.get(source, ())]


def test_reference_answers_as_responses(
    published_dir: Path, published_benchmark: Benchmark, tmp_path: Path
) -> None:
    final = published_dir / "data" / "final"
    shutil.copy(final / "config.json", tmp_path)
    with (tmp_path / "trials.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for question in published_benchmark:
            for answer in own_answers(question):
                record = {"question": question.text, "answer": answer}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    got = json.loads(rescored(published_benchmark, tmp_path / "trials.jsonl", tmp_path))
    expected = json.loads((final / "result.json").read_bytes())
    for result in (got, expected):
        del result["input_hash"]  # of a file that was not published
    # Text, so that the order of the keys counts too.
    assert list(got) == list(expected)
    assert {key: got[key] for key in got if key != "questions"} == {
        key: expected[key] for key in expected if key != "questions"
    }
    differing = [q for q in expected["questions"] if got["questions"][q] != expected["questions"][q]]
    assert differing == []
    assert (json.dumps(got) == json.dumps(expected)) is True
