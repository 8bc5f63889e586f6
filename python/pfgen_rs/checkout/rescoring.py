"""Rescores stale runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from pfgen_rs.checkout.checkout import Run
from pfgen_rs.checkout.published import Published, published_now
from pfgen_rs.checkout.summation import rewritten
from pfgen_rs.errors import IncompleteRunError, InputError, PfgenError
from pfgen_rs.io import Ahead, Options, Source
from pfgen_rs.io.run_files import RESULT
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs import streaming
from pfgen_rs.runs.result import Result

__all__ = ["Rescored", "Watch", "rescored", "scored_again"]

# Takes the sources; returns what is called with their progress.
Watch = Callable[[Sequence[Source]], AbstractContextManager[streaming.ScoringProgress | None]]
_NAMED = 5  # questions
_READY = 4  # scored runs that may wait until they are written
_HELD = streaming.KEPT // _READY  # bytes of answers of each of them that are kept in memory
_KEYS = "runs of a checkout have the keys 'question' and 'answer'"
_PUBLISHED = Options(advice=(_KEYS, _KEYS))
_SHOWN = (
    4 << 20
)  # the same, until pages are made of them; larger ones are read again, for there are several
Rescored = tuple[Published, bytes] | PfgenError


def rescored(
    benchmark: QuestionSet, runs: Sequence[Run], *, jobs: int | None, watch: Watch | None = None
) -> Iterator[Rescored]:
    """Yields for each run its result with the content of `result.json`, or the error."""
    sources = [Source(str(run.responses or run.folder)) for run in runs]
    with watch(sources) if watch else nullcontext() as progress:
        each = streaming.score_each(
            benchmark, sources, _PUBLISHED, threads=jobs, keep=_HELD, progress=progress
        )
        # Runs differ much in size, so some are ready before they are needed: scored in one thread, and their
        # contents made in another, while others are written.
        with (
            Ahead(lambda: each, _READY) as results,
            Ahead(lambda: map(_rescored_content, runs, results), _READY) as contents,
        ):
            yield from contents


def _rescored_content(run: Run, result: Result | InputError) -> Rescored:
    if isinstance(result, InputError):
        return result
    if result.missing:
        some = ", ".join(result.missing[:_NAMED]) + ", …" * (len(result.missing) > _NAMED)
        return IncompleteRunError(
            f"{run.folder}: {result.missing_note} "
            f"({some}), but a published result needs all: complete the run, then report again"
        )
    path = Path(run.folder, RESULT)
    try:
        content, found = rewritten(path, result)
        return published_now(content, found, path, run.name), content
    except InputError as error:  # the file has changed meanwhile
        return error


def scored_again(
    benchmark: QuestionSet, runs: Sequence[Run], jobs: int | None
) -> Iterator[tuple[str, Result | InputError]]:
    """Yields for each run its name and its result, with answers for pages, or the error."""
    sources = [Source(str(run.responses)) for run in runs]
    each = streaming.score_each(benchmark, sources, _PUBLISHED, threads=jobs, keep=_HELD)
    with closing(each) as found:
        for run, result in zip(runs, found, strict=True):
            yield run.name, result
