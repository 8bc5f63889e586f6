"""Families of models, by words of their names: whether a judge judges its own kind."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from pfgen_rs.errors import ConfigError, unreadable

__all__ = ["Families", "family_of", "known_families", "read_families"]

Families = Mapping[str, Sequence[str]]
"""Words of names, by family."""


def read_families(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Returns the built-in families after those of a TOML file, which therefore decide first.

    The file has a table `[families]` with a list of words per family: `llama = ["llama", "my-llama"]`. A
    family that is built in gains words. Raises `ConfigError` for a file that cannot be read or has another
    form.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(unreadable(error), path=path) from error
    return _families_of_text(text, path, known_families())


@lru_cache(maxsize=1)
def known_families() -> dict[str, tuple[str, ...]]:
    """Returns the built-in families (gpt, claude, gemini, llama, qwen, calm, llm-jp, …)."""
    text = files(__package__).joinpath("families.toml").read_text(encoding="utf-8")
    return _families_of_text(text, "families.toml", {})


def family_of(model: str, families: Families | None = None) -> str | None:
    """Returns the family of a model, `None` if no word of any family is in its name.

    A word fits where no letter or digit stands before it and no letter after it, without regard to case. The
    first of `families` (default: the built-in ones) with a fitting word decides: tuned models come before
    those that they are made of.

    >>> family_of("tokyotech-llm/Llama-3.1-Swallow-8B-Instruct-v0.3")
    'swallow'
    """
    name = model.casefold()
    known = known_families() if families is None else families
    fitting = (
        family
        for family, words in known.items()
        if any(_is_word_of(word.casefold(), name) for word in words)
    )
    return next(fitting, None)


def _is_word_of(word: str, name: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W\d_])", name) is not None


def _families_of_text(
    text: str, path: str | Path, known: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    try:
        table = tomllib.loads(text).get("families")
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"invalid TOML: {error}", path=path) from error
    if not isinstance(table, dict):
        raise ConfigError("no table [families]: expected lists of words by family", path=path)
    for family, words in table.items():
        listed = isinstance(words, list) and all(isinstance(each, str) and each for each in words)
        if not listed:
            raise ConfigError(f"invalid family {family!r}: expected a list of words", path=path)
    own = {family: (*words, *known.get(family, ())) for family, words in table.items()}
    return {**own, **{family: words for family, words in known.items() if family not in own}}
