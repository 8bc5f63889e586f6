"""Entries of leaderboards with their uncertainty, from results alone, without responses."""

import os
import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pfgen_rs.checkout.checkout import RUNS, find_runs
from pfgen_rs.checkout.leaderboard import RunName, ranked, ranks
from pfgen_rs.checkout.published import Published, read_published
from pfgen_rs.errors import InputError
from pfgen_rs.io.run_files import RESULT
from pfgen_rs.lazy import np, pl
from pfgen_rs.metrics import settings, sums
from pfgen_rs.metrics.signature import signature
from pfgen_rs.questions.unknown import sources_in_order
from pfgen_rs.stats import Estimate, from_summary, ranking

LEVEL = 0.95
"""The level of intervals and rank ranges."""
_RANGES = ("rank_low", "rank_high", "own_rank_low", "own_rank_high")
_AS_PUBLISHED = ("score", "score_std", "num_trials", "length", "length_std")
_HASHES = ("input_hash", "metadata_hash", "signature")


@cache
def _columns() -> dict[str, Any]:
    """Returns the columns of a leaderboard but those of sources, hashes and own ranks."""
    return {
        **dict.fromkeys(("run", "model", "organisation", "mode", "engine", "icon"), pl.String),
        **dict.fromkeys(("rank", "rank_low", "rank_high"), pl.Int64),
        **dict.fromkeys(
            ("score", "score_std", "mean", "score_low", "score_high", "level"), pl.Float64
        ),
        **dict.fromkeys(("trial_sd", "trial_se", "question_se"), pl.Float64),
        **dict.fromkeys(("num_trials", "questions"), pl.Int64),
        **dict.fromkeys(("length", "length_std", *settings.BY_SOURCE, "helpfulness"), pl.Float64),
    }


_ADDED = _RANGES[2:]  # at the end, for scripts that count columns


@dataclass(frozen=True)
class Entry(RunName):
    """A run on the leaderboard.

    `run`: its folder within the checkout. `organisation`: the part of the model's name before the slash or,
    without a slash, the folder below `result/` that contains the model's.
    `score` … `helpfulness`: as published. `sources`: each source's share of Fluency and Truthfulness, by
    metric and source. `estimate`: mean over questions with errors and interval, from `stats.from_summary`;
    without bounds if the score is not that mean (`Estimate.of`).
    `rank`: by descending score, from 1; `None` for system runs. `rank_low`, `rank_high`: the rank range, best
    and worst rank that paired tests over questions cannot exclude, corrected so that the ranges of all runs
    hold together (`stats.rank_ranges`). `own_rank_low`, `own_rank_high`: the same for this run alone, a
    narrower range that holds for a run named beforehand (`stats.own_rank_ranges`). Both are for models that
    answered the same questions as most models and whose score is their mean, and `None` for others.
    `questions`: mean `average` by id.
    """

    engine: str | None
    score: float
    score_std: float
    num_trials: int
    length: float
    length_std: float
    fluency: float
    truthfulness: float
    helpfulness: float
    sources: Mapping[str, Mapping[str, float]]
    estimate: Estimate
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    own_rank_low: int | None
    own_rank_high: int | None
    icon: str
    input_hash: str | None
    metadata_hash: str
    signature: str
    config: Mapping[str, Any] = field(repr=False)
    questions: Mapping[str, float] = field(repr=False)


def read_entries(checkout: str | os.PathLike[str]) -> tuple[list[Entry], list[InputError]]:
    """Returns the leaderboard of a checkout from its `result.json` files, best first; and unusable ones.

    Raises `BenchmarkNotFoundError` if the folder is not a checkout.
    """
    found, problems = read_results(checkout)
    return entries(found), problems


def read_results(
    checkout: str | os.PathLike[str], prefix: str = ""
) -> tuple[list[Published], list[InputError]]:
    """Returns the results of a checkout without samples, and the errors of unusable ones.

    `prefix`: what names of runs begin with. Raises `BenchmarkNotFoundError` if it is not a checkout.
    """
    found, problems = [], []
    for run in find_runs(checkout):
        if (run.folder / RESULT).exists():
            try:
                found.append(read_published(run.folder, posixpath.join(prefix, run.name)))
                found[-1].drop_samples()
            except InputError as error:
                problems.append(error)
    return found, problems


def entries(runs: Iterable[Published]) -> list[Entry]:
    """Returns the leaderboard of these runs, best first."""
    ordered = ranked(runs)
    estimates = [_estimate(run.result) for run in ordered]
    between = _ranges(ordered, estimates)
    places = zip(ordered, ranks(ordered), between, estimates, strict=True)
    return [_entry(*place) for place in places]


def _entry(
    run: Published, rank: int | None, between: Mapping[str, Any], estimate: Estimate
) -> Entry:
    result, config, scores = run.result, run.config, run.result["scores"]
    return Entry(
        run=run.run,
        model=run.model,
        organisation=_organisation(run),
        mode=_text_or_none(config.get("mode")),
        engine=_text_or_none(config.get("engine")),
        **{name: result[name] for name in _AS_PUBLISHED},
        fluency=_sum(scores["fluency"]),
        truthfulness=_sum(scores["truthfulness"]),
        helpfulness=scores["helpfulness"],
        sources={metric: sources_in_order(scores[metric]) for metric in settings.BY_SOURCE},
        estimate=estimate,
        rank=rank,
        **between,
        icon=run.icon,
        input_hash=result.get("input_hash"),
        metadata_hash=result["metadata_hash"],
        signature=result.get("signature")
        or signature(result["metadata_hash"], settings.Settings()),
        config=config,
        questions=_question_means(run),
    )


def _organisation(run: Published) -> str | None:
    organisation, slash, _ = run.model.partition("/")
    if slash:
        return organisation
    top, *inner = run.run.split("/")  # result/ORGANISATION/MODEL/CONFIGURATION
    return inner[0] if top == RUNS and len(inner) > 2 else None


def _sum(shares: Mapping[str, float]) -> float:
    return round(float(sums.left_sum(shares.values())), 5)  # as many decimals as its parts have


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _question_means(run: Published) -> dict[str, float]:
    return {key: entry["scores"]["average"] for key, entry in run.result["questions"].items()}


def _estimate(result: Mapping[str, Any]) -> Estimate:
    questions = result["questions"].values()
    means = [entry["scores"]["average"] for entry in questions]
    found = from_summary(means, [entry["score_std"] for entry in questions], result["num_trials"])
    return found.of(result["score"])


def _ranges(
    runs: Sequence[Published], estimates: Sequence[Estimate]
) -> list[dict[str, int | None]]:
    """Returns rank ranges of models that have the same questions as most models; none for all others.

    Tests compare means over questions, so a run with another score has no range, either.
    """
    sets = [
        None
        if run.is_system or not estimate.is_of(run.result["score"])
        else tuple(sorted(run.result["questions"]))
        for run, estimate in zip(runs, estimates, strict=True)
    ]
    counts = Counter(ids for ids in sets if ids is not None)
    found: list[dict[str, int | None]] = [dict.fromkeys(_RANGES) for _ in runs]
    for ids, _ in counts.most_common(1):
        alike = [place for place, own in enumerate(sets) if own == ids]
        means = [_question_means(runs[place]) for place in alike]
        tests = ranking.RankTests(np.array([[own[key] for key in ids] for own in means]), LEVEL)
        for place, joint, own in zip(alike, tests.joint(), tests.own(), strict=True):
            found[place] = dict(zip(_RANGES, (*joint, *own), strict=True))
    return found


def entries_frame(found: Sequence[Entry]) -> "pl.DataFrame":
    """Returns one row per entry, in order: everything but `config` and the means of questions.

    `score_low` and `score_high` are the bounds of the interval at `level` around `mean` (of all responses to
    all questions), null if the score is not that mean; `fluency_P` and the like are the shares of sources,
    null if no question has the source.
    """
    shares = {
        settings.share_name(metric, source): pl.Float64
        for metric in settings.BY_SOURCE
        for source in sources_in_order(
            {source: 0.0 for entry in found for source in entry.sources[metric]}
        )
    }
    schema = {
        **_columns(),
        **shares,
        **dict.fromkeys(_HASHES, pl.String),
        **dict.fromkeys(_ADDED, pl.Int64),
    }
    return pl.DataFrame([_row(entry) for entry in found], schema=schema, orient="row")


def _row(entry: Entry) -> dict[str, Any]:
    names = (*_columns(), *_HASHES, *_ADDED)
    own = {name: getattr(entry, name) for name in names if hasattr(entry, name)}
    shares = {
        settings.share_name(metric, source): share
        for metric, by_source in entry.sources.items()
        for source, share in by_source.items()
    }
    estimate = entry.estimate
    bounds = {"score_low": estimate.low, "score_high": estimate.high}
    return {**estimate.to_dict(), **bounds, **own, **shares, "questions": estimate.questions}
