"""Sign-flip permutation tests of paired differences."""

from collections.abc import Iterator

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
    """Returns p-values adjusted for the false discovery rate, in the order of `p`: one axis, possibly empty.

    Of the tests with at most 0.05, at most 5 % are expected to be false findings, if tests are independent
    or depend on each other positively. The i-th smallest of m becomes the smallest of m·p_k/k for k = i … m.
    Source: Y. Benjamini & Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal
    Statistical Society B 57 (1995). Time O(m log m). Raises `InputError` unless all p are numbers from 0
    to 1.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    found = checks.probabilities(p, "p")
    order = np.argsort(found, kind="stable")
    stepped = found[order] * (len(found) / np.arange(1, len(found) + 1))
    adjusted = np.empty(len(found))
    adjusted[order] = np.minimum.accumulate(stepped[::-1])[::-1]
    return adjusted
