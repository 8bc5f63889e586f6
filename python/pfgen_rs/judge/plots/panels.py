"""What figures with a panel for each judge share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pfgen_rs.errors import PlotError

__all__ = ["MOST", "check_panels", "grid_of"]

MOST = 9
"""Panels of a figure."""
_ACROSS = 3


def check_panels(panels: Mapping[str, Any]) -> None:
    """Raise `PlotError` for no panels and for too many."""
    if not panels:
        raise PlotError("nothing to draw: no judge")
    if len(panels) > MOST:
        raise PlotError(f"too many judges for one figure: {len(panels)}, at most {MOST}")


def grid_of(panels: int) -> tuple[int, int]:
    """Returns the number of rows and columns for panels."""
    across = 2 if panels == 4 else min(panels, _ACROSS)
    return math.ceil(panels / across), across
