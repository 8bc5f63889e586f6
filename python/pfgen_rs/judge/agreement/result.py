"""What `agree` returns: tables of agreement, with everything as JSON types."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from pfgen_rs.equality import EqualByFields
from pfgen_rs.judge.agreement.calibration import Calibration
from pfgen_rs.judge.agreement.intervals import Interval, Share
from pfgen_rs.judge.decisions import Rule

__all__ = ["Agreement", "RaterAgreement"]


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """How far the raters agree with each other.

    `statistic`: "fleiss_kappa", or "krippendorff_alpha" if raters are missing and that is allowed. `value` is
    NaN if it is undefined, for example if all raters choose the same letter everywhere. `pairs`: those that
    count. `interval`: bootstrap over questions.
    """

    statistic: str
    value: float
    interval: Interval
    pairs: int

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON types."""
        bounds = {
            "low": self.interval.low,
            "high": self.interval.high,
            "level": self.interval.level,
        }
        found = {"statistic": self.statistic, "value": self.value, "pairs": self.pairs, **bounds}
        nan = {
            key for key, value in found.items() if isinstance(value, float) and math.isnan(value)
        }
        return {key: None if key in nan else value for key, value in found.items()}


@dataclass(frozen=True, eq=False)
class Agreement(EqualByFields):
    """Agreement of a judge with raters, its consistency and its biases.

    In all tables undefined numbers are null; a null `task` stands for all pairs, a null `rater` for the mean
    of the raters (for the judge in `biases`), and `low` and `high` for an interval at `level`: bootstrap over
    questions (`intervals.share_bounds`), unless it is said to be exact (Clopper–Pearson).

    `rule`: the rule by which pairs were decided for everything that concerns single decisions.
    `decisions`: per rule how many pairs were decided as A, B and C, `undecided`, `invalid` and `missing`.
    `concordance`: by `rule`, `task` and `rater`: `pairs` judged, `left_out` (not judged by the rater),
    `right`, and `concordance`.
    `robustness`: by `task`: `pairs`, `consistent`, `invalid` (a verdict is missing), and `robustness`.
    `position`: of pairs that flip between winners, those won by what was shown first in both orders (exact).
    `rater_agreement`: Fleiss' κ or Krippendorff's α; `None` with fewer than two raters, or if it was refused.
    `cohen`: Cohen's κ of judge and each rater, over the rater's pairs; no decision is a letter of its own.
    `confusion`: by `rater` and `decision` (null: none), how often the rater said `A`, `B`, `C`.
    `leave_one_out`: for each rater, over `pairs` for which the others have a majority, how often the
    `human` and the `judge` agree with it, and the `difference` judge - human; `left_out`: no majority.
    `biases`: by `bias` ("longer answer", "own family") and `rater`: of `n` decided pairs with a winner,
    how many `wins` of the favoured answer, their `share` (exact), and `ties` beside them.
    `calibration`: of decisions by probability; `None` without probabilities or raters.
    `comparisons`: the rule against each `other` rule: `difference` of concordance, and p-values of the
    sign-flip test by question, also with Holm's correction; `smallest_p` is what the permutations resolve,
    0 if p is exact.
    `notes`: remarks for the reader.
    """

    rule: Rule
    judge: str | None
    raters: tuple[str, ...]
    pairs: int
    questions: int
    level: float
    resamples: int
    permutations: int
    seed: int
    decisions: pl.DataFrame = field(repr=False)
    concordance: pl.DataFrame = field(repr=False)
    robustness: pl.DataFrame = field(repr=False)
    position: Share
    rater_agreement: RaterAgreement | None
    cohen: pl.DataFrame = field(repr=False)
    confusion: pl.DataFrame = field(repr=False)
    leave_one_out: pl.DataFrame = field(repr=False)
    biases: pl.DataFrame = field(repr=False)
    calibration: Calibration | None
    comparisons: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()

    def tables(self) -> dict[str, pl.DataFrame]:
        """Returns the tables that are not empty, by name."""
        names = (
            "decisions",
            "concordance",
            "robustness",
            "cohen",
            "confusion",
            "leave_one_out",
            "biases",
            "comparisons",
        )
        found: dict[str, pl.DataFrame] = {name: getattr(self, name) for name in names}
        if self.calibration is not None:
            found["calibration"] = self.calibration.table
        return {name: table for name, table in found.items() if not table.is_empty()}

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types; undefined values are null."""
        single = (
            "rule",
            "judge",
            "pairs",
            "questions",
            "level",
            "resamples",
            "permutations",
            "seed",
        )
        tables = {
            name: table.to_dicts() for name, table in self.tables().items() if name != "calibration"
        }
        return {
            **{name: getattr(self, name) for name in single},
            "raters": list(self.raters),
            **tables,
            "position_bias": self.position.to_dict(),
            "rater_agreement": self.rater_agreement and self.rater_agreement.to_dict(),
            "calibration": self.calibration and self.calibration.to_dict(),
            "notes": list(self.notes),
        }
