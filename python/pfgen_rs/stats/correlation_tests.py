"""What a correlation is worth: p-values, tests of two that share a variable, and partial ones.

Also intervals over clusters of items that are not independent, and correlations without the noise of their
measurements.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from pfgen_rs.errors import InputError
from pfgen_rs.lazy import ArrayLike, Floats, NDArray, np
from pfgen_rs.stats import checks, correlation

Test = Literal["williams", "steiger", "ranks"]
_FEWEST = 4  # items of a test of two correlations
FEWEST_CLUSTERS = 5
"""The least number of clusters that an interval is from: the spread of fewer says little."""
_NO_RESIDUAL = 1e-20  # a sum of squares of rounding errors, of deviations of at most 1
_SLACK = 1e-9  # of a determinant


def correlation_p(r: float, items: int, controls: int = 0) -> float | None:
    """Returns the two-sided p-value of r = 0, by Student's t with items - 2 - controls degrees of freedom.

    `None` without a degree of freedom. As scipy's `pearsonr` (and `spearmanr`). Raises `InputError` unless r
    is a number from -1 to 1.
    """
    r = checks.correlation_number(r)
    freedom = checks.count_number(items, "number of items") - 2 - controls
    if freedom < 1:
        return None
    t = math.inf if abs(r) == 1.0 else r * math.sqrt(freedom / (1 - r * r))
    return float(checks.two_sided_p(np.array([t]), freedom)[0])


class Difference(NamedTuple):
    """Of two correlations that share a variable: the difference with bounds, the statistic and its p-value.

    `None` where they are undefined: the other two variables are the same, or too few items.
    """

    value: float
    low: float | None
    high: float | None
    statistic: float | None
    p: float | None


def compare_dependent(
    one: float,
    other: float,
    between: float,
    items: int,
    *,
    test: Test = "williams",
    level: float = 0.95,
) -> Difference:
    """Test whether x correlates with y (`one`) as with z (`other`), on the same `items`.

    `between`: the correlation of y and z. `williams`: t with items - 3 degrees of freedom (E. J. Williams,
    "The comparison of regression variables", Journal of the Royal Statistical Society B 21 (1959)), the
    default since it errs as often as it says for few items. `steiger`: normal z of Fisher's transforms, whose
    covariance is taken at the mean correlation (J. H. Steiger, "Tests for comparing elements of a
    correlation matrix", Psychological Bulletin 87 (1980), equation 14). `ranks`: the same for Spearman's
    correlations, with the variance of `fisher_interval`. The bounds are those of G. Y. Zou, "Toward using
    confidence intervals to compare correlations", Psychological Methods 12 (2007). All assume independent
    items, of a normal distribution as far as the correlations see it. Raises `InputError` for correlations
    that three variables cannot have, and `SettingsError` for an unknown test.
    """
    checks.check_choice(test, "test", Test)
    one, other, between = map(checks.correlation_number, (one, other, between))
    spread = 1 - one**2 - other**2 - between**2 + 2 * one * other * between
    if spread < -_SLACK:
        raise InputError(f"no three variables correlate by {one:g}, {other:g} and {between:g}")
    n, gap = checks.count_number(items, "number of items"), one - other
    if n < _FEWEST or abs(between) == 1.0 or max(abs(one), abs(other)) == 1.0:
        return Difference(gap, None, None, None, None)
    mean = (one + other) / 2
    if test == "williams":
        below = 2 * (n - 1) / (n - 3) * max(spread, 0.0) + mean**2 * (1 - between) ** 3
        statistic = gap * math.sqrt((n - 1) * (1 + between) / below)
        p = float(checks.two_sided_p(np.array([statistic]), n - 3)[0])
    else:
        variance = (2 - 2 * _shared(mean, mean, between)) / (n - 3)
        apart = math.atanh(one) - math.atanh(other)
        statistic = apart / math.sqrt(variance * (1 + mean**2 / 2 if test == "ranks" else 1))
        p = math.erfc(abs(statistic) / math.sqrt(2))
    low, high = _zou_bounds(one, other, _shared(one, other, between), n, level, test)
    return Difference(gap, low, high, statistic, p)


def _shared(one: float, other: float, between: float) -> float:
    """Returns the asymptotic correlation of two correlations that share a variable."""
    squares = one**2 + other**2
    above = between * (1 - squares) - one * other * (1 - squares - between**2) / 2
    return above / ((1 - one**2) * (1 - other**2))


def _zou_bounds(
    one: float, other: float, shared: float, items: int, level: float, test: Test
) -> tuple[float, float]:
    ranks = test == "ranks"
    bounds = [correlation.fisher_interval(r, items, level, ranks=ranks) for r in (one, other)]
    (a, b), (c, d) = (np.array(bounds, np.float64).T - [one, other]).tolist()
    down, up = (
        math.sqrt(max(x * x + y * y - 2 * shared * x * y, 0.0)) for x, y in ((-a, d), (c, -b))
    )
    return one - other - down, one - other + up


def partial_correlation(
    x: ArrayLike, y: ArrayLike, controls: Sequence[ArrayLike], *, ranks: bool = False
) -> float | None:
    """Returns the correlation of what linear regressions on the controls leave of x and y.

    `ranks`: of the ranks of all (ties have their mean rank), Spearman's. `None` where the controls leave
    nothing of either, or fewer than three items more than controls. Raises `InputError` for lists of
    different lengths.
    """
    lists = [checks.paired_numbers(x, each)[1] for each in (x, y, *controls)]
    if len(lists[0]) < 3 + len(controls):
        return None
    if ranks:
        lists = [correlation.mid_ranks(each) for each in lists]
    one, other, *known = (_unit(each) for each in lists)
    design = np.stack([np.ones(len(one)), *known], axis=1)
    left = [each - design @ np.linalg.lstsq(design, each, rcond=None)[0] for each in (one, other)]
    if min(float(rest @ rest) for rest in left) <= _NO_RESIDUAL:
        return None
    return correlation.pearson(*left)


def _unit(values: Floats) -> Floats:
    """Returns deviations from the mean, scaled so that the largest is 1; zeros of a constant."""
    centred = values - values.mean()
    return np.asarray(centred / (np.abs(centred).max() or 1.0))


def cluster_intervals(
    x: ArrayLike,
    y: ArrayLike,
    clusters: NDArray[np.int64],
    *,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[correlation.Bounds, correlation.Bounds]:
    """Returns intervals of Pearson's and Spearman's correlation by the bootstrap over clusters of items.

    `clusters`: the number of each item's cluster, from 0. Percentiles of Fisher's transform, stretched about
    the estimate by t/z with clusters - 1 degrees of freedom, as intervals from few clusters are too short
    otherwise. `None` for fewer than five clusters. Raises `InputError` for lists of different lengths.
    """
    number = int(np.max(clusters, initial=-1)) + 1
    if number < FEWEST_CLUSTERS:
        return (None, None), (None, None)
    counts = correlation.group_resamples(number, resamples, seed)
    stretch = checks.two_sided_quantile(level, number - 1) / checks.normal_quantile(level)
    drawn = correlation.resampled_moments(x, y, clusters, counts).pearson
    ranked = correlation.resampled_spearman(x, y, clusters, counts)

    def stretched(r: float | None, drawn: Floats) -> correlation.Bounds:
        with np.errstate(divide="ignore"):
            low, high = correlation.percentile_interval(np.arctanh(drawn), level)
        if r is None or low is None or high is None or abs(r) == 1.0:
            return None, None
        z = math.atanh(r)
        low, high = (math.tanh(z + stretch * (bound - z)) for bound in (low, high))
        return low, high

    r, rho = correlation.pearson(x, y), correlation.spearman(x, y)
    return stretched(r, drawn), stretched(rho, ranked)


def reliability(values: ArrayLike, errors: ArrayLike) -> float | None:
    """Returns the share of the variance of measured values that is not the noise of their measurement.

    `errors`: the standard error of each. 1 - mean squared error / variance; `None` if that is not positive,
    or of fewer than two values. Raises `InputError` for lists of different lengths.
    """
    found, noise = checks.paired_numbers(values, errors)
    if len(found) < 2 or not (variance := float(found.var(ddof=1))):
        return None
    share = 1 - float(np.mean(noise**2)) / variance
    return share if share > 0 else None


def disattenuated(
    r: float, items: int, reliabilities: Sequence[float], level: float = 0.95
) -> tuple[float, float | None, float | None]:
    """Returns a correlation as it would be without noise, r / √(product of reliabilities), and its interval.

    The bounds are Fisher's, divided alike (so reliabilities count as known), within -1 and 1; the correlation
    itself may exceed 1, which says that a reliability is too low. Source: C. Spearman, "The proof and
    measurement of association between two things", American Journal of Psychology 15 (1904). Raises
    `InputError` unless reliabilities are above 0 and at most 1.
    """
    for share in reliabilities:
        if not 0 < share <= 1:
            raise InputError(f"invalid reliability {share:g}: expected a number above 0, up to 1")
    size = math.sqrt(math.prod(reliabilities))
    bounds = correlation.fisher_interval(r, items, level)
    low, high = (None if b is None else max(-1.0, min(1.0, b / size)) for b in bounds)
    return r / size, low, high
