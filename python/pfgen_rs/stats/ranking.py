"""Ranges of ranks that paired tests cannot exclude, of all runs together and of a single one; and tiers."""

import itertools
import math
from typing import Any, TypeAlias

from pfgen_rs.lazy import ArrayLike, Floats, NDArray, np
from pfgen_rs.stats import checks
from pfgen_rs.stats.permutation import benjamini_hochberg, flips, holm_by_row, is_exact

Flags: TypeAlias = "NDArray[np.bool_]"
_NO_DIFFERENCE = 1e-12
_ROUNDING = 1 + 1e-9  # of sums in another order
_DRAWS = (
    999  # of signs, or as many as leave so many that may reach further than what is significant:
)
_BEYOND = 5
_STEPS = 256  # of r, for what a step down leaves out
_SKEWNESS = 2.0  # of a few questions is less than that of all that could be asked
_SEED = 0
_AT_ONCE = 64  # pairs, whose flipped sums stay in a processor's cache


def rank_ranges(means: ArrayLike, *, level: float = 0.95) -> list[tuple[int, int]]:
    """Returns for each run the best and the worst rank that tests of all pairs together cannot exclude.

    `means`: the mean of each question in each run, float64, shape (runs, questions). The best rank is 1 + the
    number of runs that are significantly better, the worst is n - the number of runs that are significantly
    worse. With probability `level`, all ranges together contain the true ranks.

    Signs of the means of a question are flipped at random, the same for all runs; the largest paired t of any
    pair in each of these draws says how large it becomes where no run is better, however runs resemble each
    other (the "max t" of P. H. Westfall & S. S. Young, *Resampling-Based Multiple Testing* (1993)). A pair is
    significant whose own t exceeds that of all but a share of 1 - `level` of the draws. Such pairs are left
    out and the others compared again, until none follows (J. P. Romano & M. Wolf, "Exact and approximate
    stepdown methods for multiple hypothesis testing", JASA 100 (2005)), in steps of 1/256 of
    r = t/√(questions - 1 + t²). Where differences are symmetric, this is exact. Differences of real questions
    are skewed, so the own t is the smaller of Student's and that corrected for skewness (P. Hall, "On the
    removal of skewness by transformation", JRSS B 54 (1992)). Twice the skewness of the questions is assumed,
    since few show less than there is. In 3,000 draws of questions of 24 real runs, shifted to equal means, a
    level of 0.95 erred in 4.0 ± 0.7 % with 50 questions, 6.2 ± 0.9 % with 30, and 8.7 ± 1.0 % with 14
    (Holm's correction of all pairs: 4.8 %, 7.7 %, 10.6 %), and in 3.8 ± 0.7 % with 50 of random signs.

    Signs are drawn 999 times, from a fixed seed; for a level above 0.995, so often that five draws may lie
    beyond. Up to nine questions have all choices of signs; with fewer than six, level 0.95 excludes no rank.
    Each range is widened to contain that of `own_rank_ranges`, which is for the rank of one run, named
    beforehand. Means that differ by less than 1e-12 are equal.

    Time O(runs² · (questions + draws)), 1 s for 1,000 runs; memory O(runs²).
    Raises `InputError` if `means` has another shape or values that are not finite numbers, and
    `SettingsError` for an invalid level.

    >>> better = [0.9, 0.8, 0.9, 0.7, 0.9, 0.8]
    >>> rank_ranges([better, [0.1, 0.1, 0.2, 0.2, 0.0, 0.1]])
    [(1, 1), (2, 2)]
    """
    return RankTests(means, level).joint()


def own_rank_ranges(means: ArrayLike, *, level: float = 0.95) -> list[tuple[int, int]]:
    """Returns for each run the best and the worst rank that its own tests against the others cannot exclude.

    Student's t-tests (two-sided, paired over questions), with Holm's correction for the n - 1 comparisons of
    this run alone (S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
    of Statistics 6 (1979)). `means` and what follows from significant differences: as for `rank_ranges`. With
    fewer than two questions, no rank is excluded.

    A true rank is 1 + the number of runs that are truly better. A range can miss it only if one of the run's
    n - 1 tests errs: finds a difference where there is none, which Holm's correction allows with probability
    at most 1 - `level`, or one in the wrong direction, which is rarer (simulations say so). The range holds
    for one run that was named before looking at the scores. It does not hold for all runs at once, nor for a
    run that was picked by its rank, such as the best: each run has its own chance to err, and they add up.
    `rank_ranges` holds there, too, and its ranges contain these.

    Time O(runs² · questions), memory and errors as for `rank_ranges`.

    >>> own_rank_ranges([[0.9, 0.8, 0.9], [0.1, 0.1, 0.2]])
    [(1, 1), (2, 2)]
    """
    return RankTests(means, level).own()


def tiers(means: ArrayLike, *, level: float = 0.95) -> list[int]:
    """Returns the tier of each run, from 1; the rows of `means` come best first.

    All pairs of runs are compared by Student's paired t-test, corrected by `benjamini_hochberg`: of the
    differences that are found, at most a share of 1 - `level` is expected to be none (the false discovery
    rate). Going down, a run begins a new tier if it differs significantly from the best of the current tier,
    which is its first.

    So the best of a tier differs from the best of the one before it. Two other runs of two tiers may be
    alike, and runs of a tier need not be: their differences were not found. The rate is that of differences,
    not of tiers. It is proved for tests that depend on each other positively (Y. Benjamini & D. Yekutieli,
    Annals of Statistics 29 (2001)), which not all pairs of runs do. Tiers change with the runs compared.

    `means`, time, memory and errors: as for `own_rank_ranges`.

    >>> tiers([[0.9, 0.8, 0.9], [0.8, 0.9, 0.8], [0.1, 0.1, 0.2]])
    [1, 1, 2]
    """
    return RankTests(means, level).tiers()


class RankTests:
    """Paired tests of every two runs, from which ranges and tiers follow.

    `means`: float64, shape (runs, questions). Memory O(runs²). Errors are those of `rank_ranges`.
    """

    def __init__(self, means: ArrayLike, level: float) -> None:
        checks.check_level(level)
        self._means = checks.numbers(means, "means", dimensions=2)
        self._error = 1 - level
        runs, questions = self._means.shape
        self._upper = np.triu_indices(runs, 1)
        rows = [_compared(self._means[i], self._means[i + 1 :]) for i in range(runs)]
        t, self._r, self._scale = np.hstack([np.zeros((3, 0)), *rows])
        # A test of fewer than two questions says nothing: its t is 0.
        self._p = checks.two_sided_p(t, max(questions - 1, 1))
        self._is_better = self._square(t > 0)
        self._is_better[self._upper[::-1]] = t < 0

    def _square(self, pairs: "NDArray[Any]") -> "NDArray[Any]":
        """Returns values of pairs as a symmetric matrix of runs."""
        found = np.zeros((len(self._means), len(self._means)), dtype=pairs.dtype)
        found[self._upper] = found[self._upper[::-1]] = pairs
        return found

    def own(self) -> list[tuple[int, int]]:
        """Returns `own_rank_ranges`."""
        runs = len(self._means)
        others = ~np.eye(runs, dtype=bool)
        apart = np.zeros((runs, runs), dtype=bool)
        by_row = self._square(self._p)[others].reshape(runs, max(runs - 1, 0))
        apart[others] = (holm_by_row(by_row) <= self._error).ravel()
        # Each run by its own tests: those of the other run of a pair may decide differently.
        better, worse = apart & self._is_better.T, apart & self._is_better
        return _rank_ranges(better.sum(axis=1), worse.sum(axis=1))

    def tiers(self) -> list[int]:
        """Returns `tiers`."""
        apart = self._square(benjamini_hochberg(self._p) <= self._error)
        found: list[int] = []
        best = 0
        for run in range(len(apart)):
            best = run if apart[best, run] else best
            found.append((found[-1] if found else 0) + (best == run))
        return found

    def joint(self) -> list[tuple[int, int]]:
        """Returns `rank_ranges`."""
        found = ranges(self._square(self._r > self._limit()) & self._is_better)
        return [
            (min(low, own_low), max(high, own_high))
            for (low, high), (own_low, own_high) in zip(found, self.own(), strict=True)
        ]

    def _limit(self) -> float:
        """Returns the r from which differences are significant; each turn leaves out those that are."""
        runs, questions = self._means.shape
        draws = max(_DRAWS, math.ceil(_BEYOND / self._error) - 1)
        if runs < 2 or questions < 2:
            return math.inf
        blocks = [self._largest(self._means @ s.T) for s in flips(questions, draws, _SEED)]
        most = np.maximum.accumulate(np.concatenate(blocks, axis=1), axis=0)
        drawn = 0 if is_exact(questions, draws) else 1  # the observed signs, unless among the flips
        count = most.shape[1]
        place = count - 1 + drawn - math.floor(self._error * (count + drawn))
        limit, step = math.inf, _STEPS
        while place < count and (lower := float(np.sort(most[step])[place]) * _ROUNDING) < limit:
            limit, step = lower, min(int(lower * _STEPS), _STEPS)
        return limit

    def _largest(self, sums: Floats) -> Floats:
        """Returns the largest r of each flip among the pairs at each step of their own r.

        `sums`: of the flipped means of each run, shape (runs, flips).
        """
        most = np.zeros((_STEPS + 1, sums.shape[1]))
        steps = (self._r * _STEPS).astype(int)
        order = np.argsort(steps, kind="stable")
        bounds = np.searchsorted(steps[order], np.arange(_STEPS + 2))
        for step, (start, stop) in enumerate(itertools.pairwise(bounds.tolist())):
            for begin in range(start, stop, _AT_ONCE):
                pairs = order[begin : min(begin + _AT_ONCE, stop)]
                reached = sums[self._upper[0][pairs]] - sums[self._upper[1][pairs]]
                np.abs(reached, out=reached)
                reached *= self._scale[pairs, None]
                np.maximum(most[step], reached.max(axis=0), out=most[step])
        return most


def ranges(better: Flags) -> list[tuple[int, int]]:
    """Returns best and worst rank of each run; `better[i, j]`: run i is significantly better than run j."""
    return _rank_ranges(better.sum(axis=0), better.sum(axis=1))


def _rank_ranges(better: "NDArray[np.int64]", worse: "NDArray[np.int64]") -> list[tuple[int, int]]:
    """Returns best and worst ranks, from the numbers of runs that are better and worse than each."""
    return list(zip((1 + better).tolist(), (len(worse) - worse).tolist(), strict=True))


def _compared(one: Floats, others: Floats) -> Floats:
    """Returns t, r, and what makes an r of a flipped sum of differences, of a run and others: three rows.

    t is infinite if all differences are the same; r is that of the smaller of t and what corrects it.
    """
    questions = len(one)
    if questions < 2:
        return np.zeros((3, len(others)))
    differences = one - others
    mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
    mean[np.abs(mean) < _NO_DIFFERENCE] = 0.0
    cubes = ((differences - differences.mean(axis=1, keepdims=True)) ** 3).sum(axis=1)
    unbiased = questions / ((questions - 1) * (questions - 2)) if questions > 2 else 0.0
    root = math.sqrt(questions)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num(mean / (spread / root), nan=0.0, posinf=np.inf, neginf=-np.inf)
        skew = _SKEWNESS * unbiased * cubes / spread**3
        bent = t + skew * t**2 / (3 * root) + skew**2 * t**3 / (27 * questions) + skew / (6 * root)
        least = np.minimum(np.abs(t), np.maximum(np.sign(t) * bent, 0.0))
        r = np.where(spread > 0, least / np.sqrt(questions - 1 + least**2), np.isinf(t))
        size = np.sqrt(questions * (differences**2).sum(axis=1))
        return np.stack([t, r, np.where(size > 0, 1 / size, 0.0)])
