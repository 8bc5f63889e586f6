"""Shared by the integrations: benchmarks that are read once per process, and prompts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.folder import read_once
from pfgen_rs.questions.locate import benchmark_path

if TYPE_CHECKING:
    from pfgen_rs.generate import Mode, Task


def loaded(
    benchmark: Benchmark | str | os.PathLike[str] | None = None, settings: Settings | None = None
) -> Benchmark:
    """Load a benchmark like `load_benchmark`, unless it is one.

    Each folder is read once per process and settings, because harnesses create the same scorer repeatedly.
    """
    if isinstance(benchmark, Benchmark):
        return resolve(benchmark, settings)
    folder = Path(os.path.abspath(benchmark_path(benchmark)))  # noqa: PTH100 - resolve follows links
    return read_once(Benchmark, folder, settings)


def prepared(benchmark: str | os.PathLike[str] | None = None) -> Benchmark:
    """Load a benchmark like `loaded`, with all scorers ready."""
    return loaded(benchmark).prepare()


def asked(
    benchmark: str | None, mode: Mode, trials: int, num_examples: int, seed: str, prefix: str
) -> Iterator[tuple[Task, str]]:
    """Yield the tasks of all trials, trial by trial, with the example answers to their questions.

    `mode`, `num_examples`, `seed` and `prefix` are those of `Prompter`.
    """
    from pfgen_rs.generate import Prompter, read_examples  # which scorers do without

    examples = read_examples(benchmark)
    prompter = Prompter(examples, mode, num_examples=num_examples, seed=seed, prefix=prefix)
    for trial in range(1, trials + 1):
        for task, example in zip(prompter.tasks(trial), examples, strict=True):
            yield task, example.answer
