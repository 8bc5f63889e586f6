"""Every exception the package raises on purpose; all derive from `PfgenError`.

Messages say what is wrong, where (file, line, question) and what to do about it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

__all__ = [
    "BenchmarkError",
    "BenchmarkNotFoundError",
    "BuildError",
    "ConfigError",
    "GenerationError",
    "IncompleteRunError",
    "InputError",
    "InstallError",
    "Item",
    "OutputError",
    "PfgenError",
    "PlotError",
    "SettingsError",
    "StoreError",
    "UnknownQuestionError",
    "unreadable",
]

_SHOWN = 200  # characters of a question


Item = Literal["line", "row", "element"]
"""What a file of responses consists of."""


class PfgenError(Exception):
    """Base of all errors of this package."""


class InputError(PfgenError, ValueError):
    """Responses that cannot be read or scored.

    `path`, `line` (from 1) and `question` say where, as far as that is known. `item` is what `line` counts:
    lines, rows of a table, or elements of a JSON array.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        question: str | None = None,
        item: Item = "line",
    ) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        self.question = question
        self.item = item
        super().__init__(_located(problem, path, line, question, item))


class UnknownQuestionError(InputError, LookupError):
    """A response to a question that the benchmark does not have."""


class BenchmarkError(PfgenError, ValueError):
    """A question file that cannot be used.

    `path` names the file, where there is one.
    """

    def __init__(self, problem: str, *, path: str | Path | None = None) -> None:
        self.problem = problem
        self.path = path
        super().__init__(_located(problem, path, None, None))


class BenchmarkNotFoundError(BenchmarkError, LookupError):
    """No benchmark of that name is bundled or installed, and no such folder exists."""


class SettingsError(PfgenError, ValueError):
    """Scoring settings that contradict each other or leave their range."""


class ConfigError(SettingsError):
    """A configuration for building a set that cannot be used. `path` names its file."""

    def __init__(self, problem: str, *, path: str | Path | None = None) -> None:
        self.problem = problem
        self.path = path
        super().__init__(_located(problem, path, None, None))


class BuildError(PfgenError):
    """A set of reference answers that cannot be built: too little is left of the candidates."""


class GenerationError(PfgenError):
    """Answers that cannot be generated: an engine that cannot be started, or refuses everything."""


class IncompleteRunError(PfgenError):
    """A run that lacks answers where the published format needs them."""


class InstallError(PfgenError):
    """A benchmark that could not be downloaded, checked or stored."""


class StoreError(PfgenError):
    """A file of stored indexes that is damaged or belongs to something else; it is built again."""


class PlotError(PfgenError, ValueError):
    """A figure that cannot be drawn: there is nothing to draw, or a choice that it has not."""


class OutputError(PfgenError, OSError):
    """A result that could not be written; what was there before is untouched."""


def unreadable(error: Exception) -> str:
    """The problem of a file that cannot be opened or read: "cannot be read: Permission denied".

    An `OSError` is cut down to its reason: the message names the file in a place of its own.
    """
    reason = error.strerror if isinstance(error, OSError) else None
    return f"cannot be read: {reason or error}"


def _located(
    problem: str,
    path: str | Path | None,
    line: int | None,
    question: str | None,
    item: Item = "line",
) -> str:
    place = [] if path is None else [str(path)]
    if line is not None:
        place.append(f"{item} {line}")
    if question is not None:
        shown = question if len(question) <= _SHOWN else question[: _SHOWN - 1] + "…"
        place.append(f"question {shown!r}")
    return f"{', '.join(place)}: {problem}" if place else problem
