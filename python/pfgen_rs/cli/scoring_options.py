"""Options of all commands that read responses: how these are read, and how they are scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

import pfgen_rs
from pfgen_rs import io
from pfgen_rs.cli import options, output

if TYPE_CHECKING:
    from pfgen_rs.benchmark import Benchmark
    from pfgen_rs.io.cleaning import Clean
    from pfgen_rs.runs.result import Result

__all__ = ["ReadingOptions", "ScoringOptions", "scoring_options"]

F = TypeVar("F", bound=Callable[..., Any])


class VariantName(StrEnum):
    """Variant of the metrics."""

    PUBLISHED = "pfgen-bench"
    PAPER = "paper"


class SummationName(StrEnum):
    """Summation of floating-point numbers."""

    PLAIN = "plain"
    COMPENSATED = "compensated"


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How responses are read; every field is an option."""

    question_field: Annotated[
        str, typer.Option(metavar="KEY", help="Key or column of the question (text or id).")
    ] = "question"
    answer_field: Annotated[
        str, typer.Option(metavar="KEY", help="Key or column of the answer.")
    ] = "answer"
    run_field: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Key or column that names the run of each response, such as model. Splits each file into "
            "runs.",
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
    clean_as: Annotated[
        Literal["completion", "chat", "qa"] | None,
        typer.Option(metavar="MODE", help="Like --clean, for mode completion, chat or qa."),
    ] = None
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
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Stop with an error, instead of a warning, if a file may have been cut short: only its "
            "last record has no newline.",
        ),
    ] = False

    @property
    def cleaning(self) -> Clean:
        """The mode for which to clean answers, or whether to."""
        return self.clean_as or self.clean

    def reading(self, *, tokens: bool = False) -> io.Options:
        """Returns how files are read; `tokens`: whether answers are lists of token ids."""
        return io.Options(**self.arguments(), tokens=tokens)

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of `score_file` that say the same as `reading`."""
        return {
            "question_field": self.question_field,
            "answer_field": self.answer_field,
            "skip_bad_lines": self.skip_bad_lines,
            "clean": self.cleaning,
            "strict": self.strict,
            "replace_invalid": self.replace_invalid,
        }

    def score(
        self, runs: Sequence[str], benchmark: Benchmark, *, threads: int | None = None
    ) -> list[Result]:
        """Score runs, with a progress bar, and warn of what is wrong with them."""
        from pfgen_rs.cli.score_output import report_gaps
        from pfgen_rs.io.patterns import expand_runs
        from pfgen_rs.runs.resumable import Job

        reading = self.reading(tokens=benchmark.settings.unit == "token")
        paths = expand_runs(runs)
        job = Job(benchmark, paths, reading, run_field=self.run_field, threads=threads)
        with job, output.scoring(job.sources) as progress:
            results = job.run(progress)
        for result in results:
            report_gaps(result)
        return results


@dataclass(frozen=True, kw_only=True)
class ScoringOptions(ReadingOptions):
    """How responses are read and scored; every field is an option."""

    variant: Annotated[
        VariantName,
        typer.Option(help="Published scores, or the papers' equations followed literally."),
    ] = VariantName.PUBLISHED
    ngrams: Annotated[
        str | None,
        typer.Option(
            metavar="MIN-MAX",
            help="Range of n-gram lengths for Fluency, in units (default: that of the set, or 1-10).",
        ),
    ] = None
    unit: options.UnitOption = None
    summation: Annotated[
        SummationName,
        typer.Option(
            help="Sum like Python before 3.12 (plain) or since (compensated); last digits may differ."
        ),
    ] = SummationName.PLAIN

    def settings(self) -> dict[str, Any]:
        """Returns the settings that are chosen; the others are those of the set."""
        return {
            "variant": self.variant.value,
            "summation": self.summation.value,
            **_ngram_range(self.ngrams),
            **options.chosen_unit(self.unit),
        }

    def load(self, benchmark: str | None) -> Benchmark:
        """Load a benchmark with these settings."""
        return pfgen_rs.load_benchmark(benchmark, settings=self.settings())

    def score_with(
        self, runs: Sequence[str], benchmark: str | None, *, threads: int | None = None
    ) -> list[Result]:
        """Score runs with a benchmark that is loaded for that; see `score`."""
        return self.score(runs, self.load(benchmark), threads=threads)


def scoring_options(*, without: Sequence[str] = ()) -> Callable[[F], F]:
    """Give a command the options of `ScoringOptions`, which it receives as its argument `scoring`."""
    return options.with_options(ScoringOptions, "scoring", without=without)


def _ngram_range(text: str | None) -> dict[str, int]:
    """Returns the settings that the option asks for: none if it is not given."""
    if text is None:
        return {}
    match = re.fullmatch(r"([0-9]{1,6})-([0-9]{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise typer.BadParameter(
            f"invalid range {text!r}: expected MIN-MAX, such as 1-10", param_hint="'--ngrams'"
        )
    return {"min_n": int(match[1]), "max_n": int(match[2])}
