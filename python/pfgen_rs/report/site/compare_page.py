"""The page that compares any of several runs, question by question, with answers side by side.

Its data are the means of questions and their errors, from which the page computes all else. Scores of answers
have five or six decimals, so the sums of a question's scores are whole numbers, from which the page gets the
means that `pfgen_rs.stats` has.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pfgen_rs import InputError, Result
from pfgen_rs.io.run_files import is_system, named_results
from pfgen_rs.lazy import Floats, np
from pfgen_rs.metrics.settings import METRICS
from pfgen_rs.questions import question_set, unknown
from pfgen_rs.report import PER_QUESTION
from pfgen_rs.report.site import pages, run_page
from pfgen_rs.report.site.own_page import OwnPage
from pfgen_rs.runs.scored_run import cleaned_together
from pfgen_rs.stats import Sample, checks, comparing

MOST_COMPARED = 10
"""Maximum number of runs that are compared at a time."""
_MOST_AT_ONCE = 30  # of all that a page of its own has: a browser takes half a second

_DECIMALS = (5, 6)  # of scores of answers: of averages, and of the metrics
_MEAN_DECIMALS = 12  # of means of other scores; an error of half a unit decides no test
_ERROR_DECIMALS = 8
_CLOSE = 1e-6  # of a unit: a score has no more decimals
_RUN = "{run}"  # stands for the folder of a run in names of payloads

# Numbers are packed into text, 15 bits a character: without surrogates, and what JSON would escape.
_FIRST = 0x3000
_BITS = 15
_WORD_BITS = 32


def compared_run(benchmark: question_set.QuestionSet, sample: Sample) -> dict[str, Any]:
    """Returns what a comparison needs of a run, as JSON types (about 1 kB).

    `questions`: their places among all questions by id, `None` if the run answers all. `counts`: numbers of
    answers, one if all are equal. `sums`: by metric, the number of decimals, and packed sums of the scores by
    question; where scores have more than six decimals, it is means, and the number of decimals is 12.
    `errors`: packed standard errors of the question means of the average (0 for a single answer), with eight
    decimals.
    """
    ids = sorted(question.id for question in benchmark)
    counts = sample.counts.tolist()
    errors = np.sqrt(np.nan_to_num(sample.variances()) / sample.counts)
    return {
        "questions": None if list(sample.questions) == ids else [*map(ids.index, sample.questions)],
        "counts": counts[0] if len(set(counts)) == 1 else counts,
        "sums": [_sums(sample.values[metric]) for metric in METRICS],
        "errors": _packed(errors * 10.0**_ERROR_DECIMALS),
    }


def listed_run(
    name: str,
    folder: str,
    figures: Mapping[str, Any],
    *,
    page: str | None = None,
    is_system: bool = False,
) -> dict[str, Any]:
    """Returns a run of a comparison: what `compared_run` gave, the folder of its answers, its page, if any.

    System runs have no rank, and their pairs are corrected among themselves. The last part of `folder` is the
    run's name in the page's address.
    """
    about = {"name": name, "slug": folder.rpartition("/")[2], "folder": folder}
    return {**about, "page": page, "system": is_system, **figures}


def comparison_data(
    benchmark: question_set.QuestionSet,
    runs: Iterable[Mapping[str, Any]],
    *,
    level: float = 0.95,
    permutations: int = 10_000,
    seed: int = 0,
    most: int = MOST_COMPARED,
    first: int = 2,
) -> dict[str, Any]:
    """Returns the data of the page that compares `runs`, which `listed_run` gave.

    `level`, `permutations` and `seed` as for `pfgen_rs.stats.compare`. `most`: how many runs are compared at
    a time; `first`: how many, the best ones, before others are chosen. Names of payloads with answers have
    `{run}` in place of the folder of a run.
    """
    numbers = {question.id: number for number, question in enumerate(benchmark)}
    return {
        "metrics": list(METRICS),
        "level": level,
        "permutations": permutations,
        "seed": _seed_words(seed),
        "power": checks.normal_quantile(2 * comparing.POWER - 1),
        "most": most,
        "first": first,
        "errorDecimals": _ERROR_DECIMALS,
        "meanDecimals": _MEAN_DECIMALS,
        "questions": [
            {
                "name": name,
                "text": benchmark[name].text,
                "category": benchmark[name].category,
                "windows": run_page.windows_name(number),
                "answers": run_page.answers_name(_RUN, number),
            }
            for name, number in sorted(numbers.items())
        ],
        "runs": list(runs),
    }


def _sums(values: Sequence[Floats]) -> list[Any]:
    every = np.concatenate(values)
    starts = np.cumsum([0, *map(len, values[:-1])])
    for decimals in _DECIMALS:
        units = every * 10.0**decimals
        whole = np.rint(units)
        if np.all(np.abs(units - whole) < _CLOSE):
            return [decimals, _packed(np.add.reduceat(whole, starts))]
    means = np.array([each.mean() for each in values])
    return [_MEAN_DECIMALS, _packed(means * 10.0**_MEAN_DECIMALS)]


def _packed(values: Floats) -> str:
    """Returns whole numbers of at least 0 as text: the number of characters of each, and their characters."""
    numbers = [round(value) for value in values.tolist()]
    width = max(1, -(-max(numbers).bit_length() // _BITS))
    shifts = range(_BITS * (width - 1), -1, -_BITS)
    digits = [(number >> shift) % (1 << _BITS) for number in numbers for shift in shifts]
    return "".join(map(chr, (_FIRST + digit for digit in (width, *digits))))


def _seed_words(seed: int) -> list[int]:
    """Returns a seed as words of 32 bits, the lowest first: it may be larger than what JSON keeps."""
    words = max(1, -(-seed.bit_length() // _WORD_BITS))
    return [(seed >> (_WORD_BITS * i)) % (1 << _WORD_BITS) for i in range(words)]


COMPARISON_PAGE = "compare/index.html"
"""Path of the page within a site."""

COMPARISON = "compare/data"
"""Name of the payload with what `comparison_data` gives."""

_PARTS = (
    *("charts", "windows", "inspector", "answers", "diff", "flips", "statistics", "compared"),
    *("chooser", "compare_tables", "compare_answers", "compare"),
)


def comparison_page(
    benchmark: question_set.QuestionSet,
    *,
    clean: str | None = None,
    most: int = MOST_COMPARED,
    frame: pages.Frame = pages.ALONE,
    payloads: Mapping[str, Any] | None = None,
) -> bytes:
    """Returns the page; its script makes all figures from the payload `COMPARISON`.

    `clean`: the modes for which answers were cleaned. `most`: maximum number of runs that are compared at a
    time, as in the payload. `frame` and `payloads` as for `run_page`.
    """
    return pages.render(
        "compare",
        parts=_PARTS,
        frame=frame,
        here="compare",
        signature=benchmark._signed(clean=clean),
        most=most,
        metrics=METRICS,
        explained=unknown.explained(name for each in benchmark for name in each.sources),
        data={
            "compare": {"reading": run_page.reading(benchmark.settings), "comparison": COMPARISON}
        },
        payloads=payloads or {},
    )


def write_comparison(
    results: Sequence[Result],
    path: str | os.PathLike[str],
    *,
    answers_per_question: int = PER_QUESTION,
    level: float = 0.95,
    permutations: int = 10_000,
    seed: int = 0,
) -> None:
    """Write the page that compares two or more runs, as `write_run` does.

    It shows what `pfgen_rs.stats.compare` gives for the chosen runs with the same settings and
    `interval="student"`. At first, all runs are chosen, but of more than 30 the best 30. Raises what
    `write_run` and `stats.compare` raise.
    """
    if not results:
        raise InputError("no run to compare")
    comparing.check_settings(level, seed)
    named = named_results(results)
    benchmark, clean = results[0].benchmark, cleaned_together(results)
    comparing.check_comparable([result.sample(name) for name, result in named.items()])
    most = min(max(len(named), MOST_COMPARED), _MOST_AT_ONCE)
    runs = (
        listed_run(
            name,
            run_page.page_folder(name),
            compared_run(benchmark, result.sample()),
            is_system=is_system(result.config or {}),
        )
        for name, result in named.items()
    )
    payloads = run_page.run_payloads(named, answers_per_question)
    payloads[COMPARISON] = comparison_data(
        benchmark,
        runs,
        level=level,
        permutations=permutations,
        seed=seed,
        most=most,
        first=most,
    )
    OwnPage(
        payloads.items(),
        lambda data: comparison_page(benchmark, clean=clean, most=most, payloads=data),
    ).write(path)
