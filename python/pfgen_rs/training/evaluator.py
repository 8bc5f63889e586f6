"""Evaluating a model during training, in any training loop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.benchmark import Benchmark, load_benchmark
from pfgen_rs.errors import InputError, PfgenError, SettingsError
from pfgen_rs.generate.answers import THINK, Think, cleaned, default_stop
from pfgen_rs.generate.prompts import Mode, Task
from pfgen_rs.io.closing import Closing
from pfgen_rs.questions.examples import Example
from pfgen_rs.training.background import Background
from pfgen_rs.training.checks import check_texts, checked_texts, count, function, functions, whole
from pfgen_rs.training.curve import Axis, plot_curve
from pfgen_rs.training.forks import check_polars
from pfgen_rs.training.loggers import Logger
from pfgen_rs.training.record import Record
from pfgen_rs.training.sample import FixedSample, examples_of

__all__ = ["Generate", "StepEvaluator"]

Generate = Callable[[Sequence[Task]], Sequence[str]]


class StepEvaluator(Closing):
    """Records a learning curve: call it at every step, and at some it evaluates the model on a fixed sample.

        with StepEvaluator("mini", generate, every=500, folder="curve") as evaluator:
            evaluator(0)
            for step in range(1, steps + 1):
                train(step)
                evaluator(step)

    You provide `generate(tasks) -> texts`, which returns one raw text per task and runs on the calling
    thread. The texts are then truncated and cleaned as in a run, scored and written in order by a background
    thread. At most `behind` steps are pending there; after that, calls block until there is room, so no step
    is skipped.

    Steps divisible by `every` are evaluated; step 0 is the baseline for differences. The sample is the same
    at every step: `trials` answers to each question. `questions`: the number of questions, chosen by `seed`,
    or a list of texts or ids (default: all questions with example answers). `seed` also determines which
    examples prompts show, as for `Prompter`. `examples`: example answers (default: those of the benchmark).

    `folder`: where `curve.parquet` and `answers/step_00000500.parquet` are written; an existing curve is
    continued. If a step is smaller than the previous one, training went back, and results from that step on
    are dropped. If a run is restarted without `load_state_dict`, results of the earlier run from the first
    step of the new one on, and a copy of its whole curve, are moved to `old-1` (`old-2`, …) in the folder,
    with a warning in the log `pfgen_rs`.

    `loggers` (one or several) are called in the background as `logger({"pfgen/score": …}, step)`, with
    `metric_prefix` in front of each name; if one fails, a warning is issued and training continues. Set
    `is_main=False` on other ranks, which generate (if all ranks are needed for that) but neither score nor
    write.

    Errors in the background are logged, and raised as a `PfgenError` by the next call or `close`. Without
    `close`, the process waits at exit until everything is scored. Must not be used in processes forked from
    the one that created it. Raises `SettingsError`, `InputError` and any error of `load_benchmark`.
    """

    def __init__(
        self,
        benchmark: Benchmark | str | os.PathLike[str] | None,
        generate: Generate,
        *,
        every: int,
        trials: int = 1,
        questions: int | Sequence[str] | None = None,
        seed: str | int = "",
        mode: Mode = "completion",
        num_examples: int = 20,
        examples: Sequence[Example] | None = None,
        stop: Sequence[str] | None = None,
        think: Think = "keep",
        folder: str | os.PathLike[str] | None = None,
        loggers: Logger | Sequence[Logger] = (),
        metric_prefix: str = "pfgen/",
        is_main: bool = True,
        behind: int = 4,
    ) -> None:
        self.every, behind = count(every, "every"), count(behind, "behind")
        self._generate = function(generate, "generate")
        stop = default_stop(mode) if stop is None else checked_texts(stop, "stop")
        if think not in THINK:
            raise SettingsError(f"`think` must be one of {', '.join(THINK)}, not {think!r}")
        check_polars()
        if not isinstance(benchmark, Benchmark):
            benchmark = load_benchmark(benchmark)
        self.is_main = is_main
        self.sample = FixedSample.of(
            benchmark,
            examples_of(benchmark) if examples is None else examples,
            trials=trials,
            questions=questions,
            seed=str(seed),
            mode=mode,
            num_examples=num_examples,
        )
        self._tasks = list(self.sample.tasks)
        self._record = Record(
            self.sample,
            partial(cleaned, mode=mode, stop=stop, think=think),
            Path(folder) if folder and is_main else None,
            functions(loggers, "loggers"),
            metric_prefix,
        )
        self._background = Background(behind)
        self._seen: int | None = None  # the step of the last call
        self._done: set[int] = set()  # steps evaluated since, the same on all ranks
        self._process = os.getpid()
        benchmark.prepare()

    def __call__(self, step: int, tokens: int | None = None) -> bool:
        """Report the current training step and, optionally, the number of tokens seen so far.

        Evaluates the step if it is divisible by `every` and has not been evaluated yet; returns whether it
        was evaluated.
        """
        step = whole(step, "a step")
        if step % self.every:
            self._notice(step)
            return False
        return self.evaluate(step, tokens)

    def evaluate(self, step: int, tokens: int | None = None) -> bool:
        """Evaluate this step regardless of `every`, unless already done; returns whether it was evaluated."""
        step = whole(step, "a step")
        tokens = None if tokens is None else whole(tokens, "the number of tokens")
        self._notice(step)
        if step in self._done:
            return False
        begun = time.perf_counter()
        texts = self._generate(self._tasks)
        seconds = time.perf_counter() - begun
        texts = check_texts(texts, self._tasks)
        self._done.add(step)
        if self.is_main:
            work = partial(self._record.add, step, tokens, texts, seconds)
            self._background.submit(f"the answers of step {step}", work)
        return True

    def rewind(self, step: int) -> None:
        """Continue from this step, dropping later steps."""
        self._ready()
        self._seen = whole(step, "a step")
        self._drop_from(self._seen + 1)

    @property
    def curve(self) -> pl.DataFrame:
        """The steps scored so far, with the columns of `pfgen_rs.training.curve.SCHEMA`."""
        return self._record.frame

    def plot(self, path: str | os.PathLike[str], *, x: Axis = "step", **look: Any) -> None:
        """Plot the curve so far as `.svg` or `.png`; see `pfgen_rs.training.plot_curve`."""
        self.wait()
        plot_curve(self.curve, path, x=x, **look)

    def wait(self) -> None:
        """Wait until all answers are scored; raises errors of the background thread."""
        self._background.wait()

    def close(self) -> None:
        """Wait for the background thread and end it; raises its errors. May be called twice."""
        self._background.close()

    def state_dict(self) -> dict[str, Any]:
        """Returns the state to save in checkpoints, for JSON or `torch.save`; waits for pending scores."""
        self.wait()
        return {
            "sample": self.sample.description,
            "step": self._seen,
            "rows": self._record.rows,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a checkpoint, dropping later results, including those in the folder.

        Raises `InputError` if `state` is invalid, and `SettingsError` if it is of another sample.
        """
        try:
            sample, step, rows = state["sample"], state["step"], list(state["rows"])
            done = {row["step"] for row in rows}
        except (KeyError, TypeError) as error:
            raise InputError(f"not the state of a StepEvaluator: {error!r}") from None
        self._record.check(sample, "the state")
        self.wait()
        self._seen, self._done = step, done
        self._record.replace(rows)

    def _leave(self, error: BaseException | None) -> None:
        """Close the evaluator; an exception already being raised takes precedence."""
        try:
            self.close()
        except PfgenError as ours:
            if error is None:
                raise
            error.add_note(f"also failed in the background: {ours}")

    def _notice(self, step: int) -> None:
        self._ready()
        if self._seen is None:
            self._begin(step)
        elif step < self._seen:
            self._drop_from(step)
        self._seen = step

    def _ready(self) -> None:
        """Raise `PfgenError` if the evaluator is unusable, or for an error in the background."""
        if os.getpid() != self._process:
            raise PfgenError(
                "this StepEvaluator cannot be used in a forked process: create a new one"
            )
        if self._background.closed:
            raise PfgenError("this StepEvaluator is closed: create a new one")
        self._background.check()

    def _begin(self, step: int) -> None:
        self._done = {done for done in self._done if done < step}
        if self.is_main:
            self._background.submit(
                f"moving results of an earlier run from step {step} on",
                partial(self._record.set_aside, step),
            )

    def _drop_from(self, step: int) -> None:
        self._done = {done for done in self._done if done < step}
        if self.is_main:
            self._background.submit(
                f"dropping results from step {step} on", partial(self._record.drop_from, step)
            )
