"""The columns of a report, weighted sums of scores: values with intervals, and paired comparisons."""

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from pfgen_rs.errors import SettingsError
from pfgen_rs.lazy import np
from pfgen_rs.llm_jp_eval import averaging, measures, registry
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.stats import correlation, permutation, shares

Kind = Literal["average", "category", "task"]
LEVEL = 0.95
"""Confidence level of intervals and tests."""
_STS = "STS"
_SHORT = {"pearson": "r", "spearman": "ρ"}
_ALSO = {"mmluen_exact_match": "mmlu_en_exact_match"}  # the same score, as other versions name it
_SAME = {**_ALSO, **{other: name for name, other in _ALSO.items()}}


@dataclass(frozen=True, slots=True)
class Part:
    """A score that counts in a column, with its category and its weight where everything was run."""

    task: str
    metric: str
    category: str
    weight: float

    @property
    def score(self) -> str:
        """The name of the score: `{task}_{metric}`."""
        return f"{self.task}_{self.metric}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the weighted sum of its parts.

    `name`: an average, a category (`STS (r)` and `STS (ρ)` are Pearson's and Spearman's correlation) or a
    task (`jsts (r)`, `jsts (ρ)`). What only a run's file knows has no parts. `categories`: by how many a
    column divides. `needs_all`: whether it has no value without any of them.
    """

    name: str
    kind: Kind
    parts: tuple[Part, ...]
    categories: int = 1
    needs_all: bool = False

    @property
    def is_correlation(self) -> bool:
        """Whether this is a correlation, which can be negative."""
        return self.metric in measures.CORRELATIONS

    @property
    def metric(self) -> str | None:
        """The metric of all parts; `None` if they have several."""
        metrics = {part.metric for part in self.parts}
        return metrics.pop() if len(metrics) == 1 else None

    def present(self, known: Container[str]) -> tuple[Part, ...]:
        """Returns the parts whose scores are known, with the weights that they then have.

        A category is the mean of those that were run. An average divides by all of its categories, whether or
        not they were run.
        """
        found = [part for part in self.parts if part.score in known]
        sizes = Counter(part.category for part in found)
        return tuple(
            replace(part, weight=1 / (self.categories * sizes[part.category])) for part in found
        )

    def missing(self, known: Container[str]) -> tuple[str, ...]:
        """Returns the tasks whose scores are not known."""
        names = [(part.task, {part.score, _SAME.get(part.score)}) for part in self.parts]
        return tuple(task for task, own in names if not any(each in known for each in own))

    def lacking(self, known: Container[str]) -> tuple[str, ...]:
        """Returns the categories of which no score is known."""
        found = {part.category for part in self.present(known)}
        homes = dict.fromkeys(part.category for part in self.parts)
        return tuple(home for home in homes if home not in found)

    def has_value(self, known: Container[str]) -> bool:
        """Whether the column has a value if these scores are known."""
        return bool(self.present(known)) and not (self.needs_all and self.lacking(known))


def average_column(
    name: str, known: Container[str] = (), profile: str = registry.DEFAULT
) -> Column:
    """Returns the column of an average of a profile; the main one needs all of its categories.

    `known`: the scores of the runs. Raises `SettingsError`.
    """
    board = registry.find_profile(profile)
    if name not in board.averages:
        expected = ", ".join(board.averages) or f"none, since the profile {profile} has no average"
        raise SettingsError(
            f"unknown average {name!r}: expected {'one of ' * bool(board.averages)}{expected}"
        )
    members = board.averages[name]
    parts = [part for each in members for part in _category_parts(board, each, len(members), known)]
    return Column(name, "average", tuple(parts), len(members), name == board.average)


def category_columns(
    known: Container[str] = (), stated: Iterable[str] = (), profile: str = registry.DEFAULT
) -> list[Column]:
    """Returns the categories in the order of the profile, then one's own, and STS twice: both correlations.

    `known`: the scores of the runs, with which the categories outside of the main average are there, those
    of other tasks too.
    `stated`: names of categories in result files, of which those that are not known here have no parts.
    """
    board = registry.find_profile(profile)
    made = {
        name: Column(name, "category", parts)
        for name in dict.fromkeys([*board.categories, *averaging.categories()])
        if name not in (_STS, "") and (parts := _category_parts(board, name, 1, known))
    }
    main = board.averages.get(board.average, ())
    found = [each for name, each in made.items() if name in main or each.has_value(known)]
    sts = _correlation_columns(_STS, "jsts", "category") if "jsts" in board.tasks else []
    others_of = board.averages if board.averaging == "means" else [board.average]
    taken = {*made, *others_of, *registry.tasks(), *(column.name for column in sts)}
    others = [name for name in dict.fromkeys(stated) if name not in taken]
    return [*found, *(Column(name, "category", ()) for name in others), *sts]


def task_columns(
    chosen: Sequence[str],
    known: Iterable[str],
    taken: Container[str],
    profile: str,
    mains: Mapping[str, str],
) -> list[Column]:
    """Returns a column for each of the `chosen` tasks, ordered by category; jsts has two.

    `mains`: the metric of each. `known`: the scores of the runs; others than those follow, named
    after their task, or after task and metric if that name is `taken` or the task has several.
    """
    homes, order = _homes(registry.find_profile(profile)), averaging.categories()
    infos = [each for each in registry.tasks().values() if mains.get(each.name)]
    found: list[Column] = []
    for info in sorted(infos, key=lambda each: _place(each, order, [*homes])):
        if mains[info.name] in measures.CORRELATIONS:
            found += _correlation_columns(info.name, info.name, "task")
        else:
            part = Part(info.name, mains[info.name], info.category, 1.0)
            found.append(Column(info.name, "task", (part,)))
    others = set(known) - {part.score for column in found for part in column.parts}
    own = [*registry.tasks(), *chosen, *(averaging.split_score(score, ())[0] for score in homes)]
    split = {score: averaging.split_score(score, own) for score in others}
    times = Counter(task for task, _ in split.values())
    places = {score: place for place, score in enumerate(homes)}
    for score in sorted(others, key=lambda score: (places.get(score, len(homes)), score)):
        task, metric = split[score]
        alone = times[task] == 1 and task not in registry.tasks() and task not in taken
        name = task if alone else f"{task} ({metric})"
        found.append(Column(name, "task", (Part(task, metric, homes.get(score, ""), 1.0),)))
    return found


def _homes(board: registry.Profile) -> dict[str, str]:
    """Returns the category of each score of a profile, by their names in other versions as well."""
    homes = {score: name for name, scores in board.categories.items() for score in scores}
    return homes | {own: homes[score] for score, own in _ALSO.items() if score in homes}


def _place(info: registry.TaskInfo, order: Sequence[str], scores: Sequence[str]) -> tuple[int, int]:
    """Returns where a task stands: by its category, in which those that are averaged come first, in order."""
    own = [scores.index(s) for m in info.metrics if (s := f"{info.name}_{m}") in scores]
    return order.index(info.category), min(own, default=len(scores))


def _category_parts(
    board: registry.Profile, category: str, categories: int, known: Container[str] = ()
) -> tuple[Part, ...]:
    """Returns the parts of a category; none if it is not the mean of scores."""
    own = [each for each in registry.tasks().values() if each.category == category]
    others = [f"{each.name}_{each.metrics[0]}" for each in own if each.metrics]
    scores = [*board.categories.get(category, others)]
    also = [_ALSO[each] for each in scores if _ALSO.get(each) in known]
    split = [averaging.split_score(score, registry.tasks()) for score in (*scores, *also)]
    if not all(metric for _, metric in split):
        return ()
    return tuple(Part(*each, category, 1 / (categories * len(scores))) for each in split)


def _correlation_columns(label: str, task: str, kind: Kind) -> list[Column]:
    return [
        Column(f"{label} ({_SHORT[metric]})", kind, (Part(task, metric, _STS, 1.0),))
        for metric in measures.CORRELATIONS
    ]


# The value of each column in each run, with its standard error and interval.


Bounds = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class ColumnEstimate:
    """A run's value in a column; `None` where it has none.

    `se`: standard error over samples. `low`, `high`: its interval. `samples`: how many the value rests on.
    `missing`: tasks of the column that were not run; `lacking`: categories of an average without any task.
    `sampled`: whether the value follows from samples, rather than from what a file states; others have no
    interval. `incomplete`: whether the file calls it partial.
    """

    run: str
    column: str
    value: float | None
    se: float | None
    low: float | None
    high: float | None
    samples: int
    missing: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    sampled: bool = True
    incomplete: bool = False

    @property
    def partial(self) -> bool:
        """Whether the value lacks tasks that it should have."""
        return self.value is not None and bool(self.missing or self.lacking or self.incomplete)


def estimated(run: ReportRun, column: Column) -> ColumnEstimate:
    """Returns the value of a column in a run.

    The interval of a single task is Wilson's for exact_match, Student's t for char_f1 and set_f1 (cut at 0
    and 1; Wilson's where all values are equal), and Fisher's with the jackknife's standard error for
    correlations. Sums over tasks have Student's t with their standard error (`stats.strata`). What a run's
    file states otherwise than its samples and scores give it is the file's value, without an interval.
    """
    parts, missing = column.present(run.known), column.missing(run.known)
    samples = sum(run.counts.get(task, 0) for task in {part.task for part in parts})
    lacking = column.lacking(run.known) if column.kind == "average" else ()
    value: float | None
    scores = [part.weight * run.score(part.task, part.metric) for part in parts]
    value = scores[0] if len(scores) == 1 else math.fsum(scores)  # -0.0 stays
    if not column.has_value(run.known):
        value = None
    is_average = column.kind != "task" and not column.needs_all and not column.is_correlation
    is_own = registry.find_profile(run.profile or registry.DEFAULT).averaging != "means"
    is_stated = is_average or is_own or not column.parts
    stated = run.stated.get(column.name) if is_stated else None
    if stated in (0, -1) and not parts and column.parts:
        stated = None  # a category that was not run: 0 in version 1.3.0, -1 in Swallow's board
    sampled = all(part.score in run.sampled for part in parts)
    if stated is not None and (value is None or not averaging.same_score(value, stated)):
        value, missing, sampled = stated, (), False
        lacking = () if is_own else tuple(each for each in lacking if run.stated.get(each) == 0)
    se, low, high = None, None, None
    if value is not None and sampled:
        se, (low, high) = _error(run, column, parts, value)
    is_partial = not sampled and column.name in run.scored_profile.get("partial", ())
    own = value, se, low, high, samples, missing, lacking, sampled, is_partial
    return ColumnEstimate(run.name, column.name, *own)


def _error(
    run: ReportRun, column: Column, parts: Sequence[Part], value: float
) -> tuple[float | None, Bounds]:
    samples = [run.values(part.task, part.metric) for part in parts]
    clusters = [run.clusters[part.task] for part in parts]
    found = shares.weighted_mean(samples, [part.weight for part in parts], clusters)
    se = found.se if found.se is not None and math.isfinite(found.se) else None
    if column.is_correlation:
        items = (found.freedom or 0) + 1
        return se or None, correlation.correlation_interval(value, se or 0.0, items, LEVEL)
    if column.kind != "average" and len(parts) == 1:
        units = len(shares.cluster_sums(samples[0], clusters[0]))
        if not se and clusters[0] is not None and (units == 1 or np.ptp(samples[0])):
            return se, (None, None)
        if not se or (parts[0].metric == "exact_match" and clusters[0] is None):
            right = float(samples[0].sum()) * units / len(samples[0])
            return se, shares.wilson(min(right, units), units, LEVEL)
    low, high = _interval_within(found, 0.0, 1.0, value - found.value)  # a rounding error, or none
    return se, (low, high)


def _interval_within(
    found: shares.WeightedMean, least: float, most: float, shift: float = 0.0
) -> Bounds:
    """Returns Student's interval, moved by `shift` and cut at what is possible."""
    low, high = found.interval(LEVEL) if found.se and math.isfinite(found.se) else (None, None)
    if low is None or high is None:
        return None, None
    return min(max(low + shift, least), most), min(max(high + shift, least), most)


# Paired comparisons of runs, column by column.


Test = Literal["mcnemar", "sign_flip", "t"]
_PERMUTATIONS = 10_000
_FOR_EACH = 4  # permutations: the smallest p is one by their number, times the family for Holm
_DIGITS = 12  # to which differences of the same size are equal
_FEW = 12  # samples up to which all choices of signs are enumerated
MOST_FLIPPED = 250
"""Tests in a family up to which signs are flipped; beyond, Student's t has smaller p-values for Holm."""


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """Two runs in a column.

    `difference`: a's value minus b's, over the samples that both have. `se`: its standard error, from paired
    differences. `low`, `high`: its interval, Bonett and Price's for shares of right answers, and otherwise
    difference ± t·se within what is possible. `test`: `mcnemar` (exact), `sign_flip` or `t`. `p_holm`: p
    corrected for the `family` of tests of the same kind of column. `smallest_p`: what random signs resolve,
    0 where p is exact. `minimum_detectable`: the difference that the test of this pair alone finds with 80 %
    power. `samples`: how many the difference rests on.
    """

    a: str
    b: str
    column: str
    difference: float
    se: float | None
    low: float | None
    high: float | None
    test: Test
    p: float
    p_holm: float
    smallest_p: float
    family: int
    minimum_detectable: float | None
    samples: int

    @property
    def is_sure(self) -> bool:
        """Whether the difference is significant."""
        return self.p_holm <= 1 - LEVEL


def compared_columns(runs: Sequence[ReportRun], columns: Sequence[Column]) -> list[ColumnPair]:
    """Compare every two runs in columns of one kind, which form a family for Holm's correction.

    `runs`: over the same samples (`runs.aligned`), which all columns follow from. A column is left out where
    it has no value, and a correlation where it has no standard error. Ordered by column, then by pair.
    """
    known = frozenset.intersection(*(run.sampled for run in runs))
    family = math.comb(len(runs), 2) * len(columns)
    there = [column for column in columns if column.has_value(known)]
    found = [
        pair
        for column in there
        for pair in _compared_column(runs, column, column.present(known), family)
    ]
    corrected = permutation.holm(np.array([pair.p for pair in found])).tolist() if found else []
    return [
        replace(pair, p_holm=p, family=len(found)) for pair, p in zip(found, corrected, strict=True)
    ]


def _compared_column(
    runs: Sequence[ReportRun], column: Column, parts: Sequence[Part], family: int
) -> Iterator[ColumnPair]:
    samples = [[run.values(part.task, part.metric) for part in parts] for run in runs]
    clusters, weights = [runs[0].clusters[p.task] for p in parts], [p.weight for p in parts]
    is_single = len(parts) == 1 and not column.is_correlation
    is_exact = is_single and parts[0].metric == "exact_match" and clusters[0] is None
    test: Test = "sign_flip" if is_single and family <= MOST_FLIPPED else "t"
    test = "mcnemar" if is_exact else test
    permutations = max(_PERMUTATIONS, math.ceil(_FOR_EACH * family / (1 - LEVEL)))
    pairs = combinations(samples, 2)
    differences = [[x - y for x, y in zip(*pair, strict=True)] for pair in pairs]
    means = [shares.weighted_mean(apart, weights, clusters) for apart in differences]
    p_values = iter(shares.p_values(means) if test == "t" else ())
    farthest = 2.0 if column.is_correlation else 1.0
    for (a, b), apart, mean in zip(combinations(runs, 2), differences, means, strict=True):
        sums = shares.cluster_sums(apart[0], clusters[0]).round(_DIGITS)
        bounds, smallest = _interval_within(mean, -farthest, farthest), 0.0
        p: float | None
        if test == "mcnemar":
            only = int((apart[0] > 0).sum()), int((apart[0] < 0).sum())  # one of both is right
            p, bounds = shares.mcnemar(*only), shares.bonett_price(*only, len(apart[0]), LEVEL)
        elif test == "sign_flip":
            p = permutation.sign_flip_by_size(sums, permutations=permutations, seed=0, few=_FEW)
            if (signs := np.count_nonzero(sums)) > _FEW:
                smallest = permutation.resolution(int(signs), permutations)
        else:
            p = next(p_values)
        if p is None or not math.isfinite(p):
            continue
        least, number = mean.detectable(LEVEL) if mean.se else None, sum(map(len, apart))
        own = mean.value, mean.se, *bounds, test, p, 1.0, smallest, 0, least, number
        yield ColumnPair(a.name, b.name, column.name, *own)
