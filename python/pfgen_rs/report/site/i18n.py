"""What pages say, in Japanese and English.

Strings lie in `assets/*.toml`, a file a kind of page and one for all, by name. A page is written in Japanese
and carries the strings of both languages; `assets/language.js` puts the others in.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from markupsafe import Markup

from pfgen_rs.report.site.shown import plain

__all__ = ["LANGUAGES", "Strings", "strings"]

LANGUAGES = ("ja", "en")

_SPAN = Markup('<span data-t="{}">{}</span>')
_SPAN_WITH = Markup('<span data-t="{}" data-t-args="{}">{}</span>')
_ATTRIBUTE = Markup('{}="{}" data-t-{}="{}"')

Table = Mapping[str, Mapping[str, str]]


class Strings:
    """Strings by name, for templates: `{{ t("score") }}`, `{{ t("page_of", page=1, pages=9) }}`.

    Values in braces take arguments. A name that is not in the table raises `KeyError`: a fault of a template.
    """

    def __init__(self, table: Table) -> None:
        self.table = table

    def __call__(self, key: str, **values: Any) -> Markup:
        """A string as an element whose text follows the language."""
        if not values:
            return _SPAN.format(key, self.text(key))
        safe = {name: plain(v) if isinstance(v, str) else v for name, v in values.items()}
        return _SPAN_WITH.format(key, json.dumps(safe, ensure_ascii=False), self.text(key, **safe))

    def of(self, attribute: str, key: str) -> Markup:
        """A string as an attribute (`aria-label`, `placeholder`, …) whose value follows the language."""
        return _ATTRIBUTE.format(attribute, self.text(key), attribute, key)

    def text(self, key: str, language: str = LANGUAGES[0], **values: Any) -> str:
        """A string in one language."""
        text = self.table[key][language]
        for name, value in values.items():
            text = text.replace(
                f"{{{name}}}", f"{value:,}" if isinstance(value, int) else str(value)
            )
        return text

    @property
    def data(self) -> dict[str, list[str]]:
        """All strings for scripts: by name, in the order of `LANGUAGES`."""
        return {
            key: [texts[language] for language in LANGUAGES] for key, texts in self.table.items()
        }


@cache
def strings(parts: Sequence[str]) -> Strings:
    """The strings of some parts (files' names without suffix); parts without strings add none."""
    table: dict[str, Mapping[str, str]] = {}
    assets = resources.files("pfgen_rs.report.site") / "assets"
    for part in parts:
        file = assets / f"{part}.toml"
        if file.is_file():
            table |= tomllib.loads(file.read_text(encoding="utf-8"))
    return Strings(table)
