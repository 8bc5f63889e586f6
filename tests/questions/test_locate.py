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


@pytest.mark.parametrize("name", ["pfgen_bench", "x" * 10_000], ids=len)
def test_unknown_benchmarks_are_named_with_what_shows_the_others(name: str) -> None:
    with pytest.raises(BenchmarkNotFoundError, match=f"'{name}': .* 'pfgen-rs data list' shows"):
        pfgen_rs.load_benchmark(name)
