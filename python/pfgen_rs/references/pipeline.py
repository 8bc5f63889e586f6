"""Building a reference set: candidates in, question files and their provenance out.

Source: Imajo et al. 2025, section 3.2 (candidates, rules, frequencies, length and selection).
"""

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait as wait_for
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pfgen_rs.errors import ConfigError
from pfgen_rs.io.source import Source
from pfgen_rs.lazy import np
from pfgen_rs.references import candidates, steps
from pfgen_rs.references.built import Built, BuiltQuestion, finish_set, refuse_foreign
from pfgen_rs.references.checkpoints import CANDIDATES, Checkpoints, key_of, locked
from pfgen_rs.references.config import BuildConfig, Outline, read_outlines
from pfgen_rs.references.lengths import spreads
from pfgen_rs.references.ranking import FEWEST, ranked, scores_by_first_set

T = TypeVar("T")
MEMORY = 4 << 30
_OWN = 256 << 20  # bytes of Python, of libraries, and of what is being read
_LEAST = 256 << 20  # bytes to allow each question processed in parallel
_ANSWER = 20 << 10  # the same, for each answer that the length filter leaves
_TICK = 0.1  # seconds between checks for Ctrl-C


def work_folder(config: BuildConfig) -> Path | None:
    """Returns the folder with the finished work of a build that did not succeed, or `None`."""
    folder = _work(config)
    return folder if _has_work(folder) else None


def _has_work(folder: Path) -> bool:
    return any(folder.glob("gathered-*.json")) or _has_finished(folder)


def _has_finished(folder: Path) -> bool:
    """Whether any step has finished."""
    records = folder.glob("questions/*/*.json")
    return any(not record.name.startswith(f"{CANDIDATES}-") for record in records)


def _work(config: BuildConfig) -> Path:
    out = config.path(config.out)
    return out.parent / f".{out.name}.pfgen-rs"


def build(
    config: BuildConfig,
    *,
    outlines: Sequence[Outline] | None = None,
    memory: int = MEMORY,
    threads: int | None = None,
    progress: candidates.BuildProgress | None = None,
) -> Built:
    """Build the set described by `config`, and write it to the configured folder.

    `outlines` replaces the configuration's `questions`. `memory`: bytes that the
    process may use (a gigabyte or more is kept to within 15 %), which determine how many questions are
    processed at a time and how often candidates are read. Neither `memory` nor `threads`
    affects the result: the same candidates and configuration give the same bytes.

    Finished steps are kept in a hidden folder beside that of the set until a build succeeds. Later builds
    reuse those with the same candidates and settings, up to and including the step. Steps of builds with
    other settings stay, unless these concern the candidates or the style.

    Raises `InputError` for candidates that cannot be read, `ConfigError` for invalid settings, `BuildError`
    if a rule removes everything or too few answers are left (unless `allow_fewer`), and `OutputError`. The
    folder of the set is not modified until everything else is done.
    """
    work = _work(config)
    refuse_foreign(config.path(config.out), work, config.only)
    sources = candidates.input_files(config)
    if outlines is None and config.questions:
        outlines = read_outlines(config.path(config.questions))
    cores = threads or os.cpu_count() or 1
    running = Build(config, config.prepared(), memory, cores, progress)
    with locked(work):
        try:
            return running.run(work, sources, outlines)
        finally:
            if not _has_work(work):  # nothing to resume from
                shutil.rmtree(work, ignore_errors=True)


class _StoppedError(Exception):
    """Another question failed, or Ctrl-C was pressed."""


class Build:
    """One build: its configuration, what is in the files that it names, and whether it is to stop."""

    def __init__(
        self,
        config: BuildConfig,
        prepared: Mapping[str, Any],
        memory: int,
        threads: int,
        progress: candidates.BuildProgress | None = None,
    ) -> None:
        self._config, self._prepared = config, prepared
        self._memory = max(memory - _OWN, memory // 4, 1)
        self._threads, self._progress = threads, progress
        self._stopped = threading.Event()

    def run(
        self, work: Path, sources: Sequence[Source], outlines: Sequence[Outline] | None
    ) -> Built:
        """Gather candidates, take all questions through the steps, and write the set."""
        gathered = candidates.gathered(
            self._config, work, sources, outlines, memory=self._memory, progress=self._tell
        )
        refuse_unknown(self._config, self._prepared, [each for each, _ in gathered.questions])
        questions = self._all(work, gathered)
        built = finish_set(self._config, self._prepared, gathered.inputs, questions)
        for outline, _ in gathered.questions:
            shutil.rmtree(candidates.question_folder(work, outline), ignore_errors=True)
        if _has_finished(work):
            candidates.LOG.warning(
                "%s: keeps finished steps of other questions for later builds", work
            )
        else:
            shutil.rmtree(work, ignore_errors=True)
        return built

    def _tell(self, what: str, step: str, done: float, total: float) -> None:
        if self._stopped.is_set():
            raise _StoppedError
        if self._progress is not None:
            self._progress(what, step, done, total)

    def _all(self, work: Path, gathered: candidates.Gathered) -> list[BuiltQuestion]:
        """Take all questions through all steps, in two rounds if models are to be chosen."""
        if "ranking" in self._config.steps:
            self.rank_models(self._each(self.scored, work, gathered))
        return self._each(self.stepped, work, gathered)

    def rank_models(self, scores: Iterable[Mapping[str, float]]) -> None:
        """Rank the models by what `scored` found for all questions, for the second round."""
        self._prepared = {**self._prepared, "ranking": ranked(scores)}

    def _each(
        self, process: Callable[..., T], work: Path, gathered: candidates.Gathered
    ) -> list[T]:
        """Process all questions, several at a time if memory allows; raises the first error."""
        largest = max(count for _, count in gathered.questions)
        least = max(_LEAST, _ANSWER * min(largest, self._config.length.count))
        workers = max(1, min(self._threads, len(gathered.questions), self._memory // least))
        with ThreadPoolExecutor(workers) as pool:
            jobs = [
                pool.submit(
                    process,
                    outline,
                    count,
                    candidates.pool_key(self._config, gathered.inputs, outline),
                    Checkpoints(candidates.question_folder(work, outline)),
                    workers,
                )
                for outline, count in gathered.questions
            ]
            try:
                waiting = set(jobs)
                while waiting:  # a timeout lets Ctrl-C through
                    done, waiting = wait_for(waiting, timeout=_TICK)
                    for job in jobs:
                        if job in done:
                            job.result()
            except BaseException:
                self._stopped.set()
                pool.shutdown(cancel_futures=True)
                raise
        return [job.result() for job in jobs]

    def stepped(
        self, outline: Outline, count: int, key: str, checkpoints: Checkpoints, workers: int = 1
    ) -> BuiltQuestion:
        """Take a pool of `count` candidates through all steps that have not finished."""
        first, state, reports = self._through(
            self._config.steps, outline, count, key, checkpoints, workers
        )
        lengths = spreads(state, self._context(outline, "lengths", state.pool.folder, workers))
        answers, makers = (_by_source(state, column) for column in ("answer", "model"))
        return BuiltQuestion(outline, count, first[1].models, reports, answers, lengths, makers)

    def scored(
        self, outline: Outline, count: int, key: str, checkpoints: Checkpoints, workers: int = 1
    ) -> dict[str, float]:
        """Returns the mean score of each model by what all steps but `ranking` and `select` leave.

        Empty if there are not enough models to choose from.
        """
        first, _, _ = self._through([], outline, count, key, checkpoints, workers)
        if len(first[1].models.keys() - {""}) <= FEWEST:  # nothing to choose from
            return {}
        names = [name for name in self._config.steps if name not in ("ranking", "select")]
        first, state, _ = self._through(names, outline, count, key, checkpoints, workers)
        context = self._context(outline, "scoring models", state.pool.folder, workers)
        return scores_by_first_set(state, first[0], context)

    def _through(
        self,
        names: Sequence[str],
        outline: Outline,
        count: int,
        key: str,
        checkpoints: Checkpoints,
        workers: int,
    ) -> tuple[tuple[steps.State, steps.StepReport], steps.State, list[steps.StepReport]]:
        """Returns the candidates and their report, what the steps of these names leave, and their reports."""
        pool = steps.Pool(checkpoints.pool(CANDIDATES, key))
        first = checkpoints.load(CANDIDATES, key)
        if first is None:
            state = steps.State(pool, np.ones(count, dtype=np.bool_))
            first = state, steps.StepReport(CANDIDATES, count, count, models=state.models())
            checkpoints.save(key, *first)
        state, reports = first[0], list[steps.StepReport]()
        for name in names:
            step = self._config.step(name)
            context = self._context(outline, name, pool.folder, workers)
            key = key_of(key, name, step.key(context))
            if not reports:
                checkpoints.prune(pool.folder, checkpoints.pool(name, key))
            done = checkpoints.load(name, key)
            if done is None:
                context = replace(context, folder=checkpoints.new_pool(name, key))
                after, report = step.run(state, context)
                done = after, replace(report, models=after.models())
                checkpoints.save(key, *done)
            state = done[0]
            reports.append(done[1])
        return first, state, reports

    def _context(self, outline: Outline, step: str, folder: Path, workers: int) -> steps.Context:
        def tell(done: float, total: float, standing: str = "") -> None:
            self._tell(outline.question_id, f"{step} {standing}".strip(), done, total)

        return steps.Context(
            outline.question_id,
            prepared=self._prepared.get(step),
            unit=self._config.unit,
            seed=self._config.seed,
            examples=self._config.examples,
            target=self._config.length.target,
            needed=self._config.needed_after(step),
            folder=folder,
            memory=self._memory // workers,
            threads=max(1, self._threads // workers),
            progress=tell,
            skipped=self._config.skipped,
            question=outline.question,
            note=outline.note,
        )


def refuse_unknown(
    config: BuildConfig, prepared: Mapping[str, Any], known: Sequence[Outline]
) -> None:
    """Raise `ConfigError` for rules of, or trusted answers to, none of these questions.

    Not if only some are built.
    """
    ids = [outline.question_id for outline in known]
    texts = [outline.question for outline in known]
    for step, path, names in (
        ("rules", config.rules.file, ids),
        ("consensus", config.consensus.trusted, ids + texts),
    ):
        unknown = sorted(prepared.get(step, {}).keys() - set(names))
        if unknown and not config.only:
            raise ConfigError(
                f"unknown question {unknown[0]!r}: expected one of {', '.join(ids)}",
                path=config.path(path),
            )


def _by_source(state: steps.State, column: str) -> dict[str, list[str]]:
    """Returns a column of the remaining rows by source, in the order of the pool."""
    values: dict[str, list[str]] = {}
    for frame in state.frames("source", column):
        for (source,), rows in frame.group_by("source", maintain_order=True):
            values.setdefault(str(source), []).extend(rows.get_column(column).to_list())
    return dict(sorted(values.items()))
