"""Building a reference set: candidates in, question files and their provenance out.

Source: Imajo et al. 2025, section 3.2 (candidates, rules, frequencies, length and selection).
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pfgen_rs.errors import ConfigError
from pfgen_rs.io.source import Source
from pfgen_rs.references import candidates
from pfgen_rs.references.built import Built, BuiltQuestion, finish_set, refuse_foreign
from pfgen_rs.references.candidates import Gathered, Input, pool_key, question_folder
from pfgen_rs.references.checkpoints import (
    CANDIDATES,
    Checkpoints,
    finished_steps,
    key_of,
    locked,
    remove,
)
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.lengths import spreads
from pfgen_rs.references.outlines import Outline, read_outlines
from pfgen_rs.references.pool import Pool, State
from pfgen_rs.references.step import STEPS, Context, StepProgress, StepReport

_LOG = logging.getLogger("pfgen_rs.references")
MEMORY = 4 << 30
_LEAST = 256 << 20  # bytes to allow each question processed in parallel
_TICK = 0.1  # seconds between checks for Ctrl-C

# The question (or the file being read), the step, the amount done and the total amount.
BuildProgress = Callable[[str, str, float, float], None]


def work_folder(config: BuildConfig) -> Path | None:
    """Returns the folder with the finished work of a build that did not succeed, or `None`."""
    folder = _work(config)
    return folder if _has_work(folder) else None


def _has_work(folder: Path) -> bool:
    return candidates.has_gathered(folder) or bool(finished_steps(folder))


def _work(config: BuildConfig) -> Path:
    out = config.path(config.out)
    return out.parent / f".{out.name}.pfgen-rs"


def build(
    config: BuildConfig,
    *,
    outlines: Sequence[Outline] | None = None,
    memory: int = MEMORY,
    threads: int | None = None,
    progress: BuildProgress | None = None,
) -> Built:
    """Build the set described by `config`, and write it to the configured folder.

    `outlines` replaces the configuration's `questions`. `memory`: bytes to use, which determine how many
    questions are processed at a time and how often candidates are read. Neither `memory` nor `threads`
    affects the result: the same candidates and configuration give the same bytes, unless the selection's
    budget is in seconds.

    Finished steps are kept in a hidden folder beside that of the set until a build succeeds. Later builds
    reuse those with the same candidates and settings, up to and including the step. Steps of builds with
    other settings stay, but of other pools of candidates and of normalised ones only the last used is kept
    for each question; what is removed is logged.

    Raises `InputError` for candidates that cannot be read, `ConfigError` for invalid settings, `BuildError`
    if a rule removes everything or too few answers are left (unless `allow_fewer`), and `OutputError`. The
    folder of the set is not modified until everything else is done.
    """
    return _Run(config, memory, threads or os.cpu_count() or 1, progress).run(outlines)


def refuse_unknown_rules(
    config: BuildConfig, settings: Mapping[str, Any], outlines: Sequence[Outline]
) -> None:
    """Raise `ConfigError` if there are rules for a question that is not there."""
    known = [outline.question_id for outline in outlines]
    unknown = sorted(settings.get("rules", {}).keys() - set(known))
    if unknown and not config.only:
        raise ConfigError(
            f"unknown question {unknown[0]!r}: expected one of {', '.join(known)}",
            path=config.path(config.rules.file),
        )


@dataclass(frozen=True)
class QuestionBuilder:
    """Takes the candidates of one question through all steps, in this process or another.

    `settings`: those that steps are called with (`BuildConfig.prepared`). `memory` and `threads`: for one
    question.
    """

    config: BuildConfig
    settings: Mapping[str, Any]
    memory: int
    threads: int

    def build(
        self,
        outline: Outline,
        count: int,
        key: str,
        checkpoints: Checkpoints,
        progress: Callable[[str, float, float], None],
    ) -> BuiltQuestion:
        """Build a question from its pool of `count` candidates, with `key`, in the folder of `checkpoints`.

        Finished steps that are there are not repeated. `progress` is called with the step, the amount done
        and the total.
        """
        pool = Pool(checkpoints.pool(CANDIDATES, key))
        first = checkpoints.load(CANDIDATES, key)
        if first is None:
            state = State(pool, np.ones(count, dtype=np.bool_))
            first = state, StepReport(CANDIDATES, count, count, models=state.models())
            checkpoints.save(key, *first)
        state, reports = first[0], list[StepReport]()
        for name in self.config.steps:
            context = self._context(outline, name, pool.folder, progress)
            step, settings = STEPS[name], self.settings[name]
            key = key_of(key, name, step.key(settings, state, context))
            if not reports:
                checkpoints.prune(pool.folder, checkpoints.pool(name, key))
            done = checkpoints.load(name, key)
            if done is None:
                context = replace(context, folder=checkpoints.new_pool(name, key))
                after, report = step.run(state, settings, context)
                done = after, replace(report, models=after.models())
                checkpoints.save(key, *done)
            state = done[0]
            reports.append(done[1])
        lengths = spreads(state, self._context(outline, "lengths", pool.folder, progress))
        return BuiltQuestion(
            outline, count, first[1].models, reports, _answers_by_source(state), lengths
        )

    def _context(
        self,
        outline: Outline,
        step: str,
        folder: Path,
        progress: Callable[[str, float, float], None],
    ) -> Context:
        def tell(done: float, total: float, standing: str = "") -> None:
            progress(f"{step} {standing}".strip(), done, total)

        told: StepProgress = tell
        return self.config.context(
            step,
            outline.question_id,
            folder,
            memory=self.memory,
            threads=self.threads,
            progress=told,
        )


def _answers_by_source(state: State) -> dict[str, list[str]]:
    """Returns the remaining answers by source, in the order of the candidates."""
    answers: dict[str, list[str]] = {}
    for frame in state.frames("answer", "source"):
        for (source,), rows in frame.group_by("source", maintain_order=True):
            answers.setdefault(str(source), []).extend(rows.get_column("answer").to_list())
    return dict(sorted(answers.items()))


class _StoppedError(Exception):
    """Another question failed, or Ctrl-C was pressed."""


class _Run:
    def __init__(
        self, config: BuildConfig, memory: int, threads: int, progress: BuildProgress | None
    ) -> None:
        self._config, self._memory, self._threads = config, memory, threads
        self._progress = progress
        self._work = _work(config)
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._used: set[Path] = set()
        self._pruned: set[str] = set()
        self._settings = config.prepared()

    def run(self, outlines: Sequence[Outline] | None) -> Built:
        refuse_foreign(self._config.path(self._config.out), self._work, self._config.only)
        sources = candidates.input_files(self._config)
        if outlines is None and self._config.questions:
            outlines = read_outlines(self._config.path(self._config.questions))
        with locked(self._work):
            try:
                return self._built(sources, outlines)
            finally:
                if not _has_work(self._work):  # nothing to resume from
                    shutil.rmtree(self._work, ignore_errors=True)

    def _built(self, sources: Sequence[Source], outlines: Sequence[Outline] | None) -> Built:
        gathered = self._gathered(sources, outlines)
        outlined = [outline for outline, _ in gathered.questions]
        refuse_unknown_rules(self._config, self._settings, outlined)
        questions = self._all(gathered)
        style = self._settings["normalise"].digest
        built = finish_set(self._config, style, gathered.inputs, questions)
        self._finish(questions)
        for each in built.warnings:
            _LOG.warning(each)
        return built

    def _gathered(self, sources: Sequence[Source], outlines: Sequence[Outline] | None) -> Gathered:
        def report(source: Source, read: int) -> None:
            self._tell(source.path, "reading", read, source.size or 0)

        before = candidates.gathered_before(self._config, self._work, sources, outlines)
        return before or candidates.gathered_anew(
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
        builder = QuestionBuilder(
            self._config,
            self._settings,
            self._memory // workers,
            max(1, self._threads // workers),
        )
        with ThreadPoolExecutor(workers) as pool:
            jobs = [
                pool.submit(self._question, builder, outline, count, gathered.inputs)
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
        self, builder: QuestionBuilder, outline: Outline, count: int, inputs: Sequence[Input]
    ) -> BuiltQuestion:
        checkpoints = Checkpoints(question_folder(self._work, outline))
        key = pool_key(self._config, inputs, outline)

        def tell(step: str, done: float, total: float) -> None:
            self._tell(outline.question_id, step, done, total)

        try:
            return builder.build(outline, count, key, checkpoints, tell)
        finally:
            self._remember(checkpoints)

    def _remember(self, checkpoints: Checkpoints) -> None:
        with self._lock:
            self._used |= checkpoints.used
            if checkpoints.pruned - self._pruned:
                self._pruned |= checkpoints.pruned
                _LOG.warning(
                    "removed the oldest pools of builds with other settings and what needs them: %s",
                    ", ".join(sorted(checkpoints.pruned)),
                )

    def _finish(self, built: Sequence[BuiltQuestion]) -> None:
        """Remove all work on these questions, and say so if some of it is that of other builds."""
        own = [question_folder(self._work, each.outline) for each in built]
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
            _LOG.warning("%s: keeps finished steps of other questions for later builds", self._work)
