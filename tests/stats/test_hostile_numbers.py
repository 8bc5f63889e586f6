"""What the statistics do with numbers that are none, and with too few or all the same: a table."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial as of
from typing import Any

import numpy as np
import polars as pl
import pytest

from made_samples import made
from pfgen_rs import stats
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.stats import checks, correlation as corr, shares
from pfgen_rs.stats.permutation import sign_flip_by_size

NAN, INF = math.nan, math.inf
DRAWN = corr.group_resamples(2, 100, 0)
by_size = of(sign_flip_by_size, permutations=99, seed=0)


def sampled(values: Any, questions: Any = ("p", "q"), categories: Any = None) -> stats.Sample:
    """A sample of two questions."""
    return stats.Sample("x", questions, categories or {"p": None, "q": None}, values)


def estimated(*values: Any, resamples: int = 0) -> stats.Estimate:
    """The estimate of a run with these values of each question."""
    ids = tuple(f"Q{i}" for i in range(len(values)))
    sample = stats.Sample("x", ids, dict.fromkeys(ids), {"average": list(values)})
    return stats.estimate(sample, resamples=resamples)


def bounds(found: stats.Estimate) -> tuple[Any, ...]:
    return found.mean, found.trial_se, found.question_se, found.low, found.high


def compared(*runs: Any, **settings: Any) -> stats.Comparison:
    return stats.compare(iter(runs), resamples=100, **settings)  # type: ignore[arg-type]


FLAT = [np.full(3, 0.5)] * 4
A, B = made("a", questions=9), made("b", questions=9, seed=1, shift=0.1)
HALVES = {m: [v * 0 + 0.5 for v in A.values[m]] for m in stats.METRICS}
SAME, ALSO = (stats.Sample(name, A.questions, A.categories, HALVES) for name in ("same", "also"))
ONE_METRIC = stats.Sample("one", A.questions, A.categories, {"average": A.values["average"]})
NO_SAMPLE = r"^samples\[0\] is .*: expected a Sample"


# Lists in place of lists of numbers: what the error says after the name of the list.


BAD_LISTS: dict[str, tuple[Any, str]] = {
    "NaN": ([0.1, NAN, NAN], r"\[1\] is nan: expected finite numbers"),
    "infinity": ([INF, 0.1, 0.2], r"\[0\] is inf: expected finite numbers"),
    "minus infinity": ([0.1, 0.2, -INF], r"\[2\] is -inf: expected finite numbers"),
    "array": (np.array([0.1, 0.2, NAN]), r"\[2\] is nan: expected finite numbers"),
    "null": (pl.Series([0.1, 0.2, None]), r"\[2\] is nan: expected finite numbers"),
    "None": ([0.1, None, 0.3], r"\[1\] is None: expected finite numbers"),
    "text": (["0.1", 0.2, 0.3], r"\[0\] is '0.1': expected finite numbers"),
    "complex": ([0.1, 0.2, 1j], r"\[2\] is 1j: expected finite numbers"),
    "dates": (np.array(["2024-01-01"], dtype="datetime64[D]"), r"\[0\] is datetime.date"),
    "rows": ([[0.1, 0.2, 0.3]], r" has shape \(1, 3\): expected a list of numbers"),
    "ragged rows": ([[0.1], [0.2, 0.3]], " has rows of different lengths"),
    "a number": (0.5, r" has shape \(\): expected a list of numbers"),
    "a generator": ((x for x in (0.1, 0.2)), " is <generator"),
    "too many digits": ([10**400, 1, 2], " has a number too large for a float"),
}
PAIRED: list[Callable[..., Any]] = [
    *(corr.pearson, corr.spearman, corr.moments, corr.regression_line),
    *(corr.pearson_values, corr.spearman_values),
    lambda x, y: corr.resampled_moments(x, y, [0, 1, 1], DRAWN),
    lambda x, y: corr.resampled_spearman(x, y, [0, 1, 1], DRAWN),
]
TAKES_A_LIST: list[tuple[str, Callable[[Any], Any]]] = [
    ("differences", stats.sign_flip),
    ("differences", by_size),
    ("p", stats.holm),
    ("question_means", lambda bad: stats.from_summary(bad, [0.1, 0.1, 0.1], 3)),
    ("question_sds", lambda bad: stats.from_summary([0.1, 0.1, 0.1], bad, 3)),
    ("'x', question 'q': average", lambda bad: sampled({"average": [bad]}, ("q",))),
    *(("x", lambda bad, call=call: call(bad, [1, 2, 3])) for call in PAIRED),
    *(("y", lambda bad, call=call: call([1, 2, 3], bad)) for call in PAIRED),
]


@pytest.mark.parametrize("kind", BAD_LISTS)
def test_a_list_that_is_not_one_of_numbers(kind: str) -> None:
    bad, words = BAD_LISTS[kind]
    for name, call in TAKES_A_LIST:
        with pytest.raises(InputError, match=f"^{name}{words}") as error:
            call(bad)
        assert len(str(error.value)) < 160


LISTS: list[Callable[[Any], Any]] = [
    *(list, tuple, np.array, pl.Series),
    lambda values: np.array(values, dtype=np.float32),
    lambda values: [Fraction(x) for x in values],
]


@pytest.mark.parametrize("kind", range(len(LISTS)))
def test_every_list_of_numbers_will_do(kind: int) -> None:
    x, y = [0.5, 0.25, 1.0, 0.75], [1.0, 0.5, 0.5, 0.0]
    one, other = LISTS[kind](x), LISTS[kind](y)
    assert stats.sign_flip(one) == stats.sign_flip(np.array(x)) == 0.125
    assert stats.holm(one).tolist() == stats.holm(np.array(x)).tolist()
    assert stats.from_summary(one, other, 3) == stats.from_summary(x, y, 3)
    assert corr.pearson(one, other) == corr.pearson(x, y)
    assert corr.spearman(one, other) == corr.spearman(x, y)
    assert sampled({"average": [one]}, ("q",)).means().tolist() == [0.625]


def test_integers_and_booleans_are_numbers() -> None:
    assert stats.sign_flip([3, -1, 2]) == stats.sign_flip([3.0, -1.0, 2.0])
    assert stats.sign_flip([True, True, False]) == stats.sign_flip([1.0, 1.0, 0.0])
    assert stats.holm([0, 1]).tolist() == [0.0, 1.0]
    assert stats.rank_ranges([[1, 1, 2], [5, 6, 6]], level=0.5) == [(2, 2), (1, 1)]


# Settings out of their range.


TWO = [[1, 2], [2, 3]]
BAD_SETTINGS: dict[str, tuple[tuple[Any, ...], str, list[Callable[..., Any]]]] = {
    "level": (
        (1.0, 0.0, NAN, "0.95", None, 95),
        "invalid confidence level .*: expected 0.5 to 0.9999",
        [
            *(of(stats.rank_ranges, TWO), of(stats.own_rank_ranges, TWO)),
            *(of(stats.from_summary, [1], [1], 1), of(stats.estimate, A), of(compared, A, B)),
            *(of(stats.plan_trials, A), of(corr.fisher_interval, 0.5, 9)),
            *(of(corr.percentile_interval, [1]), of(corr.correlation_interval, 0.5, 0.1, 9)),
            *(of(shares.wilson, 1, 2), of(shares.bonett_price, 1, 0, 2)),
        ],
    ),
    "seed": (
        (-1, NAN, 1.5, "1", None),
        "invalid seed .*: expected",
        [of(stats.sign_flip, [0.1]), of(stats.estimate, A, resamples=100), of(compared, A, B)],
    ),
    "permutations": (
        (0, -5, 1.5, NAN, "9", None),
        "invalid number of permutations .*: expected (a whole number, )?at least 1",
        [of(stats.sign_flip, [0.1]), of(sign_flip_by_size, [0, 0], seed=0), of(compared, A, B)],
    ),
    "resamples": (
        (99, -1, 100.5, NAN, "100"),
        "invalid number of resamples .*: expected (a whole number, )?at least 100",
        [of(stats.estimate, A), of(stats.compare, [A, B]), of(corr.group_resamples, 3, seed=0)],
    ),
    "precision": (
        (0, -1, NAN, INF, "0.1", None),
        "invalid precision .*: expected a positive number",
        [of(stats.plan_trials, A)],
    ),
    "difference": (
        (0, -1, NAN, INF, "0.1"),
        "invalid difference .*: expected a positive number",
        [of(stats.plan_trials, [A, B])],
    ),
    "power": (
        (0, 1, NAN, "0.8", None),
        "invalid power .*: expected at least 0.5 and less than 1",
        [of(stats.plan_trials, A)],
    ),
}


@pytest.mark.parametrize("name", BAD_SETTINGS)
def test_settings_out_of_range_are_named(name: str) -> None:
    values, words, calls = BAD_SETTINGS[name]
    for call in calls:
        for value in values:
            with pytest.raises(SettingsError, match=words):
                call(**{name: value})


# Calls with their value, or with words of their error.


class Setting(str):
    """Words of a `SettingsError`; a plain text is those of an `InputError`."""


def rows(
    functions: Callable[..., Any] | tuple[Callable[..., Any], ...], *cases: tuple[Any, ...]
) -> list[tuple[Any, ...]]:
    """Each function with the arguments of each case, whose last element is what is expected."""
    each = functions if isinstance(functions, tuple) else (functions,)
    return [(function, *case) for function in each for case in cases]


def listed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns a list where the other returns an array."""
    return lambda *arguments: function(*arguments).tolist()


CALLS: list[tuple[Any, ...]] = [
    *rows(
        stats.sign_flip,
        ([], "^differences has 0 values: expected at least 1"),
        ([0.0], 1.0),
        ([0.3], 1.0),
        ([0.0] * 60, 1.0),
        ([0.1] * 4, 2 / 2**4),
        ([1e69] * 4, 2 / 2**4),
        ([5e-324] * 4, 2 / 2**4),
        ([1e308] * 4, r"\[0\] is 1e\+308: expected numbers from -1e\+70 to 1e\+70"),
    ),
    (of(stats.sign_flip, permutations=99), [0.1] * 60, 1 / 100),
    (lambda: stats.sign_flip([1.0, 2.0], permutations=1) in (0.5, 1.0), True),
    *rows(by_size, ([], 1.0), ([0, 0], 1.0)),
    *rows(listed(stats.holm), ([], []), ([0.2], [0.2]), ([0.25] * 3, [0.75] * 3)),
    *rows(listed(stats.holm), ([0.0, 1.0], [0.0, 1.0])),
    *rows(
        stats.holm,
        ([0.1, 1.1], r"^p\[1\] is 1.1: expected numbers from 0 to 1"),
        ([-0.1], r"^p\[0\] is -0.1: expected numbers from 0 to 1"),
    ),
    *rows(
        (stats.rank_ranges, stats.own_rank_ranges),
        (np.ones((0, 5)), []),
        ([[0.3, 0.4]], [(1, 1)]),
        ([[0.3], [0.9]], [(1, 2)] * 2),
        ([[], []], [(1, 2)] * 2),
        ([[0.5, 0.5]] * 3, [(1, 3)] * 3),
        ([[0.5] * 9, [0.6] * 9], [(2, 2), (1, 1)]),
        ([], r"^means has shape \(0,\): expected rows"),
        ([0.1, 0.2], r"^means has shape \(2,\)"),
        ([[1, 2], [3, NAN]], r"^means\[1, 1\] is nan: exp"),
        ([[1, 2], [INF, 3]], r"^means\[1, 0\] is inf: exp"),
        ([[1], [2, 3]], "^means has rows of different len"),
        ([["a"], ["b"]], r"^means\[0, 0\] is 'a'"),
        ([[1e300, 1], [2, 3]], "expected numbers from"),
    ),
    *rows(
        lambda *given: bounds(stats.from_summary(*given)),
        ([0.5], [0.1], 1, (0.5, None, None, None, None)),
        ([0.5] * 3, [0.0] * 3, 4, (0.5, 0.0, 0.0, 0.5, 0.5)),
        ([], [], 3, "found 0 means and 0 standard deviations"),
        ([1], [1, 2], 3, "found 1 means and 2 standard dev"),
        ([1, 2], [1, -1], 3, r"question_sds\[1\] is -1.0: ex"),
        ([1], [1], 0, "^trials is 0: expected whole numbers"),
        ([1], [1], 1.5, "^trials is 1.5: expected whole num"),
        ([1], [1], NAN, "^trials is nan: expected finite"),
        ([1], [1], None, "^trials is None: expected finite"),
        ([1], [1], [[1]], r"^trials has shape \(1, 1\)"),
        ([1, 1], [1, 1], [1, 0], r"^trials\[1\] is 0: expect"),
        ([1, 1], [1, 1], [1], "for each of 2 questions, found"),
    ),
    (lambda: stats.from_summary([0.5] * 3, [0.1] * 3, 4.0).responses, 12),
    (lambda: stats.from_summary([0.5] * 2, [0.1] * 2, [1, 9]).trial_se, None),
    *rows(
        lambda *values, **settings: bounds(estimated(*values, **settings)),
        ([0.5], (0.5, None, None, None, None)),
        (*FLAT, (0.5, 0.0, 0.0, 0.5, 0.5)),
        ([0.5], [0.5], (0.5, None, 0.0, 0.5, 0.5)),
    ),
    (lambda: bounds(estimated([0.5], resamples=100)), (0.5, None, None, None, None)),
    (lambda: estimated(*FLAT, resamples=100).bootstrap_high, 0.5),
    *rows(
        stats.estimate,
        (ONE_METRIC, "fluency", "'one' has no values of 'fluency'"),
        ([0.1, 0.2], NO_SAMPLE),
        (A, None, Setting("unknown metric None")),
    ),
    (lambda: sampled({"average": [[0.5], [1, 2]]}).means().tolist(), [0.5, 1.5]),
    (lambda: sampled({"average": [[0.5], [1, 2]]}).counts.tolist(), [1, 2]),
    (lambda: np.isnan(sampled({"average": [[0.5], [1, 1]]}).variances()).tolist(), [True, False]),
    (lambda: sampled({"average": [[1], [2]]}).means("fluency"), "no values of 'flue"),
    *rows(
        sampled,
        ({}, "'x' has no values: expected at least one question"),
        ({"average": []}, (), "'x' has no values"),
        ({"average": [[1], []]}, "question 'q': average has 0 values: ex"),
        ({"average": [[1]]}, "values of 'average' for 1 of its 2 quest"),
        (
            {"average": [[1], [2]], "fluency": [[1], [2, 3]]},
            "different numbers of values of 'fluency' and other metrics",
        ),
        ({"average": [[1], [2]]}, ("q", "q"), "a question twice"),
        (*({"average": [[1], [2]]}, ("p", "q"), {"p": None}), "'x': question 'q' has no category"),
        ({"average": [[1], [1e99]]}, r"average\[0\] is 1e\+99: expected"),
    ),
    *rows(
        lambda *runs: [
            (pair.difference, pair.se, pair.low, pair.high, pair.p)
            for pair in compared(*runs).pairs[:1]
        ],
        (SAME, ALSO, [(0.0, 0.0, 0.0, 0.0, 1.0)]),
        ("expected 2 to 100 runs to compare, found 0",),
        (A, "expected 2 to 100 runs to compare, found 1"),
        ([0.1], [0.2], NO_SAMPLE),
        (A, ONE_METRIC, "'one' has no values of 'fluency'"),
    ),
    (lambda: compared(SAME, ALSO).ranks["average"], [(1, 2), (1, 2)]),
    (lambda: compared(A, B).to_dict() == compared(A, B).to_dict(), True),
    (lambda: compared(A, B).runs, ("a", "b")),
    (lambda: compared(A, ONE_METRIC, metrics=["average"]).pairs[0].p, 1.0),
    (of(compared, metrics=[]), A, B, Setting("no metrics: expected at least one of aver")),
    (of(compared, metrics=["x"]), A, B, Setting("unknown metric 'x'")),
    (of(compared, interval="t"), A, B, Setting("unknown interval 't'")),
    (lambda: stats.compare([A, B], resamples=None), Setting("invalid number of resamples")),  # type: ignore[arg-type]
    (lambda: stats.plan_trials(SAME).trials_needed, 1),
    (lambda: stats.plan_trials([SAME, ALSO]).trials_to_tell, 1),
    (of(stats.plan_trials, precision=1e-9), A, Setting("choose a larger value")),
    (of(stats.plan_trials, metric="fluency"), ONE_METRIC, "no values of 'fluency'"),
    *rows(
        stats.plan_trials,
        ([], "expected one or two runs to plan trials for"),
        ([A, B, SAME], "runs to plan trials for, found 3"),
        ([1.0], NO_SAMPLE),
    ),
    *rows(
        (corr.pearson, corr.spearman),
        ([], [], None),
        ([1, 2], [2, 1], None),
        ([1, 2, 3], [5, 5, 5], None),
        ([1, 2, 3], [3, 2, 1], -1.0),
        ([1e-200, 2e-200, 3e-200], [1e9, 2e9, 3e9], 1.0),
        ([-1e308, 0, 1e308], [1, 2, 3], 1.0),
        ([5e-324, 0, -5e-324], [1, 2, 3], -1.0),
        ([1, 2, 3], [1, 2], "have 3 and 2 values: expected"),
    ),
    (corr.pearson, [0.1 + 0.2, 0.3, 0.3], [1, 2, 3], None),  # but for rounding
    (lambda: corr.pearson([1e9 + 1e-4, 1e9, 1e9], [1, 2, 3]) is not None, True),
    (lambda: math.isnan(corr.moments([1], [2]).pearson[0]), True),
    (lambda: math.isnan(corr.moments([1, 1], [2, 3]).slope[0]), True),
    (lambda: corr.moments([1, 1], [2, 3]).mean_y.tolist(), [2.5]),
    *rows(
        corr.moments,
        ([], [], "have 0 and 0 values: .* at least 1"),
        ([1], [1, 2], "have 1 and 2 values"),
    ),
    *rows(
        corr.fisher_interval,
        (None, 9, (None, None)),
        (0.5, 3, (None, None)),
        (0.5, 0, (None, None)),
        (-1.0, 9, (-1.0, -1.0)),
        (1 + 1e-15, 9, (1.0, 1.0)),
        (NAN, 9, "invalid r nan: expected a number"),
        (1.5, 9, "invalid r 1.5: expected a number"),
        ("1", 9, "invalid r '1'"),
        (0.5, -1, "invalid number of items -1"),
        (0.5, NAN, "invalid number of items nan"),
    ),
    (of(corr.fisher_interval, ranks=True), 1.0, 4, (None, None)),
    (listed(corr.group_resamples), 1, 100, 0, [[1]] * 100),
    *rows(
        corr.group_resamples,
        (0, 100, 0, "no groups: expected at least"),
        (-1, 100, 0, "invalid number of groups -1"),
        (3, 100, -1, Setting("invalid seed -1")),
    ),
    *rows(
        (corr.resampled_moments, corr.resampled_spearman),
        ([], [], [], DRAWN, "at least 1"),
        ([1], [1], [2], DRAWN, "number below 2 for"),
        ([1], [1], [], DRAWN, "each of 1 items"),
        ([1], [1], [-1], DRAWN, r"groups\[0\] is -1"),
    ),
    (lambda: np.isnan(corr.resampled_spearman([1] * 3, [1] * 3, [0] * 3, DRAWN)).all(), True),
    *rows(
        corr.percentile_interval,
        ([], (None, None)),
        ([NAN] * 3, (None, None)),
        ([NAN, INF, 1.0], (None, None)),
        ([NAN, 1.0, 1.0], (1.0, 1.0)),
        (["a"], r"values\[0\] is 'a'"),
        ([[1.0]], r"values has shape \(1, 1\)"),
    ),
    *rows(
        (listed(corr.pearson_values), listed(corr.spearman_values)),
        ([1], [1], "have 1 and 1 values: .* at least 2"),
        ([1, 2], [1], "have 2 and 1 values"),
        ([1, 1, 1], [1, 2, 3], [0.0] * 3),
    ),
    *rows(
        corr.correlation_interval,
        (0.5, 0.1, 2, (None, None)),
        (0.5, 0.0, 9, (None, None)),
        (0.5, NAN, 9, (None, None)),
        (1.0, 0.1, 9, (1.0, 1.0)),
        (NAN, 0.1, 9, "invalid r nan"),
        (2.0, 0.1, 9, "invalid r 2.0"),
    ),
    *rows(
        shares.wilson,
        (0, 0, (0.0, 1.0)),
        (4, 3, "invalid count 4 of 3: expected 0 to 3"),
        (NAN, 3, "invalid count nan of 3: expected 0 to 3"),
        ("1", 3, "invalid count '1' of 3"),
        (1, INF, "invalid number of items inf"),
        (1, 2.5, "invalid number of items 2.5"),
    ),
    (lambda: shares.wilson(3, 3)[1], 1.0),
    (lambda: sum(shares.bonett_price(0, 0, 1)), 0.0),
    (lambda: shares.bonett_price(3, 0, 3)[1], 1.0),
    *rows(
        shares.bonett_price,
        (2, 2, 3, "invalid counts 2 and 2 of 3: expected at most"),
        (0, 0, 0, "invalid number of items 0: expected at least"),
        (-1, 0, 3, "invalid count -1: expected a whole number"),
        (1, NAN, 3, "invalid count nan"),
        (1, 0, INF, "invalid number of items inf"),
    ),
    *rows(
        shares.mcnemar,
        (0, 0, 1.0),
        (1, 0, 1.0),
        (-1, 0, "invalid count -1: expected a whole number, 0 or"),
        (0, NAN, "invalid count nan"),
        (1.5, 0, "invalid count 1.5"),
        ("1", 0, "invalid count '1'"),
    ),
    (lambda: corr.regression_line([1, 2, 3], [5, 5, 5]).slope, 0.0),
    (lambda: corr.regression_line([1, 2, 3], [5, 5, 5]).residuals.tolist(), [0.0] * 3),
    *rows(
        corr.regression_line,
        ([1, 2], [1, 2], "have 2 and 2 values: .* least 3"),
        ([1, 2, 3], [1], "have 3 and 1 values"),
        ([2, 2, 2], [1, 2, 3], "x is constant: expected"),
    ),
    (lambda: shares.weighted_mean([np.array([0.5])], [1.0]).se, None),
    (lambda: math.isnan(shares.weighted_mean([np.array([1, NAN])], [1]).value), True),
    *rows(
        lambda samples, weights: shares.weighted_mean(samples, weights).p(),
        ([np.full(3, 0.5)], [1.0], 0.0),
        ([np.zeros(3)], [1.0], 1.0),
        ([np.ones(1)], [1.0], None),
        ([], [], "expected at least one sample"),
        ([np.ones(0)], [1.0], "none of them empty"),
        ([np.ones(2)], [], "and a weight for each"),
    ),
    (shares.p_values, [], []),
    *rows(
        checks.two_sided_quantile,
        (0.95, 0, Setting("invalid degrees of freedom 0: expected at")),
        (NAN, 3, Setting("invalid level nan")),
        (1.0, 3, Setting("invalid level 1.0")),
    ),
    *(
        (checks.count_number, value, "n", r"invalid n of type (int|list), too long to show: exp")
        for value in (-(10**5000), [10**5000])  # which Python does not write out
    ),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_what_is_defined_has_its_value_and_what_is_not_its_error(number: int) -> None:
    call, *arguments, expected = CALLS[number]
    if isinstance(expected, str):
        kind = SettingsError if isinstance(expected, Setting) else InputError
        with pytest.raises(kind, match=expected):
            call(*arguments)
    else:
        assert call(*arguments) == expected


def test_a_published_score_that_is_no_number_is_not_the_mean() -> None:
    found = stats.from_summary([0.5, 0.6], [0.1, 0.1], 3)
    assert not found.is_of(NAN)
    assert found.of(NAN).low is None
