"""Pages of runs and comparisons in a real browser."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browser import NewPage, Page, expect, field, served, settled
from pfgen_rs import Benchmark, Result, load_benchmark, score_file
from pfgen_rs.checkout.leaderboard import run_labels
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.report import site
from pfgen_rs.report.site.folder import slug
from site_samples import HOSTILE, RUNS, hostile_run, made_entries

NARROW = {"width": 360, "height": 740}
ENTRIES = made_entries(4)
LABELS = [run_labels(ENTRIES)[entry.run] for entry in ENTRIES]


@pytest.fixture(scope="module")
def results(mini: Benchmark) -> dict[str, Result]:
    """The bundled runs and one with all of their answers, called as the made entries are."""
    folder = bundled_path() / "runs"
    found = [score_file(folder / name, mini) for name in RUNS]
    frames = [result.frame for result in found]
    questions = [text for frame in frames for text in frame["question"]]
    answers = [text for frame in frames for text in frame["answer"]]
    found.append(mini.evaluate(questions, answers))
    return {entry.run: result for entry, result in zip(ENTRIES, found, strict=True)}


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, mini: Benchmark, results: dict[str, Result]
) -> Path:
    """A site of the bundled benchmark with four runs."""
    folder = tmp_path_factory.mktemp("site")
    site.build(folder, mini, ENTRIES, results)
    return folder


def run_page(folder: Path, number: int) -> str:
    return (folder / "runs" / slug(ENTRIES[number].run) / "index.html").as_uri()


def opened(page: Page, folder: Path, number: int, question: int = 1) -> Page:
    """A run's page with the answers to a question shown."""
    page.goto(f"{run_page(folder, number)}#Q{question + 1:02}")
    expect(page.locator("#list .answer").first).to_be_visible()
    return page


def texts(page: Page) -> list[str]:
    """The shown answers, without the marks in them."""
    found: list[str] = page.locator("#list .answer .shaded").evaluate_all(
        "all => all.map(p => [...p.querySelectorAll('[data-i]')].map(s => s.textContent).join(''))"
    )
    return found


def expect_texts(page: Page, wanted: list[str]) -> None:
    """The shown answers are these, once they have been unpacked."""
    assert settled(page, lambda: texts(page), wanted) == wanted


def by_rank(result: Result, question: str) -> list[str]:
    frame = result.frame.filter(question_id=question)
    return frame.sort("average", descending=True, maintain_order=True)["answer"].to_list()


def test_the_table_of_models_leads_to_a_run(page: Page, folder: Path) -> None:
    page.goto((folder / "models" / "index.html").as_uri())
    page.get_by_role("link", name=ENTRIES[1].model).first.click()
    page.get_by_role("link", name=ENTRIES[1].run).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("mini/careless")
    expect(page.locator("#list .answer")).to_have_count(5)


def test_samples_come_first(page: Page, folder: Path, results: dict[str, Result]) -> None:
    opened(page, folder, 3)
    ranked = by_rank(results[ENTRIES[3].run], "Q02")
    assert len(ranked) == 30
    expect_texts(page, [ranked[round(x * 29)] for x in (0, 0.25, 0.5, 0.75, 1)])
    field(page, "Show").select_option("all")
    expect(page.locator("#list .answer")).to_have_count(20)
    expect_texts(page, ranked[:20])
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#list .answer")).to_have_count(10)
    expect_texts(page, ranked[20:])
    expect(page.locator("#pager")).to_contain_text("Page 2 of 2")
    assert page.get_by_role("button", name="Next").is_disabled()
    field(page, "Order").select_option("worst")
    expect_texts(page, ranked[::-1][:20])
    field(page, "Order").select_option("longest")
    assert [len(text) for text in texts(page)] == sorted(map(len, ranked), reverse=True)[:20]
    field(page, "Order").select_option("best")
    hits = [text for text in ranked if "光合成" in text]
    assert 0 < len(hits) < len(ranked)
    field(page, "Search answers").fill("光合成")
    expect(page.locator("#found")).to_have_text(f"{len(hits)} of 30 answers")
    expect_texts(page, hits[:20])
    marked = page.locator("#list .answer").first.locator(".hit").all_inner_texts()
    assert "".join(marked) == "光合成" * hits[0].count("光合成")
    field(page, "Search answers").fill("<どこにもない>")
    expect(page.locator("#found")).to_have_text("0 of 30 answers")
    expect_texts(page, [])


def windows(benchmark: Benchmark, question: str, text: str, i: int) -> dict[str, list[int]]:
    """Counts by source of the windows that cover a character, by searching."""
    marked = f"^{text}$"
    places = [j for j in (i - 1, i, i + 1) if 0 <= j < len(text)]
    answers = benchmark[question].answers.values()
    return {
        marked[j : j + 3]: [sum(marked[j : j + 3] in a for a in texts) for texts in answers]
        for j in places
    }


def tip(page: Page) -> dict[str, list[int]]:
    """What the box beside a character says."""
    cells = [
        row.locator("th, td").all_text_contents() for row in page.locator(".tip tbody tr").all()
    ]
    return {name: [int(cell) for cell in more[:-2]] for name, *more in cells}


def expect_tip(page: Page, wanted: dict[str, list[int]]) -> None:
    assert settled(page, lambda: tip(page), wanted) == wanted


def test_counts_are_shown_by_pointer_and_keys(page: Page, folder: Path, mini: Benchmark) -> None:
    opened(page, folder, 2)
    text = texts(page)[0]
    for i in (0, 7, len(text) - 1):
        page.locator("#list .answer").first.locator(f'[data-i="{i}"]').hover()
        expect_tip(page, windows(mini, "Q02", text, i))
    page.keyboard.press("Escape")
    expect(page.locator(".tip")).to_be_hidden()
    slider = page.get_by_role("slider").first
    page.locator("[name=text]").focus()
    last = len(text) - 1
    places = {"Tab": last, "Home": 0, "ArrowRight": 1, "End": last, "ArrowLeft": last - 1}
    for key, place in places.items():
        page.keyboard.press(key)
        expect(slider).to_be_focused()
        found = windows(mini, "Q02", text, place)
        expect_tip(page, found)
        assert slider.input_value() == str(place + 1)
        best = max(found, key=lambda window: sum(found[window]))
        said = f"Character {place + 1}, {text[place]}: {best} occurs in {sum(found[best])} of"
        assert (slider.get_attribute("aria-valuetext") or "").startswith(said)
    page.keyboard.press("Tab")
    expect(page.locator(".tip")).to_be_hidden()


def test_shades_follow_the_published_limits(page: Page, folder: Path, mini: Benchmark) -> None:
    opened(page, folder, 3, question=4)
    total = sum(len(answers) for answers in mini["Q05"].answers.values())
    limits = (0.005, 0.01, 0.025, 0.05)
    seen = set()
    for card, text in zip(page.locator("#list .answer").all(), texts(page), strict=True):
        classes = card.locator("[data-i]").evaluate_all("all => all.map(span => span.classList[0])")
        for i, name in enumerate(classes):
            share = max(sum(counts) for counts in windows(mini, "Q05", text, i).values()) / total
            level = 5 if share > 0.1 else sum(share >= limit for limit in limits)
            assert name == f"l{level}", (text, i)
            seen.add(level)
    assert {0, 5} < seen


LONG = "光" * 119 + "合"


@pytest.fixture(scope="module")
def discounted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose only answer to a question meets its keyword after the discount begins."""
    import small

    benchmark = small.benchmark(
        {"answers": {"A": ["光合"]}, "keywords": [{"t": "合"}, {"t": "<無>", "importance": 0.25}]},
        {"question_id": "Q2", "question": "二？", "answers": {"A": ["光合"]}},
    )
    path = tmp_path_factory.mktemp("one") / "run.html"
    benchmark.evaluate(["Q1", "Q2"], [LONG, "光"]).to_html(path)
    return path


def test_the_discount_tells_its_cost_and_rules(page: Page, discounted: Path) -> None:
    page.goto(discounted.as_uri())
    card = page.locator("#list .answer")
    # At 120 of 150 characters 0.6 is left: of Helpfulness 0.45 (the other rule takes a quarter), of Fluency,
    # which "光合" gives in full, 0.6. Truthfulness has nothing to lose.
    lost = (0.45 + 0.6) * (1 / 0.6 - 1) / 3
    expect(card.locator(".lost")).to_have_text(f"Length discount: −{lost:.4f}")
    chips = card.locator(".rules li").all_inner_texts()
    assert [re.sub(r"\s+", " ", chip) for chip in chips] == [
        "✓ 合 met · at character 120",
        "✗ <無> not met × 0.75",
    ]
    card.get_by_text("Details").click()
    rows = card.locator(".breakdown tbody tr").all_inner_texts()
    assert rows[-1].split("\t")[1:] == ["0.4500", "120", "× 0.60", "−0.3000"]
    assert [path.name for path in discounted.parent.iterdir()] == ["run.html"], "all is in it"
    expect_texts(page, [LONG])
    field(page, "Question").select_option(index=1)
    expect(page.locator("#list .answer .shaded")).to_have_text("光")


def test_tables_lead_to_answers(page: Page, folder: Path, results: dict[str, Result]) -> None:
    page.goto(run_page(folder, 1))
    table = page.locator("table.rows").first
    table.get_by_role("columnheader", name="Score").get_by_role("button").click()
    scores = results[ENTRIES[1].run].by_question.sort(
        "average", descending=True, maintain_order=True
    )
    assert (
        table.locator("tbody td:first-child").all_inner_texts() == scores["question_id"].to_list()
    )
    table.locator("tbody a").first.click()
    best = scores["question"][0]
    expect(page.locator("#choice [name=question] option:checked")).to_contain_text(best)
    expect(page.locator("#choice [name=question]")).to_be_focused()
    ranked = by_rank(results[ENTRIES[1].run], scores["question_id"][0])
    expect_texts(page, [ranked[round(x * 9)] for x in (0, 0.25, 0.5, 0.75, 1)])


@pytest.mark.parametrize("name", ["run", "compare", "index", "benchmark"])
def test_pages_fit_and_have_names(new_page: NewPage, folder: Path, name: str) -> None:
    page = new_page(viewport=NARROW)
    other = "index.html" if name == "index" else f"{name}/index.html"
    page.goto(run_page(folder, 3) if name == "run" else (folder / other).as_uri())
    expect(page.locator(".answer, .leaderboard tr, section").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    nameless = page.locator(
        "button, select, input, a, summary, nav, [role=slider], [role=region]"
    ).evaluate_all(
        """all => all.filter(e => !e.ariaLabel && !e.labels?.length && !e.caption)
           .filter(e => e.matches("select, [role=region]") || !e.textContent.trim())
           .filter(e => !document.getElementById(e.getAttribute("aria-labelledby")?.split(" ")[0]))
           .map(e => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    assert page.locator("thead th:not([scope=col])").count() == 0
    assert name in ("index", "benchmark") or page.locator("svg:not([aria-hidden])").count() == 0
    ids = page.locator("[id]").evaluate_all("all => all.map(e => e.id)")
    assert len(set(ids)) == len(ids)


def compared(page: Page, folder: Path, a: int, b: int) -> Page:
    slugs = [slug(ENTRIES[i].run) for i in (a, b)]
    page.goto(f"{(folder / 'compare' / 'index.html').as_uri()}#{slugs[0]}+{slugs[1]}")
    expect(page.locator("#answers .answer")).to_have_count(2)
    return page


def rows(page: Page) -> dict[str, list[str]]:
    """The table of questions: cells by id, in order."""
    table = page.locator("#pair-result table").nth(1).locator("tbody tr").all()
    cells = [row.locator("td, th").all_inner_texts() for row in table]
    return {first: more for first, *more in cells}


def signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.4f}"


def test_differences_are_sorted(page: Page, folder: Path, results: dict[str, Result]) -> None:
    compared(page, folder, 2, 1)
    means = [
        dict(zip(t["question_id"], t["average"], strict=True))
        for t in (results[ENTRIES[i].run].by_question for i in (2, 1))
    ]
    differences = {key: means[0][key] - means[1][key] for key in means[0]}
    order = sorted(differences, key=lambda key: -abs(differences[key]))
    shown = rows(page)
    assert list(shown) == order
    assert {key: cells[4] for key, cells in shown.items()} == {
        key: signed(differences[key]) for key in order
    }
    assert page.locator(".verdict").inner_text().startswith(f"{LABELS[2]} scores 0.36")
    page.get_by_role("button", name="Swap").click()
    assert {key: cells[4] for key, cells in rows(page).items()} == {
        key: signed(-differences[key]) for key in order
    }
    assert page.locator(".verdict").inner_text().startswith(f"{LABELS[1]} scores 0.36")


SIDE = """all => all.map(card => [...card.querySelectorAll('[data-i]')]
  .map(s => [s.textContent, s.classList.contains('differs')]))"""


def side(page: Page) -> list[list[Any]]:
    expect(page.locator("#answers .answer")).to_have_count(2)
    found: list[list[Any]] = page.locator("#answers .answer").evaluate_all(SIDE)
    return found


def expect_sides(page: Page, wanted: list[str]) -> None:
    """The compared answers are these, once they have been unpacked."""

    def read() -> list[str]:
        return ["".join(c for c, _ in each) for each in side(page)]

    assert settled(page, read, wanted) == wanted


def test_differences_are_marked(page: Page, folder: Path, results: dict[str, Result]) -> None:
    compared(page, folder, 2, 1)
    page.get_by_role("button", name="光合成").click()
    ranked = [by_rank(results[ENTRIES[i].run], "Q02") for i in (2, 1)]
    for which, row in {"0": 0, "2": round(0.5 * 9), "4": 9}.items():
        field(page, "Answers").select_option(which)
        expect(page.locator("#answers .answer").first).to_contain_text(f"Rank {row + 1} of 10")
        expect_sides(page, [each[row] for each in ranked])
        both = side(page)
        common = ["".join(c for c, differs in each if not differs) for each in both]
        assert common[0] == common[1]
    field(page, "Same rank").fill("3")
    expect(page.locator("#answers .answer").first).to_contain_text("Rank 3 of 10")
    expect_sides(page, [each[2] for each in ranked])
    field(page, "Highlight").select_option("shade")
    expect(page.locator("#answers .differing")).to_have_count(0)
    expect(page.locator("#legend li")).to_have_count(8)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both kinds of pages of a run whose every text attacks."""
    folder = tmp_path_factory.mktemp("hostile")
    result = hostile_run(folder)
    result.to_html(folder / "run.html")
    site.write_comparison([result, result], folder / "compare.html")
    return folder


def test_hostile_texts_are_shown_and_do_nothing(page: Page, hostile: Path) -> None:
    page.goto((hostile / "run.html").as_uri())
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE[1])
    field(page, "Show").select_option("all")
    expect(page.locator("#list .answer")).to_have_count(len(HOSTILE) + 1)
    found = page.locator("#list .answer .shaded").all_inner_texts()
    boxed = re.sub("[\\u200f\\u202e\\u2066]", lambda found: f"U+{ord(found[0]):04X}", HOSTILE[5])
    for text in (HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[4], boxed):
        assert text in found
    rest = page.get_by_text("99,000 more characters")
    rest.click()
    expect(page.locator("details[open] .unread")).to_have_text("長" * 99_000)
    field(page, "Search answers").fill("<script>")
    expect(page.locator("#list .answer")).to_have_count(1)
    assert page.evaluate("document.querySelectorAll('img, main script').length") == 0
    expect(page.locator(".rules").first).to_contain_text(HOSTILE[3])


def test_hostile_texts_are_compared_and_do_nothing(page: Page, hostile: Path) -> None:
    page.goto((hostile / "compare.html").as_uri())
    expect(page.locator("#answers .answer")).to_have_count(2)
    expect(page.locator(".verdict")).to_contain_text(HOSTILE[1])
    for rank in range(1, len(HOSTILE) + 2):
        field(page, "Same rank").fill(str(rank))
        expect(page.locator("#answers .answer").first).to_contain_text(f"Rank {rank} of")
        assert [text for each in side(page) for text, differs in each if differs] == []
    assert page.evaluate("document.querySelectorAll('img, main script').length") == 0


def test_a_run_with_missing_questions_has_a_page_too(page: Page, tmp_path: Path) -> None:
    mini = load_benchmark("mini")
    mini.evaluate(["Q02", "Q03"], ["光合成", ""]).to_html(tmp_path / "run.html")
    page.goto((tmp_path / "run.html").as_uri())
    expect(page.locator(".problem").first).to_contain_text("12 questions have no answers")
    expect_texts(page, ["光合成"])
    field(page, "Question").select_option(index=1)
    expect(page.locator("#list .answer")).to_contain_text("(empty answer)")


LINKS = {"#Q12": "Q12", "#q5": "Q05", "#": "Q01", "": "Q01"}
LINKS |= {"#%51%3035": "", "#q50": "", "#%zz<b>": ""}  # Q035
LINKS["#answers"] = "Q01"  # a place on the page


@pytest.mark.parametrize("address", LINKS)
def test_links_to_questions(page: Page, folder: Path, address: str) -> None:
    page.goto(run_page(folder, 3) + address)
    expect(page.locator("#list .answer").first).to_be_visible()
    chosen = page.locator("#choice [name=question] option:checked")
    expect(chosen).to_have_text(re.compile(f"^{LINKS[address] or 'Q01'} "))
    note = page.locator("#unknown")
    assert note.is_visible() == (not LINKS[address])
    if not LINKS[address]:
        expect(note).to_contain_text("There is no question “")
        page.locator("a[href='#Q03']").click()
        expect(chosen).to_have_text(re.compile("^Q03 "))
        expect(note).to_be_hidden()


def test_links_and_going_back(
    page: Page, new_page: NewPage, folder: Path, results: dict[str, Result]
) -> None:
    page.goto("about:blank")
    opened(page, folder, 3, 4)

    def chosen(place: Page) -> list[str]:
        names = ("question", "show", "order", "text")
        return [place.locator(f"#choice [name={name}]").input_value() for name in names]

    steps: list[tuple[Callable[[], object], list[str]]] = [
        (lambda: None, ["4", "samples", "best", ""]),
        (lambda: page.locator("a[href='#Q02']").click(), ["1", "samples", "best", ""]),
        (lambda: field(page, "Show").select_option("all"), ["1", "all", "best", ""]),
        (lambda: field(page, "Order").select_option("longest"), ["1", "all", "longest", ""]),
        (lambda: field(page, "Question").select_option("4"), ["4", "all", "longest", ""]),
    ]
    for act, wanted in steps:
        act()
        assert settled(page, lambda: chosen(page), wanted) == wanted
    page.wait_for_url("**/index.html?show=all&order=longest#Q05")
    longest = sorted(by_rank(results[ENTRIES[3].run], "Q05"), key=len, reverse=True)[:20]
    other = new_page()
    other.goto(page.url)
    for each in (page, other):
        expect_texts(each, longest)
    assert chosen(other) == chosen(page)
    other.goto(f"{run_page(folder, 3)}?show=none&order=#Q05")
    assert chosen(other)[1] == "samples", "what is no choice is passed over"
    page.locator("#choice [name=text]").press_sequentially("水の")
    page.wait_for_url("**text=*")
    for _, wanted in reversed(steps):
        page.go_back()
        assert settled(page, lambda: chosen(page), wanted) == wanted
    expect(page.locator("#list .answer")).to_have_count(5)
    page.go_back()
    assert page.url == "about:blank"


def test_english_is_not_first_japanese(new_page: NewPage, folder: Path, tmp_path: Path) -> None:
    """A page is in Japanese until its shared script has come; without that file or scripts, it is shown."""
    home = run_page(folder, 0)
    shows = "() => document.querySelector('h1').checkVisibility({ visibilityProperty: true })"
    for locale in ("en-GB", "ja-JP"):
        page = new_page(locale=locale)
        page.add_init_script(f"""addEventListener("DOMContentLoaded", () => {{
          window.early = [document.documentElement.classList.contains("ready"), ({shows})()];
        }});""")
        page.goto(home)
        assert page.evaluate(shows)
        is_ready, is_shown = page.evaluate("early")
        assert is_shown == (is_ready or locale == "ja-JP")
    plain = new_page(java_script_enabled=False)
    plain.goto(home)
    expect(plain.get_by_role("heading", level=1)).to_be_visible()
    lone = tmp_path / "runs" / "x" / "index.html"
    lone.parent.mkdir(parents=True)
    content = (folder / "runs" / slug(ENTRIES[0].run) / "index.html").read_bytes()
    lone.write_bytes(content)
    page = new_page(expected="ERR_FILE_NOT_FOUND")
    page.goto(lone.as_uri())
    expect(page.get_by_role("heading", level=1)).to_be_visible()


# Payloads: pages that ask for several at once, and files that are damaged.


def choose(page: Page, form: str, *numbers: int) -> None:
    """Choose questions in a form one after the other, before anything else can happen."""
    page.evaluate(
        """([form, numbers]) => {
          const { question } = document.querySelector(form).elements;
          for (const number of numbers) {
            question.value = number;
            question.dispatchEvent(new Event("change", { bubbles: true }));
          }
        }""",
        [form, numbers],
    )


def finish_loading(page: Page, *numbers: int) -> None:
    """Wait until all that was asked for is there, and what waited for it has run."""
    page.evaluate(
        """async (numbers) => {
          const { answers } = pfgen.data("run");
          const windows = (number) => `windows/q${String(number).padStart(3, "0")}`;
          await Promise.all(numbers.flatMap((n) => [`${answers}#${n}`, windows(n)].map(pfgen.load)));
          await new Promise((done) => setTimeout(done));
        }""",
        numbers,
    )


@pytest.mark.parametrize("numbers", [(2, 2), (2, 3, 2), (2, 3, 4, 5)])
def test_the_last_choice_is_shown(page: Page, folder: Path, numbers: tuple[int, ...]) -> None:
    """What was asked for first does not take away what was asked for last, while both are loading."""
    texts = page.locator("#list .shaded")
    page.goto(f"{run_page(folder, 0)}#Q{numbers[-1] + 1:02}")
    expect(texts).to_have_count(5)
    wanted = texts.all_inner_texts()
    page.goto("about:blank")
    page.goto(run_page(folder, 0))
    expect(texts).to_have_count(5)
    assert texts.all_inner_texts() != wanted
    choose(page, "#choice", *numbers)
    finish_loading(page, *numbers)
    assert texts.all_inner_texts() == wanted
    asked = page.locator("#asked").inner_text()
    chosen = page.locator("#choice [name=question] option:checked").inner_text()
    assert chosen.endswith(asked)


def test_compared_answers_are_shown_while_choices_change(page: Page, folder: Path) -> None:
    page.goto((folder / "compare" / "index.html").as_uri())
    expect(page.locator("#answers .answer")).to_have_count(2)
    choose(page, "#side-choice", 3, 3)
    expect(page.locator("#answers .answer")).to_have_count(2)


@pytest.mark.parametrize("left", [None, 0, 40])
def test_a_damaged_file_is_told(new_page: NewPage, folder: Path, left: int | None) -> None:
    faults = "SyntaxError|Invalid or unexpected token|missing \\)"
    page = new_page(expected=f"{faults}|ERR_FILE_NOT_FOUND|ERR_FAILED")
    damaged = folder / "runs" / slug(ENTRIES[1].run) / "data.js"
    content = damaged.read_bytes()
    damaged.unlink() if left is None else damaged.write_bytes(content[:left])
    try:
        page.goto(f"{run_page(folder, 1)}#Q05")
        expect(page.locator("#list [role=alert]")).to_contain_text("could not be loaded")
    finally:
        damaged.write_bytes(content)
    for number in (3, 4):
        choose(page, "#choice", number)
        expect(page.locator("#list .answer")).to_have_count(5)


def test_answers_are_read_from_servers_too(new_page: NewPage, folder: Path) -> None:
    """The mark of their encoding counts, whatever the server says."""
    with served(folder) as home:
        page = new_page(home=home)
        page.goto(f"{home}runs/{slug(ENTRIES[0].run)}/index.html")
        expect(page.locator("#list .answer")).to_have_count(5)
