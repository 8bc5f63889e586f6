"""Prompts for inference elsewhere and its outputs; scoring, result files, signatures."""

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import pfgen_rs
from jpeval_data import SAMPLES, jp_eval, write_data
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.llm_jp_eval import scoring
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData, raw_digest, read_tasks
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, read_outputs
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
    "jamp has 2 samples, but there are 0 outputs": {},
}


def test_outputs_that_do_not_fit_are_refused(datas: list[TaskData]) -> None:
    for message, outputs in WRONG.items():
        with pytest.raises(InputError, match=message):
            scoring.evaluate(datas[:1], outputs)
    with pytest.raises(SettingsError, match="a task is named twice"):
        scoring.evaluate([datas[0], datas[0]], GOLD)
    for make in (scoring.ScoreSettings, lambda name: scoring.evaluate(datas, GOLD, name)):
        with pytest.raises(SettingsError, match="unknown profile 'x'"):
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
    evaluations = {name: scoring.evaluate(datas, outputs, name) for name in ("swallow", "1.3.0")}
    settings, other = scoring.ScoreSettings("swallow"), scoring.Plan(datas, scoring.ScoreSettings())
    folder = tmp_path / "out"
    record = scoring.write_results(folder, datas, evaluations, {"a": "é"}, settings, [other])
    assert {name: each["signature"] for name, each in record["profiles"].items()} == {
        "swallow": record["signature"],
        "1.3.0": scoring.signature(datas),
    }
    assert json.loads((tmp_path / "out/scores.json").read_text("utf-8")) == record
    assert record["profiles"]["1.3.0"]["scores"]["jamp_exact_match"] == 0.0
    assert record["profiles"]["swallow"]["scores"]["jamp_exact_match"] == 0.5
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
    start = f"llm-jp-eval|v:{pfgen_rs.__version__}|profile:"
    raw = f"raw:{raw_digest(datas)}"
    unknown = "temperature:unknown|seed:unknown|top_p:unknown"
    expected = f"{start}1.3.0|split:test|n:all|shots:4|avg:AVR|{raw}|{unknown}"
    assert scoring.signature(datas) == expected
    prompts = PromptSettings(0, "{input}", None, chat=True, max_tokens=9)
    settings = scoring.ScoreSettings("swallow", 100, prompts)
    expected = f"{start}swallow|split:test|n:100|shots:0|avg:none|{raw}|{unknown}"
    more = "|prompt:5e1df29a|mode:chat|max_tokens:9"
    assert scoring.signature(datas, settings) == expected + more
    assert scoring.signature(datas[:1]) != scoring.signature(datas)


def test_standard_errors_are_those_of_means_and_of_the_jackknife(datas: list[TaskData]) -> None:
    outputs = {**GOLD, "jamp": ["entailment", "x"], "jsts": ["1", "2", "3"]}
    errors = scoring.standard_errors(scoring.evaluate(datas, outputs))
    assert errors["jamp_exact_match"] == pytest.approx(0.5)  # 0 and 1: sd 0.7071 over the root of 2
    assert errors["jsquad_char_f1"] == 0.0
    assert errors["jsts_pearson"] is not None
    alone = scoring.evaluate(datas[:1], {"jamp": ["entailment"]})
    assert scoring.standard_errors(alone) == {"jamp_exact_match": None}


SAMPLE = {"input": "", "pred": "1", "gold": "x"}


WRONG_FILES: list[tuple[Any, str]] = [
    (None, "is not a result file: expected an object with 'scores' and 'outputs'"),
    ({"mmlu_en": []}, "'outputs' has none of them"),
    ({"jamp": []}, "outputs of jamp must be samples with input, pred and gold"),
    ({"jamp": [{"input": "x"}]}, "outputs of jamp must be samples with"),
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


# Prompts for inference made elsewhere, and its outputs


ANSWERS: list[dict[str, Any]] = [
    {"id": f"{task}/test/{index}", "output": output}
    for task, pairs in SAMPLES.items()
    for index, (_, output) in enumerate(pairs)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


def write_lines(path: Path, records: Iterable[object]) -> Path:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    content = text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def texts_of(path: Path) -> dict[str, str | None]:
    tasks = read_outputs(path).by_task.values()
    return {name: each.text for own in tasks for name, [each] in own.items()}


def batch(name: str, choices: list[Any], **more: Any) -> dict[str, Any]:
    body = {"id": "cmpl-1", "choices": choices}
    response = {"status_code": 200, "request_id": "x", "body": body}
    return {"id": "vllm-123", "custom_id": name, "response": response, "error": None, **more}


def test_prompts_are_answered_elsewhere_and_scored(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "prompts.jsonl"
    done = jp_eval("prompts", "--data", folder, "--out", out, "--shots", 1)
    assert (done.exit_code, done.stdout) == (0, f"wrote 9 prompts of 4 tasks to {out}\n")
    assert "skipped, because there is no data: janli, jcommonsenseqa" in done.stderr
    asked = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert list(asked[0]) == ["id", "task", "split", "index", "prompt", "max_tokens", "digest"]
    assert [a["id"] for a in asked[:3]] == ["chabsa/test/0", "chabsa/test/1", "jamp/test/0"]
    assert [a["max_tokens"] for a in asked[:3]] == [191, 191, 3]
    assert asked[2]["prompt"].endswith("\n\n### 入力:\n前提：雨\n仮説：水\n\n### 応答:\n")
    answers = {record["id"]: record["output"] for record in ANSWERS}
    mixed = [{"id": a["id"], "text": answers[a["id"]]} for a in reversed(asked)]
    outputs = write_lines(tmp_path / "outputs.jsonl.gz", mixed)
    scored = jp_eval("score", outputs, "-d", folder, "-k", 1, "-f", "json", "-o", tmp_path / "s")
    found = json.loads(scored.stdout)
    assert found["scores"]["jsquad_char_f1"] == found["averages"]["NLI"] == 1.0
    assert "|profile:1.3.0|split:test|n:all|shots:1|avg:AVR|" in found["signature"]
    assert found["notes"]["jamp"] == {"exact": 1.0, "char_f1": 1.0}
    lacking = ["QA", "MC", "FA", "MR"]
    assert found["lacking"] == {"AVR": lacking, "AVG": [*lacking, "HE", "MT"]}
    names = sorted(path.name for path in (tmp_path / "s").iterdir())
    assert names == ["result.json", "samples.parquet", "scores.json"]


@pytest.mark.parametrize("chat", [False, True])
def test_batches_are_written_and_read(folder: Path, tmp_path: Path, chat: bool) -> None:
    name = "openai-chat" if chat else "openai-completions"
    done = jp_eval("prompts", "-d", folder, "-o", "-", "-f", name, "-m", "m", "-t", "jamp", "-n", 1)
    line = json.loads(done.stdout)
    place, _, digest = line["custom_id"].partition("#")
    assert (place, len(digest)) == ("jamp/test/0", 16)
    assert line["url"] == ("/v1/chat/completions" if chat else "/v1/completions")
    assert line["body"]["model"] == "m"
    assert (line["body"]["max_tokens"], line["body"]["temperature"]) == (3, 0)
    prompt = line["body"]["messages"][0]["content"] if chat else line["body"]["prompt"]
    assert prompt.endswith("### 応答:\n")
    said: dict[str, Any] = {"message": {"content": "A"}} if chat else {"text": "A"}
    for given_id in ("jamp/test/0", line["custom_id"]):
        outputs = write_lines(tmp_path / "o.jsonl", [batch(given_id, [said])])
        assert texts_of(outputs) == {"jamp/test/0": "A"}
    given = ["-d", folder, "-t", "jamp", "-n", 1]
    assert jp_eval("score", outputs, *given).exit_code == 0
    done = jp_eval("score", outputs, *given, "--shots", 2)
    assert "by their digests, 1 output answered prompts other than those here" in done.stderr
    done = jp_eval("prompts", "-d", folder, "-o", "-", "-f", name)
    assert f"the format {name} requires the name of a model" in done.stderr


def test_failed_requests_are_missing(tmp_path: Path) -> None:
    failed = {"custom_id": "jamp/test/0", "response": None, "error": {"code": "x"}}
    refused = {"custom_id": "jamp/test/1", "response": {"status_code": 500}, "error": None}
    empty = batch("jsts/test/0", [{"message": {"content": None}}])
    lines = [failed, refused, empty, {"id": "jsts/test/1", "output": None}]
    found = texts_of(write_lines(tmp_path / "o.jsonl", lines))
    missing = dict.fromkeys(("jamp/test/0", "jamp/test/1", "jsts/test/1"))
    assert found == {**missing, "jsts/test/0": ""}


WRONG_LINES: list[tuple[dict[str, Any], str]] = [
    ({"output": "x"}, "unknown id None: expected TASK/SPLIT/INDEX, such as jamp/test/0"),
    ({"id": 3, "output": "x"}, "unknown id '3'"),
    ({"id": "jamp/test/01", "output": "x"}, "unknown id 'jamp/test/01'"),
    ({"custom_id": "jamp/test/1", "output": "x"}, "duplicate id 'jamp/test/1'"),
    ({"id": "jamp/test/0"}, "no output: expected one of output, text, response"),
    ({"id": "jamp/test/0", "output": ["a"]}, r"'output' must be a single text, not \[\"a\"\]"),
    (batch("jamp/test/0", []), "'response' has no body with choices"),
    (batch("jamp/test/0", [{}, {}]), "'response' has 2 choices"),
    (batch("jamp/test/0", [{"text": 3}]), "must be text, not 3"),
    ({"id": "jamp/test/0", "output": "\ud800"}, "lone surrogate"),
]


def test_wrong_lines_are_named(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    good = json.dumps({"id": "jamp/test/1", "output": "x"})
    for record, message in WRONG_LINES:
        path.write_text(f"{good}\n{json.dumps(record)}")
        with pytest.raises(InputError, match=message) as error:
            read_outputs(path)
        assert error.value.line == 2


def test_files_without_outputs_of_these_samples_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Is a directory"):
        read_outputs(tmp_path)
    (tmp_path / "o.jsonl").touch()
    with pytest.raises(InputError, match=r"o\.jsonl: has no outputs"):
        read_outputs(tmp_path / "o.jsonl")
    outputs = write_lines(tmp_path / "o.jsonl", [*ANSWERS, {"id": "jamp/test/2", "output": "x"}])
    there = "jamp has 2 samples in the split test, counted from 0"
    told = f"error: {outputs}: unknown id 'jamp/test/2': {there}\n"
    assert jp_eval("score", outputs, "-d", folder).stderr == told
    write_lines(outputs, [{"id": "jumps/test/0", "output": "x"}])
    assert "unknown task 'jumps'" in jp_eval("score", outputs, "-d", folder).stderr
    write_lines(outputs, [{"id": "jamp/dev/0", "output": "x"}])
    assert "unknown id 'jamp/dev/0'" in jp_eval("score", outputs, "-d", folder).stderr


def test_missing_outputs_are_an_error_with_a_way_out(folder: Path, tmp_path: Path) -> None:
    outputs = write_lines(tmp_path / "o.jsonl", [*ANSWERS[:1], *ANSWERS[2:]])
    done = jp_eval("score", outputs, "-d", folder)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "o.jsonl: 1 output is missing: jamp/test/1; --limit N scores" in done.stderr
    assert "--allow-missing" in done.stderr
    done = jp_eval("score", outputs, "-d", folder, "--allow-missing")
    assert done.exit_code == 0
    assert "warning: 1 output was missing and counts as empty" in done.stderr
    assert "AVR is the mean of 7 categories; not run: QA, MC, FA, MR" in done.stderr
    assert ("0.5000" in done.stdout, "AVR –" in done.stdout) == (True, True)
    done = jp_eval("score", outputs, "-d", folder, "--limit", 1, "-t", "jamp")
    assert (done.exit_code, "n:1|" in done.stdout) == (0, True)
    done = jp_eval("score", outputs, "-d", folder, "-t", "jamp,mawps")
    assert "no file of the task 'mawps' in the split test" in done.stderr


WRONG_OPTIONS: list[tuple[list[object], str]] = [
    (["--limit", 0], "greater than or equal to 1"),
    (["--tasks", "nli"], "unknown task 'nli'"),
    (["--shots", 17], "has 5 examples"),
    (["--template", "missing.txt"], "missing.txt: cannot be read: No such file"),
    (["--data", "missing"], "missing: no evaluation files"),
    (["--split", "dev"], "no files of these tasks in the split dev"),
]


def test_wrong_options_are_named(folder: Path) -> None:
    for options, message in WRONG_OPTIONS:
        done = jp_eval("prompts", "--out", "-", "--data", folder, *options)
        assert (done.exit_code, done.stdout) == (2, "")
        assert message in " ".join(done.stderr.replace("│", " ").split())


JSON_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = JSON_VALUES | st.lists(JSON_VALUES, max_size=3) | st.dictionaries(st.text(), JSON_VALUES)
NAMES = ("id", "custom_id", "digest", "model", "output", "text", "response", "error", "body")
KEYS = st.sampled_from(NAMES)
LIKELY = st.sampled_from(["jamp", "jamp/test/0", "test", 0, {"body": {"choices": [{}]}}])
RECORDS = st.dictionaries(KEYS, LIKELY | VALUES)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS, min_size=1, max_size=3))
def test_any_object_is_read_or_refused(tmp_path: Path, found: list[dict[str, Any]]) -> None:
    path = tmp_path / "o.jsonl"
    write_lines(path, found)
    try:
        assert read_outputs(path).by_task.keys() <= {"jamp"}
    except InputError as error:
        assert Path(str(error.path)) == path  # noqa: PT017 - others are read
