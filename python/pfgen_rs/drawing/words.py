"""Texts of figures: English, which is the key, and Japanese (`japanese.toml`)."""

import tomllib
from importlib import resources
from typing import Literal, get_args

from pfgen_rs.errors import PlotError

Language = Literal["en", "ja"]

_FILE = resources.files("pfgen_rs.drawing") / "japanese.toml"
_WORDS: dict[str, dict[str, str]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
JAPANESE = _WORDS["texts"]
CATEGORIES = _WORDS["categories"]
"""Japanese names of the published categories of questions, as pages have them."""


def translated(text: str, language: Language) -> str:
    """Returns a text in a language; raises `PlotError` for an unknown language."""
    if language not in get_args(Language):
        raise PlotError(
            f"unknown language {language!r}: expected one of {', '.join(get_args(Language))}"
        )
    return JAPANESE[text] if language == "ja" else text
