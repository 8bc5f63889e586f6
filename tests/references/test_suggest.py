"""Suggested rules: contradictions are found, counted as a plain search does, and written as rules."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs import SettingsError
from pfgen_rs.references.ng_rules import AnswerRules, parse_answer_rules, read_answer_rules
from pfgen_rs.references.suggest import (
    Alternative,
    Suggestion,
    suggest_rules,
    suggestions_toml,
    write_suggestions,
)

CLOCK = [
    *(
        f"{start}、長針と短針は1日に{count}回重なります。"
        for start in ("まず", "また", "なお", "ただ")
        for count in (22, 22, 22, 11)
    ),
    "針は1日に24回重なります。",
]


def named(text: str, pattern: str) -> AnswerRules:
    return parse_answer_rules([{"name": text, "forbid": pattern}], "Q01")


def test_numbers_that_contradict_each_other() -> None:
    (first,) = suggest_rules(CLOCK)
    assert first.context == ("は1日に", "回重")
    assert first.alternatives == (
        Alternative("22", 12, 12 / 17, CLOCK[0]),
        Alternative("11", 4, 4 / 17, CLOCK[3]),
    )
    assert first.score == 17 * (12 / 17 + 4 / 17) * (4 / 17)
    assert first.forbid == "は1日に(?:11)回重"


def test_names_that_contradict_each_other() -> None:
    texts = (
        ["作者はモーツァルトです。"] * 7 + ["作者はベートーヴェンです。"] * 3 + ["知りません。"] * 2
    )
    (found,) = suggest_rules(texts)
    assert found.context == ("作者は", "です")
    assert [(each.text, each.answers) for each in found.alternatives] == [
        ("モーツァルト", 7),
        ("ベートーヴェン", 3),
    ]


def test_lists_contradict_nothing() -> None:
    texts = ["とても赤色で、とても青色で、", "とても青色で、とても白色で、"] * 5
    assert suggest_rules(texts, left=3) == []
    assert len(suggest_rules([text[:7] for text in texts], left=3)) == 1


def test_the_forbidden_pattern_finds_the_minority() -> None:
    texts = [f"a+b({fill})*c。" for fill in [*"111122", "[3]"]] + ["22", "22", "33", "33", "33"]
    for found in suggest_rules(texts):
        broken = named("x", found.forbid).apply(texts) == 0
        wanted = {each.text for each in found.alternatives[1:]}
        left, right = found.context
        inside = [re.search(f"{re.escape(left)}([0-9]+){re.escape(right)}", text) for text in texts]
        assert broken.tolist() == [match is not None and match[1] in wanted for match in inside]


def naive(texts: list[str], left: int, right: int) -> dict[tuple[str, str], dict[str, set[int]]]:
    """Runs of digits by what stands around them, found character by character."""
    places: dict[tuple[str, str], dict[str, set[int]]] = {}
    for row, text in enumerate(texts):
        mine: dict[tuple[str, str], set[str]] = {}
        at = 0
        while at < len(text):
            end = at
            while end < len(text) and text[end].isdigit():
                end += 1
            if end > at:
                context = ("".join(text[:at][-left:]), text[end : end + right])
                mine.setdefault(context, set()).add(text[at:end])
            at = max(end, at + 1)
        for context, fills in mine.items():
            if len(fills) == 1:
                places.setdefault(context, {}).setdefault(fills.pop(), set()).add(row)
    return places


@given(
    st.lists(st.text(alphabet="12あは。", max_size=8), max_size=30),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_counts_equal_a_plain_search(texts: list[str], left: int, right: int) -> None:
    found = suggest_rules(texts, top=1000, min_share=0, left=left, right=right)
    wanted = {}
    for context, fills in naive(texts, left, right).items():
        frequent = {text: len(rows) for text, rows in fills.items() if len(rows) >= 2}
        if len(frequent) >= 2:
            wanted[context] = frequent
    got = {each.context: {a.text: a.answers for a in each.alternatives} for each in found}
    assert got == wanted
    for each in found:
        counts = [a.answers for a in each.alternatives]
        assert counts == sorted(counts, reverse=True)
        assert all(a.text in a.example for a in each.alternatives)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_the_same_answers_give_the_same() -> None:
    assert suggest_rules(CLOCK) == suggest_rules(pl.Series(CLOCK))
    assert suggest_rules(CLOCK, top=0) == []
    counted = [each.alternatives[0].answers for each in suggest_rules(CLOCK * 100, sample=170)]
    assert counted
    assert max(counted) <= 170


def test_what_is_rare_is_not_suggested() -> None:
    rare = ["水は1度です。"] * 3 + ["水は2度です。"] * 3 + ["無関係です。"] * 994
    assert suggest_rules(rare, min_share=0.01) == []
    assert len(suggest_rules(rare, min_share=0.005)) == 1


@pytest.mark.parametrize(
    "settings", [{"top": -1}, {"left": 0}, {"right": 0}, {"sample": 0}, {"min_share": 1.5}]
)
def test_settings_that_mean_nothing(settings: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match="must"):
        suggest_rules(CLOCK, **settings)


def test_the_file_is_all_comments_until_a_person_chooses(tmp_path: Path) -> None:
    texts = [f'改\n行"引用"\\\x7f（{fill}）です。' for fill in (1, 1, 1, 2, 2)]
    suggestions = {"Q01": suggest_rules(CLOCK), "質問 2": suggest_rules(texts)}
    path = tmp_path / "rules.toml"
    write_suggestions(path, suggestions)
    text = path.read_text(encoding="utf-8")
    assert text == suggestions_toml(suggestions)
    assert tomllib.loads(text) == {}
    assert '"22"' in text
    assert "12 (70.6%)" in text

    path.write_text(re.sub(r"^#(?! )", "", text, flags=re.MULTILINE), encoding="utf-8")
    rules = read_answer_rules(path)
    assert list(rules) == list(suggestions)
    assert rules["Q01"].apply(CLOCK).tolist().count(0) == 4
    assert rules["質問 2"].apply(texts).tolist() == [-1, -1, -1, 0, 0]


def test_a_suggestion_at_the_edges_is_anchored() -> None:
    fills = (Alternative("1", 3, 0.6, "1"), Alternative("2", 2, 0.4, "2"))
    assert Suggestion(("", ""), fills, 1.0).forbid == "^(?:2)$"
