"""Compares runs with each other, paired by question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, product
from typing import Any, Literal

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.metrics.settings import METRICS, check_metric
from pfgen_rs.metrics.signature import with_answered
from pfgen_rs.stats import Estimate, Sample, checks, estimates, permutation, ranking

Interval = Literal["bootstrap", "student"]
Bounds = tuple[float, float]
Moments = tuple[float, float, int]
POWER = 0.8
"""The power at which differences count as detectable."""

_PERMUTATIONS = 10_000
_MOST_RUNS = 100
# The smallest possible p is 1/permutations, and Holm multiplies it by the number of pairs.
_PERMUTATIONS_A_PAIR = 4
_SHOWN = 5  # runs in a `repr`
_ROUNDING = 1e-9  # of equal variances, the degrees of freedom are a whole number
_FEWEST = 4  # questions; with fewer, an interval is wider than anything that scores can be


def compare(
    samples: Sequence[Sample],
    *,
    metrics: Sequence[str] = METRICS,
    level: float = 0.95,
    resamples: int = estimates.RESAMPLES,
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
    checks.check_choice(interval, "interval", Interval)
    checks.whole_number(permutations, "number of permutations", 1)
    samples = estimates.checked_samples(samples, metrics)
    common, left_out = check_comparable(samples)
    samples = [sample.only(common) for sample in samples]
    if all(sample.system for sample in samples):
        samples = [replace(sample, system=False) for sample in samples]
    pairs = list(combinations(range(len(samples)), 2))
    permutations = max(permutations, math.ceil(_PERMUTATIONS_A_PAIR * len(pairs) / (1 - level)))
    draws = estimates.Resampler(len(common), resamples, seed) if interval == "bootstrap" else None
    models = [not sample.system for sample in samples]
    found = {}
    for metric in metrics:
        means = np.stack([sample.means(metric) for sample in samples])
        p = permutation.sign_flip_pairs(means, pairs, permutations=permutations, seed=seed)
        tests = _corrected(p, [models[i] and models[j] for i, j in pairs])
        found[metric] = _compared(samples, pairs, metric, level, draws, tests)
    return Comparison(
        runs=tuple(sample.name for sample in samples),
        metrics=tuple(metrics),
        level=level,
        compared=common,
        left_out=left_out,
        estimates={metric: each for metric, (each, _) in found.items()},
        pairs=[pair for _, each in found.values() for pair in each],
        ranks={metric: _ranks(each, models, pairs, level) for metric, (_, each) in found.items()},
        questions=by_question(samples, pairs, metrics, level),
        categories=by_category(samples, pairs, metrics, level),
        notes=_notes(samples, left_out, level, interval),
        signature=_signature(samples[0]),
        smallest_p=permutation.resolution(len(common), permutations),
        interval=interval,
    )


def _corrected(p: Floats, are_models: Sequence[bool]) -> list[tuple[float, float, int]]:
    """Returns p-values of pairs, also corrected within each family, and the size of the family."""
    corrected, sizes = np.empty(len(p)), np.empty(len(p), dtype=np.int64)
    models = np.array(are_models)
    for mine in (models, ~models):
        corrected[mine], sizes[mine] = permutation.holm(p[mine]), mine.sum()
    return list(zip(p.tolist(), corrected.tolist(), sizes.tolist(), strict=True))


def _compared(
    samples: Sequence[Sample],
    pairs: Sequence[tuple[int, int]],
    metric: str,
    level: float,
    draws: estimates.Resampler | None,
    tests: Sequence[tuple[float, float, int]],
) -> tuple[list[Estimate], list[Pair]]:
    """Returns the estimate of every run, and every two of them, in one metric."""
    means = [sample.means(metric) for sample in samples]
    noise = [np.nan_to_num(sample.variances(metric)) / sample.counts for sample in samples]
    errors = [draws.within(each.values[metric], each.name) for each in samples] if draws else []
    alone = [
        estimates.resampled_estimate(sample, metric, level, draws, errors[i] if errors else None)
        for i, sample in enumerate(samples)
    ]
    found = []
    for (i, j), (p, p_holm, family) in zip(pairs, tests, strict=True):
        differences = means[i] - means[j]
        mean, number = float(differences.mean()), len(differences)
        se = float(differences.std(ddof=1) / np.sqrt(number))
        t = checks.two_sided_quantile(level, number - 1)
        low, high = mean - t * se, mean + t * se
        if draws is not None:
            resampled = draws.means(differences, noise[i] + noise[j], errors[i] - errors[j])
            low, high = estimates.interval(mean, resampled, number, level)
        detectable = (t + checks.normal_quantile(2 * POWER - 1)) * se
        a, b = samples[i].name, samples[j].name
        found.append(Pair(a, b, metric, mean, se, low, high, p, p_holm, family, detectable))
    return alone, found


def check_settings(level: float, seed: int) -> None:
    """Raise `SettingsError` for an invalid level or seed of a comparison."""
    checks.check_level(level)
    checks.check_seed(seed)


def check_comparable(samples: Sequence[Sample]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns questions that all runs answer, and the others. Raises what `compare` raises for runs."""
    if not 2 <= len(samples) <= _MOST_RUNS:
        raise InputError(
            f"expected 2 to {_MOST_RUNS} runs to compare, found {len(samples)} (a leaderboard ranks more)"
        )
    estimates.check_alike(samples)
    return estimates.common_questions(samples)


def _ranks(
    found: Sequence[Pair], models: Sequence[bool], pairs: list[tuple[int, int]], level: float
) -> list[tuple[int, int] | None]:
    better = np.zeros((len(models), len(models)), dtype=bool)
    for pair, (i, j) in zip(found, pairs, strict=True):
        if pair.p_holm <= 1 - level:
            better[(i, j) if pair.difference > 0 else (j, i)] = True
    ranked = iter(ranking.ranges(better[np.ix_(models, models)]))
    return [next(ranked) if is_model else None for is_model in models]


def _signature(sample: Sample) -> str | None:
    """Returns the signature of a sample of the questions compared, which tells if these are not all."""
    if sample.signature is None or sample.asked is None:
        return sample.signature
    return with_answered(sample.signature, len(sample.questions), sample.asked)


def _notes(
    samples: Sequence[Sample], left_out: Sequence[str], level: float, interval: Interval
) -> tuple[str, ...]:
    notes = []
    if left_out:
        some = counted(len(left_out), "question")
        notes.append(f"left out {some} not answered by all runs: {', '.join(left_out)}")
    questions = len(samples[0].questions)
    smallest = 2.0 ** (1 - questions)
    pairs = max(1, math.comb(sum(not sample.system for sample in samples), 2))
    if smallest * pairs > 1 - level:
        notes.append(
            f"with {counted(questions, 'question')}, p-values cannot be smaller than {smallest:.2g}: no "
            "difference is significant"
        )
    single = [sample.name for sample in samples if sample.trials < 2]
    if single and interval == "bootstrap":
        why = "since some questions have a single answer"
        notes.append(f"no estimate of trial noise, {why}: {', '.join(single)}")
    return tuple(notes)


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
class Comparison:
    """Two or more runs, compared over the questions that all of them answer.

    `runs`: names, in the given order. `pairs`: every two runs, in each metric. `estimates`, `ranks`: by
    metric, one value per run. A rank range is the best and worst rank among models that the pairwise tests
    cannot exclude; it is `None` for system runs next to models. `smallest_p`: the smallest p-value that the
    permutations can resolve, which stands for all smaller ones; 0 if they are exact. `left_out`: questions
    that only some runs answer. `questions`, `categories`: see `pfgen_rs.stats.comparing`. `notes`: remarks
    for the reader. `interval`: how intervals of differences were made.
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
    interval: Interval = "bootstrap"

    def __repr__(self) -> str:
        """Show the means of the first few runs in the first metric, and the signature."""
        each = list(zip(self.runs, self.estimates[self.metrics[0]], strict=True))
        means = [f"{shortened(run)!r}: {estimate.mean:.4f}" for run, estimate in each[:_SHOWN]]
        if len(each) > _SHOWN:
            means.append(f"and {len(each) - _SHOWN} more")
        over = counted(len(self.compared), "question")
        shown = f"{self.metrics[0]} over {over}: {', '.join(means)}"
        return f"{type(self).__name__}({shown}; signature={self.signature!r})"

    def pair(self, a: str, b: str, metric: str = "average") -> Pair:
        """Returns the comparison of two runs, in this order. Raises `InputError` if there is none."""
        for pair in self.pairs:
            if (pair.a, pair.b, pair.metric) == (a, b, metric):
                return pair
        raise InputError(f"no comparison of {a!r} with {b!r} in {metric!r}, in this order")

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
                    run: each and list(each) for run, each in zip(self.runs, found, strict=True)
                }
                for metric, found in self.ranks.items()
            },
            "questions": self.questions.to_dicts(),
            "categories": self.categories.to_dicts(),
        }


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
        moments = [_moments(sample, metric) for sample in samples]
        for i, j in pairs:
            a, b = samples[i], samples[j]
            for question, of_a, of_b in zip(a.questions, moments[i], moments[j], strict=True):
                place = (a.name, b.name, metric, question, a.categories[question])
                difference = of_a[0] - of_b[0]
                bounds = _bounds(difference, _welch_reach(of_a, of_b, level))
                rows.append((*place, of_a[0], of_b[0], difference, *bounds))
    schema = _schema(question_id=pl.String, category=pl.String)
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
    for metric, (i, j), name in product(metrics, pairs, names):
        mine = categories == name
        a, b = samples[i].means(metric)[mine], samples[j].means(metric)[mine]
        number, differences = len(a), a - b
        mean, reach = float(differences.mean()), None
        if number >= _FEWEST:
            se = float(differences.std(ddof=1)) / np.sqrt(number)
            reach = float(checks.two_sided_quantile(level, number - 1) * se)
        place = (samples[i].name, samples[j].name, metric, name, number)
        rows.append((*place, float(a.mean()), float(b.mean()), mean, *_bounds(mean, reach)))
    schema = _schema(category=pl.String, questions=pl.Int64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _bounds(middle: float, reach: float | None) -> tuple[float | None, float | None]:
    return (None, None) if reach is None else (middle - reach, middle + reach)


def _moments(sample: Sample, metric: str) -> list[Moments]:
    """Returns mean, variance of the mean, and number of responses of each question."""
    counts = sample.counts
    columns = sample.means(metric), sample.variances(metric) / counts, counts
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _welch_reach(a: Moments, b: Moments, level: float) -> float | None:
    """Returns how far the interval of a difference of two means reaches; `None` without variances.

    The degrees of freedom are rounded down.
    """
    (_, var_a, n_a), (_, var_b, n_b) = a, b
    if n_a < 2 or n_b < 2:
        return None
    below, freedom = var_a**2 / (n_a - 1) + var_b**2 / (n_b - 1), 1
    if below != 0.0:
        whole = int((var_a + var_b) ** 2 / below + _ROUNDING)
        freedom = max(1, min(whole, checks.MOST_FREEDOM))
    return float(checks.two_sided_quantile(level, freedom) * (var_a + var_b) ** 0.5)


def _schema(**own: Any) -> dict[str, Any]:
    """Returns the types of columns with means of two runs and their difference, with `own` in the middle."""
    numbers = ("mean_a", "mean_b", "difference", "low", "high")
    return {
        **dict.fromkeys(("a", "b", "metric"), pl.String),
        **own,
        **dict.fromkeys(numbers, pl.Float64),
    }
