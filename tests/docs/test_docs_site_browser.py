"""The documentation site in a browser: its search and its languages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import NewPage, served, settled

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


def test_a_search_finds_over_http(new_page: NewPage, built_docs: Path) -> None:
    with served(built_docs) as home:
        page = new_page(home=home)
        page.goto(f"{home}ja/index.html")
        assert f"{home}ja/reference/glossary.html" in searched(page, "信頼区間")


@pytest.mark.parametrize("name", ["how-to/python", "reference/api/index", "index"])
def test_the_other_language_of_a_page(name: str, new_page: NewPage, built_docs: Path) -> None:
    page = new_page()
    page.goto((built_docs / f"{name}.html").as_uri())
    for language, folder in (("ja", built_docs / "ja"), ("en", built_docs)):
        page.get_by_label({"ja": "Select language", "en": "言語切り替え"}[language]).hover()
        page.locator(f".md-select__link[hreflang={language}]").click()
        assert page.url == (folder / f"{name}.html").as_uri()
        assert page.locator("html").get_attribute("lang") == language
