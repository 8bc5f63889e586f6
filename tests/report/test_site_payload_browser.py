"""Payloads in a real browser: pages that ask for several at once, and files that are damaged."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from browser import NewPage
from pfgen_rs import Benchmark, score_file
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.report import site
from pfgen_rs.report.site.folder import slug
from site_samples import RUNS, made_entries

if TYPE_CHECKING:
    from playwright.sync_api import Page

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

ENTRIES = made_entries(2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, mini: Benchmark) -> Path:
    """A site of the bundled benchmark with two runs."""
    folder = tmp_path_factory.mktemp("site")
    runs = bundled_path() / "runs"
    results = {e.run: score_file(runs / name, mini) for e, name in zip(ENTRIES, RUNS, strict=False)}
    site.build(folder, mini, ENTRIES, results)
    return folder


def address(folder: Path, number: int = 0) -> str:
    return (folder / "runs" / slug(ENTRIES[number].run) / "index.html").as_uri()


def choose(page: Page, form: str, *numbers: int) -> None:
    """Choose questions in a form one after the other, before anything else can happen."""
    page.evaluate(
        """([form, numbers]) => {
          const { question } = document.querySelector(form).elements;
          for (const number of numbers) {
            question.value = number;
            question.dispatchEvent(new Event("change", { bubbles: true }));
          }
        }""",
        [form, numbers],
    )


def finish_loading(page: Page, *numbers: int) -> None:
    """Wait until all that was asked for is there, and what waited for it has run."""
    page.evaluate(
        """async (numbers) => {
          const { answers } = pfgen.data("run");
          const windows = (number) => `windows/q${String(number).padStart(3, "0")}`;
          await Promise.all(numbers.flatMap((n) => [`${answers}#${n}`, windows(n)].map(pfgen.load)));
          await new Promise((done) => setTimeout(done));
        }""",
        numbers,
    )


@pytest.mark.parametrize("numbers", [(2, 2), (2, 3, 2), (2, 3, 4, 5)])
def test_the_last_of_several_choices_is_shown(
    page: Page, folder: Path, numbers: tuple[int, ...]
) -> None:
    """What was asked for first does not take away what was asked for last, while both are loading."""
    texts = page.locator("#list .shaded")
    page.goto(f"{address(folder)}#Q{numbers[-1] + 1:02}")
    expect(texts).to_have_count(5)
    wanted = texts.all_inner_texts()
    page.goto("about:blank")
    page.goto(address(folder))
    expect(texts).to_have_count(5)
    assert texts.all_inner_texts() != wanted
    choose(page, "#choice", *numbers)
    finish_loading(page, *numbers)
    assert texts.all_inner_texts() == wanted
    asked = page.locator("#asked").inner_text()
    chosen = page.locator("#choice [name=question] option:checked").inner_text()
    assert chosen.endswith(asked)


def test_compared_answers_are_shown_while_choices_change(page: Page, folder: Path) -> None:
    page.goto((folder / "compare" / "index.html").as_uri())
    expect(page.locator("#answers .answer")).to_have_count(2)
    choose(page, "#side-choice", 3, 3)
    expect(page.locator("#answers .answer")).to_have_count(2)


@pytest.mark.parametrize("left", [0, 40])
def test_a_file_that_hands_over_nothing_is_told(new_page: NewPage, folder: Path, left: int) -> None:
    page = new_page(expected="SyntaxError|Invalid or unexpected token|missing \\)")
    damaged = folder / "runs" / slug(ENTRIES[1].run) / "data.js"
    content = damaged.read_bytes()
    damaged.write_bytes(content[:left])
    try:
        page.goto(f"{address(folder, 1)}#Q05")
        expect(page.locator("#list [role=alert]")).to_contain_text("could not be loaded")
    finally:
        damaged.write_bytes(content)
    choose(page, "#choice", 4)
    expect(page.locator("#list .answer")).to_have_count(5)


class _Served(SimpleHTTPRequestHandler):
    """Sends scripts as servers do that take every text for UTF-8."""

    extensions_map = {  # noqa: RUF012 - as its base has it
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
    }

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_answers_are_read_from_servers_too(new_page: NewPage, folder: Path) -> None:
    """The mark of their encoding counts, whatever the server says."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Served, directory=str(folder)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        home = f"http://127.0.0.1:{server.server_port}/"
        page = new_page(home=home)
        page.goto(f"{home}runs/{slug(ENTRIES[0].run)}/index.html")
        expect(page.locator("#list .answer")).to_have_count(5)
    finally:
        server.shutdown()
        server.server_close()
