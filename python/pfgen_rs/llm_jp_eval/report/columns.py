"""The columns of a report: averages, categories, correlations and tasks, each a weighted sum of scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pfgen_rs.errors import SettingsError
from pfgen_rs.llm_jp_eval.averages import AVERAGED, AVERAGES, split_score
from pfgen_rs.llm_jp_eval.catalog import CATEGORIES, tasks
from pfgen_rs.llm_jp_eval.metrics import CORRELATIONS

__all__ = [
    "Column",
    "Kind",
    "Part",
    "average_column",
    "category_columns",
    "task_columns",
]

Kind = Literal["average", "category", "task"]
_IN_PAPER = AVERAGES["AVR"]
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

    `name`: `AVR`, `AVG`, a category (`STS (r)` and `STS (ρ)` are Pearson's and Spearman's correlation) or a
    task (`jsts (r)`, `jsts (ρ)`). A category that only a run's file knows has no parts. `categories`: by how
    many a column divides.
    """

    name: str
    kind: Kind
    parts: tuple[Part, ...]
    categories: int = 1

    @property
    def is_correlation(self) -> bool:
        """Whether this is a correlation, which can be negative."""
        return self.metric in CORRELATIONS

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
        shares = Counter(part.category for part in found)
        return tuple(
            replace(part, weight=1 / (self.categories * shares[part.category])) for part in found
        )

    def missing(self, known: Container[str]) -> tuple[str, ...]:
        """Returns the tasks whose scores are not known."""
        return tuple(
            part.task
            for part in self.parts
            if part.score not in known and _SAME.get(part.score) not in known
        )

    def lacking(self, known: Container[str]) -> tuple[str, ...]:
        """Returns the categories of which no score is known."""
        found = {part.category for part in self.parts if part.score in known}
        homes = dict.fromkeys(part.category for part in self.parts)
        return tuple(home for home in homes if home not in found)

    def has_value(self, known: Container[str]) -> bool:
        """Whether the column has a value if these scores are known: `AVR` needs all of its categories."""
        if self.name == "AVR":
            return not self.lacking(known)
        return any(part.score in known for part in self.parts)


def average_column(name: str, known: Container[str] = ()) -> Column:
    """Returns the column of an average. `known`: the scores of the runs. Raises `SettingsError`."""
    if name not in AVERAGES:
        raise SettingsError(f"unknown average {name!r}: expected one of {', '.join(AVERAGES)}")
    size = len(AVERAGES[name])
    parts = [part for each in AVERAGES[name] for part in _category_parts(each, size, known)]
    return Column(name, "average", tuple(parts), size)


def category_columns(known: Container[str] = (), stated: Iterable[str] = ()) -> list[Column]:
    """Returns the categories in the order of the paper's tables, and STS twice: both correlations.

    `known`: the scores of the runs, with which the other categories of version 1.3.0 are there. `stated`:
    names of categories in result files, of which those that are not known here have no parts.
    """
    made = {name: Column(name, "category", _category_parts(name, 1, known)) for name in AVERAGED}
    found = [each for name, each in made.items() if name in _IN_PAPER or each.has_value(known)]
    sts = _correlation_columns(_STS, "jsts", "category")
    taken = {*made, *AVERAGES, *tasks(), *(column.name for column in sts)}
    others = [name for name in dict.fromkeys(stated) if name not in taken]
    return [*found, *(Column(name, "category", ()) for name in others), *sts]


def task_columns(
    chosen: Sequence[str] | None = None, known: Iterable[str] = (), taken: Container[str] = ()
) -> list[Column]:
    """Returns a column for each task, ordered by category; jsts has two.

    `chosen`: tasks (default: all of the catalog). `known`: the scores of the runs; those that the catalog
    does not have follow, named after their task, or after task and metric if that name is `taken` or the
    task has several.
    """
    names = [
        name
        for category in CATEGORIES
        for name in _tasks_of_category(category)
        if chosen is None or name in chosen
    ]
    found: list[Column] = []
    for name in names:
        metric = tasks()[name].metrics[0]
        if metric in CORRELATIONS:
            found += _correlation_columns(name, name, "task")
        else:
            home = tasks()[name].category
            found.append(Column(name, "task", (Part(name, metric, home, 1.0),)))
    return [*found, *_other_columns(known, chosen or (), taken)]


def _other_columns(
    known: Iterable[str], names: Iterable[str], taken: Container[str]
) -> list[Column]:
    """Returns the columns of scores that are none of the catalog's; `names`: of tasks."""
    homes = {score: name for name, scores in AVERAGED.items() for score in scores}
    homes |= {own: homes[score] for score, own in _ALSO.items()}
    ours = {f"{each.name}_{metric}" for each in tasks().values() for metric in each.metrics}
    order = list(homes)
    others = sorted(
        set(known) - ours, key=lambda s: (order.index(s) if s in homes else len(order), s)
    )
    own = [*tasks(), *names, *(split_score(score, ())[0] for score in order)]
    split = {score: split_score(score, own) for score in others}
    times = Counter(task for task, _ in split.values())
    found = []
    for score, (task, metric) in split.items():
        alone = times[task] == 1 and task not in tasks() and task not in taken
        name = task if alone else f"{task} ({metric})"
        found.append(Column(name, "task", (Part(task, metric, homes.get(score, ""), 1.0),)))
    return found


def _tasks_of_category(category: str) -> list[str]:
    if category in AVERAGED:
        return [part.task for part in _category_parts(category, 1)]
    return [each.name for each in tasks().values() if each.category == category]


def _category_parts(category: str, categories: int, known: Container[str] = ()) -> tuple[Part, ...]:
    scores = [*AVERAGED[category]]
    weight = 1 / (categories * len(scores))
    scores += [_ALSO[each] for each in scores if _ALSO.get(each) in known]
    return tuple(Part(*split_score(score, tasks()), category, weight) for score in scores)


def _correlation_columns(label: str, task: str, kind: Kind) -> list[Column]:
    return [
        Column(f"{label} ({_SHORT[metric]})", kind, (Part(task, metric, _STS, 1.0),))
        for metric in CORRELATIONS
    ]
