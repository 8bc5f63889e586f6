"""Two judges, prompts or rules against the same raters, paired by question."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from pfgen_rs.errors import InputError
from pfgen_rs.judge.agreement.agreed import check_rule
from pfgen_rs.judge.agreement.codes import NONE, Floats
from pfgen_rs.judge.agreement.concordance import same
from pfgen_rs.judge.agreement.intervals import Interval, share_bounds
from pfgen_rs.judge.agreement.judged import judged, needed_columns
from pfgen_rs.judge.agreement.paired import PERMUTATIONS, question_differences
from pfgen_rs.judge.agreement.resampling import RESAMPLES, classes_of
from pfgen_rs.judge.agreement.sums import summed
from pfgen_rs.judge.decisions import Rule
from pfgen_rs.stats.checks import check_resampling
from pfgen_rs.stats.permutation import resolution, sign_flip_by_size
from pfgen_rs.stats.student import check_level

__all__ = ["JudgeComparison", "compare_judges"]


@dataclass(frozen=True, slots=True)
class JudgeComparison:
    """Concordance of two judges (mean of the raters) on the same pairs.

    `difference`: first - second, with its `interval` (bootstrap over questions). `p`: two-sided p-value of
    the sign-flip test by question; `smallest_p` is what the permutations resolve, 0 if p is exact. `pairs`,
    `questions`: what both judged. `left_out`: pairs that only one of them has.
    """

    first: float
    second: float
    difference: float
    interval: Interval
    p: float
    smallest_p: float
    pairs: int
    questions: int
    left_out: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON types."""
        return asdict(self)


def compare_judges(
    first: pl.DataFrame,
    second: pl.DataFrame,
    humans: pl.DataFrame,
    *,
    rules: tuple[Rule, Rule] = ("probability", "probability"),
    level: float = 0.95,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> JudgeComparison:
    """Returns the difference between two frames of decisions in concordance with the same raters.

    Frames as in `agree`: of two judges, of two prompts, or the same frame with two `rules`. Only pairs that
    both have count; questions are those of `first`. Raises `InputError` as `agree` does, and if both have no
    judged pair in common, and `SettingsError` for invalid settings.
    """
    check_level(level)
    check_resampling(resamples, seed)
    for rule in rules:
        check_rule(rule)
    for each in (first, second):
        needed_columns(each, ("pair",), "decisions")
    _check_pairs_of_humans(first, second, humans)
    common = first.join(second.select("pair"), on="pair", how="semi")
    aligned = common.select("pair").join(second, on="pair", how="left", maintain_order="left")
    left_out = len(first) + len(second) - 2 * len(common)
    theirs = humans.join(common.select("pair"), on="pair", how="semi")
    if common.is_empty() or theirs.is_empty():
        raise InputError("no pair that both judges decided and a rater judged")
    one, two = judged(common, theirs), judged(aligned, theirs)
    right = [
        same(data.decided[rule], data.verdicts).astype(np.int64)
        for data, rule in zip((one, two), rules, strict=True)
    ]
    known = (one.verdicts != NONE).astype(np.int64)
    classes, places = classes_of([*right[0], *right[1], *known])
    counted = {
        "right": np.stack(right, axis=-1)[:, places].swapaxes(0, 1),
        "judged": known[:, places].T,
    }
    sums = summed(counted, classes, one.questions, resamples, seed)
    means, resampled = (_mean_rates(each) for each in (sums.observed, sums.resampled))
    low, high = share_bounds(
        means[0] - means[1], resampled[:, 0] - resampled[:, 1], level, one.questions.max() + 1, -1.0
    )
    differences = question_differences(right[0] - right[1], sums.observed["judged"], one.questions)
    return JudgeComparison(
        first=float(means[0]),
        second=float(means[1]),
        difference=float(means[0] - means[1]),
        interval=Interval(float(low), float(high), level),
        p=sign_flip_by_size(differences, permutations=permutations, seed=seed),
        smallest_p=resolution(int(np.count_nonzero(differences)), permutations),
        pairs=len(common),
        questions=int(one.questions.max()) + 1,
        left_out=left_out,
        seed=seed,
    )


def _check_pairs_of_humans(first: pl.DataFrame, second: pl.DataFrame, humans: pl.DataFrame) -> None:
    needed_columns(humans, ("pair", "rater", "verdict"), "human verdicts")
    known = pl.concat([first.select("pair"), second.select("pair")])
    unknown = humans.join(known, on="pair", how="anti")
    if len(unknown):
        raise InputError(
            f"a verdict on the unknown pair {unknown['pair'][0]!r}: neither judge has it"
        )


def _mean_rates(sums: dict[str, Floats]) -> Floats:
    """Mean over raters of the share of right decisions; shape (…, 2)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = sums["right"] / sums["judged"][..., None]
    known = ~np.isnan(rates)
    return np.asarray(np.where(known, rates, 0.0).sum(axis=-2) / np.maximum(known.sum(axis=-2), 1))
