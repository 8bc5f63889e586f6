"""The leaderboard against other benchmarks of the same models (experiment 3 of the papers)."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import pl
from pfgen_rs.metrics.settings import METRICS, Metric
from pfgen_rs.questions.left_out import model_key
from pfgen_rs.report.site.model_facts import FILE, ModelFacts, bundled_facts, read_facts
from pfgen_rs.stats.correlation import regression_line
from pfgen_rs.studies import metrics, tables
from pfgen_rs.studies.models import Models


def study_against(
    table: str | os.PathLike[str] | tables.BenchmarkTable,
    leaderboard: str | os.PathLike[str] | metrics.Leaderboard,
    columns: Sequence[str],
    *,
    name: str | None = None,
    metric: Metric = "average",
    aliases: Mapping[str, str] | None = None,
    exclude: Sequence[str] = (),
    where: str | None = None,
) -> "AgainstStudy":
    """Correlate the leaderboard with columns of another benchmark's table.

    `table`: as for `read_benchmark_table`, or its path; `leaderboard`: as for `read_leaderboard`. `columns`:
    names or patterns such as `ja_pre.*`; of those that a pattern matches, what cannot be correlated is left
    out with a note. `name`: the column of the models' names (default: the names of a mapping). Models are
    the same if their `model_key` is; `aliases` has other names of theirs with ours. Of several rows of a
    model the highest counts. `exclude`: models to leave out, by any spelling. `where`: a condition
    (`Models.chosen`) that models must meet; those of which it is unknown do not.

    Raises `InputError` for tables that cannot be read, cells that are no numbers, fewer than three common
    models and figures that are all equal, and `SettingsError` for an unknown metric, no columns, and what is
    no condition.
    """
    theirs = tables.read_benchmark_table(table)
    board = metrics.read_leaderboard(leaderboard)
    everyone = board.by_model(metric)
    if not name and tables.KEYS in theirs.columns:
        name = tables.KEYS
    if not name:
        raise InputError(
            f"which column has the models' names? Name it (--name): {theirs.known}",
            path=theirs.path,
        )
    names = theirs.find(name)
    alias_keys = {model_key(one): model_key(other) for one, other in (aliases or {}).items()}
    models = Models(_without(everyone, exclude), _facts(leaderboard), theirs, names, alias_keys)
    if where:
        models = replace(models, ours=models.ours.filter(models.chosen(where)))
    ours = models.ours
    heading = OURS if metric == METRICS[0] else f"pfgen {metric}"
    labels = _labelled_columns(theirs, columns, names)
    while heading in labels:
        heading += " (ours)"
    found, notes = _correlated_columns(theirs, labels, names, ours, alias_keys, heading)
    known = theirs.keys(names, alias_keys)
    own = dict(ours.select("key", "model").iter_rows())
    excluded = set(everyone["key"]) - own.keys()
    only_theirs = {key: known[key] for key in known if key not in own and key not in excluded}
    only_ours = {key: own[key] for key in sorted(own) if key not in known}
    return AgainstStudy(
        heading,
        tuple(found),
        only_ours,
        only_theirs,
        tables.near_misses(only_theirs, only_ours),
        (*board.notes, *notes, *_idle_aliases(theirs, names, own, aliases or {})),
        models,
    )


def _facts(leaderboard: str | os.PathLike[str] | metrics.Leaderboard) -> ModelFacts:
    if isinstance(leaderboard, metrics.Leaderboard) or not Path(leaderboard).is_dir():
        return bundled_facts()
    return read_facts(Path(leaderboard, FILE))


def _without(ours: pl.DataFrame, exclude: Sequence[str]) -> pl.DataFrame:
    keys = {model_key(name): name for name in exclude}
    unknown = [name for key, name in keys.items() if key not in set(ours["key"])]
    if unknown:
        raise InputError(f"the leaderboard has no model {shortened(unknown[0])!r} to leave out")
    return ours.filter(~pl.col("key").is_in(list(keys)))


def _labelled_columns(
    theirs: tables.BenchmarkTable, wanted: Sequence[str], names: str
) -> dict[str, tuple[str, bool]]:
    """Returns by the name that each column is shown with its own, and whether a pattern found it."""
    if not wanted:
        raise SettingsError("no column to correlate with: name at least one (--column)")
    found: dict[str, tuple[str, bool]] = {}
    for name in wanted:
        if theirs.is_pattern(name):
            for label, column in theirs.matching(name).items():
                if column != names:
                    found.setdefault(label, (column, True))
        else:
            found[name] = theirs.find(name), False
    return found


def _correlated_columns(
    theirs: tables.BenchmarkTable,
    labels: Mapping[str, tuple[str, bool]],
    names: str,
    ours: pl.DataFrame,
    aliases: Mapping[str, str],
    heading: str,
) -> "tuple[list[BenchmarkCorrelation], list[str]]":
    found: list[BenchmarkCorrelation] = []
    notes: list[str] = []
    for label, (column, by_pattern) in labels.items():
        try:
            found.append(_correlated(label, *theirs.figures(names, column, aliases), ours, heading))
        except InputError as error:
            if not by_pattern:
                if error.path is not None:
                    raise
                raise InputError(error.problem, path=theirs.path) from None
            notes.append(f"left out: {shortened(column)!r}: {error.problem}")
    if not found:
        raise InputError(f"no column can be correlated; {'; '.join(notes[:1])}", path=theirs.path)
    return sorted(found, key=lambda one: -one.correlation.pearson), notes


def _correlated(
    label: str, theirs: pl.DataFrame, missing: int, ours: pl.DataFrame, heading: str
) -> "BenchmarkCorrelation":
    # By key, so that sums, and with them the last digits, do not depend on the order of either file.
    points = ours.join(theirs, on="key", how="inner").sort("key")
    x, y = points["figure"].to_numpy(), points["value"].to_numpy()
    correlation = metrics.correlate(heading, x, label, y)
    line = regression_line(x, y)
    drawn = points.drop("organisation", "length", "error").with_columns(
        residual=pl.Series(line.residuals, dtype=pl.Float64)
    )
    ordered = drawn.sort("figure", descending=True, maintain_order=True)
    return BenchmarkCorrelation(label, ordered, correlation, missing, line.slope, line.intercept)


def _idle_aliases(
    theirs: tables.BenchmarkTable, names: str, own: Mapping[str, str], aliases: Mapping[str, str]
) -> list[str]:
    """Returns notes about aliases that name nothing: they may be misspelled."""
    known = theirs.keys(names, {})
    notes = []
    for one, other in aliases.items():
        if model_key(one) == model_key(other):
            continue
        if model_key(one) not in known:
            notes.append(f"alias {shortened(one)!r}: the table has no such model")
        elif model_key(other) not in own:
            notes.append(f"alias {shortened(other)!r}: the leaderboard has no such model")
    return notes


# What `study_against` finds: correlations, points with residuals, and models without counterpart.


OURS = "pfgen score"
"""What the leaderboard's score is called beside other benchmarks, and a key of `drawing/japanese.toml`."""

OUTLIERS = 3
"""How many models with the largest residuals are named, unless told otherwise."""


@dataclass(frozen=True, eq=False)
class BenchmarkCorrelation:
    """The leaderboard against one column of another benchmark.

    `points`: one row a model, by descending figure: `key`, `model`, `mode`, `figure` (ours), `name`
    and `value` (theirs), `residual` of the regression of theirs on ours, in units of its standard deviation
    sqrt(SSE / (n - 2)). `slope`, `intercept`: the regression line. `missing`: number of rows of theirs
    without a figure.
    """

    column: str
    points: pl.DataFrame
    correlation: metrics.Correlation
    missing: int
    slope: float
    intercept: float

    def outliers(self, count: int = OUTLIERS) -> pl.DataFrame:
        """Returns the `count` points with the largest residuals of either sign, the largest first."""
        by_size = self.points.sort(
            pl.col("residual").abs(), "key", descending=[True, False], maintain_order=True
        )
        return by_size.head(count)

    def to_dict(self) -> dict[str, Any]:
        """Returns the column's name, correlation and number of missing figures."""
        return {"column": self.column, **asdict(self.correlation), "missing": self.missing}

    def told_outliers(self) -> str:
        """Returns our names of the outliers, and residuals."""
        rows = self.outliers().select("model", "key", "residual").iter_rows()
        named = ((model.rpartition("/")[2] or key, residual) for model, key, residual in rows)
        return ", ".join(f"{name} {residual:+.2f}" for name, residual in named)


@dataclass(frozen=True)
class AgainstStudy:
    """The leaderboard against the columns of another benchmark, by descending correlation.

    `ours`: what the leaderboard's figure is called. `unmatched_ours`, `unmatched_theirs`: keys of models that
    only one of the two has, with a name. `near`: unmatched keys of theirs with one of ours that differs
    little, for aliases. `notes`: what was left out. `models`: those correlated, and what is known of them.
    `tests`: tables by name, of what `examine` was asked for.
    """

    ours: str
    columns: tuple[BenchmarkCorrelation, ...]
    unmatched_ours: Mapping[str, str]
    unmatched_theirs: Mapping[str, str]
    near: Mapping[str, str]
    notes: tuple[str, ...]
    models: Models
    tests: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def is_small(self) -> bool:
        """Whether there are so few columns that all are correlated with each other, too."""
        return len(self.columns) < metrics.MOST_NAMES

    @cached_property
    def matrix(self) -> metrics.CorrelationMatrix:
        """The correlations of the leaderboard with all columns, and of less than 40 columns with each other.

        With the leaderboard those of `columns`; of two columns over the models that the leaderboard has.
        """
        names = (self.ours, *(found.column for found in self.columns))
        own = tuple(found.correlation for found in self.columns)
        if not self.is_small:
            return metrics.CorrelationMatrix(names, own)
        values = {
            one.column: dict(one.points.select("key", "value").rows()) for one in self.columns
        }
        keys = sorted({key for found in values.values() for key in found})
        nan = float("nan")
        theirs = metrics.correlations(
            {name: [found.get(key, nan) for key in keys] for name, found in values.items()}
        )
        return metrics.CorrelationMatrix(names, own + theirs.pairs)

    def frame(self) -> pl.DataFrame:
        """Returns one row a column: `column`, `n`, both correlations with bounds, and `outliers` (keys).

        Of `tests`, those with a row a column follow, their columns named as in `partial.r`.
        """
        rows = [
            {**found.to_dict(), "outliers": found.outliers()["key"].to_list()}
            for found in self.columns
        ]
        found = pl.DataFrame(rows).drop("one", "other")
        for name, table in self.tests.items():
            if "column" in table:
                more = table.drop("column").select(pl.all().name.prefix(f"{name}."))
                found = found.hstack(more)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON; of 40 columns and more without their correlations with each other."""
        columns = [
            {
                **found.to_dict(),
                "slope": found.slope,
                "intercept": found.intercept,
                "outliers": found.outliers().select("key", "residual").rows(),
                "points": found.points.to_dicts(),
            }
            for found in self.columns
        ]
        lacking = f"left out: correlations of {len(self.columns)} columns with each other"
        return {
            "columns": columns,
            "correlations": self.matrix.to_dict(),
            "unmatched_ours": dict(self.unmatched_ours),
            "unmatched_theirs": dict(self.unmatched_theirs),
            "near": dict(self.near),
            "notes": [*self.notes, *([] if self.is_small else [lacking])],
            **({"tests": {n: t.to_dicts() for n, t in self.tests.items()}} if self.tests else {}),
        }
