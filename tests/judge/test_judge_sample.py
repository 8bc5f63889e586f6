"""The bundled sample for judges is what its script makes, and what its README promises."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import judge_sample
from pfgen_rs.judge import read_verdict_text
from pfgen_rs.judge.pairs import read_humans, read_pairs
from pfgen_rs.judge.sample import JUDGES, sample_path
from pfgen_rs.judge.verdict_folder import VerdictFolder
from places import ROOT

WHICH = {"careful": "last", "hasty": "first"}


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (sample_path() / name).read_text("utf-8").splitlines()]


def test_the_package_has_the_folder_of_the_source_tree() -> None:
    assert sample_path().resolve() == (ROOT / "data" / "judge-sample").resolve()
    assert "Statistics on it are no findings" in (sample_path() / "README.md").read_text("utf-8")


def test_the_script_makes_exactly_these_files() -> None:
    made = judge_sample.files()
    found = {p for p in sample_path().rglob("*") if p.is_file() and p.name != "README.md"}
    assert {p.relative_to(sample_path()).as_posix() for p in found} == made.keys()
    assert all((sample_path() / name).read_bytes() == content for name, content in made.items())


def test_it_is_small_enough_for_the_wheel() -> None:
    assert sum(p.stat().st_size for p in sample_path().rglob("*") if p.is_file()) < 500_000


def test_pairs_are_three_models_of_ten_questions() -> None:
    pairs = records("pairs.jsonl")
    assert len({pair["id"] for pair in pairs}) == len(pairs) == 30
    assert set(Counter(pair["question_id"] for pair in pairs).values()) == {3}
    assert {pair["task"] for pair in pairs} == {"文章作成", "校正", "要約"}
    assert set(Counter(model for pair in pairs for model in pair["models"]).values()) == {20}
    first = Counter(pair["models"][0] for pair in pairs)
    assert set(first.values()) == {10}
    assert all(100 <= len(answer) <= 300 for pair in pairs for answer in pair["answers"])
    assert all(pair["reference"] and pair["criteria"].startswith("・") for pair in pairs)


def test_three_raters_judge_every_pair() -> None:
    humans = records("humans.jsonl")
    assert {(each["id"], each["rater"]) for each in humans} == {
        (pair["id"], rater) for pair in records("pairs.jsonl") for rater in ("r1", "r2", "r3")
    }
    assert {each["verdict"] for each in humans} == {"A", "B", "C"}


@pytest.mark.parametrize("judge", JUDGES)
def test_a_recorded_judge_saw_every_pair_in_both_orders(judge: str) -> None:
    judgments = records(f"verdicts/{judge}/judgments.jsonl")
    assert [(each["pair"], each["order"]) for each in judgments] == [
        (pair["id"], order) for pair in records("pairs.jsonl") for order in (1, 2)
    ]
    assert len({each["digest"] for each in judgments}) == 60
    assert records(f"verdicts/{judge}/pairs.jsonl") == records("pairs.jsonl")


@pytest.mark.parametrize("judge", JUDGES)
def test_recorded_verdicts_are_what_the_outputs_say(judge: str) -> None:
    for each in records(f"verdicts/{judge}/judgments.jsonl"):
        read = read_verdict_text(each["output"], WHICH[judge])  # type: ignore[arg-type]
        shown = None if each["finish_reason"] == "length" else read.shown
        assert each["shown"] == shown
        assert (each["problem"] is None) == (shown is not None)
        probabilities = each["probabilities"]
        if probabilities is not None:
            assert max(probabilities, key=probabilities.__getitem__) == shown
            assert 0.97 < sum(probabilities.values()) < 1


def test_the_judges_differ_as_their_names_say() -> None:
    orders: dict[str, list[str | None]] = {}
    for judge in JUDGES:
        orders[judge] = [each["shown"] for each in records(f"verdicts/{judge}/judgments.jsonl")]
    assert orders["careful"].count(None) == 1
    assert orders["hasty"].count(None) == 2
    excess = {judge: shown.count("A") - shown.count("B") for judge, shown in orders.items()}
    assert excess["careful"] <= 3 < 10 <= excess["hasty"]
    blunt = [
        each
        for each in records("verdicts/hasty/judgments.jsonl")
        if each["shown"] and each["probabilities"] is None
    ]
    assert len(blunt) == 1


@pytest.mark.parametrize(("judge", "decided"), [("careful", 25), ("hasty", 17)])
def test_recorded_verdicts_are_read_as_verdict_folders(judge: str, decided: int) -> None:
    folder = VerdictFolder(sample_path() / "verdicts" / judge)
    found = folder.decisions()
    assert len(found) == 30
    assert folder.judge_name.startswith(f"demo/{judge}-judge · ")
    assert found["strict"].null_count() == 30 - decided
    assert found["probability"].null_count() == 0
    assert found["single"].any()
    pairs = read_pairs(sample_path() / "pairs.jsonl")
    assert folder.pairs() == pairs
    known = {pair.id for pair in pairs}
    assert len(read_humans(sample_path() / "humans.jsonl", known)) == 90


def test_dialogues_fill_every_category_and_type() -> None:
    dialogues = records("dialogues.jsonl")
    kinds = Counter((each["category"], each["turn2_type"]) for each in dialogues)
    assert kinds == {
        (category, kind): 6
        for category in ("human", "roleplay", "writing", "STEM", "reasoning")
        for kind in ("same", "free")
    }
    assert set(Counter(each["author1"] for each in dialogues).values()) == {20}
    assert len({each["id"] for each in dialogues}) == 60
    for each in dialogues:
        assert len(each["turns"]) == 3
        assert [answer["author"] for answer in each["answers2"]] == ["calm", "llm-jp", "human"]
        for scores in (each["human1"], *(answer["human"] for answer in each["answers2"])):
            assert len(scores) == 3
            assert set(scores) <= {1, 2, 3, 4, 5}


def test_first_answers_stand_in_two_dialogues_with_the_same_scores() -> None:
    scores: dict[str, list[Any]] = {}
    for each in records("dialogues.jsonl"):
        scores.setdefault(each["turns"][1], []).append([each["human1"], each["gpt1"]])
    assert len(scores) == 30
    assert all(len(found) == 2 and found[0] == found[1] for found in scores.values())


def test_the_script_writes_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["judge_sample.py", str(tmp_path)])
    judge_sample.main()
    assert (tmp_path / "pairs.jsonl").read_bytes() == (sample_path() / "pairs.jsonl").read_bytes()
