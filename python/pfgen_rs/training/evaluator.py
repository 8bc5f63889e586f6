"""Evaluating a model while it is trained, in any loop."""

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
from pfgen_rs.training.checks import check_texts, count, function, functions, texts_of, whole
from pfgen_rs.training.curve import Axis, plot_curve
from pfgen_rs.training.forks import check_polars
from pfgen_rs.training.loggers import Logger
from pfgen_rs.training.record import Record
from pfgen_rs.training.sample import FixedSample, examples_of

__all__ = ["Generate", "StepEvaluator"]

Generate = Callable[[Sequence[Task]], Sequence[str]]


class StepEvaluator(Closing):
    """A learning curve: call it with every step, and on some it lets the model answer a fixed sample.

        with StepEvaluator("mini", generate, every=500, folder="curve") as evaluator:
            evaluator(0)
            for step in range(1, steps + 1):
                train(step)
                evaluator(step)

    `generate(tasks) -> texts` is yours, and runs on the thread that calls: one raw text for each task. The
    texts are then cut and cleaned as in a run, scored and written by one thread in the background, in order.
    At most `behind` steps wait there; a call then blocks until there is room, and no step is left out.

    Steps that `every` divides are evaluated, and step 0 is the baseline that differences refer to. The
    sample is the same at every step: `trials` answers to each question. `questions`: all that have sample
    answers, so many of them chosen by `seed`, or these texts or ids. `seed` also decides which samples
    prompts show, as for `Prompter`. `examples`: example answers, those of the benchmark without it.

    `folder`: `curve.parquet` and `answers/step_00000500.parquet` are written there, and a curve that is there
    is continued. Where a step is smaller than the one before, training went back, and what had been measured
    from there on is dropped. A run that is started again, without `load_state_dict`, goes on at its first
    step: what an earlier one had measured from there on, and its whole curve, is moved to `old-1` (`old-2`,
    …) in the folder, with a warning in the log `pfgen_rs`.

    `loggers` (one or several) are called in the background, as `logger({"pfgen/score": …}, step)`, with
    `metric_prefix` in front of each name; one that fails is warned about and does not stop training.
    `is_main=False` is for other ranks, which generate (where that takes all of them) but neither score nor
    write.

    What goes wrong in the background is logged, and raised as some `PfgenError` by the next call or `close`.
    Without `close` the process waits for what is to be scored when it ends. Not to be used in processes
    forked from the one that made it. Raises `SettingsError`, `InputError` and what `load_benchmark` raises.
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
        stop = default_stop(mode) if stop is None else texts_of(stop, "stop")
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
        self._done: set[int] = set()  # steps evaluated since, alike on all ranks
        self._process = os.getpid()
        benchmark.prepare()

    def __call__(self, step: int, tokens: int | None = None) -> bool:
        """Tell the step that training has reached, and how many tokens it has seen, if that is known.

        Whether it was evaluated: `every` divides it, and it had not been evaluated yet.
        """
        step = whole(step, "a step")
        if step % self.every:
            self._notice(step)
            return False
        return self.evaluate(step, tokens)

    def evaluate(self, step: int, tokens: int | None = None) -> bool:
        """Evaluate this step, whether or not it is one of `every`; not again where it has been."""
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
        """Training goes on from this step, whatever it was at before: later steps are dropped."""
        self._ready()
        self._seen = whole(step, "a step")
        self._drop_from(self._seen + 1)

    @property
    def curve(self) -> pl.DataFrame:
        """The steps scored so far, as `pfgen_rs.training.curve.SCHEMA` says."""
        return self._record.frame

    def plot(self, path: str | os.PathLike[str], *, x: Axis = "step", **look: Any) -> None:
        """Draw the curve so far as `.svg` or `.png`; see `pfgen_rs.training.plot_curve`."""
        self.wait()
        plot_curve(self.curve, path, x=x, **look)

    def wait(self) -> None:
        """Wait until all answers are scored; raises what went wrong."""
        self._background.wait()

    def close(self) -> None:
        """Wait, and end the thread; may be called twice. Raises what went wrong."""
        self._background.close()

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint should hold, fit for JSON and `torch.save`; waits for scores under way."""
        self.wait()
        return {
            "sample": self.sample.description,
            "step": self._seen,
            "rows": self._record.rows,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint: what was measured after it is dropped, in the folder, too.

        Raises `InputError` for what is no such state, and `SettingsError` for that of another sample.
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
        """Close it; an error that is on its way already goes first."""
        try:
            self.close()
        except PfgenError as ours:
            if error is None:
                raise
            error.add_note(f"and in the background: {ours}")

    def _notice(self, step: int) -> None:
        self._ready()
        if self._seen is None:
            self._begin(step)
        elif step < self._seen:
            self._drop_from(step)
        self._seen = step

    def _ready(self) -> None:
        """Raise what stands against going on, such as what went wrong in the background."""
        if os.getpid() != self._process:
            raise PfgenError("this StepEvaluator belongs to the process it was forked from")
        if self._background.closed:
            raise PfgenError("this StepEvaluator is closed: make a new one")
        self._background.check()

    def _begin(self, step: int) -> None:
        self._done = {done for done in self._done if done < step}
        if self.is_main:
            self._background.submit(
                f"moving an earlier run's steps from {step} on",
                partial(self._record.set_aside, step),
            )

    def _drop_from(self, step: int) -> None:
        self._done = {done for done in self._done if done < step}
        if self.is_main:
            self._background.submit(
                f"dropping steps from {step} on", partial(self._record.drop_from, step)
            )
