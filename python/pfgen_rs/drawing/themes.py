"""Figures for pages that are light or dark: one SVG for both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pfgen_rs.drawing.saving import svg
from pfgen_rs.drawing.style import FAINT, GRID, GROUNDS, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DARK", "themed_svg"]

DARK = "dark"
"""The fragment of an address that shows the dark figure: `figure.svg#dark`."""

_DARK_COLOURS = {
    "#ffffff": "#1e2126",
    INK: "#e6e8eb",
    FAINT: "#a3abb5",
    GRID: "#3a4048",
    GROUNDS[0]: "#332f20",
    GROUNDS[1]: "#463f28",
}
_COLOUR = re.compile(rb"(?<=fill: |roke: )#[0-9a-f]{6}")
_FIRST_GROUP = b'<g id="figure_1">'


def themed_svg(figure: Figure) -> bytes:
    """Returns the figure as SVG whose ground, texts and lines are light-on-dark at the fragment `#dark`.

    Colours of data stay, as they are legible on both. Within an image, the page's own colours cannot be
    known, but `:target` is what the address names.
    """
    names = {light.encode(): b"--c%d" % i for i, light in enumerate(_DARK_COLOURS)}
    content = _COLOUR.sub(
        lambda found: b"var(%b)" % names[found[0]] if found[0] in names else found[0], svg(figure)
    )
    light = _declared_colours(list(_DARK_COLOURS))
    dark = _declared_colours(list(_DARK_COLOURS.values()))
    style = f'<style type="text/css">svg{{{light}}}#{DARK}:target{{{dark}}}</style>\n'.encode()
    group = b'<g id="%b">' % DARK.encode()
    return content.replace(_FIRST_GROUP, style + group, 1)


def _declared_colours(colours: list[str]) -> str:
    return ";".join(f"--c{i}:{colour}" for i, colour in enumerate(colours))
