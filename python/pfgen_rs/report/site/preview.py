"""The image that other pages show beside a link to a site: its leading models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pfgen_rs.checkout.entries import Entry
from pfgen_rs.drawing import style
from pfgen_rs.errors import SettingsError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PREVIEW", "image_address", "preview"]

PREVIEW = "preview.png"
"""The image's path within a site."""

_WIDTH, _HEIGHT = 8.0, 4.2  # inches: 1200 by 630 pixels, as most pages show it
_SHOWN = 10
_NAME_WIDTH = 34
_BLUE = "#0072b2"
# A query or a fragment, even an empty one, and what no URL contains.
_NOT_OF_SITE = re.compile(r"[?#\s\x00-\x1f]")


def image_address(url: str | None) -> str:
    """Returns the address of the image of a site at `url`, or its path within the site if that is unknown.

    Raises `SettingsError` for what is no address of a web site.
    """
    if url is None:
        return PREVIEW
    try:
        parts = urlsplit(url)
        is_site = parts.scheme in ("http", "https") and parts.hostname is not None
    except ValueError:  # such as half of an IPv6 address
        is_site = False
    if not is_site or _NOT_OF_SITE.search(url):
        raise SettingsError(
            f"invalid URL {url!r}: expected the address of the site, such as https://example.com/pfgen/"
        )
    return f"{url.rstrip('/')}/{PREVIEW}"


def preview(leaders: Sequence[Entry], labels: Mapping[str, str], title: str) -> bytes | None:
    """Returns the scores of the first of these entries as PNG, 1200 by 630 pixels.

    `None` without matplotlib (extra `plots`) or without entries. No other thread should draw meanwhile.
    """
    if not style.available() or not leaders:
        return None
    from pfgen_rs.drawing.saving import finish, png  # slow to import, like matplotlib itself

    shown = leaders[:_SHOWN]
    with style.drawing("ja") as look:
        figure = look.figure(title, title, _WIDTH, _HEIGHT)
        axes = figure.subplots()
        _scores_in_preview(axes, shown)
        axes.set_yticks(range(len(shown)), look.names([labels[e.run] for e in shown], _NAME_WIDTH))
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlabel(look.say("Score (95 % interval over questions, Student's t)"))
        axes.grid(visible=False, axis="y")
        return png(finish(figure, title))


def _scores_in_preview(axes: Axes, shown: Sequence[Entry]) -> None:
    for row, entry in enumerate(shown):
        low, high = entry.estimate.low, entry.estimate.high
        if low is not None and high is not None:
            axes.hlines(row, low, high, color=_BLUE, linewidth=2.2)
        axes.plot(entry.score, row, "o", color=_BLUE, markersize=8, markeredgecolor="white")
        axes.annotate(
            f"{entry.score:.3f}",
            (max(entry.score, high or entry.score), row),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
