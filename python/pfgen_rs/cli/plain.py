"""Tables for logs: a line a row, in columns, nothing drawn."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["aligned", "number"]


def aligned(lines: Sequence[Sequence[str]], texts: int) -> str:
    """Lines of equally many cells; the last `texts` of them are texts, the others numbers."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(_line(cells, widths, len(widths) - texts) for cells in lines)


def _line(cells: Sequence[str], widths: Sequence[int], numbers: int) -> str:
    padded = [
        cell.rjust(width) if i < numbers else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip() + "\n"


def number(value: float | None) -> str:
    """A score to four places, or `-`."""
    return "-" if value is None else f"{value:.4f}"
