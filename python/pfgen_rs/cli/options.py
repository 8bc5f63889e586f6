"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_type_hints

import typer

import pfgen_rs
from pfgen_rs.questions.locate import BUNDLED, ENVIRONMENT

if TYPE_CHECKING:
    from pfgen_rs.benchmark import Benchmark

__all__ = [
    "BenchmarkName",
    "Format",
    "JsonFormat",
    "Level",
    "MaxTokens",
    "MetricName",
    "Mode",
    "ModeName",
    "Plain",
    "QuestionName",
    "Rows",
    "RowsFormat",
    "Shots",
    "StorageOptions",
    "Think",
    "ThinkName",
    "Threads",
    "Trials",
    "UnitName",
    "UnitOption",
    "chosen_unit",
    "load",
    "table_path",
    "with_options",
]

F = TypeVar("F", bound=Callable[..., Any])


class JsonFormat(StrEnum):
    """Output for people or for programs."""

    TABLE = "table"
    JSON = "json"


class RowsFormat(StrEnum):
    """Output for people, for programs, or for spreadsheets."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class MetricName(StrEnum):
    """The average of the metrics, or one of them."""

    AVERAGE = "average"
    FLUENCY = "fluency"
    TRUTHFULNESS = "truthfulness"
    HELPFULNESS = "helpfulness"


class UnitName(StrEnum):
    """Unit of n-grams."""

    CHARACTER = "character"
    WORD = "word"
    TOKEN = "token"  # noqa: S105 - not that kind of token


class ModeName(StrEnum):
    """Prompting mode."""

    COMPLETION = "completion"
    QA = "qa"
    CHAT = "chat"


class ThinkName(StrEnum):
    """What to do with a model's reasoning."""

    KEEP = "keep"
    STRIP = "strip"


def _benchmark_option_names(incomplete: str) -> list[tuple[str, str]]:
    """Complete the names of installed benchmarks."""
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
        autocompletion=_benchmark_option_names,
        help=f"An installed benchmark or a folder of question files (default: '{BUNDLED}', "
        "the small bundled one).",
    ),
]
Format = Annotated[
    JsonFormat, typer.Option("--format", "-f", help="A table to read, or JSON for programs.")
]
Rows = Annotated[RowsFormat, typer.Option("--format", "-f", help="Output format.")]
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
AllowPartial = Annotated[
    bool,
    typer.Option("--allow-partial", help="Write --out even if some questions have no answers."),
]
StorageOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        metavar="KEY=VALUE",
        help="An option for URLs, such as endpoint=https://… or skip_signature=true; repeatable. "
        "Credentials are those of the environment. Requires `pip install 'pfgen_rs[remote]'`.",
    ),
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
Mode = Annotated[
    ModeName,
    typer.Option(
        "--mode",
        "-m",
        help="How to ask questions: a text to complete, an instruction in the prompt, or a chat.",
    ),
]
Trials = Annotated[
    int, typer.Option("--trials", "-n", min=1, metavar="N", help="Number of answers per question.")
]
Shots = Annotated[
    int,
    typer.Option("--shots", min=0, metavar="K", help="Number of example answers in each prompt."),
]
MaxTokens = Annotated[
    int, typer.Option(min=1, metavar="N", help="Maximum length of an answer, in tokens.")
]
Think = Annotated[
    # In backticks, because help is Markdown, in which a tag would disappear.
    ThinkName, typer.Option(help="Keep or strip `<think>…</think>` in answers.")
]


def chosen_unit(unit: UnitName | None) -> dict[str, str]:
    """Returns the settings that `--unit` asks for: none if it is not given."""
    return {} if unit is None else {"unit": unit.value}


def table_path(path: Path | None) -> Path | None:
    """Check the name of a table to write."""
    from pfgen_rs import io

    if path is not None and path.suffix.lower() not in io.TABLES:
        raise typer.BadParameter(
            f"unknown format: expected a name ending in one of {', '.join(io.TABLES)}"
        )
    return path


def load(benchmark: str | None, unit: UnitName | None) -> Benchmark:
    """Load a benchmark for scoring with a unit."""
    return pfgen_rs.load_benchmark(benchmark, settings=chosen_unit(unit))


def with_options(
    options: type[Any], argument: str, *, without: Sequence[str] = ()
) -> Callable[[F], F]:
    """Give a command the options of a class, an object of which it receives as this argument.

    `without`: fields that are no options of this command.
    """
    offered = [field for field in fields(options) if field.name not in without]

    def give(command: F) -> F:
        own = inspect.signature(command)
        hints = get_type_hints(command, include_extras=True)
        shared = get_type_hints(options, include_extras=True)
        keyword = inspect.Parameter.KEYWORD_ONLY
        mine = [
            parameter.replace(annotation=hints[name], kind=keyword)
            for name, parameter in own.parameters.items()
            if name != argument
        ]
        ordered = sorted(offered, key=lambda field: field.default is not MISSING)
        theirs = [
            inspect.Parameter(
                field.name,
                keyword,
                annotation=shared[field.name],
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
            )
            for field in ordered
        ]

        @wraps(command)
        def wrapper(**given: Any) -> Any:
            chosen = options(**{field.name: given.pop(field.name) for field in offered})
            return command(**given, **{argument: chosen})

        del wrapper.__wrapped__
        wrapper.__signature__ = own.replace(parameters=[*mine, *theirs])  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in [*mine, *theirs]}
        return cast("F", wrapper)

    return give
