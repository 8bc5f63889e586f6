"""Scoring outputs of llm-jp-eval's tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from jpeval_data import SAMPLES, write_data
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.llm_jp_eval.data import TaskData, read_tasks
from pfgen_rs.llm_jp_eval.scoring import evaluate, standard_errors


@pytest.fixture
def datas(tmp_path: Path) -> list[TaskData]:
    return read_tasks(write_data(tmp_path), SAMPLES)


GOLD: dict[str, Sequence[str | None]] = {
    task: [output for _, output in pairs] for task, pairs in SAMPLES.items()
}


def test_gold_answers_score_one_unless_gold_lines_repeat(datas: list[TaskData]) -> None:
    found = evaluate(datas, GOLD)
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
    found = evaluate(datas, outputs).frame
    assert found.columns == [
        "task",
        "index",
        "input",
        "output",
        "pred",
        "gold",
        "value",
        "exact",
        "char_f1",
    ]
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


def test_the_variants_differ_in_spaces(datas: list[TaskData]) -> None:
    outputs = {"jamp": ["\nentailment", "contradiction "]}
    upstream, swallow = (evaluate(datas[:1], outputs, v) for v in ("upstream", "swallow"))
    assert upstream.scores == {"jamp_exact_match": 0.0}
    assert swallow.scores == {"jamp_exact_match": 1.0}
    assert swallow.variant == "swallow"
    with pytest.raises(SettingsError, match="unknown variant 'x'"):
        evaluate(datas[:1], outputs, "x")


def test_nul_and_long_and_astral_outputs(datas: list[TaskData]) -> None:
    outputs: dict[str, Sequence[str | None]] = {
        "jamp": ["entailment\0", "\0contradiction"],
        "jsquad": ["青" * 100_000, "𠮷\U0010ffff"],
    }
    found = evaluate(datas[:2], outputs)
    assert found.scores["jamp_exact_match"] == 0.5
    assert found.frame["exact"].to_list()[:2] == [0.0, 0.0]
    assert found.frame["output"].to_list()[2] == "青" * 100_000


def test_numbers_that_are_too_large_or_none_have_no_error(tmp_path: Path) -> None:
    folder = write_data(tmp_path, {"jsts": [("a", "nan"), ("b", "1.0"), ("c", "3.0")]})
    for outputs in (["1", "2", "3"], ["9" * 400, "2", "3"]):
        found = evaluate(read_tasks(folder, ["jsts"]), {"jsts": outputs})
        assert found.scores["jsts_pearson"] == 0.0
        assert standard_errors(found) == {"jsts_pearson": None, "jsts_spearman": None}


def test_lone_surrogates_are_refused_with_their_place(datas: list[TaskData]) -> None:
    with pytest.raises(InputError, match="output of jamp/test/1 contains a lone surrogate"):
        evaluate(datas[:1], {"jamp": ["x", "\udcff"]})


def test_missing_outputs_are_an_error_unless_allowed(datas: list[TaskData]) -> None:
    outputs = {**GOLD, "jamp": [None, "contradiction"], "jsts": [None, None, None]}
    message = r"4 outputs are missing: jamp/test/0, jsts/test/0, jsts/test/1 …"
    with pytest.raises(InputError, match=message):
        evaluate(datas, outputs)
    found = evaluate(datas, outputs, allow_missing=True)
    assert found.scores["jamp_exact_match"] == 0.5
    assert found.scores["jsts_pearson"] == 0.0  # a constant side
    assert found.missing == {"jamp": 1, "jsts": 3}
    with pytest.raises(InputError, match=r"^1 output is missing: jamp/test/0$"):
        evaluate(datas[:1], {"jamp": [None]})


def test_too_many_and_no_outputs_are_refused(datas: list[TaskData]) -> None:
    for outputs in ([], ["x"] * 3):
        with pytest.raises(InputError, match=f"jamp has 2 samples, but there are {len(outputs)}"):
            evaluate(datas[:1], {"jamp": outputs})
    with pytest.raises(InputError, match="no outputs of the task jamp"):
        evaluate(datas[:1], {})
    with pytest.raises(SettingsError, match="a task is named twice"):
        evaluate([datas[0], datas[0]], GOLD)


def test_first_samples_alone_are_scored(datas: list[TaskData]) -> None:
    found = evaluate(datas[:1], {"jamp": ["entailment"]})
    assert found.scores == {"jamp_exact_match": 1.0}
    assert found.frame.height == 1
