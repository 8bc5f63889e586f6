"""Rules of style and of questions one by one with Python's `re`, and files that cannot be used."""

import itertools
import json
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, strategies as st

from pfgen_rs import BenchmarkError, InputError, SettingsError
from pfgen_rs.references.rules import (
    AnswerRules,
    Rule,
    Style,
    parse_answer_rules,
    read_answer_rules,
    read_style,
)

STYLE = Style.standard()
SAMPLES = [text for rule in STYLE.rules for pair in rule.examples for text in pair if text]
PIECES = sorted({c for text in SAMPLES for c in text} | set(" \n\t,.、。「」『』（）!?:~-/#0１aＡ"))
WORDS = ["です。", "ます。", "でした。", "ください。", "る事が"]
WORDS += ["1,000", "2020/1/2", "はい、", "3ヶ月", "°C"]
PIECE = st.one_of(st.sampled_from(PIECES), st.sampled_from(WORDS), st.sampled_from(SAMPLES))
TEXT = st.one_of(st.lists(PIECE, max_size=12).map("".join), st.text(max_size=20))
GOOD = "山が高く、「雪」（ゆき）が積もります。川は約1,200kmで、例えば鮎が約3か月で育ちます。"


def search(rule: Rule, text: str) -> bool:
    if rule.kind in ("translate", "repeats"):
        among = [rule.pattern] if rule.kind == "repeats" else list(rule.pattern)
        return any(each in text for each in among)
    return re.search(rule.pattern.replace(r"\z", r"\Z"), text) is not None


def corrected(rule: Rule, text: str) -> str:
    if rule.kind == "translate":
        return text.translate(str.maketrans(rule.pattern, rule.replacement))

    def replacement(match: re.Match[str]) -> str:
        filled = re.sub(r"\$\{(\d+)\}", lambda g: match[int(g[1])] or "", rule.replacement)
        return filled.replace("$$", "$")

    return re.sub(rule.pattern.replace(r"\z", r"\Z"), replacement, text)


def rejects(rule: Rule, text: str) -> bool:
    if rule.kind == "repeats":
        sentences = [part for part in re.split(f"(?<={re.escape(rule.pattern)})", text) if part]
        return len(set(sentences)) < len(sentences)
    return rule.rejects and search(rule, text) == (rule.kind == "reject")


def oracle(rules: tuple[Rule, ...], text: str) -> tuple[str, str | None, set[str]]:
    """Text, name of the rejecting rule, names of the corrections that changed it."""
    now = text
    changed: set[str] = set()
    for _ in range(8):
        following, acted = now, set()
        for rule in [rule for rule in rules if not rule.rejects and search(rule, now)]:
            result = corrected(rule, following)
            if result != following:
                acted.add(rule.name)
            following = result
        if following == now:
            return now, next((rule.name for rule in rules if rejects(rule, now)), None), changed
        if len(following.encode()) > 4 * len(text.encode()) + 1024:
            break
        now = following
        changed |= acted
    return text, "unstable", set()


def check(style: Style, texts: list[str]) -> None:
    native = style.apply(texts)
    wanted = [oracle(style.rules, text) for text in texts]
    assert native.answers.to_list() == [text for text, _, _ in wanted]
    names = [style.reasons[code] if code >= 0 else None for code in native.reason.tolist()]
    assert names == [name for _, name, _ in wanted]
    for name, count in native.changed.items():
        assert count == sum(name in changed for _, _, changed in wanted), name


@given(st.lists(TEXT, max_size=5))
def test_native_equals_rules_one_by_one(texts: list[str]) -> None:
    check(STYLE, texts)


def test_samples_equal_rules_one_by_one() -> None:
    check(STYLE, [*SAMPLES, *(a + b for a, b in itertools.pairwise(SAMPLES))])


@given(st.lists(TEXT, min_size=1, max_size=5))
def test_normalising_again_changes_nothing(texts: list[str]) -> None:
    once = STYLE.apply(texts)
    twice = STYLE.apply(once.answers)
    assert twice.answers.equals(once.answers)
    assert twice.reason.tolist() == once.reason.tolist()
    assert not any(twice.changed.values())


def test_what_rules_make_is_good_style() -> None:
    made = [(r.name, text) for r in STYLE.rules for _, text in r.examples if text is not None]
    reasons = STYLE.apply([after for _, after in made]).reason
    assert [made[row] for row in (reasons >= 0).nonzero()[0]] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (GOOD, GOOD),
        ("村 に は １，２３４，５６７ 人 が 住みます．", "村には1,234,567人が住みます。"),
        ("島は,美しい(と言われる)そうです.", "島は、美しい（と言われる）そうです。"),
        ("Ruby on Rails は速いです。", "Ruby on Railsは速いです。"),
        ("2011-03-11は金曜日でした。", "2011年3月11日は金曜日でした。"),
        ("約２０～３０㎞です｡", "約20〜30kmです。"),
    ],
)
def test_corrections_work_together(before: str, after: str) -> None:
    done = STYLE.apply([before])
    assert (done.answers.to_list(), done.reason.tolist()) == ([after], [-1])


def test_rejections_are_named() -> None:
    for rule in STYLE.rules:
        for text, after in rule.examples:
            if after is None:
                code = STYLE.apply([text]).reason[0]
                assert code >= 0, (rule.name, text)
    texts = ["山です。", "山が高い。", "はい、山です。", "山です。山です。"]
    reasons = [STYLE.reasons[code] for code in STYLE.apply(texts).reason if code >= 0]
    assert reasons == ["polite-end", "reply-opening", "repeated-sentence"]


def test_threads_and_forms_change_nothing() -> None:
    texts = [f"{text}{number}" for number in range(5) for text in SAMPLES] * 5
    alone = STYLE.apply(texts, threads=1)
    forms = [pl.Series(texts), pl.Series(texts).to_arrow()]
    for answers, threads in [(texts, 2), (texts, 8), (texts, None), *((form, 1) for form in forms)]:
        other = STYLE.apply(answers, threads=threads)
        assert other.answers.equals(alone.answers)
        assert (other.reason == alone.reason).all()
        assert other.changed == alone.changed


def test_nothing_and_no_text() -> None:
    assert STYLE.apply([]).answers.to_list() == []
    assert STYLE.apply([""]).reason.tolist() == [STYLE.reasons.index("empty")]
    with pytest.raises(InputError, match="row 1"):
        STYLE.apply(["山です。", None])


def rule_file(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


CLOSED = (
    "[[rule]]\nname = 'closed'\nreason = 'Sentences end.'\nrequire = '[。.]$'\nexample = 'a'\n"
    "[[rule]]\nname = 'yen'\nreason = 'Money.'\ncorrect = '¥([0-9]+)'\nby = '${1}円'\n"
    "before = '¥5'\nafter = '5円'\n"
)


def test_rules_are_added_replaced_and_left_out(tmp_path: Path) -> None:
    without = ["polite-end", "polite-sentences"]
    style = Style.standard([rule_file(tmp_path, CLOSED)], without=without)
    names = [rule.name for rule in style.rules]
    assert names[-1] == "yen"
    assert names.index("closed") == [rule.name for rule in STYLE.rules].index("closed")
    assert not {*without} & set(style.reasons)
    done = style.apply(["価格は¥50だ。", "価格は¥50だ"])
    assert done.answers.to_list() == ["価格は50円だ。", "価格は50円だ"]
    assert done.reason.tolist() == [-1, style.reasons.index("closed")]
    assert done.changed["yen"] == 2


def test_the_digest_is_of_what_rules_do(tmp_path: Path) -> None:
    assert STYLE.digest == Style.standard().digest
    assert len(STYLE.digest) == 64
    other = Style.standard([rule_file(tmp_path, CLOSED)])
    reworded = rule_file(tmp_path, CLOSED.replace("Money.", "Currency."))
    assert other.digest == Style.standard([reworded]).digest != STYLE.digest
    assert Style.standard(without=["closed"]).digest != STYLE.digest


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"'closd': expected one of .*closed"):
        Style.standard(without=["closd"])


RULE = "[[rule]]\nname = 'a-b'\nreason = 'Why.'\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["no rules"]),
        ("rules = []", ["unknown key 'rules'", "[[rule]]"]),
        ("rule = 3", ["no rules"]),
        ("[[rule]", ["invalid TOML"]),
        ("[[rule]]\nreason = 'x'", ["rule: name"]),
        (RULE.replace("a-b", "A b") + "reject = 'x'\nexample = 'x'", ["'A b'", "lowercase"]),
        (RULE.replace("a-b", "unstable") + "reject = 'x'\nexample = 'x'", ["'unstable'"]),
        ("[[rule]]\nname = 'a'\nreject = 'x'\nexample = 'x'", ["'a'", "reason"]),
        (RULE, ["'a-b'", "exactly one of correct, translate, reject, require, repeats"]),
        (RULE + "reject = 'x'\nrequire = 'x'", ["'a-b'", "reject and require"]),
        (RULE + "reject = 'x'\nexampel = 'x'", ["'a-b'", "'exampel'", "example"]),
        (RULE + "reject = 'x'", ["'a-b'", "missing key 'example'"]),
        (RULE + "reject = 'x'\nexample = 3", ["'a-b'", "example", "3"]),
        (RULE + "reject = 'x'\nexample = 'y'", ["'a-b'", "'y' is not rejected"]),
        (RULE + "reject = 'x'\nexample = 'x'\nby = 'z'", ["'a-b'", "by cannot be combined"]),
        (RULE + "correct = 'x'\nbefore = 'x'\nafter = 'y'", ["'a-b'", "missing key 'by'"]),
        (RULE + "correct = 'x'\nby = 'y'\nbefore = 'x'", ["'a-b'", "same number of texts"]),
        (RULE + "correct = 'x'\nby = 'y'\nbefore = 'x'\nafter = 'z'", ["'x' becomes 'y', not 'z'"]),
        (
            RULE + "correct = 'x'\nby = 'xx'\nbefore = 'x'\nafter = 'xx'",
            ["'x' becomes 'x', not 'xx'"],
        ),
        (RULE + "correct = '('\nby = ''\nbefore = '('\nafter = ''", ['"a-b"', "unclosed group"]),
        (RULE + "correct = 'x'\nby = '${1}'\nbefore = 'x'\nafter = ''", ['"a-b"', "not a group"]),
        (RULE + "translate = 'xy'\nby = 'z'\nbefore = 'x'\nafter = 'z'", ['"a-b"', "2 characters"]),
        (2 * (RULE + "reject = 'x'\nexample = 'x'\n"), ["duplicate rule 'a-b'"]),
    ],
)
def test_unusable_styles_are_named(text: str, parts: list[str], tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError) as caught:
        read_style(rule_file(tmp_path, text))
    for part in ["own.toml", *parts]:
        assert part in str(caught.value)


# Rules of one question.

KINDS = {"forbid": "reject", "require": "require"}
PATTERN = st.sampled_from(["11", "22回", "^1", "回$", "[ab]+c", "(?:1|2){2}", "日に[0-9]+回", "𠮷"])
ANSWER = st.text(alphabet="12abc回日に𠮷。", max_size=12)


def broken(rules: list[tuple[str, str]], text: str) -> int:
    """The oracle: rules one by one."""
    for number, (kind, pattern) in enumerate(rules):
        if bool(re.search(pattern, text)) == (kind == "forbid"):
            return number
    return -1


@given(
    st.lists(st.tuples(st.sampled_from(list(KINDS)), PATTERN), max_size=5),
    st.lists(ANSWER, max_size=8),
)
def test_the_first_rule_broken(rules: list[tuple[str, str]], texts: list[str]) -> None:
    native = AnswerRules(
        Rule(f"r{number}", KINDS[kind], pattern) for number, (kind, pattern) in enumerate(rules)
    )
    assert native.apply(texts).tolist() == [broken(rules, text) for text in texts]


def test_threads_change_no_rule() -> None:
    texts = [f"1日に{number}回です。" for number in range(3000)]
    rules = AnswerRules([Rule("few", "reject", "に[0-9]回"), Rule("odd", "reject", "[13579]回")])
    alone = rules.apply(texts, threads=1)
    assert alone[:3].tolist() == [0, 0, 0]
    assert alone[10:13].tolist() == [-1, 1, -1]
    for threads in (2, 8, None):
        assert (rules.apply(texts, threads=threads) == alone).all()


def test_a_file_of_rules(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(
        "[[Q01.rule]]\nname = 'wrong'\nreason = 'It is 22.'\nforbid = '11回'\n"
        "[[Q01.rule]]\nname = 'right'\nrequire = '22回'\n"
        "[[Q02.rule]]\nname = 'blue'\nrequire = '青'\n",
        encoding="utf-8",
    )
    rules = read_answer_rules(path)
    assert list(rules) == ["Q01", "Q02"]
    assert [rule.name for rule in rules["Q01"].rules] == ["wrong", "right"]
    assert rules["Q01"].rules[0] == Rule("wrong", "reject", "11回", reason="It is 22.")
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
        ([{"name": "a", "forbid": "x", "my": 1}], ["'a'", "'my'", "name, reason, forbid"]),
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
        (None, "cannot read rules"),
    ],
)
def test_unusable_files_are_named(text: str | None, part: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml" if text is None else rule_file(tmp_path, text)
    with pytest.raises(BenchmarkError, match=r"own\.toml") as caught:
        read_answer_rules(path)
    assert part in str(caught.value)


def test_a_row_that_is_no_text_is_named() -> None:
    with pytest.raises(InputError, match="row 1"):
        AnswerRules([]).apply(["a", None])


# Published data.


@pytest.mark.published
def test_published_answers_have_the_style(published_dir: Path) -> None:
    answers: list[str] = []
    for path in sorted((published_dir / "data").glob("Q*.json")):
        for column in json.loads(path.read_text(encoding="utf-8"))["answers"].values():
            answers += column
    done = STYLE.apply(answers)
    assert done.kept.mean() >= 0.97
    assert (done.answers == pl.Series(answers)).to_numpy().mean() >= 0.97
