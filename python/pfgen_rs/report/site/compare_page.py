"""The page that compares any of several runs, question by question, with answers side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pfgen_rs.metrics.names import METRICS
from pfgen_rs.metrics.signature import signature
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.questions.sources import explained
from pfgen_rs.report.site.comparison_data import MOST_COMPARED
from pfgen_rs.report.site.pages import render
from pfgen_rs.report.site.run_page import reading

__all__ = ["COMPARISON", "COMPARISON_PAGE", "comparison_page"]

COMPARISON_PAGE = "compare/index.html"
"""Path of the page within a site."""

COMPARISON = "compare/data"
"""Name of the payload with what `comparison_data` gives."""

_PARTS = (
    "charts",
    "windows",
    "inspector",
    "answers",
    "diff",
    "flips",
    "statistics",
    "compared",
    "chooser",
    "compare_tables",
    "compare_answers",
    "compare",
)


def comparison_page(
    benchmark: QuestionSet,
    *,
    clean: str | None = None,
    most: int = MOST_COMPARED,
    root: str = "",
    nav: Sequence[tuple[str, str]] = (),
    payloads: Mapping[str, Any] | None = None,
) -> bytes:
    """Returns the page; its script makes all figures from the payload `COMPARISON`.

    `clean`: the modes for which answers were cleaned. `most`: maximum number of runs that are compared at a
    time, as in the payload. `root`, `nav` and `payloads` as for `run_page`.
    """
    return render(
        "compare",
        parts=_PARTS,
        root=root,
        nav=nav,
        here="compare",
        signature=signature(benchmark.metadata_hash, benchmark.settings, clean=clean),
        most=most,
        metrics=METRICS,
        explained=explained(source for question in benchmark for source in question.sources),
        data={"reading": reading(benchmark.settings), "comparison": COMPARISON},
        payloads=payloads or {},
    )
