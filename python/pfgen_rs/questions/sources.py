"""The order of reference sources in reports, and the meaning of their published names."""

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
"""The model that wrote the reference answers of the published questions, by source."""


_ORDER = ("P", "T", "S", "R")


def sources_in_order(shares: Mapping[str, float]) -> dict[str, float]:
    """Returns the shares by source in the published order, followed by other sources."""
    known = [source for source in _ORDER if source in shares]
    return {source: shares[source] for source in [*known, *(s for s in shares if s not in _ORDER)]}


def order(sources: Sequence[str]) -> list[int]:
    """Returns the indices of the sources in the order of reports: as published, then other sources."""
    places = sources_in_order({source: float(place) for place, source in enumerate(sources)})
    return [int(place) for place in places.values()]


def known(sources: Iterable[str]) -> dict[str, str]:
    """Returns what the sources of a set stand for if all of them have published names; else empty."""
    found = set(sources)
    if not found <= PUBLISHED.keys():
        return {}
    return {source: name for source, name in PUBLISHED.items() if source in found}


def explained(sources: Iterable[str]) -> str:
    """Returns the same as one line of text; empty if there is nothing to explain."""
    return ", ".join(f"{source} = {name}" for source, name in known(sources).items())
