"""Scoring outputs, answers wrong only for their form, result files, scores and signatures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pfgen_rs
from jpeval_data import SAMPLES, jp_eval, jp_json, made_data, write_data
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.cleaning import without_thoughts
from pfgen_rs.io.json_lines import write_objects
from pfgen_rs.llm_jp_eval import scoring
from pfgen_rs.llm_jp_eval.catalog import TaskData, raw_digest, read_tasks, tasks
from pfgen_rs.llm_jp_eval.prompts import PromptSettings
from pfgen_rs.llm_jp_eval.report.runs import read_result


@pytest.fixture
def datas(tmp_path: Path) -> list[TaskData]:
    return read_tasks(write_data(tmp_path), SAMPLES)


GOLD: dict[str, Sequence[str | None]] = {
    task: [output for _, output in pairs] for task, pairs in SAMPLES.items()
}


def test_gold_answers_score_one_unless_gold_lines_repeat(datas: list[TaskData]) -> None:
    found = scoring.evaluate(datas, GOLD)
    assert found.scores == {
        "jamp_exact_match": 1.0,
        "jsquad_char_f1": 1.0,
        "jsts_pearson": pytest.approx(1.0, abs=1e-12),
        "jsts_spearman": pytest.approx(1.0, abs=1e-12),
        "chabsa_set_f1": (1.0 + 2 / 3) / 2,  # the second answer has the same line twice
    }
    assert found.averages["NLI"] == found.averages["RC"] == 1.0
    assert found.averages["EL"] == found.scores["chabsa_set_f1"]


def test_the_frame_has_a_row_for_each_sample(datas: list[TaskData]) -> None:
    outputs = {**GOLD, "jsquad": [" 青\n\n赤", "Ａｂc！"], "jsts": ["０.2", "x", "3"]}
    found = scoring.evaluate(datas, outputs).frame
    assert found["task"].unique(maintain_order=True).to_list() == list(SAMPLES)
    rows = found.rows_by_key("task", named=True)
    assert [r["pred"] for r in rows["jsquad"]] == [" 青", "Abc!"]
    assert [r["gold"] for r in rows["jsquad"]] == ["青", "ABC"]
    assert [r["value"] for r in rows["jsquad"]] == [1.0, 1.0]
    assert [r["exact"] for r in rows["jsquad"]] == [0.0, 0.0]
    assert [r["index"] for r in rows["jsts"]] == [0, 1, 2]
    assert [r["value"] for r in rows["jsts"]] == [None] * 3
    assert [r["exact"] for r in rows["jsts"]] == [1.0, 0.0, 0.0]
    assert [r["char_f1"] for r in rows["jsts"]] == [1.0, 0.0, 0.0]


def test_numbers_that_are_too_large_or_none_have_no_error(tmp_path: Path) -> None:
    folder = write_data(tmp_path, {"jsts": [("a", "nan"), ("b", "1.0"), ("c", "3.0")]})
    for outputs in (["1", "2", "3"], ["9" * 400, "2", "3"]):
        found = scoring.evaluate(read_tasks(folder, ["jsts"]), {"jsts": outputs})
        assert found.scores["jsts_pearson"] == 0.0
        assert scoring.standard_errors(found) == {"jsts_pearson": None, "jsts_spearman": None}


def test_missing_outputs_are_an_error_unless_allowed(datas: list[TaskData]) -> None:
    outputs = {**GOLD, "jamp": [None, "contradiction"], "jsts": [None, None, None]}
    message = r"4 outputs are missing: jamp/test/0, jsts/test/0, jsts/test/1 …"
    with pytest.raises(InputError, match=message):
        scoring.evaluate(datas, outputs)
    found = scoring.evaluate(datas, outputs, allow_missing=True)
    assert found.scores["jamp_exact_match"] == 0.5
    assert found.scores["jsts_pearson"] == 0.0  # a constant side
    assert found.missing == {"jamp": 1, "jsts": 3}


WRONG: dict[str, dict[str, Any]] = {
    "^1 output is missing: jamp/test/0$": {"jamp": [None]},
    "output of jamp/test/1 contains a lone surrogate": {"jamp": ["x", "\udcff"]},
    "jamp has 2 samples, but there are 0": {"jamp": []},
    "jamp has 2 samples, but there are 3": {"jamp": ["x"] * 3},
    "no outputs of the task jamp": {},
}


def test_outputs_that_do_not_fit_are_refused(datas: list[TaskData]) -> None:
    for message, outputs in WRONG.items():
        with pytest.raises(InputError, match=message):
            scoring.evaluate(datas[:1], outputs)
    with pytest.raises(SettingsError, match="a task is named twice"):
        scoring.evaluate([datas[0], datas[0]], GOLD)
    for make in (scoring.ScoreSettings, lambda name: scoring.evaluate(datas, GOLD, name)):
        with pytest.raises(SettingsError, match="unknown variant 'x'"):
            make("x")
    found = scoring.evaluate(datas[:1], {"jamp": ["entailment"]})  # the first samples alone
    assert (found.scores, found.frame.height) == ({"jamp_exact_match": 1.0}, 1)


# Result files, scores and signatures


def test_a_published_result_file_is_read_and_written_again_byte_for_byte(jpeval_dir: Path) -> None:
    path = jpeval_dir / "golden" / "result_example.json"
    found = read_result(path)
    assert len(found.sampled) == 15
    assert found.sampled == found.scores.keys() == json.loads(path.read_bytes())["scores"].keys()
    outputs = json.loads(path.read_bytes())["outputs"]
    templates = {task: samples[0]["prompt"] for task, samples in outputs.items()}
    evaluation = scoring.Evaluation(found.frame, dict(found.scores), {})
    assert scoring.result_content(evaluation, templates, {}) == path.read_bytes()


def test_results_are_written_and_read_back(datas: list[TaskData], tmp_path: Path) -> None:
    outputs = {**GOLD, "jamp": ["entailment\n", "neutral"]}
    evaluations = scoring.evaluate_variants(datas, outputs)
    settings = scoring.ScoreSettings("swallow")
    record = scoring.write_results(tmp_path / "out", datas, evaluations, {"a": "é"}, settings)
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


def test_signatures_say_what_figures_depend_on(datas: list[TaskData]) -> None:
    start = f"llm-jp-eval|v:{pfgen_rs.__version__}|variant:"
    raw = f"raw:{raw_digest(datas)}"
    unknown = "temperature:unknown|seed:unknown|top_p:unknown"
    expected = f"{start}upstream|split:test|n:all|shots:4|avg:AVR|{raw}|{unknown}"
    assert scoring.signature(datas) == expected
    prompts = PromptSettings(0, "{input}", None, chat=True, max_tokens=9)
    settings = scoring.ScoreSettings("swallow", 100, prompts)
    expected = f"{start}swallow|split:test|n:100|shots:0|avg:AVR|{raw}|{unknown}"
    more = "|prompt:5e1df29a|mode:chat|max_tokens:9"
    assert scoring.signature(datas, settings) == expected + more
    assert scoring.signature(datas[:1]) != scoring.signature(datas)


def test_standard_errors_are_those_of_means_and_of_the_jackknife(datas: list[TaskData]) -> None:
    outputs = {**GOLD, "jamp": ["entailment", "x"], "jsts": ["1", "2", "3"]}
    errors = scoring.standard_errors(scoring.evaluate_variants(datas, outputs)["upstream"])
    assert errors["jamp_exact_match"] == pytest.approx(0.5)  # 0 and 1: sd 0.7071 over the root of 2
    assert errors["jsquad_char_f1"] == 0.0
    assert errors["jsts_pearson"] is not None
    alone = scoring.evaluate_variants(datas[:1], {"jamp": ["entailment"]})["upstream"]
    assert scoring.standard_errors(alone) == {"jamp_exact_match": None}


SAMPLE = {"input": "", "pred": "1", "gold": "x"}


WRONG_FILES: list[tuple[Any, str]] = [
    (None, "is not a result file: expected an object with 'scores' and 'outputs'"),
    ({"mmlu_en": []}, "'outputs' has none of them"),
    ({"jamp": []}, "outputs of jamp must be a list that is not empty"),
    ({"jamp": [{"input": "x"}]}, "'pred' of sample 0 of jamp must be"),
    ({"jsts": [SAMPLE]}, "jsts: gold 0: expected a number"),
    ({"jamp": [{**SAMPLE, "pred": "\ud800"}]}, "lone surrogate"),
]


def test_wrong_result_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    for outputs, message in WRONG_FILES:
        path.write_text(json.dumps({"scores": {}, "outputs": outputs}))
        with pytest.raises(InputError, match=message) as error:
            read_result(path)
        assert error.value.path == path
    with pytest.raises(InputError, match="cannot be read"):
        read_result(tmp_path / "none.json")


# Answers that are wrong only for their form


Form = Callable[[str], str]
FORMS: dict[str, tuple[Form, set[str]]] = {
    "a line break behind": (lambda text: f"{text}\n", {*scoring.LENIENT}),
    "an empty line before": (lambda text: f"\n\n{text}", {*scoring.LENIENT}),
    "thoughts": (lambda text: f"<think>a\n\nb</think>\n\n{text}", {"without_thoughts", "all"}),
    "thoughts begun by the prompt": (lambda t: f"x</think>\n{t}", {"without_thoughts", "all"}),
    "capitals": (str.upper, {"lower_cased", "all"}),
    "quotation marks": (lambda text: f"「{text}」", {"unquoted", "all"}),
    "all of these": (lambda text: f'<think>x</think>\n"{text.upper()}"\n', {"all"}),
    "other words": (lambda text: f"答えは{text}", set()),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_data(tmp_path_factory.mktemp("data"), samples=4)


def written(place: Path, data: Path, form: Form) -> Path:
    """Outputs for all tasks: the gold answers, every second one in another form."""
    path = place / "outputs.jsonl"
    lines = [
        {"id": f"{each.task}/test/{i}", "output": form(s.output) if i % 2 else s.output}
        for each in read_tasks(data, tasks())
        for i, s in enumerate(each.samples)
    ]
    write_objects(path, lines)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_answers_wrong_for_their_form_are_told_by_task(
    form: str, data: Path, tmp_path: Path
) -> None:
    make, ways = FORMS[form]
    outputs = written(tmp_path, data, make)
    found = jp_json("score", outputs, "-d", data)
    lenient, average = found["lenient"], found["averages"]["AVR"]
    assert [*lenient] == [*scoring.LENIENT]
    for way, each in lenient.items():
        assert each["right"].get("jamp", 0) == 2 * (way in ways), way
        if way in ways:
            assert each["averages"]["AVR"] == 1.0, way
        else:
            assert average <= each["averages"]["AVR"] < 1, way
    done = jp_eval("score", outputs, "-d", data)
    count = sum(lenient["all"]["right"].values())
    if ways:
        wrong = "wrong only for blanks, thoughts, quotation marks or capitals"
        told = f"{count} answers are {wrong}: AVR would be 1.0000 instead of {average:.4f}"
        assert told in done.stderr
        [*_, row] = [line.split() for line in done.stdout.splitlines() if "  jamp" in f"  {line}"]
        assert row == ["jamp", *["2"] * len(ways)]
    else:
        assert "wrong only" not in done.stderr + done.stdout


def test_answers_that_are_expected_in_quotation_marks_keep_them(tmp_path: Path) -> None:
    pairs = [("質問：題は？", "『雪国』"), ("質問：人は？", "川端")]
    few = read_tasks(write_data(tmp_path / "data", {"jamp": pairs}, {"jamp": pairs}), ["jamp"])
    found = scoring.leniently(scoring.evaluate(few, {"jamp": ["『雪国』", "『川端』"]}))
    assert found["unquoted"]["right"] == {"jamp": 1}
    assert found["unquoted"]["averages"]["NLI"] == 1.0


def test_an_average_that_lacks_categories_is_not_promised(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    outputs = tmp_path / "o.jsonl"
    write_objects(
        outputs,
        [{"id": f"jamp/test/{i}", "output": f"{x}\n"} for i, (_, x) in enumerate(SAMPLES["jamp"])],
    )
    done = jp_eval("score", outputs, "-d", data)
    assert "2 answers are wrong only for blanks" in done.stderr
    assert "would be 1" not in done.stderr


TEXTS = st.sampled_from(
    ["", "\n", "a", "A", "「a」", '"', "<think>", "</think>", " ", "\n\n", "1", "Ａ"]
)
OUTPUTS = st.lists(TEXTS, max_size=6).map("".join)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> list[TaskData]:
    golds = ["a", "「a」", "A\na", ""]
    pairs = {task: [("x", gold) for gold in golds] for task in ("jamp", "jsquad", "chabsa")}
    pairs["jsts"] = [("x", f"{number}.0") for number in range(4)]
    return read_tasks(write_data(tmp_path_factory.mktemp("few"), pairs, pairs), pairs)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OUTPUTS, min_size=16, max_size=16), st.sampled_from(["upstream", "swallow"]))
def test_averages_are_those_of_outputs_that_are_stripped_beforehand(
    few: list[TaskData], texts: list[str], variant: str
) -> None:
    outputs = {each.task: texts[4 * i : 4 * i + 4] for i, each in enumerate(few)}
    plain = scoring.evaluate(few, outputs, variant)
    found = scoring.leniently(plain)
    for way, clean in (("stripped", str.strip), ("without_thoughts", stripped_of_thoughts)):
        changed = {task: [clean(text) for text in own] for task, own in outputs.items()}
        expected = scoring.evaluate(few, changed, "swallow")
        assert found[way]["averages"] == expected.averages
        more = {
            task: int(((after["value"] == 1) & (before["value"] != 1)).sum())
            for (task, before), (_, after) in zip(by_task(plain), by_task(expected), strict=True)
            if task != "jsts"
        }
        less = {task: count for task, count in found[way]["right"].items() if task != "jsts"}
        assert less == {task: count for task, count in more.items() if count}


def stripped_of_thoughts(text: str) -> str:
    return without_thoughts(text).strip()


def by_task(evaluation: Any) -> list[tuple[str, Any]]:
    frames = evaluation.frame.group_by("task", maintain_order=True)
    return [(str(task), frame) for (task,), frame in frames]
