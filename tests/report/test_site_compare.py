"""The comparison page: any runs are chosen, what it says of them, and its address."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from browser import Locator, NewPage, Page, expect, settled
from pfgen_rs import Benchmark, Result, score_file, stats
from pfgen_rs.checkout.leaderboard import run_labels
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.report import site
from pfgen_rs.report.site.folder import slug
from site_samples import made_entries

COUNT = 12
ENTRIES = made_entries(COUNT)
SYSTEM = 2  # of the made entries
PART = 11  # answers some questions only
LABELS = [run_labels(ENTRIES)[entry.run] for entry in ENTRIES]
SLUGS = [slug(entry.run) for entry in ENTRIES]


@pytest.fixture(scope="module")
def results(mini: Benchmark) -> list[Result]:
    """The bundled runs, the best of them a system's, and runs that differ from the second by chance."""
    runs = ("babbling", "careless", "faithful")
    babbling, careless, faithful = (score_file(bundled_path() / "runs" / n, mini) for n in runs)
    chance = np.random.default_rng(4)
    by_question = {
        key[0]: part["answer"].to_list()
        for key, part in careless.frame.partition_by("question_id", as_dict=True).items()
    }
    near = []
    for number in range(3, COUNT):
        chosen = list(by_question)[5 if number == PART else 0 :]
        drawn = {key: chance.choice(by_question[key], 10 + number).tolist() for key in chosen}
        questions = [key for key, answers in drawn.items() for _ in answers]
        near.append(mini.evaluate(questions, [a for answers in drawn.values() for a in answers]))
    system = replace(faithful, config={"mode": "system"})
    return [replace(babbling, config={}), replace(careless, config={}), system, *near]


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, mini: Benchmark, results: list[Result]
) -> Path:
    folder = tmp_path_factory.mktemp("site")
    by_run = {entry.run: result for entry, result in zip(ENTRIES, results, strict=True)}
    site.build(folder, mini, ENTRIES, by_run, answers_per_question=5)
    return folder


def runs(*numbers: int) -> str:
    return "+".join(SLUGS[number] for number in numbers)


def opened(page: Page, folder: Path, address: str = "", answers: int = 2) -> Page:
    page.goto("about:blank")  # so that the page is loaded again
    page.goto(f"{(folder / 'compare' / 'index.html').as_uri()}{address}")
    expect(page.locator("#answers .answer")).to_have_count(answers)
    return page


def cells(page: Page, table: str) -> list[list[str]]:
    """The text of a table's cells by row."""
    found: list[list[str]] = page.locator(f"{table} tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
    return found


def pair(page: Page) -> list[str]:
    return [LABELS[int(page.locator(f"[name={name}]").input_value())] for name in ("a", "b")]


def chips(page: Page) -> list[str]:
    return [text.removesuffix("×").strip() for text in page.locator(".chips li").all_inner_texts()]


def note(page: Page) -> Locator:
    return page.locator("#note")


def compared(results: Sequence[Result], *numbers: int) -> stats.Comparison:
    samples = [results[number].sample(LABELS[number]) for number in numbers]
    return stats.compare(samples, interval="student")


# What is shown


def test_the_two_best_are_chosen_at_first(page: Page, folder: Path, results: list[Result]) -> None:
    opened(page, folder)
    models = [number for number in range(COUNT) if number != SYSTEM]
    best = sorted(models, key=lambda i: -results[i].sample().means().mean())[:2]
    assert chips(page) == pair(page) == [LABELS[i] for i in best]
    expect(note(page)).to_be_hidden()


def test_chosen_runs_have_their_ranks(page: Page, folder: Path, results: list[Result]) -> None:
    chosen = (0, 9, SYSTEM, 1)
    opened(page, folder, f"#runs={runs(*chosen)}", 4)
    found = compared(results, *chosen)
    wanted = []
    for i, number in enumerate(chosen):
        each, rank = found.estimates["average"][i], found.ranks["average"][i]
        score = f"{each.low:.3f}–{each.high:.3f}"
        ranks = "–" if rank is None else "–".join(dict.fromkeys(map(str, rank)))
        wanted.append([ranks, LABELS[number], f"{each.mean:.4f}", score])
    wanted.sort(key=lambda row: row[2], reverse=True)
    shown = [
        [row[0], re.sub(r"^[AB]\s", "", row[1]), *row[2:4]] for row in cells(page, "#chosen-table")
    ]
    assert shown == wanted
    assert page.locator("#chosen-table tr.system").count() == 1
    expect(page.locator("#about-systems")).to_be_visible()
    caption = page.locator("#chosen-table caption")
    expect(caption).to_contain_text("not those of the leaderboard")


def test_all_pairs_have_their_tests(page: Page, folder: Path, results: list[Result]) -> None:
    chosen = (9, 0, 1)
    opened(page, folder, f"#runs={runs(*chosen)}&metric=fluency", 3)
    found = compared(results, *chosen)
    means = {LABELS[n]: found.estimates["fluency"][i].mean for i, n in enumerate(chosen)}
    wanted = {}
    for each in found.pairs:
        if each.metric == "fluency":
            best = each.better_first()
            bounds = f"{best.low:+.4f} … {best.high:+.4f}".replace("-", "−")
            p, holm = (f"{v:.4f}" if v >= 0.0001 else "< 0.0001" for v in (best.p, best.p_holm))
            wanted[best.a, best.b] = [f"{best.difference:+.4f}", bounds, p, holm]
    shown = {}
    for row in cells(page, "#pairs-table"):
        a, b = (re.sub(r"^[AB]\s", "", text) for text in row[:2])
        assert means[a] > means[b]
        shown[a, b] = [row[2], row[3], *(text.removeprefix("≤ ") for text in row[4:6])]
    assert shown == wanted


def test_the_verdict_says_what_correction_leaves(page: Page, folder: Path) -> None:
    verdict = opened(page, folder, f"#runs={runs(0, 1)}").locator(".verdict")
    expect(verdict).to_contain_text("95 % interval")
    expect(verdict).to_contain_text("uncorrected")
    expect(verdict).not_to_contain_text("such pairs")
    opened(page, folder, f"#runs={runs(0, 1, 3)}", 3)
    expect(verdict).to_contain_text(
        "The difference remains significant when corrected for all 3 such pairs"
    )
    opened(page, folder, f"#runs={runs(1, 3, 0)}", 3)
    expect(verdict).to_contain_text("do not differ significantly")
    expect(verdict).to_contain_text("The same holds when corrected for all 3 such pairs")


def test_a_single_page_has_its_settings(page: Page, results: list[Result], tmp_path: Path) -> None:
    """As with many runs: what few permutations resolve is a bound."""
    chosen = [replace(results[i], config={"model": str(i)}) for i in (0, 1, SYSTEM)]
    path = tmp_path / "page.html"
    site.write_comparison(chosen, path, level=0.9, permutations=120, seed=3)
    page.goto(path.as_uri())
    expect(page.locator("#answers .answer")).to_have_count(3)
    samples = [result.sample(str(i)) for i, result in enumerate(chosen)]
    settings = {"level": 0.9, "permutations": 120, "seed": 3}
    found = stats.compare(samples, interval="student", **settings)  # type: ignore[arg-type]
    smallest = min(each.p_holm for each in found.pairs)
    assert smallest == pytest.approx(3 * found.smallest_p)
    expect(page.locator(".verdict")).to_contain_text("90 % interval")
    expect(page.locator("#pairs-table")).to_contain_text(f"≤ {smallest:.4f}")
    expect(page.locator("#pairs-table")).to_contain_text(
        "p-values are from 121 permutations and cannot be below 0.0082"
    )
    assert page.locator("#chosen-table a").count() == 0, "nothing to link to"


def test_a_part_of_the_questions_is_said(page: Page, folder: Path, results: list[Result]) -> None:
    opened(page, folder, f"#runs={runs(1, PART)}")
    left = compared(results, 1, PART).left_out
    said = page.locator("#left-out")
    expect(said).to_contain_text(f"Compared on the {14 - len(left)} questions")
    expect(said).to_contain_text(", ".join(left))
    number = sorted(q.id for q in results[1].benchmark).index(left[0])
    page.locator("[name=question]").select_option(str(number))
    expect(page.locator("#answers .answer").nth(1)).to_contain_text("does not answer")


# Choosing


def combobox(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Add a run")


def test_runs_are_found_chosen_and_removed(page: Page, folder: Path) -> None:
    opened(page, folder, f"#runs={runs(0, 1)}")
    combobox(page).fill("model")
    options = page.get_by_role("option")
    assert len(options.filter(visible=True).all()) >= COUNT - 3
    combobox(page).fill(LABELS[7])
    expect(page.locator("#run-options .active")).to_contain_text(LABELS[7])
    combobox(page).press("Enter")
    expect(page.locator("#answers .answer")).to_have_count(3)
    assert chips(page) == [LABELS[i] for i in (0, 1, 7)]
    expect(combobox(page)).to_have_value("")
    combobox(page).press("ArrowDown")
    combobox(page).press("ArrowDown")
    combobox(page).press("Enter")
    expect(page.locator("#answers .answer")).to_have_count(4)
    combobox(page).fill("nothing of this name")
    expect(page.locator("#run-choice .remark")).to_have_text("No run matches.")
    combobox(page).press("Escape")
    expect(combobox(page)).to_have_value("")
    opened(page, folder, f"#runs={runs(0, 1, 7)}", 3)
    page.get_by_role("button", name=f"Remove {LABELS[1]}").click()
    expect(page.locator("#answers .answer")).to_have_count(2)
    assert pair(page) == [LABELS[i] for i in (0, 7)]
    expect(page.get_by_role("button", name=f"Remove {LABELS[7]}")).to_be_focused()
    page.get_by_role("button", name=f"Remove {LABELS[0]}").click()
    expect(page.locator("#run-choice .remark")).to_contain_text("at least two runs")
    expect(page.locator("#figures")).to_be_hidden()
    assert page.evaluate("location.hash") == f"#runs={runs(7)}"


def test_a_runs_page_leads_to_comparisons_with_it(page: Page, folder: Path) -> None:
    page.goto((folder / "runs" / SLUGS[4] / "index.html").as_uri())
    page.get_by_role("link", name="Compare with other runs").click()
    expect(page.locator("#run-choice .remark")).to_contain_text("at least two runs")
    assert chips(page) == [LABELS[4]]
    combobox(page).fill(LABELS[5])
    combobox(page).press("Enter")
    expect(page.locator("#answers .answer")).to_have_count(2)
    assert pair(page) == [LABELS[4], LABELS[5]]


def test_no_more_than_ten_are_chosen(page: Page, folder: Path) -> None:
    opened(page, folder, f"#runs={runs(*range(9))}", 9)
    combobox(page).fill(LABELS[9])
    combobox(page).press("Enter")
    expect(page.locator("#answers .answer")).to_have_count(10)
    combobox(page).click()
    expect(page.locator("#run-choice .remark")).to_contain_text("Up to 10 runs can be compared")
    expect(page.get_by_role("listbox")).to_be_hidden()
    assert len(cells(page, "#pairs-table")) == 45


def test_a_pair_is_chosen_and_a_run_chosen_twice_makes_way(page: Page, folder: Path) -> None:
    opened(page, folder, f"#runs={runs(0, 1, 3)}", 3)
    page.locator("[name=b]").select_option("0")
    expect(note(page)).to_contain_text("A run cannot be compared with itself, so A is now")
    assert settled(page, lambda: pair(page)[1], wanted=LABELS[0]) != pair(page)[0]
    page.get_by_role("button", name="Swap").click()
    expect(note(page)).to_be_hidden()
    row = page.locator("#pairs-table tbody tr").first
    shown = [re.sub(r"^[AB]\s", "", text) for text in row.locator("td").all_inner_texts()[:2]]
    row.get_by_role("button", name="Details").click()
    assert settled(page, lambda: pair(page), shown) == shown
    expect(page.locator("#pairs-table tr.open")).to_have_count(1)
    headings = page.locator("#answers h3").all_inner_texts()
    assert [text.replace("\n", " ") for text in headings[:2]] == [
        f"{letter} {name}" for letter, name in zip("AB", shown, strict=True)
    ]


# The address


def test_a_link_reproduces_the_view(page: Page, new_page: NewPage, folder: Path) -> None:
    opened(page, folder, f"#runs={runs(0, 1, 3)}", 3)
    page.locator("[name=a]").select_option("3")
    page.locator("[name=metric]").select_option("helpfulness")
    page.locator("[name=question]").select_option("4")
    page.locator("[name=which]").select_option("0")
    page.locator("[name=marks]").select_option("shade")
    page.locator("[name=show]").select_option("pair")
    expect(page.locator("#answers .answer")).to_have_count(2)
    address = page.evaluate("location.href")
    other = new_page()
    other.goto(address)
    expect(other.locator("#answers .answer")).to_have_count(2)
    assert pair(other) == pair(page)
    assert pair(other)[0] == LABELS[3]
    for name in ("metric", "question", "which", "marks", "show"):
        value = page.locator(f"[name={name}]").input_value()
        assert other.locator(f"[name={name}]").input_value() == value
    for table in ("#chosen-table", "#pairs-table", "#pair-result"):
        assert cells(other, table) == cells(page, table)
    assert other.evaluate("location.href") == address
    answers = page.locator("#answers .shaded").all_inner_texts()
    assert other.locator("#answers .shaded").all_inner_texts() == answers


def test_back_returns_to_the_runs_before(page: Page, folder: Path) -> None:
    opened(page, folder, f"#runs={runs(0, 1)}")
    combobox(page).fill(LABELS[7])
    combobox(page).press("Enter")
    expect(page.locator("#answers .answer")).to_have_count(3)
    page.get_by_role("button", name="Swap").click()
    page.go_back()
    assert settled(page, lambda: pair(page), [LABELS[0], LABELS[1]]) == [LABELS[0], LABELS[1]]
    page.go_back()
    expect(page.locator("#answers .answer")).to_have_count(2)
    page.go_forward()
    expect(page.locator("#answers .answer")).to_have_count(3)


def test_the_header_hands_on_the_chosen_runs(page: Page, folder: Path) -> None:
    page.goto(f"{(folder / 'models' / 'index.html').as_uri()}?lang=en&choice=all")
    header = page.get_by_role("navigation")
    header.get_by_role("link", name="Compare").click()
    expect(page).to_have_url(re.compile(r"/compare/index.html\?lang=en$"))
    opened(page, folder, f"?lang=en#runs={runs(0, 3, 4)}", 3)
    page.locator(".chips button").nth(1).click()
    expect(page.locator(".chips li")).to_have_count(2)
    header.get_by_role("link", name="Models").click()
    expect(page.locator(".tray li")).to_have_count(2)
    tray = [text.removesuffix("×").strip() for text in page.locator(".tray li").all_inner_texts()]
    assert tray == [LABELS[0], LABELS[4]]
    page.locator("tr", has_text=LABELS[5]).locator("input").first.check()
    header.get_by_role("link", name="Compare").click()
    expect(page.locator("#answers .answer")).to_have_count(3)
    assert chips(page) == [LABELS[number] for number in (0, 4, 5)]
    expect(page).to_have_url(re.compile(r"\?lang=en#runs="))
    page.go_back()
    page.get_by_role("button", name="Clear selection").click()
    link = header.get_by_role("link", name="Compare")
    expect(link).not_to_have_attribute("href", re.compile("#"))


@pytest.mark.parametrize("at", [0, 2])
def test_answers_that_do_not_load(new_page: NewPage, folder: Path, at: int) -> None:
    chosen = (0, 3, 4)
    page = new_page(expected="ERR_FILE_NOT_FOUND")
    missing = folder / "runs" / SLUGS[chosen[at]] / "data.js"
    away = missing.rename(missing.with_name("away.js"))
    try:
        opened(page, folder, f"#runs={runs(*chosen)}", 3)
        problem = page.locator("#answers .answer [role=alert]")
        expect(problem).to_contain_text(f"The answers of {LABELS[chosen[at]]} could not be loaded.")
        expect(page.locator("#answers .answer .average")).to_have_count(2)
    finally:
        away.rename(missing)
    page.locator("#side-choice [name=marks]").select_option("shade")
    expect(page.locator("#answers .answer .average")).to_have_count(3)


def test_a_link_to_what_is_not_there(page: Page, folder: Path) -> None:
    first = chips(opened(page, folder))
    for address in ("#nope+nope2", "#nope", "#%zz+a", "#<b>+c", "#runs=nope&q=%zz&which=9&rank=x"):
        opened(page, folder, address)
        expect(note(page)).to_contain_text("The link names runs that are not on this page")
        expect(note(page)).to_contain_text(re.compile(r"nope|%zz|<b>"))
        assert chips(page) == first
    opened(page, folder, f"#runs=gone+{runs(4, 4, 5)}&pair={runs(5)}+gone")
    expect(note(page)).to_contain_text("not on this page: gone")
    assert pair(page) == [LABELS[4], LABELS[5]]
    opened(page, folder, f"#runs={runs(*range(COUNT))}", 10)
    expect(note(page)).to_contain_text("The link names 12 runs, of which the first 10 are shown")
    assert chips(page) == LABELS[:10]
