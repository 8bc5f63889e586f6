"""Shared by the integrations: benchmarks that are read once per process."""

from __future__ import annotations

import os
from pathlib import Path

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.questions.placed import read_once

__all__ = ["loaded", "prepared"]


def loaded(
    benchmark: str | os.PathLike[str] | None = None, settings: Settings | None = None
) -> Benchmark:
    """Load a benchmark like `load_benchmark`.

    Each folder is read once per process and settings, because harnesses create the same scorer repeatedly.
    """
    folder = Path(os.path.abspath(benchmark_path(benchmark)))  # noqa: PTH100 - resolve follows links
    return read_once(Benchmark, folder, settings)


def prepared(benchmark: str | os.PathLike[str] | None = None) -> Benchmark:
    """Load a benchmark like `loaded`, with all scorers ready."""
    return loaded(benchmark).prepare()
