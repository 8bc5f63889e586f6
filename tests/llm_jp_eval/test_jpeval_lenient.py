"""Answers that are wrong only for their form are counted, with the average that they would give."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jpeval_data import SAMPLES, jp_eval, write_data
from jpeval_run_folders import made_data
from pfgen_rs.io.cleaning import without_thoughts
from pfgen_rs.llm_jp_eval.catalog import tasks
from pfgen_rs.llm_jp_eval.data import TaskData, read_tasks
from pfgen_rs.llm_jp_eval.scoring import LENIENT, evaluate, leniently

Form = Callable[[str], str]
FORMS: dict[str, tuple[Form, set[str]]] = {
    "a line break behind": (lambda text: f"{text}\n", {*LENIENT}),
    "an empty line before": (lambda text: f"\n\n{text}", {*LENIENT}),
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
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.mark.parametrize("form", FORMS)
def test_answers_wrong_for_their_form_are_told_by_task(
    form: str, data: Path, tmp_path: Path
) -> None:
    make, ways = FORMS[form]
    outputs = written(tmp_path, data, make)
    found = json.loads(jp_eval("score", outputs, "-d", data, "-f", "json").stdout)
    lenient, average = found["lenient"], found["averages"]["AVR"]
    assert [*lenient] == [*LENIENT]
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
        assert (
            f"{count} answers are {wrong}: AVR would be 1.0000 instead of {average:.4f}"
            in done.stderr
        )
        rows = {
            line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()
        }
        assert rows["jamp"] == ["2"] * len(ways)
    else:
        assert "wrong only" not in done.stderr + done.stdout


def test_what_the_variant_strips_is_not_told_again(data: Path, tmp_path: Path) -> None:
    outputs = written(tmp_path, data, lambda text: f"{text}\n")
    done = jp_eval("score", outputs, "-d", data, "--variant", "swallow")
    assert "AVR 1.0000" in done.stdout
    assert "would be right" not in done.stdout


def test_answers_that_are_expected_in_quotation_marks_keep_them(tmp_path: Path) -> None:
    pairs = [("質問：題は？", "『雪国』"), ("質問：人は？", "川端")]
    datas = read_tasks(write_data(tmp_path / "data", {"jamp": pairs}, {"jamp": pairs}), ["jamp"])
    found = leniently(evaluate(datas, {"jamp": ["『雪国』", "『川端』"]}))
    assert found["unquoted"].right == {"jamp": 1}
    assert found["unquoted"].averages["NLI"] == 1.0


def test_an_average_that_lacks_categories_is_not_promised(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    outputs = tmp_path / "o.jsonl"
    lines = [
        json.dumps({"id": f"jamp/test/{i}", "output": f"{output}\n"})
        for i, (_, output) in enumerate(SAMPLES["jamp"])
    ]
    outputs.write_text("\n".join(lines), "utf-8")
    done = jp_eval("score", outputs, "-d", data)
    assert "2 answers are wrong only for blanks" in done.stderr
    assert "would be 1" not in done.stderr


TEXTS = st.sampled_from(
    ["", "\n", "a", "A", "「a」", '"', "<think>", "</think>", " ", "\n\n", "1", "Ａ"]
)
OUTPUTS = st.lists(TEXTS, max_size=6).map("".join)


@pytest.fixture(scope="module")
def datas(tmp_path_factory: pytest.TempPathFactory) -> list[TaskData]:
    golds = ["a", "「a」", "A\na", ""]
    pairs = {task: [("x", gold) for gold in golds] for task in ("jamp", "jsquad", "chabsa")}
    pairs["jsts"] = [("x", f"{number}.0") for number in range(4)]
    return read_tasks(write_data(tmp_path_factory.mktemp("few"), pairs, pairs), pairs)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OUTPUTS, min_size=16, max_size=16), st.sampled_from(["upstream", "swallow"]))
def test_averages_are_those_of_outputs_that_are_stripped_beforehand(
    datas: list[TaskData], texts: list[str], variant: str
) -> None:
    outputs = {each.task: texts[4 * i : 4 * i + 4] for i, each in enumerate(datas)}
    plain = evaluate(datas, outputs, variant)
    found = leniently(plain)
    for way, clean in (("stripped", str.strip), ("without_thoughts", stripped_of_thoughts)):
        changed = {task: [clean(text) for text in own] for task, own in outputs.items()}
        expected = evaluate(datas, changed, "swallow")
        assert found[way].averages == expected.averages
        more = {
            task: int(((after["value"] == 1) & (before["value"] != 1)).sum())
            for (task, before), (_, after) in zip(by_task(plain), by_task(expected), strict=True)
            if task != "jsts"
        }
        less = {task: count for task, count in found[way].right.items() if task != "jsts"}
        assert less == {task: count for task, count in more.items() if count}


def stripped_of_thoughts(text: str) -> str:
    return without_thoughts(text).strip()


def by_task(evaluation: Any) -> list[tuple[str, Any]]:
    frames = evaluation.frame.group_by("task", maintain_order=True)
    return [(str(task), frame) for (task,), frame in frames]
