"""The same bits whatever instructions the processor has: each set scores in a process of its own."""

from pathlib import Path

import pytest

import helpers
from pfgen_rs.questions.locate import bundled_path

SCRIPT = """
import sys
from pathlib import Path
import pfgen_rs
from pfgen_rs import _native
bench = pfgen_rs.load_benchmark(sys.argv[1])
print(_native.INSTRUCTIONS)
for path in sorted(Path(sys.argv[2]).glob("**/result.json")):
    same = pfgen_rs.score_file(path.parent, bench).to_bytes() == path.read_bytes()
    print(path.parent.name, "same" if same else "DIFFERENT")
"""
SETS = ["portable", "avx2", "avx512"]


def score(instructions: str, benchmark: Path, runs: Path) -> list[str]:
    done = helpers.python(SCRIPT, benchmark, runs, env={"PFGEN_RS_INSTRUCTIONS": instructions})
    assert done.returncode == 0, done.stderr
    used, *results = done.stdout.splitlines()
    if used != instructions:
        pytest.skip(f"this processor has no {instructions}")
    return results


@pytest.mark.parametrize("instructions", SETS)
def test_bundled_runs(instructions: str, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in ("careless", "faithful"):
        target = runs / name / "result.json"
        target.parent.mkdir(parents=True)
        source = bundled_path() / "runs" / name / "trials.jsonl.xz"
        (runs / name / "trials.jsonl.xz").write_bytes(source.read_bytes())
        scored = helpers.pfgen("score", runs / name, "-b", "mini", "--out", target.parent)
        assert scored.returncode == 0, scored.stderr
    assert score(instructions, bundled_path(), runs) == ["careless same", "faithful same"]


@pytest.mark.published
@pytest.mark.slow
@pytest.mark.parametrize("instructions", SETS[:2])
def test_published_runs(instructions: str, published_dir: Path) -> None:
    """The best set scores them in other tests."""
    results = score(instructions, published_dir / "data", published_dir / "result")
    assert len(results) == 24
    assert {result.split()[-1] for result in results} == {"same"}
