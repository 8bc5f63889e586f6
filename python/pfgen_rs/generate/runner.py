"""Runs: prompts in, an engine asked, a folder out that can be gone on with at any time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pfgen_rs.benchmark import Benchmark, score_file
from pfgen_rs.errors import SettingsError
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.generate.engines.protocol import Engine
from pfgen_rs.generate.prompts import Prompter, Task
from pfgen_rs.generate.run_folder import RunFolder
from pfgen_rs.generate.unscored import Failure, read_failures
from pfgen_rs.generate.work import GenerationProgress, Work
from pfgen_rs.questions.examples import Example, read_examples
from pfgen_rs.runs.result import Result

__all__ = ["Run", "generate", "open_tasks"]

Place = Benchmark | str | os.PathLike[str] | None


@dataclass(frozen=True)
class Run:
    """What a call of `generate` has come to.

    `trials`: how many were asked for; `finished`: how many of them are there; `answers`: new ones of this
    call; `failures`: tasks of them that were given up, of which `earlier` were so before this call;
    `elsewhere`: trials that other processes work on; `result`: the scores of all finished trials, where they
    were asked for.
    """

    folder: Path
    config: RunConfig
    trials: int
    finished: int
    answers: int
    failures: list[Failure] = field(default_factory=list)
    earlier: list[Failure] = field(default_factory=list)
    elsewhere: list[int] = field(default_factory=list)
    result: Result | None = None

    @property
    def complete(self) -> bool:
        """Whether every trial is there."""
        return self.finished == self.trials

    @property
    def unfinished(self) -> int:
        """How many trials are not there, and nobody works on."""
        return self.trials - self.finished - len(self.elsewhere)


def generate(
    config: RunConfig,
    engine: Engine,
    *,
    benchmark: Place = None,
    examples: Sequence[Example] | None = None,
    trials: int = 100,
    results: str | os.PathLike[str] = "result",
    rounds: int = 10,
    retry_failed: bool = False,
    batch: int = 1000,
    score: bool = False,
    progress: GenerationProgress | None = None,
) -> Run:
    """Generate the trials of a run that are not there, into `results/model/hash`.

    `benchmark`: whose questions are asked, as `load_benchmark` takes it; `examples`: its questions with
    example answers, where they are not its `questions.jsonl`. Other questions than the published ones become
    part of the configuration. The engine gets up to about `batch` tasks at a time. Empty answers are asked
    for again, with another seed, in up to `rounds` rounds. What fails is listed in `unscored.jsonl`
    and asked again only with `retry_failed`. `progress(done, total, rate, failed)`: answers,
    new ones a second, and tasks that were given up.

    Whatever ends this, the same call goes on: finished trials, and answers of unfinished ones, stay.
    Processes that share the folder share the trials. An engine that ends early leaves the rest open.
    The engine is not closed. Raises `GenerationError`, `SettingsError`, `InputError` and `OutputError`.
    """
    prompter = _prompter(config, benchmark, examples)
    config = config.with_questions(prompter.examples)
    _check_positive(trials=trials, rounds=rounds, batch=batch)
    folder = RunFolder.open(config, Path(results), prompter.questions)
    work = Work(
        folder,
        prompter,
        config,
        trials=trials,
        rounds=rounds,
        batch=batch,
        retry_failed=retry_failed,
        progress=progress,
    )
    work.run(engine)
    folder.pack()
    failures = [failure for failure in read_failures(folder.path) if failure.trial <= trials]
    finished = sum(map(folder.is_finished, range(1, trials + 1)))
    return Run(
        folder.path,
        config,
        trials=trials,
        finished=finished,
        answers=work.new,
        failures=failures,
        earlier=[f for f in failures if (f.trial, f.question) not in work.given_up],
        elsewhere=[n for n in work.elsewhere if not folder.is_finished(n)],
        result=score_file(folder.path, benchmark) if score and finished else None,
    )


def open_tasks(
    config: RunConfig,
    *,
    benchmark: Place = None,
    examples: Sequence[Example] | None = None,
    trials: int = 100,
    results: str | os.PathLike[str] = "result",
) -> list[Task]:
    """The tasks that `generate` would begin with, in order; writes nothing."""
    prompter = _prompter(config, benchmark, examples)
    config = config.with_questions(prompter.examples)
    folder = RunFolder(config.folder(Path(results)), prompter.questions)
    numbers = range(1, trials + 1)
    return [task for n in numbers for task in prompter.tasks(n, folder.missing(n))]


def _prompter(config: RunConfig, benchmark: Place, examples: Sequence[Example] | None) -> Prompter:
    if examples is None:
        examples = _examples(benchmark)
    return Prompter(
        examples,
        config.mode,
        num_examples=config.num_examples,
        seed=config.seed,
        prefix=config.prefix,
    )


def _examples(benchmark: Place) -> list[Example]:
    if not isinstance(benchmark, Benchmark):
        return read_examples(benchmark)
    if benchmark.folder is None:
        raise SettingsError("the benchmark was not read from files, so examples must be passed")
    return read_examples(benchmark.folder)


def _check_positive(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise SettingsError(f"{name} must be at least 1, not {value}")
