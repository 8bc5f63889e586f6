"""κ, α, concordance and exact intervals: equal to other libraries and to plain Python."""

from __future__ import annotations

import itertools
import math
import sys

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest  # type: ignore[import-untyped]
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]
from statsmodels.stats.inter_rater import (  # type: ignore[import-untyped]
    fleiss_kappa as fleiss_of_statsmodels,
)

import agreement_oracle as oracle
from pfgen_rs.errors import InputError, PfgenError, SettingsError
from pfgen_rs.judge import cohen_kappa, concordance, fleiss_kappa, position_bias, robustness
from pfgen_rs.judge.agreement.intervals import clopper_pearson, share_of
from pfgen_rs.judge.agreement.kappa import (
    alpha_from_counts,
    alpha_of_sums,
    alpha_unit_sums,
    majority,
)
from pfgen_rs.judge.decision_columns import letter_codes

LETTER = st.sampled_from("ABC")
PERHAPS = st.sampled_from(["A", "B", "C", None])
EQUAL = 1e-12


def same(found: float, expected: float) -> bool:
    return found == pytest.approx(expected, abs=EQUAL, nan_ok=True)


@given(st.lists(st.tuples(PERHAPS, PERHAPS), min_size=1))
def test_concordance_robustness_and_position_equal_plain_python(
    rows: list[tuple[str | None, str | None]],
) -> None:
    first, second = map(list, zip(*rows, strict=True))
    assert same(concordance(first, second), oracle.concordance(first, second))
    assert robustness(first, second) == oracle.robustness(first, second)
    bias = position_bias(first, second)
    assert (bias.count, bias.n) == oracle.towards_first(first, second)


@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.tuples(*[LETTER] * n), min_size=1)))
def test_fleiss_equals_plain_python_and_statsmodels(rows: list[tuple[str, ...]]) -> None:
    found = fleiss_kappa(rows)
    assert same(found, oracle.fleiss(rows))
    counts = np.array([[row.count(letter) for letter in "ABC"] for row in rows])
    assert same(fleiss_kappa(counts), found)
    if not math.isnan(found):
        assert same(found, float(fleiss_of_statsmodels(counts)))


@given(st.lists(st.tuples(PERHAPS, PERHAPS, PERHAPS), min_size=1))
def test_alpha_equals_krippendorff(rows: list[tuple[str | None, ...]]) -> None:
    counts = np.array([[row.count(letter) for letter in "ABC"] for row in rows])
    paired = counts[counts.sum(axis=1) > 1]
    found = alpha_from_counts(counts)
    if np.count_nonzero(paired.sum(axis=0)) < 2:
        assert math.isnan(found)
    else:
        codes = [[np.nan if x is None else "ABC".index(x) for x in row] for row in rows]
        data = np.array(codes, dtype=float).T
        assert same(found, krippendorff.alpha(data, level_of_measurement="nominal"))
    if not (counts.sum(axis=1) == 3).all():
        assert same(fleiss_kappa(rows, allow_missing=True), found)
        with pytest.raises(InputError, match=r"raters are missing in \d+ of"):
            fleiss_kappa(rows)
    disagreements, values, scale = alpha_unit_sums(counts)
    sums = np.array(disagreements.sum() / scale), values.sum(axis=0).astype(float)
    assert same(float(alpha_of_sums(*sums)), found)


@given(st.lists(st.tuples(PERHAPS, LETTER), min_size=1))
def test_cohen_of_letters_equals_scikit_learn(rows: list[tuple[str | None, str]]) -> None:
    first, second = map(list, zip(*rows, strict=True))
    found = cohen_kappa(first, second)
    assert same(found, oracle.cohen(first, second))
    if not math.isnan(found):
        theirs = cohen_kappa_score([x or "none" for x in first], second)
        assert same(found, theirs)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@given(rows=st.lists(st.tuples(st.integers(1, 10), st.integers(1, 10)), min_size=1))
def test_cohen_of_ratings_equals_scikit_learn(
    weights: str | None, rows: list[tuple[int, int]]
) -> None:
    first, second = map(list, zip(*rows, strict=True))
    found = cohen_kappa(first, second, weights=weights)  # type: ignore[arg-type]
    if len({*first, *second}) == 1:
        assert math.isnan(found)
    else:
        theirs = cohen_kappa_score(first, second, labels=range(1, 11), weights=weights)
        assert same(found, theirs)


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0.8, 0.95, 0.99]))
def test_clopper_pearson_equals_scipy(count: int, more: int, level: float) -> None:
    if not count + more:
        assert clopper_pearson(0, 0, level).high == 1
        return
    theirs = binomtest(count, count + more).proportion_ci(level, "exact")
    found = clopper_pearson(count, count + more, level)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_majority_equals_plain_python() -> None:
    for number in (1, 2, 3, 4):
        rows = [*itertools.product("ABC", repeat=number), (None,) * number]
        found = majority(np.stack([letter_codes(rater) for rater in zip(*rows, strict=True)]))
        assert found.tolist() == letter_codes(map(oracle.majority, rows)).tolist()


def test_one_letter_alone_is_undefined() -> None:
    assert math.isnan(fleiss_kappa(["AAA", "AAA"]))
    assert math.isnan(fleiss_kappa([[3, 0, 0], [3, 0, 0]]))
    assert math.isnan(fleiss_kappa([["A", "A", None], ["A", "A", "A"]], allow_missing=True))
    assert math.isnan(cohen_kappa(["A", "A"], ["A", "A"]))
    assert math.isnan(concordance([None, "A"], [None, None]))
    assert math.isnan(robustness([], []))
    assert share_of(0, 0).to_dict()["share"] is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: concordance(["A"], ["A", "B"]), "1 and 2 letters: expected the same number"),
        (lambda: concordance(["A"], ["D"]), "unknown letter 'D': expected 'A', 'B', 'C' or None"),
        (lambda: concordance(["A"], [["A"]]), r"unknown letter \['A'\]"),  # type: ignore[list-item]
        (lambda: robustness(["A"], []), "1 and 0 letters"),
        (lambda: position_bias(["A"], []), "1 and 0 letters"),
        (lambda: fleiss_kappa([]), "no pairs"),
        (lambda: fleiss_kappa(["A", "B"]), "fewer than two raters"),
        (lambda: fleiss_kappa(["AB", "A"]), r"1 of 2 rows; the first is row 2, with 1 of 2"),
        (lambda: fleiss_kappa(["Ab"]), "unknown letter 'b'"),
        (lambda: fleiss_kappa([[2, 1], [0, 2]]), "raters are missing in 1 of 2 rows"),
        (lambda: fleiss_kappa([[1, -1]]), "invalid counts"),
        (lambda: fleiss_kappa([[1, 1], [2]]), "invalid counts"),
        (lambda: fleiss_kappa([[1, 2.5]]), "invalid counts"),  # type: ignore[list-item]
        (lambda: fleiss_kappa([[1, "A"]]), "invalid counts"),
        (lambda: fleiss_kappa([[]]), "invalid counts"),
        (lambda: cohen_kappa(["A"], []), "1 and 0 values"),
        (lambda: cohen_kappa([], []), "no values"),
        (lambda: cohen_kappa([1, None], [1, 2]), "leave these pairs out"),
        (lambda: cohen_kappa(["A"], ["B"], weights="linear"), "letters have no distance"),
        (lambda: clopper_pearson(3, 2), "invalid count 3 of 2"),
    ],
)
def test_errors(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call()


def test_invalid_settings() -> None:
    with pytest.raises(SettingsError, match="unknown weights 'cubic'"):
        cohen_kappa([1], [1], weights="cubic")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="invalid confidence level 95"):
        clopper_pearson(1, 2, 95)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain agreement needs numpy alone; what needs a library says which extra has it."""
    for module in ("scipy", "scipy.special", "krippendorff"):
        monkeypatch.setitem(sys.modules, module, None)
    assert concordance(["A"], ["A"]) == robustness(["A"], ["A"]) == 1
    assert cohen_kappa(["A", "B"], ["A", "B"]) == fleiss_kappa(["AA", "BB"]) == 1
    with pytest.raises(
        PfgenError, match=r"scipy cannot be imported .*pip install 'pfgen_rs\[judge\]'"
    ):
        clopper_pearson(1, 2)
    with pytest.raises(PfgenError, match=r"krippendorff cannot be imported"):
        fleiss_kappa(["AB", "A"], allow_missing=True)
