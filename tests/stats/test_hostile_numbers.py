"""What the statistics do with numbers that are none, and with too few or all the same: a table."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from hostile import (
    BAD_LISTS,
    LEVELS,
    SEEDS,
    Refused,
    Rows,
    check_list_is_refused,
    check_row,
    each,
    of,
    places,
    setting,
)
from made_samples import made
from pfgen_rs import stats
from pfgen_rs.errors import InputError
from pfgen_rs.stats import correlation, shares
from pfgen_rs.stats.checks import count_number, two_sided_quantile
from pfgen_rs.stats.permutation import sign_flip_by_size

NAN, INF = math.nan, math.inf
DRAWN = correlation.group_resamples(2, 100, 0)
TAKES_A_LIST: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "sign_flip": ("differences", stats.sign_flip),
    "sign_flip_by_size": (
        "differences",
        lambda bad: sign_flip_by_size(bad, permutations=99, seed=0),
    ),
    "holm": ("p", stats.holm),
    "from_summary, means": (
        "question_means",
        lambda bad: stats.from_summary(bad, [0.1, 0.1, 0.1], 3),
    ),
    "from_summary, sds": ("question_sds", lambda bad: stats.from_summary([0.1, 0.1, 0.1], bad, 3)),
    "Sample": (
        "'x', question 'q': average",
        lambda bad: stats.Sample("x", ("q",), {"q": None}, {"average": [bad]}),
    ),
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
LISTS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "float32": lambda values: np.array(values, dtype=np.float32),
    "series": pl.Series,
    "fractions": lambda values: [Fraction(x) for x in values],
}


@pytest.mark.parametrize("kind", LISTS)
def test_every_list_of_numbers_will_do(kind: str) -> None:
    x, y = [0.5, 0.25, 1.0, 0.75], [1.0, 0.5, 0.5, 0.0]
    one, other = LISTS[kind](x), LISTS[kind](y)
    assert stats.sign_flip(one) == stats.sign_flip(np.array(x)) == 0.125
    assert stats.holm(one).tolist() == stats.holm(np.array(x)).tolist()
    assert stats.from_summary(one, other, 3) == stats.from_summary(x, y, 3)
    assert correlation.pearson(one, other) == correlation.pearson(x, y)
    assert correlation.spearman(one, other) == correlation.spearman(x, y)
    sample = stats.Sample("x", ("q",), {"q": None}, {"average": [one]})
    assert sample.means().tolist() == [0.625]


def test_integers_and_booleans_are_numbers() -> None:
    assert stats.sign_flip([3, -1, 2]) == stats.sign_flip([3.0, -1.0, 2.0])
    assert stats.sign_flip([True, True, False]) == stats.sign_flip([1.0, 1.0, 0.0])
    assert stats.holm([0, 1]).tolist() == [0.0, 1.0]
    assert stats.rank_ranges([[1, 1, 2], [5, 6, 6]]) == [(2, 2), (1, 1)]


def sampled(values: Any, **changes: Any) -> stats.Sample:
    """A sample of two questions."""
    whole = {"questions": ("p", "q"), "categories": {"p": None, "q": None}, "values": values}
    return stats.Sample("x", **{**whole, **changes})


def estimated(*values: Any, resamples: int = 0, **settings: Any) -> stats.Estimate:
    """The estimate of a run with these values of each question."""
    ids = tuple(f"Q{i}" for i in range(len(values)))
    sample = stats.Sample("x", ids, dict.fromkeys(ids), {"average": list(values)})
    return stats.estimate(sample, resamples=resamples, **settings)


def bounds(estimate: stats.Estimate) -> tuple[Any, ...]:
    return estimate.mean, estimate.trial_se, estimate.question_se, estimate.low, estimate.high


def compared(*runs: Any, **settings: Any) -> stats.Comparison:
    each: Any = iter(runs)
    return stats.compare(each, resamples=100, **settings)


def figures_of(found: stats.Comparison) -> tuple[Any, ...]:
    pair = found.pairs[0]
    return pair.difference, pair.se, pair.low, pair.high, pair.p, found.ranks["average"]


FLAT = [np.full(3, 0.5)] * 4
A, B = made("a", questions=9), made("b", questions=9, seed=1, shift=0.1)
SAME = stats.Sample(
    "same",
    A.questions,
    A.categories,
    {m: [v * 0 + 0.5 for v in A.values[m]] for m in stats.METRICS},
)
ALSO = stats.Sample("also", SAME.questions, SAME.categories, SAME.values)
ONE_METRIC = stats.Sample("one", A.questions, A.categories, {"average": A.values["average"]})
NO_SAMPLE = r"^samples\[0\] is .*: expected a Sample"


def constant_values(function: Callable[..., Any]) -> list[float]:
    """Pseudo-values of a correlation with a constant."""
    found: list[float] = function([1, 1, 1], [1, 2, 3]).tolist()
    return found


ROWS: Rows = {
    "sign_flip": [
        (of(stats.sign_flip, []), Refused("^differences has 0 values: expected at least 1")),
        (of(stats.sign_flip, [0.0]), 1.0),
        (of(stats.sign_flip, [0.3]), 1.0),
        (of(stats.sign_flip, [0.0] * 60), 1.0),
        (of(stats.sign_flip, [0.1] * 4), 2 / 2**4),
        (of(stats.sign_flip, [0.1] * 60, permutations=99), 1 / 100),
        (of(stats.sign_flip, [1e69] * 4), 2 / 2**4),
        (of(stats.sign_flip, [5e-324] * 4), 2 / 2**4),
        (
            of(stats.sign_flip, [1e308] * 4),
            Refused(r"\[0\] is 1e\+308: expected numbers from -1e\+70 to 1e\+70"),
        ),
        (lambda: stats.sign_flip([1.0, 2.0], permutations=1) in (0.5, 1.0), True),
        *each(
            [{"permutations": n} for n in (0, -5, 1.5, NAN, "9", None)],
            "invalid number of permutations .*: expected (a whole number, )?at least 1",
            stats.sign_flip,
            [0.1],
        ),
        *each(SEEDS, "invalid seed .*: expected", stats.sign_flip, [0.1]),
    ],
    "sign_flip_by_size": [
        (of(sign_flip_by_size, [], permutations=9, seed=0), 1.0),
        (of(sign_flip_by_size, [0, 0], permutations=9, seed=0), 1.0),
        (
            of(sign_flip_by_size, [0, 0], permutations=0, seed=0),
            setting("invalid number of permutations 0: expected at least 1"),
        ),
    ],
    "holm": [
        (lambda: stats.holm([]).tolist(), []),
        (lambda: stats.holm([0.2]).tolist(), [0.2]),
        (lambda: stats.holm([0.25] * 3).tolist(), [0.75] * 3),
        (lambda: stats.holm([0.0, 1.0]).tolist(), [0.0, 1.0]),
        (of(stats.holm, [0.1, 1.1]), Refused(r"^p\[1\] is 1.1: expected numbers from 0 to 1")),
        (of(stats.holm, [-0.1]), Refused(r"^p\[0\] is -0.1: expected numbers from 0 to 1")),
    ],
    **{
        ranks.__name__: [
            (of(ranks, np.ones((0, 5))), []),
            (of(ranks, [[0.3, 0.4]]), [(1, 1)]),
            (of(ranks, [[0.3], [0.9]]), [(1, 2)] * 2),
            (of(ranks, [[], []]), [(1, 2)] * 2),
            (of(ranks, [[0.5, 0.5]] * 3), [(1, 3)] * 3),
            (of(ranks, [[0.5, 0.5], [0.6, 0.6]]), [(2, 2), (1, 1)]),
            (of(ranks, []), Refused(r"^means has shape \(0,\): expected rows")),
            (of(ranks, [0.1, 0.2]), Refused(r"^means has shape \(2,\)")),
            (of(ranks, [[1, 2], [3, NAN]]), Refused(r"^means\[1, 1\] is nan: exp")),
            (of(ranks, [[1, 2], [INF, 3]]), Refused(r"^means\[1, 0\] is inf: exp")),
            (of(ranks, [[1], [2, 3]]), Refused("^means has rows of different len")),
            (of(ranks, [["a"], ["b"]]), Refused(r"^means\[0, 0\] is 'a'")),
            (of(ranks, [[1e300, 1], [2, 3]]), Refused("expected numbers from")),
            *each(
                LEVELS,
                "invalid confidence level .*: expected 0.5 to 0.9999",
                ranks,
                [[1, 2], [2, 3]],
            ),
        ]
        for ranks in (stats.rank_ranges, stats.own_rank_ranges)
    },
    "from_summary": [
        (lambda: bounds(stats.from_summary([0.5], [0.1], 1)), (0.5, None, None, None, None)),
        (lambda: bounds(stats.from_summary([0.5] * 3, [0.0] * 3, 4)), (0.5, 0.0, 0.0, 0.5, 0.5)),
        (lambda: stats.from_summary([0.5] * 3, [0.1] * 3, 4.0).responses, 12),
        (lambda: stats.from_summary([0.5] * 2, [0.1] * 2, [1, 9]).trial_se, None),
        (of(stats.from_summary, [], [], 3), Refused("found 0 means and 0 standard deviations")),
        (of(stats.from_summary, [1], [1, 2], 3), Refused("found 1 means and 2 standard dev")),
        (of(stats.from_summary, [1, 2], [1, -1], 3), Refused(r"question_sds\[1\] is -1.0: ex")),
        (of(stats.from_summary, [1], [1], 0), Refused("^trials is 0: expected whole numbers")),
        (of(stats.from_summary, [1], [1], 1.5), Refused("^trials is 1.5: expected whole num")),
        (of(stats.from_summary, [1], [1], NAN), Refused("^trials is nan: expected finite")),
        (of(stats.from_summary, [1], [1], None), Refused("^trials is None: expected finite")),
        (of(stats.from_summary, [1], [1], [[1]]), Refused(r"^trials has shape \(1, 1\)")),
        (of(stats.from_summary, [1, 1], [1, 1], [1, 0]), Refused(r"^trials\[1\] is 0: expect")),
        (
            of(stats.from_summary, [1, 1], [1, 1], [1]),
            Refused("for each of 2 questions, found"),
        ),
        *each(
            LEVELS,
            "invalid confidence level",
            stats.from_summary,
            [1],
            [1],
            1,
        ),
    ],
    "estimate": [
        (lambda: bounds(estimated([0.5])), (0.5, None, None, None, None)),
        (lambda: bounds(estimated([0.5], resamples=100)), (0.5, None, None, None, None)),
        (lambda: bounds(estimated(*FLAT)), (0.5, 0.0, 0.0, 0.5, 0.5)),
        (lambda: estimated(*FLAT, resamples=100).bootstrap_high, 0.5),
        (lambda: bounds(estimated([0.5], [0.5]))[1:3], (None, 0.0)),
        (
            of(stats.estimate, ONE_METRIC, "fluency"),
            Refused("'one' has no values of 'fluency'"),
        ),
        (of(stats.estimate, [0.1, 0.2]), Refused(NO_SAMPLE)),
        (of(stats.estimate, A, None), setting("unknown metric None")),
        *each(LEVELS, "invalid confidence level", stats.estimate, A),
        *each(SEEDS, "invalid seed", stats.estimate, A, resamples=100),
        *each(
            [{"resamples": n} for n in (99, -1, 100.5, NAN, "100")],
            "invalid number of resamples .*: expected (a whole number, )?at least 100",
            stats.estimate,
            A,
        ),
    ],
    "Sample": [
        (lambda: sampled({"average": [[0.5], [1, 2]]}).means().tolist(), [0.5, 1.5]),
        (lambda: sampled({"average": [[0.5], [1, 2]]}).counts.tolist(), [1, 2]),
        (
            lambda: np.isnan(sampled({"average": [[0.5], [1, 1]]}).variances()).tolist(),
            [True, False],
        ),
        (of(sampled, {}), Refused("'x' has no values: expected at least one question")),
        (of(sampled, {"average": []}, questions=()), Refused("'x' has no values")),
        (
            of(sampled, {"average": [[1], []]}),
            Refused("question 'q': average has 0 values: ex"),
        ),
        (of(sampled, {"average": [[1]]}), Refused("values of 'average' for 1 of its 2 quest")),
        (
            of(sampled, {"average": [[1], [2]], "fluency": [[1], [2, 3]]}),
            Refused("different numbers of values of 'fluency' and other metrics"),
        ),
        (
            of(sampled, {"average": [[1], [2]]}, questions=("q", "q")),
            Refused("a question twice"),
        ),
        (
            of(sampled, {"average": [[1], [2]]}, categories={"p": None}),
            Refused("'x': question 'q' has no category"),
        ),
        (of(sampled, {"average": [[1], [1e99]]}), Refused(r"average\[0\] is 1e\+99: expected")),
        (lambda: sampled({"average": [[1], [2]]}).means("fluency"), Refused("no values of 'flue")),
    ],
    "compare": [
        (
            lambda: figures_of(compared(SAME, ALSO)),
            (0.0, 0.0, 0.0, 0.0, 1.0, [(1, 2), (1, 2)]),
        ),
        (lambda: compared(A, B).to_dict() == compared(A, B).to_dict(), True),
        (lambda: compared(A, B).runs, ("a", "b")),
        (of(compared), Refused("expected 2 to 100 runs to compare, found 0")),
        (of(compared, A), Refused("expected 2 to 100 runs to compare, found 1")),
        (of(compared, [0.1], [0.2]), Refused(NO_SAMPLE)),
        (of(compared, A, ONE_METRIC), Refused("'one' has no values of 'fluency'")),
        (lambda: compared(A, ONE_METRIC, metrics=["average"]).pairs[0].p, 1.0),
        (of(compared, A, B, metrics=[]), setting("no metrics: expected at least one of aver")),
        (of(compared, A, B, metrics=["x"]), setting("unknown metric 'x'")),
        (of(compared, A, B, interval="t"), setting("unknown interval 't'")),
        *each(LEVELS, "invalid confidence level", compared, A, B),
        *each(SEEDS, "invalid seed", compared, A, B),
        *each(
            [{"permutations": n} for n in (0, -1, NAN, "9")],
            "invalid number of permutations",
            compared,
            A,
            B,
        ),
        *each(
            [{"resamples": n} for n in (99, NAN, None)],
            "invalid number of resamples",
            stats.compare,
            [A, B],
        ),
    ],
    "plan_trials": [
        (lambda: stats.plan_trials(SAME).trials_needed, 1),
        (of(stats.plan_trials, A, precision=1e-9), setting("choose a larger value")),
        (lambda: stats.plan_trials([SAME, ALSO]).trials_to_tell, 1),
        (of(stats.plan_trials, []), Refused("expected one or two runs to plan trials for")),
        (of(stats.plan_trials, [1.0]), Refused(NO_SAMPLE)),
        (
            of(stats.plan_trials, ONE_METRIC, metric="fluency"),
            Refused("no values of 'fluency'"),
        ),
        *each(LEVELS, "invalid confidence level", stats.plan_trials, A),
        *each(
            [{"precision": x} for x in (0, -1, NAN, INF, "0.1", None)],
            "invalid precision .*: expected a positive number",
            stats.plan_trials,
            A,
        ),
        *each(
            [{"difference": x} for x in (0, -1, NAN, INF, "0.1")],
            "invalid difference .*: expected a positive number",
            stats.plan_trials,
            [A, B],
        ),
        *each(
            [{"power": x} for x in (0, 1, NAN, "0.8", None)],
            "invalid power .*: expected at least 0.5 and less than 1",
            stats.plan_trials,
            A,
        ),
    ],
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


def test_a_published_score_that_is_no_number_is_not_the_mean() -> None:
    found = stats.from_summary([0.5, 0.6], [0.1, 0.1], 3)
    assert not found.is_of(NAN)
    assert found.of(NAN).low is None


@pytest.mark.parametrize("value", [-(10**5000), [10**5000]], ids=["a number", "a list"])
def test_numbers_that_python_does_not_write_out(value: Any) -> None:
    with pytest.raises(
        InputError, match=r"invalid n of type (int|list), too long to show: expected"
    ):
        count_number(value, "n")
