"""Evaluating every new, complete checkpoint in a folder, by one process or several."""

import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from pfgen_rs import errors
from pfgen_rs.ask.protocol import Parameters
from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.drawing import figures
from pfgen_rs.io import ahead, atomic, cleaning, locks, source
from pfgen_rs.training import background, checks, curve, page as curve_page
from pfgen_rs.training.checkpoints import Checkpoint, Print, Settling, find_checkpoints
from pfgen_rs.training.loggers import Logger, named
from pfgen_rs.training.serving import EngineFor, Job

# With polars' SIGINT handler installed, a long wait could not be interrupted.
_TICK = 0.05
# Folders of curves: locks of a process do not exclude itself, and closing a file drops them all.
_WATCHED: dict[Path, threading.Lock] = {}


class Evaluated(NamedTuple):
    """A checkpoint, and its row of the curve or the error that occurred.

    Both if its plot or page could not be written. `missing`: the number of answers that were not given in
    time.
    """

    checkpoint: Checkpoint
    row: dict[str, Any] | None = None
    error: errors.PfgenError | None = None
    missing: int = 0


class _Begun(NamedTuple):
    """A checkpoint that is being evaluated."""

    job: Job
    asked: Future[background.FromEngine]


class Watcher(source.Closing):
    """Evaluates each checkpoint in a folder once, with an engine that generates the answers.

    `engine_for`: a function that is called with each checkpoint's `Job` and returns a context manager of an
    engine, such as an `EngineMaker`. `workers`: the number of checkpoints evaluated at once, in a thread
    each. `budget`: seconds for the answers to a checkpoint; those not given in time are left out, and the
    engine is stopped. Results are recorded in the order of the steps.

    Several watchers, in any number of processes on machines that share the folder, divide the checkpoints
    among them: each is claimed by a lock, which ends with its process, so that another one takes over. In one
    process, only one watcher at a time may use a folder `out`.

    `folder`: the folder with the checkpoints, which are those that trainers write, or that match one of
    `patterns`: see `find_checkpoints`. They are evaluated once they are complete: see `Settling`. `out`: the
    folder for `curve.parquet` and `answers/` (default: `pfgen` in `folder`); steps already on that curve are
    skipped. A checkpoint that fails is retried when its files have changed, and by the next watcher; one
    whose files change while it is evaluated fails. `plot`: a file to plot the curve to (`.svg` or `.png`).
    `page`: an HTML file with the curve and the answers, beside the curves in the folders of `compare`; see
    `write_page`. Both are written at the start, if there is a curve, and after each checkpoint; the row
    stands if that fails. `gate`: stop once the scores of so many checkpoints in a row have fallen by more
    than `max_drop`; see `curve.find_fall` and `fall`.

    The sample, `tasks` of llm-jp-eval beside it, and `loggers` are as for `StepEvaluator`. `log`: loggers by
    their names; see `loggers.named`. Raises `SettingsError`, `InputError` if `folder` cannot be read,
    `OutputError` for a `plot` of another format or without matplotlib, and any error of `load_benchmark`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        engine_for: EngineFor,
        *,
        benchmark: Benchmark | str | os.PathLike[str] | None = None,
        patterns: Sequence[str] = (),
        marker: str | None = None,
        settle_seconds: float = 5.0,
        out: str | os.PathLike[str] | None = None,
        trials: int = 1,
        questions: int | Sequence[str] | None = None,
        mode: cleaning.Mode = "completion",
        num_examples: int = 20,
        think: cleaning.Think = "keep",
        tasks: str | Sequence[str] = (),
        n: int | None = 100,
        shots: int | None = None,
        split: str = "test",
        profile: str = "1.3.0",
        tasks_folder: str | os.PathLike[str] | None = None,
        loggers: Logger | Sequence[Logger] = (),
        log: Sequence[str] = (),
        workers: int = 1,
        budget: float | None = None,
        plot: str | os.PathLike[str] | None = None,
        page: str | os.PathLike[str] | None = None,
        compare: Sequence[str | os.PathLike[str]] = (),
        gate: int | None = None,
        max_drop: float = 0.01,
    ) -> None:
        # Engines may take a relative path for a model's name.
        self.folder, self.patterns = Path(folder).absolute(), tuple(patterns)
        self._workers, self._budget = checks.count(workers, "workers"), budget
        checks.check_budget(budget)
        if settle_seconds:  # 0: files may change at any time
            checks.check_seconds(settle_seconds, "settle_seconds")
        self.found()
        self.out = self.folder / curve.FOLDER if out is None else Path(out)
        self._engine_for = checks.function(engine_for, "engine_for")
        self._parameters = Parameters(stop=cleaning.default_stop(mode))
        benchmark = resolve(benchmark, None)
        self._runs = ExitStack()
        own = (named(name, self.out, self._runs) for name in log)
        self.record = curve.new_record(
            benchmark,
            self.out,
            (*checks.functions(loggers, "loggers"), *own),
            stop=self._parameters.stop,
            think=think,
            mode=mode,
            tasks=tasks,
            n=n,
            shots=shots,
            split=split,
            profile=profile,
            tasks_folder=tasks_folder,
            trials=trials,
            questions=questions,
            num_examples=num_examples,
        )
        self._settling = Settling(settle_seconds, marker)
        self._plot, self._page, self._compare = plot, page, compare
        if plot is not None:
            figures.check_path(plot)
        curve_page.check_alike(self.record.description["signature"], curve_page.read_runs(compare))
        self._gate, self._max_drop = gate, max_drop
        self._pause = 0.0 if marker else settle_seconds
        self._failed: dict[Path, Print] = {}
        self._unreadable = ""
        self._free: SimpleQueue[int] = SimpleQueue()
        for number in range(workers):
            self._free.put(number)
        self.elsewhere: set[int] = set()
        """The steps that other processes are evaluating, when last looked at."""
        self.fall()  # says what is wrong with the settings

    def fall(self) -> curve.Fall | None:
        """Returns the last `gate` checkpoints if their scores fell: then nothing is evaluated any more."""
        if self._gate is None:
            return None
        return curve.find_fall(self.record.rows, self._gate, self._max_drop)

    def close(self) -> None:
        """Wait for the loggers, for a limited time, and finish the runs of those in `log`."""
        with self._runs:
            self.record.close()

    def once(self) -> Iterator[Evaluated]:
        """Evaluate all complete checkpoints, after waiting long enough to detect which are complete.

        Those that other processes are evaluating are left to them, if they do not end meanwhile.
        """
        with self._claims() as claims:
            if self._pause and any(self.open()):
                list(self._settled())
                time.sleep(self._pause)
            yield from self._evaluated(claims, {one.step for one in self.found()})

    def forever(self, every_seconds: float = 30.0) -> Iterator[Evaluated]:
        """Evaluate existing and new checkpoints, checking for them every `every_seconds`.

        While the folder or the curve cannot be read, it looks again, after one warning in the log `pfgen_rs`.
        """
        checks.check_seconds(every_seconds, "every_seconds")
        with self._claims() as claims:
            while True:
                yield from self._evaluated(claims, None, every_seconds)
                if self.fall():
                    return
                time.sleep(every_seconds)

    @contextmanager
    def _claims(self) -> Iterator["_Claims"]:
        watched = _WATCHED.setdefault(self.out.resolve(), threading.Lock())
        if not watched.acquire(blocking=False):
            raise errors.SettingsError(
                f"{self.out}: another watcher of this process uses it: use one with more workers"
            )
        path = self.out / ".watching"
        try:
            try:
                self.out.mkdir(parents=True, exist_ok=True)
                handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise atomic.writing_failed(self.out, error) from error
            if self.record.rows and (problem := self._draw()):
                background.LOG.warning("%s", problem)
            with os.fdopen(handle):
                yield _Claims(path, handle)
        finally:
            watched.release()

    def _evaluated(
        self, claims: "_Claims", wanted: Collection[int] | None, every_seconds: float | None = None
    ) -> Iterator[Evaluated]:
        """Evaluate checkpoints (of these steps) until none is left, looking for new ones meanwhile."""
        begun: deque[_Begun] = deque()
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix=ahead.THREADS)
        try:
            while not self.fall():
                with self._patience(wanted is None):
                    self._begin(claims, begun, pool, wanted)
                if not begun:
                    return
                if begun[0].asked.done():
                    yield self._finish(claims, begun.popleft())
                else:
                    _wait([one.asked for one in begun if not one.asked.done()], every_seconds)
        finally:
            for one in begun:
                one.job.cancel()
            pool.shutdown()
            for one in begun:
                claims.release(one.job.checkpoint.step)

    @contextmanager
    def _patience(self, is_patient: bool) -> Iterator[None]:
        """Log once that something cannot be read, if it will be looked at again."""
        try:
            yield
        except errors.InputError as error:
            if not is_patient:
                raise
            if str(error) != self._unreadable:
                background.LOG.warning("%s: looking again until it can be read", error)
            self._unreadable = str(error)

    def _begin(
        self,
        claims: "_Claims",
        begun: deque[_Begun],
        pool: ThreadPoolExecutor,
        wanted: Collection[int] | None,
    ) -> None:
        """Claim complete checkpoints and begin with them, as many as there are free workers."""
        if self._free.empty():
            return
        self.record.reload()
        self.elsewhere.clear()
        known = {one.job.checkpoint.step for one in begun}
        for checkpoint, files in self._settled():
            step = checkpoint.step
            if step in known or (wanted is not None and step not in wanted):
                continue
            if self._free.empty():
                return
            if not claims.claim(step):
                self.elsewhere.add(step)
                continue
            self.record.reload()  # another process may have finished it just before
            if checkpoint not in self.open():
                claims.release(step)
                continue
            job = Job(checkpoint, files, self.out, self._free.get())
            begun.append(_Begun(job, pool.submit(self._ask, job)))

    def _finish(self, claims: "_Claims", begun: _Begun) -> Evaluated:
        checkpoint = begun.job.checkpoint
        try:
            answers = begun.asked.result()
            # Trainers remove old checkpoints, which changes no answer.
            for name, size, _ in set(checkpoint.files()) - set(begun.job.files):
                if size >= 0:
                    raise errors.GenerationError(f"{name} changed while it was evaluated")
            with claims.curve():
                self.record.reload()
                row = self.record.add(checkpoint.step, None, answers.texts, answers.seconds)
                problem = self._draw()
        except (errors.OutputError, errors.SettingsError):  # which affect all checkpoints
            raise
        except errors.PfgenError as error:
            if not isinstance(error, errors.InputError):  # of the curve, until it can be read again
                self._failed[checkpoint.path] = begun.job.files
            return Evaluated(checkpoint, error=error)
        finally:
            claims.release(checkpoint.step)
        return Evaluated(checkpoint, row, problem, answers.missing)

    def _draw(self) -> errors.PfgenError | None:
        """Write plot and page; returns the error that prevents it."""
        try:
            if self._plot is not None:
                curve.plot_curve(self.record.frame, self._plot)
            if self._page is not None:
                curve_page.write_page(self.out, self._page, compare=self._compare)
        except errors.PfgenError as error:
            return error
        return None

    def _ask(self, job: Job) -> background.FromEngine:
        try:
            with self._engine_for(job) as engine:
                how = self._parameters, self._budget, job.check
                answers = background.EngineAnswers(engine, *how)(self.record.asked)
                if answers.failed:
                    raise errors.GenerationError(answers.problem)
            return answers
        except (errors.GenerationError, errors.OutputError, errors.SettingsError):
            raise
        except Exception as error:  # of an engine, such as one that runs out of memory
            traceback.clear_frames(error.__traceback__)  # which hold its model
            raise errors.GenerationError(background.reason_of(error)) from error
        finally:
            self._free.put(job.worker)

    def found(self) -> list[Checkpoint]:
        """Returns all checkpoints, complete or not."""
        return find_checkpoints(self.folder, *self.patterns)

    def open(self) -> list[Checkpoint]:
        """Returns the checkpoints that are not on the curve."""
        done = {row["step"] for row in self.record.rows}
        return [checkpoint for checkpoint in self.found() if checkpoint.step not in done]

    def _settled(self) -> Iterator[tuple[Checkpoint, Print]]:
        """Yield complete open checkpoints with their files, except unchanged ones that failed."""
        for checkpoint in self.open():
            files = self._settling.settled(checkpoint)
            if files is not None and self._failed.get(checkpoint.path) != files:
                yield checkpoint, files


class _Claims:
    """Locks on bytes of a file: one for each step, and one for writing the curve; freed with the process."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path, self._handle = path, handle

    def check(self) -> None:
        """Raise `OutputError` if the file is gone, and with it what has been written beside it."""
        if not locks.is_lock_at(self._path, self._handle):
            raise errors.OutputError(
                f"{self._path.parent}: was removed or replaced while it was in use: start again"
            )

    def claim(self, step: int) -> bool:
        """Claim a step; returns false if another process has claimed it. Raises as `check`."""
        self.check()
        return locks.lock(self._handle, step + 1)

    def release(self, step: int) -> None:
        """Give up a claim."""
        locks.unlock(self._handle, step + 1)

    @contextmanager
    def curve(self) -> Iterator[None]:
        """Wait until no other process writes the curve, and keep them from it."""
        while not locks.lock(self._handle, 0):
            time.sleep(_TICK)
        try:
            self.check()
            yield
        finally:
            locks.unlock(self._handle, 0)


def _wait(asked: Sequence[Future[background.FromEngine]], seconds: float | None) -> None:
    """Wait until one of these checkpoints is done, at most `seconds`."""
    end = float("inf") if seconds is None else time.monotonic() + seconds
    while not wait(asked, _TICK, FIRST_COMPLETED).done and time.monotonic() < end:
        pass
