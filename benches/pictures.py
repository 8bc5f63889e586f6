"""The pictures of the READMEs: a comparison of the bundled sample runs, as the package's page shows it.

    python benches/pictures.py    # docs/images/comparison.png, and comparison.ja.png in Japanese

Needs playwright, a chromium, Pillow, and fonts for Japanese. Each picture keeps the scores that it shows as
its text `Scores`, so that a test can tell whether they are still those of the package.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pfgen_rs
from pfgen_rs.report.site import write_comparison
from pfgen_rs.runs.result import Result

__all__ = ["PICTURES", "draw", "sample_results", "scores"]

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images"
PICTURES = {"en": FOLDER / "comparison.png", "ja": FOLDER / "comparison.ja.png"}
"""The pictures by their languages."""

TEXT = "Scores"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_WIDTH, _COLOURS = 1120, 128
_DETAILS = "h2:visible"
"""The first heading: it and what is below are left out."""


def sample_results() -> list[Result]:
    """The bundled runs, scored; the best first."""
    runs = pfgen_rs.sample_runs().values()
    return sorted(pfgen_rs.score_runs(list(runs), "mini"), key=lambda run: -run.score)


def scores(results: Sequence[Result]) -> str:
    """The scores that a picture shows."""
    return ", ".join(
        f"{one.name} {one.score:.4f} {one.fluency:.3f} {one.truthfulness:.3f} {one.helpfulness:.3f}"
        for one in results
    )


def draw(pictures: dict[str, Path]) -> None:
    """Writes the pictures by their languages."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    results = sample_results()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        page_path = Path(name) / "comparison.html"
        write_comparison(results, page_path)
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for language, picture in pictures.items():
            page = browser.new_page(viewport={"width": _WIDTH, "height": 1600}, locale=language)
            page.goto(f"{page_path.as_uri()}?lang={language}&theme=light")
            page.locator(".verdict").first.wait_for()
            box = page.locator(_DETAILS).first.bounding_box()
            if box is None:
                raise RuntimeError("the page has no details to leave out")
            screenshot = page.screenshot(
                clip={"x": 0, "y": 0, "width": _WIDTH, "height": box["y"] - 8},
                animations="disabled",
            )
            _write(screenshot, scores(results), picture)
        browser.close()


def _write(screenshot: bytes, text: str, path: Path) -> None:
    """Writes a picture in few colours, which is a third as large."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add_text(TEXT, text)
    image = Image.open(io.BytesIO(screenshot)).convert("RGB")
    path.parent.mkdir(parents=True, exist_ok=True)
    image.quantize(_COLOURS, dither=Image.Dither.NONE).save(path, pnginfo=info, optimize=True)


if __name__ == "__main__":
    draw(PICTURES)
    sys.stdout.writelines(f"{path}: {path.stat().st_size:,} bytes\n" for path in PICTURES.values())
