"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pfgen_rs.benchmark import BUNDLED, ENVIRONMENT
from pfgen_rs.inventory import inventory

__all__ = [
    "BenchmarkName",
    "Format",
    "JsonFormat",
    "QuestionName",
    "Threads",
    "UnitName",
    "UnitOption",
]


class JsonFormat(StrEnum):
    """Output for people or for programs."""

    TABLE = "table"
    JSON = "json"


class UnitName(StrEnum):
    """What n-grams are made of."""

    CHARACTER = "character"
    WORD = "word"
    TOKEN = "token"  # noqa: S105 - not that kind of token


def _benchmark_names(incomplete: str) -> list[tuple[str, str]]:
    """Complete the names of benchmarks that can be used now."""
    usable = [found for found in inventory() if found.path is not None]
    return [(b.name, b.state) for b in usable if b.name.startswith(incomplete)]


BenchmarkName = Annotated[
    str | None,
    typer.Option(
        "--benchmark",
        "-b",
        metavar="NAME|DIR",
        envvar=ENVIRONMENT,
        autocompletion=_benchmark_names,
        help=f"An installed benchmark or a folder of question files. Without it: '{BUNDLED}', "
        "the small bundled one.",
    ),
]
Format = Annotated[
    JsonFormat, typer.Option("--format", "-f", help="A table to read, or JSON for programs.")
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Threads to use; all cores without it."),
]
QuestionName = Annotated[
    str, typer.Argument(metavar="QUESTION", help="A question's id, such as Q14, or its exact text.")
]
UnitOption = Annotated[
    UnitName,
    typer.Option(
        "--unit",
        help="What n-grams are made of and lengths count. With tokens, answers are lists of ids.",
    ),
]
