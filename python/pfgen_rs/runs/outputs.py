"""Ranks scored runs, converts them to rows of tables, and writes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pfgen_rs import lazy
from pfgen_rs.errors import IncompleteRunError
from pfgen_rs.io.patterns import STANDARD_INPUT
from pfgen_rs.io.remote.urls import is_url, url_text
from pfgen_rs.io.run_files import RESULT
from pfgen_rs.runs.naming import result_names
from pfgen_rs.runs.result import Result

if TYPE_CHECKING:
    import polars as pl

    from pfgen_rs.io.remote.storage import Storage
    from pfgen_rs.runs.responses import FileResponses
else:
    pl = lazy.module("polars")


__all__ = [
    "per_response",
    "refuse_incomplete",
    "result_place",
    "signed_frames",
    "with_place",
    "write_results",
]


def per_response(results: Sequence[Result]) -> pl.DataFrame:
    """Returns one row per response of every run: `file`, the columns of `Result.frame`, `signature`.

    Bytes of a file's name that are not UTF-8, which a column cannot contain, are escaped.
    """
    return pl.concat(with_place(result.frame, result.path, result.signature) for result in results)


def with_place(frame: pl.DataFrame, path: str | None, signature: str) -> pl.DataFrame:
    """Add the columns `file`, in front, and `signature`, at the end, to a run's rows."""
    file, signed = (
        pl.Series(name, [value], dtype=pl.String).new_from_index(0, len(frame))
        for name, value in (("file", _output_path_text(path)), ("signature", signature))
    )
    return pl.DataFrame([file, *frame.get_columns(), signed])


def signed_frames(runs: Sequence[Result]) -> Iterator[pl.DataFrame]:
    """Yield the rows of all runs of a file in the file's order, chunk by chunk, with their signatures."""
    texts = cast("FileResponses", runs[0].responses)
    for parts in texts.frames_of_runs([result.response_scores for result in runs]):
        signed = [
            with_place(part, result.path, result.signature)
            for part, result in zip(parts, runs, strict=True)
            if len(part)
        ]
        if signed:
            yield signed[0] if len(signed) == 1 else pl.concat(signed).sort("line")


def _output_path_text(path: str | None) -> str | None:
    return None if path is None else os.fsencode(path).decode(errors="backslashreplace")


def write_results(
    results: Sequence[Result],
    folder: str | os.PathLike[str],
    *,
    allow_partial: bool = False,
    storage_options: Mapping[str, Any] | Storage | None = None,
) -> list[str | Path]:
    """Write `folder/result.json` for one run, `folder/NAME/result.json` for several.

    `folder` may be a URL of object storage, opened with `storage_options`. NAME is determined by
    `result_names`. Raises `IncompleteRunError`, before anything is written, if a run lacks answers (unless
    `allow_partial`), or `OutputError`.
    """
    refuse_incomplete(results, allow_partial=allow_partial)
    names = result_names([(result.path or STANDARD_INPUT, result.run) for result in results])
    targets = [result_place(folder, name) for name in names]
    for result, target in zip(results, targets, strict=True):
        result.to_json(target, allow_partial=allow_partial, storage_options=storage_options)
    return targets


def result_place(folder: str | os.PathLike[str], name: str = "") -> str | Path:
    """Returns the path or URL of a run's `result.json` in a folder."""
    if not is_url(folder):
        return Path(folder, name, RESULT)
    return "/".join(filter(None, [url_text(folder).rstrip("/"), name, RESULT]))


def refuse_incomplete(results: Iterable[Result], *, allow_partial: bool) -> None:
    """Raise `IncompleteRunError` if a run lacks answers, unless `allow_partial`."""
    for result in results:
        if result.is_partial and not allow_partial:
            raise IncompleteRunError(
                f"{result.place}: {result.missing_note}, but a published result needs all; nothing was "
                "written. Score the whole run, or "
                "allow a partial result explicitly (--allow-partial)"
            )
