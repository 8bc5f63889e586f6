"""Drawings of a board, made in the browser: what they show, and how people reach it."""

import csv
import hashlib
import math
import random
import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jinja2
import pytest
import scipy.stats  # type: ignore[import-untyped]
from scipy.cluster.hierarchy import linkage  # type: ignore[import-untyped]

from browser import (
    NewPage,
    Page,
    back,
    downloaded,
    expect,
    field,
    in_both,
    in_each,
    overflow,
    settled,
    where,
)
from pfgen_rs.report.site import pages

PARTS = (
    "statistics",
    "board",
    "table_export",
    "drawings",
    "drawings_marks",
    "drawings_scatter",
    "drawings_kinds",
    "drawings_curves",
)
CATEGORIES = ("化学", "数学", "歴史", "生物")
HOSTILE = "=1+1</script><img src=x onerror=alert(1)>\u202eb"
PAGE = """{% extends "base.html.j2" %}{% block title %}Board{% endblock %}{% block footer %}{% endblock %}
{% block main %}<h1>Board</h1><section id="drawings"></section><section id="one"></section>{% endblock %}"""
WITHIN = """(node) => [...node.querySelectorAll("text")]
  .every((text) => text.getBoundingClientRect().right <= innerWidth)"""
START = """() => pfgen.load("board").then(({ board, means }) => {
  const all = pfgen.board(board, means);
  window.board = all;
  window.restricted = [];
  const rows = all.rows("best");
  const tell = (ids) => document.dispatchEvent(new CustomEvent("shown",
    { detail: { all: rows, rows: rows.filter(({ id }) => !ids || ids.includes(id)) } }));
  pfgen.restrict = (ids) => {
    window.restricted.push(ids);
    pfgen.address.set({ brush: ids ? JSON.stringify(ids) : "" }, { isStep: true });
    tell(ids);
  };
  pfgen.drawings.mount(document.getElementById("drawings"), all, {});
  const one = { kinds: ["categories"], state: { model: "m-3" } };
  pfgen.drawings.mount(document.getElementById("one"), all, one);
})"""
"""Plays the part of the table."""


def column(key: str, kind: str = "number", group: str = "facts", **more: Any) -> dict[str, Any]:
    label = [f"{key}の列", key.title()]
    return {
        "key": key,
        "group": group,
        "kind": kind,
        "label": label,
        "digits": 3,
        "better": 0,
        "of": "model",
    } | more


def made_board(count: int = 40, questions: int = 20, seed: int = 1) -> dict[str, Any]:
    """A board of models, each with a run: sizes of most, a price of some, families of four."""
    chance = random.Random(seed)
    size = [None if i % 9 == 8 else round(10 ** chance.uniform(-0.9, 2), 2) for i in range(count)]
    ability = [0.3 + 0.17 * math.log10(s or 3) + chance.gauss(0, 0.07) for s in size]
    means = [
        [min(max(a + chance.gauss(0, 0.12) + 0.02 * (q % 5), 0), 1) for q in range(questions)]
        for a in ability
    ]
    score = [sum(own) / questions for own in means]
    names = [f"org-{i % 9}/model-{i}" for i in range(count)]
    names[1] = HOSTILE
    names[2] = "長" * 100_000
    slugs = [f"m-{i}" for i in range(count)]
    run_columns = [
        column("score", group="pfgen", digits=4, better=1, of="run"),
        *(
            column(f"category:{name}", group="categories", better=1, of="run", label=[name, name])
            for name in CATEGORIES
        ),
    ]
    columns = [
        *run_columns,
        column("parameters"),
        column("released", "date"),
        column("organisation", "text"),
        column("family", "text"),
        column("price", group="cost", better=-1),
        column("empty"),
    ]
    spread = [[round(s + chance.gauss(0, 0.1), 3) for s in score] for _ in CATEGORIES]
    return {
        "means": means,
        "board": {
            "level": 0.95,
            "groups": [],
            "columns": columns,
            "benchmarks": [],
            "models": {
                "slug": slugs,
                "name": names,
                "label": [n.rpartition("/")[2] if n != HOSTILE else n for n in names],
                "page": [f"models/{slug}/index.html" for slug in slugs],
                "values": {
                    "parameters": size,
                    "organisation": [f"org-{i % 9}" for i in range(count)],
                    "family": [f"family-{i // 4}" for i in range(count)],
                    "released": [
                        None if i % 7 == 3 else f"20{23 + i % 3}-{1 + i % 12:02}-{1 + i % 28:02}"
                        for i in range(count)
                    ],
                    "price": [
                        None if i % 3 else round(0.1 + (size[i] or 1) / 5, 3) for i in range(count)
                    ],
                },
                "intervals": {},
            },
            "runs": {
                "model": list(range(count)),
                "slug": slugs,
                "name": names,
                "label": names,
                "page": [None] * count,
                "system": [False] * count,
                "values": {
                    "score": score,
                    **{
                        f"category:{name}": own
                        for name, own in zip(CATEGORIES, spread, strict=True)
                    },
                },
                "intervals": {"score": [[s - 0.03 for s in score], [s + 0.03 for s in score]]},
            },
            "curves": [
                {
                    "name": f"curve {i}",
                    "steps": [100 * k for k in range(1, 16)],
                    "page": f"training/c{i}/index.html",
                    "values": [
                        0.2 + 0.05 * i + 0.3 * (1 - math.exp(-k / 5)) + chance.gauss(0, 0.01)
                        for k in range(1, 16)
                    ],
                }
                for i in range(4)
            ],
        },
    }


def write_page(folder: Path, made: Mapping[str, Any]) -> Path:
    """A page with places for drawings, and with a board."""
    environment = pages._environment()
    loader = environment.loader
    assert loader is not None
    environment.loader = jinja2.ChoiceLoader([jinja2.DictLoader({"places.html.j2": PAGE}), loader])
    content = pages.render("places", parts=PARTS, payloads={"board": made})
    environment.loader = loader
    for path, library in pages.vendored():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(library)
    (folder / "index.html").write_bytes(content)
    return folder / "index.html"


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return made_board()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, made: dict[str, Any]) -> str:
    return write_page(tmp_path_factory.mktemp("drawings"), made).as_uri()


def opened(page: Page, address: str, query: str = "") -> Page:
    page.goto(f"{address}?{query}")
    page.evaluate(START)
    page.locator("#drawings svg .spot").first.wait_for(state="attached")
    return page


def saved(page: Page, name: str) -> str:
    button = page.locator("#drawings").get_by_role("button", name=name)
    return downloaded(page, button.click)[1].decode()


def names(page: Page, kind: str = ".spot:not(.faint)") -> list[str]:
    labels: list[str] = page.locator(f"#drawings {kind}").evaluate_all(
        "all => all.map((node) => node.getAttribute('aria-label').split(', ')[0])"
    )
    return labels


def test_vendored_files_are_named_by_their_digest() -> None:
    [(path, content)] = pages.vendored()
    assert path == f"assets/vendor/d3-{hashlib.sha256(content).hexdigest()[:8]}.js"
    assert path in pages._joined_assets(("drawings",), "js"), "what .ci/bundle-d3 writes there"
    assert len(content) < 120_000
    assert b"Copyright" in content[:1000]


def test_a_line_is_fitted_as_by_scipy(page: Page, address: str) -> None:
    opened(page, address)
    chance = random.Random(4)
    for count in (3, 8, 200):
        x = [chance.uniform(-2, 3) for _ in range(count)]
        y = [0.4 * value + chance.gauss(0, 0.5) for value in x]
        found = page.evaluate(
            """(points) => { const { at, ...fit } = pfgen.marks.fitted(points);
          return { ...fit, ends: [-1, 2.5].map(at) }; }""",
            list(zip(x, y, strict=True)),
        )
        wanted = scipy.stats.linregress(x, y)
        assert [found[key] for key in ("a", "b", "r")] == pytest.approx(
            [wanted.intercept, wanted.slope, wanted.rvalue], rel=1e-9
        )
        middle = sum(x) / count
        spread = sum((value - middle) ** 2 for value in x)
        error = math.sqrt(
            sum((v - wanted.intercept - wanted.slope * u) ** 2 for u, v in zip(x, y, strict=True))
            / (count - 2)
        )
        for place, ends in zip((-1, 2.5), found["ends"], strict=True):
            reach = (
                scipy.stats.t.ppf(0.975, count - 2)
                * error
                * math.sqrt(1 / count + (place - middle) ** 2 / spread)
            )
            value = wanted.intercept + wanted.slope * place
            assert ends == pytest.approx([value, value - reach, value + reach], rel=1e-8)
    assert page.evaluate(
        "[[[1, 2], [2, 3]], [[1, 1], [1, 2], [1, 3]]].map((points) => pfgen.marks.fitted(points))"
    ) == [None, None]


def test_clusters_are_those_of_scipy(page: Page, address: str) -> None:
    """Whatever scipy joins stands side by side in the order of rows."""
    opened(page, address)
    chance = random.Random(2)
    for count in (1, 2, 3, 40):
        rows = [[chance.random() for _ in range(12)] for _ in range(count)]
        order = page.evaluate("(rows) => pfgen.marks.clustered(rows)", rows)
        assert sorted(order) == list(range(count))
        place = {row: i for i, row in enumerate(order)}
        clusters = [{i} for i in range(count)]
        for first, second, *_ in linkage(rows, "average", "correlation") if count > 1 else ():
            clusters.append(clusters[int(first)] | clusters[int(second)])
            places = [place[row] for row in clusters[-1]]
            assert max(places) - min(places) == len(places) - 1
    assert sorted(page.evaluate("pfgen.marks.clustered([[1, 1, 1], [0, 1, 2], [5, 5, 5]])")) == [
        0,
        1,
        2,
    ], "of equal values too"


def test_the_frontier_and_what_is_left_out(page: Page, address: str, made: dict[str, Any]) -> None:
    opened(page, address)
    values = made["board"]["models"]["values"]
    score = made["board"]["runs"]["values"]["score"]
    known = [i for i, size in enumerate(values["parameters"]) if size is not None]
    missing = 40 - len(known)
    assert page.locator("#drawings .spot").count() == len(known)
    expect(page.locator("#drawings .draw-notes")).to_contain_text(
        f"{missing} of 40 models have no value of Parameters"
    )
    best = [
        i
        for i in known
        if not any(
            values["parameters"][j] <= values["parameters"][i] and score[j] > score[i]
            for j in known
        )
    ]
    steps = page.locator("#drawings .frontier").get_attribute("d")
    assert steps is not None
    assert steps.count("V") == len(best) - 1
    ticks = page.locator("#drawings .axis").first.locator("text").all_text_contents()
    assert {"1B", "10B"} <= set(ticks)


@in_each
def test_points_lead_to_pages_and_are_reached_by_keys(page: Page, address: str) -> None:
    opened(page, address)
    first = page.locator("#drawings .spot").first
    assert page.locator("#drawings .spot[tabindex='0']").count() == 1
    first.focus()
    assert (first.get_attribute("href") or "").startswith("models/m-")
    seen = set()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "End", "Home"):
        page.keyboard.press(key)
        label = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert re.search("Parameters: .*B|M, Score: 0", label)
        assert page.locator("#drawings .tip text").count() == 3
        seen.add(label)
    assert len(seen) > 3
    assert page.locator("#drawings .spot[tabindex='0']").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("#drawings .tip text").count() == 0


@in_each
def test_a_rectangle_and_bounds_choose_the_same(
    page: Page, address: str, made: dict[str, Any]
) -> None:
    opened(page, address)
    sizes = made["board"]["models"]["values"]["parameters"]
    wanted = {f"m-{i}" for i, size in enumerate(sizes) if size is not None and 1 <= size <= 20}
    fields = page.locator("#drawings .draw-bounds input")
    fields.nth(0).fill("1")
    fields.nth(1).fill("20")
    fields.nth(1).press("Enter")
    assert set(page.evaluate("restricted.at(-1)")) == wanted
    assert settled(page, lambda: len(names(page)), len(wanted)) == len(wanted)
    assert page.locator("#drawings .spot.faint").count() > 0, "the others stay, faint"
    page.get_by_role("button", name="Show all again").click()
    assert page.evaluate("restricted.at(-1)") is None
    assert settled(page, lambda: page.locator("#drawings .faint").count(), 0) == 0
    overlay = page.locator("#drawings .brush .overlay")
    overlay.scroll_into_view_if_needed()
    box = overlay.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2, steps=4)
    page.mouse.up()
    chosen = set(page.evaluate("restricted.at(-1)"))
    middle = page.locator("#drawings .spot").evaluate_all(
        "(all, x) => all.filter((node) => node.spot.x <= x).length", box["width"] / 2 + 58
    )
    assert len(chosen) == middle > 0


@in_each
def test_the_address_has_the_drawing_and_back_works(page: Page, address: str) -> None:
    opened(page, address)
    field(page, "Horizontal").first.select_option("released")
    page.get_by_label("Fitted line").check()
    expect(page.locator("#drawings .draw-notes")).to_contain_text("Fitted line: Score = ")
    field(page, "Drawing").select_option("intervals")
    expect(page.locator("#drawings figcaption")).to_have_text("Score with intervals, best first")
    assert "draw.x" not in where(page)
    back(page)
    expect(page.locator("#drawings figcaption")).to_have_text("Score against Released")
    assert page.locator("#drawings .fit").count() == 1
    back(page)
    expect(page.locator("#drawings .fit")).to_have_count(0)
    back(page, 1)
    expect(page.locator("#drawings .fit")).to_have_count(1)
    opened(page, address, "draw=nothing&draw.x=%3Cb%3E&draw.show=names%20x")
    expect(page.locator("#drawings figcaption")).to_have_text("Score against Parameters")


@in_both(
    "kind",
    ["scatter", "cost", "intervals", "categories", "curves", "questions"],
    ["scatter", "categories", "questions"],
)
def test_each_kind_in_both_languages_and_themes_as_files(
    new_page: NewPage, address: str, kind: str
) -> None:
    page = opened(new_page(accept_downloads=True), address, f"draw={kind}")
    caption = page.locator("#drawings figcaption").inner_text()
    assert page.locator("#drawings svg").first.get_attribute("aria-label") == caption
    svg = ElementTree.fromstring(saved(page, "Save as SVG"))
    assert not [node for node in svg.iter() if {"class", "style", "href"} & set(node.attrib)]
    assert "rgb" in ElementTree.tostring(svg, "unicode")
    rows = list(csv.reader(saved(page, "Save as CSV").splitlines()))
    page.locator("#drawings summary").click()
    cells = page.locator("#drawings table tbody th").all_inner_texts()
    assert len(cells) == len(rows) - 1 > 3
    assert not [row for row in rows if row[0].startswith("=")]
    page.get_by_role("button", name="日本語").click()
    assert page.locator("#drawings figcaption").inner_text() != caption
    page.get_by_role("button", name="ダークモード").click()
    dark = ElementTree.fromstring(saved(page, "SVG を保存"))
    fills = [
        next(node for node in each.iter() if node.tag.endswith("rect")).get("fill")
        for each in (svg, dark)
    ]
    assert fills[0] != fills[1]
    for width in (390, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(150)
        assert overflow(page) == 0
        assert page.locator("#drawings svg").first.evaluate(WITHIN)


def test_one_model_against_the_others(page: Page, address: str, made: dict[str, Any]) -> None:
    opened(page, address)
    label = page.locator("#one .spot").first.get_attribute("aria-label") or ""
    values = made["board"]["runs"]["values"][f"category:{CATEGORIES[0]}"]
    assert f"model-3: {values[3]:.3f}, Median: {statistics.median(values):.3f}" in label
    assert f"Best: {max(values):.3f}" in label


def test_without_the_library_the_page_says_so(
    new_page: NewPage, tmp_path: Path, made: dict[str, Any]
) -> None:
    file = write_page(tmp_path, made)
    for path in (tmp_path / "assets" / "vendor").iterdir():
        path.unlink()
    page = new_page(expected="ERR_FILE_NOT_FOUND")
    page.goto(file.as_uri())
    page.evaluate(START)
    expect(page.locator("#drawings [role=alert]")).to_be_visible()
