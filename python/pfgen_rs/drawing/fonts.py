"""A font with Japanese glyphs: the one that is named, or that of the extra `plots`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfgen_rs.errors import PlotError

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font


ENVIRONMENT = "PFGEN_RS_FONT"
LATIN = "DejaVu Sans"  # comes with matplotlib, so that figures look the same everywhere
BROUGHT_BY = "matplotlib_fontja"  # never imported, since that changes matplotlib's settings
_BROUGHT = f"{BROUGHT_BY}/fonts/ipaexg.ttf"  # IPAexGothic
_PROBE = "あア漢、。"
_FILES = (".ttf", ".otf", ".ttc", ".otc")


def japanese_font(wanted: str | None = None) -> str:
    """Returns the family of a font with Japanese glyphs.

    `wanted`: a family or a font file (default: the environment variable PFGEN_RS_FONT, then IPAexGothic,
    which the extra `plots` brings, so that figures look the same everywhere). Raises `PlotError` if the
    named font does not exist or lacks Japanese glyphs.
    """
    name = wanted or os.environ.get(ENVIRONMENT)
    return _font_named(name) if name else _default_font()


def lacks(family: str, text: str) -> set[str]:
    """Returns the characters of `text` that a font has no glyph for."""
    font = _font_of_family(family)
    return {c for c in text if font is None or not font.get_char_index(ord(c))}


@cache
def advance(character: str, families: tuple[str, ...]) -> float:
    """Returns the width of a character in em, in the first of these families that has a glyph for it."""
    from matplotlib.ft2font import LoadFlags

    for family in families:
        font = _font_of_family(family)
        if font is not None and font.get_char_index(ord(character)):
            glyph = font.load_char(ord(character), flags=LoadFlags.NO_SCALE)
            return float(glyph.horiAdvance) / float(font.units_per_EM)
    return 1.0  # drawn as a box


def _font_named(name: str) -> str:
    if name.lower().endswith(_FILES):
        name = _font_added(name)
    if _font_of_family(name) is None:
        raise PlotError(
            f"unknown font {name!r}: expected a family that matplotlib knows, or a font file"
        )
    if lacks(name, _PROBE):
        raise PlotError(f"font {name!r} has no Japanese glyphs: choose another font")
    return name


def _font_added(file: str) -> str:
    """Register a font file with matplotlib; returns its family."""
    from matplotlib import font_manager

    try:
        font_manager.fontManager.addfont(Path(file))
        return font_manager.get_font(file).family_name
    except (OSError, RuntimeError) as error:
        raise PlotError(f"{file}: not a readable font: {error}") from error
    finally:
        _font_of_family.cache_clear()
        advance.cache_clear()


@cache
def _default_font() -> str:
    return _font_added(str(distribution(BROUGHT_BY).locate_file(_BROUGHT)))


@cache
def _font_of_family(family: str) -> FT2Font | None:
    from matplotlib import font_manager

    # A list, since a lone name is read as a fontconfig pattern, in which hyphens have a meaning.
    sought: Any = font_manager.FontProperties(family=[family])
    try:
        path = font_manager.findfont(sought, fallback_to_default=False)
    except ValueError:
        return None
    return font_manager.get_font(path)


# Names shortened to a width: both ends stay, and what is added to a name, such as the mode.


MEAN_WIDTH = 0.6  # em, of a character in names; the unit of all widths here
_ADDED = " · "  # separates a name from what is added to it
_ADDED_SHARE = 0.6  # of the width, at most, for what is added
_SHARES = (0.5, 0.7, 0.3, 0.85, 0.15)  # of a name's beginning in what is shown, tried in this order
_GAP = "…"


def text_width(text: str, families: Sequence[str]) -> float:
    """Returns the width of a line, without kerning, as a number of mean characters (0.6 em)."""
    return sum(advance(c, tuple(families)) for c in text) / MEAN_WIDTH


def shortened(text: str, families: Sequence[str], width: float, share: float = 0.5) -> str:
    """Returns a text no wider than `width`: `organisation/a-very…-preview · chat`.

    What follows the first ` · ` is kept whole if it fits. `share`: the beginning's part of what is left of
    the name. Time O(length).
    """
    if text_width(text, families) <= width:
        return text
    name, separator, added = text.partition(_ADDED)
    added = separator + added
    if text_width(added, families) > _ADDED_SHARE * width:
        name, added = text, ""
    room = width - text_width(added + _GAP, families)
    head = _fitting_part(name, families, share * room)
    rest = room - text_width(head, families)
    tail = _fitting_part(reversed(name[len(head) :]), families, rest)[::-1]
    return f"{head}{_GAP}{tail}{added}"


def _fitting_part(characters: Iterable[str], families: Sequence[str], room: float) -> str:
    """Returns as many of the first characters as fit."""
    found = []
    for c in characters:
        room -= advance(c, tuple(families)) / MEAN_WIDTH
        if room < -1e-9:
            break
        found.append(c)
    return "".join(found)


def shortened_apart(texts: Sequence[str], shorten: Callable[[str, float], str]) -> list[str]:
    """Returns texts shortened such that different ones look different, if another place of the cut helps.

    `shorten`: takes a text and the share of its beginning.
    """
    places = dict.fromkeys(texts, 0)
    while True:
        found = {text: shorten(text, _SHARES[place]) for text, place in places.items()}
        counts = Counter(found.values())
        alike = [
            text
            for text, place in places.items()
            if counts[found[text]] > 1 and place < len(_SHARES) - 1
        ]
        if not alike:
            return [found[text] for text in texts]
        for text in alike:
            places[text] += 1
