"""Building a reference set: candidates in, question files and their provenance out.

Source: Imajo et al. 2025, section 3.2 (candidates, rules, frequencies, length and selection).
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import replace
from pathlib import Path

import numpy as np

from pfgen_rs.io import Source
from pfgen_rs.references import candidates, gathering, provenance
from pfgen_rs.references.candidates import Gathered, Input
from pfgen_rs.references.checkpoints import (
    CANDIDATES,
    Checkpoints,
    finished_steps,
    locked,
    remove,
)
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.finishing import (
    Built,
    answers_by_source,
    configured_rules,
    configured_style,
    finish_set,
    refuse_unknown_rules,
)
from pfgen_rs.references.funnel import StepReport
from pfgen_rs.references.outlines import Outline, read_outlines
from pfgen_rs.references.pool import Pool, State
from pfgen_rs.references.step_keys import pool_key, step_key
from pfgen_rs.references.steps import STEPS, Context
from pfgen_rs.references.writing import BuiltQuestion

__all__ = ["MEMORY", "BuildProgress", "Built", "build", "work_folder"]

_LOG = logging.getLogger("pfgen_rs.references")
MEMORY = 4 << 30
_LEAST = 256 << 20  # bytes to allow each question processed in parallel
_TICK = 0.1  # seconds between checks for Ctrl-C

# The question (or the file being read), the step, the amount done and the total amount.
BuildProgress = Callable[[str, str, float, float], None]


def work_folder(config: BuildConfig) -> Path | None:
    """Returns the folder whose work `resume` can reuse, or `None`."""
    folder = _pipeline_work_parts(config)
    return folder if _pipeline_has_work(folder) else None


def _pipeline_has_work(folder: Path) -> bool:
    return gathering.has_gathered(folder) or bool(finished_steps(folder))


def _pipeline_work_parts(config: BuildConfig) -> Path:
    out = config.path(config.out)
    return out.parent / f".{out.name}.pfgen-rs"


def build(
    config: BuildConfig,
    *,
    outlines: Sequence[Outline] | None = None,
    memory: int = MEMORY,
    threads: int | None = None,
    resume: bool = False,
    progress: BuildProgress | None = None,
) -> Built:
    """Build the set described by `config`, and write it to the configured folder.

    `outlines` replaces the configuration's `questions`. `memory`: bytes to use, which determine how many
    questions are processed at a time and how often candidates are read. Neither `memory` nor `threads`
    affects the result: the same candidates and configuration give the same bytes, unless the selection's
    budget is in seconds.

    Finished steps are kept in a hidden folder beside that of the set until a build succeeds. With `resume`,
    those with the same candidates and settings, up to and including the step, are reused; without, all steps
    are repeated. Steps of builds with other settings stay, but of other pools of candidates and of normalised
    ones only the last used is kept for each question; what is removed is logged.

    Raises `InputError` for candidates that cannot be read, `ConfigError` for invalid settings, `BuildError`
    if a rule removes everything or too few answers are left (unless `allow_fewer`), and `OutputError`. The
    folder of the set is not modified until everything else is done.
    """
    return _PipelineRun(config, memory, threads or os.cpu_count() or 1, progress).run(
        outlines, resume
    )


class _StoppedError(Exception):
    """Another question failed, or Ctrl-C was pressed."""


class _PipelineRun:
    def __init__(
        self, config: BuildConfig, memory: int, threads: int, progress: BuildProgress | None
    ) -> None:
        self._config, self._memory, self._threads = config, memory, threads
        self._progress = progress
        self._out = config.path(config.out)
        self._work = _pipeline_work_parts(config)
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._used: set[Path] = set()
        self._pruned: set[str] = set()
        self._resume = False
        self._style = configured_style(config)
        self._rules = configured_rules(config)

    def run(self, outlines: Sequence[Outline] | None, resume: bool) -> Built:
        provenance.refuse_foreign(self._out, self._work, self._config.only)
        sources = candidates.input_files(self._config)
        if outlines is None and self._config.questions:
            outlines = read_outlines(self._config.path(self._config.questions))
        with locked(self._work):
            try:
                return self._built(sources, outlines, resume)
            finally:
                if not _pipeline_has_work(self._work):  # nothing to resume from
                    shutil.rmtree(self._work, ignore_errors=True)

    def _built(
        self, sources: Sequence[Source], outlines: Sequence[Outline] | None, resume: bool
    ) -> Built:
        if not resume and finished_steps(self._work):
            _LOG.warning(
                "%s: has finished steps of an earlier build, which --resume would reuse where they apply",
                self._work,
            )
        self._resume = resume
        gathered = self._gathered(sources, outlines)
        outlined = [outline for outline, _ in gathered.questions]
        refuse_unknown_rules(self._config, self._rules, outlined)
        built = self._all(gathered)
        found = finish_set(self._config, self._style, gathered.inputs, built)
        self._finish(built)
        for each in found.warnings:
            _LOG.warning(each)
        return found

    def _gathered(self, sources: Sequence[Source], outlines: Sequence[Outline] | None) -> Gathered:
        found = None
        if self._resume:
            found = gathering.gathered_before(self._config, self._work, sources, outlines)

        def report(source: Source, read: int) -> None:
            self._tell(source.path, "reading", read, source.size or 0)

        return found or gathering.gathered_anew(
            self._config, self._work, sources, outlines, memory=self._memory, progress=report
        )

    def _tell(self, what: str, step: str, done: float, total: float) -> None:
        if self._stopped.is_set():
            raise _StoppedError
        if self._progress is not None:
            self._progress(what, step, done, total)

    def _all(self, gathered: Gathered) -> list[BuiltQuestion]:
        """Process all questions, several at a time if memory allows; raises the first error."""
        workers = max(1, min(self._threads, len(gathered.questions), self._memory // _LEAST))
        with ThreadPoolExecutor(workers) as pool:
            jobs = [
                pool.submit(self._question, outline, count, gathered.inputs, workers)
                for outline, count in gathered.questions
            ]
            try:
                self._await(jobs)
            finally:
                self._stopped.set()
                pool.shutdown(cancel_futures=True)
        return [job.result() for job in jobs]

    def _await(self, jobs: Sequence[Future[BuiltQuestion]]) -> None:
        waiting = set(jobs)
        while waiting:  # a timeout lets Ctrl-C through
            done, waiting = wait_for(waiting, timeout=_TICK)
            for job in jobs:
                if job in done:
                    job.result()

    def _question(
        self, outline: Outline, count: int, inputs: Sequence[Input], workers: int
    ) -> BuiltQuestion:
        name = outline.question_id
        checkpoints = Checkpoints(gathering.question_folder(self._work, outline))
        key = pool_key(self._config, inputs, outline)
        pool = Pool(checkpoints.pool(CANDIDATES, key))
        found = checkpoints.load(CANDIDATES, key) if self._resume else None
        if found is None:
            state = State(pool, np.ones(count, dtype=np.bool_))
            found = state, StepReport(CANDIDATES, count, count, models=state.models())
            checkpoints.save(key, *found)
        state, models, reports = found[0], found[1].models, list[StepReport]()
        for step in self._config.steps:
            key = step_key(
                key, step, self._config, self._style.digest, self._rules.get(name), state
            )
            if not reports:
                self._prune(checkpoints, pool.folder, checkpoints.pool(step, key))
            found = checkpoints.load(step, key) if self._resume else None
            if found is None:
                context = self._context(name, step, checkpoints.new_pool(step, key), workers)
                after, report = STEPS[step](state, context)
                found = after, replace(report, models=after.models())
                checkpoints.save(key, *found)
            state = found[0]
            reports.append(found[1])
        with self._lock:
            self._used |= checkpoints.used
        spreads = self._context(name, "lengths", pool.folder, workers).spreads(state)
        return BuiltQuestion(outline, count, models, reports, answers_by_source(state), spreads)

    def _prune(self, checkpoints: Checkpoints, *needed: Path) -> None:
        removed = checkpoints.prune(*needed)
        with self._lock:
            if removed - self._pruned:
                self._pruned |= removed
                names = ", ".join(sorted(removed))
                _LOG.warning(
                    "removed the oldest pools of builds with other settings and what needs them: %s",
                    names,
                )

    def _finish(self, built: Sequence[BuiltQuestion]) -> None:
        """Remove all work on these questions, and say so if some of it is that of other builds."""
        own = [gathering.question_folder(self._work, each.outline) for each in built]
        others = finished_steps(self._work) - self._used
        replaced = {each for each in others if each.parent in own}
        for folder in own if others - replaced else [self._work]:
            remove(folder)
        if replaced:
            names = {record.name.partition("-")[0] for record in replaced}
            _LOG.warning(
                "removed what earlier builds of this set with other settings had finished: %s",
                ", ".join(step for step in STEPS if step in names),
            )
        if others - replaced:
            _LOG.warning("%s: keeps finished steps of other questions for --resume", self._work)

    def _context(self, question_id: str, step: str, folder: Path, workers: int) -> Context:
        return Context(
            self._config,
            question_id,
            self._style,
            self._rules,
            folder,
            self._memory // workers,
            max(1, self._threads // workers),
            lambda done, total, standing="": self._tell(
                question_id, f"{step} {standing}".strip(), done, total
            ),
        )
