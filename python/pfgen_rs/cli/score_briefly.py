"""`pfgen-rs score RUN` in its plainest forms, without what parses command lines and reads any file.

Importing that takes several times as long as scoring. Whatever is not understood here, or is not usual, is
left to the command itself, which does all of it again; the output is the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import Thread
from typing import NamedTuple

from pfgen_rs.cli.score_output import report_gaps, show_results
from pfgen_rs.errors import PfgenError
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.files import stated_unit
from pfgen_rs.questions.known_questions import KnownQuestions, KnownSet
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.runs.brief import BriefRun, scored_briefly

__all__ = ["is_scored_briefly"]

_BENCHMARK, _FORMAT = "benchmark", "format"
_OPTIONS = {"-b": _BENCHMARK, "--benchmark": _BENCHMARK, "-f": _FORMAT, "--format": _FORMAT}
_FORMATS = ("table", "json", "csv")
_COMPLETION = "_PFGEN_RS_COMPLETE"


class _Asked(NamedTuple):
    run: str
    benchmark: str | None
    output_format: str
    plain: bool


def is_scored_briefly(arguments: Sequence[str]) -> bool:
    """Score and show the run that the command `score` is asked for; returns whether that was possible."""
    asked = _asked_of_score(arguments)
    questions = None if asked is None else _known_to_score(asked.benchmark)
    if asked is None or questions is None:
        return False
    found: list[BriefRun | None] = []
    thread = Thread(target=lambda: found.append(scored_briefly(asked.run, questions)), daemon=True)
    thread.start()
    if asked.output_format == "table":
        from pfgen_rs.cli import score_view  # noqa: F401 - native code scores meanwhile
    thread.join()
    if not found or found[0] is None:
        return False
    _show_briefly(found[0], asked)
    return True


def _show_briefly(run: BriefRun, asked: _Asked) -> None:
    try:
        report_gaps(run)
        show_results([run], asked.output_format, asked.plain)
    except RuntimeError as error:
        from typer import Exit

        if isinstance(error, Exit):  # which is typer's to handle elsewhere
            raise SystemExit(error.exit_code) from None
        raise


def _known_to_score(benchmark: str | None) -> KnownSet | None:
    """Returns the questions of a benchmark, if they are known and have the usual settings."""
    try:
        folder = benchmark_path(benchmark)
        if stated_unit(folder) != "character":
            return None
        return KnownQuestions(folder).found(Settings())
    except PfgenError:
        return None


def _asked_of_score(arguments: Sequence[str]) -> _Asked | None:
    """Returns what is asked for, if it is one run and nothing but how to show it."""
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
    if len(runs) != 1 or any(not value or value.startswith("-") for value in given):
        return None
    output_format = values.get(_FORMAT, "table")
    if output_format not in _FORMATS:
        return None
    return _Asked(runs[0], values.get(_BENCHMARK), output_format, plain)
