"""The strings of pages, in Japanese and English.

Strings are in `assets/*.toml`, one file per kind of page and one for all, by name. Pages are written in
Japanese and contain the strings of both languages; `assets/language.js` replaces them.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from markupsafe import Markup

from pfgen_rs.report.site.shown import plain, shown

__all__ = ["LANGUAGES", "Strings", "strings"]

LANGUAGES = ("ja", "en")

_SPAN = Markup('<span data-t="{}">{}</span>')
_SPAN_WITH = Markup('<span data-t="{}" data-t-args="{}">{}</span>')
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
