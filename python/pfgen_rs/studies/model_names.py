"""Names of models in different tables: the key that they share, aliases, and near misses."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path

from pfgen_rs.errors import ConfigError, unreadable

_NO_LETTER_OR_DIGIT = re.compile(r"[\W_]+")
_ALIKE = 0.85  # of two names with the same digits
_LONGEST = 100  # characters of a name for which near misses are sought
_MOST = 5_000  # names of theirs for which they are


def model_key(name: str) -> str:
    """Returns what spellings of a model's name have in common; empty if the name has no letter or digit.

    The name in Unicode's form NFKC and case-folded, without what is before the last slash, and with each run
    of other characters than letters and digits replaced by one hyphen.

    >>> model_key("meta-llama/Meta-Llama-3.1_8B")
    'meta-llama-3-1-8b'
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return _NO_LETTER_OR_DIGIT.sub("-", folded.rpartition("/")[2]).strip("-")


def read_aliases(path: Path) -> dict[str, str]:
    """Returns other tables' names of models with the leaderboard's, from a TOML file: `"theirs" = "ours"`.

    Raises `ConfigError` for a file that cannot be read, and for anything but texts with letters or digits.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(unreadable(error), path=path) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"invalid TOML: {error}", path=path) from None
    for theirs, ours in found.items():
        if not isinstance(ours, str):
            raise ConfigError(
                f'{theirs}: expected a name in quotes, as in "their name" = "our name" '
                "(names with dots need quotes on the left, too)",
                path=path,
            )
        for name in (theirs, ours):
            if not model_key(name):
                raise ConfigError(f"{name!r}: a name needs a letter or a digit", path=path)
    return found


def near_misses(theirs: Iterable[str], ours: Collection[str]) -> dict[str, str]:
    """Returns keys that differ little from one of ours, with the most similar one of ours.

    Only keys with the same numbers can be near, since 7b is not 70b. O(theirs x ours) at worst, for names
    with the same numbers; only the first 5,000 of theirs are compared.
    """
    by_digits: Mapping[tuple[str, ...], list[str]] = defaultdict(list)
    for key in ours:
        by_digits[_digits(key)].append(key)
    found = {}
    for key in islice(theirs, _MOST):
        rated = [
            (ratio, other)
            for other in by_digits.get(_digits(key), ())
            if (ratio := _likeness(key, other)) >= _ALIKE
        ]
        if rated:
            found[key] = min(rated, key=lambda one: (-one[0], one[1]))[1]
    return found


def _digits(key: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\d+", key))


def _likeness(one: str, other: str) -> float:
    if max(len(one), len(other)) > _LONGEST:
        return 0.0
    matcher = SequenceMatcher(None, one.replace("-", ""), other.replace("-", ""), autojunk=False)
    if min(matcher.real_quick_ratio(), matcher.quick_ratio()) < _ALIKE:
        return 0.0
    return matcher.ratio()
