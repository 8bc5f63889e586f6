"""Reports: their figures, runs that differ, and the commands `report` and `plot`."""

import csv
import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats  # type: ignore[import-untyped]
from rich.cells import cell_len

from jpeval_data import RUNNER, jp_eval, jp_json, made_data, made_scores
from jpeval_runs import ALL, TRANSLATED, made_run, result_of_1_3_0, result_of_2
from pfgen_rs import InputError, SettingsError
from pfgen_rs.cli.app import app
from pfgen_rs.llm_jp_eval import averages, registry
from pfgen_rs.llm_jp_eval.averaging import split_score
from pfgen_rs.llm_jp_eval.evaluation_files import read_tasks
from pfgen_rs.llm_jp_eval.plans import plan as planned
from pfgen_rs.llm_jp_eval.registry import find_profile, tasks
from pfgen_rs.llm_jp_eval.report.comparing import average_column, category_columns, compared_columns
from pfgen_rs.llm_jp_eval.report.report import Report, report_of
from pfgen_rs.llm_jp_eval.report.runs import ReportRun, read_report_runs
from pfgen_rs.llm_jp_eval.scoring import (
    Evaluation,
    Plan,
    ScoreSettings,
    evaluate,
    score_config,
    signature,
    standard_errors,
    write_results,
)
from pfgen_rs.stats import holm
from pfgen_rs.stats.permutation import sign_flip
from pfgen_rs.stats.shares import wilson

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
    assert found.notes[0] == "AVR needs tasks of all its categories; not run: QA, RC, MC, EL, FA"
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
    for name, own, its in (("profile", "1.3.0", "swallow"), ("split", "dev", "test")):
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


# The commands `report` and `plot`, with folders of scores and result files, also of other versions.


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """Runs of all tasks, and one of some."""
    place = tmp_path_factory.mktemp("runs")
    for i, right in enumerate((0.3, 0.5, 0.8)):
        made_scores(place / f"model-{i}.{i}b", data, right=right)
    made_scores(place / "some", data, right=0.4, chosen=("jamp", "mawps", "jsts"))
    return place


def scores(path: Path) -> dict[str, float]:
    record = json.loads((path / "scores.json").read_bytes())
    found: dict[str, float] = record["profiles"]["1.3.0"]["scores"]
    return found


def test_runs_are_read_with_their_scores_and_inputs(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "some" / "result.json", tmp_path / "org--model_20240101.json")
    paths = [*sorted(folder.iterdir()), *sorted(tmp_path.iterdir())]
    runs = read_report_runs(paths)
    names = ["model-0.0b", "model-1.1b", "model-2.2b", "some", "org--model_20240101"]
    assert [run.name for run in runs] == names
    for run, path in zip(runs, [*paths[:4], folder / "some"], strict=True):
        assert run.scores == scores(path)
        assert run.frame["input"].null_count() == 0
        assert (run.settings["profile"], run.settings["split"]) == ("1.3.0", "test")
        assert run.signature is not None


def test_same_names_get_parents(folder: Path, tmp_path: Path) -> None:
    some = folder / "some"
    done = jp_eval("report", some, some / "result.json")
    assert "two files have the same path" in done.stderr
    shutil.copytree(folder / "some", tmp_path / "other" / "some")
    names = [run.name for run in read_report_runs([folder / "some", tmp_path / "other" / "some"])]
    assert names == [f"{folder.name}/some", "other/some"]


def test_a_published_result_file_is_reported(jpeval_dir: Path) -> None:
    done = jp_eval("report", jpeval_dir / "golden" / "result_example.json")
    assert done.exit_code == 0
    assert "result_example" in done.stdout
    assert "0.2222" in done.stdout  # chabsa, as the file says
    assert "marked with *, since some of their tasks were not run: AVR, NLI, QA, FA" in done.stderr


def test_two_runs_are_compared_column_by_column(folder: Path) -> None:
    done = jp_eval("report", folder / "model-0.0b", folder / "model-1.1b")
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["1", "1", "model-1.1b"] in [line[:3] for line in lines]
    compared = [line[0] for line in lines if len(line) > 6 and "to" in line and line[0].isupper()]
    assert compared == ["AVR", "NLI", "QA", "RC", "MC", "EL", "FA", "MR", "STS", "STS"]
    assert "corrected for 1 or 9 tests" in done.stdout
    assert "|profile:1.3.0|split:test|n:all|shots:4|avg:AVR|raw:" in done.stdout
    by_task = jp_eval("report", folder / "model-0.0b", folder / "model-1.1b", "--by-task").stdout
    assert "wiki_coreference" in by_task
    assert "corrected for 1 or 18 tests" in by_task


def test_tables_say_how_many_samples_their_values_are_over(folder: Path, tmp_path: Path) -> None:
    short = made_scores(tmp_path / "short", made_data(tmp_path / "data", samples=12), right=0.5)
    done = jp_eval("report", folder / "model-0.0b", short)
    assert done.stdout.startswith("AVR, 12 to 30 samples per task")
    by_task = jp_eval("report", folder / "model-0.0b", short, "--by-task").stdout
    [mawps] = [line.split() for line in by_task.splitlines() if line.split()[:1] == ["mawps"]][:1]
    assert mawps[1:4] == ["12", "to", "30"]


def test_json_and_csv_hold_unrounded_values(folder: Path) -> None:
    paths = [folder / "model-0.0b", folder / "model-2.2b"]
    found = jp_json("report", *paths)
    assert found["runs"] == ["model-2.2b", "model-0.0b"]
    own = scores(paths[0])
    assert found["scores"]["model-0.0b"]["mawps"]["value"] == own["mawps_exact_match"]
    assert found["scores"]["model-0.0b"]["jsts (ρ)"]["value"] == own["jsts_spearman"]
    rows = list(csv.DictReader(io.StringIO(jp_eval("report", *paths, "--format", "csv").stdout)))
    [row] = [row for row in rows if (row["run"], row["column"]) == ("model-0.0b", "RC")]
    assert float(row["value"]) == own["jsquad_char_f1"]
    assert row["samples"] == "30"


def test_chosen_tasks_alone_are_compared(folder: Path) -> None:
    done = jp_eval("report", folder / "some", folder / "model-1.1b", "--tasks", "MR,jamp")
    assert "not compared" not in done.stderr
    assert "corrected for 2 tests" in done.stdout


@pytest.mark.parametrize("runs", [1, 2, 30])
@pytest.mark.parametrize("by_task", [False, True])
def test_tables_fit_eighty_columns(folder: Path, tmp_path: Path, runs: int, by_task: bool) -> None:
    chosen = []
    for i in range(runs):
        name = f"東京大学の大規模言語モデル-{'long-name-' * 8}{i}"
        (tmp_path / name).symlink_to(folder / ("some" if runs > 2 else f"model-{i}.{i}b"))
        chosen.append(str(tmp_path / name))
    flags = ["--by-task"] if by_task else []
    done = RUNNER.invoke(app, ["llm-jp-eval", "report", *chosen, *flags], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    kept = [line for line in lines if not line.startswith(("llm-jp-eval|", "not shown"))]
    assert max(map(cell_len, kept)) <= 80
    assert "long-name" in done.stdout


def test_what_cannot_be_read_is_told(folder: Path, tmp_path: Path, data: Path) -> None:
    def told(*paths: Path) -> str:
        done = jp_eval("report", *paths)
        assert done.exit_code == 2
        assert done.stdout == ""
        return done.stderr

    nothing = "no such file: expected a result file, or the folder of a complete run"
    assert f"nothing: {nothing}" in told(tmp_path / "nothing")
    assert f"result.json: {nothing}" in told(tmp_path)
    (tmp_path / "broken.json").write_bytes(b"{")
    assert "is not JSON" in told(tmp_path / "broken.json")
    place = tmp_path / "swallow"
    swallow = made_scores(place, data, right=0.4, chosen=("jamp",), profile="swallow")
    assert "have different profiles (1.3.0 and swallow)" in told(folder / "some", swallow)
    assert "unknown task 'mmlu'" in jp_eval("report", swallow, "--tasks", "mmlu").stderr


@pytest.mark.parametrize("kind", ["radar", "bars", "diagnosis"])
def test_plots_are_written(folder: Path, tmp_path: Path, kind: str) -> None:
    paths = [folder / "model-0.0b", folder / "model-1.1b", folder / "some"]
    out = tmp_path / "figure.svg"
    done = jp_eval("plot", kind, *paths, "--out", out, "--language", "ja", "--title", "表題<b>")
    assert done.exit_code == 0, done.stderr
    content = out.read_text("utf-8")
    assert "<title>表題&lt;b&gt;</title>" in content
    again = tmp_path / "again.svg"
    jp_eval("plot", kind, *paths, "--out", again, "--language", "ja", "--title", "表題<b>")
    assert again.read_bytes() == out.read_bytes()


def test_plots_say_what_they_do_not_draw(folder: Path, tmp_path: Path, data: Path) -> None:
    out = tmp_path / "figure.svg"
    few = made_scores(tmp_path / "few", data, right=0.4, chosen=("jamp", "mawps"))
    done = jp_eval("plot", "radar", few, "--out", out)
    assert "too few categories for a radar chart: 2, at least 3" in done.stderr
    assert not out.exists()
    many = [folder / "some"]
    for number in range(40):
        many.append(tmp_path / f"run-{number}")
        many[-1].symlink_to(folder / "some")
    told = jp_eval("plot", "radar", *many[:15], "--out", out).stderr
    assert "too many runs for a radar chart: 15" in told
    told = jp_eval("plot", "diagnosis", *many[:7], "--out", out).stderr
    assert "too many runs for one figure: 7, at most 6" in told
    assert jp_eval("plot", "bars", *many[1:], "--out", out).stderr == ""
    done = jp_eval("plot", "bars", *many, "--out", out)
    assert "only the 40 best of 41 runs are shown" in done.stderr
    wrong = jp_eval("plot", "radar", folder / "some", "--out", tmp_path / "figure.pdf")
    assert "unknown format" in wrong.output


# Result files of other versions are shown as they stand, and averages say what they lack


VERSIONS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "1.3.0": result_of_1_3_0,
    "1.3.0 with mmlu_en": lambda path: result_of_1_3_0(path, mmlu="mmlu_en"),
    "2": result_of_2,
}
MISSING = "AVG counts categories that were not run as 0: HE, MT"


def reported(*arguments: object) -> Any:
    return jp_json("report", *arguments, "--average", "AVG")


def shown_score(name: str, outputs: Mapping[str, Any], columns: Mapping[str, Any]) -> Any:
    """The value in the column of a score or category of a file."""
    task, metric = split_score(name, outputs)
    short = {"pearson": "r", "spearman": "ρ"}.get(metric, metric)
    named = f"{task} ({short})"
    return columns[named if named in columns else task]["value"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_whole_result_of_another_version_has_the_averages_and_scores_of_its_file(
    version: str, tmp_path: Path
) -> None:
    path = tmp_path / "full.json"
    content = VERSIONS[version](path)
    found = reported(path)
    columns, outputs = found["scores"]["full"], content["outputs"]
    for name, stated in content["scores"].items():
        assert f"{shown_score(name, outputs, columns):.4f}" == f"{float(stated):.4f}", name
    assert (columns["AVG"]["lacking"], columns["AVG"]["missing"]) == ([], [])
    assert columns["AVG"]["low"] is None  # translations and code have no values of samples
    assert columns["NLI"]["low"] < columns["NLI"]["value"] < columns["NLI"]["high"]
    assert columns["jmmlu"]["low"] is not None
    assert not any("not run" in note for note in found["notes"])
    assert any("as stated by files" in note and "AVG" in note for note in found["notes"])
    stated = float(content["scores"]["AVG"])
    assert f"\n AVG      {stated:.4f} " in jp_eval("report", path, "--average", "AVG").stdout


def test_averages_of_the_reference_are_shown_in_full(jpeval_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "full.json"
    outputs = result_of_1_3_0(path)["outputs"]
    rows = (jpeval_dir / "golden" / "categories.jsonl").read_text("utf-8").splitlines()
    for row in map(json.loads, rows):
        content = {"scores": row["with_average"], "outputs": outputs, "config": {}}
        path.write_text(json.dumps(content), "utf-8")
        columns = reported(path)["scores"]["full"]
        lacking = columns["AVG"]["lacking"]
        for name, stated in row["with_average"].items():
            if name in lacking:
                assert (stated, name in columns) == ("0.0000", False), (row["id"], name)
            else:
                assert f"{shown_score(name, outputs, columns):.4f}" == stated, (row["id"], name)


def test_figures_of_1_3_0_follow_from_its_samples_where_they_can(tmp_path: Path) -> None:
    path = tmp_path / "full.json"
    content = result_of_1_3_0(path)
    columns = reported(path)["scores"]["full"]
    bare = {name for name, each in columns.items() if not each["sampled"]}
    translated = {name for name in columns if name.startswith(TRANSLATED)}
    assert len(translated) == 12
    assert bare == {"AVG", "MT", *translated}
    assert columns["HE"]["samples"] == columns["QA"]["samples"] == 24
    average = jp_json("report", path)["scores"]["full"]["AVR"]
    seven = [float(content["scores"][name]) for name in tuple(find_profile("1.3.0").categories)[:7]]
    assert average["value"] == pytest.approx(sum(seven) / 7, abs=1e-4)
    assert average["low"] is not None
    columns = reported(path, "--tasks", "MC")["scores"]["full"]
    present = {name for name, each in columns.items() if each["value"] is not None}
    assert present == {"AVG", "MC", "jcommonsenseqa"}


def test_whole_results_are_compared_where_they_have_samples(tmp_path: Path) -> None:
    for seed in (1, 2):
        result_of_1_3_0(tmp_path / f"model-{seed}.json", seed=seed)
    found = reported(tmp_path / "model-1.json", tmp_path / "model-2.json")
    compared = {pair["column"] for pair in found["pairs"]}
    assert compared >= {"NLI", "HE", "jmmlu", "mmluen", "jamp"}
    assert not compared & {"AVG", "MT", "alt-e-to-j (comet_wmt22)"}
    names = "profile, shots, prompt, mode, max_tokens, temperature, seed, top_p"
    assert f"not known: {names}" in found["notes"]


def test_averages_over_other_categories_are_not_put_side_by_side_in_silence(tmp_path: Path) -> None:
    result_of_1_3_0(tmp_path / "old.json")
    result_of_2(tmp_path / "new.json")
    done = jp_eval("report", tmp_path / "old.json", tmp_path / "new.json", "--average", "AVG")
    told = (
        "AVG is the mean of other categories from run to run, so its values cannot be compared: old: NLI, "
        "QA, RC, MC, EL, FA, MR, HE, MT; new: NLI, QA, RC, MC, EL, FA, MR, CG, HE-EN, HE-JA"
    )
    assert told in done.stderr
    assert "AVG  +" not in done.stdout


def test_stated_scores_that_the_predictions_do_not_have_are_shown_and_told(tmp_path: Path) -> None:
    path = tmp_path / "full.json"
    content = result_of_1_3_0(path)
    content["scores"]["jamp_exact_match"] = "0.9876"
    path.write_text(json.dumps(content), "utf-8")
    found = reported(path)
    columns = found["scores"]["full"]
    assert (columns["jamp"]["value"], columns["jamp"]["low"]) == (0.9876, None)
    assert f"{columns['NLI']['value']:.4f}" == content["scores"]["NLI"]
    [note] = [note for note in found["notes"] if "as stated by files" in note]
    assert "jamp" in note


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the paper's tasks, of which AVG lacks two categories."""
    place = tmp_path_factory.mktemp("own")
    return made_scores(place / "run", made_data(place / "data", samples=6), right=0.5)


def test_an_average_that_lacks_categories_names_them_in_every_output(own: Path) -> None:
    found = reported(own)
    average = found["scores"]["run"]["AVG"]
    assert average["lacking"] == ["HE", "MT"]
    assert MISSING in found["notes"]
    page = own.parent / "page.html"
    table = jp_eval("report", own, "--average", "AVG", "--html", page)
    assert MISSING in table.stderr
    assert f'<li lang="en"><bdi>{MISSING}</bdi></li>' in page.read_text("utf-8")
    assert f"{average['value']:.4f}*" in table.stdout
    text = jp_eval("report", own, "--average", "AVG", "-f", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["lacking"] for row in rows if row["column"] == "AVG"] == ["HE,MT"]


def test_runs_that_lack_other_categories_are_named(own: Path, tmp_path: Path) -> None:
    some = made_scores(tmp_path / "some", own.parent / "data", right=0.5, chosen=("jamp", "jsquad"))
    notes = reported(own, some)["notes"]
    assert f"{MISSING} (run)" in notes
    told = "AVG counts categories that were not run as 0: QA, MC, EL, FA, MR, HE, MT (some)"
    assert told in notes


def test_names_in_files_are_only_text(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    content = result_of_2(path)
    hostile = "<img src=x>|`$x$`\u202e"
    taken = {"AVR": 0.1, "STS (r)": 0.2, "jamp": 0.3, "NLI_exact_match": 0.4}
    content["scores"] |= {hostile: 0.5, f"{hostile}_x": 0.6, "none": None, "nan": "nan", **taken}
    content["outputs"][hostile] = [{"input": "x"}]
    path.write_text(json.dumps(content), "utf-8")
    columns = reported(path)["scores"]["odd"]
    assert columns[hostile]["value"] == 0.5
    assert columns[f"{hostile} (x)"]["value"] == 0.6
    assert columns["NLI (exact_match)"]["value"] == 0.4
    assert columns["STS (r)"]["value"] != 0.2
    assert {"none", "nan"}.isdisjoint(columns)
    assert f"{columns['NLI']['value']:.4f}" == f"{content['scores']['NLI']:.4f}"
    page, figure = tmp_path / "page.html", tmp_path / "figure.svg"
    assert jp_eval("report", path, "--by-task", "--html", page).exit_code == 0
    assert "<img" not in page.read_text("utf-8")
    for kind in ("bars", "radar"):
        done = jp_eval("plot", kind, path, "--out", figure)
        assert done.exit_code == 0, done.output


# Clusters: questions about the same text


def asked(run: ReportRun, size: int, task: str = "jsquad") -> ReportRun:
    """A run in which so many questions in a row are about the same text."""
    text = pl.format("文章：本{}\n質問：{}", pl.col("index") // size, pl.col("index"))
    changed = pl.when(pl.col("task") == task).then(text).otherwise("input").alias("input")
    return replace(run, frame=run.frame.with_columns(changed))


def test_questions_about_the_same_text_are_a_cluster(two: list[ReportRun]) -> None:
    runs = [asked(run, 5) for run in two]
    own = values(two[0], "jsquad")
    sums = (own - own.mean()).reshape(20, 5).sum(axis=1)
    error = (20 / 19 * (sums**2).sum()) ** 0.5 / 100
    report = report_of(runs)
    found = report.estimates["org/a"]["jsquad"]
    assert found.se == pytest.approx(error)
    reach = scipy.stats.t.ppf(0.975, 19) * error
    assert (found.low, found.high) == pytest.approx((own.mean() - reach, own.mean() + reach))
    assert found.samples == 100
    assert report.estimates["org/a"]["mawps"] == report_of(two).estimates["org/a"]["mawps"]
    [pair] = report.pairs_in("jsquad")
    apart = (values(two[1], "jsquad") - own).reshape(20, 5).sum(axis=1)
    assert pair.test == "sign_flip"
    assert pair.p == pytest.approx(sign_flip(apart, permutations=50_000), abs=0.02)
    assert pair.se == pytest.approx((20 / 19 * ((apart - apart.mean()) ** 2).sum()) ** 0.5 / 100)
    evaluation = Evaluation(runs[0].frame, {"jsquad_char_f1": 0.5}, {})
    assert standard_errors(evaluation)["jsquad_char_f1"] == pytest.approx(error)


def test_shares_of_right_answers_in_clusters_are_not_independent(
    two: list[ReportRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = replace(tasks()["mawps"], cluster=tasks()["jsquad"].cluster)
    monkeypatch.setattr(registry, "tasks", lambda: {**tasks(), "mawps": task})
    runs = [asked(run, 4, "mawps") for run in two]
    report = report_of(runs)
    [pair] = report.pairs_in("mawps")
    apart = (values(two[1], "mawps") - values(two[0], "mawps")).reshape(25, 4).sum(axis=1)
    assert pair.test == "sign_flip"
    assert pair.p == pytest.approx(sign_flip(apart, permutations=50_000), abs=0.02)
    right = asked(made_run("perfect", skill=2.0, samples=40), 4, "mawps")
    found = report_of([right]).estimates["perfect"]["mawps"]
    assert (found.low, found.high) == pytest.approx((wilson(10, 10)[0], 1.0))


# Profiles, what was not computed, and what answers lost to form


def test_runs_of_a_profile_without_an_average_are_compared(data: Path, tmp_path: Path) -> None:
    paths = []
    for name, right in (("a", 0.3), ("b", 0.6)):
        paths.append(tmp_path / name)
        made_scores(paths[-1], data, right=right, chosen=NLI, profile="swallow")
    found = jp_json("report", *paths)
    assert (found["average"], found["runs"]) == ("", ["a", "b"])
    assert found["scores"]["a"]["NLI"]["low"] is not None
    assert found["ranks"] == {"a": None, "b": None}
    assert {pair["column"] for pair in found["pairs"]} == {"NLI", *NLI}
    text = jp_eval("report", *paths, "--html", tmp_path / "page.html")
    assert text.exit_code == 0, text.stderr
    assert "30 samples" in text.stdout
    done = jp_eval("report", paths[0], "--average", "AVR")
    assert "the profile swallow has no average" in done.stderr


def test_what_was_not_computed_is_missing_with_its_reason(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "some", tmp_path / "run")
    path = tmp_path / "run" / "scores.json"
    record = json.loads(path.read_text("utf-8"))
    record["profiles"]["1.3.0"]["not_computed"] = {"alt-e-to-j_comet_wmt22": "needs a model"}
    path.write_text(json.dumps(record), "utf-8")
    found = jp_json("report", tmp_path / "run")
    told = "missing, since it was not computed: alt-e-to-j_comet_wmt22 (needs a model)"
    assert told in found["notes"]
    [column] = [each for each in found["scores"]["run"] if each.startswith("alt-e-to-j")]
    assert found["scores"]["run"][column]["value"] is None
    assert jp_json("report", folder / "some")["scores"]["some"]["AVR"]["value"] is None


def test_profiles_of_a_run_stand_side_by_side(data: Path, tmp_path: Path) -> None:
    datas = read_tasks(data, NLI)
    outputs = {each.task: [f"{s.output}\n" for s in each.samples] for each in datas}
    evaluations = {name: evaluate(datas, outputs, name) for name in ("1.3.0", "swallow")}
    main, other = (ScoreSettings(name) for name in evaluations)
    config = score_config(datas, main)
    write_results(tmp_path / "run", datas, evaluations, config, main, [Plan(datas, other)])
    found = jp_json("report", tmp_path / "run")["profiles"]["run"]
    assert [found[name]["scores"]["jamp_exact_match"] for name in found] == [0.0, 1.0]
    lines = [line.split() for line in jp_eval("report", tmp_path / "run").stdout.splitlines()]
    assert ["jamp_exact_match", "0.0000", "1.0000"] in lines
    assert ["jamp", "100.0", "100.0"] in lines  # right if stripped, any form


def test_what_is_lost_to_form_is_reported_by_run(folder: Path, tmp_path: Path) -> None:
    paths = [folder / "model-0.0b", folder / "model-1.1b"]
    found = jp_json("report", *paths)["diagnosis"]
    for path in paths:
        assert found[path.name] == json.loads((path / "scores.json").read_bytes())["diagnosis"]
    shutil.copy(paths[0] / "result.json", tmp_path / "alone.json")
    alone = jp_json("report", tmp_path / "alone.json")["diagnosis"]["alone"]
    assert alone["jamp"]["right"] == found["model-0.0b"]["jamp"]["right"]
    text = jp_eval("report", *paths).stdout
    assert "\nmeans over tasks\n" in text
    wrong = [each["samples"] - each["right"] for each in found["model-1.1b"].values()]
    share = f"{100 * sum(wrong) / 30 / len(wrong):.1f}"
    lost = [line.split() for line in text.split("lost to form")[1].splitlines()]
    assert [line[2] for line in lost if line[:1] == ["1"]] == [share]


def test_reports_are_written_as_markdown(folder: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "a|b<img src=x>`c"
    shutil.copytree(folder / "model-0.0b", hostile)
    text = jp_eval("report", hostile, folder / "model-1.1b", "-f", "markdown").stdout
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert "<img" not in text
    assert "`" not in text
    [row] = [line for line in rows if "a&#124;b&lt;img src=x&gt;&#96;c" in line and "to" in line]
    assert row.count("|") == 7
    assert "| AVR |" in text


# Files beside result.json that are not of it, and metrics that a file states itself


MALFORMED: list[tuple[str, Any]] = [
    ("result_sha256", "0" * 64),
    ("result_sha256", None),
    ("profiles", []),
    ("profiles", {"1.3.0": {"scores": {}, "averages": {"AVR": "high"}, "partial": []}}),
    ("profiles", {"1.3.0": {"scores": {}, "averages": {"AVR": 1.0}, "partial": None}}),
    ("profiles", {"1.3.0": {"scores": {}, "averages": {}, "partial": [], "not_computed": [1]}}),
    ("diagnosis", {"jamp": {"samples": "many", "right": 1}}),
    ("diagnosis", {"jamp": 1}),
]


@pytest.mark.parametrize(("key", "value"), MALFORMED)
def test_scores_of_other_outputs_or_of_another_form_are_ignored(
    folder: Path, tmp_path: Path, key: str, value: Any
) -> None:
    shutil.copytree(folder / "some", tmp_path / "run")
    path = tmp_path / "run" / "scores.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {key: value}), "utf-8")
    [run] = read_report_runs([tmp_path / "run"])
    assert run.scored == {}
    assert any("scores.json is ignored" in note for note in report_of([run]).notes)


@pytest.mark.parametrize("beside", [True, False])
def test_metrics_of_a_file_count_instead_of_the_registered_ones(
    data: Path, tmp_path: Path, beside: bool
) -> None:
    [mawps] = read_tasks(data, ["mawps"])
    datas = [replace(mawps, metrics=("char_f1", "set_f1"))]
    outputs = {"mawps": [f"{sample.output}0" for sample in mawps.samples]}
    made = evaluate(datas, outputs)
    settings = ScoreSettings()
    config = score_config(datas, settings)
    write_results(tmp_path / "run", datas, {"1.3.0": made}, config, settings)
    if not beside:
        (tmp_path / "run" / "scores.json").unlink()
    found = jp_json("report", tmp_path / "run")["scores"]["run"]
    assert found["mawps"]["value"] == pytest.approx(made.scores["mawps_char_f1"], abs=1e-4)
    assert found["mawps"]["sampled"]
    assert "MR" not in found or found["MR"]["value"] is None
    assert "mawps (exact_match)" not in found


def test_signatures_name_edited_profiles_and_limits_by_task(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'tasks = ["jamp", "jsem"]\nlimit = 9\n[task_limits]\njamp = 2\n'
    own = tmp_path / "mine.toml"
    monkeypatch.setattr(registry, "_folders", [tmp_path])
    found = []
    for more in ("", "# edited\n"):
        own.write_text(text + more, "utf-8")
        registry._forget()
        made = planned(read_tasks(data, ["jamp", "jsem"]), ScoreSettings("mine"))
        found.append(signature(*made))
        digest = hashlib.sha256(own.read_bytes()).hexdigest()[:8]
        assert f"|profile:mine@{digest}|" in found[-1]
        assert "|n:9,jamp=2|" in found[-1]
    registry._forget()
    assert found[0] != found[1]


def test_averages_of_a_board_have_one_column_each(data: Path, tmp_path: Path) -> None:
    datas = read_tasks(data, ["jamp", "jsem"])
    plan = planned(datas, ScoreSettings("nejumi4"))
    outputs = {each.task: [sample.output for sample in each.samples] for each in plan.datas}
    made = evaluate(plan.datas, outputs, "nejumi4")
    config = score_config(*plan)
    write_results(tmp_path / "run", plan.datas, {"nejumi4": made}, config, plan.settings)
    found = report_of(read_report_runs([tmp_path / "run"]))
    estimates = found.estimates["run"]
    told = [column.name for column in found.columns]
    assert not any("(partial)" in name for name in told)
    assert all(estimates[name].value is not None for name in told)
    assert estimates["GLP_意味解析"].value == made.averages["GLP_意味解析"]
    assert found.notes == ("without intervals and tests: averages of nejumi4 (*: lacks parts)",)


def test_a_single_cluster_has_no_interval(data: Path) -> None:
    run = made_run("one", chosen=["jsquad"], samples=8)
    texts = run.frame.with_columns(input=pl.lit("文章：同じ\n質問：何"), value=pl.lit(1.0))
    found = report_of([replace(run, frame=texts)]).estimates["one"]["jsquad"]
    assert (found.value, found.low, found.high) == (1.0, None, None)


def test_text_in_markdown_is_escaped_where_it_must_be(folder: Path) -> None:
    text = jp_eval("report", folder / "some", "-f", "markdown").stdout
    assert "llm-jp-eval|v:" in text
    assert "&#x27;" not in text
