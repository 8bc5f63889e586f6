"""Measures of agreement: concordance, robustness, κ and α beyond chance, position bias, calibration."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

from pfgen_rs import InputError, PfgenError, SettingsError, extras
from pfgen_rs.judge.decisions import NONE, Codes, Indices, letter_codes
from pfgen_rs.judge.verdicts import LETTERS
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.stats.resampling import Interval, Share, clopper_pearson, share_of

Letters = Sequence[str | None]


def concordance(decisions: Letters, verdicts: Letters) -> float:
    """Returns the share of a rater's pairs for which the decision is the rater's verdict.

    A decision of `None` (undecided or invalid) is wrong; pairs without a verdict (`None`) are left out; NaN
    if none are left. Raises `InputError` for unequal lengths and unknown letters.

    Source: judging 5.1 (Morita et al., eq. 1), for one rater.

    >>> concordance(["A", "B", None, "C"], ["A", "C", "B", None])
    0.3333333333333333
    """
    decided, judged = paired_codes(decisions, verdicts)
    number = int(np.count_nonzero(judged != NONE))
    return int(np.count_nonzero(same(decided, judged))) / number if number else math.nan


def robustness(first: Letters, second: Letters) -> float:
    """Returns the share of pairs whose verdicts in both orders are the same letter; NaN for no pairs.

    Letters speak of the pair (those of order 2 are swapped back); `None` (invalid) equals nothing. Raises
    `InputError` for unequal lengths and unknown letters.

    >>> robustness(["A", "B", None], ["A", "A", None])
    0.3333333333333333
    """
    alike = same(*paired_codes(first, second))
    return float(alike.mean()) if len(alike) else math.nan


def paired_codes(first: Letters, second: Letters) -> tuple[Codes, Codes]:
    """Returns codes of letters about the same pairs. Raises `InputError` for unequal lengths."""
    if len(first) != len(second):
        raise InputError(f"{len(first)} and {len(second)} letters: expected the same number")
    return letter_codes(first), letter_codes(second)


def same(first: Codes, second: Codes) -> NDArray[np.bool_]:
    """Whether codes are the same letter; none equals nothing."""
    return np.asarray((first == second) & (first != NONE))


def majority(raters: Codes) -> Codes:
    """Returns the letter that most raters chose for each pair, -1 if several share the lead or none voted.

    `raters`: shape (raters, pairs). A shared lead is no tie between the answers (raters who say A and B do
    not say C), so such pairs have no majority.
    """
    votes = np.stack([np.count_nonzero(raters == code, axis=0) for code in range(len(LETTERS))])
    most = votes.max(axis=0)
    alone = np.count_nonzero(votes == most, axis=0) == 1
    return np.where(alone, votes.argmax(axis=0), NONE).astype(np.int8)


# Beyond chance


def fleiss_kappa(rows: Iterable[Letters], *, allow_missing: bool = False) -> float:
    """Returns Fleiss' κ of two or more raters, one row of letters ("A", "B", "C") per pair.

    With n raters and n_ij of them choosing j for pair i, P_i = (Σ_j n_ij² - n)/(n(n - 1)) and
    κ = (P̄ - P̄e)/(1 - P̄e), NaN if all raters choose the same letter for all pairs.

    Rows in which a rater is missing (`None`, or a shorter row) are an `InputError`; with `allow_missing` the
    value is then Krippendorff's α for nominal data (extra `judge`). Also raises `InputError` for no rows,
    fewer than two raters, and unknown letters.

    Source: J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 76
    (1971).

    >>> round(fleiss_kappa(["AAB", "BBB"]), 6)
    0.25
    """
    listed = [list(row) for row in rows]
    raters = max(map(len, listed), default=0)
    if raters < 2:
        raise InputError("fewer than two raters, or no pairs: there is no Fleiss' kappa")
    codes = letter_codes(value for row in listed for value in row)
    row_of, width = np.repeat(np.arange(len(listed)), [*map(len, listed)]), len(LETTERS)
    flat = (row_of * width + codes)[codes != NONE]
    votes = np.bincount(flat, minlength=len(listed) * width).reshape(-1, width)
    present = votes.sum(axis=1)
    short = np.flatnonzero(present != raters)
    if not len(short):
        squares, totals = np.array((votes * votes).sum(), float), votes.sum(axis=0).astype(float)
        return float(fleiss_of_sums(squares, totals, np.array(len(votes), float), raters))
    if allow_missing:
        return alpha_from_counts(votes)
    raise InputError(
        f"raters are missing in {len(short)} of {len(listed)} rows; the first is row {short[0] + 1}, with "
        f"{present[short[0]]} of {raters}: leave these rows out, or use allow_missing (Krippendorff's alpha)"
    )


def fleiss_of_sums(squares: Floats, totals: Floats, pairs: Floats, raters: int) -> Floats:
    """Returns κ from Σn_ij², Σ_i n_ij (last axis: categories), and the number of pairs; NaN if undefined."""
    votes = pairs * raters
    with np.errstate(divide="ignore", invalid="ignore"):
        agreed = (squares - votes) / (votes * (raters - 1))
        chance = ((totals / votes[..., None]) ** 2).sum(axis=-1)
        kappa = (agreed - chance) / (1 - chance)
    return np.where(totals.max(axis=-1) == votes, np.nan, kappa)


def alpha_from_counts(counts: NDArray[np.integer[Any]]) -> float:
    """Returns Krippendorff's α for nominal data, computed by the package `krippendorff` (extra `judge`).

    `counts`: shape (pairs, categories); rows may have any sum. Pairs with fewer than two raters say nothing
    about agreement and do not count. NaN if no pair is left, or if one category takes all.
    """
    try:
        import krippendorff
    except ImportError as error:
        raise extras.missing("krippendorff", "judge", error, PfgenError) from error
    paired = counts[counts.sum(axis=1) > 1]
    if np.count_nonzero(paired.sum(axis=0)) < 2:
        return math.nan
    found = krippendorff.alpha(value_counts=paired.astype(np.int64), level_of_measurement="nominal")
    return float(found)


def alpha_unit_sums(counts: NDArray[np.integer[Any]]) -> tuple[Indices, Indices, int]:
    """Returns what α adds up: disagreements of each pair, values of each pair, and the scale of the former.

    Disagreements are Σ_{c≠k} n_c n_k/(m - 1), times the scale, so that they are integers; values are n_c,
    shape (pairs, categories). Both are 0 for pairs with fewer than two raters.
    """
    wide = counts.astype(np.int64)
    raters = wide.sum(axis=1)
    paired = raters > 1
    scale = math.lcm(*np.unique(raters[paired] - 1).tolist())
    unequal = raters**2 - (wide * wide).sum(axis=1)
    values = np.where(paired[:, None], wide, 0)
    return np.where(paired, unequal * (scale // np.maximum(raters - 1, 1)), 0), values, scale


def alpha_of_sums(disagreements: Floats, values: Floats) -> Floats:
    """Returns α from the sums over pairs of what `alpha_unit_sums` returns (disagreements not scaled)."""
    number = values.sum(axis=-1)
    expected = number**2 - (values**2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            expected > 0, 1 - (number - 1) * disagreements / np.maximum(expected, 1), np.nan
        )


def cohen_kappa(
    first: Sequence[str | float | None] | NDArray[Any],
    second: Sequence[str | float | None] | NDArray[Any],
    *,
    weights: Literal["linear", "quadratic"] | None = None,
) -> float:
    """Returns Cohen's κ of two raters: letters (`None` is a label of its own), or numbers such as ratings.

    `weights`: disagreements count with |a - b| (linear) or (a - b)² (quadratic) of the *values*, so ratings
    that nobody gives do not matter; numbers only. NaN if chance alone explains everything (both raters give
    the same single label). Raises `InputError` for unequal lengths, no values, unknown letters, and numbers
    that are missing or not finite.

    Sources: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
    Measurement 20 (1960); "Weighted kappa", Psychological Bulletin 70 (1968).

    >>> cohen_kappa([1, 2, 3, 4], [1, 2, 3, 2], weights="quadratic")
    0.5
    """
    if len(first) != len(second):
        raise InputError(f"{len(first)} and {len(second)} values: expected the same number")
    if not len(first):
        raise InputError("no values: Cohen's kappa needs at least one pair")
    if weights not in (None, "linear", "quadratic"):
        raise SettingsError(f"unknown weights {weights!r}: expected 'linear' or 'quadratic'")
    if any(isinstance(value, str) for value in (*first, *second)):
        if weights is not None:
            raise InputError("letters have no distance: weights need numbers")
        values = np.concatenate([letter_codes(first), letter_codes(second)])
    else:
        values = np.concatenate([_numbers(first), _numbers(second)])
    labels, codes = np.unique(values, return_inverse=True)
    table = confusion_counts(codes[: len(first)], codes[len(first) :], len(labels))
    if weights is None:
        return float(cohen_of_confusion(table))
    apart = np.abs(labels[:, None] - labels) ** (2 if weights == "quadratic" else 1)
    expected = (table.sum(axis=1)[:, None] * table.sum(axis=0) * apart).sum()
    return float(1 - (table * apart).sum() * table.sum() / expected) if expected else math.nan


def cohen_of_confusion(table: Floats) -> Floats:
    """Returns unweighted κ of square tables of counts (last two axes); NaN where it is undefined."""
    number = table.sum(axis=(-2, -1))
    agreed = np.trace(table, axis1=-2, axis2=-1)
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
    below = number**2 - chance
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = (agreed * number - chance) / below
    return np.where(below > 0, kappa, np.nan)


def confusion_counts(
    first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]], size: int
) -> Floats:
    """Returns how often codes (0 to `size` - 1) of two raters meet: shape (size, size), first by second."""
    flat = first.astype(np.int64) * size + second
    return np.bincount(flat, minlength=size * size).reshape(size, size).astype(np.float64)


def _numbers(values: Sequence[Any] | NDArray[Any]) -> Floats:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("invalid ratings: expected numbers") from None
    if not np.isfinite(numbers).all():
        raise InputError("ratings are missing or not finite: leave these pairs out")
    return numbers


# Every two judges and raters


UNDECIDED = len(LETTERS)
"""The code of a judge's pair without a decision, which equals nothing and is a label of its own for κ."""


def agreements(letters: Mapping[str, Codes]) -> "pl.DataFrame":
    """Returns how every two judges or raters agree about the pairs that both judged.

    `letters`: by name, codes of equal length (int8, shape (pairs,)): -1 where a pair was not judged,
    `UNDECIDED` where it was judged without a decision. Columns: `one`, `other`, `pairs` (that both judged),
    `share` (of equal letters) and `kappa` (Cohen's, unweighted); null if no pair has both, `kappa` also
    where it is undefined.
    """
    rows = []
    for one, other in combinations(letters, 2):
        first, second = letters[one], letters[other]
        both = (first != NONE) & (second != NONE)
        number = int(np.count_nonzero(both))
        table = confusion_counts(first[both], second[both], UNDECIDED + 1)
        equal = float(np.trace(table[:UNDECIDED, :UNDECIDED])) / number if number else None
        rows.append((one, other, number, equal, float(cohen_of_confusion(table))))
    columns = {"one": pl.String, "other": pl.String, "pairs": pl.Int64}
    columns |= dict.fromkeys(("share", "kappa"), pl.Float64)
    return pl.DataFrame(rows, schema=columns, orient="row").fill_nan(None)


# Position bias


_A, _B = 0, 1


def position_bias(first: Letters, second: Letters, *, level: float = 0.95) -> Share:
    """Returns among pairs that flip between winners the share won by the answer shown first in both orders.

    `first`, `second`: letters of order 1 and of order 2, the latter swapped back; pairs with a tie or an
    invalid verdict (`None`) do not count. Without position bias the share is 1/2. The interval is exact
    (extra `judge`). Raises `InputError` for unequal lengths and unknown letters.

    >>> position_bias(["A", "A", "B", "C"], ["B", "B", "A", "A"]).value
    0.6666666666666666
    """
    return position_bias_of_codes(*paired_codes(first, second), level)


def position_bias_of_codes(first: Codes, second: Codes, level: float) -> Share:
    """Returns the same from codes."""
    towards_first = int(np.count_nonzero((first == _A) & (second == _B)))
    towards_second = int(np.count_nonzero((first == _B) & (second == _A)))
    return share_of(towards_first, towards_first + towards_second, level)


# Calibration


_BINS = 10


@dataclass(frozen=True, eq=False)
class Calibration:
    """How often the decisions of `probability` are the raters' majority, by the winner's probability.

    The winner's probability is the largest of the mean probabilities, as they are (not renormalised).
    `table`: ten bins of equal width, one row each: `from`, `to` (a bin holds from ≤ p < to; the last one
    also p = 1), `pairs`, `probability` (mean of the bin), `right`, `share` (right/pairs) with its exact
    interval `low`, `high`; null where no pair is. `error`: expected calibration error, the mean over
    pairs of |share - probability| of their bins; NaN without pairs. `pairs`: how many; `without_probability`
    and `without_majority` were left out. Pairs for which several letters share the lead among the raters
    have no majority.
    """

    table: "pl.DataFrame" = field(repr=False)
    error: float
    pairs: int
    without_probability: int
    without_majority: int

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON types."""
        return {
            "expected_calibration_error": None if math.isnan(self.error) else self.error,
            "pairs": self.pairs,
            "without_probability": self.without_probability,
            "without_majority": self.without_majority,
            "bins": self.table.to_dicts(),
        }


def calibration(
    decisions: Codes, probabilities: Floats, raters: Codes, level: float = 0.95
) -> Calibration:
    """Returns the calibration of decisions by `probability`.

    `decisions`: shape (pairs,). `probabilities`: that of the winner, NaN for none. `raters`: shape (raters,
    pairs). Source of the error: M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining well calibrated
    probabilities using Bayesian binning", AAAI 2015.
    """
    known = (decisions != NONE) & ~np.isnan(probabilities)
    chosen = majority(raters)
    kept = known & (chosen != NONE)
    p, right = probabilities[kept], same(decisions, chosen)[kept]
    bins = np.minimum((p * _BINS).astype(np.int64), _BINS - 1)
    number = np.bincount(bins, minlength=_BINS)
    sums = np.bincount(bins, weights=p, minlength=_BINS)
    hits = np.bincount(bins[right], minlength=_BINS)
    bounds = [
        clopper_pearson(hit, n, level) if n else Interval(math.nan, math.nan, level)
        for hit, n in zip(hits.tolist(), number.tolist(), strict=True)
    ]
    edges, total = np.arange(_BINS + 1) / _BINS, int(number.sum())
    with np.errstate(invalid="ignore"):
        means, shares = sums / number, hits / number
    columns = {
        "from": edges[:-1],
        "to": edges[1:],
        "pairs": number,
        "probability": means,
        "right": hits,
        "share": shares,
        "low": [each.low for each in bounds],
        "high": [each.high for each in bounds],
    }
    return Calibration(
        table=pl.DataFrame(columns).fill_nan(None),
        error=float(np.abs(hits - sums).sum() / total) if total else math.nan,
        pairs=total,
        without_probability=int(np.count_nonzero(~known)),
        without_majority=int(np.count_nonzero(known & ~kept)),
    )
