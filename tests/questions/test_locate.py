"""Sample runs: bundled with the package, and ready to be scored."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pfgen_rs
from helpers import environment
from pfgen_rs import Benchmark
from pfgen_rs.errors import BenchmarkNotFoundError


def test_sample_runs_are_there_by_name(mini: Benchmark) -> None:
    runs = pfgen_rs.sample_runs()
    assert list(runs) == ["babbling", "careless", "faithful"]
    scores = [pfgen_rs.score_file(folder, mini).score for folder in runs.values()]
    assert sorted(scores) == scores
    runs.clear()
    assert pfgen_rs.sample_runs()


def test_sample_runs_do_not_depend_on_the_folder_or_the_environment(tmp_path: Path) -> None:
    script = "import pfgen_rs; print(*pfgen_rs.sample_runs().values(), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(PFGEN_RS_BENCHMARK="elsewhere"),
        check=True,
    )
    folders = [Path(line) for line in done.stdout.splitlines()]
    assert all(folder.is_absolute() and folder.is_dir() for folder in folders)
    assert len(folders) == 3


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("pfgen_bench", "pfgen-bench"),
        ("PFGEN-Bench", "pfgen-bench"),
        ("pfgen-benhc", "pfgen-bench"),
        ("mini_", "mini"),
        ("elsewhere", None),
        ("x" * 10_000, None),
    ],
    ids=lambda each: str(each)[:12],
)
def test_a_misspelt_benchmark_gets_a_suggestion(name: str, meant: str | None) -> None:
    with pytest.raises(BenchmarkNotFoundError) as raised:
        pfgen_rs.load_benchmark(name)
    assert ("did you mean" in str(raised.value)) == (meant is not None)
    assert meant is None or f"did you mean {meant!r}?" in str(raised.value)
