"""Numbers as figures show them."""

from __future__ import annotations

__all__ = ["fixed"]


def fixed(value: float, digits: int) -> str:
    """Format a number with this many decimals and a proper minus sign, which a zero does not have.

    >>> fixed(-0.12345, 4), fixed(-0.00001, 4)
    ('−0.1235', '0.0000')
    """
    shown = f"{value:.{digits}f}"
    return shown.lstrip("-") if not float(shown) else shown.replace("-", "−")
