"""Several runs at once: finding, scoring, naming and ranking them, and writing their results."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import polars as pl

from pfgen_rs.errors import IncompleteRunError, InputError, OutputError
from pfgen_rs.stats.estimates import Estimate, from_summary

if TYPE_CHECKING:
    from pfgen_rs.runs.result import Result

__all__ = [
    "RUN_FILE",
    "display_name",
    "expand",
    "figures",
    "output_names",
    "per_response",
    "ranked",
    "refuse_incomplete",
    "refuse_overwriting",
    "with_place",
    "write_results",
]

RUN_FILE = "trials"
STANDARD_INPUT = "-"
_MAGIC = frozenset("*?[")


def expand(patterns: Iterable[str]) -> list[str]:
    """Paths that the patterns stand for, in order and without repeats.

    A pattern is a path, `-` (standard input), or a glob (`**` crosses folders), whose matches are
    sorted. Raises `InputError` where a glob matches nothing.
    """
    paths: dict[str, None] = {}
    for pattern in patterns:
        paths.update(dict.fromkeys(_matches(pattern)))
    return list(paths)


def _matches(pattern: str) -> list[str]:
    # A file may really be called "a[1].jsonl".
    if not _MAGIC.intersection(pattern) or os.path.lexists(pattern):
        return [pattern]
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - keeps absolute patterns
    if not found:
        raise InputError("no file matches this pattern", path=pattern)
    return found


def display_name(result: Result) -> str:
    """The model that `config.json` names or, failing that, the name of the folder or file."""
    model = (result.config or {}).get("model")
    return model if isinstance(model, str) and model else _parts(result.path or STANDARD_INPUT)[-1]


def figures(result: Result) -> dict[str, Any]:
    """The run's figures in one flat object, the signature included.

    `trial_se`, `question_se`, `score_low` and `score_high` are those of `pfgen_rs.stats.Estimate`, for
    intervals of 95 % and all responses; `None` where there are too few, and no bounds where the score is not
    the mean of them all.
    """
    errors = _errors(result)
    return {
        "name": display_name(result),
        "file": result.path,
        "score": result.score,
        "score_std": result.score_std,
        "trial_se": errors.trial_se,
        "question_se": errors.question_se,
        "score_low": errors.low,
        "score_high": errors.high,
        "num_trials": result.num_trials,
        "length": result.length,
        "length_std": result.length_std,
        "fluency": result.fluency,
        "truthfulness": result.truthfulness,
        "helpfulness": result.helpfulness,
        "responses": result.height,
        "left_out": len(result.problems),
        "missing_questions": result.missing,
        "input_hash": result.input_hash,
        "signature": result.signature,
    }


def _errors(result: Result) -> Estimate:
    """From the figures as published, so that they are the same with and without the responses at hand."""
    questions = result.by_question
    found = from_summary(
        questions.get_column("average").to_numpy(),
        questions.get_column("score_std").to_numpy(),
        questions.get_column("answers").to_list(),
    )
    return found.of(result.score)


def ranked(results: Sequence[Result]) -> list[Result]:
    """The runs by falling score; equal ones keep their order."""
    return sorted(results, key=lambda result: -result.score)


def per_response(results: Sequence[Result]) -> pl.DataFrame:
    """A row for every response of every run: `file`, the columns of `Result.frame`, `signature`.

    Bytes of a file's name that are no UTF-8, which a column cannot hold, are written as escapes.
    """
    return pl.concat(with_place(result.frame, result.path, result.signature) for result in results)


def with_place(frame: pl.DataFrame, path: str | None, signature: str) -> pl.DataFrame:
    """Rows of a run with the columns `file` and `signature` around theirs."""
    return frame.select(
        pl.lit(_as_text(path), dtype=pl.String).alias("file"),
        pl.all(),
        pl.lit(signature, dtype=pl.String).alias("signature"),
    )


def _as_text(path: str | None) -> str | None:
    return None if path is None else os.fsencode(path).decode(errors="backslashreplace")


def output_names(paths: Sequence[str]) -> list[str]:
    """A different relative folder name for each path.

    The name of the run's folder, or of the file without its suffixes; where two would be the same,
    as many parents in front as it takes, and at last the suffixes. Raises `InputError` where even
    those are the same.
    """
    shapes: list[Callable[[str], tuple[str, ...]]] = [_parts, _whole_parts]
    for shape in shapes:
        parts = [shape(path) for path in paths]
        for depth in range(1, max(map(len, parts), default=0) + 1):
            names = ["/".join(part[-depth:]) for part in parts]
            if len({name.casefold() for name in names}) == len(names):
                return names
    raise InputError("two of the files have the same path; results need different names")


def _whole_parts(path: str) -> tuple[str, ...]:
    if path == STANDARD_INPUT:
        return ("stdin",)
    place = Path(os.path.abspath(path))  # noqa: PTH100 - resolves "..", which must not get into names
    return tuple(part for part in place.parts if part != place.anchor)


def _parts(path: str) -> tuple[str, ...]:
    *parents, name = _whole_parts(path) or ("root",)
    stem = name.split(".", 1)[0] or name
    # A run's file is called the same in every run; its folder tells the runs apart.
    if stem == RUN_FILE and PurePath(name).suffix and parents:
        return tuple(parents)
    return (*parents, stem)


def write_results(
    results: Sequence[Result], folder: str | os.PathLike[str], *, allow_partial: bool = False
) -> list[Path]:
    """Write `folder/result.json` for one run, `folder/NAME/result.json` for several.

    NAME as by `output_names`. Raises `IncompleteRunError`, before anything is written, where a run
    lacks answers (unless `allow_partial`), and `OutputError`.
    """
    refuse_incomplete(results, allow_partial=allow_partial)
    names = output_names([result.path or STANDARD_INPUT for result in results])
    targets = [Path(folder, name if len(results) > 1 else "", "result.json") for name in names]
    for result, target in zip(results, targets, strict=True):
        result.to_json(target, allow_partial=allow_partial)
    return targets


def refuse_incomplete(results: Iterable[Result], *, allow_partial: bool) -> None:
    """Raise `IncompleteRunError` where a run lacks answers, unless `allow_partial`."""
    for result in results:
        if result.missing and not allow_partial:
            raise IncompleteRunError(
                f"{result.path}: {len(result.missing)} of {len(result.benchmark)} questions have no "
                "answer, so there is no published form of the result; nothing was written. Score the "
                "whole run, or allow a partial result explicitly (--allow-partial)"
            )


def refuse_overwriting(target: str | os.PathLike[str], inputs: Iterable[str]) -> None:
    """Raise `OutputError` where `target` is one of the files that are read."""
    place = Path(target).resolve()
    if any(place == Path(path).resolve() for path in inputs if path != STANDARD_INPUT):
        raise OutputError(f"{target}: is one of the inputs; choose another name")
