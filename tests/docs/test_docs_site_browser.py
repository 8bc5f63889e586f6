"""The documentation site in a browser, from the disk: its search, its languages, and screens of two sizes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import NewPage, settled

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOUND = ".md-search-result__item .md-search-result__link"


def searched(page: Page, query: str) -> list[str]:
    """The pages that a search finds, as they are listed; empty if it finds none."""
    field = page.locator("[data-md-component=search-query]")
    field.click()
    page.keyboard.insert_text(query)
    page.keyboard.press("End")  # the theme listens to keys
    meta = page.locator(".md-search-result__meta")
    settled(page, lambda: any(c.isdigit() for c in meta.inner_text()), True)
    links: list[str] = page.locator(FOUND).evaluate_all("found => found.map(link => link.href)")
    return [link.partition("?")[0] for link in links]


@pytest.mark.parametrize(
    ("start", "query", "page_found"),
    [
        ("ja/index.html", "信頼区間", "ja/reference/glossary.html"),
        ("ja/index.html", "流暢さ", "ja/reference/glossary.html"),
        ("ja/index.html", "流暢性", "ja/reference/glossary.html"),  # half of it is there
        ("ja/how-to/python.html", "順位の範囲", "ja/how-to/judge.html"),
        ("ja/index.html", "ｓｃｏｒｅ_batch", "ja/reference/api/index.html"),
        ("index.html", "confidence interval", "reference/glossary.html"),
        ("how-to/python.html", "datasets", "how-to/python.html"),
        ("index.html", "plan-trials", "reference/commands/keepers.html"),
    ],
)
def test_a_search_finds(
    start: str, query: str, page_found: str, new_page: NewPage, built_docs: Path
) -> None:
    page = new_page()
    page.goto((built_docs / start).as_uri())
    found = searched(page, query)
    assert (built_docs / page_found).as_uri() in found
    japanese = [link for link in found if link.startswith((built_docs / "ja").as_uri())]
    assert japanese == (found if start.startswith("ja/") else [])


def test_what_is_found_is_marked_and_harmless(new_page: NewPage, built_docs: Path) -> None:
    page = new_page()
    page.goto((built_docs / "index.html").as_uri())
    assert searched(page, "<pfgen-bench")
    marks = page.locator(".md-search-result mark").all_inner_texts()
    assert set(marks) == {"<pfgen-bench"}


@pytest.fixture
def served(built_docs: Path) -> Iterator[str]:
    """The address of a server of the site."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(built_docs))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_search_finds_over_http(new_page: NewPage, served: str) -> None:
    page = new_page(home=served)
    page.goto(f"{served}/ja/index.html")
    assert f"{served}/ja/reference/glossary.html" in searched(page, "信頼区間")


@pytest.mark.parametrize("name", ["how-to/python", "reference/api/index", "index"])
def test_the_other_language_of_the_same_page(
    name: str, new_page: NewPage, built_docs: Path
) -> None:
    page = new_page()
    page.goto((built_docs / f"{name}.html").as_uri())
    for language, folder in (("ja", built_docs / "ja"), ("en", built_docs)):
        page.get_by_label({"ja": "Select language", "en": "言語切り替え"}[language]).hover()
        page.locator(f".md-select__link[hreflang={language}]").click()
        assert page.url == (folder / f"{name}.html").as_uri()
        assert page.locator("html").get_attribute("lang") == language


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_their_screens(
    width: int, scheme: str, new_page: NewPage, built_docs: Path
) -> None:
    page = new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    for name in (
        "index",
        "how-to/judge",
        "reference/api/index",
        "reference/commands/daily",
    ):
        for language in ("", "ja"):
            page.goto((built_docs / language / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (language, name)
            shown = page.locator("body").get_attribute("data-md-color-scheme")
            assert shown == {"light": "default", "dark": "slate"}[scheme]
