"""Debian's chromium and firefox for tests of pages, headless, driven by Playwright. A pytest plugin."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import firefox

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


Launch = Callable[..., "Browser"]


def in_both(name: str, chromium: Sequence[Any], firefox: Sequence[Any]) -> pytest.MarkDecorator:
    """Run a test with some values of an argument in chromium, and with some in firefox, which is slower."""
    cases = [
        *(("chromium", value) for value in chromium),
        *(pytest.param("firefox", value, marks=pytest.mark.slow) for value in firefox),
    ]
    return pytest.mark.parametrize(("engine", name), cases, indirect=["engine"])


in_each = pytest.mark.parametrize(
    "engine", ["chromium", pytest.param("firefox", marks=pytest.mark.slow)], indirect=True
)


def _found(names: Sequence[str]) -> str:
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip(f"there is no {names[0]}")
    return path


@pytest.fixture(scope="session")
def launched() -> Iterator[Launch]:
    """Starts browsers, each once; tests of one that is not there are skipped.

    An engine is "chromium", or "firefox" with those options of pages that only a whole Firefox can be set to.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    font_manager = pytest.importorskip("matplotlib.font_manager")
    if not font_manager.findSystemFonts():  # then chromium ends while it shows the first text
        pytest.skip("needs a font for browsers")
    playwright.expect.set_options(timeout=_PATIENCE)
    with playwright.sync_playwright() as driver, ExitStack() as open_browsers:

        @cache
        def launch(engine: str, **options: Any) -> Browser:
            made: Browser
            if engine == "chromium":
                path = _found(_CHROMIUM)
                made = driver.chromium.launch(executable_path=path, args=["--no-sandbox", _NAMES])
            else:
                path = str(firefox.program(_found(firefox.NAMES)))
                made = driver.firefox.launch(
                    channel="moz-firefox",
                    executable_path=path,
                    firefox_user_prefs=firefox.preferences(**options),
                )
            open_browsers.enter_context(made)
            return made

        yield launch


@pytest.fixture(scope="session")
def browser(launched: Launch) -> Browser:
    """One chromium for all tests."""
    return launched("chromium")


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    """The browser that makes a test's pages, as `in_both` and `in_each` say."""
    found: str = getattr(request, "param", "chromium")
    return found


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
def new_page(launched: Launch, engine: str) -> Iterator[NewPage]:
    """Makes pages, each in a context of its own (keyword arguments are its options: locale, viewport, …).

    The test fails on any error that a page reports and any request that leaves the disk. `home`: where
    requests may go besides. `expected`: a pattern of errors that are meant to be.
    """
    watch = Watch()
    contexts = []

    def make(*, home: str | None = None, expected: str | None = None, **options: Any) -> Page:
        whole = {key: options[key] for key in firefox.WHOLE & options.keys()}
        browser = launched(engine, **(whole if engine == "firefox" else {}))
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


def where(page: Page) -> str:
    """Where a page is. Playwright is not told that by a Firefox without `browsingContext.historyUpdated`."""
    found: str = page.evaluate("location.href")
    return found


def overflow(page: Page) -> int:
    """Pixels by which a page is wider than what is seen of it, less the scroll bar that Firefox has."""
    root = "document.documentElement"
    found: int = page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
    return found


def back(page: Page, steps: int = -1) -> None:
    """A step to an earlier address, or `steps` on; after the call, which a page that goes cannot answer."""
    page.evaluate("(steps) => { setTimeout(() => history.go(steps)); }", steps)


def downloaded(page: Page, press: Callable[[], object]) -> tuple[str, bytes]:
    """The name and content of the file that a page saves when its button is pressed."""
    browser = page.context.browser
    assert browser is not None
    if browser.browser_type.name == "chromium":
        with page.expect_download() as started:
            press()
        return started.value.suggested_filename, Path(started.value.path()).read_bytes()
    before = set(firefox.downloads().iterdir())
    press()

    def made() -> list[Path]:  # Firefox writes into NAME.part first, beside an empty NAME
        return [path for path in set(firefox.downloads().iterdir()) - before if path.stat().st_size]

    settled(page, lambda: [path.suffix != ".part" for path in made()], [True])
    [path] = made()
    content = path.read_bytes()
    path.unlink()
    return path.name, content


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """A page in English on a screen of 1280 × 720."""
    return new_page()
