"""What correlations, shares and weighted means do with numbers that are none, too few or all the same."""

import math
from collections.abc import Callable
from inspect import isfunction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from hostile import (
    BAD_LISTS,
    LEVELS,
    Refused,
    Rows,
    check_list_is_refused,
    check_row,
    each,
    of,
    places,
    setting,
)
from pfgen_rs.stats import correlation, shares
from pfgen_rs.stats.student import two_sided_quantile

NAN, INF = math.nan, math.inf
DRAWN = correlation.group_resamples(2, 100, 0)
TAKES_A_LIST: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "pearson, x": ("x", lambda bad: correlation.pearson(bad, [1, 2, 3])),
    "pearson, y": ("y", lambda bad: correlation.pearson([1, 2, 3], bad)),
    "spearman, x": ("x", lambda bad: correlation.spearman(bad, [1, 2, 3])),
    "spearman, y": ("y", lambda bad: correlation.spearman([1, 2, 3], bad)),
    "moments, x": ("x", lambda bad: correlation.moments(bad, [1, 2, 3])),
    "moments, y": ("y", lambda bad: correlation.moments([1, 2, 3], bad)),
    "regression_line, x": ("x", lambda bad: correlation.regression_line(bad, [1, 2, 3])),
    "regression_line, y": ("y", lambda bad: correlation.regression_line([1, 2, 3], bad)),
    "pearson_values": ("x", lambda bad: correlation.pearson_values(bad, [1, 2, 3])),
    "spearman_values": ("y", lambda bad: correlation.spearman_values([1, 2, 3], bad)),
    "resampled_moments": (
        "x",
        lambda bad: correlation.resampled_moments(bad, [1, 2, 3], [0, 1, 1], DRAWN),
    ),
    "resampled_spearman": (
        "y",
        lambda bad: correlation.resampled_spearman([1, 2, 3], bad, [0, 1, 1], DRAWN),
    ),
}


def constant_values(function: Callable[..., Any]) -> list[float]:
    """Pseudo-values of a correlation with a constant."""
    found: list[float] = function([1, 1, 1], [1, 2, 3]).tolist()
    return found


ROWS: Rows = {
    **{
        found.__name__: [
            (of(found, [], []), None),
            (of(found, [1, 2], [2, 1]), None),
            (of(found, [1, 2, 3], [5, 5, 5]), None),
            (of(found, [1, 2, 3], [3, 2, 1]), -1.0),
            (of(found, [1e-200, 2e-200, 3e-200], [1e9, 2e9, 3e9]), 1.0),
            (of(found, [-1e308, 0, 1e308], [1, 2, 3]), 1.0),
            (of(found, [5e-324, 0, -5e-324], [1, 2, 3]), -1.0),
            (
                of(found, [1, 2, 3], [1, 2]),
                Refused("have 3 and 2 values: expected"),
            ),
        ]
        for found in (correlation.pearson, correlation.spearman)
    },
    "rounding": [
        (of(correlation.pearson, [0.1 + 0.2, 0.3, 0.3], [1, 2, 3]), None),
        (lambda: correlation.pearson([1e9 + 1e-4, 1e9, 1e9], [1, 2, 3]) is not None, True),
    ],
    "moments": [
        (lambda: math.isnan(correlation.moments([1], [2]).pearson[0]), True),
        (lambda: math.isnan(correlation.moments([1, 1], [2, 3]).slope[0]), True),
        (lambda: correlation.moments([1, 1], [2, 3]).mean_y.tolist(), [2.5]),
        (of(correlation.moments, [], []), Refused("have 0 and 0 values: .* at least 1")),
        (of(correlation.moments, [1], [1, 2]), Refused("have 1 and 2 values")),
    ],
    "fisher_interval": [
        (of(correlation.fisher_interval, None, 9), (None, None)),
        (of(correlation.fisher_interval, 0.5, 3), (None, None)),
        (of(correlation.fisher_interval, 0.5, 0), (None, None)),
        (of(correlation.fisher_interval, -1.0, 9), (-1.0, -1.0)),
        (of(correlation.fisher_interval, 1.0, 4, ranks=True), (None, None)),
        (of(correlation.fisher_interval, 1 + 1e-15, 9), (1.0, 1.0)),
        (of(correlation.fisher_interval, NAN, 9), Refused("invalid r nan: expected a number")),
        (of(correlation.fisher_interval, 1.5, 9), Refused("invalid r 1.5: expected a number")),
        (of(correlation.fisher_interval, "1", 9), Refused("invalid r '1'")),
        (of(correlation.fisher_interval, 0.5, -1), Refused("invalid number of items -1")),
        (of(correlation.fisher_interval, 0.5, NAN), Refused("invalid number of items nan")),
        *each(LEVELS, "invalid conf", correlation.fisher_interval, 0.5, 9),
    ],
    "group_resamples": [
        (lambda: correlation.group_resamples(1, 100, 0).tolist(), [[1]] * 100),
        (of(correlation.group_resamples, 0, 100, 0), Refused("no groups: expected at least")),
        (of(correlation.group_resamples, -1, 100, 0), Refused("invalid number of groups -1")),
        (of(correlation.group_resamples, 3, 99, 0), setting("invalid number of resamples 99")),
        (of(correlation.group_resamples, 3, 100, -1), setting("invalid seed -1")),
    ],
    "resampled_moments": [
        (of(correlation.resampled_moments, [], [], [], DRAWN), Refused("at least 1")),
        (
            of(correlation.resampled_moments, [1], [1], [2], DRAWN),
            Refused("number below 2 for"),
        ),
        (of(correlation.resampled_moments, [1], [1], [], DRAWN), Refused("each of 1 items")),
        (
            of(correlation.resampled_moments, [1], [1], [-1], DRAWN),
            Refused(r"groups\[0\] is -1"),
        ),
    ],
    "resampled_spearman": [
        (of(correlation.resampled_spearman, [], [], [], DRAWN), Refused("at least 1")),
        (
            of(correlation.resampled_spearman, [1], [1], [2], DRAWN),
            Refused("number below 2 for"),
        ),
        (
            lambda: np.isnan(
                correlation.resampled_spearman([1] * 3, [1] * 3, [0] * 3, DRAWN)
            ).all(),
            True,
        ),
    ],
    "percentile_interval": [
        (of(correlation.percentile_interval, []), (None, None)),
        (of(correlation.percentile_interval, [NAN] * 3), (None, None)),
        (of(correlation.percentile_interval, [NAN, INF, 1.0]), (None, None)),
        (of(correlation.percentile_interval, [NAN, 1.0, 1.0]), (1.0, 1.0)),
        (of(correlation.percentile_interval, ["a"]), Refused(r"values\[0\] is 'a'")),
        (of(correlation.percentile_interval, [[1.0]]), Refused(r"values has shape \(1, 1\)")),
        *each(LEVELS, "invalid conf", correlation.percentile_interval, [1]),
    ],
    **{
        found.__name__: [
            (of(found, [1], [1]), Refused("have 1 and 1 values: .* at least 2")),
            (of(found, [1, 2], [1]), Refused("have 2 and 1 values")),
            (of(constant_values, found), [0.0] * 3),
        ]
        for found in (correlation.pearson_values, correlation.spearman_values)
    },
    "correlation_interval": [
        (of(correlation.correlation_interval, 0.5, 0.1, 2), (None, None)),
        (of(correlation.correlation_interval, 0.5, 0.0, 9), (None, None)),
        (of(correlation.correlation_interval, 0.5, NAN, 9), (None, None)),
        (of(correlation.correlation_interval, 1.0, 0.1, 9), (1.0, 1.0)),
        (of(correlation.correlation_interval, NAN, 0.1, 9), Refused("invalid r nan")),
        (of(correlation.correlation_interval, 2.0, 0.1, 9), Refused("invalid r 2.0")),
        *each(LEVELS, "invalid c", correlation.correlation_interval, 0.5, 0.1, 9),
    ],
    "wilson": [
        (of(shares.wilson, 0, 0), (0.0, 1.0)),
        (lambda: shares.wilson(3, 3)[1], 1.0),
        (of(shares.wilson, 4, 3), Refused("invalid count 4 of 3: expected 0 to 3")),
        (of(shares.wilson, NAN, 3), Refused("invalid count nan of 3: expected 0 to 3")),
        (of(shares.wilson, "1", 3), Refused("invalid count '1' of 3")),
        (of(shares.wilson, 1, INF), Refused("invalid number of items inf")),
        (of(shares.wilson, 1, 2.5), Refused("invalid number of items 2.5")),
        *each(LEVELS, "invalid confidence level", shares.wilson, 1, 2),
    ],
    "bonett_price": [
        (lambda: sum(shares.bonett_price(0, 0, 1)), 0.0),
        (lambda: shares.bonett_price(3, 0, 3)[1], 1.0),
        (
            of(shares.bonett_price, 2, 2, 3),
            Refused("invalid counts 2 and 2 of 3: expected at most"),
        ),
        (of(shares.bonett_price, 0, 0, 0), Refused("invalid number of items 0: expected at least")),
        (of(shares.bonett_price, -1, 0, 3), Refused("invalid count -1: expected a whole number")),
        (of(shares.bonett_price, 1, NAN, 3), Refused("invalid count nan")),
        (of(shares.bonett_price, 1, 0, INF), Refused("invalid number of items inf")),
        *each(LEVELS, "invalid confidence level", shares.bonett_price, 1, 0, 2),
    ],
    "mcnemar": [
        (of(shares.mcnemar, 0, 0), 1.0),
        (of(shares.mcnemar, 1, 0), 1.0),
        (of(shares.mcnemar, -1, 0), Refused("invalid count -1: expected a whole number, 0 or")),
        (of(shares.mcnemar, 0, NAN), Refused("invalid count nan")),
        (of(shares.mcnemar, 1.5, 0), Refused("invalid count 1.5")),
        (of(shares.mcnemar, "1", 0), Refused("invalid count '1'")),
    ],
    "regression_line": [
        (lambda: correlation.regression_line([1, 2, 3], [5, 5, 5]).slope, 0.0),
        (lambda: correlation.regression_line([1, 2, 3], [5, 5, 5]).residuals.tolist(), [0.0] * 3),
        (
            of(correlation.regression_line, [1, 2], [1, 2]),
            Refused("have 2 and 2 values: .* least 3"),
        ),
        (of(correlation.regression_line, [1, 2, 3], [1]), Refused("have 3 and 1 values")),
        (of(correlation.regression_line, [2, 2, 2], [1, 2, 3]), Refused("x is constant: expected")),
    ],
    "weighted_mean": [
        (lambda: shares.weighted_mean([np.array([0.5])], [1.0]).se, None),
        (lambda: shares.weighted_mean([np.full(3, 0.5)], [1.0]).p(), 0.0),
        (lambda: shares.weighted_mean([np.zeros(3)], [1.0]).p(), 1.0),
        (of(shares.weighted_mean, [], []), Refused("expected at least one sample")),
        (of(shares.weighted_mean, [np.ones(0)], [1.0]), Refused("none of them empty")),
        (of(shares.weighted_mean, [np.ones(2)], []), Refused("and a weight for each")),
        (lambda: math.isnan(shares.weighted_mean([np.array([1, NAN])], [1]).value), True),
    ],
    "p_values": [
        (of(shares.p_values, []), []),
        (lambda: shares.p_values([shares.weighted_mean([np.zeros(3)], [1.0])]), [1.0]),
        (lambda: shares.p_values([shares.weighted_mean([np.ones(1)], [1.0])]), [None]),
    ],
    "two_sided_quantile": [
        (of(two_sided_quantile, 0.95, 0), setting("invalid degrees of freedom 0: expected at")),
        (of(two_sided_quantile, NAN, 3), setting("invalid level nan")),
        (of(two_sided_quantile, 1.0, 3), setting("invalid level 1.0")),
    ],
}


@pytest.mark.parametrize("kind", BAD_LISTS)
@pytest.mark.parametrize("function", TAKES_A_LIST)
def test_a_list_that_is_not_one_of_numbers(function: str, kind: str) -> None:
    check_list_is_refused(*TAKES_A_LIST[function], kind)


@pytest.mark.parametrize(("function", "row"), places(ROWS))
def test_what_is_defined_has_its_value_and_what_is_not_its_error(function: str, row: int) -> None:
    check_row(ROWS[function][row])


@pytest.mark.parametrize("module", [correlation, shares])
def test_every_function_has_rows(module: ModuleType) -> None:
    listed = {name.partition(",")[0] for name in TAKES_A_LIST} | set(ROWS)
    own = [f for f in vars(module).values() if isfunction(f) and f.__module__ == module.__name__]
    assert {f.__name__ for f in own if not f.__name__.startswith("_")} <= listed
