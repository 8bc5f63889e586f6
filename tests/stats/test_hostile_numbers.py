"""What the statistics do with numbers that are none, and with too few or all the same: a table.

Every function of `pfgen_rs.stats` has rows: a function without any fails.
"""

import inspect
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
from pfgen_rs.stats.checks import count_number
from pfgen_rs.stats.correlation import pearson, spearman
from pfgen_rs.stats.permutation import sign_flip_by_size

NAN, INF = math.nan, math.inf
RESULTS = {"METRICS", "Comparison", "Estimate", "Pair", "Plan", "Step"}
"""What is no function of numbers: names of metrics, and results."""

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
    assert pearson(one, other) == pearson(x, y)
    assert spearman(one, other) == spearman(x, y)
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
            of(sampled, {"average": [[1], [2]]}, order=[np.array([0]), np.array([0, 1])]),
            Refused("`order` has other numbers of responses"),
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
}


@pytest.mark.parametrize("kind", BAD_LISTS)
@pytest.mark.parametrize("function", TAKES_A_LIST)
def test_a_list_that_is_not_one_of_numbers(function: str, kind: str) -> None:
    check_list_is_refused(*TAKES_A_LIST[function], kind)


@pytest.mark.parametrize(("function", "row"), places(ROWS))
def test_what_is_defined_has_its_value_and_what_is_not_its_error(function: str, row: int) -> None:
    check_row(ROWS[function][row])


def test_every_function_has_rows() -> None:
    listed = {name.partition(",")[0] for name in TAKES_A_LIST} | set(ROWS)
    assert set(stats.__all__) - RESULTS <= listed


def test_results_are_not_functions() -> None:
    """So `RESULTS` cannot hide one."""
    found = {name: getattr(stats, name) for name in RESULTS}
    assert [n for n, each in found.items() if not (inspect.isclass(each) or n == "METRICS")] == []


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
