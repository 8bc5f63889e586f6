"""Prompts for inference made elsewhere, and its outputs: `llm-jp-eval prompts` and `score`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jpeval_data import SAMPLES, jp_eval, write_data
from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.prompts import read_outputs

GOLD: list[dict[str, Any]] = [
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
    answers = {record["id"]: record["output"] for record in GOLD}
    mixed = [{"id": a["id"], "text": answers[a["id"]]} for a in reversed(asked)]
    outputs = write_lines(tmp_path / "outputs.jsonl.gz", mixed)
    scored = jp_eval("score", outputs, "-d", folder, "-k", 1, "-f", "json", "-o", tmp_path / "s")
    found = json.loads(scored.stdout)
    assert found["scores"]["jsquad_char_f1"] == found["averages"]["NLI"] == 1.0
    assert "|variant:upstream|split:test|n:all|shots:1|avg:AVR|" in found["signature"]
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
        assert read_outputs(outputs).texts == {"jamp": {0: "A"}}
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
    found = read_outputs(write_lines(tmp_path / "o.jsonl", lines))
    assert found.texts == {"jamp": {}, "jsts": {0: ""}}


WRONG_LINES: list[tuple[dict[str, Any], str]] = [
    ({"output": "x"}, "unknown id None: expected TASK/SPLIT/INDEX, such as jamp/test/0"),
    ({"id": 3, "output": "x"}, "unknown id '3'"),
    ({"id": "jamp/test/01", "output": "x"}, "unknown id 'jamp/test/01'"),
    ({"id": "jumps/test/2", "output": "x"}, "unknown id 'jumps/test/2'"),
    ({"custom_id": "jamp/test/1", "output": "x"}, "duplicate id 'jamp/test/1', which line 1"),
    ({"id": "jamp/dev/0", "output": "x"}, "is not of the split test: choose --split dev"),
    ({"id": "jamp/test/0"}, "no output: expected one of output, text, response"),
    ({"id": "jamp/test/0", "output": ["a"]}, r"'output' must be a single text, not \[\"a\"\]"),
    (batch("jamp/test/0", []), "'response' has no body with choices"),
    (batch("jamp/test/0", [{}, {}]), "'response' has 2 choices"),
    (batch("jamp/test/0", [{"text": 3}]), "must have a text or a message with text"),
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
    with pytest.raises(InputError, match=r"is a directory: expected a file of outputs, such as"):
        read_outputs(tmp_path)
    (tmp_path / "o.jsonl").touch()
    with pytest.raises(InputError, match=r"o\.jsonl: has no outputs"):
        read_outputs(tmp_path / "o.jsonl")
    outputs = write_lines(tmp_path / "o.jsonl", [*GOLD, {"id": "jamp/test/2", "output": "x"}])
    told = f"{outputs}: unknown id 'jamp/test/2': jamp has 2 samples, counted from 0"
    assert jp_eval("score", outputs, "-d", folder).stderr == f"error: {told}\n"


def test_missing_outputs_are_an_error_with_a_way_out(folder: Path, tmp_path: Path) -> None:
    outputs = write_lines(tmp_path / "o.jsonl", [*GOLD[:1], *GOLD[2:]])
    done = jp_eval("score", outputs, "-d", folder)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "o.jsonl: 1 output is missing: jamp/test/1; --limit N scores" in done.stderr
    assert "--allow-missing" in done.stderr
    done = jp_eval("score", outputs, "-d", folder, "--allow-missing")
    assert done.exit_code == 0
    assert "warning: 1 output was missing and counts as empty" in done.stderr
    assert "AVR is the mean of seven categories; not run: QA, MC, FA, MR" in done.stderr
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
    (["--data", "missing"], "missing: not found"),
    (["--split", "dev"], "no files of these tasks in the split dev"),
]


def test_wrong_options_are_named(folder: Path) -> None:
    for options, message in WRONG_OPTIONS:
        done = jp_eval("prompts", "--out", "-", "--data", folder, *options)
        assert (done.exit_code, done.stdout) == (2, "")
        assert message in " ".join(done.stderr.replace("│", " ").split())


JSON_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = JSON_VALUES | st.lists(JSON_VALUES, max_size=3) | st.dictionaries(st.text(), JSON_VALUES)
KEYS = st.sampled_from(
    ["id", "custom_id", "digest", "model", "output", "text", "response", "error", "body"]
)
LIKELY = st.sampled_from(["jamp", "jamp/test/0", "test", 0, {"body": {"choices": [{}]}}])
RECORDS = st.dictionaries(KEYS, LIKELY | VALUES)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS, min_size=1, max_size=3))
def test_any_object_is_read_or_refused(tmp_path: Path, found: list[dict[str, Any]]) -> None:
    path = tmp_path / "o.jsonl"
    write_lines(path, found)
    try:
        assert read_outputs(path).texts.keys() <= {"jamp"}
    except InputError as error:
        assert Path(str(error.path)) == path  # noqa: PT017 - others are read
