"""Runs of any size: decoded ahead, scored chunk by chunk, and written while that goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native, io
from pfgen_rs.errors import InputError
from pfgen_rs.io import Chunk, Options, Reading, Source
from pfgen_rs.io.cleaning import Clean, cleaning_mode
from pfgen_rs.io.unclean import count_unclean
from pfgen_rs.metrics.signature import signature
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.responses import FileTexts, MemoryTexts, with_texts
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.score_store import (
    Figures,
    Part,
    Store,
    chunk_figures,
    figure_names,
    in_file_order,
)
from pfgen_rs.scoring import batch
from pfgen_rs.scoring.columns import FIELDS, text_columns

__all__ = ["Known", "Progress", "evaluate", "new_store", "score_each", "score_sources"]

# Bytes read of the file that is being read, and responses scored since the last call.
Progress = Callable[[Source, int, int], None]
# A run's file, rows of it as `Result.frame` has them, and the signature of their scores.
Taker = Callable[[Source, pl.DataFrame, str], None]
Codes = NDArray[np.uint32]
KEPT = 64 << 20  # bytes of text that are kept in memory for `Result.frame`
_SEARCHES = 5  # unknown questions of a file for which the nearest known one is looked for
_LOOKED_AT = 1 << 16  # unknown questions that are looked at together


def new_store(benchmark: QuestionSet, **more: Any) -> Store:
    """Where the figures of this benchmark's scores go; `more` as for `Store`."""
    return Store(figure_names(benchmark.sources), **more)


def score_sources(
    benchmark: QuestionSet,
    sources: Sequence[Source],
    options: Options,
    store: Store,
    *,
    threads: int | None = None,
    keep: int = 0,
    take: Taker | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Score files; each is a run.

    `keep`: bytes of text to hold in memory for later, per file. `take` gets all rows, in order.
    """
    results = []
    with io.read_ahead(sources, replace(options, check=True)) as readings:
        for reading in readings:
            run = _Run(benchmark, reading, store, threads, keep)
            results.append(run.finished(take, progress))
    return results


def score_each(
    benchmark: QuestionSet,
    sources: Sequence[Source],
    options: Options,
    *,
    threads: int | None = None,
    keep: int = 0,
    progress: Progress | None = None,
) -> Generator[Result | InputError]:
    """Score files, each for itself: a result or what is wrong with the file, in order.

    Only the figures of results that are still in use are kept. Otherwise as `score_sources`.
    """
    with io.read_ahead(sources, options) as readings:
        for reading in readings:
            run = _Run(benchmark, reading, new_store(benchmark), threads, keep)
            found: Result | InputError
            try:
                found = run.finished(None, progress)
            except InputError as error:
                found = error
            yield found


class _Scored(NamedTuple):
    """A chunk with its figures and, unless an interrupted run has left those, its scores."""

    chunk: Chunk
    part: Part
    scores: pl.DataFrame | None

    def frame(self, figures: Figures) -> pl.DataFrame:
        """Its rows as `Result.frame` has them."""
        if self.scores is None:
            rows = figures.frame(self.part)
        else:
            rows = in_file_order(self.chunk.lines, self.scores)
        return with_texts(rows, self.chunk.questions, self.chunk.answers)


class _Run:
    """A file being scored."""

    def __init__(
        self, benchmark: QuestionSet, reading: Reading, store: Store, threads: int | None, keep: int
    ) -> None:
        self._benchmark, self._reading, self._store = benchmark, reading, store
        self._threads, self._keep = threads, keep
        self._known = Known(benchmark, reading.source.path, reading.options.skip_bad_lines)
        self._kept: list[Chunk] | None = [] if keep else None
        self._problems: list[InputError] = []
        self._decoded = 0
        self._unclean: Counter[str] = Counter()
        self.figures = Figures(store)

    def finished(self, take: Taker | None, progress: Progress | None) -> Result:
        """The run, scored to its end."""
        source = self._reading.source
        # Closed here: what interrupts the end of a forgotten generator is printed and lost.
        with closing(self.scored()) as chunks:
            for scored in chunks:
                if take is not None:
                    take(source, scored.frame(self.figures), self._signature())
                if progress is not None:
                    progress(source, scored.chunk.read, len(scored.chunk))
        return self.result()

    def _signature(self) -> str:
        """That of the scores; whether all questions are answered is known at the end alone."""
        settings, clean = self._benchmark.settings, self._reading.clean
        return signature(self._benchmark.metadata_hash, settings, clean=clean)

    def scored(self) -> Generator[_Scored]:
        """All chunks, less what has no question; the next one is scored meanwhile."""
        with io.Ahead(self._scores) as scored:
            for chunk, codes, found in scored:
                self._problems += chunk.problems
                self._unclean += chunk.unclean
                if isinstance(found, Part):
                    part, scores = found, None
                else:
                    part, scores = self._part(chunk, codes, found), found
                self.figures.parts.append(part)
                self._hold(chunk)
                yield _Scored(chunk, part, scores)

    def _scores(self) -> Iterator[tuple[Chunk, Codes, pl.DataFrame | Part]]:
        """The chunks with their scores or, where an interrupted run has scored them, their figures."""
        for decoded in self._reading:
            self._decoded += len(decoded)
            chunk, codes = self._known.of(decoded)
            known = self._store.known(_key(chunk), len(chunk)) if self._store.resumes else None
            yield chunk, codes, known or self._score(chunk, codes)

    def _score(self, chunk: Chunk, codes: Codes) -> pl.DataFrame:
        answers = self._benchmark.coder.column(chunk.answers, self._threads)
        return batch.score_codes(self._benchmark, codes, answers, threads=self._threads)

    def _part(self, chunk: Chunk, codes: Codes, scores: pl.DataFrame) -> Part:
        store = self._store
        figures = chunk_figures(store.names, codes, chunk.lines, chunk.starts, scores)
        return store.add(lambda: _key(chunk), *figures)

    def _hold(self, chunk: Chunk) -> None:
        if self._kept is None:
            return
        self._kept.append(chunk)
        self._keep -= chunk.size
        if self._keep < 0:
            self._kept = None

    def result(self) -> Result:
        """The run, when all of it is scored."""
        source = self._reading.source
        if not self.figures.height:
            raise InputError(self._nothing_left(), path=source.path)
        return Result(
            self._benchmark,
            self.figures,
            FileTexts(source, self._reading.options, self._kept, self._reading.clean),
            path=source.path,
            config=self._reading.config,
            input_hash=self._reading.input_hash,
            problems=sorted(self._problems, key=lambda problem: problem.line or 0),
            clean=self._reading.clean,
            unclean=self._unclean,
        )

    def _nothing_left(self) -> str:
        if self._decoded:
            asked = (problem.question for problem in self._problems if problem.question is not None)
            crowd = self._benchmark.crowd(islice(asked, _LOOKED_AT))
            return ": ".join(filter(None, ["no line answers a question of the benchmark", crowd]))
        if not self._problems:
            return "there are no responses in it"
        first = self._problems[0]
        return f"no line is usable; line {first.line}: {first.problem}"


def _key(chunk: Chunk) -> str:
    """What a chunk is known by in a journal."""
    return f"{chunk.identity()}:{chunk.lines[0]}" if len(chunk) else ""


class Known:
    """Tells responses to questions of the benchmark from others, which are refused or left out."""

    def __init__(self, benchmark: QuestionSet, path: str, skip: bool) -> None:
        self._benchmark, self._path, self._skip = benchmark, path, skip
        self._questions = benchmark.in_order
        self._ready: set[int] = set()
        self._searches = _SEARCHES

    def of(self, chunk: Chunk) -> tuple[Chunk, Codes]:
        """The chunk with known questions alone, and their codes.

        The first other question is an error unless they are skipped. What is needed to score the known ones
        is built here, so that Ctrl-C need not wait for it.
        """
        codes = self._benchmark.codes.find(_native.Texts(chunk.questions))
        known = codes != _native.UNKNOWN
        if not known.all():
            self._refuse(chunk, np.flatnonzero(~known).tolist())
            chunk, codes = chunk.where(known), codes[known]
        fresh = set(np.flatnonzero(np.bincount(codes)).tolist()) - self._ready
        if fresh:
            questions = [self._questions[code] for code in sorted(fresh)]
            io.interruptibly(lambda: self._benchmark.prepare(questions))
            self._ready |= fresh
        return chunk, codes

    def _refuse(self, chunk: Chunk, rows: list[int]) -> None:
        for row in rows:
            others = () if self._skip else chunk.questions
            self._searches -= 1
            error = self._benchmark.unknown(
                chunk.questions[row],
                others,
                path=self._path,
                line=int(chunk.lines[row]),
                search=self._searches >= 0,
                item=chunk.item,
            )
            if not self._skip:
                raise error
            chunk.problems.append(error)


def evaluate(
    benchmark: QuestionSet,
    data: Any,
    answers: Any = None,
    *,
    question_field: str = FIELDS[0],
    answer_field: str = FIELDS[1],
    clean: Clean = False,
    threads: int | None = None,
) -> Result:
    """Score responses in memory (as `score_batch` takes them) and summarise them as a run."""
    questions, texts = text_columns(data, answers, (question_field, answer_field), clean)
    codes, coded = batch.coded(benchmark, questions, texts, threads=threads)
    scores = batch.score_codes(benchmark, codes, coded, threads=threads)
    if not len(scores):
        raise InputError("there are no responses")
    options = Options(tokens=benchmark.settings.unit == "token")
    column = texts if isinstance(texts, pl.Series) else pl.Series(texts, dtype=options.answer_type)
    store = new_store(benchmark, in_memory=len(scores))
    figures = Figures(store)
    rows = options.rows
    for at in range(0, len(scores), rows):
        end = min(at + rows, len(scores))
        lines = np.arange(at + 1, end + 1)
        part = chunk_figures(store.names, codes[at:end], lines, None, scores[at:end])
        figures.parts.append(store.add(str, *part))
    unclean = Counter[str]() if options.tokens else count_unclean(column, None)
    return Result(
        benchmark,
        figures,
        MemoryTexts(questions, column),
        clean=cleaning_mode(clean),
        unclean=unclean,
    )
