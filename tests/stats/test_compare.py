"""Runs compared, and trials planned: what the figures must be, and what is refused."""

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats  # type: ignore[import-untyped]

from made_samples import made, sample
from pfgen_rs import InputError, stats

AVERAGE = ["average"]


def three() -> list[stats.Sample]:
    return [made("a", seed=1, shift=0.1), made("b", seed=2), made("c", seed=3)]


def test_pairs_say_what_their_differences_say() -> None:
    a, b, _ = three()
    pair = stats.compare([a, b]).pair("a", "b")
    differences = a.means() - b.means()
    assert pair.difference == pytest.approx(differences.mean())
    assert pair.se == pytest.approx(scipy.stats.sem(differences))
    assert pair.p == stats.sign_flip(differences)
    t, z = scipy.stats.t.ppf(0.975, 49), scipy.stats.norm.ppf(0.8)
    assert pair.minimum_detectable == pytest.approx((t + z) * pair.se)
    analytic = scipy.stats.t.interval(0.95, 49, loc=differences.mean(), scale=pair.se)
    assert (pair.low, pair.high) == pytest.approx(analytic, abs=0.25 * pair.se)


def test_intervals_of_students_t_need_no_resamples() -> None:
    samples = three()
    found = stats.compare(samples, interval="student", level=0.9)
    for pair in found.pairs:
        differences = np.subtract(
            *(samples["abc".index(n)].means(pair.metric) for n in (pair.a, pair.b))
        )
        wanted = scipy.stats.t.interval(0.9, 49, differences.mean(), scipy.stats.sem(differences))
        assert (pair.low, pair.high) == pytest.approx(wanted)
    resampled = stats.compare(samples, level=0.9)
    for pair, other in zip(found.pairs, resampled.pairs, strict=True):
        assert replace(pair, low=other.low, high=other.high) == other
    assert found.ranks == resampled.ranks
    for each in found.estimates["average"]:
        assert each.low is not None
        assert each.bootstrap_low is None


def test_p_values_are_corrected_for_all_pairs_of_a_metric() -> None:
    found = stats.compare(three())
    for metric in stats.METRICS:
        pairs = [pair for pair in found.pairs if pair.metric == metric]
        assert [(pair.a, pair.b) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
        corrected = stats.holm(np.array([pair.p for pair in pairs]))
        assert [pair.p_holm for pair in pairs] == corrected.tolist()


def test_system_runs_alone_are_compared_as_models_are() -> None:
    models = [made(f"m{i}", seed=i, shift=0.1 * i) for i in range(3)]
    system = [replace(model, system=True) for model in models]
    assert stats.compare(system).to_dict() == stats.compare(models).to_dict()


def test_system_runs_change_nothing_between_models() -> None:
    """They take no rank, and their pairs are corrected among themselves."""
    models = three()
    alone = stats.compare(models)
    system = [replace(made(f"s{i}", seed=9 + i, shift=0.5), system=True) for i in range(2)]
    found = stats.compare([system[0], *models, system[1]])
    assert found.ranks["average"] == [None, *alone.ranks["average"], None]
    for pair in alone.pairs:
        again = found.pair(pair.a, pair.b, pair.metric)
        assert (again.p, again.p_holm, again.family) == (pair.p, pair.p_holm, 3)
    others = [p for p in found.pairs if p.metric == "average" and {p.a, p.b} & {"s0", "s1"}]
    corrected = stats.holm(np.array([pair.p for pair in others]))
    assert [(pair.p_holm, pair.family) for pair in others] == [(p, 7) for p in corrected.tolist()]
    assert found.to_dict()["ranks"]["average"]["s0"] is None


def test_the_better_run_is_put_first() -> None:
    a, b, _ = three()
    pair = stats.compare([b, a]).pair("b", "a")
    turned = pair.better_first()
    assert (turned.a, turned.b, turned.difference) == ("a", "b", -pair.difference)
    assert (turned.low, turned.high, turned.p) == (-pair.high, -pair.low, pair.p)
    assert turned.better_first() == turned


def test_what_permutations_resolve_is_told() -> None:
    far = [made("a", shift=0.9, spread=0.05), made("b", seed=1, spread=0.05)]
    found = stats.compare(far, permutations=999)
    assert found.smallest_p == found.to_dict()["smallest_p"] == found.pairs[0].p == 1 / 1000
    assert stats.compare([made("a", questions=4), made("b", questions=4)]).smallest_p == 0.0


def test_ranks_follow_the_pairs() -> None:
    assert stats.compare(three()).ranks["average"] == [(1, 1), (2, 3), (2, 3)]


def test_estimates_are_those_of_each_run_alone() -> None:
    found = stats.compare(three(), seed=9, resamples=500)
    for i, run in enumerate(three()):
        assert found.estimates["average"][i] == stats.estimate(run, seed=9, resamples=500)


def test_the_order_of_runs_changes_signs_alone() -> None:
    a, b, c = three()
    pair, turned = stats.compare([a, b, c]).pair("a", "b"), stats.compare([b, a]).pair("b", "a")
    assert (turned.difference, turned.low, turned.high) == pytest.approx(
        (-pair.difference, -pair.high, -pair.low), abs=1e-12
    )


def test_many_runs_get_the_permutations_that_their_correction_needs() -> None:
    runs = [made(f"{i:02}", seed=i, trials=3, shift=0.05 * i, spread=0.05) for i in range(25)]
    found = stats.compare(runs, metrics=AVERAGE, permutations=100, resamples=100)
    assert found.ranks["average"] == [(i, i) for i in range(25, 0, -1)]


def test_only_questions_of_all_runs_count() -> None:
    random = np.random.default_rng(0)
    one = sample("one", list(random.random((9, 3))))
    other = sample("other", list(random.random((9, 3))), first=2)
    found = stats.compare([one, other])
    assert found.compared == tuple(f"Q{i:03}" for i in range(2, 9))
    assert found.left_out == ("Q000", "Q001", "Q009", "Q010")
    assert "left out 4 questions not answered by all runs: Q000, Q001" in found.notes[0]
    expected = one.means()[2:].mean() - other.means()[:7].mean()
    assert found.pairs[0].difference == pytest.approx(expected)


def test_the_signature_says_which_part_of_the_questions_was_compared() -> None:
    text = "pfgen|set:0|variant:paper|v:0.2.0"
    found = [made(name, seed=seed) for seed, name in enumerate("ab")]
    count = len(found[0].questions)
    for asked, expected in (
        (None, text),
        (count, text),
        (count + 4, f"pfgen|set:0|variant:paper|questions:{count}/{count + 4}|v:0.2.0"),
    ):
        alike = [replace(each, signature=text, asked=asked) for each in found]
        assert stats.compare(alike).signature == expected


def test_few_questions_are_told_of() -> None:
    few = [made("a", questions=4), made("b", questions=4, seed=1, shift=0.9)]
    found = stats.compare(few)
    assert found.notes == (
        "with 4 questions, p-values cannot be smaller than 0.12: no difference is significant",
    )
    assert found.pairs[0].p == 0.125


def test_questions_answered_once_are_told_of() -> None:
    found = stats.compare([made("a", trials=1), made("b")])
    assert (
        "no estimate of trial noise, since some questions have a single answer: a" in found.notes[0]
    )
    assert found.questions.get_column("low").null_count() == found.questions.height


def test_differences_by_question_have_the_intervals_of_welch() -> None:
    a, b = made("a", trials=6), made("b", trials=9, seed=1, spread=0.4)
    rows = stats.compare([a, b], metrics=AVERAGE).questions
    assert rows.get_column("question_id").to_list() == list(a.questions)
    for row, x, y in zip(
        rows.iter_rows(named=True), a.values["average"], b.values["average"], strict=True
    ):
        bounds = scipy.stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.95)
        assert row["difference"] == pytest.approx(x.mean() - y.mean())
        assert (row["mean_a"], row["mean_b"]) == pytest.approx((x.mean(), y.mean()))
        # Degrees of freedom are rounded down, so the interval is hardly longer.
        assert bounds.low - 0.02 < row["low"] <= bounds.low + 1e-12
        assert bounds.high - 1e-12 <= row["high"] < bounds.high + 0.02


def test_categories_are_means_of_their_questions() -> None:
    a, b = made("a"), made("b", seed=1)
    [row] = stats.compare([a, b], metrics=AVERAGE).categories.to_dicts()
    differences = (a.means() - b.means())[1::2]
    bounds = scipy.stats.t.interval(
        0.95, 24, loc=differences.mean(), scale=scipy.stats.sem(differences)
    )
    assert (row["category"], row["questions"]) == ("odd", 25)
    assert [row["difference"], row["low"], row["high"]] == pytest.approx(
        [differences.mean(), *bounds]
    )
    assert row["mean_a"] == pytest.approx(a.means()[1::2].mean())


@pytest.mark.parametrize("members", [1, 3, 4])
def test_a_category_of_few_questions_has_no_interval(members: int) -> None:
    runs = [made(name, seed=i, questions=2 * members) for i, name in enumerate("ab")]
    found = stats.compare(runs).categories
    assert found.get_column("questions").to_list() == [members] * 4
    assert found.select("low", "high").null_count().row(0) == ((4, 4) if members < 4 else (0, 0))


def test_everything_is_json() -> None:
    found = json.loads(json.dumps(stats.compare(three()).to_dict(), allow_nan=False))
    assert found["ranks"]["average"] == {"a": [1, 1], "b": [2, 3], "c": [2, 3]}
    assert pl.DataFrame(found["questions"]).height == 3 * 4 * 50


# What is refused.


def test_runs_must_be_comparable() -> None:
    a, b, _ = three()
    with pytest.raises(InputError, match="duplicate run name 'a'"):
        stats.compare([a, replace(b, name="a")])
    with pytest.raises(
        InputError, match=r"'a' and 'b' were scored with different .* \(None and other\)"
    ):
        stats.compare([a, replace(b, signature="other")])
    elsewhere = sample("far", [np.ones(2)] * 5, first=49)
    with pytest.raises(
        InputError, match="too few questions answered by all runs: expected at least 2, found 1"
    ):
        stats.compare([a, elsewhere])
    with pytest.raises(InputError, match="no comparison of 'b' with 'a' in 'average'"):
        stats.compare([a, b]).pair("b", "a")


# Plans.


def test_the_needed_trials_are_the_fewest_that_do() -> None:
    run = made(questions=40, trials=20)
    for precision in (0.003, 0.01, 0.04):
        plan = stats.plan_trials(run, precision=precision)
        z = scipy.stats.norm.ppf(0.975)
        assert z * plan.trial_sd / math.sqrt(plan.trials_needed) <= precision
        if plan.trials_needed > 1:
            assert z * plan.trial_sd / math.sqrt(plan.trials_needed - 1) > precision
        assert plan.trial_sd == pytest.approx(stats.estimate(run).trial_sd)


def test_with_questions_there_is_a_part_that_stays() -> None:
    run = made(questions=40, trials=20)
    plan = stats.plan_trials(run, precision=0.01)
    t = scipy.stats.t.ppf(0.975, 39)
    true = run.means().var(ddof=1) - (run.variances() / 20).mean()
    assert plan.question_sd == pytest.approx(math.sqrt(true))
    assert plan.remaining == pytest.approx(t * math.sqrt(true / 40))
    assert plan.trials_needed_with_questions is None
    wide = stats.plan_trials(run, precision=plan.remaining * 1.05).trials_needed_with_questions
    assert wide is not None
    half = [t * math.sqrt(true / 40 + plan.trial_sd**2 / n) for n in (wide, wide - 1)]
    assert half[0] <= plan.remaining * 1.05 < half[1]


def test_the_table_begins_with_one_trial_and_falls() -> None:
    steps = stats.plan_trials(made()).table
    assert steps[0].trials == 1
    assert steps[3].trial_noise == pytest.approx(steps[0].trial_noise / math.sqrt(steps[3].trials))
    assert all(step.with_questions > step.trial_noise for step in steps)


def test_telling_two_runs_apart() -> None:
    a, b, _ = three()
    plan = stats.plan_trials([a, b], difference=0.02, power=0.9)
    z = scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.9)
    noise = math.sqrt(float((a.variances() + b.variances()).sum())) / 50
    assert plan.trial_sd == pytest.approx(noise)
    assert plan.trials_to_tell == math.ceil((z * noise / 0.02) ** 2)
    assert plan.mean == pytest.approx(a.means().mean() - b.means().mean())
    observed = stats.plan_trials([a, b])
    assert observed.difference == pytest.approx(abs(plan.mean))
    assert stats.plan_trials(a).trials_to_tell is None


@pytest.mark.parametrize("trials", [2, 7, 20])
def test_a_plan_for_what_a_comparison_can_detect_is_what_was_run(trials: int) -> None:
    a = made("a", trials=trials)
    b = sample("b", a.values["average"][::-1])
    detectable = stats.compare([a, b], metrics=AVERAGE).pairs[0].minimum_detectable
    plan = stats.plan_trials([a, b], difference=detectable)
    assert plan.question_sd > 0
    assert plan.trials_to_tell_with_questions == trials


def test_no_number_of_trials_tells_alike_runs_apart() -> None:
    a = made("a")
    values = {metric: [v[::-1] for v in a.values[metric]] for metric in stats.METRICS}
    plan = stats.plan_trials([a, replace(a, name="b", values=values)])
    assert plan.difference == pytest.approx(0.0, abs=1e-12)
    assert (plan.trials_to_tell, plan.trials_to_tell_with_questions) == (None, None)


def test_plans_need_runs_that_can_be_planned_from() -> None:
    with pytest.raises(
        InputError, match=r"'once': trial noise needs at least two answers .*: 50, the first"
    ):
        stats.plan_trials(made("once", trials=1))
    with pytest.raises(
        InputError, match="too few questions answered by the run: expected at least 2, found 1"
    ):
        stats.plan_trials(made(questions=1))
