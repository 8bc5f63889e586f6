"""Every kind of page of a whole site in a real browser: fit, themes, languages, links, print, axe."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from boards import made_board, write_board
from browser import NewPage, Page, back, expect, in_both, in_each, overflow, served, settled, where
from site_samples import Elements
from whole_site import KINDS, build_everything, pages

pytestmark = pytest.mark.browser

FILLED = {
    "overview": "#sizes .spot",
    "models": "#drawings .spot",
    "model": "#categories .spot",
    "compare": "#pair-result svg",
    "verdicts": "#list > *",
    "report": "#distributions svg",
    "curve": "#figures svg",
    "run": "#list .answer",
}
"""What scripts make, of the kinds that have that."""
SIZES = {"rules": {"target-size": {"enabled": True}}}  # WCAG 2.2, which axe leaves out by default
AXE = "async (o) => (await axe.run(o)).violations.map((v) => [v.id, v.nodes[0].target.join(' ')])"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of one of each kind of result."""
    return build_everything(tmp_path_factory.mktemp("everything"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with names and answers that attack."""
    return build_everything(tmp_path_factory.mktemp("hostile"), hostile=True)


def visited(page: Page, site: Path) -> Iterator[tuple[str, Page]]:
    """The page at each kind of page, once it is ready."""
    for kind, path in pages(site).items():
        page.goto(path.as_uri())
        page.locator(FILLED.get(kind, "#switches :is(button, select)")).first.wait_for()
        yield kind, page


@pytest.mark.parametrize(
    ("scheme", "width", "locale", "place"),
    [("light", 1280, "ja", "site"), ("dark", 390, "en-GB", "site"), ("dark", 390, "ja", "hostile")],
)
def test_axe_finds_nothing(
    new_page: NewPage, request: Any, scheme: Any, width: int, locale: str, place: str
) -> None:
    package = pytest.importorskip("axe_playwright_python")
    axe = (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    view = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "locale": locale}
    page, found = new_page(bypass_csp=True, **view), {}
    for path in pages(request.getfixturevalue(place)).values():
        page.goto(path.as_uri())
        page.locator("#switches :is(button, select)").first.wait_for()
        page.evaluate(axe)
        found[path] = page.evaluate(AXE, SIZES)
    assert {path: own for path, own in found.items() if own} == {}


@in_both("locale", ["ja", "en-GB"], ["en-GB"])
def test_pages_fit(new_page: NewPage, site: Path, locale: str) -> None:
    found = {}
    for kind, page in visited(new_page(locale=locale), site):
        for width in (2560, 390):
            page.set_viewport_size({"width": width, "height": 900})
            found[kind, width] = overflow(page)
    assert {place: own for place, own in found.items() if own} == {}


def test_links_lead_somewhere_within_the_site(site: Path) -> None:
    """Every target is there and relative; only the paper about the benchmark lies elsewhere.

    No page says where its sources lie.
    """
    assert pages(site).keys() == KINDS.keys()
    broken, away, reached = [], set(), set()
    for path in site.rglob("*.html"):
        elements = Elements(path.read_bytes())
        policy = [own["content"] for own, _ in elements.named("meta") if own.get("http-equiv")]
        assert len(policy) == 1, path
        assert str(policy[0]).startswith("default-src 'none'"), path
        assert str(site.parent).encode() not in path.read_bytes(), path
        assert not re.search(rb"<(dl|ul|tbody)[^>]*>\s*</\1>\s*</section>", path.read_bytes()), path
        for _, attributes, _ in elements.found:
            assert "style" not in attributes, path
            for link in filter(None, (attributes.get("href"), attributes.get("src"))):
                parts = urlsplit(link)
                target = (path.parent / unquote(parts.path)).resolve()
                if parts.scheme:
                    away.add(link.partition(":")[0] if parts.scheme == "data" else link)
                elif parts.path and not (
                    target.is_file() and target.is_relative_to(site.resolve())
                ):
                    broken.append((path, link))
                else:
                    reached.add(target)
    assert broken == []
    assert away <= {"data", "https://arxiv.org/abs/2502.09316"}
    assert reached >= {path.resolve() for path in site.rglob("*.html")}


@in_each
def test_one_navigation_and_settings_go_along(new_page: NewPage, site: Path) -> None:
    page, seen = new_page(locale="en-GB"), set()
    for kind, _ in visited(page, site):
        seen.add(tuple(page.locator("header nav a").all_inner_texts()))
        assert page.locator('header nav a[aria-current="page"]').count() == 1, kind
        assert page.title().endswith("Our board"), kind
    assert len(seen) == 1
    page.locator("#theme").click()
    page.locator("#language").click()
    for name in KINDS:
        if not page.locator(f'header nav a[data-page="{name}"]').count():
            continue
        page.locator(f'header nav a[data-page="{name}"]').click()
        assert where(page).split("?")[0].endswith(KINDS[name])
        state = page.evaluate(
            "[document.documentElement.dataset.theme, document.documentElement.lang]"
        )
        assert state == ["dark", "ja"], name


@in_each
def test_without_scripts_pages_say_what_they_have(new_page: NewPage, site: Path) -> None:
    page = new_page(java_script_enabled=False)
    for kind, path in pages(site).items():
        page.goto(path.as_uri())
        assert page.locator("h1").first.is_visible(), kind
        assert page.locator("header nav a").first.is_visible(), kind
        assert len(page.locator("main").inner_text()) > 40, kind


@pytest.mark.parametrize("kind", ["models", "model"])
def test_print_has_the_tables_and_no_controls(page: Page, site: Path, kind: str) -> None:
    page.goto(pages(site)[kind].as_uri())
    page.locator("#switches button").first.wait_for()
    page.emulate_media(media="print")
    expect(page.locator("main table").first).to_be_visible()
    expect(page.locator("#switches")).to_be_hidden()
    assert page.locator("body").evaluate("(own) => getComputedStyle(own).backgroundColor") in (
        "rgba(0, 0, 0, 0)",
        "rgb(255, 255, 255)",
    )


@in_each
def test_hostile_names_and_answers_act_nowhere(new_page: NewPage, hostile: Path) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    patterns = ("index.html", "*/index.html", "[jt]*/*/index.html", "runs/*/index.html")
    places = [path for pattern in patterns for path in hostile.glob(pattern)]
    for path in [*places, *list(hostile.glob("models/*/index.html"))[:4]]:
        page.goto(path.as_uri())
        page.locator("#switches button").first.wait_for()
        attacks = "script:has-text('alert'):not(body > *), iframe, [onload], [onerror], img[src=x]"
        assert page.locator("main").locator(attacks).count() == 0, path
        assert overflow(page) == 0, path


def test_the_first_view_comes_within_a_second_on_a_slow_line(
    new_page: NewPage, tmp_path: Path
) -> None:
    """1.6 Mbit/s, 150 ms of latency, uncompressed; the table of 528 models."""
    place = write_board(tmp_path, made_board(528))
    with served(tmp_path) as home:
        page = new_page(home=home)
        line = page.context.new_cdp_session(page)
        line.send("Network.enable")
        rates = {"downloadThroughput": 200_000, "uploadThroughput": 94_000}
        line.send("Network.emulateNetworkConditions", {"offline": False, "latency": 150, **rates})
        page.goto(home + place.relative_to(tmp_path).as_posix())
        [first] = page.evaluate(
            "performance.getEntriesByName('first-contentful-paint').map((e) => e.startTime)"
        )
    assert 150 < first < 1000


def test_a_model_without_categories_has_no_drawing_of_them(page: Page, site: Path) -> None:
    for name, count in (("a-7b", 1), ("kaede", 0)):
        page.goto(min(site.glob(f"models/*{name}*/index.html")).as_uri())
        expect(
            page.locator("#categories svg").first if count else page.locator("#facts, h1")
        ).to_be_visible()
        expect(page.locator("#categories")).to_have_count(count)
        expect(page.locator("#standing")).to_have_text(
            re.compile("^Rank 3 of 3 " if count else "^$")
        )


def models(page: Page, site: Path, query: str = "") -> Page:
    page.goto((site / "models" / "index.html").as_uri() + query)
    page.locator("#drawings .spot").first.wait_for()
    return page


def reached(page: Page, address: str) -> bool:
    return bool(re.search(address, where(page)))


KEYS = [
    ("input[name=text]", ["7", "b"], "text=7b"),
    ("select[name=choice]", ["ArrowDown"], "choice=latest"),
    ("details:has(#columns) summary", ["Enter"], ""),
    ("#columns input >> nth=1", ["Space"], "columns="),
    ("details:has(#weights) summary", ["Enter"], ""),
    ("#weights input >> nth=0", ["ArrowRight", "ArrowRight"], "weights="),
    ("th[data-key=score] button", ["Enter"], "sort=%5B%22-?score"),
    ("th[data-key=name] button", ["Shift+Space"], "sort=.*score.*name"),
    ("#column", ["ArrowDown"], ""),
    ("#add", ["Enter"], "filters="),
    ("#drawings select >> nth=0", ["ArrowDown"], "draw="),
    ("tbody .choose input >> nth=0", ["Space"], "chosen="),
    ("#theme", ["Enter"], ""),
    ("#language", ["Enter"], ""),
]


@in_each
def test_the_models_by_keys_alone_and_again_from_the_address(page: Page, site: Path) -> None:
    models(page, site)
    for place, keys, wanted in KEYS:
        page.locator(place).focus()
        for key in keys:
            page.keyboard.press(key)
        assert settled(page, partial(reached, page, wanted), wanted=True), place
    assert page.locator("html").get_attribute("lang") == "ja"
    assert page.locator("html").get_attribute("data-theme") == "dark"

    def state() -> list[object]:
        values = "(all) => all.map((own) => own.type === 'checkbox' ? own.checked : own.value)"
        fields = page.locator("#filters :is(input, select):not(#column), #drawings select")
        sorts = page.locator("thead button").all_inner_texts()
        return [fields.evaluate_all(values), sorts, page.locator("#count").inner_text()]

    before = state()
    page.reload()
    page.locator("#filters:not([hidden])").wait_for()
    assert settled(page, state, before) == before


@in_each
def test_a_brush_filters_the_table_and_chosen_models_are_compared(page: Page, site: Path) -> None:
    rows = models(page, site, "?draw.x=length").locator(".models tbody tr:not(.gap)")
    count = rows.count()
    overlay = page.locator("#drawings .brush .overlay")
    page.locator("#drawings .draw-figure").scroll_into_view_if_needed()

    def stays() -> bool:
        """Whether it is not drawn again: drawings follow once the table has come to an end."""
        drawn: Any = overlay.element_handle()
        page.wait_for_timeout(400)
        return bool(drawn.evaluate("(own) => own.isConnected"))

    assert settled(page, stays, wanted=True)
    box = overlay.bounding_box()
    spots = page.locator("#drawings .spot").evaluate_all("all => all.map(({ spot }) => spot.x)")
    assert box
    assert len(set(spots)) > 1
    page.mouse.move(box["x"] + 1, box["y"] + 1)
    page.mouse.down()
    page.mouse.move(box["x"] + min(spots) + 9, box["y"] + box["height"] - 1, steps=4)
    page.mouse.up()
    assert settled(page, lambda: 0 < rows.count() < count, wanted=True)
    assert "brush=" in where(page)
    back(page)
    assert settled(page, rows.count, count) == count
    page.locator("tbody .choose input").nth(0).click()
    page.locator("tbody .choose input").nth(1).focus()
    page.keyboard.press("Space")
    address = where(page)
    page.locator("#comparison a").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#figures")).to_be_visible()
    assert settled(page, page.locator("#chosen-table tbody tr").count, 2) == 2
    assert "/compare/index.html" in where(page)
    back(page)
    expect(page.locator("#comparison li")).to_have_count(2)
    assert where(page) == address
