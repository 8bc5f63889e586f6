"""The curve drawn."""

from __future__ import annotations

import os
from typing import Any, Literal

import polars as pl

__all__ = ["Axis", "plot_curve"]

Axis = Literal["step", "tokens"]


def plot_curve(
    curve: pl.DataFrame, path: str | os.PathLike[str], *, x: Axis = "step", **look: Any
) -> None:
    """Draw a curve as `.svg` or `.png`: score, its three parts and the interval against `step` or `tokens`.

    `look`: `title`, `language`, `font`, as for all figures. Needs the extra `plots`. Raises `PlotError` and
    `OutputError`.
    """
    from pfgen_rs.report import plots

    plots.save(plots.learning_curve(curve, x=x, **look), path)
