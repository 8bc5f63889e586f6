"""What a published site is told of itself: `site.toml`, a file that is checked key by key."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.source import read_toml
from pfgen_rs.llm_jp_eval.registry import typed
from pfgen_rs.report.site.about_page import About
from pfgen_rs.report.site.model_facts import ModelFacts, bundled_facts, read_facts
from pfgen_rs.site.build import SitePlan
from pfgen_rs.site.sources import given

FILE = "site.toml"
LARGEST_LOGO = 200_000
"""Maximum size of a logo in bytes."""
CONTRAST = 4.5
"""Least contrast of links with what is behind them (WCAG 2.2, AA)."""
_LOGOS = (".png", ".jpg", ".jpeg", ".webp", ".svg")
# A logo is an image, which runs nothing; but readers may open the file itself.
_RUNS = re.compile(rb"(?i)<script|<foreignobject|<!entity|javascript:|\son\w+\s*=")
_BEHIND = {"light": ("#ffffff", "#f1f2f3"), "dark": ("#16181c", "#24282e")}  # `common.css`
_COLOUR, _ADDRESS = re.compile(r"#[0-9a-fA-F]{6}"), re.compile(r'https?://[^\s<>"{}\\^`|]+')


@dataclass(frozen=True)
class Accent:
    """The colour of links, marks and pressed buttons in both themes, as `#rrggbb`."""

    light: str = "#00568f"
    dark: str = "#7cc0f5"

    def __post_init__(self) -> None:
        for theme, behind in _BEHIND.items():
            colour = getattr(self, theme)
            if not _COLOUR.fullmatch(colour):
                raise InputError(
                    f"accent.{theme} must be a colour such as #00568f, not {colour!r:.60}"
                )
            least = min(contrast(colour, other) for other in behind)
            if least < CONTRAST:
                advice = "a darker one" if theme == "light" else "a lighter one"
                problem = (
                    f"{colour} has a contrast of {least:.2f}, below {CONTRAST}: choose {advice}"
                )
                raise InputError(f"accent.{theme}: {problem}")

    def css(self) -> str:
        """Returns the custom properties that pages use."""
        soft = [
            f"color-mix(in srgb, {c} 14%, {b})"
            for c, b in zip((self.light, self.dark), ("#ffffff", "#16181c"), strict=True)
        ]
        colours = {"accent": (self.light, self.dark), "accent-soft": soft}
        lines = (f"--{name}: light-dark({', '.join(both)});" for name, both in colours.items())
        return f":root {{ {' '.join(lines)} }}\n"


def contrast(one: str, other: str) -> float:
    """Returns the contrast ratio of two colours, 1 to 21 (WCAG 2.2, relative luminance)."""
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [part / 255 for part in bytes.fromhex(colour[1:])]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@dataclass(frozen=True, kw_only=True)
class SiteConfig(About):
    """A site's configuration; names of files are relative to its folder, that of `path`.

    `sources`: folders and files with results. `benchmark`: of the runs. `aliases`: which names mean the same
    model. `facts`: facts about models. `logo`: an image.
    """

    sources: tuple[str, ...]
    benchmark: str = "pfgen-bench"
    aliases: str = ""
    facts: str = ""
    logo: str = ""
    accent: Accent = Accent()
    path: Path = Path(FILE)

    def plan(self) -> SitePlan:
        """Returns what the site is made of."""
        return SitePlan(
            [given(self.path.parent / source) for source in self.sources],
            self.benchmark,
            self._file(self.aliases),
            self.facts_path,
            self,
            self.accent.css(),
            self._file(self.logo),
        )

    @property
    def facts_path(self) -> Path | None:
        """The file with facts about models, if it names one."""
        return self._file(self.facts)

    def _file(self, name: str) -> Path | None:
        return self.path.parent / name if name else None


def read_site(path: str | Path) -> SiteConfig:
    """Read `site.toml`, or that of a folder. Raises `ConfigError` and `InputError`, naming file and key."""
    file = Path(path)
    file = file / FILE if file.is_dir() else file
    record = read_toml(file)
    try:
        found: SiteConfig = replace(typed(SiteConfig, record), path=file)
        _check(found)
    except InputError as error:
        raise InputError(error.problem, path=error.path or file) from None
    return found


def plan_of(
    places: Sequence[Path],
    benchmark: str | None = None,
    aliases: Path | None = None,
    facts: Path | None = None,
) -> SitePlan:
    """Returns the plan of a site from folders and files with results, or from one folder with a `site.toml`.

    What is given beside a `site.toml` comes before what it says. Raises as `read_site` does, and `InputError`
    for places that do not exist, and a `site.toml` among others.
    """
    paths = [given(place) for place in places]
    whole = [place for place in places if place.name == FILE or (place / FILE).is_file()]
    if whole and len(places) > 1:
        problem = (
            f"is a site with a {FILE}: give it alone, and name what else there is in 'sources'"
        )
        raise InputError(problem, path=whole[0])
    own: dict[str, Any] = {"benchmark": benchmark, "aliases": aliases, "facts": facts}
    plan = read_site(whole[0]).plan() if whole else SitePlan(paths)
    return replace(plan, **{key: value for key, value in own.items() if value is not None})


def facts_in(path: Path) -> ModelFacts:
    """Returns the facts of a file, or of that which a `site.toml` names. Raises as their readers do."""
    named = read_site(path).facts_path if path.name == FILE else path
    return bundled_facts() if named is None else read_facts(named)


def _check(found: SiteConfig) -> None:
    for key, text in {"title.ja": found.title.ja, "title.en": found.title.en}.items():
        if not text.strip():
            raise InputError(f"{key!r} must not be empty")
    if not found.sources:
        raise InputError("'sources' must name at least one folder")
    if found.url and not _ADDRESS.fullmatch(found.url):
        raise InputError(
            f"'url' must be an address such as https://example.org/board/, not {found.url!r:.60}"
        )
    if not re.fullmatch(r"[A-Za-z0-9:_-]+", found.citation.key):
        raise InputError(
            f"'citation.key' must be letters, digits, - and _, not {found.citation.key!r:.60}"
        )
    if found.logo:
        _check_logo(found.path.parent / found.logo)


def _check_logo(path: Path) -> None:
    if path.suffix.lower() not in _LOGOS:
        raise InputError(f"logo: expected a file that ends in {', '.join(_LOGOS)}", path=path)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_LOGO + 1)
    except OSError as error:
        raise InputError(f"logo: {unreadable(error)}", path=path) from error
    if len(content) > LARGEST_LOGO:
        raise InputError(f"logo: more than {LARGEST_LOGO:,} bytes: choose a smaller one", path=path)
    if path.suffix.lower() == ".svg" and _RUNS.search(content):
        raise InputError("logo: contains scripts or other active content: remove it", path=path)
