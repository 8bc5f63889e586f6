"""Scores runs of any size: decoded ahead, scored chunk by chunk, and written at the same time."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.io.ahead import Ahead, begun, interruptibly
from pfgen_rs.io.chunk import Chunk, Options
from pfgen_rs.io.cleaning import count_unclean, stated_mode
from pfgen_rs.io.layouts import PLAIN, ReadAs
from pfgen_rs.io.reading import MOST_RUNS, Reading, read_ahead, too_many_runs
from pfgen_rs.io.run_files import stated_model
from pfgen_rs.io.source import Source
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.questions.asked import Asked, in_prompts
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs import score_store
from pfgen_rs.runs.responses import FileResponses, with_texts
from pfgen_rs.runs.result import Result
from pfgen_rs.scoring import batch
from pfgen_rs.scoring.left_out import without_own

if TYPE_CHECKING:
    from pfgen_rs.io.chunk import Kept


# Called with the current file, bytes read of it, and responses scored since the last call.
ScoringProgress = Callable[[Source, int, int], None]
# Called with a run's file, rows of it in the form of `Result.frame`, and the signature of their scores.
Taker: TypeAlias = "Callable[[Source, pl.DataFrame, str], None]"
KEPT = 64 << 20  # bytes of text to keep in memory for `Result.frame`
_LOOKED_AT = 1 << 16  # number of unknown questions to inspect for a hint
_NOTHING = score_store.Part("", 0, {}, b"")  # of a run in a chunk without it
SEARCHES = 5  # unknown questions per file for which to search the most similar known one


def new_store(benchmark: QuestionSet, **more: Any) -> score_store.Store:
    """Returns a store for scores of this benchmark; `more`: further arguments of `Store`."""
    return score_store.Store(score_store.stored_columns(benchmark.sources), **more)


def score_sources(
    benchmark: QuestionSet,
    sources: Sequence[Source],
    options: Options,
    store: score_store.Store,
    *,
    threads: int | None = None,
    keep: int = 0,
    take: Taker | None = None,
    progress: ScoringProgress | None = None,
    once: bool = False,
) -> list[Result]:
    """Score files; each is one run, or is split into runs by `options.run`, in order of first occurrence.

    `keep`: bytes of text per file to keep in memory for later. `take` is called with all rows, in order.
    `once`: whether the benchmark scores nothing else, so that a single chunk need not keep the scorers.
    """
    results: list[Result] = []
    own = _without_own_models(benchmark)
    pool = ThreadPoolExecutor(1)  # summarises a file's runs while the next ones are scored
    try:
        with read_ahead(sources, replace(options, check=options.run is None)) as readings:
            files = (
                _StreamedFile(
                    own(reading),
                    reading,
                    store,
                    threads,
                    keep,
                    tabled=take is not None,
                    once=once and len(sources) == 1,
                )
                for reading in readings
            )
            for file in _files_begun_ahead(files):
                found = file.finished(take, progress)
                if len(sources) > 1:
                    pool.submit(_summarised_ahead, found)
                results += found
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # the others when they are asked for
    return results


def _without_own_models(benchmark: QuestionSet) -> Callable[[Reading], QuestionSet]:
    """Returns what returns the benchmark for a file: without answers of its own model, if it is asked to."""
    without = lru_cache(maxsize=1)(without_own)  # runs of a model often follow each other

    def own(reading: Reading) -> QuestionSet:
        options = reading.options
        if options.leave_out is None:
            return benchmark
        model = options.model or stated_model(reading.source.config())
        found: QuestionSet = without(benchmark, model, options.leave_out)
        return found

    return own


def _summarised_ahead(results: Sequence[Result]) -> None:
    """Summarise results, which keep that; errors are raised again by whoever asks for it."""
    for result in results:
        _ = result.by_question


def score_each(
    benchmark: QuestionSet,
    sources: Sequence[Source],
    options: Options,
    *,
    threads: int | None = None,
    keep: int = 0,
    progress: ScoringProgress | None = None,
) -> Generator[Result | InputError]:
    """Score files independently. Yields a result, or the file's error, for each, in order.

    Only the scores of results that are still in use are kept. Otherwise like `score_sources`.
    """
    with read_ahead(sources, options) as readings:
        files = (
            _StreamedFile(benchmark, reading, new_store(benchmark), threads, keep)
            for reading in readings
        )
        for file in _files_begun_ahead(files):
            found: Result | InputError
            try:
                [found] = file.finished(None, progress)
            except InputError as error:
                found = error
            yield found


def _files_begun_ahead(files: Iterable[_StreamedFile]) -> Iterator[_StreamedFile]:
    """Yield the files; the first chunks of the next one are scored while one is finished."""
    begun: deque[_StreamedFile] = deque()
    try:
        for file in files:
            begun.append(file)
            file.begin()
            if len(begun) > 1:
                yield begun[0]
                begun.popleft()
        yield from begun
    finally:
        for file in begun:
            file.close()


class _Begun(NamedTuple):
    """A chunk with the numbers of its questions, whose scores are known or on their way.

    `parts`: its scores by run, if an interrupted run has stored them.
    """

    chunk: Chunk
    codes: _native.Codes
    parts: dict[str | None, score_store.Part] | None
    scores: Iterator[_native.Scored]


class _StreamedChunk(NamedTuple):
    """A chunk with its stored scores by run and, unless these are from an interrupted run, its scores."""

    chunk: Chunk
    parts: dict[str | None, score_store.Part]
    scores: pl.DataFrame | None

    def frame(self, runs: Mapping[str | None, score_store.ResponseScores]) -> pl.DataFrame:
        """Returns its rows in the form of `Result.frame`, in the file's order."""
        if self.scores is not None:
            rows = score_store.in_file_order(self.chunk.lines, self.scores)
        else:
            frames = [runs[name].frame(part) for name, part in self.parts.items()]
            rows = frames[0] if len(frames) == 1 else pl.concat(frames).sort("line")
        return with_texts(rows, self.chunk.questions, self.chunk.answers, self.chunk.kept)


class _StreamedFile:
    """A file being scored: one run, or several."""

    def __init__(
        self,
        benchmark: QuestionSet,
        reading: Reading,
        store: score_store.Store,
        threads: int | None,
        keep: int,
        *,
        tabled: bool = False,
        once: bool = False,
    ) -> None:
        self._benchmark, self._reading, self._store = benchmark, reading, store
        self._threads, self._keep = threads, keep
        self._known = Known(benchmark, reading.source.path, reading.options.skip_bad_lines)
        self._kept: list[Chunk] | None = [] if keep else None
        self._tabled = tabled  # whether scores are wanted as tables, too
        self._once = once  # whether no other file is scored
        self._problems: list[InputError] = []
        self._cut_short: InputError | None = None
        self._decoded = self._chunks = 0
        self._unclean: dict[str | None, Counter[str]] = {}
        self._reasoned = 0
        self._runs: dict[str | None, score_store.ResponseScores] = {}
        self._ahead: Ahead[_Begun] | None = None

    def begin(self) -> None:
        """Start scoring, in a thread."""
        self._ahead = Ahead(self._begun, room_first=True)

    def close(self) -> None:
        """Stop scoring."""
        if self._ahead is not None:
            self._ahead.close()

    def finished(self, take: Taker | None, progress: ScoringProgress | None) -> list[Result]:
        """Score the whole file. Returns its runs."""
        source = self._reading.source
        # Closed here, because an exception while a generator is garbage-collected is printed and lost.
        with closing(self.scored()) as chunks:
            for scored in chunks:
                if take is not None and len(scored.chunk):
                    take(source, scored.frame(self._runs), self._signature())
                if progress is not None:
                    progress(source, scored.chunk.read, len(scored.chunk))
                del scored
        return self.results()

    def _signature(self) -> str:
        """Returns the scores' signature; whether all questions are answered is only known at the end."""
        return self._benchmark._signed(clean=self._reading.clean)

    def scored(self) -> Generator[_StreamedChunk]:
        """Yield all chunks, without unknown questions; the next ones are scored in the meantime."""
        if self._ahead is None:
            self.begin()
        with cast("Ahead[_Begun]", self._ahead) as chunks:
            for begun in chunks:
                yield self._stored(begun)
                del begun  # before the next one is scored

    def _stored(self, begun: _Begun) -> _StreamedChunk:
        chunk, codes, parts, scores = begun
        self._problems += chunk.problems
        self._cut_short = chunk.cut_short
        self._reasoned += chunk.reasoned
        table = None
        if parts is None:
            scored = next(scores)
            parts = self._parts(chunk, codes, scored)
            table = batch.score_frame(self._benchmark, codes, scored) if self._tabled else None
        self._add(parts, chunk)
        self._hold(chunk)
        return _StreamedChunk(chunk, parts, table)

    def _begun(self) -> Iterator[_Begun]:
        """Yield the chunks as their scoring begins.

        So two of them are being scored as a rule, and threads that are done with one go on with the other. A
        single thread scores one after the other.
        """
        for decoded in self._reading:
            self._decoded += len(decoded)
            chunk, codes = self._known.of(decoded)
            chunk = replace(chunk, identity=cache(chunk.identity))  # asked for by each of its runs
            del decoded
            parts = self._resumed(chunk) if self._store.resumes else None
            yield _Begun(chunk, codes, parts, iter(()) if parts else self._score(chunk, codes))
            del chunk, codes, parts  # before the next one is read

    def _score(self, chunk: Chunk, codes: _native.Codes) -> Iterator[_native.Scored]:
        """Begin to score a chunk; the iterator waits for its scores."""
        once = self._once and chunk.whole
        answers = chunk.answers if self._reading.options.tokens else chunk.texts

        def score() -> _native.Scored:
            column = self._benchmark._coder.column(answers, self._threads)
            return batch.score_column(
                self._benchmark, codes, column, threads=self._threads, once=once
            )

        return iter([score()]) if self._threads == 1 else begun(score)

    def _resumed(self, chunk: Chunk) -> dict[str | None, score_store.Part] | None:
        """Returns the scores of a chunk that was completely scored before an interruption."""
        found: dict[str | None, score_store.Part] = {}
        for name, rows in self._rows_by_run(chunk).items():
            part = self._store.known(_streamed_chunk_key(chunk.rows(rows), name), len(rows))
            if part is None:
                return None
            found[name] = part
        return found

    def _rows_by_run(self, chunk: Chunk) -> dict[str | None, NDArray[np.intp]]:
        """Returns the rows of each run in a chunk, in the order in which the runs begin there."""
        run = self._reading.options.run
        if run is None:
            return {None: np.arange(len(chunk))}
        names = cast("pl.DataFrame", chunk.kept).get_column(run.name)
        found = names.unique(maintain_order=True)
        numbers = names.cast(pl.Enum(found)).to_physical().to_numpy()
        rows = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
        return dict(zip(found.to_list(), rows, strict=False))

    def _parts(
        self, chunk: Chunk, codes: _native.Codes, scores: _native.Scored
    ) -> dict[str | None, score_store.Part]:
        if self._reading.options.run is None:
            return {None: self._part(chunk, codes, scores, None)}
        numbers, lengths, columns = codes.array(), scores.lengths, scores.columns
        return {
            name: self._part(
                chunk.rows(rows),
                _native.Codes(numbers[rows]),
                _native.Scored(lengths[rows], [column[rows] for column in columns]),
                name,
            )
            for name, rows in self._rows_by_run(chunk).items()
        }

    def _part(
        self, chunk: Chunk, codes: _native.Codes, scores: _native.Scored, name: str | None
    ) -> score_store.Part:
        rows, bounds = score_store.chunk_rows(self._benchmark.ids, codes, chunk.places, scores)
        return self._store.add(lambda: _streamed_chunk_key(chunk, name), rows, bounds)

    def _add(self, parts: Mapping[str | None, score_store.Part], chunk: Chunk) -> None:
        """Add a chunk's scores; a run without any gets an empty part, so that chunks and parts match."""
        for name in parts:
            if name not in self._runs:
                self._begin(name)
        for name, scores in self._runs.items():
            scores.parts.append(parts.get(name) or _NOTHING)
        self._chunks += 1
        if self._reading.options.run is None:
            self._unclean.setdefault(None, Counter()).update(chunk.unclean)
        elif not self._reading.options.tokens:
            self._count_unclean(chunk)

    def _hold(self, chunk: Chunk) -> None:
        if self._kept is None:
            return
        self._kept.append(chunk)
        self._keep -= chunk.size
        if self._keep < 0:
            self._kept = None

    def _begin(self, name: str | None) -> None:
        if len(self._runs) == MOST_RUNS:
            run = cast("Kept", self._reading.options.run)
            raise InputError(too_many_runs(run.key), path=self._reading.source.path)
        self._runs[name] = score_store.ResponseScores(self._store)
        self._runs[name].parts += [_NOTHING] * self._chunks

    def _count_unclean(self, chunk: Chunk) -> None:
        mode = self._reading.clean or stated_mode(self._reading.config)
        for name, rows in self._rows_by_run(chunk).items():
            answers = _native.Texts(chunk.answers.gather(rows), 1)
            self._unclean.setdefault(name, Counter()).update(count_unclean(answers, mode))

    def results(self) -> list[Result]:
        """Returns the runs of the completely scored file. The first one has the problems of the file.

        Raises `InputError` for a file in which nothing could be scored.
        """
        if not any(scores.height for scores in self._runs.values()):
            raise InputError(self._nothing_scored(), path=self._reading.source.path)
        results = [self._result(name, scores) for name, scores in self._runs.items()]
        problems = sorted(self._problems, key=lambda problem: problem.line or 0)
        results[0] = replace(results[0], problems=problems, cut_short=self._cut_short)
        return results

    def _result(self, name: str | None, scores: score_store.ResponseScores) -> Result:
        reading, run = self._reading, self._reading.options.run
        config = reading.config
        if name is not None and run is not None:
            config = {**(config or {}), run.key: name}
        return Result(
            self._benchmark,
            scores,
            self._texts,
            path=reading.source.path,
            config=config,
            input_hash=reading.input_hash,
            clean=reading.clean,
            unclean=self._unclean.get(name, Counter()),
            run=name,
            read_as=self._read_as,
            model=reading.options.model,
        )

    @property
    def _read_as(self) -> ReadAs:
        known = self._reading.options.read_as or PLAIN
        return known.counting(self._known.prompts, self._known.several, self._reasoned)

    @cached_property
    def _texts(self) -> FileResponses:
        reading = self._reading
        return FileResponses(reading.source, reading.options, self._kept, reading.clean)

    def _nothing_scored(self) -> str:
        if self._decoded:
            asked = (each.question for each in self._problems if each.question is not None)
            crowd = self._benchmark._crowd(islice(asked, _LOOKED_AT))
            return ": ".join(filter(None, ["no line answers a question of the benchmark", crowd]))
        if not self._problems:
            place = "standard input" if self._reading.source.path == "-" else "the file"
            is_empty = self._reading.input_hash == hashlib.sha1(usedforsecurity=False).hexdigest()
            said = "is empty" if is_empty else "has nothing but empty lines"
            return f"no responses found: {place} {said}; expected one response per line"
        first = self._problems[0]
        return f"all lines are invalid; line {first.line}: {first.problem}"


def _streamed_chunk_key(chunk: Chunk, run: str | None) -> str:
    """Returns the key in a journal of a run's responses in a chunk."""
    name = "" if run is None else f":{run}"
    return f"{chunk.identity()}:{chunk.places.line(0)}{name}" if len(chunk) else ""


class Known:
    """Separates responses to the benchmark's questions from others, which are errors or skipped."""

    def __init__(self, benchmark: QuestionSet, path: str, skip: bool) -> None:
        self._benchmark, self._path, self._skip = benchmark, path, skip
        self._questions = benchmark._in_order
        self._ready: set[int] = set()
        # Questions found in prompts, and those of prompts with several.
        self.prompts = self.several = 0
        self._searches = SEARCHES

    @cached_property
    def _asked(self) -> Asked:
        return Asked(self._benchmark)

    def of(self, chunk: Chunk) -> tuple[Chunk, _native.Codes]:
        """Returns the chunk with only known questions, and their numbers.

        A prompt may contain the question. The first unknown question is an error unless they are skipped.
        Scorers of the known ones are built here, so that Ctrl-C does not have to wait for them.
        """
        # One thread is enough, and does not have to wait for those that score.
        asked = _native.Texts(chunk.asked, 1)
        codes = self._benchmark._numbers.find(asked, 1)
        if chunk.read_as.asks_prompts and codes.unknown():
            ids = self._benchmark.ids
            codes, prompts, several = in_prompts(self._asked, ids, codes, asked)
            self.prompts, self.several = self.prompts + prompts, self.several + several
        if unknown := codes.unknown():
            self._refuse(chunk, unknown)
            numbers = codes.array()
            known = numbers != _native.UNKNOWN
            chunk, codes = chunk.where(known), _native.Codes(numbers[known])
        fresh = set(codes.asked()) - self._ready
        if fresh:
            questions = [self._questions[number] for number in sorted(fresh)]
            interruptibly(lambda: self._benchmark.prepare(questions))
            self._ready |= fresh
        return chunk, codes

    def _refuse(self, chunk: Chunk, rows: list[int]) -> None:
        for row in rows:
            others = () if self._skip else chunk.questions
            self._searches -= 1
            error = self._benchmark._unknown(
                chunk.questions[row],
                others,
                path=self._path,
                line=chunk.places.line(row),
                search=self._searches >= 0,
                item=chunk.item,
                advice=chunk.read_as.advice,
            )
            if not self._skip:
                raise error
            chunk.problems.append(error)
