"""Compares runs with each other, paired by question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import polars as pl

from pfgen_rs import lazy
from pfgen_rs.equality import EqualByFields
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import notebook
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.metrics.settings import METRICS, check_metric, with_answered
from pfgen_rs.stats.bootstrap import Resampler, interval, normal_quantile
from pfgen_rs.stats.checks import check_seed, whole_number
from pfgen_rs.stats.estimates import RESAMPLES, Estimate, estimate, resampled_estimate
from pfgen_rs.stats.permutation import holm, ranges, resolution, shown_p, sign_flip_pairs
from pfgen_rs.stats.sample import Sample, check_alike, checked_samples, common_questions
from pfgen_rs.stats.student import MOST_FREEDOM, check_level, two_sided_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy.module("numpy")

Floats: TypeAlias = "NDArray[np.float64]"
Interval = Literal["bootstrap", "student"]
Bounds = tuple[float, float]
POWER = 0.8
"""The power at which differences count as detectable."""

_PERMUTATIONS = 10_000
_MOST_RUNS = 100
# The smallest possible p is 1/permutations, and Holm multiplies it by the number of pairs.
_PERMUTATIONS_A_PAIR = 4


def compare(
    samples: Sequence[Sample],
    *,
    metrics: Sequence[str] = METRICS,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    permutations: int = _PERMUTATIONS,
    seed: int = 0,
    interval: Interval = "bootstrap",
) -> Comparison:
    """Compare every two of 2 to 100 runs in each metric, paired by question.

    Tests are corrected for all pairs of models. Pairs with a system run form a family of their own, so adding
    system runs does not change the other results; if all runs are system runs, they are treated as models.
    Intervals and minimum detectable differences are for each pair alone.

    `interval`: how intervals of differences are made: by a "bootstrap" over questions and trials, or by
    paired Student's t over questions ("student"), which needs no resamples.
    `permutations` is raised to what the correction for all pairs needs: 4·pairs/(1 - level). The same runs
    and seed give the same numbers. 24 runs of 5,000 responses take about 6 s in all metrics.

    Raises `InputError` for runs with the same name, with different signatures, with fewer than two questions
    in common, or without values of a metric, and `SettingsError` for invalid settings.
    """
    check_settings(level, seed)
    for metric in metrics:
        check_metric(metric)
    if not metrics:
        raise SettingsError(f"no metrics: expected at least one of {', '.join(METRICS)}")
    if interval not in get_args(Interval):
        raise SettingsError(
            f"unknown interval {interval!r}: expected one of {', '.join(get_args(Interval))}"
        )
    whole_number(permutations, "number of permutations", 1)
    samples = checked_samples(samples, metrics)
    common, left_out = check_comparable(samples)
    samples = [sample.only(common) for sample in samples]
    if all(sample.system for sample in samples):
        samples = [replace(sample, system=False) for sample in samples]
    pairs = list(combinations(range(len(samples)), 2))
    permutations = max(permutations, math.ceil(_PERMUTATIONS_A_PAIR * len(pairs) / (1 - level)))
    draws = Resampler(len(common), resamples, seed) if interval == "bootstrap" else None
    work = _ComparisonWork(samples, pairs, level, permutations, seed, draws)
    found = {metric: work.compared(metric) for metric in metrics}
    models = [not sample.system for sample in samples]
    return Comparison(
        runs=tuple(sample.name for sample in samples),
        metrics=tuple(metrics),
        level=level,
        compared=common,
        left_out=left_out,
        estimates={metric: estimates for metric, (estimates, _) in found.items()},
        pairs=[pair for _, each in found.values() for pair in each],
        ranks={
            metric: _comparison_ranks(each, models, pairs, level)
            for metric, (_, each) in found.items()
        },
        questions=by_question(samples, pairs, metrics, level),
        categories=by_category(samples, pairs, metrics, level),
        notes=_comparison_notes(samples, left_out, level),
        signature=_signature(samples[0]),
        smallest_p=resolution(len(common), permutations),
    )


class _ComparisonWork:
    """What all metrics of a comparison share: questions are resampled once, if there is a bootstrap."""

    def __init__(
        self,
        samples: Sequence[Sample],
        pairs: list[tuple[int, int]],
        level: float,
        permutations: int,
        seed: int,
        resampler: Resampler | None,
    ) -> None:
        self._samples, self._indices, self._level = samples, pairs, level
        self._permutations, self._seed = permutations, seed
        self._number = len(samples[0].questions)
        self._with_system = np.array([samples[i].system or samples[j].system for i, j in pairs])
        self._resampler = resampler

    def compared(self, metric: str) -> tuple[list[Estimate], list[Pair]]:
        """Every run, and every two of them, in one metric."""
        samples = self._samples
        means = np.stack([sample.means(metric) for sample in samples])
        p = sign_flip_pairs(means, self._indices, permutations=self._permutations, seed=self._seed)
        corrected, family = self._corrected(p)
        tests = zip(*(each.tolist() for each in (p, corrected, family)), strict=True)
        estimates, intervals = self._intervals(metric, means)
        pairs = []
        for (i, j), bounds, (own, adjusted, size) in zip(
            self._indices, intervals, tests, strict=True
        ):
            names = samples[i].name, samples[j].name, metric
            found = self._statistics(means[i] - means[j], bounds)
            pairs.append(Pair(*names, **found, p=own, p_holm=adjusted, family=size))
        return estimates, pairs

    def _intervals(self, metric: str, means: Floats) -> tuple[list[Estimate], list[Bounds | None]]:
        """Every run's estimate, and by pair the bootstrap interval of the difference, if there is one."""
        samples, draws, level = self._samples, self._resampler, self._level
        if draws is None:
            found = [estimate(sample, metric, level=level, resamples=0) for sample in samples]
            return found, [None] * len(self._indices)
        noise = [np.nan_to_num(sample.variances(metric)) / sample.counts for sample in samples]
        errors = [draws.within(sample.values[metric], sample.name) for sample in samples]
        bounds: list[Bounds | None] = []
        for i, j in self._indices:
            differences = means[i] - means[j]
            resampled = draws.means(differences, noise[i] + noise[j], errors[i] - errors[j])
            bounds.append(interval(float(differences.mean()), resampled, self._number, level))
        return [
            resampled_estimate(sample, metric, level, draws, error)
            for sample, error in zip(samples, errors, strict=True)
        ], bounds

    def _corrected(self, p: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Returns p-values corrected within each family, and the size of the family."""
        corrected, sizes = np.empty(len(p)), np.empty(len(p), dtype=np.int64)
        for mine in (self._with_system, ~self._with_system):
            corrected[mine], sizes[mine] = holm(p[mine]), mine.sum()
        return corrected, sizes

    def _statistics(self, differences: Floats, bounds: Bounds | None) -> dict[str, Any]:
        """Returns the fields of `Pair` other than the tests; without `bounds`, those of Student's t."""
        mean = float(differences.mean())
        se = float(differences.std(ddof=1) / np.sqrt(self._number))
        t = two_sided_quantile(self._level, self._number - 1)
        low, high = bounds or (mean - t * se, mean + t * se)
        return {
            "difference": mean,
            "se": se,
            "low": low,
            "high": high,
            "minimum_detectable": (t + normal_quantile(2 * POWER - 1)) * se,
        }


def check_settings(level: float, seed: int) -> None:
    """Raise `SettingsError` for an invalid level or seed of a comparison."""
    check_level(level)
    check_seed(seed)


def check_comparable(samples: Sequence[Sample]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns questions that all runs answer, and the others. Raises what `compare` raises for runs."""
    if not 2 <= len(samples) <= _MOST_RUNS:
        raise InputError(
            f"expected 2 to {_MOST_RUNS} runs to compare, found {len(samples)} (a leaderboard ranks more)"
        )
    check_alike(samples)
    return common_questions(samples)


def _comparison_ranks(
    found: Sequence[Pair], models: Sequence[bool], pairs: list[tuple[int, int]], level: float
) -> list[tuple[int, int] | None]:
    better = np.zeros((len(models), len(models)), dtype=bool)
    for pair, (i, j) in zip(found, pairs, strict=True):
        if pair.p_holm <= 1 - level:
            better[(i, j) if pair.difference > 0 else (j, i)] = True
    ranked = iter(ranges(better[np.ix_(models, models)]))
    return [next(ranked) if is_model else None for is_model in models]


def _signature(sample: Sample) -> str | None:
    """Returns the signature of a sample of the questions compared, which tells if these are not all."""
    if sample.signature is None or sample.asked is None:
        return sample.signature
    return with_answered(sample.signature, len(sample.questions), sample.asked)


def _comparison_notes(
    samples: Sequence[Sample], left_out: Sequence[str], level: float
) -> tuple[str, ...]:
    notes = []
    if left_out:
        some = counted(len(left_out), "question")
        notes.append(f"left out {some} not answered by all runs: {', '.join(left_out)}")
    questions = len(samples[0].questions)
    smallest = 2.0 ** (1 - questions)
    models = sum(not sample.system for sample in samples)
    pairs = max(1, math.comb(models, 2))
    if smallest * pairs > 1 - level:
        notes.append(
            f"with {counted(questions, 'question')}, p-values cannot be smaller than {smallest:.2g}: no "
            "difference is significant"
        )
    single = [sample.name for sample in samples if sample.trials < 2]
    if single:
        notes.append(
            "no estimate of trial noise, since some questions have a single answer: "
            + ", ".join(single)
        )
    return tuple(notes)


# What a comparison of runs finds: every pair with its tests, and all of them together.


_SHOWN = 5  # runs in a `repr`


@dataclass(frozen=True)
class Pair:
    """The comparison of two runs in one metric.

    `difference`: mean over the questions of a's mean minus b's. `se`: its standard error over questions.
    `low`, `high`: interval of the difference from the bootstrap over questions and trials or, with Student's
    t over questions, difference ± t·se (see `compare`). `p`: p-value of
    the sign-flip permutation test. `p_holm`: the same, corrected for the `family` of pairs in this metric
    (see `compare`). `minimum_detectable`: the difference that a test of this pair alone has 80 % power to
    detect: (t + z)·se, with t the quantile for the level of the test with Q - 1 degrees of freedom and z the
    normal quantile for the power (H. S. Bloom, "Minimum detectable effects", Evaluation Review 19 (1995);
    Miller 2024, section 5).
    """

    a: str
    b: str
    metric: str
    difference: float
    se: float
    low: float
    high: float
    p: float
    p_holm: float
    family: int
    minimum_detectable: float

    def turned(self) -> Pair:
        """Returns the same comparison with b first."""
        return replace(
            self, a=self.b, b=self.a, difference=-self.difference, low=-self.high, high=-self.low
        )

    def better_first(self) -> Pair:
        """Returns the same comparison with the better run first."""
        return self.turned() if self.difference < 0 else self


@dataclass(frozen=True, eq=False)
class Comparison(EqualByFields):
    """Two or more runs, compared over the questions that all of them answer.

    `runs`: names, in the given order. `pairs`: every two runs, in each metric. `estimates`, `ranks`: by
    metric, one value per run. A rank range is the best and worst rank among models that the pairwise tests
    cannot exclude; it is `None` for system runs next to models. `smallest_p`: the smallest p-value that the
    permutations can resolve, which stands for all smaller ones; 0 if they are exact. `left_out`: questions
    that only some runs answer. `questions`, `categories`: see `pfgen_rs.stats.comparing`. `notes`: remarks
    for the reader.
    """

    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    level: float
    compared: tuple[str, ...]
    left_out: tuple[str, ...]
    estimates: dict[str, list[Estimate]] = field(repr=False)
    pairs: list[Pair]
    ranks: dict[str, list[tuple[int, int] | None]]
    questions: pl.DataFrame = field(repr=False)
    categories: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()
    signature: str | None = None
    smallest_p: float = 0.0

    def __repr__(self) -> str:
        """Show the means of the first few runs in the first metric, and the signature."""
        metric = self.metrics[0]
        means = [
            f"{shortened(run)!r}: {estimate.mean:.4f}"
            for run, estimate in zip(self.runs[:_SHOWN], self.estimates[metric], strict=False)
        ]
        more = [f"and {len(self.runs) - _SHOWN} more"] if len(self.runs) > _SHOWN else []
        over = counted(len(self.compared), "question")
        shown = f"{metric} over {over}: {', '.join(means + more)}"
        return f"{type(self).__name__}({shown}; signature={self.signature!r})"

    def pair(self, a: str, b: str, metric: str = "average") -> Pair:
        """Returns the comparison of two runs, in this order. Raises `InputError` if there is none."""
        for pair in self.pairs:
            if (pair.a, pair.b, pair.metric) == (a, b, metric):
                return pair
        raise InputError(f"no comparison of {a!r} with {b!r} in {metric!r}, in this order")

    def _repr_html_(self) -> str:
        """For notebooks: runs and pairs in the first metric."""
        return as_html(self, self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        return {
            "runs": list(self.runs),
            "metrics": list(self.metrics),
            "level": self.level,
            "compared": list(self.compared),
            "left_out": list(self.left_out),
            "notes": list(self.notes),
            "signature": self.signature,
            "smallest_p": self.smallest_p,
            "estimates": {
                metric: {run: each.to_dict() for run, each in zip(self.runs, found, strict=True)}
                for metric, found in self.estimates.items()
            },
            "pairs": [asdict(pair) for pair in self.pairs],
            "ranks": {
                metric: {
                    run: None if found is None else list(found)
                    for run, found in zip(self.runs, ranks, strict=True)
                }
                for metric, ranks in self.ranks.items()
            },
            "questions": self.questions.to_dicts(),
            "categories": self.categories.to_dicts(),
        }


def as_html(found: Comparison, notes: Sequence[str]) -> str:
    """HTML for notebooks: runs with intervals and pairs with tests in the first metric, and notes."""
    metric, interval = found.metrics[0], f"{found.level * 100:g} % interval"
    each = zip(found.runs, found.ranks[metric], found.estimates[metric], strict=True)
    runs = [
        (
            name,
            _rank_range(ranks),
            estimate.mean,
            _bounds_text(estimate.low, estimate.high),
        )
        for name, ranks, estimate in sorted(each, key=lambda row: -row[2].mean)
    ]
    of_metric = (pair.better_first() for pair in found.pairs if pair.metric == metric)
    pairs = [
        (p.a, p.b, p.difference, _bounds_text(p.low, p.high), _compared_p_value(p, found))
        for p in of_metric
    ]
    return notebook.document(
        [
            notebook.heading(f"{metric}, {counted(len(found.compared), 'question')}"),
            notebook.table(("run", "rank", "mean", interval), runs),
            notebook.table(("run", "minus", "difference", interval, "p (Holm)"), pairs),
            *map(notebook.paragraph, notes),
            notebook.paragraph(found.signature or ""),
        ]
    )


def _rank_range(ranks: tuple[int, int] | None) -> str | None:
    return None if ranks is None else "–".join(dict.fromkeys(map(str, ranks)))


def _bounds_text(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else f"[{low:.4f}, {high:.4f}]"


def _compared_p_value(pair: Pair, found: Comparison) -> str:
    return shown_p(pair.p_holm, found.smallest_p * pair.family)


# The tables of a comparison: differences by question and by category.


_TEXTS = {"a": pl.String, "b": pl.String, "metric": pl.String}
_MEANS = {"mean_a": pl.Float64, "mean_b": pl.Float64, "difference": pl.Float64}
_BOUNDS = {"low": pl.Float64, "high": pl.Float64}
_ROUNDING = 1e-9  # of equal variances, the degrees of freedom are a whole number
_FEWEST = 4  # questions; with fewer, an interval is wider than anything that scores can be


def by_question(
    samples: Sequence[Sample],
    pairs: Sequence[tuple[int, int]],
    metrics: Sequence[str],
    level: float,
) -> pl.DataFrame:
    """Returns one row per pair, metric and question, in this order.

    Columns: `a`, `b`, `metric`, `question_id`, `category`, `mean_a`, `mean_b`, `difference`, and `low` and
    `high`, the interval of the difference for trial noise (B. L. Welch, "The generalization of
    'Student's' problem", Biometrika 34 (1947), degrees of freedom rounded down); null if a run answers the
    question only once. There is no correction for the number of questions.
    """
    rows: list[tuple[Any, ...]] = []
    for metric in metrics:
        moments = [_question_moments_for_table(sample, metric) for sample in samples]
        for i, j in pairs:
            rows += _question_table_rows(
                samples[i], samples[j], metric, moments[i], moments[j], level
            )
    schema = {**_TEXTS, "question_id": pl.String, "category": pl.String, **_MEANS, **_BOUNDS}
    return pl.DataFrame(rows, schema=schema, orient="row")


def by_category(
    samples: Sequence[Sample],
    pairs: Sequence[tuple[int, int]],
    metrics: Sequence[str],
    level: float,
) -> pl.DataFrame:
    """Returns one row per pair, metric and category, in this order.

    Columns: `a`, `b`, `metric`, `category`, `questions` (their number), `mean_a`, `mean_b`, `difference`, and
    `low` and `high`, the interval of Student's t over the questions of the category; null for fewer than four
    questions. There is no correction for the number of categories.
    """
    first = samples[0]
    categories = np.array(
        [first.categories[question] for question in first.questions], dtype=object
    )
    names = sorted({name for name in categories if name is not None})
    rows: list[tuple[Any, ...]] = []
    for metric, (i, j) in product(metrics, pairs):
        a, b = samples[i].means(metric), samples[j].means(metric)
        for name in names:
            mine = categories == name
            place = (samples[i].name, samples[j].name, metric, name, int(mine.sum()))
            rows.append((*place, *_category_row(a[mine], b[mine], level)))
    schema = {**_TEXTS, "category": pl.String, "questions": pl.Int64, **_MEANS, **_BOUNDS}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _category_row(a: Floats, b: Floats, level: float) -> tuple[float | None, ...]:
    differences = a - b
    mean, number = float(differences.mean()), len(a)
    bounds: tuple[float | None, float | None] = (None, None)
    if number >= _FEWEST:
        se = float(differences.std(ddof=1)) / np.sqrt(number)
        reach = float(two_sided_quantile(level, number - 1) * se)
        bounds = mean - reach, mean + reach
    return float(a.mean()), float(b.mean()), mean, *bounds


def _question_moments_for_table(sample: Sample, metric: str) -> list[tuple[float, float, int]]:
    """Returns mean, variance of the mean, and number of responses of each question."""
    means, counts = sample.means(metric), sample.counts
    variances = sample.variances(metric) / counts
    return list(zip(means.tolist(), variances.tolist(), counts.tolist(), strict=True))


def _question_table_rows(
    a: Sample,
    b: Sample,
    metric: str,
    of_a: list[tuple[float, float, int]],
    of_b: list[tuple[float, float, int]],
    level: float,
) -> list[tuple[Any, ...]]:
    rows = []
    for question, (mean_a, var_a, n_a), (mean_b, var_b, n_b) in zip(
        a.questions, of_a, of_b, strict=True
    ):
        difference = mean_a - mean_b
        low = high = None
        if n_a > 1 and n_b > 1:
            freedom = _welch_freedom(var_a, n_a, var_b, n_b)
            reach = two_sided_quantile(level, freedom) * (var_a + var_b) ** 0.5
            low, high = difference - reach, difference + reach
        place = (a.name, b.name, metric, question, a.categories[question])
        rows.append((*place, mean_a, mean_b, difference, low, high))
    return rows


def _welch_freedom(var_a: float, n_a: int, var_b: float, n_b: int) -> int:
    """Returns the degrees of freedom of the difference of two means with these variances, rounded down."""
    below = var_a**2 / (n_a - 1) + var_b**2 / (n_b - 1)
    if below == 0.0:
        return 1
    return max(1, min(int((var_a + var_b) ** 2 / below + _ROUNDING), MOST_FREEDOM))
