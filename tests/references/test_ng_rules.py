"""Rules of one question against Python's `re`, and files of them that cannot be used."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs import BenchmarkError, InputError
from pfgen_rs.references.rules import (
    AnswerRule,
    AnswerRules,
    parse_answer_rules,
    read_answer_rules,
)

KIND = st.sampled_from(["forbid", "require"])
PATTERN = st.sampled_from(["11", "22回", "^1", "回$", "[ab]+c", "(?:1|2){2}", "日に[0-9]+回", "𠮷"])
TEXT = st.text(alphabet="12abc回日に𠮷。", max_size=12)


def broken(rules: list[tuple[str, str]], text: str) -> int:
    """The oracle: rules one by one."""
    for number, (kind, pattern) in enumerate(rules):
        if bool(re.search(pattern, text)) == (kind == "forbid"):
            return number
    return -1


@given(st.lists(st.tuples(KIND, PATTERN), max_size=5), st.lists(TEXT, max_size=8))
def test_the_first_rule_broken(rules: list[tuple[str, str]], texts: list[str]) -> None:
    native = AnswerRules(
        AnswerRule(f"r{number}", kind, pattern) for number, (kind, pattern) in enumerate(rules)
    )
    assert native.apply(texts).tolist() == [broken(rules, text) for text in texts]


def test_threads_change_nothing() -> None:
    texts = [f"1日に{number}回です。" for number in range(3000)]
    rules = AnswerRules(
        [AnswerRule("few", "forbid", "に[0-9]回"), AnswerRule("odd", "forbid", "[13579]回")]
    )
    alone = rules.apply(texts, threads=1)
    assert alone[:3].tolist() == [0, 0, 0]
    assert alone[10:13].tolist() == [-1, 1, -1]
    for threads in (2, 8, None):
        assert (rules.apply(texts, threads=threads) == alone).all()


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(
        "[[Q01.rule]]\nname = 'wrong'\nreason = 'It is 22.'\nforbid = '11回'\n"
        "[[Q01.rule]]\nname = 'right'\nrequire = '22回'\n"
        "[[Q02.rule]]\nname = 'blue'\nrequire = '青'\n",
        encoding="utf-8",
    )
    rules = read_answer_rules(path)
    assert list(rules) == ["Q01", "Q02"]
    assert rules["Q01"].names == ("wrong", "right")
    assert rules["Q01"].rules[0] == AnswerRule("wrong", "forbid", "11回", "It is 22.")
    assert rules["Q01"].apply(["22回です。", "11回です。", "知りません。"]).tolist() == [-1, 0, 1]
    assert len({each.digest for each in rules.values()}) == 2


def test_no_rules_keep_everything() -> None:
    assert parse_answer_rules([], "Q01").apply(["", "a"]).tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("tables", "parts"),
    [
        ({}, ["Q07", "list of rules"]),
        (["x"], ["Q07: rule", "table"]),
        ([{"forbid": "a"}], ["Q07: rule", "name"]),
        ([{"name": "a"}], ["Q07: rule 'a'", "exactly one of forbid, require", "none"]),
        ([{"name": "a", "forbid": "x", "require": "y"}], ["Q07: rule 'a'", "forbid and require"]),
        (
            [{"name": "a", "forbid": "x", "forbidden": 1}],
            ["'a'", "'forbidden'", "name, reason, forbid"],
        ),
        ([{"name": "a", "forbid": ""}], ["'a'", "forbid", "non-empty"]),
        ([{"name": "a", "forbid": 3}], ["'a'", "forbid", "3"]),
        ([{"name": "a", "forbid": "("}], ["Q07", '"a"', "unclosed group"]),
        ([{"name": "a", "forbid": r"(x)\1"}], ["Q07", '"a"', "backreferences are not supported"]),
        ([{"name": "a", "forbid": r"\w{500}{500}"}], ["Q07", '"a"', "too large"]),
        ([{"name": "a", "forbid": "x"}] * 2, ["Q07", "duplicate rule 'a'"]),
    ],
)
def test_unusable_rules_are_named(tables: object, parts: list[str]) -> None:
    with pytest.raises(BenchmarkError) as caught:
        parse_answer_rules(tables, "Q07", path="rules.toml")
    for part in ["rules.toml", *parts]:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Q01 = 3", "[[Q01.rule]]"),
        ("[Q01]\nrules = []", "[[Q01.rule]]"),
        ("[[Q01.rule]", "invalid TOML"),
    ],
)
def test_unusable_files_are_named(text: str, part: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BenchmarkError, match=r"rules\.toml") as caught:
        read_answer_rules(path)
    assert part in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"none\.toml: cannot read rules"):
        read_answer_rules(tmp_path / "none.toml")


def test_a_row_that_is_no_text_is_named() -> None:
    with pytest.raises(InputError, match="row 1"):
        AnswerRules([]).apply(["a", None])
