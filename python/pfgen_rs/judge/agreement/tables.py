"""Tables of agreement, computed from sums over classes of pairs and over resamples of questions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.judge.agreement.counts import (
    Judged,
    Statistic,
    judge_counts,
    kinds_of,
    rater_counts,
    votes_of,
)
from pfgen_rs.judge.agreement.intervals import Interval, share_bounds
from pfgen_rs.judge.agreement.kappa import (
    alpha_from_counts,
    alpha_of_sums,
    alpha_unit_sums,
    cohen_of_confusion,
    fleiss_of_sums,
    same,
)
from pfgen_rs.judge.agreement.resampling import Sums, summed
from pfgen_rs.judge.decision_columns import NONE, Floats, Indices
from pfgen_rs.judge.decisions import RULES, Rule
from pfgen_rs.judge.tokens import LETTERS
from pfgen_rs.stats.permutation import holm, resolution, sign_flip_by_size

PERMUTATIONS = 10_000
TEXT, COUNT, NUMBER = pl.String, pl.Int64, pl.Float64
BOUNDS = {"low": NUMBER, "high": NUMBER}
_ROBUSTNESS = ("pairs", "consistent", "invalid")
_COMPARISONS = {
    "other": TEXT,
    "difference": NUMBER,
    **BOUNDS,
    **dict.fromkeys(("p", "p_holm", "smallest_p"), NUMBER),
}


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
        found = {
            "statistic": self.statistic,
            "value": self.value,
            "pairs": self.pairs,
            **asdict(self.interval),
        }
        return {key: None if value != value else value for key, value in found.items()}


class AgreementTables:
    """Tables of `Agreement`, by the names of its fields. Questions are resampled once for all of them."""

    def __init__(
        self, data: Judged, rule: Rule, allow_missing: bool, level: float, resamples: int, seed: int
    ) -> None:
        self._data, self._rule, self._level, self._seed = data, rule, level, seed
        tasks = len(data.task_names)
        of_task = np.unique(data.questions * tasks + data.tasks) % tasks
        by_task = np.bincount(of_task, minlength=tasks)
        self._questions = np.array([data.questions.max() + 1, *by_task])  # all, and of each task
        self._rules = [
            each for each in RULES if each != "probability" or (data.decided[each] != NONE).any()
        ]
        self._kinds = kinds = kinds_of(data)
        self._statistic = _statistic_of_raters(data, allow_missing)
        chosen = kinds.decided[rule]
        counted = {
            **judge_counts(kinds, len(data.task_names), self._rules),
            **rater_counts(kinds, chosen, self._statistic),
        }
        self._sums = summed(counted, kinds.of, data.questions, resamples, seed)
        self._observed = self._sums[0]

    def concordance(self) -> pl.DataFrame:
        """Concordance with each rater and their mean, by rule and task."""
        rates, resampled = map(concordance_rates, self._sums)
        pairs, judged, right = (
            _with_all(self._observed[name]) for name in ("pairs", "judged", "right")
        )
        number = np.minimum(np.concatenate([judged, pairs[None]]), self._questions)
        low, high = share_bounds(rates, resampled, self._level, number.astype(np.int64))
        raters = [*self._data.raters, None] if self._data.raters else []
        rows = []
        for (i, rule), (task, t), (r, rater) in product(
            enumerate(self._rules), self._task_rows(), enumerate(raters)
        ):
            counts: tuple[int | None, ...] = (int(pairs[t]), None, None)
            if rater is not None:
                counts = int(judged[r, t]), int(pairs[t] - judged[r, t]), int(right[i, r, t])
            shares = (float(x[i, r, t]) for x in (rates, low, high))
            rows.append((rule, task, rater, *counts, *shares))
        names = {"rule": TEXT, "task": TEXT, "rater": TEXT, "pairs": COUNT, "left_out": COUNT}
        values = {"right": COUNT, "concordance": NUMBER, **BOUNDS}
        return frame(rows, {**names, **values})

    def robustness(self) -> pl.DataFrame:
        """Share of pairs with equal verdicts in both orders, by task."""
        rates, resampled = (
            _quotient(_with_all(sums["consistent"]), _with_all(sums["pairs"]))
            for sums in self._sums
        )
        low, high = share_bounds(rates, resampled, self._level, self._questions)
        observed = {name: _with_all(self._observed[name]) for name in _ROBUSTNESS}
        rows = [
            (
                task,
                *(int(observed[name][t]) for name in _ROBUSTNESS),
                *(float(x[t]) for x in (rates, low, high)),
            )
            for task, t in self._task_rows()
        ]
        counts = dict.fromkeys(_ROBUSTNESS, COUNT)
        return frame(rows, {"task": TEXT, **counts, "robustness": NUMBER, **BOUNDS})

    def rater_agreement(self) -> RaterAgreement | None:
        """Fleiss' κ, or Krippendorff's α, with its interval."""
        if self._statistic is None:
            return None
        values = [self._agreement_of_raters(sums) for sums in self._sums]
        low, high = share_bounds(values[0], values[1], self._level, self._questions[0], -1.0)
        value = float(values[0])
        if self._statistic == "krippendorff_alpha":
            value = alpha_from_counts(votes_of(self._data.verdicts))
        bounds = Interval(float(low), float(high), self._level)
        pairs = int(self._observed["voted"].sum())
        return RaterAgreement(self._statistic, value, bounds, pairs)

    def cohen(self) -> pl.DataFrame:
        """Cohen's κ of the judge and each rater."""
        values, resampled = (_cohen_of_sums(sums["confusion"]) for sums in self._sums)
        numbers = self._observed["confusion"].sum(axis=(-2, -1))
        judged = np.minimum(numbers, self._questions[0]).astype(np.int64)
        low, high = share_bounds(values, resampled, self._level, judged, -1.0)
        rows = [
            (rater, int(numbers[r]), *(float(x[r]) for x in (values, low, high)))
            for r, rater in enumerate(self._data.raters)
        ]
        return frame(rows, {"rater": TEXT, "pairs": COUNT, "kappa": NUMBER, **BOUNDS})

    def confusion(self) -> pl.DataFrame:
        """Decisions by verdicts of each rater."""
        table = self._observed["confusion"].astype(np.int64)
        rows = [
            (rater, decision, *table[r, d].tolist())
            for r, rater in enumerate(self._data.raters)
            for d, decision in enumerate((*LETTERS, None))
        ]
        return frame(rows, {"rater": TEXT, "decision": TEXT, **dict.fromkeys(LETTERS, COUNT)})

    def leave_one_out(self) -> pl.DataFrame:
        """Each rater, and the judge, against the majority of the other raters."""
        shares = []
        for sums in self._sums:
            human, judge = (
                _quotient(sums[name], sums["others"]) for name in ("as_others", "judge_as_others")
            )
            shares.append(np.stack([human, judge, judge - human], axis=-1))
        counts = [self._observed[name] for name in ("others", "no_majority")]
        number = np.minimum(counts[0], self._questions[0]).astype(np.int64)[:, None]
        low, high = share_bounds(shares[0], shares[1], self._level, number, -1.0)
        low[:, :2], high[:, :2] = share_bounds(
            shares[0][:, :2], shares[1][:, :, :2], self._level, number
        )
        rows = []
        for r, rater in enumerate(self._data.raters[: len(counts[0])]):
            values = np.stack([shares[0][r], low[r], high[r]], axis=-1).ravel().tolist()
            rows.append((rater, *(int(each[r]) for each in counts), *values))
        names = [
            f"{name}{bound}"
            for name in ("human", "judge", "difference")
            for bound in ("", "_low", "_high")
        ]
        schema = {"rater": TEXT, "pairs": COUNT, "left_out": COUNT}
        return frame(rows, {**schema, **dict.fromkeys(names, NUMBER)})

    def comparisons(self, permutations: int) -> pl.DataFrame:
        """The chosen rule against each of the others."""
        if not self._data.raters:
            return frame([], _COMPARISONS)
        means, resampled = (concordance_rates(sums)[..., -1, 0] for sums in self._sums)
        mine = self._rules.index(self._rule)
        low, high = share_bounds(
            means[mine] - means,
            resampled[:, [mine]] - resampled,
            self._level,
            self._questions[0],
            -1.0,
        )
        others = [i for i in range(len(self._rules)) if i != mine]
        differences = [self._differences(mine, i) for i in others]
        settings = {"permutations": permutations, "seed": self._seed}
        p = np.array([sign_flip_by_size(each, **settings) for each in differences])
        smallest = [resolution(int(np.count_nonzero(each)), permutations) for each in differences]
        rows = [
            (self._rules[i], *(float(x) for x in (means[mine] - means[i], low[i], high[i], *tests)))
            for i, *tests in zip(others, p, holm(p) if len(p) else p, smallest, strict=True)
        ]
        return frame(rows, _COMPARISONS)

    def _agreement_of_raters(self, sums: Sums) -> Floats:
        if self._statistic == "krippendorff_alpha":
            return alpha_of_sums(sums["disagreements"] / self._scale(), sums["votes"])
        return fleiss_of_sums(sums["squares"], sums["votes"], sums["voted"], len(self._data.raters))

    def _differences(self, one: int, other: int) -> Floats:
        """Differences of concordance (mean of the raters), as sums of each question."""
        kinds = self._kinds
        right = [
            same(kinds.decided[self._rules[i]], kinds.verdicts).astype(np.int64)
            for i in (one, other)
        ]
        gained = (right[0] - right[1])[:, kinds.of]
        judged_by = self._observed["judged"].sum(axis=-1)
        return question_differences(gained, judged_by, self._data.questions)

    def _scale(self) -> int:
        """By what disagreements are multiplied to be integers."""
        return alpha_unit_sums(votes_of(self._kinds.verdicts))[2]

    def _task_rows(self) -> list[tuple[str | None, int]]:
        """Names of tasks, all pairs first, and their places behind the sum of all."""
        names = self._data.task_names
        if names == (None,):
            return [(None, 0)]
        return [(None, 0), *((name, i + 1) for i, name in enumerate(names))]


def concordance_rates(sums: Sums) -> Floats:
    """Returns concordance, shape (…, decisions, raters and their mean, all pairs and tasks).

    `sums`: "right", shape (…, decisions, raters, tasks), and "judged", shape (…, raters, tasks).
    """
    right, number = _with_all(sums["right"]), _with_all(sums["judged"])
    rates = _quotient(right, number[..., None, :, :])
    known = ~np.isnan(rates)
    mean = _quotient(
        np.where(known, rates, 0.0).sum(axis=-2, keepdims=True),
        known.sum(axis=-2, keepdims=True),
    )
    return np.concatenate([rates, mean], axis=-2)


def frame(rows: list[Any], schema: dict[str, Any]) -> pl.DataFrame:
    """Returns a frame of rows, null where a number is NaN."""
    return pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None)


def _statistic_of_raters(data: Judged, allow_missing: bool) -> Statistic | None:
    if len(data.raters) < 2:
        return None
    if (data.verdicts != NONE).all():
        return "fleiss_kappa"
    return "krippendorff_alpha" if allow_missing else None


def _cohen_of_sums(confusion: Floats) -> Floats:
    """κ of counts of shape (…, 4, 3): raters never choose the fourth letter."""
    square = np.concatenate([confusion, np.zeros_like(confusion[..., :1])], axis=-1)
    return cohen_of_confusion(square)


def _with_all(sums: Floats) -> Floats:
    """Puts the sum over tasks (last axis) before them."""
    return np.concatenate([sums.sum(axis=-1, keepdims=True), sums], axis=-1)


def _quotient(above: Floats, below: NDArray[Any]) -> Floats:
    """Quotients, NaN for 0/0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below, dtype=np.float64)


def question_differences(gained: Indices, judged: Floats, questions: Indices) -> Floats:
    """Returns by how much a difference of concordance (mean of the raters) is due to each question.

    `gained`: for each rater and pair, 1 where only the first of two decisions is right, -1 where only the
    second is, shape (raters, pairs). `judged`: numbers of pairs that the raters judged. The differences of
    all questions add up to that of concordance.
    """
    judging = judged > 0
    sums = np.stack([np.bincount(questions, weights=each) for each in gained[judging]])
    return np.asarray((sums / judged[judging, None]).sum(axis=0) / np.count_nonzero(judging))
