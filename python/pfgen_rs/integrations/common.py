"""Shared by the integrations: benchmarks that are read once per process."""

from __future__ import annotations

import os
from functools import lru_cache

from pfgen_rs.benchmark import Benchmark, load_benchmark
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.locate import benchmark_path

__all__ = ["loaded", "prepared"]


def loaded(
    benchmark: str | os.PathLike[str] | None = None, settings: Settings | None = None
) -> Benchmark:
    """Load a benchmark like `load_benchmark`.

    Each folder is read once per process and settings, because harnesses create the same scorer repeatedly.
    """
    folder = os.path.abspath(benchmark_path(benchmark))  # noqa: PTH100 - resolve follows links
    return _loaded_benchmark(folder, settings)


def prepared(benchmark: str | os.PathLike[str] | None = None) -> Benchmark:
    """Load a benchmark like `loaded`, with all scorers ready."""
    return loaded(benchmark).prepare()


@lru_cache(maxsize=8)
def _loaded_benchmark(folder: str, settings: Settings | None) -> Benchmark:
    return load_benchmark(folder, settings=settings)
