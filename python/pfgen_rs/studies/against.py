"""The leaderboard against other benchmarks of the same models (experiment 3 of the papers)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.safe_text import shortened
from pfgen_rs.metrics.names import METRICS, Metric
from pfgen_rs.stats.residuals import regression_line
from pfgen_rs.stats.student import check_level
from pfgen_rs.studies.against_result import OURS, AgainstStudy, BenchmarkCorrelation
from pfgen_rs.studies.correlations import correlate
from pfgen_rs.studies.leaderboard import Leaderboard, Modes, read_leaderboard
from pfgen_rs.studies.model_names import model_key, near_misses
from pfgen_rs.studies.table_files import read_benchmark_table
from pfgen_rs.studies.tables import KEYS, BenchmarkTable, Figures

__all__ = ["study_against"]


def study_against(
    table: str | os.PathLike[str] | BenchmarkTable,
    leaderboard: str | os.PathLike[str] | Leaderboard,
    columns: Sequence[str],
    *,
    name: str | None = None,
    metric: Metric = "average",
    modes: Modes = "best",
    aliases: Mapping[str, str] | None = None,
    exclude: Sequence[str] = (),
    level: float = 0.95,
) -> AgainstStudy:
    """Correlate the leaderboard with columns of another benchmark's table.

    `table`: as for `read_benchmark_table`, or its path; `leaderboard`: as for `read_leaderboard`. `columns`:
    names or patterns such as `ja_pre.*`; of those that a pattern matches, what cannot be correlated is left
    out with a note. `name`: the column of the models' names (default: the names of a mapping). Models are
    the same if their `model_key` is; `aliases` has other names of theirs with ours. Of several rows of theirs
    for a model the highest counts, of ours as `modes` says. `exclude`: models to leave out, by any spelling.

    Raises `InputError` for tables that cannot be read, cells that are no numbers, fewer than three common
    models and figures that are all equal, and `SettingsError` for unknown choices.
    """
    check_level(level)
    theirs = table if isinstance(table, BenchmarkTable) else read_benchmark_table(table)
    board = leaderboard if isinstance(leaderboard, Leaderboard) else read_leaderboard(leaderboard)
    ours = _without(board.by_model(metric, modes), exclude)
    names = theirs.find(name or KEYS) if name or KEYS in theirs.columns else None
    if names is None:
        raise InputError(
            f"which column has the models' names? Name it (--name): {theirs.known}",
            path=theirs.path,
        )
    alias_keys = {model_key(one): model_key(other) for one, other in (aliases or {}).items()}
    heading = OURS if metric == METRICS[0] else f"pfgen {metric}"
    labels = _labelled_columns(theirs, columns, names)
    while heading in labels:
        heading += " (ours)"
    found, notes = _correlated_columns(theirs, labels, names, ours, alias_keys, heading, level)
    known = theirs.keys(names, alias_keys)
    own = dict(zip(reversed(ours["key"]), reversed(ours["model"]), strict=True))
    excluded = {model_key(one) for one in exclude}
    only_theirs = {key: known[key] for key in known if key not in own and key not in excluded}
    only_ours = {key: own[key] for key in sorted(own) if key not in known}
    return AgainstStudy(
        heading,
        tuple(found),
        only_ours,
        only_theirs,
        near_misses(only_theirs, only_ours),
        (
            *board.notes,
            *notes,
            *_idle_aliases(theirs, names, own, aliases or {}),
            *_told_modes(modes),
        ),
    )


def _without(ours: pl.DataFrame, exclude: Sequence[str]) -> pl.DataFrame:
    keys = {model_key(name): name for name in exclude}
    unknown = [name for key, name in keys.items() if key not in set(ours["key"])]
    if unknown:
        raise InputError(f"the leaderboard has no model {shortened(unknown[0])!r} to leave out")
    return ours.filter(~pl.col("key").is_in(list(keys)))


def _labelled_columns(
    theirs: BenchmarkTable, wanted: Sequence[str], names: str
) -> dict[str, tuple[str, bool]]:
    """Returns by the name that each column is shown with its own, and whether a pattern found it."""
    if not wanted:
        raise SettingsError("no column to correlate with: name at least one (--column)")
    found: dict[str, tuple[str, bool]] = {}
    for pattern in wanted:
        by_pattern = theirs.is_pattern(pattern)
        for column in theirs.find_all(pattern):
            if not by_pattern:
                found[pattern] = column, False
            elif column != names:
                found.setdefault(theirs.short_name(column, pattern), (column, True))
    return found


def _correlated_columns(
    theirs: BenchmarkTable,
    labels: Mapping[str, tuple[str, bool]],
    names: str,
    ours: pl.DataFrame,
    aliases: Mapping[str, str],
    heading: str,
    level: float,
) -> tuple[list[BenchmarkCorrelation], list[str]]:
    found: list[BenchmarkCorrelation] = []
    notes: list[str] = []
    for label, (column, by_pattern) in labels.items():
        try:
            figures = replace(theirs.figures(names, column, aliases), column=label)
            found.append(_correlated(figures, ours, heading, level))
        except InputError as error:
            if not by_pattern:
                raise _in_file(error, theirs.path) from None
            notes.append(f"left out: {shortened(column)!r}: {error.problem}")
    if not found:
        raise InputError(f"no column can be correlated; {'; '.join(notes[:1])}", path=theirs.path)
    return sorted(found, key=lambda one: -one.correlation.pearson), notes


def _correlated(
    figures: Figures, ours: pl.DataFrame, heading: str, level: float
) -> BenchmarkCorrelation:
    theirs = pl.DataFrame(
        {
            "key": list(figures.values),
            "name": [figures.names[key] for key in figures.values],
            "value": list(figures.values.values()),
        },
        schema={"key": pl.String, "name": pl.String, "value": pl.Float64},
    )
    # By key, so that sums, and with them the last digits, do not depend on the order of either file.
    points = ours.join(theirs, on="key", how="inner").sort("key", "mode", "figure")
    correlation = correlate(
        heading, points["figure"].to_numpy(), figures.column, points["value"].to_numpy(), level
    )
    line = regression_line(points["figure"].to_numpy(), points["value"].to_numpy())
    drawn = points.with_columns(residual=pl.Series(line.residuals, dtype=pl.Float64))
    ordered = drawn.sort("figure", descending=True, maintain_order=True)
    return BenchmarkCorrelation(
        figures.column, ordered, correlation, figures.missing, line.slope, line.intercept
    )


def _in_file(error: InputError, path: str) -> InputError:
    if error.path is not None:
        return error
    return InputError(error.problem, path=path)


def _idle_aliases(
    theirs: BenchmarkTable, names: str, own: Mapping[str, str], aliases: Mapping[str, str]
) -> list[str]:
    """Returns notes about aliases that name nothing: they may be misspelled."""
    known = theirs.keys(names, {})
    notes = []
    for one, other in aliases.items():
        if model_key(one) not in known:
            notes.append(f"alias {shortened(one)!r}: the table has no such model")
        elif model_key(other) not in own:
            notes.append(f"alias {shortened(other)!r}: the leaderboard has no such model")
    return notes


def _told_modes(modes: Modes) -> list[str]:
    if modes == "best":
        return []
    return ["runs of one model are not independent: intervals are narrower than they should be"]
