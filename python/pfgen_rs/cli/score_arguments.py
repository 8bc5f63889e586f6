"""Command lines of `pfgen-rs score` that need no parser."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["PlainScore", "plain_score"]

_BENCHMARK, _FORMAT, _OUT, _TABLE = "benchmark", "format", "out", "per_response"
_OPTIONS = {
    "-b": _BENCHMARK,
    "--benchmark": _BENCHMARK,
    "-f": _FORMAT,
    "--format": _FORMAT,
    "--out": _OUT,
    "--per-response": _TABLE,
}
_FORMATS = ("table", "json", "csv")
_COMPLETION = "_PFGEN_RS_COMPLETE"
_SCHEME = ":/"


class PlainScore(NamedTuple):
    """Arguments of `score`: what to score, how to show it, and what to write."""

    runs: list[str]
    benchmark: str | None = None
    output_format: str = "table"
    plain: bool = False
    out: str | None = None
    per_response: str | None = None


def plain_score(arguments: Sequence[str]) -> PlainScore | None:
    """Returns the arguments of `score`; `None` for what the parser takes or refuses."""
    if os.name == "nt" or _COMPLETION in os.environ:
        return None  # arguments mean more there
    runs: list[str] = []
    values: dict[str, str] = {}
    plain = False
    left = iter(arguments)
    for argument in left:
        name, is_joined, value = argument.partition("=")
        if argument == "--plain":
            plain = True
        elif name in _OPTIONS and (is_joined == "" or name.startswith("--")):
            values[_OPTIONS[name]] = value if is_joined else next(left, "")
        else:
            runs.append(argument)
    given = [*runs, *values.values()]
    if not runs or any(not value or value.startswith("-") or _SCHEME in value for value in given):
        return None
    if values.get(_FORMAT, _FORMATS[0]) not in _FORMATS:
        return None
    return PlainScore(
        runs,
        values.get(_BENCHMARK),
        values.get(_FORMAT, _FORMATS[0]),
        plain,
        values.get(_OUT),
        values.get(_TABLE),
    )
