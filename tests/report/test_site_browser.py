"""The first page and the benchmark page in a real browser."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from browser import Locator, NewPage, Page, expect, field, settled
from pfgen_rs import Benchmark
from pfgen_rs.report import site
from site_samples import hostile_benchmark, hostile_entries, made_entries

ENTRIES = made_entries(30)
RANKED = sum(entry.rank is not None for entry in ENTRIES)  # systems are no models
NARROW = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, mini: Benchmark) -> Path:
    """A site of the bundled benchmark and made runs."""
    folder = tmp_path_factory.mktemp("site")
    site.build(folder, mini, ENTRIES)
    return folder


@pytest.fixture(scope="module")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site whose every text attacks."""
    folder = tmp_path_factory.mktemp("hostile")
    site.build(folder, hostile_benchmark(), hostile_entries())
    return folder


def overview(page: Page, folder: Path) -> Page:
    page.goto((folder / "index.html").as_uri())
    return page


def benchmark(page: Page, folder: Path) -> Page:
    page.goto((folder / "benchmark" / "index.html").as_uri())
    return page


CONTRAST = """() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const luminance = (name) => {
    probe.style.color = `var(--${name})`;
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    canvas.fillStyle = getComputedStyle(probe).color;
    canvas.fillRect(0, 0, 1, 1);
    const linear = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const texts = ["text", "quiet", "accent", "problem"];
  const grounds = ["page", "raised", "sunken", "accent-soft"];
  return texts.flatMap((t) => grounds.map((g) => [t, g, ratio(luminance(t), luminance(g))]))
    .concat([["text", "mark", ratio(luminance("text"), luminance("mark"))]]);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(new_page: NewPage, folder: Path, scheme: Any) -> None:
    """WCAG 2.2, success criterion 1.4.3 (AA): a ratio of 4.5."""
    page = overview(new_page(color_scheme=scheme), folder)
    weak = [found for found in page.evaluate(CONTRAST) if found[2] < 4.5]
    assert weak == []


def opened(page: Page, question: int) -> Locator:
    """The opened references of a question of the benchmark page."""
    details = page.locator("details.references").nth(question)
    details.locator("summary").click()
    details.locator("li").first.wait_for()
    return details


def found(page: Page, details: Locator, pattern: str) -> list[int]:
    """How many answers of each source contain a pattern, as the page counts them."""
    details.get_by_role("searchbox").fill(pattern)
    details.get_by_text(f"“{pattern}”").wait_for()
    cells = details.locator("table", has_text="By source").locator("tbody td:nth-child(2)")
    return [int(text.replace(",", "")) for text in cells.all_inner_texts()]


def test_references_are_searched_and_paged(page: Page, folder: Path, mini: Benchmark) -> None:
    benchmark(page, folder)
    question = next(iter(mini))
    details = opened(page, 0)
    answers = sum(map(len, question.answers.values()))
    assert details.get_by_role("status").inner_text() == f"{answers:,} reference answers"
    first = details.locator("li").first.inner_text()
    details.get_by_role("button", name="Next").press("Enter")
    assert details.locator("li").first.inner_text() != first
    assert page.evaluate("document.activeElement.textContent") == "Next"
    details.get_by_role("button", name="Previous").click()
    assert details.locator("li").first.inner_text() == first
    text = next(iter(question.answers.values()))[0]
    for pattern in (text[:1], text[:3], text[4:12], "存在しない文字列"):
        frequency = question.index.document_frequency(pattern)
        assert found(page, details, pattern) == list(frequency.by_source.values()), pattern
        marks = details.locator("mark").all_inner_texts()
        assert set(marks) == ({pattern} if frequency.total else set())
    field(details, "n-gram length").select_option("3")
    [top] = question.index.ngrams(3, top=1)
    button = details.locator("button.gram").first
    assert button.inner_text() == top.text
    button.click()
    assert details.get_by_role("searchbox").input_value() == top.text
    assert details.locator("mark").first.inner_text() == top.text
    details.get_by_role("searchbox").fill("")
    source = list(question.answers)[-1]
    field(details, "Source").select_option(label=source)
    expect(details.locator("li span").first).to_have_text(f"{source} 1")


@pytest.mark.parametrize(("locale", "language"), [("ja", "ja"), ("en-GB", "en"), ("fr-FR", "en")])
def test_pages_fit_narrow_windows(
    new_page: NewPage, folder: Path, hostile_folder: Path, locale: str, language: str
) -> None:
    page = new_page(viewport=NARROW, locale=locale)
    for place in (folder, hostile_folder):
        for visit in (overview, benchmark):
            visit(page, place)
            assert page.evaluate("document.documentElement.lang") == language
            assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]


def test_hostile_references_act_nowhere(page: Page, hostile_folder: Path) -> None:
    benchmark(page, hostile_folder)
    for i, question in enumerate(hostile_benchmark()):
        text = question.answers["B"][0]
        details = opened(page, i)
        assert details.locator("li").count() == 4
        if text.isprintable() and len(text) < 100:  # fields hold no line ends
            details.locator("input").fill(text)
            details.locator("mark").first.wait_for()
    assert page.locator("main script, main img, main style, main b").count() == 0
    assert page.get_by_text("aU+202EbU+2066cU+200Fd").first.is_visible()


def test_the_policy_stops_what_is_not_ours(new_page: NewPage, folder: Path, tmp_path: Path) -> None:
    """Were markup ever let through, its scripts, handlers, styles and images would still do nothing."""
    content = (folder / "index.html").read_text(encoding="utf-8")
    attack = (
        "<script>window.bad = 1</script><img src=x onerror='window.bad = 1'>"
        "<style>body { color: red }</style><img src='https://example.com/x'></main>"
    )
    place = shutil.copytree(folder, tmp_path / "site")
    (place / "index.html").write_text(content.replace("</main>", attack), encoding="utf-8")
    page = new_page(home="https://example.com", expected="Content Security Policy")
    stopped: list[str | None] = []
    page.on("requestfailed", lambda request: stopped.append(request.failure))
    overview(page, place)
    assert page.evaluate("window.bad") is None
    assert page.evaluate("getComputedStyle(document.body).color") != "rgb(255, 0, 0)"
    assert settled(page, lambda: list(stopped), ["csp", "csp"]) == ["csp", "csp"]
