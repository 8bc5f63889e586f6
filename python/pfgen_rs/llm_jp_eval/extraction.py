"""Patterns that extract the answer from a prediction: ready-made ones by name, and regular expressions."""

import re
from collections.abc import Mapping, Sequence

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import shortened
from pfgen_rs.metrics.expressions import TIME_LIMIT, OutOfTimeError, limited_groups, quietly

CUSTOM = "CUSTOM"
"""The name with which evaluation files say that they have an expression of their own."""
_TAGS = r"<answer>(.*?)</answer>"
_CHOICE = r"\A\s*[(（]?([A-Z]|[0-9]+)[)）]?[.．。]?\s*\Z"
PATTERNS: Mapping[str, str] = {
    "ANSWER_TAGS_JP": _TAGS,
    "ANSWER_TAGS_EN": _TAGS,
    "CHOICE_ONLY_JP": _CHOICE,
    "CHOICE_ONLY_EN": _CHOICE,
    # Braces in it are nested up to twice, as in \frac{\sqrt{2}}{2}.
    "BOXED": r"\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}",
}
"""Ready-made patterns by the names that evaluation files use; their names are known, the expressions ours."""

_NAME = re.compile("[A-Za-z_]+")


def answer_pattern(stated: str) -> str:
    """Returns the regular expression of a pattern's name, or an expression that extracts something.

    Raises `InputError` for unknown names, and expressions that are invalid or have no group.
    """
    if _NAME.fullmatch(stated):
        if stated.upper() not in PATTERNS:
            expected = ", ".join([*PATTERNS, "a regular expression"])
            raise InputError(f"unknown answer pattern {stated!r}: expected one of {expected}")
        return PATTERNS[stated.upper()]
    name = f"the answer pattern {shortened(repr(stated))}"
    try:
        if not quietly(re.compile, stated).groups:
            raise InputError(f"{name} has no group: put parentheses around the answer")
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(f"{name} is not a regular expression: {error}") from None
    return stated


def extracted(predictions: Sequence[str], pattern: str | None, task: str) -> list[str]:
    """Returns the groups of an answer pattern's first match in each prediction, joined and stripped.

    Empty without a match, as by `re.search(pattern, text, re.DOTALL)`; without a pattern, the predictions.
    Raises `InputError` if a search takes longer than 5 s.
    """
    if pattern is None:
        return list(predictions)
    try:
        return [found.strip() for found in limited_groups(pattern, predictions, re.DOTALL)]
    except OutOfTimeError:
        raise InputError(
            f"{task}: the answer pattern {shortened(repr(pattern))} takes longer than {TIME_LIMIT:g} s for "
            "one output: write it so that no part can match the same text in many ways"
        ) from None
