"""The leaderboard page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pfgen_rs.checkout.entries import LEVEL, Entry
from pfgen_rs.report.site import names
from pfgen_rs.report.site.charts import Axis
from pfgen_rs.report.site.comparison_data import MOST_COMPARED
from pfgen_rs.report.site.model_facts import ModelFacts, bundled_facts
from pfgen_rs.report.site.overview import overview
from pfgen_rs.report.site.pages import render

__all__ = ["leaderboard_page"]


def leaderboard_page(
    entries: Sequence[Entry],
    *,
    nav: Sequence[tuple[str, str]] = (),
    run_pages: Mapping[str, str] | None = None,
    comparison: str | None = None,
    signature: str = "",
    facts: ModelFacts | None = None,
    is_complete: bool = True,
) -> bytes:
    """Returns the page with the leaderboard of `entries`, in their order.

    `run_pages`: path of each run's page within the site, by run; runs without a page are not links and cannot
    be compared. `comparison`: path of the page that compares runs, if there is one. `nav`: names (keys of
    strings) and paths of the site's pages. `facts`: sizes and dates of release (default: those of the
    package). `is_complete`: whether the pages that it leads to are there already.
    """
    pages = run_pages or {}
    keys = {key: i for i, key in enumerate(dict.fromkeys(map(names.model_key, entries)))}
    labels = names.labels(entries)
    ranked = [entry for entry in entries if entry.rank is not None] or entries
    return render(
        "leaderboard",
        parts=("overview", "statistics", "leaderboard"),
        nav=nav,
        here="leaderboard",
        signature=signature,
        entries=entries,
        pages=pages,
        slugs={entry.run: names.slug(entry.run) for entry in entries},
        labels=labels,
        overview=overview(entries, labels, bundled_facts() if facts is None else facts),
        models={entry.run: keys[names.model_key(entry)] for entry in entries},
        axis=Axis.of_most([_leaderboard_page_interval(entry) for entry in ranked]),
        ranked=max((entry.rank or 0 for entry in entries), default=0),
        choices={
            key: _leaderboard_page_choices(entries, key)
            for key in ("mode", "engine", "organisation")
        },
        comparison=comparison,
        means={"level": LEVEL, "means": [_leaderboard_page_means(entry) for entry in entries]},
        is_complete=is_complete,
        most_compared=MOST_COMPARED,
    )


def _leaderboard_page_interval(entry: Entry) -> tuple[float, float]:
    low, high = entry.estimate.low, entry.estimate.high
    return (entry.score, entry.score) if low is None or high is None else (low, high)


def _leaderboard_page_means(entry: Entry) -> list[float] | None:
    """Returns the means of questions, by id, of a run that has ranges of ranks."""
    if entry.rank_low is None:
        return None
    return [mean for _, mean in sorted(entry.questions.items())] or None


def _leaderboard_page_choices(entries: Sequence[Entry], name: str) -> list[str]:
    """Returns the values of a column to choose from."""
    return sorted({getattr(entry, name) or "" for entry in entries} - {""}, key=str.casefold)
