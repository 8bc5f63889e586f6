"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

import pfgen_rs
from pfgen_rs.questions.locate import BUNDLED, ENVIRONMENT, benchmark_path

if TYPE_CHECKING:
    from pfgen_rs.benchmark import Benchmark
    from pfgen_rs.metrics.units import Unit

__all__ = [
    "RESUME",
    "BenchmarkName",
    "Format",
    "JsonFormat",
    "Level",
    "MetricName",
    "Plain",
    "QuestionName",
    "Threads",
    "UnitName",
    "UnitOption",
    "load",
    "unit_of",
]


RESUME = "run the same command with --resume to go on"
"""How an interrupted command that has the option is continued."""


class JsonFormat(StrEnum):
    """Output for people or for programs."""

    TABLE = "table"
    JSON = "json"


class MetricName(StrEnum):
    """What is measured."""

    AVERAGE = "average"
    FLUENCY = "fluency"
    TRUTHFULNESS = "truthfulness"
    HELPFULNESS = "helpfulness"


class UnitName(StrEnum):
    """What n-grams are made of."""

    CHARACTER = "character"
    WORD = "word"
    TOKEN = "token"  # noqa: S105 - not that kind of token


def _benchmark_names(incomplete: str) -> list[tuple[str, str]]:
    """Complete the names of benchmarks that can be used now."""
    from pfgen_rs.questions.inventory import inventory

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
        help=f"An installed benchmark or a folder of question files (default: '{BUNDLED}', "
        "the small bundled one).",
    ),
]
Format = Annotated[
    JsonFormat, typer.Option("--format", "-f", help="A table to read, or JSON for programs.")
]
Level = Annotated[
    float, typer.Option(metavar="SHARE", help="Confidence level of intervals and tests.")
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Number of threads (default: all cores)."),
]
Plain = Annotated[
    bool, typer.Option("--plain", help="One line per run without drawings or colours, for logs.")
]
QuestionName = Annotated[
    str, typer.Argument(metavar="QUESTION", help="A question's id, such as Q14, or its exact text.")
]
UnitOption = Annotated[
    UnitName | None,
    typer.Option(
        "--unit",
        help="Unit of n-grams and lengths (default: the unit the set was built with, or characters). "
        "With token, answers are lists of ids.",
    ),
]


def unit_of(unit: UnitName | None, benchmark: str | None) -> Unit:
    """The unit that was asked for, or that of the benchmark."""
    from pfgen_rs.questions.question import stated_unit

    return stated_unit(benchmark_path(benchmark)) if unit is None else unit.value


def load(benchmark: str | None, unit: UnitName | None) -> Benchmark:
    """Load a benchmark to be scored in a unit."""
    return pfgen_rs.load_benchmark(
        benchmark, settings=pfgen_rs.Settings(unit=unit_of(unit, benchmark))
    )
