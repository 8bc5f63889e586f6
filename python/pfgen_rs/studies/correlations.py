"""Correlations of lists of figures over the same models or runs, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.stats.correlation import fisher_interval, pearson, spearman

FEWEST = 3  # two points always lie on a line
"""The least number of models that a correlation is over."""
MOST_NAMES = 40
"""The most names whose correlations with each other are drawn, and told."""


@dataclass(frozen=True)
class Correlation:
    """The correlations of two lists of figures, named `one` and `other`, over `n` models or runs.

    `pearson`, `spearman`: the coefficients, with their 95 % intervals by Fisher's transformation, which takes
    the models for independent; without bounds for three models, and of ρ = ±1.
    """

    one: str
    other: str
    n: int
    pearson: float
    pearson_low: float | None
    pearson_high: float | None
    spearman: float
    spearman_low: float | None
    spearman_high: float | None
    level: float = 0.95

    def cells(self) -> list[str]:
        """Returns n, Pearson's r with its interval, and Spearman's ρ with its interval, as text."""
        return [
            str(self.n),
            correlation_text(self.pearson),
            interval_text(self.pearson_low, self.pearson_high),
            correlation_text(self.spearman),
            interval_text(self.spearman_low, self.spearman_high),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON."""
        return asdict(self)


_SCHEMA = {
    field.name: {"n": pl.Int64, "one": pl.String, "other": pl.String}.get(field.name, pl.Float64)
    for field in fields(Correlation)
}


@dataclass(frozen=True)
class CorrelationMatrix:
    """The correlations of every two of several lists of figures, in the order of `names`."""

    names: tuple[str, ...]
    pairs: tuple[Correlation, ...]

    def frame(self) -> pl.DataFrame:
        """Returns a row for each pair, with the fields of `Correlation` as columns."""
        return pl.DataFrame([pair.to_dict() for pair in self.pairs], schema=_SCHEMA)

    def values(self) -> Floats:
        """Returns Pearson's r: float64, shape (names, names), 1 on the diagonal, NaN where undefined."""
        found = np.full((len(self.names), len(self.names)), np.nan)
        np.fill_diagonal(found, 1.0)
        for pair in self.pairs:
            i, j = self.names.index(pair.one), self.names.index(pair.other)
            found[i, j] = found[j, i] = pair.pearson
        return found

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON."""
        return {"names": list(self.names), "pairs": [pair.to_dict() for pair in self.pairs]}


def correlate(
    one: str, x: Sequence[float] | Floats, other: str, y: Sequence[float] | Floats
) -> Correlation:
    """Correlate two lists of finite figures, of the same models in the same order.

    Raises `InputError` for fewer than three models, and for a list of equal figures, whose correlation is
    undefined.
    """
    found = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(found[0])
    if n < FEWEST:
        raise InputError(
            f"{_both(one, other)} have {counted(n, 'model')} in common: expected at least {FEWEST}"
        )
    for name, values in zip((one, other), found, strict=True):
        if np.ptp(values) == 0:
            raise InputError(
                f"{shortened(name)!r} is {values[0]:g} for all {n} models that it has in common with "
                f"{shortened(one if name == other else other)!r}: the correlation is undefined"
            )
    r, rho = pearson(*found), spearman(*found)
    if r is None or rho is None or r != r or rho != rho:  # differences that squares cannot hold
        raise InputError(f"{_both(one, other)}: the correlation is undefined")
    bounds, rank_bounds = fisher_interval(r, n), fisher_interval(rho, n, ranks=True)
    return Correlation(one, other, n, r, *bounds, rho, *rank_bounds)


def _both(one: str, other: str) -> str:
    return f"{shortened(one)!r} and {shortened(other)!r}"


def correlations(columns: Mapping[str, Sequence[float] | Floats]) -> CorrelationMatrix:
    """Correlate every two columns, over the rows that have finite figures in both.

    Pairs whose correlation is undefined are left out.
    """
    found = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    pairs = []
    for one, other in combinations(found, 2):
        both = np.isfinite(found[one]) & np.isfinite(found[other])
        try:
            pairs.append(correlate(one, found[one][both], other, found[other][both]))
        except InputError:
            continue
    return CorrelationMatrix(tuple(found), tuple(pairs))


# How numbers are written.


_ROUNDING = 1e-12  # of a coefficient


def correlation_text(value: float | None, digits: int = 4) -> str:
    """Returns a coefficient as text: never rounded to 1 if it is less by more than a rounding error."""
    if value is None or value != value:
        return "–"
    text = f"{value:z.{digits}f}"
    if abs(float(text)) == 1.0 and 1.0 - abs(value) > _ROUNDING:
        return correlation_text(value, digits + 1)
    return text


def interval_text(low: float | None, high: float | None, digits: int = 4) -> str:
    """Returns the bounds of an interval as text."""
    if low is None or high is None:
        return "–"
    return f"{correlation_text(low, digits)} to {correlation_text(high, digits)}"
