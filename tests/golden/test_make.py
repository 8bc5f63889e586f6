"""`make.py` with a checkout whose `make` is this package: its vectors are those of the package."""

import json
import subprocess
import sys
from pathlib import Path

from helpers import write_benchmark
from pfgen_rs import load_benchmark

MAKE = Path(__file__).with_name("make.py")


def committed(folder: Path, recipe: str) -> Path:
    """A git repository with questions and a Makefile."""
    write_benchmark(folder / "data")
    if recipe:
        (folder / "Makefile").write_text(f"all:\n\t{recipe}\n", encoding="utf-8")
    for told in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm a"):
        subprocess.run(["git", *told.split()], cwd=folder, check=True)
    return folder


def made(checkout: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(MAKE), str(checkout), "--commit", "HEAD", "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_vectors_are_those_of_the_scorer(tmp_path: Path) -> None:
    scorer = (
        "import pfgen_rs; run = 'result/golden/edge-cases/0000000'; "
        "pfgen_rs.score_file(run, pfgen_rs.load_benchmark('data')).to_json(run + '/result.json')"
    )
    checkout = committed(tmp_path / "checkout", f'{sys.executable} -c "{scorer}"')
    done = made(checkout, tmp_path / "vectors")
    assert done.returncode == 0, done.stderr
    benchmark = load_benchmark(checkout / "data")
    text = (tmp_path / "vectors" / "edge_cases.jsonl").read_text(encoding="utf-8")
    vectors = [json.loads(line) for line in text.split("\n") if line]
    assert {v["question_id"] for v in vectors} == {"Q01", "Q02"}
    assert {"special", "reference", "repeat", "len1000"} <= {v["kind"] for v in vectors}
    for vector in vectors:
        score = benchmark.score(vector["question_id"], vector["answer"])
        assert score.to_dict() == vector["scores"]


def test_a_folder_that_is_no_clone_is_told(tmp_path: Path) -> None:
    assert "expected a git clone" in made(tmp_path, tmp_path).stderr
