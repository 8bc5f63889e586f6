"""Evaluating a model during training, in any training loop."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

from pfgen_rs.ask.protocol import Engine, Parameters
from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.errors import InputError, OutputError, PfgenError, SettingsError
from pfgen_rs.io import cleaning, source
from pfgen_rs.lazy import pl
from pfgen_rs.questions.examples import Example
from pfgen_rs.training import background, checks
from pfgen_rs.training.curve import Axis, Fall, find_fall, new_record, plot_curve
from pfgen_rs.training.loggers import Logger
from pfgen_rs.training.page import write_page

Generate = Callable[..., Sequence[str | None]]
OnError = Literal["raise", "warn"]


class StepEvaluator(source.Closing):
    """Records a learning curve: call it at every step, and at some it evaluates the model on a fixed sample.

        with StepEvaluator("mini", generate, every=500, folder="curve") as evaluator:
            evaluator(0)
            for step in range(1, steps + 1):
                train(step)
                evaluator(step)

    You provide `generate(tasks) -> texts`, which returns one raw text per task and runs on the calling
    thread. The texts are then truncated and cleaned as in a run, scored and written in order by a background
    thread. At most four steps are pending there; after that, calls block until there is room, so no step is
    skipped.

    Or provide `engine`, any engine of `pfgen_rs.ask`, such as one for a server that has the
    current weights. It is asked in the background by the main process alone, with `parameters` (default: as
    published), and never blocks training: a step that is due while another one is being evaluated is skipped.
    `due(step)` says in advance whether a step will be evaluated. Blank answers are scored as empty ones,
    failed ones are left out. The engine is not closed.

    Steps divisible by `every` are evaluated; step 0 is the baseline for differences. The sample is the same
    at every step: `trials` answers to each question. `questions`: the number of questions, chosen by `seed`,
    or a list of texts or ids (default: all questions with example answers). `seed` also determines which
    examples prompts show, as for `Prompter`. `examples`: example answers (default: those of the benchmark).

    `tasks`: tasks of llm-jp-eval, by names or categories (`all`: the 17 of 1.3.0), which are evaluated at the
    same steps: the first `n` samples (`None`: all) of their `split`, with `shots` examples in the prompts
    (default: that of the task, or 4), scored by `profile`. `tasks_folder`: the converted files (default: the
    installed ones). `generate` receives their prompts after those of the benchmark, as tasks with
    `parameters`: at most `max_tokens` new tokens, `temperature` 0 and no stop strings. The curve has columns
    `llm_jp_eval/TASK`, and outputs are written to `task_answers`. With `questions=0`, tasks are evaluated
    alone.

    `budget`: seconds for the answers of an engine at one step; those not given in time are left out, with a
    warning in the log `pfgen_rs`.

    `folder`: where `curve.parquet` and `answers/step_00000500.parquet` are written; an existing curve is
    continued. If a step is smaller than the previous one, training went back, and results from that step on
    are dropped. If a run is restarted without `load_state_dict`, results of the earlier run from the first
    step of the new one on, and a copy of its whole curve, are moved to `old-1` (`old-2`, …) in the folder,
    with a warning in the log `pfgen_rs`.

    `loggers` (one or several) are called as `logger({"pfgen/score": …}, step)`, each in a thread of its own.
    If one fails, or lags behind by more than 64 steps so that steps are dropped for it, there is
    a warning in the log `pfgen_rs`; `close` waits for loggers for at most 30 seconds. Set
    `is_main=False` on other ranks, which generate (if all ranks are needed for that) but neither score nor
    write.

    `on_error`: what happens if answers cannot be generated, scored or written. With `raise`, errors of
    `generate` are raised immediately, and those in the background as a `PfgenError` by the next call, `wait`,
    `state_dict` or `close`. With `warn`, the step is skipped, with a warning in the log `pfgen_rs`, and
    training continues: only invalid arguments are errors, and a `CollectiveError` of `ModelGenerate`.
    `skipped` has the reasons.

    Without `close`, the process waits at exit until everything is scored. Must not be used in processes
    forked from the one that created it. A process forked from one that has used polars lacks its threads:
    start it by `spawn` or `forkserver` instead. Raises `SettingsError`, `InputError` and any error of
    `load_benchmark`.
    """

    def __init__(
        self,
        benchmark: Benchmark | str | os.PathLike[str] | None,
        generate: Generate | None = None,
        *,
        every: int,
        engine: Engine | None = None,
        parameters: Parameters | None = None,
        budget: float | None = None,
        trials: int = 1,
        questions: int | Sequence[str] | None = None,
        seed: str | int = "",
        mode: cleaning.Mode = "completion",
        num_examples: int = 20,
        examples: Sequence[Example] | None = None,
        stop: Sequence[str] | None = None,
        think: cleaning.Think = "keep",
        tasks: str | Sequence[str] = (),
        n: int | None = 100,
        shots: int | None = None,
        split: str = "test",
        profile: str = "1.3.0",
        tasks_folder: str | os.PathLike[str] | None = None,
        folder: str | os.PathLike[str] | None = None,
        loggers: Logger | Sequence[Logger] = (),
        is_main: bool = True,
        on_error: OnError = "raise",
    ) -> None:
        self.every = checks.count(every, "every")
        checks.check_choice(on_error, "on_error", get_args(OnError))
        checks.check_who_answers(generate, engine, parameters, budget)
        if stop is None:
            stop = parameters.stop if parameters else cleaning.default_stop(mode)
        elif parameters is not None:
            raise SettingsError(
                "`stop` cannot be combined with `parameters`, which have stop strings"
            )
        stop = checks.checked_texts(stop, "stop")
        benchmark = resolve(benchmark, None)
        self.is_main = is_main
        self._record = new_record(
            benchmark,
            folder if is_main else None,
            checks.functions(loggers, "loggers"),
            stop=stop,
            think=think,
            mode=mode,
            tasks=tasks,
            n=n,
            shots=shots,
            split=split,
            profile=profile,
            tasks_folder=tasks_folder,
            examples=examples,
            trials=trials,
            questions=questions,
            seed=str(seed),
            num_examples=num_examples,
        )
        self.sample, self.tasks = self._record.sample, self._record.asked
        """What is generated at every step: the tasks of the sample, then those of llm-jp-eval."""
        self._generate: Any = generate
        self._engine = None
        if engine is not None:
            parameters = replace(parameters or Parameters(), stop=stop)
            self._engine = background.EngineAnswers(engine, parameters, budget)
        self._background = background.Background()
        self._warns = on_error == "warn"
        self._skipped = background.Skipped()
        self._seen: int | None = None  # the step of the last call
        self._done: set[int] = set()  # steps evaluated or failed since, the same on all ranks
        self._asking: int | None = None  # the step that the engine is asked about
        self._process = os.getpid()
        benchmark.prepare()

    def __call__(self, step: int, tokens: int | None = None) -> bool:
        """Report the current training step and, optionally, the number of tokens seen so far.

        Evaluates the step if it is divisible by `every` and has not been evaluated yet; returns whether it
        was evaluated or, with an engine, whether its evaluation began.
        """
        step = checks.whole(step, "a step")
        if step % self.every:
            self._notice(step)
            return False
        return self.evaluate(step, tokens)

    def due(self, step: int) -> bool:
        """Returns whether a call with this step will evaluate it: the time to send weights to a server.

        A step at which the engine is still busy is skipped, and so reported here. On several ranks, ask on
        the main process and tell the others.
        """
        step = checks.whole(step, "a step")
        again = self._seen is None or step < self._seen
        if step % self.every or (step in self._done and not again):
            return False
        return not self._is_busy(step)

    def evaluate(self, step: int, tokens: int | None = None) -> bool:
        """Evaluate this step regardless of `every`, unless already done; returns whether it was evaluated."""
        step = checks.whole(step, "a step")
        tokens = None if tokens is None else checks.whole(tokens, "the number of tokens")
        self._notice(step)
        if step in self._done:
            return False
        if self._engine is not None:
            return self._begin_asking(self._engine, step, tokens)
        begun = time.perf_counter()
        try:
            texts = checks.check_texts(self._generate(self.tasks), self.tasks)
        except Exception as error:
            if not self._warns or isinstance(error, background.CollectiveError):
                raise
            self._done.add(step)  # other ranks may have succeeded
            self._skipped.add(step, error)
            return False
        self._done.add(step)
        if self.is_main:
            seconds = time.perf_counter() - begun
            add = partial(self._record.add, step, tokens, texts, seconds)
            self._submit(f"the answers of step {step}", add, step)
        return True

    def rewind(self, step: int) -> None:
        """Continue from this step, dropping later steps."""
        self._ready()
        self._seen = checks.whole(step, "a step")
        self._drop_from(self._seen + 1)

    @property
    def skipped(self) -> dict[int, str]:
        """Why steps were skipped, by step."""
        return dict(self._skipped)

    @property
    def curve(self) -> pl.DataFrame:
        """The steps scored so far: the columns of `pfgen_rs.training.curve.SCHEMA`, then those of tasks."""
        return self._record.frame

    def plot(self, path: str | os.PathLike[str], *, x: Axis = "step", **look: Any) -> None:
        """Plot the curve so far as `.svg` or `.png`; see `pfgen_rs.training.plot_curve`."""
        self.wait()
        plot_curve(self.curve, path, x=x, **look)

    def to_html(
        self, path: str | os.PathLike[str], *, compare: Sequence[str | os.PathLike[str]] = ()
    ) -> None:
        """Write the page of the curve so far, which needs a `folder`; see `pfgen_rs.training.write_page`."""
        self.wait()
        if self._record.folder is None:
            raise SettingsError("the page shows the answers: give the StepEvaluator a `folder`")
        write_page(self._record.folder, path, compare=compare)

    def wait(self) -> None:
        """Wait until all answers are scored; raises errors of the background thread."""
        self._background.wait()

    def close(self) -> None:
        """Wait for the background thread and end it; raises its errors. May be called twice.

        Then waits for the loggers for a limited time, and logs how many steps were skipped, if any.
        """
        try:
            self._background.close()
        finally:
            self._record.close()
            self._skipped.report()

    def state_dict(self) -> dict[str, Any]:
        """Returns the state to save in checkpoints, for JSON or `torch.save`.

        Waits for pending scores, but not for an engine: a step that it is asked about is listed as `pending`.
        """
        asking = self._asking
        if self._engine is None:
            self.wait()
        else:
            self._background.check()
        return {
            "sample": self._record.description,
            "step": self._seen,
            "done": sorted(self._done),
            "pending": [] if asking is None else [asking],
            "rows": self._record.rows,
        }

    def fall(self, checkpoints: int = 3, max_drop: float = 0.01) -> Fall | None:
        """Returns the last `checkpoints` steps if their scores fell; see `training.curve.find_fall`."""
        return find_fall(self._record.rows, checkpoints, max_drop)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a checkpoint, dropping later results, including those in the folder.

        A step that was `pending` is kept if the folder has it. Raises `InputError` if `state` is invalid, and
        `SettingsError` if it is of another sample.
        """
        try:
            sample, step, rows = state["sample"], state["step"], list(state["rows"])
            done = set(state.get("done", [row["step"] for row in rows]))
            pending = set(state.get("pending", ())) - {row["step"] for row in rows}
        except (KeyError, TypeError) as error:
            raise InputError(f"not the state of a StepEvaluator: {error!r}") from None
        self._record.check(sample, "the state")
        self.wait()
        self._seen, self._done = step, done
        try:
            self._record.replace(rows, pending)
        except OutputError as error:
            if not self._warns:
                raise
            background.LOG.warning("the curve of the checkpoint: %s", background.reason_of(error))

    def _leave(self, error: BaseException | None) -> None:
        """Close the evaluator; an exception already being raised takes precedence."""
        if error is not None and self._engine is not None:
            self._engine.cancel()
        try:
            self.close()
        except PfgenError as ours:
            if error is None:
                raise
            error.add_note(f"also failed in the background: {ours}")

    def _begin_asking(
        self, engine: background.EngineAnswers, step: int, tokens: int | None
    ) -> bool:
        if not self.is_main or self._is_busy(step):
            return False
        self._done.add(step)
        self._skipped.pop(step, None)
        self._asking = step
        self._submit(f"the answers of step {step}", partial(self._ask, engine, step, tokens), step)
        return True

    def _ask(self, engine: background.EngineAnswers, step: int, tokens: int | None) -> None:
        try:
            answers = engine(self.tasks)
            if answers.missing:
                background.LOG.warning("step %d: %s", step, answers.problem)
            self._record.add(step, tokens, answers.texts, answers.seconds)
        finally:
            self._asking = None

    def _is_busy(self, step: int) -> bool:
        """Whether the engine is at work, so that this step is skipped."""
        if self._asking is not None:
            self._skipped.add(step, f"step {self._asking} is still being evaluated")
        elif self._engine is not None and self._engine.running:
            self._skipped.add(step, "the engine is still working on an earlier step")
        else:
            return False
        return True

    def _submit(self, what: str, work: Callable[[], object], step: int | None = None) -> None:
        """Run work in the background; `step`: the one that is skipped if it fails."""
        if self._warns:
            work = partial(self._attempt, what, work, step)
        self._background.submit(what, work)

    def _attempt(self, what: str, work: Callable[[], object], step: int | None) -> None:
        try:
            work()
        except Exception as error:
            if step is not None:
                self._skipped.add(step, error)
                return
            background.LOG.warning("%s: %s", what, background.reason_of(error))
            background.LOG.debug("%s", what, exc_info=error)

    def _notice(self, step: int) -> None:
        self._ready()
        if self._seen is None or step < self._seen:
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

    def _drop_from(self, step: int) -> None:
        """Drop this step and later ones: those of an earlier run, or since training went back."""
        self._done = {done for done in self._done if done < step}
        self._skipped.drop_from(step)
        what, drop = f"dropping results from step {step} on", self._record.drop_from
        if self._seen is None:
            what = f"moving results of an earlier run from step {step} on"
            drop = self._record.set_aside
        if self.is_main:
            self._submit(what, partial(drop, step))
