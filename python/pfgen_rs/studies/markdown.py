"""Tables of studies as Markdown, and how their numbers are written."""

from __future__ import annotations

from collections.abc import Sequence

from pfgen_rs.report.markup import inert

__all__ = ["correlation_text", "interval_text", "markdown_table"]


_ROUNDING = 1e-12  # of a coefficient


def correlation_text(value: float | None, digits: int = 4) -> str:
    """Returns a coefficient as text: never rounded to 1 if it is less by more than a rounding error."""
    if value is None or value != value:
        return "–"
    text = f"{value:z.{digits}f}"
    if abs(float(text)) == 1.0 and 1.0 - abs(value) > _ROUNDING:
        return correlation_text(value, digits + 1)
    return text


def interval_text(low: float | None, high: float | None, digits: int = 4) -> str:
    """Returns the bounds of an interval as text."""
    if low is None or high is None:
        return "–"
    return f"{correlation_text(low, digits)} to {correlation_text(high, digits)}"


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Returns a table whose first `texts` columns are aligned left, the others right; cells are escaped."""
    aligned = [":--" if place < texts else "--:" for place in range(len(headings))]
    lines = [map(inert, headings), aligned, *(map(inert, row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
