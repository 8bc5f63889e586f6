"""Tables of agreement, computed from sums over classes of pairs and over resamples of questions."""

from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from pfgen_rs.judge.agreement import measures
from pfgen_rs.judge.agreement.measures import same
from pfgen_rs.judge.decisions import NONE, ORDERS, RULES, Codes, Indices, Judged, Rule
from pfgen_rs.judge.verdicts import LETTERS
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.stats.permutation import holm, resolution, sign_flip_by_size
from pfgen_rs.stats.resampling import Interval, Sums, classes_of, share_bounds, summed

PERMUTATIONS = 10_000
_LETTERS = np.arange(len(LETTERS))
_FLEISS, _ALPHA = "fleiss_kappa", "krippendorff_alpha"
_COMPARISONS = ("difference", "low", "high", "p", "p_holm", "smallest_p")


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """How far the raters agree with each other.

    `statistic`: "fleiss_kappa", or "krippendorff_alpha" if raters are missing. `value` is
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
        self._statistic = None
        if len(data.raters) > 1:
            whole = (data.verdicts != NONE).all()
            self._statistic = _FLEISS if whole else _ALPHA if allow_missing else None
        self._classes, self._kinds = _kinds_of(data)
        counted = {
            **_judge_counts(self._kinds, self._rules),
            **_rater_counts(self._kinds.verdicts, self._kinds.decided[rule]),
            **_vote_counts(self._kinds.verdicts, self._statistic),
        }
        self._sums = summed(counted, self._classes, data.questions, resamples, seed)
        self._observed = self._sums[0]

    def concordance(self) -> "pl.DataFrame":
        """Concordance with each rater and their mean, by rule and task."""
        rates, resampled = map(concordance_rates, self._sums)
        pairs, judged, right = (
            _with_all(self._observed[name]) for name in ("pairs", "judged", "right")
        )
        number = np.minimum(np.concatenate([judged, pairs[None]]), self._questions)
        low, high = share_bounds(rates, resampled, self._level, number.astype(np.int64))
        raters = [*self._data.raters, None] if self._data.raters else []
        rows = []
        for (i, rule), (t, task), (r, rater) in product(
            enumerate(self._rules), enumerate(self._tasks()), enumerate(raters)
        ):
            counts: tuple[int | None, ...] = (int(pairs[t]), None, None)
            if rater is not None:
                counts = int(judged[r, t]), int(pairs[t] - judged[r, t]), int(right[i, r, t])
            shares = (float(x[i, r, t]) for x in (rates, low, high))
            rows.append((rule, task, rater, *counts, *shares))
        return frame(
            rows,
            texts=("rule", "task", "rater"),
            counts=("pairs", "left_out", "right"),
            numbers=("concordance", "low", "high"),
        )

    def robustness(self) -> "pl.DataFrame":
        """Share of pairs with equal verdicts in both orders, by task."""
        rates, resampled = (
            quotient(_with_all(sums["consistent"]), _with_all(sums["pairs"])) for sums in self._sums
        )
        low, high = share_bounds(rates, resampled, self._level, self._questions)
        names = ("pairs", "consistent", "invalid")
        counts = [_with_all(self._observed[name]).astype(np.int64) for name in names]
        rows = zip(self._tasks(), *(x.tolist() for x in (*counts, rates, low, high)), strict=False)
        return frame(rows, texts=("task",), counts=names, numbers=("robustness", "low", "high"))

    def repetition(self) -> "pl.DataFrame":
        """Share of pairs whose samples all say the same, by order and task."""
        names = ("repeated", "stable")
        repeated, stable = (_with_all(self._observed[name]).astype(np.int64) for name in names)
        rates, resampled = (
            quotient(_with_all(sums["stable"]), _with_all(sums["repeated"])) for sums in self._sums
        )
        number = np.minimum(repeated, self._questions)
        low, high = share_bounds(rates, resampled, self._level, number)
        rows = [
            (task, order, *(x[o, t].item() for x in (repeated, stable, rates, low, high)))
            for (o, order), (t, task) in product(enumerate(ORDERS), enumerate(self._tasks()))
            if repeated[o].any()
        ]
        numbers = ("repetition", "low", "high")
        return frame(rows, texts=("task",), counts=("order", "pairs", "stable"), numbers=numbers)

    def rater_agreement(self) -> RaterAgreement | None:
        """Fleiss' κ, or Krippendorff's α, with its interval."""
        if self._statistic is None:
            return None
        values = [self._agreement_of_raters(sums) for sums in self._sums]
        low, high = share_bounds(values[0], values[1], self._level, self._questions[0], -1.0)
        value = float(values[0])
        if self._statistic == _ALPHA:
            value = measures.alpha_from_counts(_votes_of(self._data.verdicts))
        bounds = Interval(float(low), float(high), self._level)
        pairs = int(self._observed["voted"].sum())
        return RaterAgreement(self._statistic, value, bounds, pairs)

    def cohen(self) -> "pl.DataFrame":
        """Cohen's κ of the judge and each rater."""
        values, resampled = (_cohen_of_sums(sums["confusion"]) for sums in self._sums)
        pairs = self._observed["confusion"].sum(axis=(-2, -1)).astype(np.int64)
        judged = np.minimum(pairs, self._questions[0])
        low, high = share_bounds(values, resampled, self._level, judged, -1.0)
        columns = (x.tolist() for x in (pairs, values, low, high))
        rows = zip(self._data.raters, *columns, strict=True)
        return frame(rows, texts=("rater",), counts=("pairs",), numbers=("kappa", "low", "high"))

    def confusion(self) -> "pl.DataFrame":
        """Decisions by verdicts of each rater."""
        table = self._observed["confusion"].astype(np.int64)
        rows = [
            (rater, decision, *table[r, d].tolist())
            for r, rater in enumerate(self._data.raters)
            for d, decision in enumerate((*LETTERS, None))
        ]
        return frame(rows, texts=("rater", "decision"), counts=LETTERS)

    def leave_one_out(self) -> "pl.DataFrame":
        """Each rater, and the judge, against the majority of the other raters."""
        shares = []
        for sums in self._sums:
            human, judge = (
                quotient(sums[name], sums["others"]) for name in ("as_others", "judge_as_others")
            )
            shares.append(np.stack([human, judge, judge - human], axis=-1))
        counts = [self._observed[name].astype(np.int64) for name in ("others", "no_majority")]
        number = np.minimum(counts[0], self._questions[0])[:, None]
        low, high = share_bounds(shares[0], shares[1], self._level, number, -1.0)
        low[:, :2], high[:, :2] = share_bounds(
            shares[0][:, :2], shares[1][:, :, :2], self._level, number
        )
        values = np.stack([shares[0], low, high], axis=-1).reshape(len(number), 9)
        rows = [
            (rater, *of_rater, *numbers)
            for rater, *of_rater, numbers in zip(
                self._data.raters, *(x.tolist() for x in counts), values.tolist(), strict=False
            )
        ]
        names = ("human", "judge", "difference")
        numbers = [f"{name}{bound}" for name in names for bound in ("", "_low", "_high")]
        return frame(rows, texts=("rater",), counts=("pairs", "left_out"), numbers=numbers)

    def comparisons(self, permutations: int) -> "pl.DataFrame":
        """The chosen rule against each of the others."""
        if not self._data.raters:
            return frame([], texts=("other",), numbers=_COMPARISONS)
        means, resampled = (concordance_rates(sums)[..., -1, 0] for sums in self._sums)
        mine = self._rules.index(self._rule)
        apart, drawn = means[mine] - means, resampled[:, [mine]] - resampled
        low, high = share_bounds(apart, drawn, self._level, self._questions[0], -1.0)
        others = [i for i in range(len(self._rules)) if i != mine]
        differences = [self._differences(mine, i) for i in others]
        settings = {"permutations": permutations, "seed": self._seed}
        p = np.array([sign_flip_by_size(each, **settings) for each in differences])
        smallest = [resolution(int(np.count_nonzero(each)), permutations) for each in differences]
        rows = [
            (self._rules[i], *(float(x) for x in (apart[i], low[i], high[i], *tests)))
            for i, *tests in zip(others, p, holm(p) if len(p) else p, smallest, strict=True)
        ]
        return frame(rows, texts=("other",), numbers=_COMPARISONS)

    def _agreement_of_raters(self, sums: Sums) -> Floats:
        if self._statistic == _ALPHA:
            scale = measures.alpha_unit_sums(_votes_of(self._kinds.verdicts))[2]
            return measures.alpha_of_sums(sums["disagreements"] / scale, sums["votes"])
        return measures.fleiss_of_sums(
            sums["squares"], sums["votes"], sums["voted"], len(self._data.raters)
        )

    def _differences(self, one: int, other: int) -> Floats:
        """Differences of concordance (mean of the raters), as sums of each question."""
        right = [
            same(self._kinds.decided[self._rules[i]], self._kinds.verdicts).astype(np.int64)
            for i in (one, other)
        ]
        gained = (right[0] - right[1])[:, self._classes]
        judged_by = self._observed["judged"].sum(axis=-1)
        return question_differences(gained, judged_by, self._data.questions)

    def _tasks(self) -> list[str | None]:
        """Names of tasks behind `None` for all pairs, in the order of `_with_all`."""
        names = self._data.task_names
        return [None] if names == (None,) else [None, *names]


def concordance_rates(sums: Sums) -> Floats:
    """Returns concordance, shape (…, decisions, raters and their mean, all pairs and tasks).

    `sums`: "right", shape (…, decisions, raters, tasks), and "judged", shape (…, raters, tasks).
    """
    right, number = _with_all(sums["right"]), _with_all(sums["judged"])
    rates = quotient(right, number[..., None, :, :])
    known = ~np.isnan(rates)
    mean = quotient(
        np.where(known, rates, 0.0).sum(axis=-2, keepdims=True),
        known.sum(axis=-2, keepdims=True),
    )
    return np.concatenate([rates, mean], axis=-2)


def frame(rows: Any, texts: Any = (), counts: Any = (), numbers: Any = ()) -> "pl.DataFrame":
    """Returns a frame of rows with columns of these kinds, in this order; null where a number is NaN."""
    schema = {
        **dict.fromkeys(texts, pl.String),
        **dict.fromkeys(counts, pl.Int64),
        **dict.fromkeys(numbers, pl.Float64),
    }
    return pl.DataFrame(list(rows), schema=schema, orient="row").fill_nan(None)


def question_differences(gained: Indices, judged: Floats, questions: Indices) -> Floats:
    """Returns by how much a difference of concordance (mean of the raters) is due to each question.

    `gained`: for each rater and pair, 1 where only the first of two decisions is right, -1 where only the
    second is, shape (raters, pairs). `judged`: numbers of pairs that the raters judged. The differences of
    all questions add up to that of concordance.
    """
    judging = judged > 0
    sums = np.stack([np.bincount(questions, weights=each) for each in gained[judging]])
    return np.asarray((sums / judged[judging, None]).sum(axis=0) / np.count_nonzero(judging))


def _cohen_of_sums(confusion: Floats) -> Floats:
    """κ of counts of shape (…, 4, 3): raters never choose the fourth letter."""
    square = np.concatenate([confusion, np.zeros_like(confusion[..., :1])], axis=-1)
    return measures.cohen_of_confusion(square)


def _with_all(sums: Floats) -> Floats:
    """Puts the sum over tasks (last axis) before them."""
    return np.concatenate([sums.sum(axis=-1, keepdims=True), sums], axis=-1)


def quotient(above: Floats, below: NDArray[Any]) -> Floats:
    """Returns quotients, NaN for 0/0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below, dtype=np.float64)


# Classes of pairs with the same letters, and what they count: integers of shape (classes, …) by name


def _kinds_of(data: Judged) -> tuple[Indices, Judged]:
    """Returns the class of each pair, and one pair of each class."""
    consistent = same(data.first, data.second).astype(np.int8)
    invalid = ((data.first == NONE) | (data.second == NONE)).astype(np.int8)
    letters = [each + 1 for each in (*data.decided.values(), *data.verdicts)]
    letters += [each + 1 for each in data.stable]
    classes, places = classes_of([data.tasks, consistent, invalid, *letters])
    return classes, replace(
        data,
        first=data.first[places],
        second=data.second[places],
        stable=data.stable[:, places],
        decided={rule: codes[places] for rule, codes in data.decided.items()},
        tasks=data.tasks[places],
        questions=data.questions[places],
        verdicts=data.verdicts[:, places],
    )


def _judge_counts(kinds: Judged, rules: list[Rule]) -> dict[str, NDArray[Any]]:
    """Pairs by task, and by rater and task: judged, and right by each rule."""
    of_task = kinds.tasks[:, None] == np.arange(len(kinds.task_names))
    judged_by = (kinds.verdicts != NONE).T
    right = np.stack([same(kinds.decided[rule], kinds.verdicts).T for rule in rules], axis=1)
    invalid = (kinds.first == NONE) | (kinds.second == NONE)
    return {
        "pairs": of_task,
        "consistent": of_task & same(kinds.first, kinds.second)[:, None],
        "invalid": of_task & invalid[:, None],
        "repeated": (kinds.stable != NONE).T[:, :, None] & of_task[:, None],
        "stable": (kinds.stable == 1).T[:, :, None] & of_task[:, None],
        "judged": judged_by[:, :, None] & of_task[:, None],
        "right": right[..., None] & of_task[:, None, None],
    }


def _rater_counts(verdicts: Codes, chosen: Codes) -> dict[str, NDArray[Any]]:
    """Confusion of decisions and verdicts, and both against the majority of the other raters.

    There are no other raters with a single one.
    """
    # No decision is the fourth letter of the judge; raters have three.
    fourth = len(LETTERS)
    mine = np.where(chosen == NONE, fourth, chosen)[:, None] == np.arange(fourth + 1)
    theirs = verdicts.T[:, :, None] == _LETTERS
    raters = len(verdicts) if len(verdicts) > 1 else 0
    names = ("others", "no_majority", "as_others", "judge_as_others")
    found = {name: np.zeros((len(chosen), raters), dtype=bool) for name in names}
    for rater in range(raters):
        others, own = measures.majority(np.delete(verdicts, rater, axis=0)), verdicts[rater]
        found["others"][:, rater] = (own != NONE) & (others != NONE)
        found["no_majority"][:, rater] = (own != NONE) & (others == NONE)
        found["as_others"][:, rater] = same(own, others)
        found["judge_as_others"][:, rater] = same(chosen, others) & (own != NONE)
    return {"confusion": mine[:, None, :, None] & theirs[:, :, None, :], **found}


def _vote_counts(verdicts: Codes, statistic: str | None) -> dict[str, NDArray[Any]]:
    votes = _votes_of(verdicts)
    if statistic == _ALPHA:
        disagreements, values, _ = measures.alpha_unit_sums(votes)
        return {"disagreements": disagreements, "votes": values, "voted": votes.sum(axis=1) > 1}
    whole = votes.sum(axis=1) == len(verdicts)
    return {"squares": (votes * votes).sum(axis=1), "votes": votes, "voted": whole}


def _votes_of(verdicts: Codes) -> Indices:
    """Returns how many raters chose each letter: shape (pairs, 3)."""
    return np.stack([np.count_nonzero(verdicts == x, axis=0) for x in _LETTERS], axis=1)
