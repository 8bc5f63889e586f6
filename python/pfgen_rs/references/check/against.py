"""How well a set ranks runs as another set does, beside what further sources of that set would do.

The score of a run by a source is taken as what all sources of that kind have in common, and an error of the
source. Two sources share the former alone, so their covariance over runs is its variance, T; what is left of
their variances is that of the error, E. The mean of k fresh sources then correlates with the mean of S by

    T / sqrt((T + E/k) (T + E/S)),

as in the formula of Spearman and Brown (C. Spearman, "Correlation calculated from faulty data", and W. Brown,
"Some experimental results in the correlation of mental abilities", British Journal of Psychology 3 (1910)).
T and E are means over pairs of questions here, since questions may have different sources, and sources are
first brought to one scale.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pfgen_rs import Benchmark, InputError, Question, SettingsError
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.questions.locate import name_of
from pfgen_rs.references.check import scores
from pfgen_rs.stats.correlation import group_resamples, pearson, percentile_interval
from pfgen_rs.studies.metrics import correlation_text, interval_text

GOOD = 0.5
"""Mean of Fluency and Truthfulness above which runs are compared once more."""
FEWEST = 4  # runs, for a ceiling
MOST = 100.0
"""The largest number of sources that a set is said to be worth: more cannot be told from infinitely many."""
_RESAMPLES = 1_000
_DIGITS = 6  # as the shares of sources
_COUNTS = {"one_source": 1, "two_sources": 2, "three_sources": 3, "infinitely_many": np.inf}
_FIGURES = ("ceiling_sources", "ceiling_pearson", *_COUNTS, "worth", "worth_low", "worth_high")
_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(["other", "which"], pl.String),
    **dict.fromkeys(["runs", "organisations", "questions"], pl.Int64),
    **dict.fromkeys(["pearson", "low", "high"], pl.Float64),
    "ceiling_questions": pl.Int64,
    **dict.fromkeys(_FIGURES, pl.Float64),
    "no_ceiling": pl.String,
}


class Variances(NamedTuple):
    """Variances over runs: of what sources share, of the error of one, and of the error of the set's mean."""

    true: float
    source: float
    other: float

    def reached(self, sources: float) -> float:
        """Returns the correlation with the set that so many fresh sources have, perhaps infinitely many."""
        whole = (self.true + self.source / sources) * (self.true + self.other)
        return float(self.true / np.sqrt(whole))

    def worth(self, r: float) -> float:
        """Returns how many fresh sources correlate with the set by r: at most `MOST`, NaN unless r > 0."""
        if not r > 0:
            return np.nan
        beyond = self.true**2 / (r**2 * (self.true + self.other)) - self.true
        return float(self.source / max(beyond, self.source / MOST))


@dataclass(frozen=True, eq=False)
class RunScores:
    """Scores of runs by a set and by the sources of another.

    `own`: float64, shape (runs, questions). `by_source`: shape (runs, columns); a column is a question scored
    with one of its sources there: `questions`, `sources`, numbers from 0, shape (columns,).
    """

    own: Floats
    by_source: Floats
    questions: NDArray[np.int64]
    sources: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of sources of each question."""
        return np.bincount(self.questions)

    def weights(self, questions: NDArray[Any]) -> Floats:
        """Returns what a column counts in sums over questions that count so often."""
        return np.asarray((questions / self.counts)[self.questions])

    def variances(self, runs: NDArray[Any], questions: NDArray[Any]) -> Variances | None:
        """Estimate the variances from the questions that have several sources.

        `runs`, `questions`: how often each counts. The error of a source has a covariance between two
        questions, estimated from the sources that they share; where they share none, it is taken to be the
        usual one. `None` unless T and E are positive: sources agree, and differ.
        """
        chosen = questions * (self.counts > 1)
        if not chosen.any() or np.count_nonzero(runs) < 2:
            return None
        places = np.equal.outer(np.arange(len(chosen)), self.questions).astype(np.float64)
        same = np.equal.outer(self.sources, self.sources)
        covariances = self._on_one_scale(
            np.cov(self.by_source, rowvar=False, fweights=runs, ddof=0), chosen
        )

        def summed(of_columns: Any) -> Any:  # for each two questions
            return places @ of_columns @ places.T

        shared, apart = summed(same), summed(~same)
        true = summed(covariances * ~same) / np.maximum(apart, 1)
        error = summed(covariances * same) / np.maximum(shared, 1) - true
        weights = np.multiply.outer(chosen, chosen) / np.sum(chosen) ** 2
        known = weights * ((shared > 0) & ~np.eye(len(chosen), dtype=bool))
        usual = np.sum(known * error) / np.sum(known) if known.any() else 0.0
        error = np.where(shared > 0, error, usual)
        of_mean = error * shared / (shared + apart)
        true, error, of_mean = (float(np.sum(weights * each)) for each in (true, error, of_mean))
        return Variances(true, error, max(of_mean, 0.0)) if min(true, error) > 0 else None

    def _on_one_scale(self, covariances: Floats, questions: NDArray[Any]) -> Floats:
        """Scale the scores by each source to vary as those by all sources of its questions.

        One source may spread runs more than another, which changes no correlation.
        """
        own = np.equal.outer(np.unique(self.sources), self.sources)
        asked = np.array([np.isin(self.questions, self.questions[columns]) for columns in own])
        parts = own * questions[self.questions], asked * self.weights(questions)
        alone, together = (np.einsum("sc,cd,sd->s", part, covariances, part) for part in parts)
        scale = np.sqrt(together / np.where(alone > 0, alone, np.inf)) @ own
        return np.asarray(covariances * np.multiply.outer(scale, scale))

    def correlation(self, runs: NDArray[Any], questions: NDArray[Any]) -> float:
        """Returns Pearson's correlation of the runs' means by both sets, or NaN; arguments as above."""
        sides = self.own @ questions, self.by_source @ self.weights(questions)
        found = pearson(*(np.repeat(side, runs) for side in sides)) if questions.any() else None
        return np.nan if found is None else found

    def figures(self, organisations: Sequence[str]) -> dict[str, Any]:
        """Returns correlation and ceiling with their intervals; `organisations`: that of each run."""
        width, several = len(self.counts), self.counts > 1
        once = np.ones(len(self.own), np.int64), np.ones(width, np.int64)
        r, ceiling_r, worth = self._measured(*once)
        found: dict[str, Any] = {"questions": width, "pearson": r}
        if r != r:
            return found | {"no_ceiling": "a correlation takes three runs that differ"}
        groups = np.unique(organisations, return_inverse=True)[1]
        if groups.max() < 2:
            groups = np.arange(len(groups))
        runs = group_resamples(int(groups.max()) + 1, _RESAMPLES, 0)[:, groups]
        each = zip(runs, group_resamples(width, _RESAMPLES, 1), strict=True)
        drawn = np.array([self._measured(*counts) for counts in each])
        found["low"], found["high"] = percentile_interval(drawn[:, 0])
        if not several.any():
            return found | {"no_ceiling": "none of the questions has several sources there"}
        variances = self.variances(*once)
        if variances is None or len(runs[0]) < FEWEST:
            agree = "the sources there do not agree, or do not differ"
            return found | {"no_ceiling": agree if variances is None else f"it takes {FEWEST} runs"}
        found |= {name: variances.reached(count) for name, count in _COUNTS.items()}
        found |= {
            "ceiling_questions": several.sum(),
            "ceiling_sources": self.counts[several].mean(),
        }
        found |= {"ceiling_pearson": ceiling_r, "worth": worth}
        found["worth_low"], found["worth_high"] = percentile_interval(drawn[:, 2])
        return found

    def _measured(self, runs: NDArray[Any], questions: NDArray[Any]) -> tuple[float, float, float]:
        """Returns the correlation, that over the questions with several sources, and the set's worth."""
        r, variances = self.correlation(runs, questions), self.variances(runs, questions)
        ceiling_r = self.correlation(runs, questions * (self.counts > 1))
        return r, ceiling_r, variances.worth(ceiling_r) if variances else np.nan


def comparable(benchmark: Benchmark, other: Benchmark, runs: Sequence[object]) -> Benchmark:
    """Returns the other set if it has a question in common, and there are runs. Raises `PfgenError`."""
    if not _pairs(benchmark, other):
        raise InputError(
            "the two sets have no question in common: expected the same texts (ids may differ)"
        )
    if not runs:
        raise SettingsError("sets are compared by the scores they give to runs: name runs (--run)")
    return other


def _pairs(benchmark: Benchmark, other: Benchmark) -> dict[str, Question]:
    """Map the ids of questions to those of the same texts in the other set."""
    return {question.id: other.find(question) for question in benchmark if question in other}


def against(
    benchmark: Benchmark, other: Benchmark, responses: pl.DataFrame, threads: int | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Correlate the scores of runs by two sets: means of Fluency and Truthfulness over common questions.

    Only questions that all runs answer count. The first table has the `other` set's signature, and a row for
    `which` runs, `all` and those `above 0.5` by that set: numbers of `runs`, `organisations` (what names have
    before a slash), `questions`; `pearson`, with its interval from `low` to `high`. The ceiling, null where
    there is none, for the reason given (`no_ceiling`): the number of `ceiling_questions`, which have several
    sources in the other set, and of sources each (`ceiling_sources`, a mean); `ceiling_pearson`, the
    correlation over these questions; that which `one_source`, `two_sources`, `three_sources` and
    `infinitely_many` fresh ones would have; how many the set is `worth`, at most 100, and the interval of
    that. The second table has the means: `run`, `organisation`, `own`, `other`.

    Intervals, of 95 %: questions, and organisations, drawn with replacement 1,000 times (runs, if there are
    fewer than three organisations). Values are accurate to 6 decimals. `responses` as returned by
    `scored_runs`. Raises `InputError` if no common question is answered by all runs.
    """
    pairs = _pairs(benchmark, other)
    asked = responses.filter(pl.col("question_id").is_in(list(pairs)))
    texts = [pairs[question].text for question in asked.get_column("question_id")]
    again = other.score_batch(texts, asked.get_column("answer"), threads=threads)
    theirs = scores.by_source(other, asked.select("run").hstack(again))
    own = scores.by_source(benchmark, asked)[None]
    runs = responses.get_column("run").unique(maintain_order=True).to_list()
    answered = [q for q in pairs if all((run, q) in own for run in runs)]
    if not answered:
        raise InputError("no question that the two sets have in common is answered by all runs")
    columns = [(n, s) for n, q in enumerate(answered) for s in pairs[q].sources]
    found = RunScores(
        np.array([[own[run, q] for q in answered] for run in runs]),
        np.array([[theirs[s][run, pairs[answered[n]].id] for n, s in columns] for run in runs]),
        np.array([n for n, _ in columns]),
        np.array([other.sources.index(s) for _, s in columns]),
    )
    weights = found.weights(np.ones(len(answered))) / len(answered)
    own_means, means = found.own.mean(axis=1), found.by_source @ weights
    organisations = np.array([scores.model_of(run).partition("/")[0] for run in runs])
    rows = []
    for which, chosen in (("all", np.full(len(runs), True)), (f"above {GOOD}", means > GOOD)):
        names = organisations[chosen].tolist()
        part = replace(found, own=found.own[chosen], by_source=found.by_source[chosen])
        about = {"other": other.signature, "which": which, **part.figures(names)}
        rows.append({**about, "runs": len(names), "organisations": len(set(names))})
    by_run = {"run": runs, "organisation": organisations, "own": own_means, "other": means}
    rounded = pl.col(pl.Float64).round(_DIGITS).fill_nan(None)
    table = pl.DataFrame(rows, schema=_SCHEMA).with_columns(rounded)
    return table, pl.DataFrame(by_run).with_columns(rounded)


# What is said of it.


def sentences(table: pl.DataFrame, other: Benchmark) -> Iterator[str]:
    """Yield what the first table says."""
    name = name_of(other.folder) if other.folder else "the other set"
    for row in table.unique("runs", maintain_order=True).to_dicts():  # perhaps all are above it
        runs = counted(row["runs"], "run") + f" {row['which']}" * (row["which"] != "all")
        if row["pearson"] is not None:
            yield (
                f"over {runs} ({counted(row['organisations'], 'organisation')}) and "
                f"{counted(row['questions'], 'question')}, its scores (mean of Fluency and Truthfulness) "
                f"correlate with those of {name!r} with {correlation_text(row['pearson'])} "
                f"({interval_text(row['low'], row['high'])})"
            )
        if row["no_ceiling"]:
            yield f"how many sources of {name!r} rank {runs} as well is unknown: {row['no_ceiling']}"
            continue
        own, *others = (correlation_text(row[name]) for name in ("ceiling_pearson", *_COUNTS))
        yield (
            f"it ranks these {runs} as well as {_worth_text(row['worth'])} sources of that set would "
            f"(plausible: {_worth_text(row['worth_low'])} to {_worth_text(row['worth_high'])}): over the "
            f"{counted(row['ceiling_questions'], 'question')} with several sources it reaches {own}, where "
            "one other source would reach {}, two {}, three {}, infinitely many {}".format(*others)
        )


def _worth_text(sources: float | None) -> str:
    if sources is None:
        return "–"
    return f"{sources:.1f}" if sources < MOST else f"{MOST:.0f} or more"
