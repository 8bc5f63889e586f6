"""Runs of any size: decoded ahead, scored chunk by chunk, and written while that goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from pfgen_rs import io, scoring
from pfgen_rs.errors import InputError, UnknownQuestionError
from pfgen_rs.figures import Figures, Part, Store, chunk_figures, figure_names
from pfgen_rs.io import Chunk, Options, Reading, Source
from pfgen_rs.question_set import QuestionSet
from pfgen_rs.results import Result
from pfgen_rs.texts import FileTexts, MemoryTexts

__all__ = ["Known", "Progress", "evaluate", "new_store", "score_sources"]

# Bytes read of the file that is being read, and responses scored since the last call.
Progress = Callable[[Source, int, int], None]
# A run's file, its figures, and a chunk with its part of them.
Taker = Callable[[Source, Figures, Part, Chunk], None]
KEPT = 64 << 20  # bytes of text that are kept in memory for `Result.frame`


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

    `keep`: bytes of text to hold in memory for later, per file. `take` gets every chunk, in order.
    """
    results = []
    with io.read_ahead(sources, options) as readings:
        for reading in readings:
            run = _Run(benchmark, reading, store, threads, keep)
            for chunk, part in run.scored():
                if take is not None:
                    take(reading.source, run.figures, part, chunk)
                if progress is not None:
                    progress(reading.source, chunk.read, len(chunk))
            results.append(run.result())
    return results


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
        self.figures = Figures(store)

    def scored(self) -> Iterator[tuple[Chunk, Part]]:
        """All chunks, less what has no question, with their figures; the next one is scored meanwhile."""
        with io.Ahead(self._scores) as scored:
            for chunk, scores in scored:
                self._problems += chunk.problems
                part = scores if isinstance(scores, Part) else self._part(chunk, scores)
                self.figures.parts.append(part)
                self._hold(chunk)
                yield chunk, part

    def _scores(self) -> Iterator[tuple[Chunk, pl.DataFrame | Part]]:
        """The chunks with their scores or, where an interrupted run has scored them, their figures."""
        for decoded in self._reading:
            self._decoded += len(decoded)
            chunk = self._known.of(decoded)
            known = self._store.known(_key(chunk), len(chunk)) if self._store.resumes else None
            yield (
                chunk,
                known
                or scoring.score_columns(
                    self._benchmark, chunk.questions, chunk.answers, threads=self._threads
                ),
            )

    def _part(self, chunk: Chunk, scores: pl.DataFrame) -> Part:
        figures = chunk_figures(self._store.names, chunk.lines, chunk.starts, scores)
        return self._store.add(lambda: _key(chunk), *figures)

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
            FileTexts(source, self._reading.options, self._kept),
            path=source.path,
            config=self._reading.config,
            input_hash=self._reading.input_hash,
            problems=sorted(self._problems, key=lambda problem: problem.line or 0),
        )

    def _nothing_left(self) -> str:
        if self._decoded:
            return "no line answers a question of the benchmark"
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
        self._found: set[str] = set()

    def of(self, chunk: Chunk) -> Chunk:
        """The chunk with known questions alone; the first other one is an error unless they are skipped.

        What is needed to score the known ones is built here, so that Ctrl-C need not wait for it.
        """
        unknown: dict[str, InputError] = {}
        fresh = []
        for text in chunk.questions.unique(maintain_order=True).to_list():
            if text in self._found:
                continue
            try:
                fresh.append(self._benchmark.find(text))
                self._found.add(text)
            except UnknownQuestionError as error:
                unknown[text] = error
        if unknown:
            chunk = self._without(chunk, unknown)
        if fresh:
            io.interruptibly(lambda: self._benchmark.prepare(fresh))
        return chunk

    def _without(self, chunk: Chunk, unknown: dict[str, InputError]) -> Chunk:
        missing = chunk.questions.is_in(list(unknown)).to_numpy()
        for row in missing.nonzero()[0].tolist():
            error = unknown[chunk.questions[row]]
            line = int(chunk.lines[row])
            located = type(error)(
                error.problem, path=self._path, line=line, question=error.question
            )
            if not self._skip:
                raise located
            chunk.problems.append(located)
        return chunk.where(~missing)


def evaluate(
    benchmark: QuestionSet, data: Any, answers: Any = None, *, threads: int | None = None
) -> Result:
    """Score responses in memory (as `score_batch` takes them) and summarise them as a run."""
    questions, texts = scoring.text_columns(data, answers)
    scores = scoring.score_columns(benchmark, questions, texts, threads=threads)
    if not len(scores):
        raise InputError("there are no responses")
    column = texts if isinstance(texts, pl.Series) else pl.Series(texts, dtype=pl.String)
    store = new_store(benchmark, in_memory=len(scores))
    figures = Figures(store)
    rows = Options().rows
    for at in range(0, len(scores), rows):
        part = scores[at : at + rows]
        lines = pl.int_range(at + 1, at + 1 + part.height, eager=True).to_numpy()
        figures.parts.append(store.add(str, *chunk_figures(store.names, lines, None, part)))
    return Result(benchmark, figures, MemoryTexts(questions, column))
