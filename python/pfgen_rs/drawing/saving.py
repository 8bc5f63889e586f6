"""Figures as SVG and PNG: the same figure gives the same bytes."""

from __future__ import annotations

import io
import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfgen_rs.drawing.style import matplotlib_settings
from pfgen_rs.errors import OutputError
from pfgen_rs.io import write_atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "SVG_DPI", "finish", "fix_layout", "png", "save", "svg"]

FORMATS = (".svg", ".png")
SVG_DPI = 72
_DPI = {"svg": SVG_DPI, "png": 150}


def fix_layout(figure: Figure) -> None:
    """Lay a figure out for the last time.

    Another pass would move things slightly, and the same figure would give different bytes.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")


def finish(figure: Figure, description: str) -> Figure:
    """Give a figure a description for readers who cannot see it, and fix its layout.

    Parts that matplotlib makes while drawing are made now, with the current settings.
    """
    figure.set_label(description)
    fix_layout(figure)
    figure.draw_without_rendering()
    return figure


def svg(figure: Figure) -> bytes:
    """Returns the figure as SVG; text as shapes, with `<title>` and `<desc>` for screen readers."""
    content = _figure_for_saving(figure, "svg", {"Date": None, "Title": figure.get_suptitle()})
    described = f"</title>\n <desc>{escape(str(figure.get_label()))}</desc>".encode()
    content = content.replace(b"</title>", described, 1)
    return content.replace(b"<svg ", b'<svg role="img" ', 1)


def png(figure: Figure) -> bytes:
    """Returns the figure as PNG, 150 dots per inch."""
    about = {"Software": None, "Title": figure.get_suptitle(), "Description": figure.get_label()}
    return _figure_for_saving(figure, "png", about)


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as SVG or PNG, by the path's suffix, atomically; raises `OutputError`."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise OutputError(
            f"{path}: unknown format {suffix!r}: expected one of {', '.join(FORMATS)}"
        )
    write_atomic(path, svg(figure) if suffix == ".svg" else png(figure))


def _figure_for_saving(figure: Figure, kind: str, about: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with matplotlib_settings():
        figure.savefig(buffer, format=kind, dpi=_DPI[kind], metadata=about)
    return buffer.getvalue()
