"""Inputs of figures: checkouts, leaderboards and runs, which are scored if they have no result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from pfgen_rs.benchmark import score_runs
from pfgen_rs.checkout.checkout import find_runs, is_checkout
from pfgen_rs.checkout.entries import entries, entries_frame
from pfgen_rs.checkout.labels import labels
from pfgen_rs.checkout.published import Published, published, read_published
from pfgen_rs.checkout.standings import read_standings_file
from pfgen_rs.errors import InputError, PfgenError, PlotError, unreadable
from pfgen_rs.io.counted import counted
from pfgen_rs.io.patterns import expand
from pfgen_rs.io.run_files import RESULT
from pfgen_rs.runs.result import Result

__all__ = [
    "Inputs",
    "PlotRun",
    "Score",
    "named_runs",
    "question_folder",
    "read_curve_rows",
    "read_inputs",
    "sample_names",
    "score_inputs",
]

Score = Callable[[Sequence[str], str | None], list[Result]]
"""Scores runs with a benchmark, like `score_runs`."""
_COLUMNS = {"run", "model", "mode", "score", "score_low", "score_high"}  # of a leaderboard


@dataclass(frozen=True)
class Inputs:
    """Runs to draw.

    `runs`: rows as in `entries_frame`, each with a unique `name`. `results`: their published results by that
    name; none for runs of a leaderboard file. `problems`: the errors of runs that were left out.
    """

    runs: pl.DataFrame
    results: dict[str, dict[str, Any]]
    problems: list[PfgenError]


def read_inputs(
    patterns: Sequence[str],
    benchmark: str | None = None,
    score: Score = score_runs,
    *,
    again: bool = False,
) -> Inputs:
    """Read runs from paths.

    A path may be a checkout, a leaderboard (`.json`, `.parquet`), a run's folder, a `result.json`, a file of
    responses, or a glob. Runs without `result.json` (with `again`: all) are scored by `score` with
    `benchmark` (default: the questions of the first checkout). Raises `InputError`, `PlotError` if no runs
    are found, and the errors of scoring.
    """
    found: list[Published] = []
    tables: list[pl.DataFrame] = []
    problems: list[PfgenError] = []
    paths = expand(patterns)
    unscored = [
        path
        for path in paths
        if again
        or not _is_input_published(
            path, found, tables, problems, prefix="" if len(paths) == 1 else path
        )
    ]
    if unscored:
        results = score_inputs(unscored, question_folder(paths, benchmark), score)
        found += [_published_input(result) for result in results]
    table = named_runs(pl.concat([entries_frame(entries(found)), *tables], how="diagonal_relaxed"))
    if table.is_empty():
        raise PlotError(
            f"no run found in {', '.join(patterns)}" + "".join(f"; {p}" for p in problems)
        )
    by_run = {run.run: run.result for run in found}
    names = table.select("name", "run").rows()
    return Inputs(table, {name: by_run[run] for name, run in names if run in by_run}, problems)


def score_inputs(
    patterns: Sequence[str], benchmark: str | None = None, score: Score = score_runs
) -> list[Result]:
    """Score the responses of runs (of all runs of a checkout); benchmark as for `read_inputs`."""
    paths = expand(patterns)
    chosen: list[str] = []
    for path in paths:
        if is_checkout(Path(path)):
            chosen += [
                str(run.folder) for run in find_runs(path) if run.responses and run.name != "data"
            ]
        else:
            chosen.append(path)
    return score(chosen, question_folder(paths, benchmark))


def sample_names(results: Sequence[Result]) -> list[str]:
    """Returns the labels of scored runs (`checkout.labels`), in their order."""
    runs = [
        PlotRun(
            run=_run_of_input(result) or str(place),
            model=result.name,
            organisation=result.name.rpartition("/")[0] or None,
            mode=_mode_of_input(result.config),
        )
        for place, result in enumerate(results)
    ]
    found = labels(runs)
    return [found[run.run] for run in runs]


def _run_of_input(result: Result) -> str:
    """Returns what tells a scored run from others: its file, and its name there if the file has several."""
    return result.place if result.run is not None else result.path or ""


def _mode_of_input(config: dict[str, Any] | None) -> str | None:
    mode = (config or {}).get("mode")
    return mode if isinstance(mode, str) else None


def question_folder(paths: Sequence[str], benchmark: str | None) -> str | None:
    """Returns the given benchmark or, without one, the questions of the first checkout."""
    checkouts = [path for path in paths if is_checkout(Path(path))]
    return benchmark or (str(Path(checkouts[0], "data")) if checkouts else None)


def _is_input_published(
    path: str,
    found: list[Published],
    tables: list[pl.DataFrame],
    problems: list[PfgenError],
    *,
    prefix: str,
) -> bool:
    """Read published results, if that is what the path names; else, return false."""
    place = Path(path)
    table = _plot_leaderboard_rows(place)
    if table is not None:
        tables.append(table)
    elif is_checkout(place):
        _collect_plot_results(place, found, problems, prefix=prefix)
    elif (place / RESULT).is_file():
        found.append(read_published(place, place.as_posix()))
    elif place.suffix == ".json":
        found.append(published(_input_bytes(place), place, place.parent.as_posix()))
    else:
        return False
    return True


def _collect_plot_results(
    checkout: Path, found: list[Published], problems: list[PfgenError], *, prefix: str
) -> None:
    for run in find_runs(checkout):
        if not (run.folder / RESULT).exists():
            continue
        try:
            found.append(read_published(run.folder, Path(prefix, run.name).as_posix()))
        except InputError as error:
            problems.append(error)


def _plot_leaderboard_rows(path: Path) -> pl.DataFrame | None:
    """Returns the rows of a leaderboard file; `None` for other files."""
    if path.suffix == ".json" and b'"runs"' in _input_bytes(path)[:1000]:
        return pl.DataFrame(read_standings_file(path), infer_schema_length=None)
    if path.suffix == ".parquet":
        try:
            table = pl.read_parquet(path, glob=False, hive_partitioning=False)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(unreadable(error), path=path) from None
        return table if set(table.columns) >= _COLUMNS else None
    return None


def _input_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def _published_input(result: Result) -> Published:
    config = {**(result.config or {}), "model": result.name}
    content = {**result.to_dict(allow_partial=True), "config": config}
    return Published(_run_of_input(result), content, "")


def named_runs(runs: pl.DataFrame) -> pl.DataFrame:
    """Add `name`, a label (`checkout.labels`), to rows as of `entries_frame`; drop repeated runs."""
    once = runs.unique("run", keep="first", maintain_order=True)
    if "organisation" not in once.columns:
        once = once.with_columns(organisation=pl.lit(None, pl.String))
    found = labels([PlotRun(*row) for row in once.select(*PlotRun._fields).rows()])
    name = [found[run] for run in once["run"]]
    return once.with_columns(pl.Series("name", name, dtype=pl.String))


class PlotRun(NamedTuple):
    """What a label is made of."""

    run: str
    model: str
    organisation: str | None = None
    mode: str | None = None


def read_curve_rows(paths: Sequence[str]) -> pl.DataFrame:
    """Read the table of one learning curve, such as a `curve.parquet`; raises `InputError`."""
    if len(paths) != 1:
        raise PlotError(
            f"the learning figure takes one curve.parquet, got {counted(len(paths), 'file')}"
        )
    path = Path(paths[0])
    problem = "not a learning curve: expected a file such as curve.parquet"
    if path.is_dir():  # of which polars would read every file
        raise InputError(problem, path=path)
    try:
        return pl.read_parquet(paths[0], glob=False, hive_partitioning=False)
    except OSError as error:
        raise InputError(f"not a learning curve: {unreadable(error)}", path=path) from None
    except pl.exceptions.PolarsError:
        raise InputError(problem, path=path) from None
