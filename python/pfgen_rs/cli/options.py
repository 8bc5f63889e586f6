"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast, get_type_hints

import typer

import pfgen_rs
from pfgen_rs.cli import terminal
from pfgen_rs.errors import SettingsError
from pfgen_rs.io import cleaning
from pfgen_rs.metrics.settings import Summation, Variant, ngram_range
from pfgen_rs.metrics.units import Unit
from pfgen_rs.questions.locate import BUNDLED, ENVIRONMENT

if TYPE_CHECKING:
    from pfgen_rs.benchmark import Benchmark
    from pfgen_rs.io.chunk import Options
    from pfgen_rs.runs.result import Result


F = TypeVar("F", bound=Callable[..., Any])


def _benchmark_names(incomplete: str) -> list[tuple[str, str]]:
    """Complete the names of installed benchmarks."""
    from pfgen_rs.questions.locate import inventory

    usable = [found for found in inventory() if found.path is not None]
    return [(b.name, b.state) for b in usable if b.name.startswith(incomplete)]


def _layout_names(incomplete: str) -> list[str]:
    """Complete the names of layouts."""
    from pfgen_rs.io.layouts import LAYOUTS

    return [name for name in LAYOUTS.names() if name.startswith(incomplete)]


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
    Literal["table", "json"],
    typer.Option("--format", "-f", help="A table to read, or JSON for programs."),
]
Rows = Annotated[
    Literal["table", "json", "csv"], typer.Option("--format", "-f", help="Output format.")
]
Level = Annotated[
    float, typer.Option(metavar="SHARE", help="Confidence level of intervals and tests.")
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Number of threads (default: all cores)."),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, metavar="N", help="Number of threads (default: all cores)."
    ),
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
    Unit | None,
    typer.Option(
        "--unit",
        help="Unit of n-grams and lengths (default: the unit the set was built with, or characters). "
        "With token, answers are lists of ids.",
    ),
]
Mode = Annotated[
    cleaning.Mode,
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
Think = Annotated[
    # In backticks, because help is Markdown, in which a tag would disappear.
    Literal["keep", "strip"], typer.Option(help="Keep or strip `<think>…</think>` in answers.")
]


def out_option(metavar: str, text: str, **how: Any) -> Any:
    """Returns the option --out with its help; `how`: further arguments of `typer.Option`."""
    return typer.Option("--out", "-o", metavar=metavar, help=text, **how)


def chosen_unit(unit: Unit | None) -> dict[str, str]:
    """Returns the settings that `--unit` asks for: none if it is not given."""
    return {} if unit is None else {"unit": unit}


def table_path(path: Path | None) -> Path | None:
    """Check the name of a table to write."""
    from pfgen_rs.io.table_writer import TABLES

    if path is not None and path.suffix.lower() not in TABLES:
        raise typer.BadParameter(
            f"unknown format: expected a name ending in one of {', '.join(TABLES)}"
        )
    return path


def load(benchmark: str | None, unit: Unit | None) -> Benchmark:
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


# Options of all commands that read responses: how these are read, and how they are scored.


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How responses are read; every field is an option."""

    question_field: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Key, column or path (doc.question) of the question, its id, or a prompt with it (default: "
            "recognised).",
            show_default=False,
        ),
    ] = None
    answer_field: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Key, column or path (choices.0.message.content) of the answer (default: recognised).",
            show_default=False,
        ),
    ] = None
    layout: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="LAYOUT",
            autocompletion=_layout_names,
            help="Layout of the files, instead of the one that is recognised: pfgen, prompt-response, "
            "chat, lm-eval, inspect, openai-batch (also vLLM's), anthropic-batch.",
            show_default=False,
        ),
    ] = None
    requests: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Requests of a batch, joined with its outputs by custom_id (default: found beside them).",
            show_default=False,
        ),
    ] = None
    think: Annotated[
        cleaning.Think | None,
        typer.Option(
            help="Keep reasoning (`<think>…</think>`) in answers, or strip it (default: strip, except from "
            "files in pfgen-bench's own layout).",
            show_default=False,
        ),
    ] = None
    run_field: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Key, column or path that names the run of each response, such as model. Splits each "
            "file into runs.",
        ),
    ] = None
    clean: Annotated[
        bool,
        typer.Option(
            "--clean",
            help="Clean answers before scoring, as pfgen-bench does during generation: cut them at a "
            "following question (in mode completion, also at a blank line) and strip white space. The mode "
            "is that of config.json, or else completion. Recorded in the signature.",
        ),
    ] = False
    skip_bad_lines: Annotated[
        bool,
        typer.Option(
            "--skip-bad-lines",
            help="Skip, count and report lines that cannot be scored, instead of stopping.",
        ),
    ] = False
    replace_invalid: Annotated[
        bool,
        typer.Option(
            "--replace-invalid",
            help="Read what is not valid Unicode, such as half a surrogate pair, as U+FFFD, instead of "
            "stopping.",
        ),
    ] = False

    def options(self, *, tokens: bool = False) -> Options:
        """Returns how files are read; `tokens`: whether answers are lists of token ids."""
        from pfgen_rs.io.chunk import Options

        return Options(**self.arguments(), tokens=tokens)

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of `score_file` that say the same as `options`."""
        return {
            "question_field": self.question_field,
            "answer_field": self.answer_field,
            "layout": self.layout,
            "requests": self.requests,
            "think": self.think,
            "skip_bad_lines": self.skip_bad_lines,
            "clean": self.clean,
            "replace_invalid": self.replace_invalid,
        }

    def settings(self) -> dict[str, Any]:
        """Returns the settings that are chosen; the others are those of the set."""
        return {}

    def load(self, benchmark: str | None) -> Benchmark:
        """Load a benchmark with these settings."""
        return pfgen_rs.load_benchmark(benchmark, settings=self.settings())

    def score_with(
        self, runs: Sequence[str], benchmark: str | None, *, threads: int | None = None
    ) -> list[Result]:
        """Score runs with a benchmark that is loaded for that; see `score`."""
        return self.score(runs, self.load(benchmark), threads=threads)

    def score(
        self, runs: Sequence[str], benchmark: Benchmark, *, threads: int | None = None
    ) -> list[Result]:
        """Score runs, with a progress bar, and warn of what is wrong with them."""
        from pfgen_rs.cli.score_table import report_gaps
        from pfgen_rs.io.run_files import expand_runs
        from pfgen_rs.runs.resumable import Job

        read = self.options(tokens=benchmark.settings.unit == "token")
        paths = expand_runs(runs)
        job = Job(benchmark, paths, read, run_field=self.run_field, threads=threads)
        with job, terminal.scoring(job.sources) as progress:
            results = job.run(progress)
        for result in results:
            report_gaps(result)
        return results


@dataclass(frozen=True, kw_only=True)
class ScoringOptions(ReadingOptions):
    """How responses are read and scored; every field is an option."""

    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Stop with an error, instead of a warning, if a file may have been cut short: only its "
            "last record has no newline.",
        ),
    ] = False
    variant: Annotated[
        Variant,
        typer.Option(help="Published scores, or the papers' equations followed literally."),
    ] = "pfgen-bench"
    ngrams: Annotated[
        str | None,
        typer.Option(
            metavar="MIN-MAX",
            help="Range of n-gram lengths for Fluency, in units (default: that of the set, or 1-10).",
        ),
    ] = None
    unit: UnitOption = None
    summation: Annotated[
        Summation,
        typer.Option(
            help="Sum like Python before 3.12 (plain) or since (compensated); last digits may differ."
        ),
    ] = "plain"

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of `score_file` that say the same as `options`."""
        return {**super().arguments(), "strict": self.strict}

    def settings(self) -> dict[str, Any]:
        """Returns the settings that are chosen; the others are those of the set."""
        return {
            "variant": self.variant,
            "summation": self.summation,
            **_ngram_range(self.ngrams),
            **chosen_unit(self.unit),
        }


reading_options = with_options(ReadingOptions, "reading")
scoring_options = with_options(ScoringOptions, "scoring")


def _ngram_range(text: str | None) -> dict[str, int]:
    """Returns the settings that the option asks for: none if it is not given."""
    try:
        return ngram_range(text)
    except SettingsError as error:
        raise typer.BadParameter(str(error), param_hint="'--ngrams'") from None
