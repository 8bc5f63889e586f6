"""Rescores stale runs."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

from pfgen_rs import IncompleteRunError, InputError, PfgenError, verify
from pfgen_rs.checkout.checkout import Run
from pfgen_rs.checkout.published import Published, published, published_now
from pfgen_rs.io import ahead, chunk, run_files
from pfgen_rs.io.source import Source
from pfgen_rs.metrics import signature, sums
from pfgen_rs.metrics.settings import BY_SOURCE, SUMMATIONS, Settings, Summation
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs import streaming
from pfgen_rs.runs.result import Result, result_content
from pfgen_rs.scoring.explain import marks

# Takes the sources; returns what is called with their progress.
Watch = Callable[[Sequence[Source]], AbstractContextManager[streaming.ScoringProgress | None]]
_NAMED = 5  # questions
_READY = 4  # scored runs that may wait until they are written
_HELD = streaming.KEPT // _READY  # bytes of answers of each of them that are kept in memory
_KEYS = "runs of a checkout have the keys 'question' and 'answer'"
_PUBLISHED = chunk.Options(advice=(_KEYS, _KEYS))
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
            ahead.Ahead(lambda: each, _READY) as results,
            ahead.Ahead(lambda: map(_rescored_content, runs, results), _READY) as contents,
        ):
            yield from contents


def _rescored_content(run: Run, result: Result | InputError) -> Rescored:
    if isinstance(result, InputError):
        return result
    if result.missing:
        some = ", ".join(result.missing[:_NAMED]) + ", …" * (len(result.missing) > _NAMED)
        return IncompleteRunError(
            f"{run.folder}: {result._missing_note} "
            f"({some}), but a published result needs all: complete the run, then report again"
        )
    path = Path(run.folder, run_files.RESULT)
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


# Results rewritten with their sums computed as in the files that they replace.


Rewritten = tuple[bytes, dict[str, Any]]
"""The new content of a `result.json`, and the object that it holds."""


def rewritten(path: Path, result: Result) -> Rewritten:
    """Returns the new `result.json` at `path`, in the reading of Python's `sum` that the old one has.

    With the same answers and questions, that is the reading closer to the old file. Otherwise the averages of
    its samples, sums of their own parts, decide; where they fit both readings, sums are plain.
    """
    new = _written(result)
    try:
        before = path.read_bytes()
        if before == new[0]:
            return new
        old = published(before, path, "").result
    except (OSError, InputError):  # missing or damaged: there is nothing to keep
        return new
    hashes = (result.input_hash, result.benchmark.metadata_hash)
    if (old.get("input_hash"), old["metadata_hash"]) == hashes:
        return _written(verify.best_reading(old, result).result)
    summation = _summation(old)
    return new if summation == "plain" else _written(result.with_summation(summation))


def _written(result: Result) -> Rewritten:
    found = result.to_dict()
    return result_content(found), found


def _summation(old: Mapping[str, Any]) -> Summation:
    """Returns the reading that gives more of the samples' averages; about 1 in 1,000 depends on it."""
    helpfulness = signature.has_helpfulness(old)
    readings = [Settings(summation=each, helpfulness=helpfulness) for each in SUMMATIONS]
    right = dict.fromkeys(SUMMATIONS, 0)
    for entry in old["questions"].values():
        for scores in (sample["scores"] for sample in entry["samples"]):
            for settings in readings:
                is_right = scores["average"] == _average_of_sample(scores, settings)
                right[settings.summation] += is_right
    return "compensated" if right["compensated"] > right["plain"] else "plain"


def _average_of_sample(scores: Mapping[str, Any], settings: Settings) -> float:
    fluency, truthfulness = (
        sums.left_sum(scores[metric].values(), compensated=settings.compensated)
        for metric in BY_SOURCE
    )
    return round(float(settings.average(fluency, truthfulness, scores["helpfulness"])), 5)


# Marks of samples: which characters are bold or struck out, from the counts of their windows.


BOLD, STRUCK = 1, 2
_BOLD_ABOVE, _STRUCK_BELOW = 10, 200  # one in so many of all reference answers


def marks_of(
    benchmark: QuestionSet, results: Sequence[Mapping[str, Any]]
) -> list[dict[tuple[str, int], bytes]]:
    """Returns for each result the marks of its samples, by question and number of the sample.

    They are a byte for each character of the answer: `BOLD`, `STRUCK`, or 0 for neither. All answers to a
    question are looked up together.
    """
    places: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for number, result in enumerate(results):
        for key, entry in result["questions"].items():
            places[key] += [(number, i, s["answer"]) for i, s in enumerate(entry["samples"])]
    found: list[dict[tuple[str, int], bytes]] = [{} for _ in results]
    for key, answers in places.items():
        total = sum(map(len, benchmark[key].answers.values()))
        texts = [answer for _, _, answer in answers]
        # More than total / 10 for a whole number, and fewer than total / 200.
        above, below = total // _BOLD_ABOVE, -(-total // _STRUCK_BELOW)
        found_marks = marks(benchmark, key, texts, above=above, below=below)
        for (number, i, _), own in zip(answers, found_marks, strict=True):
            found[number][key, i] = own
    return found
