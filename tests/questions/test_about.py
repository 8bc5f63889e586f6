"""What a set says of itself, and who wrote its answers."""

import json
from pathlib import Path
from typing import Any

import pytest

import pfgen_rs
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.questions.about import About

QUESTION: dict[str, Any] = {
    "question_id": "Q01",
    "question": "空は何色ですか？",
    "category": "",
    "note": "",
    "keywords": [],
    "answers": {"A": ["青です。", "空は青いです。"], "B": ["青色です。"]},
}
SET = {"format": 2, "name": "空", "language": "ja", "licence": "CC-BY-4.0"}
MADE = {"set": SET, "models": ["org/a", "b"], "makers": {"A": [1, None], "B": [0]}}


def written(folder: Path, **changes: Any) -> Path:
    text = json.dumps({**QUESTION, **changes}, ensure_ascii=False)
    (folder / "Q01.json").write_text(text, encoding="utf-8")
    return folder


def test_what_is_stated_is_read_and_remembered(tmp_path: Path) -> None:
    folder = written(tmp_path, **MADE)
    for bench in (pfgen_rs.load_benchmark(folder), pfgen_rs.benchmark.load_for_scores(folder)):
        assert bench.about == About("空", "ja", licence="CC-BY-4.0")
        assert bench.models == ["b", "org/a"]
        [question] = bench
        assert question.models == ("org/a", "b")
        assert question.makers == {"A": (1, None), "B": (0,)}


def test_older_sets_say_nothing(tmp_path: Path) -> None:
    bench = pfgen_rs.load_benchmark(written(tmp_path))
    [question] = bench
    assert (bench.about, bench.models, question.models, question.makers) == (None, [], (), {})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"set": {**SET, "format": 3, "x": 1}}, r"is of format 3: .* up to 2, and knows nothing of 'x': "),
        ({"set": {**SET, "format": 3}}, r"is of format 3: this version of pfgen_rs reads formats up to 2: u"),
        ({"set": {"name": "x"}}, "format must be an integer of at least 2, not None"),
        ({"set": {**SET, "x": 1}}, "unknown keys 'x': expected name, language, made_by, "),
        ({"set": {**SET, "language": "日本語"}}, "'set': invalid language '日本語': expected a tag such as"),
        ({"set": {**SET, "name": 3}}, "name must be text, not 3"),
        ({"set": []}, "'set' must be an object"),
        ({"models": "a"}, "'models' must be a list of names"),
        ({"models": ["a", "a"]}, "'models' has a name twice"),
        ({"models": ["a"], "makers": {"A": [0, 0]}}, "'makers' must have the sources of 'answers'"),
        ({"models": ["a"], "makers": {"A": [0], "B": [0]}}, "source 'A' must be a list of 2 indices"),
        ({"models": ["a"], "makers": {"A": [0, 1], "B": [0]}}, "indices of 'models' or null, not 1"),
        ({"models": ["a"], "makers": {"A": [0, True], "B": [0]}}, "indices of 'models' or null, not True"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(BenchmarkError, match=problem) as caught:
        pfgen_rs.load_benchmark(written(tmp_path, **changes))
    assert "Q01.json" in str(caught.value)
