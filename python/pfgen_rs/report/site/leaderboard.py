"""The leaderboard page: what its table and drawings hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pfgen_rs.report.entries import Entry
from pfgen_rs.report.site import names
from pfgen_rs.report.site.pages import render

__all__ = ["Axis", "leaderboard_page"]

_STEP = 0.1
_WIDTH, _EDGE = 180.0, 8.0


@dataclass(frozen=True)
class Axis:
    """Scores from `low` to `high`, multiples of 0.1, drawn on a line of 180 units."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Axis:
        """The shortest axis that holds all values."""
        finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low = math.floor(min(finite) / _STEP + 1e-9)
        high = max(math.ceil(max(finite) / _STEP - 1e-9), low + 1)
        return cls(low * _STEP, high * _STEP)

    def at(self, value: float) -> float:
        """Where a value stands, to a tenth of a unit; the nearest end where it stands outside."""
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        return round(_EDGE + share * (_WIDTH - 2 * _EDGE), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Every tenth, and what is written at it: all, or every other where there are many."""
        count = round((self.high - self.low) / _STEP)
        every = 1 if count <= 6 else 2  # labels are 25 units wide
        values = [self.low + _STEP * i for i in range(count + 1)]
        return [(self.at(v), f"{v:.1f}" if i % every == 0 else "") for i, v in enumerate(values)]

    @property
    def grid(self) -> str:
        """Lines at the ticks that have a label, as a path."""
        return "".join(f"M{place:g} 0V16" for place, label in self.ticks if label)


def leaderboard_page(
    entries: Sequence[Entry],
    *,
    nav: Sequence[tuple[str, str]] = (),
    run_pages: Mapping[str, str] | None = None,
    comparisons: Mapping[Sequence[str], str] | None = None,
    signature: str = "",
) -> bytes:
    """The leaderboard of `entries`, in their order.

    `run_pages`: path of each run's page in the site, by run; runs without one are not links. `comparisons`:
    path of each comparison page, by its runs. `nav`: name (a string's key) and path of the site's pages.
    """
    pages = run_pages or {}
    bounds = [bound for e in entries for bound in (e.estimate.low, e.estimate.high)]
    means = [entry.estimate.mean for entry in entries]
    axis = Axis.of([*means, *(bound for bound in bounds if bound is not None)])
    return render(
        "leaderboard",
        nav=nav,
        here="leaderboard",
        signature=signature,
        entries=entries,
        pages=pages,
        slugs={entry.run: names.slug(entry.run) for entry in entries},
        axis=axis,
        ranked=max((entry.rank or 0 for entry in entries), default=0),
        choices={key: _choices(entries, key) for key in ("mode", "engine", "organisation")},
        comparisons={_key(runs): path for runs, path in (comparisons or {}).items()},
    )


def _choices(entries: Sequence[Entry], name: str) -> list[str]:
    """What can be chosen of a column."""
    return sorted({getattr(entry, name) or "" for entry in entries} - {""}, key=str.casefold)


def _key(runs: Sequence[str]) -> str:
    """Runs without their order."""
    return " ".join(sorted(names.slug(run) for run in runs))
