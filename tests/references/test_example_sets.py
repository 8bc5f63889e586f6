"""`examples/sets.py`: sets in four languages, and the commands that use them."""

import json
import runpy
from pathlib import Path

import pytest

from helpers import pfgen
from pfgen_rs import load_benchmark
from places import ROOT

EXAMPLE = ROOT / "examples" / "sets.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.argv", ["sets.py", str(folder)])
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    return folder


@pytest.mark.parametrize("name", ["finance", "english", "chinese", "korean"])
def test_right_answers_score_high(folder: Path, name: str, tmp_path: Path) -> None:
    language, questions, right, wrong = runpy.run_path(str(EXAMPLE))["SETS"][name]
    benchmark = load_benchmark(folder / name)
    assert len(benchmark) == len(questions)
    first = f"{name}-1"
    about = benchmark[first].about
    assert about is not None
    assert about.language == language
    assert [len(own) for own in benchmark[first].answers.values()] == [60]
    rows = [{"question": next(iter(questions)), "answer": answer} for answer in (right, wrong)]
    scores = [benchmark.score(first, row["answer"]).average for row in rows]
    assert scores[0] > 0.75 > 0.3 > scores[1]
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = pfgen("score", path, "--benchmark", folder / name)
    assert done.returncode == 0, done.stderr
    shown = pfgen("explain", first, wrong, "--benchmark", folder / name)
    assert shown.returncode == 0, shown.stderr
