"""Values of a report as text, the same in tables, Markdown and pages."""

from __future__ import annotations

from pfgen_rs.llm_jp_eval.report.estimates import ColumnEstimate

__all__ = ["bounds_text", "rank_text", "value_text"]


def value_text(estimate: ColumnEstimate, digits: int = 4) -> str:
    """Returns the value, `–` without one, with `*` where tasks or categories are missing."""
    if estimate.value is None:
        return "–"
    return f"{estimate.value:.{digits}f}{'*' if estimate.partial else ''}"


def bounds_text(low: float | None, high: float | None, form: str = ".3f") -> str:
    """Returns the bounds of an interval, nothing without them."""
    return "" if low is None or high is None else f"{low:{form}} to {high:{form}}"


def rank_text(ranks: tuple[int, int] | None) -> str:
    """Returns a range of ranks."""
    if ranks is None:
        return "–"
    return str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]}–{ranks[1]}"
