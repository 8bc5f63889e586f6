"""Sources of reference answers as reports show them: in one order, and what the published names stand for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pfgen_rs.report.markdown import in_order

__all__ = ["PUBLISHED", "explained", "known", "order"]

PUBLISHED = {
    "P": "PLaMo-100b",
    "T": "Swallow-MX",
    "S": "stockmark-100b",
    "R": "RAG",
    "X": "unknown",
}
"""What wrote the reference answers of the published questions, by source."""


def order(sources: Sequence[str]) -> list[int]:
    """Places of sources in the order in which reports show them: as published, then as they come."""
    places = in_order({source: float(place) for place, source in enumerate(sources)})
    return [int(place) for place in places.values()]


def known(sources: Iterable[str]) -> dict[str, str]:
    """What the sources of a set stand for where all of them have published names; else nothing."""
    found = set(sources)
    if not found <= PUBLISHED.keys():
        return {}
    return {source: name for source, name in PUBLISHED.items() if source in found}


def explained(sources: Iterable[str]) -> str:
    """The same in a line, empty where there is nothing."""
    return ", ".join(f"{source} = {name}" for source, name in known(sources).items())
