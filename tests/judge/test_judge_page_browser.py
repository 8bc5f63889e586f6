"""The page of verdicts in a real browser: filters, order, search, links, hostile texts."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from browser import Locator, NewPage, Page, expect, field, settled
from pfgen_rs.judge import pages
from pfgen_rs.judge.pages import index_payload, verdict_view, write_verdict_page
from site_samples import HOSTILE
from verdict_pages import (
    made_verdict_pairs,
    probabilities_of,
    write_hostile_verdicts,
    write_human_verdicts,
    write_sampled_folder,
    write_verdict_folder,
)

COUNT = 100
PAIRS = made_verdict_pairs(COUNT)
NARROW = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page as a folder, of two judges and three raters, and the index that it has."""
    folder = tmp_path_factory.mktemp("verdicts")
    write_verdict_folder(folder / "one", PAIRS)
    write_verdict_folder(folder / "two", PAIRS[10:], model="other", shift=3)
    humans = write_human_verdicts(folder / "humans.jsonl", PAIRS)
    write_verdict_page([folder / "one", folder / "two"], folder / "page", humans=humans)
    return folder


@pytest.fixture(scope="module")
def index(made: Path) -> dict[str, Any]:
    return index_payload(verdict_view([made / "one", made / "two"], made / "humans.jsonl"), [0])


def opened(page: Page, made: Path, address: str = "") -> Page:
    page.goto(f"{(made / 'page' / 'index.html').as_uri()}{address}")
    expect(page.locator("#list .pair").first).to_be_visible()
    return page


def shown(page: Page) -> list[str]:
    """The ids of the pairs on this page of the list."""
    found: list[str] = page.locator("#list .pair h3 a").all_inner_texts()
    return found


def expect_pairs(page: Page, rows: list[int]) -> None:
    """The list has these pairs, in this order."""
    wanted = [PAIRS[row].id for row in rows[:20]]
    assert settled(page, lambda: shown(page), wanted) == wanted
    told = f"{len(rows)} of {COUNT} pairs" if len(rows) < COUNT else f"{COUNT} pairs"
    expect(page.locator("#found")).to_have_text(told)


Predicate = Callable[[dict[str, Any], dict[str, Any], int], bool]


def is_unequal(judge: dict[str, Any], row: int) -> bool:
    both = judge["v1"][row] + judge["v2"][row]
    return both[0] != both[1] and set(both) <= set("ABC")


SHOWN: dict[str, Predicate] = {
    "unequal": lambda _, judge, row: is_unequal(judge, row),
    "flipped": lambda _, judge, row: (
        is_unequal(judge, row) and "C" not in judge["v1"][row] + judge["v2"][row]
    ),
    "no_decision": lambda _, judge, row: judge["probability"][row] == "-",
    "invalid": lambda _, judge, row: "-" in judge["v1"][row] + judge["v2"][row],
    "against": lambda index, judge, row: (
        index["majority"][row] != "-"
        and judge["probability"][row] not in (". " + index["majority"][row])
    ),
    "with": lambda index, judge, row: index["majority"][row] == judge["probability"][row] != "-",
    "split": lambda _, __, row: row % 7 == 2,
    "judges_differ": lambda index, _, row: (
        len({each["probability"][row] for each in index["judges"]} - {*". "}) > 1
    ),
    "people_differ": lambda index, _, row: len({x[row] for x in index["letters"]} - {"-"}) > 1,
}


def kind(page: Page, name: str) -> Locator:
    """The box of a kind of pairs."""
    return page.locator(f"[name=show][value={name}]")


@pytest.mark.parametrize("judge", [0, 1])
def test_what_to_show(page: Page, made: Path, index: dict[str, Any], judge: int) -> None:
    opened(page, made)
    field(page, "Judge").select_option(str(judge))
    expect_pairs(page, list(range(COUNT)))
    for name, is_wanted in SHOWN.items():
        expect(kind(page, name).locator("xpath=..")).not_to_have_text(re.compile(r"\b0$"))
        kind(page, name).check()
        rows = [row for row in range(COUNT) if is_wanted(index, index["judges"][judge], row)]
        assert 0 < len(rows) < COUNT
        expect_pairs(page, rows)
        expect(kind(page, name).locator("xpath=..")).to_contain_text(f" {len(rows)}")
        kind(page, name).uncheck()


def test_rule_task_models_and_order(page: Page, made: Path, index: dict[str, Any]) -> None:
    opened(page, made)
    kind(page, "no_decision").check()
    own = index["judges"][0]
    seen = [not {*own["v1"][row] + own["v2"][row]} <= {*". "} for row in range(COUNT)]
    for rule in ("strict", "tie", "first", "probability"):
        field(page, "Decided by").select_option(rule)
        expect_pairs(page, [row for row in range(COUNT) if seen[row] and own[rule][row] in "-. "])
    page.get_by_role("button", name="Reset").click()
    field(page, "Task").select_option(label="校正")
    wanted = [row for row in range(COUNT) if PAIRS[row].task == "校正"]
    expect_pairs(page, wanted)
    field(page, "Models").select_option(label="org/beta – org/gamma")
    both = [row for row in wanted if {*PAIRS[row].models} == {"org/beta", "org/gamma"}]
    assert 0 < len(both) < len(wanted)
    expect_pairs(page, both)
    page.get_by_role("button", name="Reset").click()
    expect_pairs(page, list(range(COUNT)))
    margins = own["margin"]
    known = [row for row in range(COUNT) if margins[row] is not None]
    unknown = [row for row in range(COUNT) if margins[row] is None]
    field(page, "Order").select_option("closest")
    expect_pairs(page, sorted(known, key=lambda row: margins[row]) + unknown)
    field(page, "Order").select_option("clearest")
    expect_pairs(page, sorted(known, key=lambda row: -margins[row]) + unknown)


def test_pages_are_turned_by_keyboard(page: Page, made: Path) -> None:
    opened(page, made)
    following = page.get_by_role("button", name="Next")
    assert page.get_by_role("button", name="Previous").is_disabled()
    for start in (20, 40, 60, 80):
        following.press("Enter")
        wanted = [pair.id for pair in PAIRS[start : start + 20]]
        assert settled(page, lambda: shown(page), wanted) == wanted
    expect(page.locator("#pager")).to_contain_text("Page 5 of 5")
    expect(following).to_be_disabled()
    expect(page.get_by_role("button", name="Previous")).to_be_focused()


def test_the_search(page: Page, made: Path) -> None:
    opened(page, made)
    box, everywhere = page.locator("[name=text]"), page.locator("[name=everywhere]")
    everywhere.uncheck()
    box.fill("質問7 ＧＡＭＭＡ")
    wanted = [
        row
        for row in range(COUNT)
        if "質問7" in PAIRS[row].question and "org/gamma" in PAIRS[row].models
    ]
    expect_pairs(page, wanted)
    box.fill("回答42甲")
    expect(page.locator("#found")).to_have_text(f"0 of {COUNT} pairs")
    expect(page.locator("#list")).to_have_text("No pair matches.")
    everywhere.check()
    expect_pairs(page, [42])
    box.fill("理由93の2")
    expect_pairs(page, [93])
    box.fill("")
    expect_pairs(page, list(range(COUNT)))


def test_a_pair_says_everything(page: Page, made: Path) -> None:
    opened(page, made, "#pair=p011")
    expect(page.locator("#only")).to_contain_text("Only the linked pair is shown.")
    [card] = page.locator("#list .pair").all()
    pair = PAIRS[11]  # A in order 1, B in order 2
    expect(card.locator("h3")).to_contain_text("winner flips")
    assert card.locator(".prompted").inner_text() == pair.question
    assert card.locator(".side .text").all_inner_texts() == list(pair.answers)
    heads = [head.split() for head in card.locator(".side h4").all_inner_texts()]
    a, b = (f"{len(text)} characters".split() for text in pair.answers)
    assert heads == [
        ["Answer", "A", "org/gamma", *a],
        ["Answer", "B", "org/beta", *["judge's", "choice", "raters'", "majority"], *b],
    ]
    first, second = probabilities_of("A", 12), probabilities_of("A", 13)
    mean = {
        "A": (first["A"] + second["B"]) / 2,
        "B": (first["B"] + second["A"]) / 2,
        "C": (first["C"] + second["C"]) / 2,
    }
    values = card.locator(".probabilities .values").all_inner_texts()
    for text, p in zip(
        values, (first, {**second, "A": second["B"], "B": second["A"]}, mean), strict=False
    ):
        assert text == " · ".join(f"{letter} {p[letter]:.4f}" for letter in "ACB")
    rects = card.locator(".bar3").first.locator("rect").all()
    assert [int(rect.get_attribute("width") or 0) for rect in rects] == [
        round(first[letter] * 10_000) for letter in "ACB"
    ]
    facts = card.locator(".facts").all_inner_texts()
    assert facts[0].split("\n") == [
        "Decisions:",
        "Probability B",
        "Strict Undecided",
        "Tie C",
        "First A",
    ]
    assert "rater 0 B" in facts[1]
    assert "majority B" in facts[1]
    assert "other · reason C" in facts[2]
    second_order = card.locator(".order").nth(1)  # unfolded, since it is the only pair
    expect(second_order).to_contain_text("“A” is the answer of org/beta and “B” that of org/gamma")
    shown_as = second_order.locator("h5").all_inner_texts()
    assert shown_as[:2] == ["Shown as “A”: answer B org/beta", "Shown as “B”: answer A org/gamma"]
    texts = second_order.locator(".text").all_inner_texts()
    assert texts[:3] == [pair.answers[1], pair.answers[0], "理由11の2\nA"]
    assert shown_as[2:] == ["judge · reason B", "other · reason C"]
    for summary, folded in {"Criteria": pair.criteria, "Reference answer": pair.reference}.items():
        card.get_by_text(summary).click()
        assert folded is not None
        expect(card).to_contain_text(folded)
    page.get_by_role("button", name="Show all").click()
    expect_pairs(page, list(range(COUNT)))


def test_links_to_invalid_verdicts_and_to_no_pair(page: Page, made: Path) -> None:
    opened(page, made, "#pair=p005")  # B, then invalid
    card = page.locator("#list .pair")
    expect(card.locator("h3")).to_contain_text("invalid verdict")
    rows = card.locator(".probabilities tbody tr").all_inner_texts()
    assert "no verdict found" in rows[1]
    assert "no probabilities" in rows[1]
    page.goto((made / "page" / "index.html").as_uri() + "#pair=p007")  # A, then none
    expect(card.locator(".probabilities tbody tr").nth(1)).to_contain_text("none")
    opened(page, made, f"#pair={quote('<b>nope</b>')}")
    expect(page.locator("#only")).to_contain_text(
        "The linked pair (<b>nope</b>) is not on this page."
    )
    expect_pairs(page, list(range(COUNT)))


def test_many_chunks_are_searched_and_let_go(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_PAIRS", 1)  # more chunks than are kept in memory
    write_verdict_page([write_verdict_folder(tmp_path / "v", PAIRS)], tmp_path / "page")
    assert len([*(tmp_path / "page" / "verdicts").iterdir()]) == COUNT + 1
    opened(page, tmp_path)
    expect(page.locator("[name=everywhere]")).not_to_be_checked()
    page.locator("[name=everywhere]").check()
    page.locator("[name=text]").fill("乙長長長長長長")
    expect_pairs(page, [row for row in range(COUNT) if row % 7 == 6])
    page.locator("[name=text]").fill("")
    expect_pairs(page, list(range(COUNT)))
    assert page.locator("#list .side .text").first.inner_text() == PAIRS[0].answers[0]


def test_a_missing_file_is_said(new_page: NewPage, tmp_path: Path) -> None:
    folder = write_verdict_folder(tmp_path / "v", made_verdict_pairs(70))
    write_verdict_page([folder], tmp_path / "page")
    (tmp_path / "page" / "verdicts" / "00001.js").unlink()
    page = opened(new_page(expected="ERR_FILE_NOT_FOUND"), tmp_path)
    for number in (2, 3, 4):
        page.get_by_role("button", name="Next").click()
        expect(page.locator("#pager")).to_contain_text(f"Page {number} of 4")
    expect(page.locator("#list [role=alert]")).to_contain_text("The data could not be loaded")
    page.get_by_role("button", name="Previous").click()
    expect(page.locator("#list .pair")).to_have_count(20)


def test_both_languages_and_a_narrow_screen_that_scrolls_down_only(
    new_page: NewPage, made: Path
) -> None:
    for scheme in ("light", "dark"):
        page = opened(new_page(viewport=NARROW, color_scheme=scheme), made)
        for details in page.locator("details").all()[:4]:
            details.locator("summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
    page.get_by_role("button", name="日本語").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("LLM 審査モデルの判定")
    expect(page.locator("#found")).to_have_text(f"{COUNT} ペア")
    text = page.locator("main").inner_text()
    names = ("Judge", "Verdict", "Order", "Probab", "Answer", "Decision", "raters", "pairs")
    assert [name for name in names if name in text] == []


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    verdicts, humans = write_hostile_verdicts(folder)
    write_verdict_page([verdicts], folder / "page.html", humans=humans)
    return folder / "page.html"


def boxed(text: str) -> str:
    """What a page shows of a text: lines and tabs as they are, other controls as their codes."""
    return re.sub(
        "[\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f\\xad\\u200f\\u2028\\u2029\\u202e\\u2066\\ufeff]",
        lambda found: f"U+{ord(found[0]):04X}",
        text,
    )


def test_hostile_texts_are_shown_and_do_nothing(page: Page, hostile: Path) -> None:
    page.goto(hostile.as_uri())
    expect(page.locator("#list .pair")).to_have_count(len(HOSTILE))
    for card in page.locator("#list .pair").all():
        for summary in card.locator("summary").all():
            summary.click()
    for i, text in enumerate(HOSTILE[:-1]):
        card = page.locator("#list .pair").nth(i)
        answers = card.locator(".side .text").evaluate_all("all => all.map(p => p.textContent)")
        assert answers == [boxed(text), boxed(f"{text}!")]
        if i != 8:  # a pair without verdicts
            outputs = card.locator(".said .text").evaluate_all("all => all.map(p => p.textContent)")
            assert boxed(f"{text} [[A]]") in outputs
    assert (
        page.evaluate("document.querySelectorAll('main img, main script, main b.bold').length") == 0
    )
    expect(page.locator(".facts").first).to_be_visible()
    page.locator("[name=text]").fill("<img src=x")
    expect(page.locator("#found")).to_have_text(f"1 of {len(HOSTILE)} pairs")
    for option in page.locator("[name=models] option").all()[1:]:
        page.locator("[name=models]").select_option(value=option.get_attribute("value"))


def test_a_megabyte_is_shown_bit_by_bit(page: Page, tmp_path: Path) -> None:
    text = "あ😀い" * 350_000
    pairs = [replace(PAIRS[0], answers=(text, "x"))]
    write_verdict_page([write_verdict_folder(tmp_path / "v", pairs)], tmp_path / "page.html")
    page.goto((tmp_path / "page.html").as_uri())
    answer = page.locator(".side .text").first
    expect(page.locator(".side h4 small").first).to_have_text("1,050,000 characters")
    for start in (3_000, 103_000, 203_000):
        expect(answer.get_by_role("button")).to_be_visible()
        found = answer.evaluate(
            "p => p.firstChild.textContent + [...p.childNodes].slice(1, -1).map(n => n.textContent).join('')"
        )
        assert text.startswith(found)
        units = len(found.encode("utf-16-le")) // 2
        assert start <= units <= start + 5
        answer.get_by_role("button").press("Enter")
        expect(answer.get_by_role("button")).to_be_focused()


def test_samples_stand_with_their_letters(page: Page, tmp_path: Path) -> None:
    folder = write_sampled_folder(tmp_path / "v", PAIRS[:3])
    write_verdict_page([folder], tmp_path / "page.html")
    page.goto((tmp_path / "page.html").as_uri() + "#pair=p001")
    card = page.locator("#list .pair")
    expect(card.locator(".probabilities tbody tr").nth(1)).to_contain_text(
        "3 samples: A × 1 B × 1 invalid × 1"
    )
    second = card.locator(".order").nth(1)
    second.get_by_text("2 more outputs").click()
    found = second.locator(".sample").all_inner_texts()
    assert [" ".join(each.split()) for each in found] == [
        "Sample 1: A p001 2 0 B",
        "Sample 2: B p001 2 1 A",
        "Sample 3: Invalid: no verdict p001 2 2 -",
    ]
    page.get_by_role("button", name="Show all").click()
    kind(page, "unstable").check()
    assert settled(page, lambda: shown(page), ["p000", "p001"]) == ["p000", "p001"]
    page.locator("[name=text]").fill("p001 2 2")
    assert settled(page, lambda: shown(page), ["p001"]) == ["p001"]


def test_pairs_are_ordered_by_how_much_votes_differ(
    page: Page, made: Path, index: dict[str, Any]
) -> None:
    opened(page, made)
    field(page, "Order").select_option("dissent")

    def differ(row: int) -> float:
        votes = [each[v][row] for each in index["judges"] for v in ("v1", "v2")]
        votes = [vote for vote in votes + [each[row] for each in index["letters"]] if vote in "ABC"]
        pairs = [*combinations(votes, 2)]
        return sum(a != b for a, b in pairs) / len(pairs) if pairs else 0.0

    page.wait_for_timeout(300)
    values = [differ(int(name[1:])) for name in shown(page)]
    assert values == pytest.approx(sorted(map(differ, range(COUNT)), reverse=True)[:20])
