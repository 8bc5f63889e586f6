"""The comparison page of 516 runs in a browser: what it loads, and how long ten chosen runs take."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from measures import Measure
from pfgen_rs import Benchmark, load_benchmark, score_file
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.compare_page import (
    COMPARISON,
    COMPARISON_PAGE,
    MOST_COMPARED,
    compared_run,
    comparison_data,
    comparison_page,
    listed_run,
)
from pfgen_rs.report.site.pages import Frame
from pfgen_rs.stats import METRICS, Sample

__all__ = ["comparisons"]

RUNS = 516
SPREAD = 0.05  # by which scores are moved
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHOOSE = f"""() => new Promise((done) => {{
  const start = performance.now();
  const chosen = Array.from({{ length: {MOST_COMPARED} }}, (_, i) => `run-${{7 * i}}`);
  location.hash = `#runs=${{chosen.join("+")}}`;
  addEventListener("hashchange", () => {{
    document.body.offsetHeight; // the layout is made now
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  }});
}})"""


def comparisons(checkout: Path) -> Iterator[Measure]:
    """The size of the page's data, and milliseconds from a choice of ten runs to the next frame."""
    benchmark = load_benchmark(checkout / "data")
    paths = sorted((checkout / "result").rglob("trials.jsonl.xz"))
    samples = [score_file(path, benchmark).sample() for path in paths]
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as name:
        size = _write(Path(name), benchmark, samples)
        note = f"{RUNS} runs: {len(paths)} again and again, each score moved by chance"
        yield Measure("compare_size", size / 1e6, note)
        took = _milliseconds(Path(name) / COMPARISON_PAGE)
        if took:
            note = f"{MOST_COMPARED * (MOST_COMPARED - 1) // 2} pairs in four metrics"
            yield Measure("compare_time", took, f"{note}, until the next frame")


def _write(site: Path, benchmark: Benchmark, samples: list[Sample]) -> int:
    """Write a page with all runs but no answers. Returns the size of its data."""
    chance = np.random.default_rng(0)
    runs = []
    for i in range(RUNS):
        moved = _moved(samples[i % len(samples)], chance)
        runs.append(listed_run(f"run {i}", f"runs/run-{i}", compared_run(benchmark, moved)))
    content = payload.payload_file(COMPARISON, comparison_data(benchmark, runs))
    (site / COMPARISON_PAGE).parent.mkdir()
    (site / f"{COMPARISON}.js").write_bytes(content)
    (site / COMPARISON_PAGE).write_bytes(comparison_page(benchmark, frame=Frame("../")))
    return len(content)


def _moved(sample: Sample, chance: np.random.Generator) -> Sample:
    """A run of as many decimals whose scores are others, so that no two compress together."""
    values = {
        metric: [
            np.clip(each + chance.normal(0, SPREAD, len(each)), 0, None).round(
                5 if metric == "average" else 6
            )
            for each in sample.values[metric]
        ]
        for metric in METRICS
    }
    return replace(sample, values=values)


def _milliseconds(page_path: Path) -> float | None:
    """Milliseconds of a choice; nothing where there is no browser."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        return None
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_context(locale="en-GB").new_page()
        page.goto(page_path.as_uri())
        page.wait_for_selector(".verdict")
        took = float(page.evaluate(CHOOSE))
        browser.close()
    return took
