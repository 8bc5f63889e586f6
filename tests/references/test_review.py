"""Review files: what a person decides about suggestions becomes rules, and what is wrong with it is named."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import pfgen
from pfgen_rs import BenchmarkError, OutputError
from pfgen_rs.references.evidence import evidence_page
from pfgen_rs.references.mining import Mined
from pfgen_rs.references.ng_rules import AnswerRules, parse_answer_rules, read_answer_rules
from pfgen_rs.references.outlines import Outline
from pfgen_rs.references.places import Place
from pfgen_rs.references.review import (
    Reviewed,
    accepted_rules_toml,
    read_review,
    review_toml,
    rule_pattern,
    write_accepted_rules,
)
from pfgen_rs.references.suggest import suggest_rules

CLOCK = ["1日に22回です。"] * 9 + ["1日に11回です。"] * 3
STRANGE = [f'改\n行"引用"\\\x7f（{fill}）です。<b>\u202e' for fill in (1, 1, 1, 1, 1, 1, 2, 2)]


def suggested() -> dict[str, list]:  # type: ignore[type-arg]
    return {"Q01": suggest_rules(CLOCK), "質問 2": suggest_rules(STRANGE), "Q03": []}


def rule(pattern: str) -> AnswerRules:
    return parse_answer_rules([{"name": "x", "forbid": pattern}], "Q01")


def test_a_review_begins_open_and_makes_no_rules(tmp_path: Path) -> None:
    path = tmp_path / "review.toml"
    path.write_text(review_toml(suggested()), encoding="utf-8")
    reviewed = read_review(path)
    assert reviewed["Q01"] == [Reviewed("number-1", Place("1日に", "回で", starts=True), ("11",))]
    assert [each.decision for found in reviewed.values() for each in found] == ["", ""]
    assert tomllib.loads(accepted_rules_toml(reviewed)) == {}
    content = path.read_text(encoding="utf-8")
    assert '# keep "22": 9 answers (75.0%)\n# forbid "11": 3 answers (25.0%)\n' in content
    assert tomllib.loads(content)["Q01"]["suggestion"][0]["keep"] == ["22"]


def test_what_is_accepted_becomes_rules(tmp_path: Path) -> None:
    text = review_toml(suggested()).replace('decision = ""', 'decision = "accept"')
    text = text.replace('note = ""', 'note = "針は\\"22\\"回重なる"', 1)
    review, rules = tmp_path / "review.toml", tmp_path / "rules.toml"
    review.write_text(text, encoding="utf-8")
    write_accepted_rules(rules, read_review(review))
    found = read_answer_rules(rules)
    assert list(found) == ["Q01", "質問 2"]
    assert found["Q01"].rules[0].reason == '針は"22"回重なる'
    assert found["Q01"].apply(CLOCK).tolist() == [-1] * 9 + [0] * 3
    assert found["質問 2"].apply(STRANGE).tolist() == [-1] * 6 + [0] * 2


def test_what_is_edited_is_what_counts(tmp_path: Path) -> None:
    review = tmp_path / "review.toml"
    review.write_text(
        '[[Q01.suggestion]]\nid = "mine"\nbefore = "に"\nafter = "回"\nforbid = ["22", "(2+2)"]\n'
        'decision = "accept"\n[[Q01.suggestion]]\nid = "no"\nforbid = []\ndecision = "reject"\n',
        encoding="utf-8",
    )
    (first, second) = read_review(review)["Q01"]
    assert first.pattern == r"に(?:22|\(2\+2\))回"
    assert second.decision == "reject"
    assert accepted_rules_toml({"Q01": [first, second]}).count("[[Q01.rule]]") == 1
    assert rule(first.pattern).apply(["に(2+2)回", "に4回"]).tolist() == [0, -1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[[Q01.suggestion]]\nid = "a"\ndecision = "yes"', "Q01: suggestion 'a': invalid decision"),
        ('[[Q01.suggestion]]\nid = "a"\nwhy = "x"', "Q01: suggestion 'a': unknown key 'why'"),
        ("[[Q01.suggestion]]\nforbid = []", "Q01: suggestion: id must be a non-empty string"),
        ('[[Q01.suggestion]]\nid = "a"\nforbid = [1]', "forbid must be a string or a list"),
        ('[[Q01.suggestion]]\nid = "a"\nforbid = [""]', "forbid must name at least one text"),
        ('[[Q01.suggestion]]\nid = "a"\ndecision = "accept"', "forbid must name at least one"),
        ('[[Q01.suggestion]]\nid = "a"\nstarts = 1', "starts must be true or false, not 1"),
        ('[[Q01.suggestion]]\nid = "a"\n' * 2, "Q01: duplicate suggestion 'a'"),
        ('[[Q01.rule]]\nname = "a"', r"Q01: expected only \[\[Q01.suggestion\]\] tables"),
        ("Q01 = 5", r"Q01: expected only"),
        ("[[Q01", "invalid TOML"),
    ],
)
def test_bad_reviews_are_named(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "review.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BenchmarkError, match=said) as caught:
        read_review(path)
    assert caught.value.path == path


def test_rules_of_others_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    reviewed = {"Q01": [Reviewed("a", Place("b", "c"), ("d",), "accept")]}
    write_accepted_rules(path, reviewed)
    write_accepted_rules(path, {})
    assert read_answer_rules(path) == {}
    path.write_text("# mine\n", encoding="utf-8")
    with pytest.raises(OutputError, match="already exists with other rules"):
        write_accepted_rules(path, reviewed)
    assert path.read_text(encoding="utf-8") == "# mine\n"
    with pytest.raises(OutputError):
        write_accepted_rules(tmp_path, reviewed)


@given(st.text(max_size=4), st.text(max_size=4), st.text(min_size=1, max_size=4))
def test_patterns_find_exactly_what_they_forbid(before: str, after: str, text: str) -> None:
    try:
        whole = f"{before}{text}{after}"
        whole.encode()
    except UnicodeEncodeError:
        return
    found = rule(rule_pattern(Place(before, after), [text, "1"]))
    assert found.apply([whole, f"x{whole}y"]).tolist() == [0, 0]
    anchored = rule(rule_pattern(Place(before, after, starts=True, ends=True), [text]))
    assert anchored.apply([whole, f"xx{whole}", f"{whole}yy"]).tolist()[0] == 0
    assert anchored.apply([f"x\U00010000{whole}y"]).tolist() == [-1]


def test_the_page_has_the_evidence_and_nothing_acts() -> None:
    outline = Outline("Q01", "1日に<何回>？", note="22回です。")
    mined = [
        Mined(outline, 12, suggest_rules(CLOCK, models=["m"] * 12, stated=outline.note)),
        Mined(Outline("Q02", "何？"), 8, suggest_rules(STRANGE)),
        Mined(Outline("Q03", "空？"), 0, []),
    ]
    page = evidence_page(mined, "review.toml").decode()
    assert "review.toml" in page
    assert "&lt;何回&gt;" in page
    assert "1日に</bdi><mark><bdi>11</bdi></mark><bdi>回です。" in page
    assert re.search(r"25\.0 %.*?<meter value=\"0\.2500\">.*?>1</td>", page, re.DOTALL)
    assert page.count('<article class="card">') == 2
    assert "^1日に(?:11)回で" in page
    assert "<b>\u202e" not in page
    assert "&lt;b&gt;" in page
    assert "\u202e" not in page
    assert page.count("候補はありません。") >= 1


BUILD = """
candidates = ["candidates.jsonl"]
out = "set"
questions = "questions.toml"
steps = ["rules"]

[rules]
file = "rules.toml"
"""
QUESTIONS = """
[[question]]
question_id = "Q01"
question = "1日に何回？"
note = "1日に22回です。"
"""


def test_suggestions_are_reviewed_and_their_rules_used(tmp_path: Path) -> None:
    rows = [
        {"question": "Q01", "answer": f"{n}、{text}", "model": "m"} for n, text in enumerate(CLOCK)
    ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "candidates.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "questions.toml").write_text(QUESTIONS, encoding="utf-8")
    config, review, page, rules = (
        tmp_path / name for name in ("set.toml", "review.toml", "review.html", "rules.toml")
    )
    config.write_text(BUILD, encoding="utf-8")
    suggest = ("build", "suggest-rules", config)
    done = pfgen(*suggest, "--out", review)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote 1 suggestion to {review}, and the evidence to {page}\n"
    text = review.read_text(encoding="utf-8")
    assert pfgen(*suggest, "--question", "Q01").stdout == text
    assert 'keep = ["22"]\nforbid = ["11"]\ndecision = ""' in text
    assert "stated in the example answer or keywords" in text
    assert page.read_text(encoding="utf-8").count('<article class="card">') == 1
    for there, gone in ((review, page), (page, review)):
        gone.unlink()
        refused = pfgen(*suggest, "--out", review)
        assert (refused.returncode, f"{there}: already exists" in refused.stderr) == (2, True)
        gone.touch()
    wrong = pfgen(*suggest, "--out", page)
    assert (wrong.returncode, "expected a TOML file" in wrong.stderr) == (2, True)

    review.write_text(text, encoding="utf-8")
    made = pfgen("build", "accept-rules", review)
    assert (made.stdout.count("\n"), made.stderr) == (
        1,
        "warning: 1 suggestion without a decision\n",
    )
    review.write_text(text.replace('decision = ""', 'decision = "accept"'), encoding="utf-8")
    made = pfgen("build", "accept-rules", review, "--out", rules)
    assert (made.stdout, made.stderr) == (f"wrote 1 rule to {rules}\n", "")
    built = pfgen("build", config, "--format", "json")
    assert json.loads(built.stdout)[0]["rules"] == 9, built.stderr
