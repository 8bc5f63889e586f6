"""Result files of other versions of llm-jp-eval are shown as they stand, and averages say what they lack."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from jpeval_data import jp_eval
from jpeval_run_folders import made_data, made_scores
from jpeval_versions import TRANSLATED, result_of_1_3_0, result_of_2
from pfgen_rs.llm_jp_eval.catalog import AVERAGED, split_score, tasks

VERSIONS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "1.3.0": result_of_1_3_0,
    "1.3.0 with mmlu_en": lambda path: result_of_1_3_0(path, mmlu="mmlu_en"),
    "2": result_of_2,
}
MISSING = "AVG counts categories that were not run as 0: HE, MT"


def reported(*arguments: object) -> dict[str, Any]:
    done = jp_eval("report", *arguments, "--average", "AVG", "--format", "json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


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
    assert any("as its file states" in note and "AVG" in note for note in found["notes"])
    stated = float(content["scores"]["AVG"])
    assert f"\n AVG      {stated:.4f} " in jp_eval("report", path, "--average", "AVG").stdout


def test_averages_of_the_reference_are_shown_to_the_last_digit(
    jpeval_dir: Path, tmp_path: Path
) -> None:
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
    average = json.loads(jp_eval("report", path, "-f", "json").stdout)["scores"]["full"]["AVR"]
    seven = [float(content["scores"][name]) for name in tuple(AVERAGED)[:7]]
    assert average["value"] == pytest.approx(sum(seven) / 7, abs=1e-4)
    assert average["low"] is not None
    columns = reported(path, "--tasks", "NLI")["scores"]["full"]
    present = {name for name, each in columns.items() if each["value"] is not None}
    nli = {task.name for task in tasks().values() if task.category == "NLI"}
    assert present == {"AVG", "NLI", *nli}


def test_whole_results_are_compared_where_they_have_samples(tmp_path: Path) -> None:
    for seed in (1, 2):
        result_of_1_3_0(tmp_path / f"model-{seed}.json", seed=seed)
    found = reported(tmp_path / "model-1.json", tmp_path / "model-2.json")
    compared = {pair["column"] for pair in found["pairs"]}
    assert compared >= {"NLI", "HE", "jmmlu", "mmluen", "jamp"}
    assert not compared & {"AVG", "MT", "alt-e-to-j (comet_wmt22)"}
    assert set(found["ranks"].values()) == {None}
    names = "variant, shots, prompt, mode, max_tokens, temperature, seed, top_p"
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
    [note] = [note for note in found["notes"] if "as its file states" in note]
    assert "jamp" in note


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the paper's tasks, of which AVG lacks two categories."""
    place = tmp_path_factory.mktemp("own")
    return made_scores(place / "run", made_data(place / "data", samples=6), right=0.5)


@pytest.mark.parametrize("name", ["", "result.json"])
def test_an_average_that_lacks_categories_names_them_in_every_output(own: Path, name: str) -> None:
    found = reported(own / name)
    average = found["scores"]["run"]["AVG"]
    assert average["lacking"] == ["HE", "MT"]
    assert MISSING in found["notes"]
    table = jp_eval("report", own / name, "--average", "AVG")
    assert MISSING in table.stderr
    assert f"{average['value']:.4f}*" in table.stdout
    text = jp_eval("report", own / name, "--average", "AVG", "-f", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["lacking"] for row in rows if row["column"] == "AVG"] == ["HE,MT"]


def test_runs_that_lack_other_categories_are_named(own: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    jp_eval("report", own, "--average", "AVG", "--html", page)
    assert f'<li lang="en"><bdi>{MISSING}</bdi></li>' in page.read_text("utf-8")
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
