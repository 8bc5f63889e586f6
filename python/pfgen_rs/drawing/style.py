"""The style of figures: fonts and names shortened in them, colours for any colour vision, words."""

import logging
import os
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypedDict, get_args

from pfgen_rs.drawing.names import cut, shortened_apart
from pfgen_rs.errors import OutputError, PlotError
from pfgen_rs.io.text import acts, escaped
from pfgen_rs.lazy import Figure

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
def _font_of_family(family: str) -> Any:
    """Returns matplotlib's font of a family, or `None`."""
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


def text_width(text: str, families: Sequence[str]) -> float:
    """Returns the width of a line, without kerning, as a number of mean characters (0.6 em)."""
    return sum(advance(c, tuple(families)) for c in text) / MEAN_WIDTH


def shortened(text: str, families: Sequence[str], width: float, share: float = 0.5) -> str:
    """Returns a text no wider than `width`: `organisation/a-very…-preview · chat`.

    What follows the first ` · ` is kept whole if it fits. `share`: the beginning's part of what is left of
    the name. Time O(length).
    """
    name, separator, added = text.partition(_ADDED)
    added = separator + added
    if text_width(added, families) > _ADDED_SHARE * width:
        name, added = text, ""

    def measured(part: str) -> float:
        return text_width(part, families)

    return cut(name, width - measured(added), measured, share) + added


# Words, colours, and the settings of matplotlib, whose user's are ignored.


Language = Literal["en", "ja"]


class _Texts(dict[str, str]):
    """Texts by their English; those of other packages' figures stay as they are."""

    def __missing__(self, text: str) -> str:
        return text


_FILE = Path(__file__).with_name("japanese.toml")
JAPANESE = _Texts(tomllib.loads(_FILE.read_text(encoding="utf-8")))


def translated(text: str, language: Language) -> str:
    """Returns a text in a language; raises `PlotError` for an unknown language."""
    if language not in get_args(Language):
        raise PlotError(
            f"unknown language {language!r}: expected one of {', '.join(get_args(Language))}"
        )
    return JAPANESE[text] if language == "ja" else text


# Okabe and Ito's, distinguishable with any colour vision, without the yellow, which is hard to see on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
INK, GREY = "#222222", "#8a8a8a"
FAINT = "#5c5c5c"  # of remarks, which must be legible all the same
GRID = "#e4e4e4"
GROUND = "#efe4cb"  # of a part of a panel
HEAT_MAP = "cividis"  # the colours of cells, for any colour vision, too
ON_DARK, ON_LIGHT = "#fefefe", "#212121"  # on coloured ground, whatever the theme
_TITLE = 100  # characters
_TITLE_SIZE = 13  # points
_BOLD = 1.15  # times as wide
NAME_WIDTH = 44
NEEDED = "plots need matplotlib and matplotlib-fontja: pip install 'pfgen_rs[plots]'"
# Text is drawn as shapes, so that a figure looks the same where its fonts are not installed; title and
# description serve screen readers.
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "path",
    "svg.hashsalt": "pfgen_rs",  # else names within the file would be random
    "text.parse_math": False,  # names are drawn literally, even $x^2$
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "figure.titlesize": _TITLE_SIZE,
    "figure.titleweight": "bold",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.constrained_layout.h_pad": 0.09,
    "figure.constrained_layout.w_pad": 0.09,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}


class LookOptions(TypedDict, total=False):
    """What every figure takes: a title, a language, and a Japanese font (family or file)."""

    title: str | None
    language: Language
    font: str | None


@dataclass(frozen=True)
class Look:
    """The language and the fonts of a figure, and its title, if it is not the usual one."""

    language: Language
    families: tuple[str, ...]
    title: str | None = None

    def say(self, text: str) -> str:
        """Returns one of our own words in the figure's language."""
        return translated(text, self.language)

    def name(self, text: object, width: float = NAME_WIDTH, share: float = 0.5) -> str:
        """Returns other people's text as it can be drawn: in one line, shortened in the middle.

        `width`: in characters of mean width, which Japanese ones exceed; what is added to a name with ` · `,
        such as a run's mode, is kept; see `shortened`. Control characters, bidirectional overrides and
        characters without a glyph are escaped.
        """
        shown = str(text)
        most = 4 * int(width)
        if len(shown) > 2 * most:  # what is not shown needs no escaping
            shown = shown[:most] + "…" + shown[-most:]
        unknown = set.intersection(*(lacks(family, shown) for family in self.families))
        shown = "".join(escaped(c) if c in unknown or acts(c) else c for c in shown)
        return shortened(shown, self.families, width, share)

    def names(self, texts: Iterable[object], width: float = NAME_WIDTH) -> list[str]:
        """Returns other people's texts as `name` does; different ones look different if they can."""
        whole = [str(text) for text in texts]
        short = shortened_apart(whole, lambda text, share: self.name(text, width, share))
        return [short[text] for text in whole]

    def figure(
        self,
        title: str | None,
        usual: str,
        width: float,
        height: float,
        *,
        subject: str | None = None,
    ) -> Figure:
        """Returns an empty figure, `width` x `height` inches.

        It is titled `title` or else `usual` (ours), with the name of what it is about, `subject`.
        """
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        fitting = 72 * (width - 0.3) / (_TITLE_SIZE * _BOLD * MEAN_WIDTH)
        if title is None:
            about = "" if subject is None else f": {self.name(subject)}"
            figure.suptitle(self.say(usual) + about)
        else:
            figure.suptitle(self.name(title, min(_TITLE, fitting)))
        return figure


def available() -> bool:
    """Whether matplotlib and the package of the default font are installed (the extra `plots`)."""
    return all(find_spec(name) for name in ("matplotlib", BROUGHT_BY))


def drawn_with() -> list[str | None]:
    """Returns what figures depend on besides this package: matplotlib's version, and the font asked for."""
    return [version("matplotlib") if available() else None, os.environ.get(ENVIRONMENT)]


@contextmanager
def drawing(
    language: Language = "en", font: str | None = None, title: str | None = None
) -> Iterator[Look]:
    """Apply this package's matplotlib settings within the block; yields what to draw with.

    Settings are global to the process, so no other thread should draw meanwhile. Raises `OutputError` if the
    extra `plots` is missing, and `PlotError` for an unknown language or an unusable font.
    """
    if not available():
        raise OutputError(NEEDED)
    with _quiet_about_fonts():
        families = (LATIN, japanese_font(font))
    look = Look(language, families, title)
    look.say("Score")  # fail early for an unknown language
    with matplotlib_settings(families):
        yield look


@contextmanager
def matplotlib_settings(families: Sequence[str] = (LATIN,)) -> Iterator[None]:
    """Apply matplotlib's settings for all figures within the block; the previous ones are restored."""
    import matplotlib as mpl

    with mpl.rc_context(), _quiet_about_fonts():
        mpl.rcdefaults()
        mpl.rcParams.update({**_STYLE, "font.family": list(families)})
        yield


@contextmanager
def _quiet_about_fonts() -> Iterator[None]:
    """Silence warnings within the block, such as that a Japanese font has no bold face."""
    logger = logging.getLogger("matplotlib.font_manager")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
