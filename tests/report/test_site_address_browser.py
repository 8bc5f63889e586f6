"""What a page shows stands in its address: a link reproduces the view."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from browser import NewPage, Page, expect, kept, settled
from pfgen_rs import Benchmark, stats
from pfgen_rs.checkout.entries import Entry
from pfgen_rs.report import site
from pfgen_rs.report.site.builder import NAV
from pfgen_rs.report.site.leaderboard import leaderboard_page
from site_samples import made_entries

ENTRIES = made_entries(524)
RANKED = sum(entry.rank is not None for entry in ENTRIES)  # systems are no models
PHONE = {"width": 390, "height": 844}

NAMES = """() => [...document.querySelectorAll(".leaderboard tbody tr")]
  .filter((row) => row.checkVisibility())
  .map((row) => row.querySelector(".model span").textContent)"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
LOOKS = "() => [document.documentElement.lang, getComputedStyle(document.body).colorScheme]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, mini: Benchmark) -> Path:
    """A site of the bundled benchmark and made runs, which can all be chosen."""
    folder = tmp_path_factory.mktemp("site")
    site.build(folder, mini, ENTRIES)
    return with_leaderboard(folder, ENTRIES)


def with_leaderboard(folder: Path, entries: list[Entry]) -> Path:
    """The folder with the leaderboard of these entries, all of which can be chosen."""
    content = leaderboard_page(
        entries,
        nav=NAV,
        run_pages={entry.run: "runs/index.html" for entry in entries},
        comparison="compare/index.html",
    )
    (folder / "index.html").write_bytes(content)
    return folder


def shown(page: Page) -> list[str]:
    """The names of the rows in sight, in their order."""
    found: list[str] = page.evaluate(NAMES)
    return found


def opened(page: Page, folder: Path, address: str = "") -> Page:
    page.goto((folder / "index.html").as_uri() + address)
    return page


def looks(page: Page) -> list[str]:
    """Language and colours of a page."""
    found: list[str] = page.evaluate(LOOKS)
    return found


def test_language_and_colours_are_in_the_address(new_page: NewPage, folder: Path) -> None:
    page = opened(new_page(color_scheme="dark"), folder)
    home = page.url
    dark = page.evaluate(BACKGROUND)
    assert looks(page)[0] == "en"
    assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"
    page.evaluate("window.mark = 1")
    page.get_by_role("button", name="日本語").click()
    page.get_by_role("button", name="ダークモード").click()
    assert page.get_by_role("heading", level=1).inner_text() == "リーダーボード"
    assert page.title() == "リーダーボード · pfgen-bench"
    assert page.locator("#count").inner_text() == f"{RANKED} モデル中 {RANKED} モデル"
    assert (light := page.evaluate(BACKGROUND)) != dark
    assert kept(page, home, looks, ["ja", "light"]) == ["ja", "light"]
    page.emulate_media(color_scheme="light")
    assert page.evaluate(f"[{BACKGROUND}, window.mark]") == [light, 1], (
        "the page was not loaded again"
    )
    expect(page).to_have_url(re.compile(r"index\.html\?lang=ja&theme=light$"))
    link = page.get_by_role("link", name="設問と参照回答")
    link.hover()
    expect(link).to_have_attribute("href", "benchmark/index.html?lang=ja&theme=light")
    link.click()
    page.wait_for_url("**/benchmark/index.html?lang=ja&theme=light")
    other = new_page(color_scheme="dark")
    other.goto(page.url)
    assert looks(other) == looks(page) == ["ja", "light"]
    page.goto(f"{home}?lang=en&theme=dark")
    assert looks(page) == ["en", "dark"]
    page.goto(f"{home}?lang=xx&theme=<b>")
    assert looks(page) == ["ja", "light"], "what is no choice is passed over"


def view(page: Page) -> tuple[object, ...]:
    """Everything that a reader has chosen on a leaderboard."""
    fields = page.locator("#filters :is(input, select)")
    return (
        shown(page),
        fields.evaluate_all("all => all.map(e => e.value)"),
        page.locator("[aria-sort]").evaluate_all("all => all.map(e => [e.innerText, e.ariaSort])"),
        page.locator(".tray li").all_inner_texts(),
        page.locator("#pages").inner_text(),
        page.locator("#count").inner_text(),
        looks(page),
    )


def test_a_link_reproduces_all_that_was_chosen(new_page: NewPage, folder: Path) -> None:
    page = opened(new_page(color_scheme="light"), folder)
    page.get_by_role("searchbox").fill("model")
    expect(page.locator(".leaderboard tr.system")).to_be_hidden()  # its name has no "model"
    page.locator("select[name=engine]").select_option("vllm")
    page.locator("select[name=runs]").select_option("all")
    page.get_by_role("columnheader", name="Length").get_by_role("button").click()
    page.get_by_role("columnheader", name="Length").get_by_role("button").click()
    page.get_by_role("button", name="Next").click()
    for number in (2, 5):
        page.locator(".leaderboard tbody tr:visible input").nth(number).check()
    page.get_by_role("button", name="日本語").click()
    page.get_by_role("button", name="ダークモード").click()
    chosen = [
        e for e in ENTRIES if e.engine == "vllm" and e.model.split("/")[1].startswith("model")
    ]
    in_order = [e.model for e in sorted(chosen, key=lambda e: e.length)]
    assert shown(page) == in_order[50:100]
    expect(page).to_have_url(re.compile(r"sort=length&page=2&chosen=.*&theme=dark"))
    other = new_page(color_scheme="light")
    other.goto(page.url)
    assert view(other) == view(page)
    assert len(other.locator(".tray li").all()) == 2
    opened(page, folder)
    assert "page=" not in page.evaluate("location.search")
    assert len(shown(page)) == 50


def test_back_undoes_sorting_filtering_and_turning_pages(page: Page, folder: Path) -> None:
    """But neither the selection nor the language, which are no steps."""
    page.goto("about:blank")
    opened(page, folder)

    def now() -> tuple[object, ...]:
        sorted_by = page.locator("th[aria-sort]").get_attribute("aria-sort")
        fields = page.locator("#filters :is(input, select)")
        values = fields.evaluate_all("all => all.map(e => e.value)")
        return shown(page), values, sorted_by, page.locator("#pages").inner_text().split()[-3:-2]

    def act(does: Callable[[], object]) -> tuple[object, ...]:
        before = page.url
        does()
        assert settled(page, lambda: page.url != before, wanted=True)
        return now()

    page.get_by_role("button", name="日本語").click()
    heading = page.locator("th:has([data-t=length]) button")
    seen = [
        now(),
        act(heading.click),
        act(heading.click),
        act(lambda: page.locator("select[name=engine]").select_option("vllm")),
        act(page.locator("#pages button").nth(1).click),
    ]
    act(page.locator(".leaderboard tbody tr:visible input").first.check)
    act(lambda: page.get_by_role("searchbox").press_sequentially("model-1", delay=120))
    page.wait_for_timeout(150)  # until all of it is searched for
    seen.append(now())
    act(page.locator("#filters button").click)
    assert len({str(each) for each in seen}) == len(seen)
    for wanted in reversed(seen):
        page.go_back()
        assert settled(page, now, wanted) == wanted
        assert len(page.locator(".tray li").all()) == 1
        assert looks(page)[0] == "ja"
    page.go_back()
    assert page.url == "about:blank"


def test_addresses_that_mean_nothing_and_pages(page: Page, folder: Path) -> None:
    opened(page, folder, "?page=999&sort=model")
    assert page.locator("#pages").inner_text().split()[:5] == ["Previous", "Page", "11", "of", "11"]
    assert len(shown(page)) == 24
    opened(page, folder, "?mode=<b>&runs=none&sort=-nothing&page=-3&chosen=x+y&text=&unknown=%FF")
    assert shown(page) == [entry.model for entry in ENTRIES[:50]]
    page.get_by_role("button", name="Next").press("Enter")
    assert shown(page) == [entry.model for entry in ENTRIES[50:100]]
    assert page.evaluate("document.activeElement.textContent") == "Next"
    page.get_by_role("searchbox").fill("model-400")
    expect(page.locator("#count")).to_have_text(f"Models: 1 of {RANKED}")
    assert page.locator("#pages").is_hidden()
    page.get_by_role("button", name="Reset").click()
    page.get_by_role("button", name="Show all").click()
    assert settled(page, lambda: len(shown(page)), 524) == 524
    page.reload()
    assert settled(page, lambda: len(shown(page)), 524) == 524
    page.get_by_role("button", name="Show by pages").click()
    assert settled(page, lambda: len(shown(page)), 50) == 50


def test_a_click_after_typing_is_not_lost(new_page: NewPage, folder: Path) -> None:
    page = opened(new_page(viewport={"width": 1280, "height": 4000}), folder)  # nothing scrolls
    page.get_by_role("searchbox").press_sequentially("model")
    found = [e.model for e in ENTRIES if "model" in e.model.lower()]
    assert settled(page, lambda: shown(page), found[:50]) == found[:50]
    expect(page).to_have_url(re.compile("text=model"))
    page.get_by_role("button", name="Next").hover()
    page.mouse.down()  # the field loses the focus
    page.mouse.up()
    assert settled(page, lambda: shown(page), found[50:100]) == found[50:100]


INSIDE = """(selector) => {
  const box = document.querySelector(selector).getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight && box.height > 0;
}"""


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 720}])
def test_headings_stay_in_sight(new_page: NewPage, folder: Path, viewport: dict[str, int]) -> None:
    page = opened(new_page(viewport=viewport), folder, "?page=all")
    for number in (0, 1):
        page.locator(".leaderboard tbody input").nth(number).check()
    row = page.locator(".leaderboard tbody tr").nth(298)
    row.evaluate("row => row.scrollIntoView({ block: 'center' })")
    for selector in ("table.leaderboard thead", ".tray", ".tray a"):
        assert settled(page, partial(page.evaluate, INSIDE, selector), wanted=True), selector
    above, box = page.locator(".leaderboard thead").bounding_box(), row.bounding_box()
    assert above is not None
    assert box is not None
    assert above["y"] + above["height"] <= box["y"], "the headings do not hide the row"


def several_runs(folder: Path) -> list[Entry]:
    """Two models with three runs in all; the second run is the worse one of the first model."""
    best, other, worse = made_entries(5)[0], made_entries(5)[1], made_entries(5)[3]
    first = {"model": "acme/under_scored-20240229", "organisation": "acme"}
    return [
        replace(best, **first, mode="qa"),  # type: ignore[arg-type]
        replace(other, model="acme/other", organisation="acme", mode="qa"),
        replace(worse, **first, mode="chat"),  # type: ignore[arg-type]
    ]


def test_each_model_is_shown_with_its_best_run(page: Page, tmp_path: Path) -> None:
    entries = several_runs(tmp_path)
    opened(page, with_leaderboard(tmp_path, entries))
    names = [entry.model for entry in entries]
    assert shown(page) == names[:2]
    assert page.locator("#count").inner_text() == "Models: 2 of 2"
    folded = page.locator(".leaderboard tbody tr").first.locator(".folded")
    assert folded.inner_text() == f"Also chat {entries[2].score:.4f}"
    page.locator("select[name=mode]").select_option("chat")
    assert shown(page) == names[2:], "the best run among those that match"
    page.locator("select[name=mode]").select_option("")
    page.locator("select[name=runs]").select_option("all")
    assert shown(page) == names
    assert page.locator("#count").inner_text() == "Runs: 3 of 3"
    assert page.locator(".folded:visible").count() == 0
    for box in page.locator(".leaderboard tbody input").all():
        box.check()
    chips = [text.removesuffix(" ×") for text in page.locator(".tray li").all_inner_texts()]
    assert chips == ["under_scored · qa", "other", "under_scored · chat"]
    page.locator(".tray li button").first.click()
    assert page.locator(".leaderboard tbody input").first.is_checked() is False


def with_ranks(entries: Sequence[Entry], without: int) -> list[Entry]:
    """The entries with means of questions, from which their ranges follow; one has those of another set."""
    random = np.random.default_rng(5)
    found = []
    for i, entry in enumerate(entries):
        means = (entry.score + 0.3 * random.random(20) - 0.15).round(5).tolist()
        names = [f"{'X' if i == without else 'Q'}{n:02}" for n in range(20)]
        found.append(replace(entry, questions=dict(zip(names, means, strict=True))))
    ranked = [i for i, e in enumerate(found) if e.rank is not None and i != without]
    ranges = stats.rank_ranges([[*found[i].questions.values()] for i in ranked])
    for i, (low, high) in zip(ranked, ranges, strict=True):
        found[i] = replace(found[i], rank_low=low, rank_high=high)
    unknown = dict.fromkeys(("rank_low", "rank_high", "own_rank_low", "own_rank_high"))
    found[without] = replace(found[without], **unknown)  # type: ignore[arg-type]
    return found


RANKS = """() => {
  const texts = (cell) => [...(cell.matches(".ranks") ? cell.querySelectorAll("span, small") : [cell])]
    .map((each) => each.textContent.trim()).filter(Boolean);
  return [...document.querySelectorAll(".leaderboard tbody tr:not([hidden])")]
    .map((row) => [...row.querySelectorAll(".rank, .ranks")].map(texts));
}"""


def test_ranks_and_their_ranges_are_those_among_what_is_shown(page: Page, tmp_path: Path) -> None:
    entries = with_ranks([*made_entries(40), *several_runs(tmp_path)], 7)
    entries.sort(key=lambda entry: -entry.score)
    opened(page, with_leaderboard(tmp_path, entries))

    def wanted(chosen: Sequence[Entry]) -> list[list[list[str]]]:
        tested = [e for e in chosen if e.rank_low is not None]
        means = [[*e.questions.values()] for e in tested]
        ranges = {
            e.run: ["–".join(dict.fromkeys(map(str, each))) for each in both]
            for e, *both in zip(
                tested, stats.own_rank_ranges(means), stats.rank_ranges(means), strict=True
            )
        }
        ranks = iter(range(1, len(chosen) + 1))
        return [
            [["–"] if e.rank is None else [str(next(ranks))], ranges.get(e.run, [])] for e in chosen
        ]

    best: dict[str, Entry] = {}
    for entry in entries:
        best.setdefault(entry.model, entry)
    assert len(best) < len(entries)
    views = {
        ("runs", ""): [*best.values()],
        ("mode", "qa"): [e for e in entries if e.mode == "qa"],
        ("mode", ""): [*best.values()],
        ("runs", "all"): entries,
        ("engine", "vllm"): [e for e in entries if e.engine == "vllm"],
    }
    for (name, value), chosen in views.items():
        page.locator(f"select[name={name}]").select_option(value)
        expected = wanted(chosen)
        assert settled(page, lambda: page.evaluate(RANKS), expected) == expected
    page.get_by_role("columnheader", name="Rank range").get_by_role("button").click()
    lows = [own[0].split("–")[0] for _, own in page.evaluate(RANKS) if own]
    assert lows == sorted(lows, key=int)
