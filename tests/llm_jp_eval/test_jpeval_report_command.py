"""The commands `report` and `plot`, with folders of scores and result files."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from rich.cells import cell_len

from jpeval_data import RUNNER, jp_eval
from jpeval_run_folders import made_data, made_scores
from pfgen_rs.cli.app import app
from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.report.reading import read_report_runs


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
    found: dict[str, float] = record["variants"]["upstream"]["scores"]
    return found


def test_runs_are_read_with_their_scores_and_inputs(folder: Path) -> None:
    paths = sorted(folder.iterdir())
    runs = read_report_runs(paths)
    assert [run.name for run in runs] == ["model-0.0b", "model-1.1b", "model-2.2b", "some"]
    for run, path in zip(runs, paths, strict=True):
        assert run.scores == scores(path)
        assert run.frame["input"].null_count() == 0
        assert run.settings["variant"] == "upstream"
        assert run.settings["split"] == "test"
        assert run.signature is not None


def test_result_files_give_the_same_figures(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "some" / "result.json", tmp_path / "org--model_20240101.json")
    only = tmp_path / "only"
    only.mkdir()
    shutil.copy(folder / "some" / "result.json", only)
    paths = [folder / "some", tmp_path / "org--model_20240101.json", only]
    runs = read_report_runs(paths)
    assert [run.name for run in runs] == ["some", "org--model_20240101", "only"]
    done = jp_eval("report", only, only / "result.json")
    assert "duplicate run name 'only': give each run once" in done.stderr
    for run in runs[1:]:
        assert dict(run.scores) == pytest.approx(scores(folder / "some"), abs=1e-12)
        assert run.settings == runs[0].settings


def test_same_names_get_parents(folder: Path, tmp_path: Path) -> None:
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
    assert "|variant:upstream|split:test|n:all|shots:4|avg:AVR|raw:" in done.stdout
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
    same = jp_eval("report", folder / "model-0.0b", folder / "model-1.1b").stdout
    assert same.startswith("AVR, 30 samples per task")


def test_json_and_csv_hold_unrounded_values(folder: Path) -> None:
    paths = [folder / "model-0.0b", folder / "model-2.2b"]
    found = json.loads(jp_eval("report", *paths, "--format", "json").stdout)
    assert found["runs"] == ["model-2.2b", "model-0.0b"]
    own = scores(paths[0])
    assert found["scores"]["model-0.0b"]["mawps"]["value"] == own["mawps_exact_match"]
    assert found["scores"]["model-0.0b"]["jsts (ρ)"]["value"] == own["jsts_spearman"]
    rows = list(csv.DictReader(io.StringIO(jp_eval("report", *paths, "--format", "csv").stdout)))
    [row] = [row for row in rows if (row["run"], row["column"]) == ("model-0.0b", "RC")]
    assert float(row["value"]) == own["jsquad_char_f1"]
    assert row["samples"] == "30"


def test_missing_tasks_and_averages(folder: Path) -> None:
    done = jp_eval("report", folder / "some")
    assert "AVR needs tasks of all seven categories; not run: QA, RC" in done.stderr
    [line] = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["NLI"]]
    assert line[1].endswith("*")
    counted = jp_eval("report", folder / "some", "--average", "AVG")
    assert "AVG counts categories that were not run as 0: QA, RC" in counted.stderr
    both = jp_eval("report", folder / "some", folder / "model-1.1b")
    assert "not compared, since some runs lack them" in both.stderr
    chosen = jp_eval("report", folder / "some", folder / "model-1.1b", "--tasks", "MR,jamp")
    assert "not compared" not in chosen.stderr
    assert "corrected for 2 tests" in chosen.stdout


@pytest.mark.parametrize("runs", [1, 2, 30])
@pytest.mark.parametrize("by_task", [False, True])
def test_tables_fit_eighty_columns(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int, by_task: bool
) -> None:
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

    assert "no such file or folder" in told(tmp_path / "nothing")
    assert "not a run of llm-jp-eval: expected scores.json and samples.parquet" in told(tmp_path)
    broken = tmp_path / "broken"
    shutil.copytree(folder / "some", broken)
    no_number = b'{"variant": "a", "variants": {"a": {"scores": {"x": "1"}}}, "signature": "s"}'
    cases = {b"{": "is not JSON", b"[]": "is not a file of scores", no_number: "file of scores"}
    for content, problem in cases.items():
        (broken / "scores.json").write_bytes(content)
        assert problem in told(broken)
    shutil.copy(folder / "some" / "scores.json", broken)
    (broken / "samples.parquet").write_bytes(b"PAR1")
    assert "is not a table of samples" in told(broken)
    samples = pl.read_parquet(folder / "some" / "samples.parquet")
    for value in (float("nan"), float("inf"), -0.5):
        samples.with_columns(value=pl.lit(value)).write_parquet(broken / "samples.parquet")
        assert f"is {value}: expected 0 to 1" in told(broken)
    place = tmp_path / "swallow"
    swallow = made_scores(place, data, right=0.4, chosen=("jamp",), variant="swallow")
    assert "have different variants (upstream and swallow)" in told(folder / "some", swallow)
    assert "unknown task 'mmlu'" in jp_eval("report", swallow, "--tasks", "mmlu").stderr
    with pytest.raises(InputError, match="no such file"):
        read_report_runs([tmp_path / "nothing"])


@pytest.mark.parametrize("kind", ["radar", "bars"])
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


def test_plots_say_how_many_runs_they_show(folder: Path, tmp_path: Path) -> None:
    paths = [folder / "some"]
    for number in range(40):
        paths.append(tmp_path / f"run-{number}")
        shutil.copytree(folder / "some", paths[-1])
    out = tmp_path / "figure.svg"
    all_shown = jp_eval("plot", "bars", *paths[1:], "--out", out)
    assert (all_shown.exit_code, all_shown.stderr) == (0, "")
    done = jp_eval("plot", "bars", *paths, "--out", out)
    assert "only the 40 best of 41 runs are shown" in done.stderr


def test_plots_say_what_they_cannot_draw(folder: Path, tmp_path: Path, data: Path) -> None:
    out = tmp_path / "figure.png"
    few = made_scores(tmp_path / "few", data, right=0.4, chosen=("jamp", "mawps"))
    done = jp_eval("plot", "radar", few, "--out", out)
    assert "needs at least 3 categories, found 2: draw bars instead" in done.stderr
    assert not out.exists()
    many = []
    for number in range(15):
        many.append(tmp_path / f"run-{number}")
        many[-1].symlink_to(folder / "some")
    told = jp_eval("plot", "radar", *many, "--out", out).stderr
    assert "too many runs for one radar chart: 15" in told
    wrong = jp_eval("plot", "radar", folder / "some", "--out", tmp_path / "figure.pdf")
    assert "unknown format" in wrong.output
