"""What readers do on a whole site, in chromium and in firefox: by keys, by pointer, and on paper."""

import re
import zlib
from pathlib import Path

import pytest

from boards import made_board, write_board
from browser import Launch, Page, Watch, back, expect, in_both, settled, where
from whole_site import build_everything

pytestmark = pytest.mark.browser

WRONG = """<!doctype html><title>x</title><img src="https://x.invalid/x"><script>
console.error("said");
addEventListener("load", () => { setTimeout(() => alert("asked")); throw new Error("thrown"); });
</script>"""
POLICY = "<meta http-equiv=content-security-policy content=\"default-src 'none'\">"
HEARD = {
    WRONG: {"asked", "said", "thrown", "https://x.invalid/x"},
    f"{POLICY}<script>bad = 1</script>": {"script-src"},
    f"{POLICY}<img src=https://x.invalid/x>": {"img-src"},
    f"{POLICY}<p style='color: red'>": {"style-src"},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of one of each kind of result."""
    return build_everything(tmp_path_factory.mktemp("everything"))


def models(page: Page, site: Path, query: str = "") -> Page:
    page.goto((site / "models" / "index.html").as_uri() + query)
    page.locator("#drawings .spot").first.wait_for()
    return page


@in_both
@pytest.mark.parametrize("content", HEARD, ids=["own", "script", "image", "style"])
def test_what_a_page_does_wrong_is_heard(
    launched: Launch, engine: str, tmp_path: Path, content: str
) -> None:
    """Of all that `new_page` lets no test of a page pass with."""
    watch = Watch()
    (tmp_path / "page.html").write_text(content, encoding="utf-8")
    page = launched(engine).new_page()
    watch.over(page, None, None)
    page.goto((tmp_path / "page.html").as_uri())

    def heard() -> set[str]:
        return {word for word in HEARD[content] if any(word in text for text in watch.problems)}

    assert settled(page, heard, HEARD[content]) == HEARD[content], watch.problems
    page.close()


KEYS = [
    ("input[name=text]", ["7", "b"], "text=7b"),
    ("select[name=choice]", ["ArrowDown"], "choice=latest"),
    ("details:has(#columns) summary", ["Enter"], None),
    ("#columns input >> nth=1", ["Space"], "columns="),
    ("details:has(#weights) summary", ["Enter"], None),
    ("#weights input >> nth=0", ["ArrowRight", "ArrowRight"], "weights="),
    ("th[data-key=score] button", ["Enter"], "sort=%5B%22-?score"),
    ("th[data-key=name] button", ["Shift+Space"], "sort=.*score.*name"),
    ("#column", ["ArrowDown"], None),
    ("#add", ["Enter"], "filters="),
    ("#drawings select >> nth=0", ["ArrowDown"], "draw="),
    ("tbody .choose input >> nth=0", ["Space"], "chosen="),
    ("#theme", ["Enter"], None),
    ("#language", ["Enter"], None),
]


@in_both
def test_the_models_by_keys_alone_and_again_from_the_address(page: Page, site: Path) -> None:
    models(page, site)
    for place, keys, wanted in KEYS:
        page.locator(place).focus()
        for key in keys:
            page.keyboard.press(key)
        if wanted:
            found = settled(page, lambda: bool(re.search(wanted, where(page))), wanted=True)
            assert found, (place, where(page))
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


@in_both
def test_a_brush_filters_the_table_and_chosen_models_are_compared(page: Page, site: Path) -> None:
    rows = models(page, site, "?draw.x=length").locator(".models tbody tr:not(.gap)")
    count = rows.count()
    overlay = page.locator("#drawings .brush .overlay")
    overlay.scroll_into_view_if_needed()
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


def pages_of(pdf: bytes) -> int:
    """How many pages a file has; parts of it may be packed."""
    packed = [pdf[each.end() :] for each in re.finditer(rb"stream\r?\n", pdf)]
    parts = [pdf]
    for each in packed:
        try:
            parts.append(zlib.decompressobj().decompress(each))
        except zlib.error:
            continue
    return sum(len(re.findall(rb"/Type\s*/Page\b", part)) for part in parts)


@in_both
def test_all_rows_are_printed(page: Page, tmp_path: Path) -> None:
    """Of 300; those in sight fill two sheets."""
    page.goto(write_board(tmp_path, made_board(300)).as_uri())
    page.locator("#filters:not([hidden])").wait_for()
    assert pages_of(page.pdf()) >= 6
