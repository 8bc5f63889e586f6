"""Renders pages from templates, with a content security policy.

Styles and scripts are inlined, but for scripts and strings of pages that share a file (`shared_script`).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from pfgen_rs.report.site import i18n, payload
from pfgen_rs.report.site.shown import plain, shown

__all__ = ["IMAGE", "render"]

IMAGE = "image"
"""The key of an entry of `nav` that is no page, but the image that stands for the site beside links to it."""

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


@dataclass(frozen=True)
class _SitePageAssets:
    """The inlined parts of a page: its style, the script that runs before it is shown, and the other.

    `is_shared`: whether that one only adds the file with the scripts and strings.
    """

    style: Markup
    early: Markup
    script: Markup
    is_shared: bool = False

    def policy(self, *, images: bool) -> str:
        """The content security policy: exactly these texts, and scripts that they add (`strict-dynamic`).

        `images`: also images that are files of the site, from a server or from disk.
        """
        scripts = f"{_page_policy_digest(self.early)} {_page_policy_digest(self.script)}"
        style = _page_policy_digest(self.style)
        return (
            f"default-src 'none'; script-src {scripts} 'strict-dynamic'; style-src {style}; "
            f"img-src {_IMAGES if images else 'data:'}; "
            "connect-src 'none'; base-uri 'none'; form-action 'none'"
        )


def render(
    kind: str,
    *,
    parts: Sequence[str] = (),
    root: str = "",
    images: bool = False,
    script: str | None = None,
    **context: Any,
) -> bytes:
    """Render `templates/{kind}.html.j2` with the assets of `parts` and those of all pages.

    A part `x` consists of `assets/x.css`, `x.js` and `x.toml` (strings), if they exist. `root`: path from the
    page to the site's folder (`../../`). `images`: whether the page shows images that are files. `script`:
    path within the site of the file that `shared_script` made of the same parts; without it the page has
    scripts and strings itself. All values are escaped; missing ones raise `jinja2.UndefinedError`: a bug.
    """
    names = (*_COMMON, *(parts or (kind,)))
    assets = _page_assets(names, script)
    strings = i18n.strings(names)
    template = _page_template_environment().get_template(f"{kind}.html.j2")
    nav = dict(context.pop("nav", ()))
    context["image"] = _page_image(nav.pop(IMAGE, ""), root)
    context["nav"] = list(nav.items())
    context["policy"] = assets.policy(images=images)
    page = template.render(root=root, assets=assets, icon=_page_icon(), t=strings, **context)
    return page.encode()


@cache
def _page_template_environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pfgen_rs.report.site"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_page_text_without_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    environment.filters["fixed"] = _fixed_decimals_in_pages
    environment.globals["data_block"] = payload.data_block
    environment.globals["payload"] = payload.inline
    return environment


def _page_text_without_controls(value: Any) -> Any:
    """Returns text other than markup without control characters."""
    return plain(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _fixed_decimals_in_pages(value: float | None, digits: int = 4) -> str:
    """Format a number with this many decimals; `None` as a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


@cache
def _page_assets(names: tuple[str, ...], script: str | None = None) -> _SitePageAssets:
    style, early = _joined_page_assets(names, "css"), _joined_page_assets((_EARLY,), "js")
    if script is None:
        return _SitePageAssets(style, early, _joined_page_assets(names, "js"))
    loader = Markup(_LOADER.format(path=json.dumps(script)))  # noqa: S704 - a path of our own
    return _SitePageAssets(style, early, loader, is_shared=True)


def shared_script(name: str, parts: Sequence[str]) -> tuple[str, bytes]:
    """Returns path and content of a file with the scripts and strings of pages of these parts.

    Pages of many runs would have the same ones each. The path has eight digits of the content's SHA-256.
    """
    names = (*_COMMON, *parts)
    strings = payload.script_json(i18n.strings(names).data)
    text = f"const pfgenStrings = {strings};{_joined_page_assets(names, 'js')}"
    content = text.encode()
    return f"assets/{name}-{hashlib.sha256(content).hexdigest()[:8]}.js", content


def _page_image(place: str, root: str) -> str:
    """Returns the address of the site's image, which is relative if that of the site is unknown."""
    return f"{root}{place}" if place and "://" not in place else place


@cache
def _page_icon() -> str:
    """Returns the icon of all pages as an address that contains it."""
    image = resources.files("pfgen_rs.report.site") / "assets" / "favicon.svg"
    return f"data:image/svg+xml,{quote(image.read_text(encoding='utf-8').strip())}"


def _joined_page_assets(names: Sequence[str], suffix: str) -> Markup:
    folder = resources.files("pfgen_rs.report.site") / "assets"
    files = [folder / f"{name}.{suffix}" for name in names]
    texts = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
    return Markup("\n" + "".join(texts))  # noqa: S704 - our own


def _page_policy_digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
