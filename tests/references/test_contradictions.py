"""Contradictions between candidates: counted as a plain search does, judged with care, listed for people."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st

from helpers import pfgen
from pfgen_rs.references.contradictions import (
    Contradiction,
    Place,
    agree,
    contradictions,
    fills_in,
    tells,
)

CLOCK = [
    *(
        f"{start}、長針と短針は1日に{count}回重なります。"
        for start in ("まず", "また", "なお", "ただ")
        for count in (22, 22, 22, 11)
    ),
    "針は1日に24回重なります。",
]


def counts(at: Contradiction) -> dict[str, int]:
    return {each.text: each.answers for each in at.alternatives}


def wrong(at: Contradiction) -> tuple[str, ...]:
    return tuple(each.text for each in at.alternatives if each.contradicts)


def places_of(texts: Sequence[str], **settings: Any) -> list[tuple[str, tuple[str, ...]]]:
    listed = contradictions(texts, **settings)
    return [(f"{each.place.before}…{each.place.after}", wrong(each)) for each in listed]


def test_numbers_that_contradict_each_other() -> None:
    (first,) = contradictions(CLOCK, models=["a", "b"] * 8 + ["a"])
    assert (first.kind, first.place) == ("number", Place("は1日に", "回重"))
    assert counts(first) == {"22": 12, "11": 4}
    assert first.score == 17 * (12 / 17) * (4 / 17)
    most, less = first.alternatives
    assert (most.share, most.models, most.contradicts) == (12 / 17, 2, False)
    assert (less.share, less.models, less.contradicts) == (4 / 17, 1, True)
    assert less.example in {text for text in CLOCK if "11回" in text}
    assert first.rows == {3, 7, 11, 15}


def each(form: str, **times: int) -> list[str]:
    """Answers of this form with each of the texts, so often."""
    return [form.format(text) for text, count in times.items() for _ in range(count)]


AUTHORS = each("作者は{}です。", バッハ=8, ショパン=2, ラヴェル=2)
COUNTRIES = each("国は{}です。", アメリカ=80, ステイツ=8, ギリシャ=8)
HOURS = each("1日に{}回です。", **{"11": 12, "22": 3, "24": 2})
MODELS = [f"m{n % 20}" for n in range(80)] + ["m1", "m2"] * 4 + [f"m{n}" for n in range(8)]
MANY = each("全部で{}つ。", **{"7": 8, "1": 2, "2": 2, "3": 2, "4": 2, "5": 2, "6": 2})
RARE = each("水は{}度です。", **{"1": 6, "2": 2}) + ["無関係です。"] * 792
ANGLES = each("傾きは約{}度だ。", **{"23.4": 8, "23": 2, "30.1": 2})
FEW = each("1日に{}回です。", **{"11": 8, "22": 6, "24": 3})
LISTS = ["それではアカで、それではアオで、"] * 8 + ["それではアオで、それではシロで、"] * 2


@pytest.mark.parametrize(
    ("answers", "settings", "expected"),
    [
        (AUTHORS, {}, {"作者は…です": ("ショパン", "ラヴェル")}),
        (
            each("場所は{}です。", 岐阜県飛騨市=7, 長野県松本市=2),
            {},
            {"場所は…です": ("長野県松本市",)},
        ),
        (each("列島を{}に分ける。", 東西=504, 南北=20), {}, {}),  # wordings
        (each("全部で{}つ。", **{"7": 6, "9": 3}), {}, {}),  # a near tie
        (each("全部で{}つ。", **{"7": 9, "9": 3}), {}, {"全部で…つ。": ("9",)}),
        (MANY, {}, {}),  # no majority
        (MANY + each("全部で{}つ。", **{"7": 4}), {}, {"全部で…つ。": tuple("123456")}),
        (HOURS, {}, {"1日に…回で": ("22", "24")}),
        (HOURS, {"stated": "122回です。"}, {"1日に…回で": ("22", "24")}),
        (HOURS, {"stated": "22個です。"}, {"1日に…回で": ("22", "24")}),
        (HOURS, {"stated": "1日に22回です。"}, {"1日に…回で": ("24",)}),
        (HOURS, {"stated": "全部で22回です。"}, {"1日に…回で": ("24",)}),
        (ANGLES, {}, {"傾きは約…度だ": ("30.1",)}),  # what agrees is kept
        (FEW, {}, {}),
        (FEW, {"stated": "22回です"}, {}),  # stated of something else
        (FEW, {"stated": "24-2=22回なので、1日に、約22回です。"}, {"1日に…回で": ("11", "24")}),
        (AUTHORS, {"stated": "ショパンなど"}, {"作者は…です": ("ラヴェル",)}),
        (COUNTRIES, {}, {"国は…です": ("ギリシャ", "ステイツ")}),
        (COUNTRIES, {"models": ["m"] * 96}, {"国は…です": ("ギリシャ", "ステイツ")}),
        (COUNTRIES, {"models": MODELS}, {"国は…です": ("ステイツ",)}),  # many models: a synonym
        (LISTS, {}, {}),  # both stand in many answers
        ([text[:8] for text in LISTS], {}, {"それでは…で、": ("アオ",)}),
        (["春はナズナとセリ。"] * 8 + ["春はセリとナズナ。"] * 2, {}, {}),
        (RARE * 2, {}, {"水は…度で": ("2",)}),
        (RARE + ["無関係です。"] * 801, {}, {}),
    ],
)
def test_what_contradicts(
    answers: list[str], settings: dict[str, Any], expected: dict[str, tuple[str, ...]]
) -> None:
    assert dict(places_of(answers, **settings)) == expected


def test_numbers_come_before_names() -> None:
    names = ["作者はバッハです。"] * 70 + ["作者はショパンです。"] * 20
    numbers = ["全部で7つ。"] * 9 + ["全部で9つ。"] * 2
    assert [each.kind for each in contradictions(names + numbers)] == ["number", "name"]


@pytest.mark.parametrize(
    ("kind", "same", "spellings"),
    [
        ("number", True, "1,000=1000、1０=10、二十二=22、46億=4600000000、3万5千=35000"),
        ("number", True, "23.4=23、3.14=3.1416"),
        ("number", False, f"3.14=3.15、1853=1854、46=46億、1.2.3=1.2、{'1' * 99}={'1' * 98}2"),
        ("name", True, "コンピュータ=コンピューター、ニュートン=アイザック・ニュートン"),
        ("name", True, "岐阜県=岐阜県飛騨市、New York=NEW-YORK"),
        ("name", False, "岐阜県=長野県"),
    ],
)
def test_spellings_of_the_same_do_not_contradict(kind: Any, same: bool, spellings: str) -> None:
    for pair in spellings.split("、"):
        a, b = pair.split("=")
        assert agree(kind, a, b) == agree(kind, b, a) == same, pair


@given(st.text(alphabet="0123.,億万千十二〇", max_size=12), st.text(max_size=5))
def test_whatever_is_compared_has_an_answer(a: str, b: str) -> None:
    for text in (a, b):
        assert agree("number", text, text)
        assert agree("name", text, text)
    assert agree("number", a, b) == agree("number", b, a)


@pytest.mark.parametrize(
    ("kind", "is_telling", "places"),
    [
        ("number", True, ["開国は、＿年に", "1日に＿回重", "was in ＿ and"]),
        ("number", False, ["ました。＿年に", "ました。約＿年前", "その後、＿年に", "＿年に"]),
        ("number", False, ["ended. ＿ was"]),
        ("name", True, ["作者は＿です", "the sand ＿ is"]),
        ("name", False, ["MRIや＿に使", "用いる＿など", "capital, ＿ is", "Rome and ＿ are"]),
        ("name", False, ["such as ＿, or"]),
    ],
)
def test_places_without_a_topic_and_lists_are_left_out(
    kind: Any, is_telling: bool, places: list[str]
) -> None:
    for place in places:
        assert tells(kind, Place(*place.split("＿"))) == is_telling, place


def test_what_removes_the_same_answers_is_suggested_once() -> None:
    texts = ["作者はバッハだ。国名はドイツだ。"] * 40
    texts += ["作者はショパンだ。国名はポーランドだ。"] * 4
    assert len(contradictions(texts)) == 1
    texts += ["作者はショパンだ。国名はドイツだ。"] * 5
    new = ["作者はバッハだ。国名はポーランドだ。"]
    assert [len(contradictions([*texts, *new * n])) for n in (3, 4)] == [1, 2]


@given(st.text(alphabet="aB1 '.ア京都", max_size=20))
def test_places_are_in_the_text(text: str) -> None:
    for place, kind, fill in fills_in(text):
        whole = f"{place.before}{fill}{place.after}"
        assert whole in text
        assert len(place.before) == 4 or text.startswith(whole)
        assert len(place.after) == 2 or text.endswith(whole)
        assert kind == "number" or len(fill) > 1


def naive(texts: list[str]) -> dict[Place, dict[str, set[int]]]:
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
                place = Place("".join(text[:at][-4:]), text[end : end + 2])
                mine.setdefault(place, set()).add(text[at:end])
            at = max(end, at + 1)
        for place, fills in mine.items():
            if len(fills) == 1:
                places.setdefault(place, {}).setdefault(fills.pop(), set()).add(row)
    return places


@given(st.lists(st.text(alphabet="12あは。", max_size=8), max_size=30))
def test_counts_equal_a_plain_search(texts: list[str]) -> None:
    texts += texts[:5] * 4
    found = contradictions(texts, top=1000)
    plain = naive(texts)
    for each in found:
        frequent = {text: len(rows) for text, rows in plain[each.place].items() if len(rows) >= 2}
        assert counts(each) == frequent
        ranked = list(counts(each).values())
        assert ranked == sorted(ranked, reverse=True)
        kept = ranked[0]
        assert all(3 * counts(each)[text] <= kept for text in wrong(each))
        assert all(a.text in a.example for a in each.alternatives)
        rows = {row for text in wrong(each) for row in plain[each.place][text]}
        assert rows == each.rows
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_the_same_answers_give_the_same() -> None:
    assert contradictions(CLOCK) == contradictions(pl.Series(CLOCK))
    assert contradictions([*CLOCK, None]) == contradictions(CLOCK)
    assert contradictions(CLOCK, top=0) == contradictions([]) == []
    counted = [sum(counts(each).values()) for each in contradictions(CLOCK * 6_000)]
    assert counted
    assert max(counted) <= 50_000


CONFIG = """
candidates = ["candidates.jsonl"]
out = "set"
questions = "questions.toml"
"""
QUESTIONS = """
[[question]]
question_id = "Q01"
question = "1日に何回？"
note = "1日に22回です。"
"""


def test_the_command_lists_them_for_review(tmp_path: Path) -> None:
    answers = [f"針は、=1日に{count}回、重なります。" for count in (22, 22, 22, 11)] * 3
    rows = [{"question": "Q01", "answer": answer, "model": "m"} for answer in answers]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "candidates.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "questions.toml").write_text(QUESTIONS, encoding="utf-8")
    config, out = tmp_path / "set.toml", tmp_path / "list.csv"
    config.write_text(CONFIG, encoding="utf-8")
    done = pfgen("build", "suggest-rules", config, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote 1 place to {out}\n"
    assert pfgen("build", "suggest-rules", config).stdout == out.read_text()
    names = ["before", "text", "after", "contradicts", "answers", "share", "models", "stated"]
    assert pl.read_csv(out).select("question_id", *names).rows() == [
        ("Q01", "'=1日に", 22, "回、", False, 9, 0.75, 1, True),
        ("Q01", "'=1日に", 11, "回、", True, 3, 0.25, 1, False),
    ]
    out.unlink()
    config.write_text(f"{CONFIG}rules.file = 'rules.toml'\n", encoding="utf-8")  # not yet written
    assert pfgen("build", "suggest-rules", config, "--out", out).returncode == 0
    built = pfgen("build", config)
    assert (built.returncode, "rules.toml: no such file: write it" in built.stderr) == (2, True)
    config.write_text(f'unit = "token"\nsteps = []\n{CONFIG}', encoding="utf-8")
    refused = pfgen("build", "suggest-rules", config)
    assert (refused.returncode, "there are none for the unit 'token'" in refused.stderr) == (
        2,
        True,
    )
