"""The package's exceptions; all derive from `PfgenError`.

Messages say what is wrong, where (file, line, question) and what to do about it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_SHOWN = 200  # characters of a question


Item = Literal["line", "row", "element", "sample"]
"""What a file of responses consists of."""


class PfgenError(Exception):
    """Base of all errors of this package."""


class InputError(PfgenError, ValueError):
    """Responses that cannot be read or scored.

    `path`, `line` (from 1) and `question` say where, if known. `item` is what `line` counts:
    lines, rows of a table, elements of a JSON array, or samples of a log.
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
        super().__init__(_located_error_message(problem, path, line, question, item))


class UnknownQuestionError(InputError, LookupError):
    """A response to a question that the benchmark does not have."""


class _FileError(PfgenError):
    """Of a file, which may be unknown."""

    def __init__(self, problem: str, *, path: str | Path | None = None) -> None:
        self.problem = problem
        self.path = path
        super().__init__(_located_error_message(problem, path, None, None))


class BenchmarkError(_FileError, ValueError):
    """A question file that cannot be used.

    `path`: the file, if there is one.
    """


class BenchmarkNotFoundError(BenchmarkError, LookupError):
    """No benchmark of that name is bundled or installed, and no such folder exists."""


class SettingsError(PfgenError, ValueError):
    """Settings that contradict each other or are out of range, or an unknown choice such as a metric."""


class ConfigError(_FileError, SettingsError):
    """An invalid configuration for building a set. `path`: its file, if there is one."""


class BuildError(PfgenError):
    """A set of reference answers that cannot be built: too few candidates are left."""


class GenerationError(PfgenError):
    """Answers that cannot be generated: an engine does not start, or refuses every request."""


class IncompleteRunError(PfgenError):
    """A run without the answers that the published format requires."""


class InstallError(PfgenError):
    """A benchmark that could not be downloaded, checked or stored."""


class StoreError(PfgenError):
    """A file of cached indexes that is damaged or was made for something else; it is rebuilt."""


class PlotError(PfgenError, ValueError):
    """A figure that cannot be drawn: no data, or an invalid choice."""


class OutputError(PfgenError, OSError):
    """A result that could not be written; an existing file is unchanged."""


def unreadable(error: Exception) -> str:
    """Returns the problem of a file that cannot be read, such as "cannot be read: Permission denied".

    Of an `OSError` only the reason is shown, since the message already names the file.
    """
    reason = error.strerror if isinstance(error, OSError) else None
    return f"cannot be read: {reason or error}"


def _located_error_message(
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
