"""Sources of reference answers as reports show them: in one order, and what the published names stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["PUBLISHED", "explained", "known", "order", "sources_in_order"]

PUBLISHED = {
    "P": "PLaMo-100b",
    "T": "Swallow-MX",
    "S": "stockmark-100b",
    "R": "RAG",
    "X": "unknown",
}
"""What wrote the reference answers of the published questions, by source."""


_ORDER = ("P", "T", "S", "R")


def sources_in_order(shares: Mapping[str, float]) -> dict[str, float]:
    """By source, in the published order; sources that it does not know follow."""
    known = [source for source in _ORDER if source in shares]
    return {source: shares[source] for source in [*known, *(s for s in shares if s not in _ORDER)]}


def order(sources: Sequence[str]) -> list[int]:
    """Places of sources in the order in which reports show them: as published, then as they come."""
    places = sources_in_order({source: float(place) for place, source in enumerate(sources)})
    return [int(place) for place in places.values()]


def known(sources: Iterable[str]) -> dict[str, str]:
    """What the sources of a set stand for where all of them have published names; else nothing."""
    found = set(sources)
    if not found <= PUBLISHED.keys():
        return {}
    return {source: name for source, name in PUBLISHED.items() if source in found}


def explained(sources: Iterable[str]) -> str:
    """The same in one line, or nothing."""
    return ", ".join(f"{source} = {name}" for source, name in known(sources).items())
