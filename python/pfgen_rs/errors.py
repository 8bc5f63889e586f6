"""The package's exceptions; all derive from `PfgenError`.

Messages say what is wrong, where (file, line, question) and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

_SHOWN = 200  # characters of a question
_ALIKE = 0.75  # ratio of `difflib` of a misspelt name


Item = Literal["line", "row", "element", "sample"]
"""What a file of responses consists of."""


class PfgenError(Exception):
    """Base of all errors of this package.

    >>> import pfgen_rs
    >>> try:
    ...     pfgen_rs.load_benchmark("no-such-set")
    ... except pfgen_rs.PfgenError as error:
    ...     print(type(error).__name__)
    BenchmarkNotFoundError
    """


class InputError(PfgenError, ValueError):
    """Responses that cannot be read or scored.

    `path`, `line` (from 1) and `question` say where, if known. `item` is what `line` counts:
    lines, rows of a table, elements of a JSON array, or samples of a log.

    >>> import pfgen_rs
    >>> pfgen_rs.score_file("none.jsonl", "mini")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    pfgen_rs.errors.InputError: none.jsonl: cannot be read: ...
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
    """A response to a question that the benchmark does not have.

    >>> import pfgen_rs
    >>> pfgen_rs.load_benchmark("mini").score("Q99", "青いです。")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    pfgen_rs.errors.UnknownQuestionError: question 'Q99': benchmark 'mini' has no question with ...
    """


class _FileError(PfgenError):
    """Of a file, which may be unknown."""

    def __init__(self, problem: str, *, path: str | Path | None = None) -> None:
        self.problem = problem
        self.path = path
        super().__init__(_located_error_message(problem, path, None, None))


class BenchmarkError(_FileError, ValueError):
    """A question file that cannot be used.

    `path`: the file, if there is one.

    >>> import pathlib, tempfile, pfgen_rs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "Q01.json").write_text("{}")
    ...     try:
    ...         pfgen_rs.load_benchmark(folder)
    ...     except pfgen_rs.BenchmarkError as error:
    ...         print(pathlib.Path(error.path).name)
    Q01.json
    """


class BenchmarkNotFoundError(BenchmarkError, LookupError):
    """No benchmark of that name is bundled or installed, and no such folder exists.

    >>> import pfgen_rs
    >>> pfgen_rs.load_benchmark("no-such-set")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    pfgen_rs.errors.BenchmarkNotFoundError: unknown benchmark 'no-such-set': expected a folder ...
    """


class SettingsError(PfgenError, ValueError):
    """Settings that contradict each other or are out of range, or an unknown choice such as a metric.

    >>> import pfgen_rs
    >>> pfgen_rs.Settings(min_n=0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    pfgen_rs.errors.SettingsError: min_n must be at least 1
    """


class ConfigError(_FileError, SettingsError):
    """An invalid configuration for building a set. `path`: its file, if there is one.

    >>> from pfgen_rs.references.config import read_config
    >>> read_config("none.toml")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    pfgen_rs.errors.ConfigError: none.toml: cannot be read: ...
    """


class BuildError(PfgenError):
    """A set of reference answers that cannot be built: too few candidates are left.

    >>> issubclass(BuildError, PfgenError)
    True
    """


class GenerationError(PfgenError):
    """Answers that cannot be generated: an engine does not start, or refuses every request.

    >>> issubclass(GenerationError, PfgenError)
    True
    """


class IncompleteRunError(PfgenError):
    """A run without the answers that the published format requires.

    >>> import pfgen_rs
    >>> result = pfgen_rs.load_benchmark("mini").evaluate(["Q02"], ["光合成です。"])
    >>> result.to_json()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    pfgen_rs.errors.IncompleteRunError: 13 of 14 questions have no answer (Q01, ...
    """


class InstallError(PfgenError):
    """A benchmark that could not be downloaded, checked or stored.

    >>> import pfgen_rs
    >>> pfgen_rs.install.install("no-such-set")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    pfgen_rs.errors.InstallError: unknown benchmark 'no-such-set': expected one of pfgen-bench, ...
    """


class StoreError(PfgenError):
    """A file of cached indexes that is damaged or was made for something else; it is rebuilt.

    >>> issubclass(StoreError, PfgenError)
    True
    """


class PlotError(PfgenError, ValueError):
    """A figure that cannot be drawn: no data, or an invalid choice.

    >>> issubclass(PlotError, ValueError)
    True
    """


class OutputError(PfgenError, OSError):
    """A result that could not be written; an existing file is unchanged.

    >>> import tempfile, pfgen_rs
    >>> result = pfgen_rs.score_file(pfgen_rs.sample_runs()["careless"], "mini")
    >>> try:
    ...     result.to_json(tempfile.gettempdir())  # a folder
    ... except pfgen_rs.OutputError:
    ...     print("not written")
    not written
    """


def meant(name: str, known: Iterable[str]) -> str:
    """Returns ` (did you mean 'x'?)` with the known name that is spelt most like this one; or nothing."""
    import difflib  # which few messages need

    near = difflib.get_close_matches(name[:_SHOWN], known, n=1, cutoff=_ALIKE)
    return f" (did you mean {near[0]!r}?)" if near and near[0] != name else ""


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
