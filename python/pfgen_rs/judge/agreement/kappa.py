"""Agreement of letters: concordance and robustness; beyond chance Fleiss' and Cohen's κ, Krippendorff's α."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, PfgenError, SettingsError
from pfgen_rs.extras import missing
from pfgen_rs.judge.decision_columns import NONE, Codes, Floats, Indices, letter_codes
from pfgen_rs.judge.tokens import LETTERS

Letters = Sequence[str | None]


def concordance(
    decisions: Letters | Mapping[str, str | None], verdicts: Letters | Mapping[str, str | None]
) -> float:
    """Returns the share of a rater's pairs for which the decision is the rater's verdict.

    Sequences of letters of equal length, or mappings from pair id to letter. A decision of `None` (undecided
    or invalid) is wrong; pairs without a verdict (`None`, or not in the mapping) are left out; NaN if none
    are left. Raises `InputError` for sequences of unequal length, unknown letters, and verdicts on pairs
    that `decisions` lacks.

    Source: judging 5.1 (Morita et al., eq. 1), for one rater.

    >>> concordance(["A", "B", None, "C"], ["A", "C", "B", None])
    0.3333333333333333
    """
    if isinstance(decisions, Mapping) != isinstance(verdicts, Mapping):
        raise InputError("expected two sequences or two mappings, found one of each")
    if isinstance(decisions, Mapping) and isinstance(verdicts, Mapping):
        unknown = next((pair for pair in verdicts if pair not in decisions), None)
        if unknown is not None:
            raise InputError(f"a verdict on the unknown pair {unknown!r}: decisions lack it")
        pairs = list(verdicts)
        decisions, verdicts = [decisions[p] for p in pairs], [verdicts[p] for p in pairs]
    if len(decisions) != len(verdicts):
        raise InputError(
            f"{len(decisions)} decisions and {len(verdicts)} verdicts: expected the same number"
        )
    decided, judged = letter_codes(decisions), letter_codes(verdicts)
    number = int(np.count_nonzero(judged != NONE))
    return int(np.count_nonzero(same(decided, judged))) / number if number else math.nan


def robustness(first: Letters, second: Letters) -> float:
    """Returns the share of pairs whose verdicts in both orders are the same letter; NaN for no pairs.

    Letters speak of the pair (those of order 2 are swapped back); `None` (invalid) equals nothing. Raises
    `InputError` for unequal lengths and unknown letters.

    >>> robustness(["A", "B", None], ["A", "A", None])
    0.3333333333333333
    """
    if len(first) != len(second):
        raise InputError(f"{len(first)} and {len(second)} verdicts: expected the same number")
    alike = same(letter_codes(first), letter_codes(second))
    return float(alike.mean()) if len(alike) else math.nan


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


Row = Sequence[str | int | None]


def fleiss_kappa(
    rows: Iterable[Row] | NDArray[Any], *, allow_missing: bool = False, counts: bool | None = None
) -> float:
    """Returns Fleiss' κ of two or more raters, one row per pair.

    `rows`: letters ("A", "B", "C"), one per rater in the same order; or counts, one per category; or integer
    labels. Integers are counts if all rows have the same sum, and labels otherwise; `counts` says which
    they are. With n raters and n_ij of them choosing j for pair i, P_i = (Σ_j n_ij² - n)/(n(n - 1)) and
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
    if not listed:
        raise InputError("no pairs: Fleiss' kappa needs at least one")
    by_category, raters = _category_counts(listed, counts)
    if raters < 2:
        raise InputError("fewer than two raters: Fleiss' kappa needs at least two")
    present = by_category.sum(axis=1)
    short = np.flatnonzero(present != raters)
    if not len(short):
        return fleiss_from_counts(by_category)
    if allow_missing:
        return alpha_from_counts(by_category)
    raise InputError(
        f"raters are missing in {len(short)} of {len(listed)} rows; the first is row {short[0] + 1}, with "
        f"{present[short[0]]} of {raters}: leave these rows out, or use allow_missing (Krippendorff's alpha)"
    )


def fleiss_from_counts(counts: NDArray[np.integer[Any]]) -> float:
    """Returns Fleiss' κ of counts, shape (pairs, categories); all rows must have the same sum."""
    wide = counts.astype(np.int64)
    raters = int(wide[0].sum())
    squares, totals = np.array((wide * wide).sum(), float), wide.sum(axis=0).astype(float)
    return float(fleiss_of_sums(squares, totals, np.array(len(wide), float), raters))


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
        raise missing("krippendorff", "judge", error, PfgenError) from error
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
        codes = letter_codes(first) + 1, letter_codes(second) + 1
        return float(cohen_of_confusion(confusion_counts(*codes, len(LETTERS) + 1)))
    return _cohen_of_numbers(_numbers(first), _numbers(second), weights)


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


def _category_counts(rows: Sequence[Sequence[Any]], counts: bool | None) -> tuple[Indices, int]:
    """Returns counts, shape (rows, categories), and the number of raters of a row that lacks none."""
    if _are_counts(rows) if counts is None else counts:
        checked = _checked_counts(rows)
        return checked, int(checked.sum(axis=1).max())
    values = [value for row in rows for value in row]
    if all(value is None or _is_integer(value) for value in values):
        labels = {label: code for code, label in enumerate({*values} - {None})}
        codes = np.array([labels.get(value, -1) for value in values], dtype=np.int64)
    else:
        codes, labels = letter_codes(values).astype(np.int64), dict.fromkeys(LETTERS, 0)
    widths = [len(row) for row in rows]
    row_numbers, width = np.repeat(np.arange(len(rows)), widths), max(len(labels), 1)
    given = codes >= 0
    flat = np.bincount(row_numbers[given] * width + codes[given], minlength=len(rows) * width)
    return flat.reshape(len(rows), width), max(widths)


def _are_counts(rows: Sequence[Sequence[Any]]) -> bool:
    if not all(_is_integer(value) and value >= 0 for row in rows for value in row):
        return False
    return len({(len(row), sum(map(int, row))) for row in rows}) == 1


def _checked_counts(rows: Sequence[Sequence[Any]]) -> Indices:
    if len({len(row) for row in rows}) > 1:
        raise InputError("rows of counts differ in length: expected one count per category")
    if not all(_is_integer(value) and value >= 0 for row in rows for value in row):
        raise InputError("invalid counts: expected integers of at least 0")
    return np.array(rows, dtype=np.int64)


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _numbers(values: Sequence[Any] | NDArray[Any]) -> Floats:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("invalid ratings: expected numbers") from None
    if not np.isfinite(numbers).all():
        raise InputError("ratings are missing or not finite: leave these pairs out")
    return numbers


def _cohen_of_numbers(first: Floats, second: Floats, weights: str | None) -> float:
    labels, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    table = confusion_counts(codes[: len(first)], codes[len(first) :], len(labels))
    if weights is None:
        return float(cohen_of_confusion(table))
    apart = np.abs(labels[:, None] - labels) ** (2 if weights == "quadratic" else 1)
    expected = (table.sum(axis=1)[:, None] * table.sum(axis=0) * apart).sum()
    if not expected:
        return math.nan
    return float(1 - (table * apart).sum() * table.sum() / expected)


# Every two judges and raters


UNDECIDED = len(LETTERS)
"""The code of a judge's pair without a decision, which equals nothing and is a label of its own for κ."""
_COLUMNS = {
    "one": pl.String,
    "other": pl.String,
    "pairs": pl.Int64,
    "share": pl.Float64,
    "kappa": pl.Float64,
}


def agreements(letters: Mapping[str, Codes]) -> pl.DataFrame:
    """Returns how every two judges or raters agree about the pairs that both judged.

    `letters`: by name, codes of equal length (int8, shape (pairs,)): -1 where a pair was not judged,
    `UNDECIDED` where it was judged without a decision. Columns: `one`, `other`, `pairs` (that both judged),
    `share` (of equal letters) and `kappa` (Cohen's, unweighted); null if no pair has both, `kappa` also
    where it is undefined.
    """
    rows = [
        (one, other, *_agreement_of_two(letters[one], letters[other]))
        for one, other in combinations(letters, 2)
    ]
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


def _agreement_of_two(first: Codes, second: Codes) -> tuple[int, float | None, float | None]:
    both = (first != NONE) & (second != NONE)
    number = int(np.count_nonzero(both))
    if not number:
        return 0, None, None
    table = confusion_counts(first[both], second[both], UNDECIDED + 1)
    kappa = float(cohen_of_confusion(table))
    equal = float(np.trace(table[:UNDECIDED, :UNDECIDED])) / number
    return number, equal, None if np.isnan(kappa) else kappa
