"""Suggested rules: contradictions are found, counted as a plain search does, and judged with care."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs import SettingsError
from pfgen_rs.references.ng_rules import parse_answer_rules
from pfgen_rs.references.places import Place, agree, fills_in, tells
from pfgen_rs.references.review import rule_pattern
from pfgen_rs.references.suggest import Suggestion, frequent_names, suggest_rules

CLOCK = [
    *(
        f"{start}、長針と短針は1日に{count}回重なります。"
        for start in ("まず", "また", "なお", "ただ")
        for count in (22, 22, 22, 11)
    ),
    "針は1日に24回重なります。",
]


def counts(found: Suggestion) -> dict[str, int]:
    return {each.text: each.answers for each in found.alternatives}


def removed(found: Suggestion, texts: Sequence[str]) -> list[int]:
    """The rows that the suggestion's rule would remove."""
    pattern = rule_pattern(found.place, found.forbidden, words=found.words)
    rules = parse_answer_rules([{"name": "x", "forbid": pattern}], "Q01")
    return [row for row, rule in enumerate(rules.apply(texts).tolist()) if rule == 0]


def places_of(texts: Sequence[str], **settings: Any) -> list[tuple[str, tuple[str, ...]]]:
    found = suggest_rules(texts, **settings)
    return [(f"{each.place.before}…{each.place.after}", each.forbidden) for each in found]


def test_numbers_that_contradict_each_other() -> None:
    (first,) = suggest_rules(CLOCK, models=["a", "b"] * 8 + ["a"])
    assert (first.kind, first.place) == ("number", Place("は1日に", "回重"))
    assert counts(first) == {"22": 12, "11": 4}
    assert first.forbidden == ("11",)
    assert first.score == 17 * (12 / 17) * (4 / 17)
    kept, wrong = first.alternatives
    assert (kept.share, kept.models, kept.forbidden) == (12 / 17, 2, False)
    assert (wrong.share, wrong.models, wrong.forbidden) == (4 / 17, 1, True)
    assert set(wrong.examples) <= {text for text in CLOCK if "11回" in text}
    assert removed(first, CLOCK) == [3, 7, 11, 15]


def test_names_that_contradict_each_other() -> None:
    texts = ["作者はモーツァルトです。"] * 7 + ["作者はショパンです。"] * 2 + ["知りません。"] * 2
    assert places_of(texts) == [("作者は…です", ("ショパン",))]
    towns = ["場所は岐阜県飛騨市です。"] * 7 + ["場所は長野県松本市です。"] * 2
    assert places_of(towns) == [("場所は…です", ("長野県松本市",))]


def test_wordings_are_not_suggested_whatever_most_say() -> None:
    texts = ["列島を東西に分ける。"] * 504 + ["列島を南北に分ける。"] * 20
    assert places_of(texts) == []


def test_near_ties_are_not_suggested() -> None:
    texts = ["全部で7つ。"] * 6 + ["全部で9つ。"] * 3
    assert places_of(texts) == []
    assert places_of([*texts, *texts[:3]]) == [("全部で…つ。", ("9",))]


def test_numbers_come_before_names() -> None:
    names = ["作者はバッハです。"] * 70 + ["作者はショパンです。"] * 20
    numbers = ["全部で7つ。"] * 9 + ["全部で9つ。"] * 2
    assert [each.kind for each in suggest_rules(names + numbers)] == ["number", "name"]


@pytest.mark.parametrize(
    ("kind", "a", "b", "same"),
    [
        ("number", "1,000", "1000", True),
        ("number", "1０", "10", True),
        ("number", "二十二", "22", True),
        ("number", "46億", "4600000000", True),
        ("number", "3万5千", "35000", True),
        ("number", "23.4", "23", True),
        ("number", "3.14", "3.1416", True),
        ("number", "3.14", "3.15", False),
        ("number", "1853", "1854", False),
        ("number", "46", "46億", False),
        ("number", "1.2.3", "1.2", False),
        ("number", "1" * 99, "1" * 98 + "2", False),
        ("name", "コンピュータ", "コンピューター", True),
        ("name", "ニュートン", "アイザック・ニュートン", True),
        ("name", "岐阜県", "岐阜県飛騨市", True),
        ("name", "岐阜県", "長野県", False),
        ("name", "New York", "NEW-YORK", True),
    ],
)
def test_spellings_of_the_same_do_not_contradict(kind: Any, a: str, b: str, same: bool) -> None:
    assert agree(kind, a, b) == agree(kind, b, a) == same


@given(st.text(alphabet="0123.,億万千十二〇", max_size=12), st.text(max_size=5))
def test_whatever_is_compared_has_an_answer(a: str, b: str) -> None:
    for text in (a, b):
        assert agree("number", text, text)
        assert agree("name", text, text)
    assert agree("number", a, b) == agree("number", b, a)


def test_what_agrees_is_kept() -> None:
    texts = ["傾きは約23.4度だ。"] * 8 + ["傾きは約23度だ。"] * 2 + ["傾きは約30.1度だ。"] * 2
    (found,) = suggest_rules(texts)
    assert found.forbidden == ("30.1",)
    assert counts(found) == {"23.4": 8, "23": 2, "30.1": 2}


def test_what_is_stated_is_kept_however_few_have_it() -> None:
    texts = ["1日に11回です。"] * 8 + ["1日に22回です。"] * 6 + ["1日に24回です。"] * 3
    stated = "24-2=22回なので、1日に、約22回です。24回ではない。"
    (found,) = suggest_rules(texts, stated=stated)
    assert found.forbidden == ("11", "24")
    assert [each.stated for each in found.alternatives] == [False, True, True]
    assert places_of(texts) == []
    assert places_of(texts, stated="22回です") == []  # stated of something else


def test_what_is_stated_is_not_forbidden_whatever_most_have() -> None:
    texts = ["1日に11回です。"] * 12 + ["1日に22回です。"] * 3 + ["1日に24回です。"] * 2
    for stated in ("1日に22回です。", "全部で22回です。"):
        assert places_of(texts, stated=stated) == [("1日に…回で", ("24",))]
    for stated in ("", "122回です。", "22個です。"):
        assert places_of(texts, stated=stated) == [("1日に…回で", ("22", "24"))]


def test_stated_names_are_not_forbidden() -> None:
    texts = ["作者はバッハです。"] * 8 + ["作者はショパンです。"] * 2 + ["作者はラヴェルです。"] * 2
    assert places_of(texts, stated="ショパンなど") == [("作者は…です", ("ラヴェル",))]


def test_names_of_many_models_may_be_synonyms() -> None:
    texts = ["国はアメリカです。"] * 80 + ["国はステイツです。"] * 8 + ["国はギリシャです。"] * 8
    models = [f"m{n % 20}" for n in range(80)] + ["m1", "m2"] * 4 + [f"m{n}" for n in range(8)]
    assert places_of(texts) == [("国は…です", ("ギリシャ", "ステイツ"))]
    assert places_of(texts, models=models) == [("国は…です", ("ステイツ",))]
    assert places_of(texts, models=["m"] * 96) == places_of(texts)


def test_lists_contradict_nothing() -> None:
    texts = ["とてもアカで、とてもアオで、"] * 8 + ["とてもアオで、とてもシロで、"] * 2
    assert suggest_rules(texts, before=3) == []
    assert len(suggest_rules([text[:7] for text in texts], before=3)) == 1
    lists = ["春はナズナとセリ。"] * 8 + ["春はセリとナズナ。"] * 2
    assert suggest_rules(lists) == []


@pytest.mark.parametrize(
    ("kind", "before", "after", "is_telling"),
    [
        ("number", "開国は、", "年に", True),
        ("number", "1日に", "回重", True),
        ("number", "ました。", "年に", False),
        ("number", "ました。約", "年前", False),
        ("number", "その後、", "年に", False),
        ("number", "", "年に", False),
        ("number", "was in ", " and", True),
        ("number", "ended. ", " was", False),
        ("name", "作者は", "です", True),
        ("name", "MRIや", "に使", False),
        ("name", "用いる", "など", False),
        ("name", "capital, ", " is", False),
        ("name", "Rome and ", " are", False),
        ("name", "the sand ", " is", True),
        ("name", "such as ", ", or", False),
    ],
)
def test_places_without_a_topic_and_lists_are_left_out(
    kind: Any, before: str, after: str, is_telling: bool
) -> None:
    assert tells(kind, Place(before, after)) == is_telling


def test_a_minority_is_not_kept() -> None:
    texts = [f"全部で{number}つ。" for number in (7, 7, 7, 7, 1, 2, 3, 4, 5, 6)] * 2
    assert places_of(texts) == []
    assert len(places_of([*texts, *["全部で7つ。"] * 4])) == 1


def test_the_same_contradiction_leaves_room_for_others() -> None:
    many = [f"{c}から{n}回だ。" for c in "あいうえおかき" for n in (7, 7, 7, 9)] * 9
    other = ["色は3色だ。"] * 6 + ["色は4色だ。"] * 2
    found = suggest_rules(many + other, before=3, top=4, min_share=0)
    assert [each.forbidden for each in found] == [("9",)] * 3 + [("4",)]
    assert len(suggest_rules(many + other, before=3, min_share=0)) == 8


def test_ordinary_words_are_left_out() -> None:
    texts = ["優れたシステムです。"] * 8 + ["優れたモデルです。"] * 2
    assert len(suggest_rules(texts)) == 1
    common = frequent_names(texts)
    assert common == {"システム", "モデル"}
    assert suggest_rules(texts, common=common) == []
    assert frequent_names([*texts, *["別"] * 2_000]) == set()


def test_what_removes_the_same_answers_is_suggested_once() -> None:
    texts = ["作者はバッハだ。国名はドイツだ。"] * 40
    texts += ["作者はショパンだ。国名はポーランドだ。"] * 4
    assert len(suggest_rules(texts)) == 1
    texts += ["作者はショパンだ。国名はドイツだ。"] * 5
    new = ["作者はバッハだ。国名はポーランドだ。"]
    assert [len(suggest_rules([*texts, *new * n])) for n in (3, 4)] == [1, 2]


def test_words_are_not_cut() -> None:
    texts = [
        *["In 1914 the capital of France was Paris still."] * 8,
        *["In 1914 the capital of France was Lyon still."] * 2,
        *["In 1915 the capital of France was Paris still."] * 2,
    ]
    number, name = suggest_rules(texts, unit="word")
    assert (number.place, number.forbidden) == (Place("In ", " the", starts=True), ("1915",))
    assert (name.place, name.forbidden) == (Place("of France was ", " still"), ("Lyon",))
    assert removed(name, [*texts[6:10], "the cost of France was Lyon still"]) == [2, 3, 4]
    assert removed(name, ["half of France was Lyon still", "Xof France was Lyon still"]) == [0]
    assert removed(name, ["of France was Lyon stillness"]) == []
    assert all(each.words for each in (number, name))


@given(st.text(alphabet="aB1 '.ア京都", max_size=20), st.integers(1, 3), st.integers(1, 3))
def test_places_consist_of_whole_words(text: str, before: int, after: int) -> None:
    for unit in ("word", "character"):
        for kind, found, place in fills_in(text, unit, before, after):
            whole = f"{place.before}{found}{place.after}"
            assert whole in text
            assert not place.starts or text.startswith(whole)
            assert not place.ends or text.endswith(whole)
            assert kind == "number" or len(found) > 1


def test_capitals_at_the_beginning_of_sentences_are_no_names() -> None:
    def names(text: str) -> list[str]:
        return [fill.text for fill in fills_in(text, "word", 1, 1)]

    assert names("Rain fell. Then Mozart died. The Eiffel Tower stood.") == [
        "Mozart",
        "Eiffel Tower",
    ]
    assert names("an iPhone 15 by Apple") == ["iPhone", "15", "Apple"]


def naive(texts: list[str], left: int, right: int) -> dict[Place, dict[str, set[int]]]:
    """Runs of digits by what stands around them, found character by character."""
    places: dict[Place, dict[str, set[int]]] = {}
    for row, text in enumerate(texts):
        mine: dict[Place, set[str]] = {}
        at = 0
        while at < len(text):
            end = at
            while end < len(text) and text[end].isdigit():
                end += 1
            if end > at:
                context = "".join(text[:at][-left:]), text[end : end + right]
                place = Place(*context, at < left, len(text) - end < right)
                mine.setdefault(place, set()).add(text[at:end])
            at = max(end, at + 1)
        for place, fills in mine.items():
            if len(fills) == 1:
                places.setdefault(place, {}).setdefault(fills.pop(), set()).add(row)
    return places


@given(
    st.lists(st.text(alphabet="12あは。", max_size=8), max_size=30),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_counts_equal_a_plain_search(texts: list[str], left: int, right: int) -> None:
    texts += texts[:5] * 4
    found = suggest_rules(texts, top=1000, min_share=0, before=left, after=right)
    plain = naive(texts, left, right)
    for each in found:
        frequent = {text: len(rows) for text, rows in plain[each.place].items() if len(rows) >= 2}
        assert counts(each) == frequent
        ranked = list(counts(each).values())
        assert ranked == sorted(ranked, reverse=True)
        kept = ranked[0]
        assert all(3 * counts(each)[text] <= kept for text in each.forbidden)
        assert all(
            text in example
            for a in each.alternatives
            for text, example in [(a.text, a.examples[0])]
        )
        rows = {row for text in each.forbidden for row in plain[each.place][text]}
        assert rows <= set(removed(each, texts))
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_the_same_answers_give_the_same() -> None:
    assert suggest_rules(CLOCK) == suggest_rules(pl.Series(CLOCK))
    assert suggest_rules([*CLOCK, None]) == suggest_rules(CLOCK)
    assert suggest_rules(CLOCK, top=0) == suggest_rules([]) == []
    counted = [each.answers for each in suggest_rules(CLOCK * 100, sample=170)]
    assert counted
    assert max(counted) <= 170


def test_what_is_rare_is_not_suggested() -> None:
    rare = ["水は1度です。"] * 6 + ["水は2度です。"] * 2 + ["無関係です。"] * 792
    assert suggest_rules(rare, min_share=0.02) == []
    assert len(suggest_rules(rare, min_share=0.01)) == 1


def test_settings_that_mean_nothing() -> None:
    for settings in ({"top": -1}, {"before": 0}, {"after": 0}, {"sample": 0}, {"min_share": 1.5}):
        with pytest.raises(SettingsError, match="must"):
            suggest_rules(CLOCK, **settings)
    for function in (suggest_rules, frequent_names):
        with pytest.raises(SettingsError, match="cannot be suggested for the unit 'token'"):
            function(CLOCK, unit="token")
