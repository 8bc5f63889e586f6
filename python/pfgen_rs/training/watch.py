"""Evaluating every new, complete checkpoint in a folder with a program that generates its answers."""

import os
import re
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from pfgen_rs import errors
from pfgen_rs.ask.engines.command import CommandEngine
from pfgen_rs.ask.protocol import Parameters
from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.io import ahead, atomic, cleaning, locks
from pfgen_rs.training import background, checks, curve, fixed_samples, page as curve_page
from pfgen_rs.training.checkpoints import Checkpoint, Settling, find_checkpoints

_PLACE, _WORKER = "{checkpoint}", "{worker}"
_PLACES = re.compile("|".join(map(re.escape, (_PLACE, _WORKER))))
# With polars' SIGINT handler installed, a long wait could not be interrupted.
_TICK = 0.05


class Evaluated(NamedTuple):
    """A checkpoint, and its row of the curve or the error that occurred.

    `missing`: the number of answers that were not given in time.
    """

    checkpoint: Checkpoint
    row: dict[str, Any] | None = None
    error: errors.PfgenError | None = None
    missing: int = 0


class _Begun(NamedTuple):
    """A checkpoint that is being evaluated, and its files when that began."""

    checkpoint: Checkpoint
    files: object
    asked: Future[background.FromEngine]


class Watcher:
    """Evaluates each checkpoint in a folder once, with a program that generates the answers.

    `command`: the program's name and arguments, in which `{checkpoint}` is replaced with the checkpoint's
    path; a string is split like a shell command (no shell is involved). The program is started for each
    checkpoint, and uses the protocol of the engine `command`. `workers`: the number of checkpoints evaluated
    at once; `{worker}` is replaced with a number from 0 to `workers` - 1, such as that of a GPU. Results are
    recorded in the order of the steps. `budget`: seconds for a checkpoint; answers not given in time are left
    out, and the program is stopped.

    `folder`: the folder with the checkpoints, which are those that trainers write, or that match one of
    `patterns`: see `find_checkpoints`. They are evaluated once they are complete: see `Settling`. `out`: the
    folder for `curve.parquet` and `answers/` (default: `pfgen` in `folder`); steps already on that curve are
    skipped. A checkpoint that fails is retried when its files have changed, and by the next watcher. `plot`:
    a file to plot the curve to (`.svg` or `.png`). `page`: an HTML file with the curve and the answers,
    beside the curves in the folders of `compare`; see `write_page`. Both are written after each checkpoint.
    `gate`: stop once the scores of so many checkpoints in a row have fallen by more than `max_drop`; see
    `curve.find_fall` and `fall`.

    The sample is the same as for `StepEvaluator`. Raises `SettingsError`, `InputError` if `folder` cannot be
    read, and any error of `load_benchmark`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        command: str | Sequence[str],
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
        workers: int = 1,
        budget: float | None = None,
        plot: str | os.PathLike[str] | None = None,
        page: str | os.PathLike[str] | None = None,
        compare: Sequence[str | os.PathLike[str]] = (),
        gate: int | None = None,
        max_drop: float = 0.01,
    ) -> None:
        self.folder, self.patterns = Path(folder), tuple(patterns)
        self._workers, self._budget = checks.count(workers, "workers"), budget
        checks.check_budget(budget)
        self.found()
        self.out = self.folder / "pfgen" if out is None else Path(out)
        self._command = _words(command)
        benchmark = resolve(benchmark, None)
        self._parameters = Parameters(stop=cleaning.default_stop(mode))
        self._sample = fixed_samples.QuestionSample(
            benchmark, trials=trials, questions=questions, mode=mode, num_examples=num_examples
        )
        clean = partial(cleaning.cleaned, mode=mode, stop=self._parameters.stop, think=think)
        self.record = curve.Record(self._sample, clean, self.out, ())
        self._settling = Settling(settle_seconds, marker)
        self._plot, self._page, self._compare = plot, page, compare
        curve_page.check_alike(self.record.description["signature"], curve_page.read_runs(compare))
        self._gate, self._max_drop = gate, max_drop
        self._pause = 0.0 if marker else settle_seconds
        self._failed: dict[Path, object] = {}
        self._free: SimpleQueue[int] = SimpleQueue()
        for number in range(workers):
            self._free.put(number)
        self._asking: set[background.EngineAnswers] = set()
        self._over = threading.Event()
        self.fall()  # says what is wrong with the settings

    def fall(self) -> curve.Fall | None:
        """Returns the last `gate` checkpoints if their scores fell: then nothing is evaluated any more."""
        if self._gate is None:
            return None
        return curve.find_fall(self.record.rows, self._gate, self._max_drop)

    def once(self) -> Iterator[Evaluated]:
        """Evaluate all complete checkpoints, after waiting long enough to detect which are complete."""
        with self._watching():
            if self._pause and any(self.open()):
                list(self._settled())
                time.sleep(self._pause)
            yield from self._evaluated(None)

    def forever(self, every_seconds: float = 30.0) -> Iterator[Evaluated]:
        """Evaluate existing and new checkpoints, checking for them every `every_seconds`."""
        with self._watching():
            while True:
                yield from self._evaluated(every_seconds)
                if self.fall():
                    return
                time.sleep(every_seconds)

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """Lock the output folder; raises `OutputError` if another watcher uses it."""
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.out / ".watching", os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise atomic.writing_failed(self.out, error) from error
        with os.fdopen(handle):
            if not locks.lock(handle):
                problem = "in use by another watcher: stop it or choose another folder"
                raise errors.OutputError(f"{self.out}: {problem}")
            yield

    def _evaluated(self, every_seconds: float | None) -> Iterator[Evaluated]:
        """Evaluate checkpoints until none is left, looking for new ones every `every_seconds` meanwhile."""
        begun: deque[_Begun] = deque()
        with self._working() as pool:
            if not self.fall():
                self._begin(begun, pool)
            while begun and not self.fall():
                if not _is_done(begun[0].asked, every_seconds):
                    self._begin(begun, pool)
                    continue
                yield self._finish(begun.popleft())
                if every_seconds is not None:
                    self._begin(begun, pool)

    @contextmanager
    def _working(self) -> Iterator[ThreadPoolExecutor]:
        """Threads that ask a program each; at the end, all programs are stopped."""
        self._over.clear()
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix=ahead.THREADS)
        try:
            yield pool
        finally:
            self._over.set()
            for asking in list(self._asking):
                asking.cancel()
            pool.shutdown(cancel_futures=True)

    def _begin(self, begun: deque[_Begun], pool: ThreadPoolExecutor) -> None:
        """Begin with all complete checkpoints that are not being evaluated."""
        known = {one.checkpoint.step for one in begun}
        for checkpoint, files in self._settled():
            if checkpoint.step not in known:
                asked = pool.submit(self._ask, checkpoint.path)
                begun.append(_Begun(checkpoint, files, asked))

    def _finish(self, begun: _Begun) -> Evaluated:
        try:
            answers = begun.asked.result()
            row = self.record.add(begun.checkpoint.step, None, answers.texts, answers.seconds)
            if self._plot is not None:
                curve.plot_curve(self.record.frame, self._plot)
            if self._page is not None:
                curve_page.write_page(self.out, self._page, compare=self._compare)
        except errors.OutputError:  # such as a full disk, which affects all checkpoints
            raise
        except errors.PfgenError as error:
            self._failed[begun.checkpoint.path] = begun.files
            return Evaluated(begun.checkpoint, error=error)
        return Evaluated(begun.checkpoint, row, missing=answers.missing)

    def _ask(self, checkpoint: Path) -> background.FromEngine:
        number = self._free.get()
        places = {_PLACE: str(checkpoint), _WORKER: str(number)}
        command = [_PLACES.sub(lambda match: places[match[0]], word) for word in self._command]
        try:
            with closing(CommandEngine(str(checkpoint), command=command)) as engine:
                asking = background.EngineAnswers(engine, self._parameters, self._budget)
                self._asking.add(asking)
                if self._over.is_set():
                    asking.cancel()
                try:
                    answers = asking(self._sample.tasks)
                finally:
                    self._asking.discard(asking)
        finally:
            self._free.put(number)
        if answers.failed:
            raise errors.GenerationError(answers.problem)
        return answers

    def found(self) -> list[Checkpoint]:
        """Returns all checkpoints, complete or not."""
        return find_checkpoints(self.folder, *self.patterns)

    def open(self) -> list[Checkpoint]:
        """Returns the checkpoints that are not on the curve."""
        done = {row["step"] for row in self.record.rows}
        return [checkpoint for checkpoint in self.found() if checkpoint.step not in done]

    def _settled(self) -> Iterator[tuple[Checkpoint, object]]:
        """Yield complete open checkpoints with their files, except unchanged ones that failed."""
        for checkpoint in self.open():
            files = self._settling.settled(checkpoint)
            if files is not None and self._failed.get(checkpoint.path) != files:
                yield checkpoint, files


def _is_done(asked: Future[background.FromEngine], seconds: float | None) -> bool:
    """Wait for a checkpoint, at most `seconds`; returns whether it is done."""
    end = float("inf") if seconds is None else time.monotonic() + seconds
    while not wait([asked], _TICK).done:
        if time.monotonic() >= end:
            return False
    return True


def _words(command: str | Sequence[str]) -> list[str]:
    try:
        parts = atomic.command_words(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise errors.SettingsError(f"the command cannot be split into arguments: {error}") from None
    if not any(_PLACE in part for part in parts):
        raise errors.SettingsError(
            f"the command does not contain {_PLACE}: put it where the checkpoint's path belongs"
        )
    return parts
