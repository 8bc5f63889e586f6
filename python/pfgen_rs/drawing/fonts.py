"""Finding a font with Japanese glyphs: by name, among the installed ones; else that of the extra `plots`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfgen_rs.errors import PlotError

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

__all__ = ["BROUGHT_BY", "ENVIRONMENT", "LATIN", "advance", "japanese_font", "lacks"]

ENVIRONMENT = "PFGEN_RS_FONT"
LATIN = "DejaVu Sans"  # comes with matplotlib, so that figures look the same everywhere
BROUGHT_BY = "matplotlib_fontja"  # never imported, since that changes matplotlib's settings
_BROUGHT = f"{BROUGHT_BY}/fonts/ipaexg.ttf"  # IPAexGothic
_FAMILIES = (
    "Noto Sans CJK JP",
    "Noto Sans JP",
    "Source Han Sans JP",
    "Hiragino Sans",
    "Hiragino Kaku Gothic ProN",
    "Yu Gothic",
    "Meiryo",
    "BIZ UDPGothic",
    "IPAexGothic",
    "IPAPGothic",
    "IPAGothic",
    "TakaoPGothic",
    "TakaoGothic",
    "VL PGothic",
    "MS Gothic",
)
_PROBE = "あア漢、。"
_LAST_RESORT = "Last Resort"  # has a glyph for every character: a box that names its block
_FILES = (".ttf", ".otf", ".ttc", ".otc")


def japanese_font(wanted: str | None = None) -> str:
    """Returns the family of a font with Japanese glyphs.

    `wanted`: a family or a font file (default: the environment variable PFGEN_RS_FONT, then the first known
    family that is installed, then IPAexGothic, which the extra `plots` brings). Raises `PlotError` if the
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
    elif _font_of_family(name) is None:
        _add_new_fonts()
    if _font_of_family(name) is None:
        raise PlotError(f"unknown font {name!r}: expected an installed family or a font file")
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
        _forget_fonts()


@cache
def _default_font() -> str:
    brought = distribution(BROUGHT_BY).locate_file(_BROUGHT)
    return next(_japanese_font_families(), None) or _font_added(str(brought))


def _japanese_font_families() -> Iterator[str]:
    """Yield families with Japanese glyphs, common ones first."""
    yield from (name for name in _FAMILIES if not lacks(name, _PROBE))
    _add_new_fonts()
    yield from (name for name in (*_FAMILIES, *_all_font_families()) if not lacks(name, _PROBE))


def _all_font_families() -> list[str]:
    from matplotlib import font_manager

    names = font_manager.get_font_names()
    return sorted(name for name in names if not name.startswith(_LAST_RESORT))


def _add_new_fonts() -> None:
    """Register fonts that were installed after matplotlib cached its list of fonts."""
    from matplotlib import font_manager

    known = {str(entry.fname) for entry in font_manager.fontManager.ttflist}
    for path in sorted(set(font_manager.findSystemFonts()) - known):
        with suppress(Exception):  # a broken font file must not stop the search
            font_manager.fontManager.addfont(path)
    _forget_fonts()


def _forget_fonts() -> None:
    _font_of_family.cache_clear()
    advance.cache_clear()


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
