"""The table of models in a browser: how long sorting takes from the click to the next frame."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pfgen_rs import load_benchmark
from pfgen_rs.checkout.entries import Entry
from pfgen_rs.report.site import build

__all__ = ["CLICK", "milliseconds"]

_COLUMNS = ("Length", "Model", "Score", "Fluency")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CLICK = """(name) => new Promise((done) => {
  const table = document.querySelector("table.models");
  const button = [...table.querySelectorAll("button.sort")].find((b) => b.textContent === name);
  const start = performance.now();
  button.click();
  table.offsetHeight; // the layout is made now
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""


def milliseconds(entries: Sequence[Entry]) -> dict[str, float]:
    """Milliseconds by column of a page of these entries; nothing where there is no browser."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        return {}
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as name:
        page_path = Path(name) / "models" / "index.html"
        build(name, load_benchmark(), entries)
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_context(locale="en-GB").new_page()
        page.goto(page_path.as_uri())
        page.locator("table.models thead button.sort").first.wait_for()
        times = {column: float(page.evaluate(CLICK, column)) for column in _COLUMNS}
        browser.close()
    return times
