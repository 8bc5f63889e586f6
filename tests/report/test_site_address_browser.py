"""What a page shows stands in its address: a link reproduces the view."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import NewPage
from pfgen_rs import Benchmark
from pfgen_rs.report import site
from site_samples import made_entries

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

LOOKS = "() => [document.documentElement.lang, getComputedStyle(document.body).colorScheme]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, mini: Benchmark) -> Path:
    """A site of the bundled benchmark and made runs."""
    folder = tmp_path_factory.mktemp("site")
    site.build(folder, mini, made_entries(130))
    return folder


def looks(page: Page) -> list[str]:
    """Language and colours of a page."""
    found: list[str] = page.evaluate(LOOKS)
    return found


def test_language_and_colours_of_the_address_come_before_all_others(
    new_page: NewPage, folder: Path
) -> None:
    page = new_page(locale="en-GB", color_scheme="light")
    home = (folder / "index.html").as_uri()
    page.goto(home)
    assert looks(page)[0] == "en"
    page.get_by_role("button", name="日本語").click()
    page.goto(f"{home}?lang=en&theme=dark")
    assert looks(page) == ["en", "dark"]
    page.goto(f"{home}?lang=xx&theme=<b>")
    assert looks(page) == ["ja", "light dark"], "what is no choice is passed over"


def test_switches_and_links_keep_the_address_right(new_page: NewPage, folder: Path) -> None:
    page = new_page(locale="en-GB", color_scheme="light")
    page.goto((folder / "index.html").as_uri())
    page.get_by_role("button", name="日本語").click()
    page.get_by_role("button", name="ダークモード").click()
    assert page.url.endswith("index.html?lang=ja&theme=dark")
    page.get_by_role("link", name="設問と参照回答").click()
    page.wait_for_url("**/benchmark/index.html?lang=ja&theme=dark")
    other = new_page(locale="en-GB", color_scheme="light")
    other.goto(page.url)
    assert looks(other) == looks(page) == ["ja", "dark"]


def test_links_to_places_within_a_page_are_left_alone(new_page: NewPage, folder: Path) -> None:
    page = new_page(locale="en-GB")
    page.goto((folder / "benchmark" / "index.html").as_uri() + "?lang=ja")
    page.locator("table a[href^='#question']").first.click()
    assert page.url.endswith("index.html?lang=ja#question-1")
