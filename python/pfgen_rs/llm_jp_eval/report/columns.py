"""The columns of a report: averages, categories, correlations and tasks, each a weighted sum of scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pfgen_rs.errors import SettingsError
from pfgen_rs.llm_jp_eval.averages import AVERAGED, AVERAGES
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


@dataclass(frozen=True, slots=True)
class Part:
    """A score that counts in a column, with its weight where everything was run."""

    task: str
    metric: str
    weight: float


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the weighted sum of its parts.

    `name`: `AVR`, `AVG`, a category (`STS (r)` and `STS (ρ)` are Pearson's and Spearman's correlation) or a
    task (`jsts (r)`, `jsts (ρ)`).
    """

    name: str
    kind: Kind
    parts: tuple[Part, ...]

    @property
    def is_correlation(self) -> bool:
        """Whether this is a correlation, which can be negative."""
        return self.parts[0].metric in CORRELATIONS

    @property
    def metric(self) -> str | None:
        """The metric of all parts; `None` if they have several."""
        metrics = {part.metric for part in self.parts}
        return metrics.pop() if len(metrics) == 1 else None

    def present(self, known: Iterable[str]) -> tuple[Part, ...]:
        """Returns the parts whose tasks are known, with the weights that they then have.

        A category is the mean of those that were run. An average divides by all of its categories, whether or
        not they were run.
        """
        names = set(known)
        found = [part for part in self.parts if part.task in names]
        shares: dict[str, int] = {}
        for part in found:
            home = _category_of_part(part)
            shares[home] = shares.get(home, 0) + 1
        size = _categories_in(self)
        return tuple(
            Part(part.task, part.metric, 1 / (size * shares[_category_of_part(part)]))
            for part in found
        )

    def lacking(self, known: Iterable[str]) -> tuple[str, ...]:
        """Returns the categories of which no task is known."""
        names = set(known)
        found = {_category_of_part(part) for part in self.parts if part.task in names}
        homes = dict.fromkeys(map(_category_of_part, self.parts))
        return tuple(home for home in homes if home not in found)

    def has_value(self, known: Iterable[str]) -> bool:
        """Whether the column has a value if these tasks were run: `AVR` needs all of its categories."""
        lacking = self.lacking(known)
        return not lacking if self.name == "AVR" else len(lacking) < _categories_of_parts(self)


def average_column(name: str) -> Column:
    """Returns the column of an average. Raises `SettingsError` for an unknown name."""
    if name not in AVERAGES:
        raise SettingsError(f"unknown average {name!r}: expected one of {', '.join(AVERAGES)}")
    size = len(AVERAGES[name])
    parts = [part for category in _IN_PAPER for part in _category_parts(category, size)]
    return Column(name, "average", tuple(parts))


def category_columns() -> list[Column]:
    """Returns the categories in the order of the paper's tables, and STS twice: both correlations."""
    found = [Column(name, "category", tuple(_category_parts(name, 1))) for name in _IN_PAPER]
    return [*found, *_correlation_columns(_STS, "jsts", "category")]


def task_columns(chosen: Sequence[str] | None = None) -> list[Column]:
    """Returns a column for each task, ordered by category; jsts has two."""
    known = tasks()
    names = [
        name
        for category in CATEGORIES
        for name in _tasks_of_category(category)
        if chosen is None or name in chosen
    ]
    found: list[Column] = []
    for name in names:
        if known[name].metrics[0] in CORRELATIONS:
            found += _correlation_columns(name, name, "task")
        else:
            found.append(Column(name, "task", (Part(name, known[name].metrics[0], 1.0),)))
    return found


def _tasks_of_category(category: str) -> list[str]:
    if category in AVERAGED:
        return [part.task for part in _category_parts(category, 1)]
    return [each.name for each in tasks().values() if each.category == category]


def _category_parts(category: str, categories: int) -> list[Part]:
    scores = AVERAGED[category]
    known = {f"{task.name}_{task.metrics[0]}": task for task in tasks().values()}
    weight = 1 / (categories * len(scores))
    return [Part(known[score].name, known[score].metrics[0], weight) for score in scores]


def _correlation_columns(label: str, task: str, kind: Kind) -> list[Column]:
    return [
        Column(f"{label} ({_SHORT[metric]})", kind, (Part(task, metric, 1.0),))
        for metric in CORRELATIONS
    ]


def _category_of_part(part: Part) -> str:
    return tasks()[part.task].category


def _categories_of_parts(column: Column) -> int:
    return len(set(map(_category_of_part, column.parts)))


def _categories_in(column: Column) -> int:
    """Returns by how many categories a column divides."""
    return len(AVERAGES[column.name]) if column.kind == "average" else 1
