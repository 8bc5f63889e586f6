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
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pfgen_rs.errors import BuildError, ConfigError
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
from pfgen_rs.references.funnel import StepReport, funnel
from pfgen_rs.references.ng_rules import AnswerRules, read_answer_rules
from pfgen_rs.references.normalise import Style
from pfgen_rs.references.outlines import Outline, read_outlines
from pfgen_rs.references.pool import Pool, State
from pfgen_rs.references.step_keys import pool_key, step_key
from pfgen_rs.references.step_warnings import step_warnings
from pfgen_rs.references.steps import STEPS, Context
from pfgen_rs.references.writing import BuiltQuestion, write_set

__all__ = ["MEMORY", "BuildProgress", "Built", "build", "work_folder"]

_LOG = logging.getLogger("pfgen_rs.references")
MEMORY = 4 << 30
_LEAST = 256 << 20  # bytes to allow each question processed in parallel
_FUNNELS = 3  # questions whose funnels an error shows
_TICK = 0.1  # seconds between checks for Ctrl-C

# The question (or the file being read), the step, the amount done and the total amount.
BuildProgress = Callable[[str, str, float, float], None]


@dataclass(frozen=True)
class Built:
    """A built set: its folder, its questions, the questions left without answers, and all inputs.

    `warnings`: sentences about steps that remove nothing or nearly all answers; they are also logged.
    """

    folder: Path
    questions: list[BuiltQuestion]
    left_out: list[BuiltQuestion]
    inputs: list[Input]
    warnings: list[str]


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
        normalise = config.normalise
        self._style = Style.standard(
            [config.path(name) for name in normalise.extra], normalise.without
        )
        self._rules: dict[str, AnswerRules] = {}
        if config.rules.file and "rules" in config.steps:
            self._rules = read_answer_rules(config.path(config.rules.file))

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
        self._refuse_unknown_rules(gathered)
        built = self._all(gathered)
        self._refuse_fewer(built)
        left_out = [each for each in built if not each.answers]
        questions = [each for each in built if each.answers]
        if not questions:
            raise BuildError(f"no question has any answers left: {_pipeline_funnels(built)}")
        warnings = step_warnings({each.outline.question_id: each.reports for each in built})
        content = provenance.provenance(self._config, self._style, gathered.inputs, built, warnings)
        write_set(self._out, questions, content)
        self._finish(built)
        for each in warnings:
            _LOG.warning(each)
        return Built(self._out, questions, left_out, gathered.inputs, warnings)

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
        return BuiltQuestion(outline, count, models, reports, _pipeline_answers(state), spreads)

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

    def _refuse_unknown_rules(self, gathered: Gathered) -> None:
        known = [outline.question_id for outline, _ in gathered.questions]
        unknown = sorted(self._rules.keys() - set(known))
        if unknown and not self._config.only:
            raise ConfigError(
                f"unknown question {unknown[0]!r}: expected one of {', '.join(known)}",
                path=self._config.path(self._config.rules.file),
            )

    def _refuse_fewer(self, built: Sequence[BuiltQuestion]) -> None:
        if self._config.allow_fewer:
            return
        wanted = self._config.wanted
        few = [
            question
            for question in built
            if min(map(len, question.answers.values()), default=0) < wanted
        ]
        if few:
            others = [question.outline.question_id for question in few[1:]]
            more = f" (also too few for {', '.join(others)})" if others else ""
            raise BuildError(
                f"question {few[0].outline.question_id}: {_pipeline_answers_left(few[0])} left, "
                f"expected {wanted:,}: {funnel(few[0].candidates, few[0].reports)}{more}; add candidates, "
                "relax a step, or allow fewer answers (--allow-fewer); --resume reuses the finished steps"
            )


def _pipeline_funnels(built: Sequence[BuiltQuestion]) -> str:
    """Returns the funnels of the first few questions."""
    lines = [
        f"{each.outline.question_id}: {funnel(each.candidates, each.reports)}"
        for each in built[:_FUNNELS]
    ]
    return "; ".join(lines) + "; …" * (len(built) > _FUNNELS)


def _pipeline_answers_left(question: BuiltQuestion) -> str:
    counts = {source: len(answers) for source, answers in question.answers.items()}
    if len(counts) < 2:
        return next((f"{count:,}" for count in counts.values()), "no answers")
    return ", ".join(f"{count:,} of source {name}" for name, count in counts.items())


def _pipeline_answers(state: State) -> dict[str, list[str]]:
    """Returns the remaining answers by source, in the order of the candidates."""
    found: dict[str, list[str]] = {}
    for frame in state.frames("answer", "source"):
        for (source,), rows in frame.group_by("source", maintain_order=True):
            found.setdefault(str(source), []).extend(rows.get_column("answer").to_list())
    return dict(sorted(found.items()))
