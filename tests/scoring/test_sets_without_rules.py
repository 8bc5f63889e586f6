"""Sets in which no question has keyword rules: Helpfulness, 1 for everybody, is left out of the score."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import oracle
from helpers import pfgen
from pfgen_rs import Benchmark, Settings, load_benchmark, score_file
from pfgen_rs.questions.index_cache import index_key
from pfgen_rs.report.plots.inputs import source_scores

REFERENCES = {
    "A": ["布は青い。", "布は青くて広い。", "青い布だ。"],
    "B": ["布は青い。", "赤い布ではない。"],
}
ANSWERS = ["あ", "", "布は青い。", "青い布。" * 40]
RULE = [{"t": "青", "importance": 0.5}]


def write_set(folder: Path, *keywords: list[dict[str, Any]]) -> Path:
    """A set with one question for each list of rules."""
    folder.mkdir()
    for number, rules in enumerate(keywords, 1):
        data = {
            "question_id": f"Q{number}",
            "question": f"布{number}？",
            "category": "",
            "note": "",
        }
        content = json.dumps({**data, "keywords": rules, "answers": REFERENCES})
        (folder / f"Q{number}.json").write_text(content, encoding="utf-8")
    return folder


def write_answers(path: Path) -> Path:
    rows = [{"question": f"布{n}？", "answer": a} for n in (1, 2) for a in ANSWERS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def averages(bench: Benchmark, question: str = "Q1") -> list[float]:
    found: list[float] = bench.score_batch([question] * len(ANSWERS), ANSWERS)["average"].to_list()
    return found


def test_an_answer_gets_nothing_for_rules_that_do_not_exist(tmp_path: Path) -> None:
    bench = load_benchmark(write_set(tmp_path / "set", [], []))
    assert bench.score("Q1", "あ").average == 0.0  # it was a third
    plain = oracle.Question({"answers": REFERENCES}, ruled=False)
    assert averages(bench) == [plain.score(answer)["average"] for answer in ANSWERS]
    literal = load_benchmark(bench.folder, settings={"variant": "paper"})
    assert averages(literal) == pytest.approx([plain.paper(a)["total"] for a in ANSWERS], abs=1e-12)


@pytest.mark.parametrize("summation", ["plain", "compensated"])
def test_one_rule_in_a_set_leaves_all_scores_as_published(tmp_path: Path, summation: Any) -> None:
    settings = {"summation": summation}
    bench = load_benchmark(write_set(tmp_path / "set", RULE, []), settings=settings)
    add = oracle.left_sum if summation == "plain" else oracle.compensated_sum
    for question, rules in (("Q1", RULE), ("Q2", [])):
        plain = oracle.Question({"answers": REFERENCES, "keywords": rules}, ruled=True)
        assert averages(bench, question) == [plain.score(a, add)["average"] for a in ANSWERS]
    assert "helpfulness" not in bench.signature


def test_every_way_to_score_leaves_it_out(tmp_path: Path) -> None:
    folder, run = write_set(tmp_path / "set", [], []), write_answers(tmp_path / "run.jsonl")
    bench = load_benchmark(folder)
    right = averages(bench)
    assert bench.scorer()(["Q1"] * len(ANSWERS), ANSWERS).tolist() == right
    assert [bench.score("Q1", answer).average for answer in ANSWERS] == right
    assert averages(pickle.loads(pickle.dumps(bench))) == right
    assert averages(bench.with_settings({"max_n": 10})) == right
    assert averages(bench.with_settings(Settings())) == right
    assert averages(load_benchmark(folder, settings=Settings(summation="compensated"))) == right
    result = score_file(run, folder)
    assert result.frame["average"].to_list() == right * 2
    assert result.with_summation("compensated").frame["average"].to_list() == right * 2
    for _ in range(2):  # the second one knows the questions
        done = pfgen("score", run, "-b", folder, "--format", "json")
        [row] = json.loads(done.stdout)
        assert row["score"] == result.score
        assert "|helpfulness:none|" in row["signature"] == result.signature
        assert done.stderr.count("no question of this set has keyword rules") == 1
    shown = pfgen("explain", "Q1", "布は青い。", "-b", folder, "--format", "json")
    assert json.loads(shown.stdout)["scores"]["average"] == right[2]
    both = pfgen("score", run, run, "-b", write_set(tmp_path / "ruled", RULE, RULE))
    assert "keyword rules" not in both.stderr


def test_figures_by_source_leave_it_out(tmp_path: Path) -> None:
    result = score_file(write_answers(tmp_path / "run.jsonl"), write_set(tmp_path / "set", [], []))
    for row in source_scores({"run": result.to_dict()}).iter_rows(named=True):
        assert row["average"] == (row["fluency"] + row["truthfulness"]) / 2


def test_the_index_does_not_depend_on_it() -> None:
    keys = {index_key([("Q1", "0")], Settings(helpfulness=value)) for value in (True, False)}
    assert len(keys) == 1
