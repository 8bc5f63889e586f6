"""Renders pages from templates, with a content security policy.

Styles and scripts are inlined, but for scripts and strings of pages that share a file (`shared_script`).
"""

import base64
import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from pfgen_rs.io.text import acts
from pfgen_rs.report.site import payload

if TYPE_CHECKING:
    import jinja2

_COMMON = ("common", "address", "text", "language", "theme", "payload", "tables")
_EARLY = "early"
_IMAGES = "data: 'self' file:"
# Without its scripts, a page is what it is where there are none. The page may be shown before they come, in
# Japanese, so readers of English wait for them (`common.css`).
_LOADER = """
document.head.append(Object.assign(document.createElement("script"), {{
  src: document.documentElement.dataset.root + {path},
  onload: () => document.documentElement.classList.add("ready"),
  onerror: () => document.documentElement.classList.remove("scripted"),
}}));
"""


Nav = Sequence[tuple[str, str]]
"""Pages of a site: names (keys of strings) and paths."""
Text = tuple[str, str]
"""A text in Japanese and English."""


class Look(NamedTuple):
    """How the pages of a site look: title, path of a logo within the site, custom properties as CSS."""

    title: Text | None = None
    logo: str | None = None
    style: str = ""


class Frame(NamedTuple):
    """Where a page stands within a site; by default it is the whole site.

    `root`: path from the page to the site's folder. `nav`: the site's pages; `here`: to which of them it
    belongs. `signature`: of the site's scores, empty without runs. `folder`: of the page and its data, empty
    or with a slash at its end.
    """

    root: str = ""
    nav: Nav = ()
    look: Look = Look()
    signature: str = ""
    here: str = ""
    folder: str = ""

    def of(self, path: str, here: str = "") -> "Frame":
        """Returns the frame of the page at a path within the site."""
        folder = path[: path.rfind("/") + 1]
        return self._replace(root="../" * path.count("/"), folder=folder, here=here)

    def name(self, payload: str) -> str:
        """Returns the name of a payload: its path within the site, so no two pages share one."""
        return self.folder + payload


ALONE = Frame()
"""The frame of a page that is no part of a site."""


@dataclass(frozen=True)
class _Assets:
    """The inlined parts of a page: its style, the script that runs before it is shown, and the other.

    `is_shared`: whether that one only adds the file with the scripts and strings.
    """

    style: Markup
    early: Markup
    script: Markup
    is_shared: bool = False

    def policy(self, *, images: bool) -> str:
        """The content security policy: exactly these texts, and scripts and workers that they make.

        `images`: also images that are files of the site, from a server or from disk.
        """
        scripts = f"{_policy_digest(self.early)} {_policy_digest(self.script)}"
        style = _policy_digest(self.style)
        return (
            f"default-src 'none'; script-src {scripts} 'strict-dynamic'; style-src {style}; "
            f"img-src {_IMAGES if images else 'data:'}; "
            "connect-src 'none'; worker-src blob:; base-uri 'none'; form-action 'none'"
        )


def render(
    template: str,
    *,
    parts: Sequence[str] = (),
    frame: Frame = ALONE,
    images: bool = False,
    script: str | None = None,
    data: Mapping[str, Any] = MappingProxyType({}),
    payloads: Mapping[str, Any] = MappingProxyType({}),
    **context: Any,
) -> bytes:
    """Render `templates/{template}.html.j2` with the assets of `parts` and those of all pages.

    A part `x` consists of `assets/x.css`, `x.js` and `x.toml` (strings), if they exist. `frame`: what the
    site gives its pages. `images`: whether the page shows images that are files. `script`: path within the
    site of the file that `shared_script` made of the same parts; without it the page has scripts and strings
    itself. `data` and `payloads`: by name, for scripts (`payload.data_block`, `payload.inline`), where the
    payloads are not in files of their own. All values are escaped; missing ones raise
    `jinja2.UndefinedError`: a bug.
    """
    names = (*_COMMON, *(parts or (template,)))
    assets = _assets(names, script, frame.look.style)
    texts = strings(names)
    found = _environment().get_template(f"{template}.html.j2")
    context["policy"] = assets.policy(images=images or frame.look.logo is not None)
    context |= {"data": data, "payloads": payloads, "assets": assets, "icon": _icon(), "t": texts}
    return found.render({**frame._asdict(), **context}).encode()


@cache
def _environment() -> "jinja2.Environment":
    import jinja2  # not needed by those who only look up strings

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pfgen_rs.report.site"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_without_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    environment.filters["fixed"] = _fixed
    environment.globals["both"] = both
    environment.globals["data_block"] = payload.data_block
    environment.globals["payload"] = payload.inline
    return environment


def both(text: Text) -> Markup:
    """Returns a text of a site's own in both languages, of which the page shows the one that is read."""
    japanese, english = map(shown, text)
    return japanese if text[0] == text[1] else _BOTH.format(japanese, english)


def _without_controls(value: Any) -> Any:
    """Returns text other than markup without control characters."""
    return plain(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _fixed(value: float | None, digits: int = 4) -> str:
    """Format a number with this many decimals; `None` as a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


@cache
def _assets(names: tuple[str, ...], script: str | None, added: str) -> _Assets:
    style, early = _joined_assets(names, "css"), _joined_assets((_EARLY,), "js")
    style += Markup(added)  # noqa: S704 - checked where it was made
    if script is None:
        return _Assets(style, early, _joined_assets(names, "js"))
    loader = Markup(_LOADER.format(path=json.dumps(script)))  # noqa: S704 - a path of our own
    return _Assets(style, early, loader, is_shared=True)


def shared_script(name: str, parts: Sequence[str]) -> tuple[str, bytes]:
    """Returns path and content of a file with the scripts and strings of pages of these parts.

    Pages of many runs would have the same ones each. The path has eight digits of the content's SHA-256.
    """
    names = (*_COMMON, *parts)
    texts = payload.script_json(strings(names).data)
    text = f"const pfgenStrings = {texts};{_joined_assets(names, 'js')}"
    content = text.encode()
    return f"assets/{name}-{hashlib.sha256(content).hexdigest()[:8]}.js", content


def vendored() -> list[tuple[str, bytes]]:
    """Returns paths and contents of the libraries that pages of a site load when they draw."""
    folder = resources.files("pfgen_rs.report.site") / "assets" / "vendor"
    return [(f"assets/vendor/{file.name}", file.read_bytes()) for file in folder.iterdir()]


def library() -> list[str]:
    """Returns the parts of pages outside of a site that draw: the same libraries."""
    return [path.removeprefix("assets/").removesuffix(".js") for path, _ in vendored()]


@cache
def _icon() -> str:
    """Returns the icon of all pages as an address that contains it."""
    image = resources.files("pfgen_rs.report.site") / "assets" / "favicon.svg"
    return f"data:image/svg+xml,{quote(image.read_text(encoding='utf-8').strip())}"


def _joined_assets(names: Sequence[str], suffix: str) -> Markup:
    folder = resources.files("pfgen_rs.report.site") / "assets"
    files = [folder / f"{name}.{suffix}" for name in names]
    texts = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
    return Markup("\n" + "".join(texts))  # noqa: S704 - our own


def _policy_digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


# The strings of pages, in Japanese and English.
#
# Strings are in `assets/*.toml`, one file per kind of page and one for all, by name. Pages are written in
# Japanese and contain the strings of both languages; `assets/language.js` replaces them.


LANGUAGES = ("ja", "en")

_SPAN = Markup('<span data-t="{}">{}</span>')
_SPAN_WITH = Markup('<span data-t="{}" data-t-args="{}">{}</span>')
_BOTH = Markup('<span class="both"><span lang="ja">{}</span><span lang="en">{}</span></span>')
_OPTION = Markup('<option value="{}" data-t="{}">{}</option>')
_ATTRIBUTE = Markup('{}="{}" data-t-{}="{}"')

Table = Mapping[str, Mapping[str, str]]


class Strings:
    """Strings by name, for templates: `{{ t("score") }}`, `{{ t("page_of", page=1, pages=9) }}`.

    Names in braces are replaced by arguments. An unknown name raises `KeyError`: a bug in a template.
    """

    def __init__(self, table: Table) -> None:
        self.table = table

    def __call__(self, key: str, **values: Any) -> Markup:
        """Returns a string as an element whose text follows the language."""
        if not values:
            return _SPAN.format(key, self.text(key))
        safe = {name: plain(v) if isinstance(v, str) else v for name, v in values.items()}
        return _SPAN_WITH.format(key, json.dumps(safe, ensure_ascii=False), self.text(key, **safe))

    def known(self, group: str, text: str) -> Markup:
        """Returns a term of a group whose names some data have (`category`), or the text if it is none."""
        key = f"{group}_{text}"
        return self(key) if key in self.table else shown(text)

    def of(self, attribute: str, key: str) -> Markup:
        """Returns a string as an attribute (`aria-label`, `placeholder`, …) that follows the language."""
        return _ATTRIBUTE.format(attribute, self.text(key), attribute, key)

    def options(self, prefix: str, *values: str) -> Markup:
        """Returns choices with these values, named by the strings with a prefix, for a `select`."""
        each = ((value, prefix + value, self.text(prefix + value)) for value in values)
        return Markup("").join(_OPTION.format(*one) for one in each)

    def text(self, key: str, language: str = LANGUAGES[0], **values: Any) -> str:
        """Returns a string in one language."""
        text = self.table[key][language]
        for name, value in values.items():
            text = text.replace(
                f"{{{name}}}", f"{value:,}" if isinstance(value, int) else str(value)
            )
        return text

    @property
    def data(self) -> dict[str, list[str]]:
        """All strings, for scripts: by name, in the order of `LANGUAGES`."""
        return {
            key: [texts[language] for language in LANGUAGES] for key, texts in self.table.items()
        }


@cache
def strings(parts: Sequence[str]) -> Strings:
    """Load the strings of some parts (names of files without suffix); parts may have none.

    Raises `ValueError` if two parts have a key with different texts: a bug.
    """
    table: dict[str, Mapping[str, str]] = {}
    assets = resources.files("pfgen_rs.report.site") / "assets"
    for part in parts:
        file = assets / f"{part}.toml"
        if file.is_file():
            own = tomllib.loads(file.read_text(encoding="utf-8"))
            if differing := [key for key in own if table.get(key, own[key]) != own[key]]:
                raise ValueError(
                    f"{part}.toml: other parts have other texts: {', '.join(differing)}"
                )
            table |= own
    return Strings(table)


# Text of unknown origin in pages: control characters are written out.
#
# Scripts do the same (`assets/text.js`).


_BOX = Markup('<span class="control">{}</span>')


def plain(text: str) -> str:
    """Returns text with control characters as `⟨U+202E⟩`, for titles, attributes and other plain text.

    Everything in pages other than markup goes through this, so no name can reorder a page or break its
    encoding (lone surrogates).
    """
    if text.isprintable():
        return text
    return "".join(f"⟨{_code_point(c)}⟩" if acts(c) else c for c in text)


def shown(text: str) -> Markup:
    """Returns text as markup, isolated from the surrounding direction, with control characters in boxes."""
    if text.isprintable():
        return Markup("<bdi>{}</bdi>").format(text)
    parts = [_BOX.format(_code_point(c)) if acts(c) else c for c in text]
    return Markup("<bdi>{}</bdi>").format(Markup("").join(parts))


def _code_point(character: str) -> str:
    return f"U+{ord(character):04X}"
