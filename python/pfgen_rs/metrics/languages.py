"""What the language of a set decides: unit, length of answers, what Truthfulness skips, style of references.

Lengths carry about as much text as 100 Japanese characters, which published answers have. A paragraph that
says the same in each language takes 53 words (of UAX #29, with punctuation) in English for 100 characters in
Japanese, 67 characters in Chinese and 115, with spaces, in Korean; others differ by a tenth.

Skipped is what writers put in different ways without saying anything else: punctuation, quotation marks and,
in Chinese and Korean, spaces. It does not count itself, but stands in the windows of its neighbours, so `3.5`
is not `35`. Marks within a word of UAX #29 are part of it: `don’t`, which the style corrects, is not `don't`.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from pfgen_rs.errors import SettingsError, meant
from pfgen_rs.metrics.settings import SKIPPED
from pfgen_rs.metrics.units import Unit


class Language(NamedTuple):
    """A preset.

    `script`: that of at least a tenth of the letters of a text. `foreign`: one of which it has fewer.
    """

    name: str
    unit: Unit
    length: int
    skipped: str
    script: str
    foreign: str = ""


_MARKS = "^$"  # of the beginning and the end, as in `SKIPPED`
_QUOTES = "\"'“”‘’"
LANGUAGES = {
    "ja": Language("Japanese", "character", 100, SKIPPED, "Kana"),
    "en": Language("English", "word", 50, f"{_MARKS}.,;:!?…()[]-‐‑–—{_QUOTES}", "Latin"),
    "zh": Language(
        "Chinese",
        "character",
        65,
        f"{_MARKS}，。、；：？！…—·（）【】［］《》〈〉「」『』,.;:?!() {_QUOTES}",
        "Han",
        "Kana",
    ),
    "ko": Language(
        "Korean",
        "character",
        115,
        f"{_MARKS} .,;:!?…·()[]<>-–—~、。「」『』《》〈〉{_QUOTES}",
        "Hangul",
    ),
}
"""The presets, by the first part of a language's tag."""
_LEAST = 0.1
_SCRIPTS = {"Hiragana": "Kana", "Katakana": "Kana", "Cjk": "Han"}


def language_of(tag: str, given: Collection[str], decided: Collection[str]) -> Language | None:
    """Returns the preset for a language's tag, such as `en` or `zh-Hant`.

    `decided`: names of what a preset decides. Returns `None` for an empty tag, and for a language without
    preset if all of it is among what is `given`; otherwise raises `SettingsError`.

    >>> language_of("en-GB", (), ()).length
    50
    """
    found = LANGUAGES.get(tag.partition("-")[0].lower())
    missing = [name for name in decided if name not in given]
    if tag and found is None and missing:
        known = ", ".join(f"{key} ({each.name})" for key, each in LANGUAGES.items())
        names = (key for key, each in LANGUAGES.items() if each.name.lower() == tag.lower())
        key = next(names, None)
        alike = meant(tag, LANGUAGES) if key is None else f" (did you mean {key!r}?)"
        raise SettingsError(
            f"no preset for language {tag!r}{alike}: expected one of {known}; "
            f"for another language, also set {', '.join(missing)}"
        )
    return found


def letters(text: str) -> Counter[str]:
    """Count the letters of a text by script: `Latin`, `Kana`, `Han`, `Hangul`, and others."""
    found: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if character.isalpha():
            name = unicodedata.name(character, "unnamed").split()[0].capitalize()
            found[_SCRIPTS.get(name, name)] += count
    return found


def is_foreign(text: str, language: Language) -> bool:
    """Whether a text of some length is evidently in another script than texts of the language."""
    found = letters(text)
    most = _LEAST * found.total()
    return found[language.script] < most or found[language.foreign] > most
