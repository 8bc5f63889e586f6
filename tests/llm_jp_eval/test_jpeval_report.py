"""Reports: the figures are those of scipy and of a bootstrap, and runs that differ are not mixed."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats  # type: ignore[import-untyped]

from jpeval_runs import ALL, made_run
from pfgen_rs import InputError, SettingsError
from pfgen_rs.llm_jp_eval import averages
from pfgen_rs.llm_jp_eval.report.comparing import average_column, category_columns, compared_columns
from pfgen_rs.llm_jp_eval.report.report import Report, report_of
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.stats import holm
from pfgen_rs.stats.permutation import sign_flip

NLI = ("jamp", "janli", "jnli", "jsem", "jsick")
CATEGORIES = ("NLI", "QA", "RC", "MC", "EL", "FA", "MR")


@pytest.fixture(scope="module")
def two() -> list[ReportRun]:
    return [made_run("org/a", skill=0.5), made_run("org/b", skill=0.56)]


@pytest.fixture(scope="module")
def report(two: list[ReportRun]) -> Report:
    return report_of(two)


def values(run: ReportRun, task: str) -> np.ndarray:
    return run.frame.filter(pl.col("task") == task)["value"].to_numpy()


def test_values_are_those_of_the_averages(two: list[ReportRun], report: Report) -> None:
    for run in two:
        parts = average_column("AVR").parts
        scores = {part.score: run.score(part.task, part.metric) for part in parts}
        expected = averages(scores)
        for name in ("AVR", *CATEGORIES):
            value = report.estimates[run.name][name].value
            assert value == pytest.approx(expected[name], abs=1e-15)
        found = report_of([run], average="AVG").estimates[run.name]["AVG"]
        assert found.value == pytest.approx(expected["AVG"], abs=1e-15)


def test_given_scores_are_shown_to_the_last_digit(two: list[ReportRun]) -> None:
    run = replace(two[0], scores={"mawps_exact_match": 0.123456789012345})
    found = report_of([run]).estimates[run.name]
    assert found["MR"].value == found["mawps"].value == 0.123456789012345


@pytest.mark.parametrize("column", ["AVR", "NLI", "FA", "QA"])
def test_intervals_of_sums_agree_with_a_stratified_bootstrap(
    two: list[ReportRun], report: Report, column: str
) -> None:
    [found] = [each for each in report.columns if each.name == column]
    random = np.random.default_rng(0)
    drawn = np.zeros(4000)
    for part in found.parts:
        own = values(two[0], part.task)
        drawn += part.weight * own[random.integers(0, len(own), (4000, len(own)))].mean(axis=1)
    estimate = report.estimates["org/a"][column]
    assert estimate.se == pytest.approx(drawn.std(ddof=1), rel=0.05)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.003)


def test_standard_errors_are_those_of_samples(two: list[ReportRun], report: Report) -> None:
    for task in ("mawps", "jsquad", "wiki_ner"):
        own = values(two[0], task)
        found = report.estimates["org/a"][task]
        assert found.se == pytest.approx(scipy.stats.sem(own))
        assert found.samples == 100
    expected = scipy.stats.t.interval(0.95, 99, own.mean(), scipy.stats.sem(own))
    assert (found.low, found.high) == pytest.approx(expected)


def test_constant_values_have_intervals() -> None:
    perfect = made_run("perfect", skill=2.0, samples=30)
    found = report_of([perfect]).estimates["perfect"]
    for task in ("mawps", "jsquad"):
        assert found[task].value == found[task].high == 1.0
        assert 0.85 < (found[task].low or 0) < 0.95
    assert (found["AVR"].value, found["AVR"].low, found["AVR"].high) == (1.0, None, None)
    alike = made_run("alike", chosen=["jsts"])
    alike = replace(alike, frame=alike.frame.with_columns(pred=pl.lit("3")))
    for name in ("STS (r)", "STS (ρ)"):
        found_sts = report_of([alike]).estimates["alike"][name]
        assert (found_sts.value, found_sts.se, found_sts.low) == (0.0, None, None)


def test_huge_predictions_leave_no_standard_error() -> None:
    run = made_run("huge", chosen=["jsts"])
    first = pl.when(pl.col("index") == 0).then(pl.lit("9" * 400)).otherwise("pred").alias("pred")
    found = report_of([replace(run, frame=run.frame.with_columns(first)), made_run("other")])
    assert found.estimates["huge"]["jsts (r)"].se is None
    assert found.pairs_in("STS (r)") == []


def test_tests_of_pairs(two: list[ReportRun], report: Report) -> None:
    [pair] = report.pairs_in("mawps")
    assert (pair.a, pair.b) == report.runs == ("org/b", "org/a")
    apart = values(two[1], "mawps") - values(two[0], "mawps")
    more, less = int((apart > 0).sum()), int((apart < 0).sum())
    assert pair.test == "mcnemar"
    assert pair.p == pytest.approx(scipy.stats.binomtest(more, more + less).pvalue)
    assert pair.difference == pytest.approx(apart.mean())
    assert pair.se == pytest.approx(scipy.stats.sem(apart))
    [pair] = report.pairs_in("jsquad")
    apart = values(two[1], "jsquad") - values(two[0], "jsquad")
    assert pair.test == "sign_flip"
    assert pair.smallest_p == 1 / 10_001
    assert pair.p == pytest.approx(sign_flip(apart, permutations=50_000), abs=0.02)
    assert (pair.low, pair.high) == pytest.approx(
        scipy.stats.t.interval(0.95, 99, apart.mean(), scipy.stats.sem(apart))
    )
    for name in ("AVR", "NLI", "STS (r)"):
        assert report.pairs_in(name)[0].test == "t"
    assert report.pairs_in("RC")[0].p == report.pairs_in("jsquad")[0].p


@pytest.mark.parametrize("samples", [1, 2, 4, 10])
def test_no_interval_of_a_difference_is_impossible(samples: int) -> None:
    skills = {"bad": 0.1, "good": 0.9, "better": 0.95}
    runs = [made_run(name, skill=skill, samples=samples) for name, skill in skills.items()]
    for pair in report_of(runs).pairs:
        farthest = 2 if "STS" in pair.column or "jsts" in pair.column else 1
        if pair.low is not None and pair.high is not None:
            assert -farthest <= pair.low <= pair.difference <= pair.high <= farthest
        assert pair.test != "mcnemar" or pair.low != pair.high  # also where all samples agree


def test_p_values_are_corrected_within_average_categories_and_tasks(report: Report) -> None:
    for kind, family in (("average", 1), ("category", 9), ("task", 18)):
        names = {column.name for column in report.of_kind(kind)}
        pairs = [pair for pair in report.pairs if pair.column in names]
        corrected = holm(np.array([pair.p for pair in pairs]))
        assert [pair.p_holm for pair in pairs] == corrected.tolist()
        assert {pair.family for pair in pairs} == {family} == {len(pairs)}


def test_many_runs_are_ranked() -> None:
    runs = [made_run(f"m{i}", skill=0.2 + 0.06 * i, samples=60) for i in range(8)]
    found = report_of(runs)
    assert found.runs == tuple(f"m{i}" for i in range(7, -1, -1))
    assert found.ranks["m7"] is not None
    assert found.ranks["m7"][0] == 1
    assert all(best <= i <= worst for i, (best, worst) in enumerate(found.ranks.values(), 1))  # type: ignore[misc]
    assert {pair.test for pair in found.pairs_in("jsquad")} == {"t"}  # 28 · 18 tests
    assert {pair.test for pair in found.pairs_in("jamp")} == {"mcnemar"}


def test_the_order_of_runs_does_not_matter(two: list[ReportRun], report: Report) -> None:
    assert report_of(two[::-1]).to_dict() == report.to_dict()


def test_runs_that_cannot_be_told_apart_are_named() -> None:
    alike = [made_run("one", skill=0.5, samples=20), made_run("other", skill=0.505, samples=20)]
    found = report_of(alike)
    [pair] = found.pairs_in("AVR")
    assert pair.p_holm > 0.05
    assert found.ranks == {"one": (1, 2), "other": (1, 2)}
    [note] = found.notes
    assert "cannot be told apart in AVR with 20 samples per task" in note
    assert f"a difference below {pair.minimum_detectable:.4f} is likely to be missed" in note
    assert "times as many samples" in note
    three = [*alike, made_run("far", skill=0.8, samples=20)]
    assert "1 of 3 pairs cannot be told apart in AVR" in report_of(three).notes[0]


def test_missing_tasks_are_marked_not_counted() -> None:
    some = made_run("some", chosen=["jamp", "janli", "mawps", "jsts"])
    found = report_of([some])
    estimates = found.estimates["some"]
    assert estimates["AVR"].value is None
    assert estimates["NLI"].missing == ("jnli", "jsem", "jsick")
    nli = (values(some, "jamp").mean() + values(some, "janli").mean()) / 2
    assert estimates["NLI"].value == pytest.approx(nli)
    assert estimates["QA"].value is None
    assert estimates["MR"].missing == ()
    assert found.notes[0] == "AVR needs tasks of all seven categories; not run: QA, RC, MC, EL, FA"
    assert "marked with *, since some of their tasks were not run: NLI (jnli" in found.notes[1]
    known = report_of([some], average="AVG").estimates["some"]["AVG"]
    assert known.value == pytest.approx((nli + values(some, "mawps").mean()) / 9)


def test_an_average_without_some_tasks_is_marked() -> None:
    chosen = [task for task in ALL if task not in ("jsick", "niilc")]
    run = made_run("a", chosen=chosen)
    found = report_of([run])
    known = [part for part in average_column("AVR").parts if part.task in chosen]
    scores = {part.score: run.score(part.task, part.metric) for part in known}
    estimate = found.estimates["a"]["AVR"]
    assert estimate.value == pytest.approx(averages(scores)["AVR"], abs=1e-15)
    assert estimate.missing == ("jsick", "niilc")
    told = "marked with *, since some of their tasks were not run: AVR, NLI, QA (jsick, niilc)"
    assert found.notes == (told,)


def test_runs_are_compared_over_what_they_share() -> None:
    one = made_run("one", chosen=["jamp", "mawps"], samples=100)
    other = made_run("other", chosen=["mawps", "jsts"], skill=0.6, samples=100)
    other = replace(other, frame=other.frame.filter(pl.col("index") < 40))
    found = report_of([one, other])
    assert found.samples == {"mawps": 40}
    [pair] = found.pairs_in("mawps")
    apart = values(one, "mawps")[:40].mean() - values(other, "mawps").mean()
    assert pair.difference == pytest.approx(apart)
    assert pair.samples == 40
    assert found.estimates["one"]["mawps"].samples == 100
    assert "not compared, since some runs lack them: jamp, jsts" in found.notes
    told = "values are over all samples of a run, differences over those that all have: mawps (40)"
    assert told in found.notes
    assert found.pairs_in("AVR") == found.pairs_in("jamp") == []
    assert found.ranks == {"one": None, "other": None}


def test_other_data_are_refused(two: list[ReportRun]) -> None:
    one, other = two
    for column in ("gold", "input"):
        changed = pl.when((pl.col("task") == "jnli") & (pl.col("index") == 7)).then(pl.lit("x"))
        frame = other.frame.with_columns(changed.otherwise(column).alias(column))
        with pytest.raises(InputError, match=f"{column}s of 1 sample differ, the first is jnli 7"):
            report_of([one, replace(other, frame=frame)])
    shared = other.frame.with_columns(index=pl.col("index") + 1000)
    with pytest.raises(InputError, match="share no sample"):
        report_of([one, replace(other, frame=shared)])
    with pytest.raises(InputError, match="duplicate run name 'org/a'"):
        report_of([one, one])


def test_settings_must_agree_or_are_told(two: list[ReportRun]) -> None:
    one, other = two
    for name, own, its in (("variant", "upstream", "swallow"), ("split", "dev", "test")):
        runs = [replace(one, settings={name: own}), replace(other, settings={name: its})]
        with pytest.raises(InputError, match=f"have different {name}s"):
            report_of(runs)
    shots = [replace(one, settings={"shots": "4"}), replace(other, settings={"shots": "0"})]
    assert "the runs differ in shots: 0, 4" in report_of(shots).notes


def test_bad_frames_and_settings_are_refused(two: list[ReportRun]) -> None:
    with pytest.raises(InputError, match="no samples"):
        replace(two[0], frame=two[0].frame.head(0))
    with pytest.raises(InputError, match="expected 1 to 100 runs to report, found 0"):
        report_of([])
    with pytest.raises(SettingsError, match="unknown average 'mean': expected one of AVR, AVG"):
        report_of(two, average="mean")
    with pytest.raises(InputError, match="none of these tasks was run: mmlu"):
        report_of(two, tasks=["mmlu"])
    no_number = two[0].frame.with_columns(gold=pl.lit("x"))
    with pytest.raises(InputError, match="expected a number, found 'x'"):
        report_of([replace(two[0], frame=no_number)])


def test_comparisons_of_equals_err_as_often_as_they_say() -> None:
    """Of 400 pairs of runs that are as good as each other, 5 % differ in AVR, and in QA."""
    wrong = {"AVR": 0, "QA": 0, "RC": 0}
    columns = [c for c in (average_column("AVR"), *category_columns()) if c.name in wrong]
    times = 400
    for seed in range(times):
        runs = [made_run(f"{name}{seed}", seed=seed, samples=20) for name in ("a", "b")]
        for pair in compared_columns(runs, columns):
            wrong[pair.column] += pair.p <= 0.05
    assert all(0.02 < count / times < 0.085 for count in wrong.values())
