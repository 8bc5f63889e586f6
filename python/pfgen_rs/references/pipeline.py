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
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pfgen_rs.errors import BuildError, ConfigError
from pfgen_rs.io import Source
from pfgen_rs.references import candidates, provenance
from pfgen_rs.references.candidates import Gathered, Input
from pfgen_rs.references.checkpoints import Checkpoints, locked, open_folder, remove
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.funnel import StepReport, funnel
from pfgen_rs.references.ng_rules import AnswerRules, read_answer_rules
from pfgen_rs.references.normalise import Style
from pfgen_rs.references.outlines import Outline, read_outlines
from pfgen_rs.references.pool import Pool, State
from pfgen_rs.references.step_warnings import step_warnings
from pfgen_rs.references.steps import STEPS, Context
from pfgen_rs.references.writing import BuiltQuestion, write_set

__all__ = ["MEMORY", "BuildProgress", "Built", "build", "work_folder"]

_LOG = logging.getLogger("pfgen_rs.references")
MEMORY = 4 << 30
_LEAST = 256 << 20  # bytes to allow each question processed in parallel
_CANDIDATES = "candidates"
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
    """Returns the folder from which an interrupted build can resume, or `None`."""
    folder = _pipeline_work_parts(config)
    return folder if provenance.has_gathered(folder) else None


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
    budget is in seconds. With `resume`, steps that an interrupted build finished are not repeated.

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
        about = self._about(sources, outlines)
        with locked(self._work):
            try:
                return self._built(sources, outlines, about, resume)
            finally:
                if not provenance.has_gathered(self._work):  # nothing to resume from
                    shutil.rmtree(self._work, ignore_errors=True)

    def _built(
        self,
        sources: Sequence[Source],
        outlines: Sequence[Outline] | None,
        about: Mapping[str, Any],
        resume: bool,
    ) -> Built:
        resumed = open_folder(self._work, about, resume=resume)
        gathered = provenance.load_gathered(self._work) if resumed else None
        if gathered is None:
            gathered = self._gather(sources, outlines)
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
        remove(self._work)
        for each in warnings:
            _LOG.warning(each)
        return Built(self._out, questions, left_out, gathered.inputs, warnings)

    def _about(
        self, sources: Sequence[Source], outlines: Sequence[Outline] | None
    ) -> dict[str, Any]:
        """Returns what finished steps depend on; `allow_fewer` only matters after the last of them."""
        settings = provenance.provenance_settings(self._config)
        del settings["allow_fewer"]
        return {
            "config": settings,
            "style": self._style.digest,
            "rules": {key: rules.digest for key, rules in sorted(self._rules.items())},
            "questions": None if outlines is None else [asdict(each) for each in outlines],
            "files": [[source.path, *provenance.state_of(source.path)] for source in sources],
        }

    def _gather(self, sources: Sequence[Source], outlines: Sequence[Outline] | None) -> Gathered:
        pools = self._work / "candidates"
        shutil.rmtree(pools, ignore_errors=True)

        def report(source: Source, read: int) -> None:
            self._tell(source.path, "reading", read, source.size or 0)

        found = candidates.gather(
            self._config, sources, outlines, pools, memory=self._memory, progress=report
        )
        provenance.save_gathered(self._work, found)
        return found

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
                pool.submit(self._question, outline, count, workers)
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

    def _question(self, outline: Outline, count: int, workers: int) -> BuiltQuestion:
        name = outline.question_id
        folder = self._work / "questions" / name
        checkpoints = Checkpoints(folder)
        pool = self._work / "candidates" / name
        if pool.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            pool.rename(folder / "candidates")
        state = State(Pool(folder / "candidates"), np.ones(count, dtype=np.bool_))
        found = checkpoints.load(0, _CANDIDATES)
        if found is None:
            found = state, StepReport(_CANDIDATES, count, count, models=state.models())
            checkpoints.save(0, *found)
        models, reports = found[1].models, []
        for number, step in enumerate(self._config.steps, 1):
            found = checkpoints.load(number, step)
            if found is None:
                context = self._context(name, step, checkpoints.pool_folder(number, step), workers)
                after, report = STEPS[step](state, context)
                found = after, replace(report, models=after.models())
                checkpoints.save(number, *found)
            if found[0].pool.folder != state.pool.folder:
                shutil.rmtree(state.pool.folder, ignore_errors=True)
            state = found[0]
            reports.append(found[1])
        spreads = self._context(name, "lengths", folder, workers).spreads(state)
        return BuiltQuestion(outline, count, models, reports, _pipeline_answers(state), spreads)

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
                "relax a step, or allow fewer answers (--resume --allow-fewer)"
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
