"""Counts with their nouns, in the singular or plural."""

from __future__ import annotations

__all__ = ["counted", "plural"]


def counted(count: int, noun: str) -> str:
    """Returns a count with its noun, whose plural ends in `s`: `1 task`, `1,200 tasks`."""
    return f"{count:,} {plural(count, noun, f'{noun}s')}"


def plural(count: int, one: str, many: str) -> str:
    """Returns the word that goes with a count: `one` for 1, else `many`."""
    return one if count == 1 else many
