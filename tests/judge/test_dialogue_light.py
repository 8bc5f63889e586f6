"""Light versions: equal parts, easy above lite above hard; ties, odd sizes and missing scores."""

from __future__ import annotations

import json
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_dialogues import (
    CATEGORIES,
    TYPES,
    dialogues_of,
    made_dialogue,
    made_set,
    write_json_lines,
)
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.judge.dialogues import Dialogue, difficulty, light_version, read_dialogues
from pfgen_rs.judge.dialogues.tables import VERSIONS

Record = dict[str, Any]


def oracle_difficulty(record: Record) -> Fraction | None:
    means = [
        Fraction(sum(answer["human"]), len(answer["human"]))
        for answer in record["answers2"]
        if answer["author"] != "human" and answer["human"]
    ]
    return Fraction(sum(means), len(means)) if means else None


def oracle(records: list[Record], version: str, each: int, seed: int) -> set[str]:
    """The ids of a light version, the obvious way."""
    draw, chosen = random.Random(seed), []
    for category in CATEGORIES:
        for kind in TYPES:
            found = [r for r in records if (r["category"], r["turn2_type"]) == (category, kind)]
            scored = sorted((r for r in found if oracle_difficulty(r) is not None), key=_id)
            if version == "lite":
                chosen += draw.sample([_id(r) for r in scored], each // 2)
            else:  # sorting is stable, so equal ones stay in the order of their ids
                scored.sort(key=lambda r: oracle_difficulty(r) or 0, reverse=version == "easy")
                chosen += [_id(r) for r in scored[: each // 2]]
    return set(chosen)


def _id(record: Record) -> str:
    return str(record["id"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", [0, 7])
def test_versions_equal_an_independent_choice(version: Any, seed: int) -> None:
    records = made_set(45, seed, unscored=3)
    found = light_version(dialogues_of(records), version, seed=seed)
    assert found.unscored == 3 * len(CATEGORIES) * len(TYPES)
    assert {each.id for each in found.dialogues} == oracle(records, version, 60, seed)
    assert Counter((d.category, d.turn2_type) for d in found.dialogues) == {
        (category, kind): 30 for category in CATEGORIES for kind in TYPES
    }
    order = [_id(record) for record in records]
    places = [order.index(each.id) for each in found.dialogues]
    assert places == sorted(places)


def test_easy_is_above_lite_and_lite_above_hard() -> None:
    dialogues = dialogues_of(made_set(80, 3))
    means = {}
    for version in VERSIONS:
        found = light_version(dialogues, version).dialogues
        assert len(found) == 5 * 60
        for category in CATEGORIES:
            scores = [difficulty(each) for each in found if each.category == category]
            means[version, category] = sum(s for s in scores if s is not None) / len(scores)
    for category in CATEGORIES:
        assert means["easy", category] > means["lite", category] > means["hard", category]


scores = st.lists(st.integers(1, 5), max_size=3)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 9999), scores, scores, scores), min_size=3, max_size=12
    ).filter(lambda rows: len({row[0] for row in rows}) == len(rows)),
    st.sampled_from(VERSIONS),
    st.integers(0, 3),
)
def test_any_scores(rows: list[Any], version: Any, seed: int) -> None:
    """Scores tie, are missing, and ids are numbers whose order as strings is another."""
    records = [
        made_dialogue(
            f"{place}{number}" if category else number,
            category=CATEGORIES[category],
            turn2_type=kind,
            answers2=[
                {"author": author, "text": "x", "human": people}
                for author, people in zip(("calm", "other", "human"), row, strict=True)
            ],
        )
        for category in range(len(CATEGORIES))
        for place, kind in enumerate(TYPES)
        for number, *row in [(f"{place}{category}{n}", *more) for n, *more in rows]
    ]
    needed = min(
        sum(oracle_difficulty(r) is not None for r in records if r["turn2_type"] == kind)
        for kind in TYPES
    ) // len(CATEGORIES)
    dialogues = dialogues_of(records)
    if needed:
        found = light_version(dialogues, version, per_category=2 * needed, seed=seed)
        assert {each.id for each in found.dialogues} == oracle(records, version, 2 * needed, seed)
    with pytest.raises(InputError, match="too few dialogues"):
        light_version(dialogues, version, per_category=2 * needed + 2)


def _with_scores(scores: dict[str, list[int]]) -> list[Dialogue]:
    """Dialogues of every kind whose ids end in the given names."""
    return dialogues_of(
        [
            made_dialogue(
                f"{category}-{kind}-{name}",
                category=category,
                turn2_type=kind,
                answers2=[{"author": "calm", "text": "x", "human": people}],
            )
            for category in CATEGORIES
            for kind in TYPES
            for name, people in scores.items()
        ]
    )


def _names(dialogues: list[Dialogue], version: Any, each: int = 2) -> set[str]:
    found = light_version(dialogues, version, per_category=each).dialogues
    return {dialogue.id.rpartition("-")[2] for dialogue in found}


def test_ties_go_by_id_as_a_string() -> None:
    dialogues = _with_scores({"9": [3, 3], "10": [2, 4], "11": [3], "2": [1, 5]})
    for version in ("easy", "hard"):
        assert _names(dialogues, version) == {"10"}
        assert _names(dialogues, version, 4) == {"10", "11"}


def test_means_are_exact() -> None:
    """As floats, 1/3 + 1/3 + 1/3 of means would differ in the last place, and decide."""
    thirds = {"b": [1, 1, 2], "a": [4, 4, 4], "c": [1, 2, 1]}
    assert _names(_with_scores(thirds), "hard") == {"b"}
    assert _names(_with_scores(thirds), "easy") == {"a"}


def test_peoples_answers_do_not_count_and_neither_do_the_judges_scores() -> None:
    answers = [
        {"author": "human", "text": "x", "human": [5, 5], "gpt": 5},
        {"author": "a", "text": "x", "human": [1, 2]},
        {"author": "b", "text": "x", "human": [4], "gpt": 1},
        {"author": "c", "text": "x", "human": [], "gpt": 5},
    ]
    [found] = dialogues_of([made_dialogue("d", answers2=answers)])
    assert difficulty(found) == Fraction(11, 4)
    [found] = dialogues_of([made_dialogue("d", answers2=answers[:1] + answers[3:])])
    assert difficulty(found) is None


@pytest.mark.parametrize("count", [1, 3, 59, 61, 0, -2])
def test_odd_and_impossible_sizes_are_refused(count: int) -> None:
    with pytest.raises(SettingsError, match=f"per category {count}: expected an even number of at"):
        light_version([], "lite", per_category=count)


def test_an_unknown_version() -> None:
    with pytest.raises(SettingsError, match="unknown version 'mid': expected one of lite, easy"):
        light_version([], "mid")  # type: ignore[arg-type]


def test_too_few_of_a_kind() -> None:
    records = [
        record
        for record in made_set(3, unscored=1)
        if (record["category"], record["turn2_type"]) != ("writing", "free")
        or not record["answers2"][0]["human"]
    ]
    with pytest.raises(InputError) as caught:
        light_version(dialogues_of(records), "easy", per_category=6)
    assert str(caught.value) == (
        "too few dialogues: expected at least 3 scored ones of each kind, but writing/free has 0 "
        "(10 unscored dialogues left out): choose a smaller number per category"
    )


def test_records_are_read_back_as_they_were(tmp_path: Path) -> None:
    records = made_set(2)
    records[0]["extra"] = {"kept": "as it is", "number": 1.50}
    path = write_json_lines(tmp_path / "a.jsonl", records)
    dialogues = read_dialogues(path)
    found = light_version(dialogues, "easy", per_category=4)
    assert [json.loads(each.source) for each in found.dialogues] == records
