"""A run has one interval by default: that over questions by Student's t, wherever its score is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from helpers import pfgen
from pfgen_rs import Benchmark, score_file, stats
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.runs.sample import sample_of

NAMED = "over questions (Student's t)"


@pytest.fixture(scope="module")
def runs() -> list[Path]:
    return [bundled_path() / "runs" / name for name in ("faithful", "careless")]


def test_score_compare_and_page_show_the_same_interval(
    runs: list[Path], mini: Benchmark, tmp_path: Path
) -> None:
    result = score_file(runs[0], mini)
    found = stats.estimate(sample_of(result))
    assert found.low is not None
    assert found.high is not None
    low, high = f"{found.low:.3f}", f"{found.high:.3f}"
    table = pfgen("score", runs[0])
    assert f"[{low}, {high}]" in table.stdout
    assert NAMED in table.stdout
    [row] = json.loads(pfgen("score", runs[0], "--format", "json").stdout)
    # Published figures have five decimals.
    assert (row["score_low"], row["score_high"]) == pytest.approx((found.low, found.high), abs=1e-5)
    compared = pfgen("compare", *runs, "--metric", "average", "--limit", "0").stdout
    [line] = [line for line in compared.splitlines() if "mini/faithful  0." in line]
    assert f" {low} to {high} " in line
    [caption] = [line for line in compared.splitlines() if line.startswith("intervals: ")]
    assert NAMED in caption
    result.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count(f"{low}–{high}") == 2  # of the score, and in the table of metrics
    assert "over questions (Student's t" in page.replace("&#39;", "'")
    assert "bootstrap" not in page


def test_the_other_interval_is_named(runs: list[Path]) -> None:
    found = json.loads(pfgen("compare", *runs, "--format", "json").stdout)
    each = found["estimates"]["average"]["mini/faithful"]
    assert each["bootstrap_low"] == pytest.approx(each["low"], abs=0.01)
    assert each["bootstrap_low"] != each["low"]
    shown = pfgen("compare", *runs, "--limit", "0").stdout
    [verdict] = [line for line in shown.splitlines() if " more than " in line]
    assert re.search(r"\(95 % bootstrap interval [+-]0\.", verdict)
    assert "of differences, from a bootstrap over questions and trials" in shown
