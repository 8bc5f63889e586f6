"""Whether correlations with another benchmark hold: tests and intervals beside those of `study_against`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.stats import correlation_tests as tests
from pfgen_rs.stats.correlation import fisher_interval, pearson, spearman
from pfgen_rs.stats.permutation import benjamini_hochberg, holm
from pfgen_rs.studies import metrics
from pfgen_rs.studies.against import AgainstStudy, BenchmarkCorrelation as Found

Row = dict[str, Any]


def examine(
    study: AgainstStudy,
    *,
    correct: bool = False,
    controls: Sequence[str] = (),
    cluster: str | None = None,
    reliability: Mapping[str, float] | None = None,
    compare: Literal["williams", "steiger"] | None = None,
) -> AgainstStudy:
    """Returns a study with the tables that are asked for, in `tests`.

    `corrected`: p-values of each column, corrected for their number (Holm; Benjamini & Hochberg).
    `partial`: correlations at equal `controls`, columns as for `Models.numbers`, over models that have all.
    `clustered`: intervals by a bootstrap over the groups that share a value of `cluster`, a column such as
    `organisation`; a model without one is a group of its own. `noiseless`: correlations without the noise of
    our trials, and of columns whose `reliability` is given (of others none is taken out; the name `trials`
    asks for ours alone). `compared`: of every two columns, whether the leaderboard correlates more with one
    than with the other, over the models that have both (`stats.correlation_tests.compare_dependent`, and
    its `ranks`).

    Raises `InputError` for unknown columns, and for columns that cannot be compared; `SettingsError` for
    reliabilities of columns that are not in the study.
    """
    asked: dict[str, pl.DataFrame] = {}
    models, keys = study.models, study.models.ours["key"]
    if correct:
        asked["corrected"] = _adjusted(_by_column(study, _p_values))
    if controls:
        known = pl.DataFrame([keys, *map(models.numbers, controls)])
        asked["partial"] = _by_column(study, lambda found: _partial(found, known))
    if cluster is not None:
        groups = models.column(cluster).cast(pl.String).fill_null("\0" + keys)
        named = pl.DataFrame({"key": keys, "group": groups})
        asked["clustered"] = _by_column(study, lambda found: _clustered(found, named))
    if reliability is not None:
        if unknown := reliability.keys() - {"trials", *(found.column for found in study.columns)}:
            raise SettingsError(f"no column {shortened(min(unknown))!r} to know the reliability of")
        if (errors := models.ours.select("key", "error"))["error"].is_null().all():
            raise InputError("the noise of scores is unknown: expected score_std and num_trials")
        asked["noiseless"] = _by_column(
            study, lambda found: _noiseless(found, errors, reliability.get(found.column, 1.0))
        )
    if compare:
        asked["compared"] = _compared(study.columns, compare)
    return replace(study, tests=asked)


def _by_column(study: AgainstStudy, examined: Callable[[Found], Row]) -> pl.DataFrame:
    rows = [{"column": found.column, **examined(found)} for found in study.columns]
    return pl.DataFrame(rows, infer_schema_length=None)


def _with(found: Found, known: pl.DataFrame) -> tuple[pl.DataFrame, Floats, Floats]:
    """Returns the models of which something is known, with figures on both sides."""
    both = found.points.join(known, on="key").drop_nulls(known.columns).sort("key")
    return both, both["figure"].to_numpy(), both["value"].to_numpy()


def _p_values(found: Found) -> Row:
    own = found.correlation
    p, rho_p = (tests.correlation_p(r, own.n) for r in (own.pearson, own.spearman))
    return {"n": own.n, "r": own.pearson, "p": p, "rho_p": rho_p}


def _adjusted(table: pl.DataFrame) -> pl.DataFrame:
    """Returns a table with its columns `p` and `rho_p` corrected for the number of rows."""
    return table.with_columns(
        pl.Series(f"{name}_{rule}", adjust(table[name].to_numpy()))
        for name in ("p", "rho_p")
        for rule, adjust in (("holm", holm), ("fdr", benjamini_hochberg))
    )


def _bounds(name: str, *values: float | None) -> Row:
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def _partial(found: Found, known: pl.DataFrame) -> Row:
    both, x, y = _with(found, known)
    controls = [both[name].to_numpy() for name in known.columns[1:]]
    n, left = len(both), max(len(both) - len(controls), 0)
    r, rho = (tests.partial_correlation(x, y, controls, ranks=ranks) for ranks in (False, True))
    p = None if r is None else tests.correlation_p(r, n, len(controls))
    row = {"n": n, "r": pearson(x, y), "p": p, **_bounds("partial_r", r, *fisher_interval(r, left))}
    return row | _bounds("partial_rho", rho, *fisher_interval(rho, left, ranks=True))


def _clustered(found: Found, groups: pl.DataFrame) -> Row:
    both, x, y = _with(found, groups)
    names, numbers = np.unique(both["group"].to_numpy(), return_inverse=True)
    bounds, rank_bounds = tests.cluster_intervals(x, y, numbers)
    own, row = found.correlation, {"n": len(both), "groups": len(names)}
    return row | _bounds("r", own.pearson, *bounds) | _bounds("rho", own.spearman, *rank_bounds)


def _noiseless(found: Found, errors: pl.DataFrame, theirs: float) -> Row:
    usual = pl.col("error").fill_null((pl.col("error") ** 2).mean().sqrt())
    both, x, _ = _with(found, errors.with_columns(usual))
    own, ours = found.correlation, tests.reliability(x, both["error"].to_numpy())
    known = tests.disattenuated(own.pearson, own.n, (ours or 1.0, theirs))
    row = {"n": own.n, "r": own.pearson, "reliability": ours, "their_reliability": theirs}
    return row | _bounds("noiseless_r", *(known if ours else (None,) * 3))


def _compared(columns: Sequence[Found], test: tests.Test) -> pl.DataFrame:
    if len(columns) > metrics.MOST_NAMES:
        raise InputError(f"{len(columns)} columns to compare: at most {metrics.MOST_NAMES}")
    rows = [row for pair in combinations(columns, 2) if (row := _difference(*pair, test))]
    if not rows:
        expected = "expected two with 4 models in common, whose correlations are not 1 or -1"
        raise InputError(f"no columns to compare: {expected}")
    return _adjusted(pl.DataFrame(rows, infer_schema_length=None))


def _difference(one: Found, other: Found, test: tests.Test) -> Row | None:
    both, x, y = _with(one, other.points.select("key", other="value"))
    row: Row = {"one": one.column, "other": other.column, "n": len(both)}
    z = both["other"].to_numpy()
    kinds: dict[str, tests.Test] = {"r": test, "rho": "ranks"}
    for name, kind in kinds.items():
        of, prefix = (pearson, "") if name == "r" else (spearman, "rho_")
        r, s, between = of(x, y), of(x, z), of(y, z)
        if r is None or s is None or between is None:
            return None
        apart = tests.compare_dependent(r, s, between, len(both), test=kind)
        if apart.p is None:
            return None
        row |= {name: r, f"other_{name}": s, f"{prefix}p": apart.p}
        row |= _bounds(f"{prefix}difference", *apart[:3])
    return row
