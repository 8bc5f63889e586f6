"""A real browser for tests of pages: Debian's chromium, headless, driven by Playwright. A pytest plugin."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import (
        Browser as Browser,
        ConsoleMessage,
        Dialog,
        Locator as Locator,
        Page as Page,
        Request,
    )
else:
    Browser = Locator = Page = Any  # where Playwright is not installed

NewPage = Callable[..., "Page"]

_STAYS = re.compile(r"(file|data|blob|about):")
_PATIENCE = 30_000  # milliseconds; machines that run tests side by side are slow
_NAMES = "--enable-blink-features=ComputedAccessibilityInfo"  # `Element.computedName`
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests; they are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    font_manager = pytest.importorskip("matplotlib.font_manager")
    path = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if path is None:
        pytest.skip("there is no chromium")
    if not font_manager.findSystemFonts():  # then chromium ends while it shows the first text
        pytest.skip("needs a font for chromium")
    playwright.expect.set_options(timeout=_PATIENCE)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", _NAMES])
        yield browser
        browser.close()


class Watch:
    """What pages have done that they should not."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def over(self, page: Page, home: str | None, expected: str | None) -> None:
        """Watch a page; `home` and `expected` as `new_page` has them."""

        def problem(text: str) -> None:
            if expected is None or not re.search(expected, text):
                self.problems.append(text)

        def requested(request: Request) -> None:
            if not (_STAYS.match(request.url) or (home and request.url.startswith(home))):
                self.problems.append(f"a request left: {request.url}")

        def asked(dialog: Dialog) -> None:
            problem(f"dialog: {dialog.message}")
            dialog.dismiss()

        def said(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                problem(message.text)

        page.on("request", requested)
        page.on("dialog", asked)
        page.on("console", said)
        page.on("pageerror", lambda error: problem(f"page error: {error}"))


@pytest.fixture
def new_page(browser: Browser) -> Iterator[NewPage]:
    """Makes pages, each in a context of its own (keyword arguments are its options: locale, viewport, …).

    The test fails on any error that a page reports and any request that leaves the disk. `home`: where
    requests may go besides. `expected`: a pattern of errors that are meant to be.
    """
    watch = Watch()
    contexts = []

    def make(*, home: str | None = None, expected: str | None = None, **options: Any) -> Page:
        context = browser.new_context(**{"locale": "en-GB", **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        watch.over(page, home, expected)
        return page

    yield make
    for context in contexts:
        context.close()
    assert watch.problems == []


class _Quiet(SimpleHTTPRequestHandler):
    """Sends files as servers do that take every text for UTF-8."""

    extensions_map = {  # noqa: RUF012 - as its base has it
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript; charset=utf-8",
    }

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of a folder."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def expect(place: Page | Locator) -> Any:
    """What Playwright can expect of a place, for which it waits."""
    from playwright import sync_api

    return sync_api.expect(place)


def field(place: Page | Locator, label: str) -> Locator:
    """The field that is labelled so."""
    named = f'label.field:has(span:text-is("{label}"))'
    return place.locator(f"{named} :is(select, input)")


def settled(page: Page, read: Callable[[], Any], wanted: Any) -> Any:
    """What is read of a page once it is what is wanted, or when patience ends: pages unpack their data.

    Not `Page.wait_for_function`: it evaluates text within the page each time it looks, and the policy of our
    pages lets only the first look through. It fails wherever a page is late.
    """
    deadline = time.monotonic() + _PATIENCE / 1000
    while (found := read()) != wanted and time.monotonic() < deadline:
        page.wait_for_timeout(20)
    return found


def kept(page: Page, address: str, read: Callable[[Page], Any], wanted: Any) -> Any:
    """What is read of another page of the same reader once it is what is wanted, or when patience ends.

    What a page stores reaches others a little later, and may be lost if the page is left at once: it stays.
    """
    other = page.context.new_page()

    def read_again() -> Any:
        other.goto(address)
        return read(other)

    found = settled(other, read_again, wanted)
    other.close()
    return found


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """A page in English on a screen of 1280 × 720."""
    return new_page()
