"""How well the sources of a set agree with each other.

The paper examines whether scores depend on the model that wrote the references (Imajo et al. 2025, section
4.1, "stability of reference answer sets", and figure 3) by scoring with each source on its own.
"""

from __future__ import annotations

import math
from itertools import combinations

import polars as pl

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.metrics.names import BY_SOURCE, share_name, share_names
from pfgen_rs.references.check.correlation import pearson, spearman
from pfgen_rs.references.check.steps import means

__all__ = ["sources_by_runs", "sources_compared", "sources_overall"]

_PREFIXES = tuple(share_name(metric, "") for metric in BY_SOURCE)
_KEYS = ["question_id", "source", "against"]


def sources_compared(benchmark: Benchmark, self_scores: pl.DataFrame) -> pl.DataFrame:
    """Returns the mean scores of each source's answers against each single source, by question.

    Columns: `question_id`, `source` (of the answers), `against` (the source of the references), `fluency`,
    `truthfulness`, and `both`, the mean of the two. A source's own answers are scored against its other
    answers. Derived from the sources' shares in `self_scores`, which are rounded to 6 decimals, so accurate
    to about 5.
    """
    named = [name for name in self_scores.columns if name.startswith(_PREFIXES)]
    found = means(self_scores, ["question_id", "source"], named)
    rows = []
    for row in found.to_dicts():
        against = benchmark[row["question_id"]].sources
        for other in against:
            values = [row[share_name(metric, other)] for metric in BY_SOURCE]
            whole = [None if value is None else value * len(against) for value in values]
            rows.append(
                (row["question_id"], row["source"], other, *whole, _mean_over_sources(whole))
            )
    numbers = dict.fromkeys([*BY_SOURCE, "both"], pl.Float64)
    schema = {**dict.fromkeys(_KEYS, pl.String), **numbers}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _mean_over_sources(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def sources_overall(compared: pl.DataFrame) -> pl.DataFrame:
    """Average `sources_compared`: `source`, `against`, number of `questions` with both, and the means."""
    keys = _KEYS[1:]
    counts = compared.group_by(keys, maintain_order=True).len("questions")
    numbers = means(compared, keys, [*BY_SOURCE, "both"])
    return counts.with_columns(pl.col("questions").cast(pl.Int64)).join(
        numbers, on=keys, maintain_order="left"
    )


def sources_by_runs(benchmark: Benchmark, responses: pl.DataFrame) -> pl.DataFrame:
    """Correlate the scores of runs with one source and with another, or with all sources.

    Columns: `source`, `other` (null: all sources together), number of `questions` with both, `runs`,
    `pearson` and `spearman` of the runs' means of Fluency and Truthfulness (null for fewer than three runs).
    `responses` as returned by `scored_runs`.
    """
    names = benchmark.sources
    found = means(responses, ["run", "question_id"], [*BY_SOURCE, *share_names(names)])
    everyone = (*names, None)
    values = {source: _source_means_by_question(benchmark, found, source) for source in everyone}
    rows = []
    for source, other in combinations(everyone, 2):
        common = sorted(values[source].keys() & values[other].keys())
        one, two = (_source_means_by_run(values[name], common) for name in (source, other))
        questions = len({question for _, question in common})
        rows.append((source, other, questions, len(one), pearson(one, two), spearman(one, two)))
    schema = {
        "source": pl.String,
        "other": pl.String,
        "questions": pl.Int64,
        "runs": pl.Int64,
        "pearson": pl.Float64,
        "spearman": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _source_means_by_question(
    benchmark: Benchmark, found: pl.DataFrame, source: str | None
) -> dict[tuple[str, str], float]:
    """Returns means of Fluency and Truthfulness by run and question with the source (`None`: all)."""
    values = {}
    for row in found.to_dicts():
        own = benchmark[row["question_id"]].sources
        if source is None:
            value = (row["fluency"] + row["truthfulness"]) / 2
        elif source in own:
            value = (
                (row[share_name("fluency", source)] + row[share_name("truthfulness", source)])
                / 2
                * len(own)
            )
        else:
            continue
        values[row["run"], row["question_id"]] = value
    return values


def _source_means_by_run(
    values: dict[tuple[str, str], float], common: list[tuple[str, str]]
) -> list[float]:
    """Returns the mean over questions for each run."""
    runs: dict[str, list[float]] = {}
    for run, question in common:
        runs.setdefault(run, []).append(values[run, question])
    return [math.fsum(found) / len(found) for found in runs.values()]
