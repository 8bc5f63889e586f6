"""Sign-flip permutation tests of paired differences."""

from collections.abc import Iterator
from typing import TypeAlias

from pfgen_rs.lazy import ArrayLike, Floats, NDArray, np
from pfgen_rs.stats import checks

_AT_ONCE = 1 << 20  # numbers in a block of signs
# Sums of the same numbers in another order differ by less, relative to the sum of their absolute values.
_SAME = 1e-12
_EQUAL = 1 + 1e-9
_FEW = 1000  # differences up to which each sign is drawn by itself
_WORD = 64
_WORDS = 8  # up to which counting random bits is faster than drawing from a binomial distribution


def sign_flip(differences: ArrayLike, *, permutations: int = 10_000, seed: int = 0) -> float:
    """Returns the two-sided p-value of the hypothesis that differences are symmetric around 0.

    `differences`: shape (questions,), at least one. Under the hypothesis each is as likely to be d as -d, so
    the observed |Σ d| is ranked among all |Σ ±d|. Up to `permutations` choices of signs are enumerated, and p
    is exact; otherwise m random choices are drawn, of which b reach the observed sum, and
    p = (b + 1)/(m + 1), which is valid for any m.

    Σ d² is the same for all signs, so this is also the test with Student's t as its statistic, and therefore
    asymptotically valid for skewed differences, too. If all differences are 0, p is 1.

    Raises `InputError` for no differences and for values that are not finite numbers (of at most 1e70), and
    `SettingsError` for fewer than one permutation and a negative seed. Time O(permutations · questions).

    Sources: R. A. Fisher, *The Design of Experiments* (1935), section 21; B. Phipson & G. K. Smyth,
    "Permutation p-values should never be zero", Statistical Applications in Genetics and Molecular Biology
    9 (2010).

    >>> sign_flip([1.0, 2.0, 3.0, 4.0])
    0.125
    """
    found = checks.numbers(differences, "differences", least=1)
    _check_permuting(permutations, seed)
    values = np.stack([found, np.zeros_like(found)])
    return float(sign_flip_pairs(values, [(0, 1)], permutations=permutations, seed=seed)[0])


def _check_permuting(permutations: int, seed: int) -> None:
    checks.whole_number(permutations, "number of permutations", 1)
    checks.check_seed(seed)


def sign_flip_pairs(
    means: Floats, pairs: list[tuple[int, int]], *, permutations: int, seed: int
) -> Floats:
    """Returns the p-value of `sign_flip` for several pairs of rows of `means` (shape (runs, questions)).

    All pairs use the same signs, so only sums of single runs are needed: time
    O(permutations · (runs · questions + pairs)).
    """
    first, second = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    sizes = np.abs(means).sum(axis=1)
    observed = np.abs((means[first] - means[second]).sum(axis=1))
    least = observed - _SAME * (sizes[first] + sizes[second])
    reached, count = np.zeros(len(pairs)), 0
    questions = means.shape[1]
    for signs in flips(questions, permutations, seed):
        sums = means @ signs.T
        count += len(signs)
        for i, (a, b) in enumerate(pairs):
            reached[i] += np.count_nonzero(np.abs(sums[a] - sums[b]) >= least[i])
    if is_exact(questions, permutations):
        return reached / count
    return (reached + 1) / (count + 1)


def sign_flip_by_size(
    differences: ArrayLike, *, permutations: int, seed: int, few: int = _FEW
) -> float:
    """Returns the p-value of `sign_flip`, in time that does not grow with permutations · questions.

    Differences of 0 have no sign and are left out. Of many differences, those of the same size are flipped
    together: how many of n are positive is binomial, so only one number per size is drawn. Up to `few`
    differences are flipped one by one. Without differences, or if all are 0, p is 1. Errors are those of
    `sign_flip`.
    """
    found = checks.numbers(differences, "differences")
    _check_permuting(permutations, seed)
    apart = found[found != 0]
    if not len(apart):
        return 1.0
    if len(apart) <= few:
        return sign_flip(apart, permutations=permutations, seed=seed)
    sizes, counts = np.unique(np.abs(apart), return_counts=True)
    random = np.random.default_rng(seed)
    sums = np.zeros(permutations)
    for size, number in zip(sizes.tolist(), counts.tolist(), strict=True):
        sums += size * (2.0 * _fair_coins(random, number, permutations) - number)
    least = abs(float(apart.sum())) - _SAME * float(np.abs(apart).sum())
    return (int(np.count_nonzero(np.abs(sums) >= least)) + 1) / (permutations + 1)


def _fair_coins(random: "np.random.Generator", coins: int, size: int) -> "NDArray[np.int64]":
    """Returns numbers of heads among fair coins: binomial with probability 1/2."""
    if coins > _WORD * _WORDS:
        return random.binomial(coins, 0.5, size)
    heads = np.zeros(size, dtype=np.int64)
    for start in range(0, coins, _WORD):
        bits = min(_WORD, coins - start)
        heads += np.bitwise_count(random.integers(0, 1 << bits, size, dtype=np.uint64))
    return heads


def is_exact(questions: int, permutations: int) -> bool:
    """Whether all choices of signs are enumerated."""
    return questions < 63 and 2**questions <= permutations


def resolution(questions: int, permutations: int) -> float:
    """Returns the smallest p-value that random signs can give; 0 if p is exact."""
    return 0.0 if is_exact(questions, permutations) else 1 / (permutations + 1)


def least_p(questions: int) -> float:
    """Returns the smallest p-value that a test over so many questions can have: that of one sign."""
    return 2.0 ** (1 - questions)


def permutations_text(smallest: float) -> str:
    """Says of how many random signs `smallest` is the resolution: "10,000 permutations"."""
    return f"{round(1 / smallest) - 1:,} permutations"


def resolution_text(smallest: float) -> str:
    """A caption for a table of p-values that random signs resolve so far."""
    return f"p: from {permutations_text(smallest)}, so not below {smallest:.2g}"


def is_bound(p: float, smallest: float) -> bool:
    """Whether p is no more than what random signs resolve, so that it stands for all below it."""
    return p <= min(smallest * _EQUAL, 0.5)


def shown_p(p: float, smallest: float) -> str:
    """A p-value for a table; `smallest` is what the permutations resolve."""
    if p < 0.0001:
        return "<0.0001"
    return f"{'≤' if is_bound(p, smallest) else ''}{p:.4f}"


def flips(questions: int, permutations: int, seed: int) -> Iterator[Floats]:
    """Yields choices of signs (-1 and 1), in blocks of shape (choices, questions)."""
    rows = max(1, _AT_ONCE // questions)
    exact = is_exact(questions, permutations)
    total = 2**questions if exact else permutations
    random = np.random.default_rng(seed)
    bits = np.arange(questions)
    for start in range(0, total, rows):
        stop = min(start + rows, total)
        if exact:
            ones = (np.arange(start, stop)[:, None] >> bits) & 1
        else:
            ones = random.integers(0, 2, (stop - start, questions), dtype=np.int8)
        yield np.asarray(1.0 - 2.0 * ones, dtype=np.float64)


# Correction for multiple tests.


def holm(p: ArrayLike) -> Floats:
    """Returns Holm-adjusted p-values, in the order of `p`: one axis, empty if there are no tests.

    Rejecting all that are at most 0.05 has at most a 5 % chance of any false rejection. The i-th smallest of
    m becomes the largest of (m - k + 1)·p_k for k = 1 … i, at most 1.
    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979). Time O(m log m). Raises `InputError` unless all p are
    numbers from 0 to 1.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    return holm_by_row(checks.probabilities(p, "p")[None]).ravel()


def holm_by_row(p: Floats) -> Floats:
    """Returns Holm-adjusted p-values, each row of `p` (shape (families, tests)) a family."""
    order = np.argsort(p, axis=1, kind="stable")
    stepped = np.take_along_axis(p, order, axis=1) * np.arange(p.shape[1], 0, -1)
    adjusted = np.empty(p.shape)
    np.put_along_axis(
        adjusted, order, np.minimum(np.maximum.accumulate(stepped, axis=1), 1.0), axis=1
    )
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Returns p-values adjusted for the false discovery rate, in the order of `p`: one axis, may be empty.

    Of those that are at most 0.05, 5 % are false on average at most, where tests are independent or depend on
    each other positively. The i-th smallest of m becomes the least of m·p_k/k for k = i … m, at most 1.
    Source: Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal
    Statistical Society B 57 (1995). Raises `InputError` unless all p are numbers from 0 to 1.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    found = checks.probabilities(p, "p")
    order = np.argsort(found, kind="stable")
    stepped = found[order] * len(found) / np.arange(1, len(found) + 1)
    adjusted = np.empty(len(found))
    adjusted[order] = np.minimum(np.minimum.accumulate(stepped[::-1])[::-1], 1.0)
    return adjusted


# Rank ranges: the ranks that paired tests cannot exclude, of all runs together and of a single one.


Flags: TypeAlias = "NDArray[np.bool_]"
_NO_DIFFERENCE = 1e-12


def rank_ranges(means: ArrayLike, *, level: float = 0.95) -> list[tuple[int, int]]:
    """Returns for each run the best and the worst rank that paired tests cannot exclude.

    `means`: the mean of each question in each run, float64, shape (runs, questions). Every two runs are
    compared by Student's paired t-test over questions, with Holm's correction for all pairs; a significantly
    better run ranks above the other. With probability `level`, all ranges together contain the true ranks
    (M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm, "Inference for ranks", Review of Economic Studies 91
    (2024)), where differences are symmetric or questions many: with real questions, whose differences are
    skewed, 24 equal runs erred in 5 % of draws of 50 questions and in 11 % of draws of 14, for a level of
    0.95. A permutation test would need more than 20 permutations per pair to reach such small p-values.
    With fewer than two questions, no rank is excluded; means that differ by less than 1e-12 are equal.
    `own_rank_ranges` is for the rank of one run, named beforehand.

    Time O(runs² · questions), 0.5 s for 1,000 runs with 50 questions; memory O(runs²).
    Raises `InputError` if `means` has another shape or values that are not finite numbers, and
    `SettingsError` for an invalid level.

    >>> rank_ranges([[0.9, 0.8, 0.9], [0.1, 0.1, 0.2]])
    [(1, 1), (2, 2)]
    """
    return RankTests(means, level).joint()


def own_rank_ranges(means: ArrayLike, *, level: float = 0.95) -> list[tuple[int, int]]:
    """Returns for each run the best and the worst rank that its own tests against the others cannot exclude.

    The tests of `rank_ranges` (two-sided, paired over questions, at the same `level`), with Holm's correction
    for the n - 1 comparisons of this run alone (S. Holm, "A simple sequentially rejective multiple test
    procedure", Scandinavian Journal of Statistics 6 (1979)). The best rank is 1 + the number of runs that are
    significantly better, the worst is n - the number of runs that are significantly worse.

    A true rank is 1 + the number of runs that are truly better. A range can miss it only if one of the run's
    n - 1 tests errs: finds a difference where there is none, which Holm's correction allows with probability
    at most 1 - `level`, or one in the wrong direction, which is rarer (simulations say so). The range holds
    for one run that was named before looking at the scores. It does not hold for all runs at once, nor for a
    run that was picked by its rank, such as the best: each run has its own chance to err, and they add up.
    `rank_ranges` holds there, too, and its ranges contain these.

    Time, memory and errors as for `rank_ranges`.

    >>> own_rank_ranges([[0.9, 0.8, 0.9], [0.1, 0.1, 0.2]])
    [(1, 1), (2, 2)]
    """
    return RankTests(means, level).own()


class RankTests:
    """Student's paired t-tests of every two runs, from which both kinds of ranges follow.

    `means`: float64, shape (runs, questions). Memory O(runs²). Errors are those of `rank_ranges`.
    """

    def __init__(self, means: ArrayLike, level: float) -> None:
        checks.check_level(level)
        found = checks.numbers(means, "means", dimensions=2)
        runs, questions = found.shape
        self._error = 1 - level
        self._upper = np.triu_indices(runs, 1)
        self._t = _t_statistics(found) if questions > 1 else np.zeros((runs, runs))
        # A test of fewer than two questions says nothing.
        self._p = checks.two_sided_p(self._t[self._upper], max(questions - 1, 1))

    def joint(self) -> list[tuple[int, int]]:
        """Returns `rank_ranges`."""
        apart = np.zeros(self._t.shape, dtype=bool)
        apart[self._upper] = holm(self._p) <= self._error
        return ranges((apart | apart.T) & (self._t > 0))

    def own(self) -> list[tuple[int, int]]:
        """Returns `own_rank_ranges`."""
        runs = len(self._t)
        p = np.zeros((runs, runs))
        p[self._upper] = self._p
        p += p.T
        others = ~np.eye(runs, dtype=bool)
        apart = np.zeros((runs, runs), dtype=bool)
        by_row = p[others].reshape(runs, max(runs - 1, 0))
        apart[others] = (holm_by_row(by_row) <= self._error).ravel()
        # Each run by its own tests: those of the other run of a pair may decide differently.
        better, worse = apart & (self._t < 0), apart & (self._t > 0)
        return _rank_ranges(better.sum(axis=1), worse.sum(axis=1))


def ranges(better: Flags) -> list[tuple[int, int]]:
    """Returns best and worst rank of each run; `better[i, j]`: run i is significantly better than run j."""
    return _rank_ranges(better.sum(axis=0), better.sum(axis=1))


def _rank_ranges(better: "NDArray[np.int64]", worse: "NDArray[np.int64]") -> list[tuple[int, int]]:
    """Returns best and worst ranks, from the numbers of runs that are better and worse than each."""
    return list(zip((1 + better).tolist(), (len(worse) - worse).tolist(), strict=True))


def _t_statistics(means: Floats) -> Floats:
    """Returns paired t of every two runs: shape (runs, runs), infinite if all differences are equal."""
    runs, questions = means.shape
    t = np.zeros((runs, runs))
    for i in range(runs - 1):
        differences = means[i] - means[i + 1 :]
        mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
        mean[np.abs(mean) < _NO_DIFFERENCE] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            row = mean / (spread / np.sqrt(questions))
        t[i, i + 1 :] = np.nan_to_num(row, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return t - t.T
