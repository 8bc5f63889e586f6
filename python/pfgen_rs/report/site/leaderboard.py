"""The leaderboard page."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from pfgen_rs.checkout.entries import LEVEL, Entry
from pfgen_rs.checkout.leaderboard import model_key, run_labels
from pfgen_rs.report.site import charts, compare_page, folder, model_facts
from pfgen_rs.report.site.pages import render


def leaderboard_page(
    entries: Sequence[Entry],
    *,
    nav: Sequence[tuple[str, str]] = (),
    run_pages: Mapping[str, str] | None = None,
    comparison: str | None = None,
    signature: str = "",
    facts: model_facts.ModelFacts | None = None,
    is_complete: bool = True,
) -> bytes:
    """Returns the page with the leaderboard of `entries`, in their order.

    `run_pages`: path of each run's page within the site, by run; runs without a page are not links and cannot
    be compared. `comparison`: path of the page that compares runs, if there is one. `nav`: names (keys of
    strings) and paths of the site's pages. `facts`: sizes and dates of release (default: those of the
    package). `is_complete`: whether the pages that it leads to are there already.
    """
    pages = run_pages or {}
    keys = {key: i for i, key in enumerate(dict.fromkeys(map(model_key, entries)))}
    labels = run_labels(entries)
    ranked = [entry for entry in entries if entry.rank is not None] or entries
    return render(
        "leaderboard",
        parts=("overview", "flips", "statistics", "ranking", "leaderboard"),
        nav=nav,
        here="leaderboard",
        signature=signature,
        entries=entries,
        pages=pages,
        slugs={entry.run: folder.slug(entry.run) for entry in entries},
        labels=labels,
        overview=overview(entries, labels, model_facts.bundled_facts() if facts is None else facts),
        models={entry.run: keys[model_key(entry)] for entry in entries},
        axis=charts.Axis.of_most([_interval(entry) for entry in ranked]),
        ranked=max((entry.rank or 0 for entry in entries), default=0),
        choices={key: _choices(entries, key) for key in ("mode", "engine", "organisation")},
        comparison=comparison,
        means={"level": LEVEL, "means": [_means(entry) for entry in entries]},
        is_complete=is_complete,
        most_compared=compare_page.MOST_COMPARED,
    )


def _interval(entry: Entry) -> tuple[float, float]:
    low, high = entry.estimate.low, entry.estimate.high
    return (entry.score, entry.score) if low is None or high is None else (low, high)


def _means(entry: Entry) -> list[float] | None:
    """Returns the means of questions, by id, of a run that has ranges of ranks."""
    if entry.rank_low is None:
        return None
    return [mean for _, mean in sorted(entry.questions.items())] or None


def _choices(entries: Sequence[Entry], name: str) -> list[str]:
    """Returns the values of a column to choose from."""
    return sorted({getattr(entry, name) or "" for entry in entries} - {""}, key=str.casefold)


# What a leaderboard shows first: the leading models, and scores against sizes and dates of release.


LEADERS = 15
_FEW_ORGANISATIONS = 4
_FEW_POINTS = 4


@dataclass(frozen=True)
class Leaders:
    """The leading models: the best of each organisation or, where there are few of these, the best of all."""

    entries: Sequence[Entry]
    by_organisation: bool
    axis: charts.Axis


@dataclass(frozen=True)
class Overview:
    """What a leaderboard shows first: among others, plots of the models whose size or date is known.

    A plot of fewer than four models is `None`.
    """

    leaders: Leaders | None
    models: int
    sizes: charts.Scatter | None
    dates: charts.Scatter | None


def best_runs(entries: Sequence[Entry]) -> list[Entry]:
    """Returns the best run of each ranked model, best first."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if entry.rank is not None:
            found.setdefault(model_key(entry), entry)
    return list(found.values())


def overview(
    entries: Sequence[Entry], labels: Mapping[str, str], facts: model_facts.ModelFacts
) -> Overview:
    """Returns what is shown first of these entries, which are in the order of their ranks."""
    best = best_runs(entries)
    return Overview(
        leaders=_leaders(best),
        models=len(best),
        sizes=_plot(best, labels, facts.parameters_of, _placed_size, charts.size_ticks),
        dates=_plot(best, labels, facts.released_of, _placed_date, charts.date_ticks),
    )


def _leaders(best: Sequence[Entry]) -> Leaders | None:
    if not best:
        return None
    first: dict[str, Entry] = {}
    for entry in best:
        first.setdefault((entry.organisation or entry.model).casefold(), entry)
    by_organisation = len(first) >= _FEW_ORGANISATIONS
    shown = list(first.values() if by_organisation else best)[:LEADERS]
    return Leaders(shown, by_organisation, charts.Axis.of_most([_interval(e) for e in shown]))


def _plot(
    best: Sequence[Entry],
    labels: Mapping[str, str],
    fact: Callable[..., model_facts.Fact | None],
    placed: Callable[[Any], tuple[float, str]],
    ticks: charts.Ticks,
) -> charts.Scatter | None:
    """Returns the scores against a fact; `fact` takes names, `placed` gives a value's place and text."""
    points = []
    for entry in best:
        found = fact(*_fact_names(entry))
        if found is not None and math.isfinite(entry.score):
            place, text = placed(found.value)
            label = labels[entry.run]
            points.append(charts.Point(place, entry.score, label, text, found.source, entry.run))
    return charts.Scatter(points, ticks) if len(points) >= _FEW_POINTS else None


def _fact_names(entry: Entry) -> tuple[str, ...]:
    """Returns the names under which facts may know a model, its own first."""
    own = entry.model.rpartition("/")[2]
    return (entry.model, f"{entry.organisation}/{own}") if entry.organisation else (entry.model,)


def _placed_size(billions: float) -> tuple[float, str]:
    return math.log10(billions), size_text(billions)


def _placed_date(day: date) -> tuple[float, str]:
    return day.toordinal(), day.isoformat()


def size_text(billions: float) -> str:
    """Returns a number of parameters as names write it ("7B", "0.5B" as "500M", "1.2T").

    >>> [size_text(size) for size in (671, 1.8, 0.15, 1200)]
    ['671B', '1.8B', '150M', '1.2T']
    """
    if billions >= 1000:
        return f"{billions / 1000:g}T"
    return f"{billions:g}B" if billions >= 1 else f"{round(billions * 1000, 1):g}M"
