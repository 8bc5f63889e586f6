"""Result files, scores and signatures of llm-jp-eval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pfgen_rs
from jpeval_data import SAMPLES, write_data
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.llm_jp_eval.data import TaskData, raw_digest, read_tasks
from pfgen_rs.llm_jp_eval.prompts import PromptSettings
from pfgen_rs.llm_jp_eval.report.reading import read_result
from pfgen_rs.llm_jp_eval.results import (
    ScoreSettings,
    result_content,
    score_config,
    signature,
    write_results,
)
from pfgen_rs.llm_jp_eval.scoring import evaluate_variants, standard_errors

GOLD = {task: [output for _, output in pairs] for task, pairs in SAMPLES.items()}


@pytest.fixture
def datas(tmp_path: Path) -> list[TaskData]:
    return read_tasks(write_data(tmp_path / "data"), SAMPLES)


def test_a_published_result_file_is_read_and_written_again_byte_for_byte(jpeval_dir: Path) -> None:
    path = jpeval_dir / "golden" / "result_example.json"
    found = read_result(path)
    assert len(found.sampled) == 15
    assert found.sampled == found.scores.keys() == json.loads(path.read_bytes())["scores"].keys()
    outputs = json.loads(path.read_bytes())["outputs"]
    templates = {task: samples[0]["prompt"] for task, samples in outputs.items()}
    assert result_content(found, templates, {}) == path.read_bytes()


def test_results_are_written_and_read_back(datas: list[TaskData], tmp_path: Path) -> None:
    outputs = {**GOLD, "jamp": ["entailment\n", "neutral"]}
    evaluations = evaluate_variants(datas, outputs)
    settings = ScoreSettings("swallow")
    record = write_results(tmp_path / "out", datas, evaluations, {"a": "é"}, settings)
    assert json.loads((tmp_path / "out/scores.json").read_text("utf-8")) == record
    assert record["variants"]["upstream"]["scores"]["jamp_exact_match"] == 0.0
    assert record["variants"]["swallow"]["scores"]["jamp_exact_match"] == 0.5
    assert record["samples"] == {"jamp": 2, "jsquad": 2, "jsts": 3, "chabsa": 2}
    frame = pl.read_parquet(tmp_path / "out/samples.parquet")
    assert frame.equals(evaluations["swallow"].frame.drop("input"))
    content = (tmp_path / "out/result.json").read_text("utf-8")
    assert '"a": "é"' in content
    assert '"AVG"' not in content  # not all tasks were run
    found = read_result(tmp_path / "out/result.json")
    assert found.scores == evaluations["swallow"].scores
    same = ["task", "index", "input", "pred", "gold", "value", "exact", "char_f1"]
    ours = evaluations["swallow"].frame.sort("task", maintain_order=True)
    assert found.frame.sort("task", maintain_order=True).select(same).equals(ours.select(same))
    assert found.frame["output"].null_count() == found.frame.height


def test_the_file_has_the_published_form(datas: list[TaskData]) -> None:
    found = evaluate_variants(datas[:1], {"jamp": ["\t", 'entailment"']})["upstream"]
    template = PromptSettings(shots=0).template(datas[0])
    text = result_content(found, {"jamp": template}, {}).decode()
    assert text.startswith('{\n    "scores": {\n        "jamp_exact_match": "0.0000"\n    },\n')
    assert f'                "prompt": {json.dumps(template, ensure_ascii=False)},\n' in text
    assert '"pred": "\\t",\n' in text
    assert text.endswith('        ]\n    },\n    "config": {}\n}')


def test_all_tasks_have_averages_in_the_result_file(datas: list[TaskData]) -> None:
    found = evaluate_variants(datas, GOLD)["upstream"]
    templates = dict.fromkeys(SAMPLES, "{input}")
    scores = json.loads(result_content(found, templates, {}, with_averages=True))["scores"]
    assert list(scores) == sorted(scores)
    assert (scores["AVG"], scores["HE"], "AVR" in scores) == ("0.3148", "0.0000", False)


def test_signatures_say_what_figures_depend_on(datas: list[TaskData]) -> None:
    start = f"llm-jp-eval|v:{pfgen_rs.__version__}|variant:"
    raw = f"raw:{raw_digest(datas)}"
    unknown = "temperature:unknown|seed:unknown|top_p:unknown"
    assert signature(datas) == f"{start}upstream|split:test|n:all|shots:4|avg:AVR|{raw}|{unknown}"
    prompts = PromptSettings(0, "{input}", None, chat=True, max_tokens=9)
    settings = ScoreSettings("swallow", 100, prompts)
    expected = f"{start}swallow|split:test|n:100|shots:0|avg:AVR|{raw}|{unknown}"
    assert signature(datas, settings) == f"{expected}|prompt:5e1df29a|mode:chat|max_tokens:9"
    assert signature(datas[:1]) != signature(datas)
    sampling = {"temperature": 0.5, "seed": 12, "top_p": None}
    known = signature(datas, ScoreSettings(sampling=sampling))
    assert known.endswith(f"|{raw}|temperature:0.5|seed:12|top_p:default")
    nothing = ScoreSettings(prompts=PromptSettings(None), sampling=None)
    assert "|shots:unknown|" in signature(datas, nothing)
    assert signature(datas, nothing).endswith(f"|{unknown}|max_tokens:unknown")
    assert score_config(datas, settings)["prompt"] == "{input}"


def test_wrong_settings_are_named() -> None:
    with pytest.raises(SettingsError, match="unknown variant"):
        ScoreSettings("x")


def test_standard_errors_are_those_of_means_and_of_the_jackknife(datas: list[TaskData]) -> None:
    outputs = {**GOLD, "jamp": ["entailment", "x"], "jsts": ["1", "2", "3"]}
    errors = standard_errors(evaluate_variants(datas, outputs)["upstream"])
    assert errors["jamp_exact_match"] == pytest.approx(0.5)  # 0 and 1: sd 0.7071 over the root of 2
    assert errors["jsquad_char_f1"] == 0.0
    assert errors["jsts_pearson"] is not None
    alone = evaluate_variants(datas[:1], {"jamp": ["entailment"]})["upstream"]
    assert standard_errors(alone) == {"jamp_exact_match": None}
    huge = {"jsts": ["1", "2", "9" * 400]}
    found = evaluate_variants([datas[2]], huge)["upstream"]
    assert standard_errors(found) == {"jsts_pearson": None, "jsts_spearman": None}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "is not a result file: expected an object with 'scores' and 'outputs'"),
        ([], "is not a result file"),
        ({"scores": {}, "outputs": {"mmlu_en": []}}, "'outputs' has none of them"),
        (
            {"scores": {}, "outputs": {"jamp": []}},
            "outputs of jamp must be a list that is not empty",
        ),
        (
            {"scores": {}, "outputs": {"jamp": [{"input": "x"}]}},
            "'pred' of sample 0 of jamp must be",
        ),
        (
            {"scores": {}, "outputs": {"jsts": [{"input": "", "pred": "1", "gold": "x"}]}},
            "jsts: gold 0: expected a number",
        ),
        (
            {"scores": {}, "outputs": {"jamp": [{"input": "", "pred": "\ud800", "gold": "x"}]}},
            "lone surrogate",
        ),
    ],
)
def test_wrong_result_files_are_named(content: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=message) as error:
        read_result(path)
    assert error.value.path == path


def test_stated_scores_that_differ_are_found(datas: list[TaskData], tmp_path: Path) -> None:
    found = evaluate_variants(datas, GOLD)["upstream"]
    content = json.loads(result_content(found, dict.fromkeys(SAMPLES, "{input}"), {}))
    content["scores"]["jamp_exact_match"] = "0.9999"
    content["scores"]["mmlu_en_exact_match"] = "0.5000"
    path = tmp_path / "r.json"
    path.write_text(json.dumps(content))
    read = read_result(path)
    assert read.scores["jamp_exact_match"] == 0.9999
    assert found.scores.keys() - read.sampled == {"jamp_exact_match"}


def test_unreadable_result_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_result(tmp_path / "none.json")
    (tmp_path / "bad.json").write_bytes(b'{"scores": \xff')
    with pytest.raises(InputError, match="is not UTF-8"):
        read_result(tmp_path / "bad.json")
    (tmp_path / "deep.json").write_bytes(b"[" * 100_000)
    with pytest.raises(InputError, match="is nested too deeply"):
        read_result(tmp_path / "deep.json")
