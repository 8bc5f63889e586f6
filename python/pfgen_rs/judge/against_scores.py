"""Judges and people beside the n-gram scores: which answers and which models each of them prefers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.errors import InputError
from pfgen_rs.judge.agreement.intervals import clopper_pearson
from pfgen_rs.judge.grading import RunRatings, mean_ratings, ratings_of_runs
from pfgen_rs.judge.pairs import Pair, read_humans, references_of
from pfgen_rs.judge.verdicts import Rule
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.runs.result import Result
from pfgen_rs.stats.correlation import fisher_interval, pearson, spearman

_BINS = 4


def scored_pairs(pairs: Sequence[Pair], benchmark: Benchmark) -> pl.DataFrame:
    """Returns the scores of both answers of each pair.

    Columns: `pair`, `question_id`, `score_a`, `score_b` (the average of the metrics of each answer alone).
    Pairs about questions that the benchmark lacks are left out; raises `InputError` if none is left.
    """
    known = [pair for pair in pairs if pair.question in benchmark]
    if not known:
        raise InputError(
            "the benchmark has none of the pairs' questions: pass the benchmark that the answers are about, "
            "with -b"
        )
    questions = [pair.question for pair in known]
    one, other = (
        benchmark.score_batch(questions, [pair.answers[side] for pair in known]) for side in (0, 1)
    )
    return pl.DataFrame(
        {
            "pair": [pair.id for pair in known],
            "question_id": [pair.question_id for pair in known],
            "score_a": one["average"],
            "score_b": other["average"],
        }
    )


def verdicts_by_name(
    decisions: Mapping[str, pl.DataFrame], rule: Rule, humans: str | os.PathLike[str] | None = None
) -> dict[str, dict[str, str | None]]:
    """Returns letters by pair, of each judge and each rater, by name.

    `decisions`: the frame of each judge (as `VerdictFolder.decisions` has it), decided by a rule. Raises
    `InputError` for files that cannot be used.
    """
    found: dict[str, dict[str, str | None]] = {}
    known: set[str] = set()
    for name, frame in decisions.items():
        known.update(frame["pair"])
        found[name] = dict(zip(frame["pair"], frame[rule], strict=True))
    if humans is not None:
        for pair, rater, verdict in read_humans(humans, known).iter_rows():
            found.setdefault(rater, {})[pair] = verdict
    return found


def agreement_by_margin(
    scores: pl.DataFrame, verdicts: Mapping[str, Mapping[str, str | None]], bins: int = _BINS
) -> pl.DataFrame:
    """Returns how often the answer with the higher score is the one that somebody prefers, by margin.

    `scores`: as `scored_pairs` returns them. `verdicts`: letters by pair, of each rater or judge by name. A
    pair counts if it has a verdict for either answer and two different scores; ties and pairs without a
    verdict are counted apart. The margin is the difference of the scores; its bins have about equal numbers
    of pairs.

    Returns columns `who`, `margin` ("all", or the bin's range), `pairs`, `agree`, `share`, its 95 % interval
    `low`, `high` (Clopper–Pearson), `ties`, `missing`.
    """
    margins = (scores["score_a"] - scores["score_b"]).to_numpy()
    higher = np.where(margins > 0, "A", np.where(margins < 0, "B", "="))
    size = np.abs(margins)
    places = [("all", np.ones(len(size), dtype=bool)), *_margin_bins(size, bins)]
    rows: list[tuple[Any, ...]] = []
    for who, letters in verdicts.items():
        given = np.array([letters.get(pair) or "" for pair in scores["pair"]])
        counted = np.isin(given, ("A", "B")) & (higher != "=")
        tied = (given == "C") | (higher == "=")
        for margin, inside in places:
            among = (counted, counted & (higher == given), tied, given == "")
            pairs, agree, ties, missing = (int((inside & each).sum()) for each in among)
            interval = clopper_pearson(agree, pairs) if pairs else None
            bounds = (agree / pairs, interval.low, interval.high) if interval else (None,) * 3
            rows.append((who, margin, pairs, agree, *bounds, ties, missing))
    columns: dict[str, Any] = {
        **dict.fromkeys(("who", "margin"), pl.String),
        **dict.fromkeys(("pairs", "agree"), pl.Int64),
        **dict.fromkeys(("share", "low", "high"), pl.Float64),
        **dict.fromkeys(("ties", "missing"), pl.Int64),
    }
    return pl.DataFrame(rows, schema=columns, orient="row")


def _margin_bins(size: NDArray[np.float64], bins: int) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield label and members of each bin of margins above 0."""
    if not (size > 0).any():
        return
    edges = np.unique(np.quantile(size[size > 0], np.linspace(0, 1, bins + 1)))
    for low, high in pairwise(edges):
        below = (size <= high) if high == edges[-1] else (size < high)
        yield f"{low:.3f}–{high:.3f}", np.asarray((size >= low) & below & (size > 0))


@dataclass(frozen=True, eq=False)
class RunCorrelation:
    """Correlation of the judge's mean ratings with the scores of runs (judging 6.5).

    `pearson`, `spearman` with 95 % intervals by Fisher's transformation; `None` where runs are too few.
    `runs`: one row a run: `model`, `score`, `rating`.
    """

    runs: pl.DataFrame
    pearson: float | None
    pearson_interval: tuple[float | None, float | None]
    spearman: float | None
    spearman_interval: tuple[float | None, float | None]


def run_correlation(means: pl.DataFrame, scores: Mapping[str, float]) -> RunCorrelation:
    """Correlate mean ratings (as `grading.mean_ratings` returns them) with the scores of runs by name.

    Models without a rating or a score are left out. Raises `InputError` if none is left.
    """
    found = means.filter(pl.col("mean").is_not_null() & pl.col("model").is_in(list(scores))).select(
        "model",
        score=pl.col("model").replace_strict(dict(scores), return_dtype=pl.Float64),
        rating="mean",
    )
    if found.is_empty():
        raise InputError("no run has both ratings and a score")
    x, y, n = found["score"].to_numpy(), found["rating"].to_numpy(), len(found)
    values: list[Any] = []
    for correlate, ranks in ((pearson, False), (spearman, True)):
        value = correlate(x, y)
        if value is None or np.isnan(value):
            values += [None, (None, None)]
        else:
            values += [float(value), fisher_interval(float(value), n, 0.95, ranks=ranks)]
    return RunCorrelation(found, *values)


@dataclass(frozen=True)
class RatedRuns:
    """The ratings of runs, their means (see `mean_ratings`), and their correlation with the scores."""

    ratings: RunRatings
    means: pl.DataFrame
    correlation: RunCorrelation


def rated_runs(
    folder: str | os.PathLike[str],
    results: Mapping[str, Result],
    benchmark: str | None,
    trials: int | None = None,
) -> RatedRuns:
    """Hold the ratings in a folder against the scores of runs by name; `trials`: see `ratings_of_runs`.

    Raises `InputError`.
    """
    frames = {name: result.frame for name, result in results.items()}
    ratings = ratings_of_runs(folder, frames, references_of(benchmark), trials)
    means = mean_ratings(ratings.frame)
    scores = {name: result.score for name, result in results.items()}
    return RatedRuns(ratings, means, run_correlation(means, scores))
