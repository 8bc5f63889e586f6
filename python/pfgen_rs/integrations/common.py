"""Shared by the integrations: benchmarks that are ready to score."""

from __future__ import annotations

import os
from functools import lru_cache

from pfgen_rs.benchmark import Benchmark, load_benchmark
from pfgen_rs.questions.locate import benchmark_path

__all__ = ["prepared"]


def prepared(benchmark: str | os.PathLike[str] | None = None) -> Benchmark:
    """Load a benchmark like `load_benchmark`, with all scorers ready.

    Each folder is read once per process, because harnesses create the same scorer repeatedly.
    """
    return _loaded_benchmark(os.path.abspath(benchmark_path(benchmark)))  # noqa: PTH100 - resolve follows links


@lru_cache(maxsize=8)
def _loaded_benchmark(folder: str) -> Benchmark:
    return load_benchmark(folder).prepare()
