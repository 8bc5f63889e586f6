"""A font with Japanese glyphs: named, or found among those installed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfgen_rs.errors import PlotError

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

__all__ = ["ENVIRONMENT", "LATIN", "FontWarning", "japanese_font", "lacks"]

ENVIRONMENT = "PFGEN_RS_FONT"
LATIN = "DejaVu Sans"  # comes with matplotlib, so that figures look the same everywhere
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
_MISSING = (
    "no installed font has Japanese glyphs, so Japanese text is drawn as escapes: install one (such as Noto "
    f"Sans CJK JP), or name one by --font or {ENVIRONMENT}"
)
_LAST_RESORT = "Last Resort"  # has a glyph for every character: a box that names its block
_FILES = (".ttf", ".otf", ".ttc", ".otc")


class FontWarning(UserWarning):
    """No Japanese font was found: what it would be needed for is drawn as escapes."""


def japanese_font(wanted: str | None = None) -> str | None:
    """The family of a font that has Japanese glyphs; none, with one `FontWarning`, where there is none.

    `wanted`: a family or a font's file; without it the environment variable PFGEN_RS_FONT names one, and
    without that the first usual one is taken. Raises `PlotError` where the one named does not exist or has
    no Japanese glyphs.
    """
    name = wanted or os.environ.get(ENVIRONMENT)
    return _named(name) if name else _found()


def lacks(family: str, text: str) -> set[str]:
    """The characters of `text` that a font has no glyph for."""
    font = _font(family)
    return {c for c in text if font is None or not font.get_char_index(ord(c))}


def _named(name: str) -> str:
    if name.lower().endswith(_FILES):
        name = _added(name)
    elif _font(name) is None:
        _add_new_ones()
    if _font(name) is None:
        raise PlotError(f"unknown font {name!r}: expected an installed family or a font file")
    if lacks(name, _PROBE):
        raise PlotError(f"font {name!r} has no Japanese glyphs: choose another font")
    return name


def _added(file: str) -> str:
    """The family of a font's file, which matplotlib knows from now on."""
    from matplotlib import font_manager

    try:
        font_manager.fontManager.addfont(Path(file))
        return font_manager.get_font(file).family_name
    except (OSError, RuntimeError) as error:
        raise PlotError(f"{file}: not a readable font: {error}") from error
    finally:
        _font.cache_clear()


@cache
def _found() -> str | None:
    found = next(_japanese(), None)
    if found is None:
        warnings.warn(_MISSING, FontWarning, stacklevel=2)
    return found


def _japanese() -> Iterator[str]:
    """Families with Japanese glyphs, the usual ones first."""
    yield from (name for name in _FAMILIES if not lacks(name, _PROBE))
    _add_new_ones()
    yield from (name for name in (*_FAMILIES, *_all_families()) if not lacks(name, _PROBE))


def _all_families() -> list[str]:
    from matplotlib import font_manager

    names = font_manager.get_font_names()
    return sorted(name for name in names if not name.startswith(_LAST_RESORT))


def _add_new_ones() -> None:
    """Let matplotlib know fonts that were installed after it made its list, which it keeps for ever."""
    from matplotlib import font_manager

    known = {str(entry.fname) for entry in font_manager.fontManager.ttflist}
    for path in sorted(set(font_manager.findSystemFonts()) - known):
        with suppress(Exception):  # whatever is wrong with a file that happens to lie there
            font_manager.fontManager.addfont(path)
    _font.cache_clear()


@cache
def _font(family: str) -> FT2Font | None:
    from matplotlib import font_manager

    # A list, since a lone name is read as a fontconfig pattern, in which hyphens have a meaning.
    sought: Any = font_manager.FontProperties(family=[family])
    try:
        path = font_manager.findfont(sought, fallback_to_default=False)
    except ValueError:
        return None
    return font_manager.get_font(path)
