"""The board of a site: its models, their runs, and columns of figures and facts about them.

A board is made of runs and of *contributions*: columns of values by model, and sections, which are pages of
other kinds. Its payload is what `assets/board.js` reads.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pfgen_rs.checkout.entries import LEVEL, Entry
from pfgen_rs.checkout.leaderboard import model_key, run_labels
from pfgen_rs.io import source
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report.site import model_facts
from pfgen_rs.report.site.folder import slug
from pfgen_rs.report.site.pages import Frame, Text, strings


class Column(NamedTuple):
    """A column of the board. `better`: 1 where higher values are, -1 where lower ones are, otherwise 0.

    `digits`: decimals of numbers. `about`: what it is, where its label does not say so.
    """

    key: str
    group: str
    kind: Literal["number", "date", "text", "flag"]
    label: Text
    digits: int = 3
    better: int = 0
    about: Text | None = None


class Value(NamedTuple):
    """A number with its interval, if it has one."""

    value: float
    low: float | None = None
    high: float | None = None


Cell = Value | float | int | str | date | bool | None
"""A value of a column; `None`: not known."""


class Benchmark(NamedTuple):
    """A column that readers may weigh with others, whose scale goes from `low` to `high`."""

    key: str
    label: Text
    column: str
    low: float
    high: float


class Section(NamedTuple):
    """Pages of another kind within a site, such as those of verdicts.

    `nav`: under which page of the site (`judges`, `tasks`, `training`). `path`: of its page within
    the site. `key`: digest of what its files are made of. `files`: yields their paths within the site and
    their contents. `models`: names that it tells of.
    """

    nav: str
    title: str
    path: str
    key: str
    files: Callable[[Frame], Iterable[tuple[str, bytes]]]
    models: Sequence[str] = ()


class Contribution(NamedTuple):
    """What a source adds: columns, their values by names of models as the source has them, and sections.

    `groups`: labels of groups of columns that are not the board's own. `curves`: for the drawing of learning
    curves, each with `name`, `steps`, `values` and `page`. `notes`: what is left out, for messages.
    """

    columns: Sequence[Column] = ()
    rows: Mapping[str, Mapping[str, Cell]] = MappingProxyType({})
    sections: Sequence[Section] = ()
    benchmark: Benchmark | None = None
    groups: Mapping[str, Text] = MappingProxyType({})
    curves: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()


def _columns(declared: Iterable[dict[str, Any]]) -> tuple[Column, ...]:
    texts = ("label", "about")
    return tuple(
        Column(**(each | {key: tuple(each[key]) for key in texts if key in each}))
        for each in declared
    )


_OWN = source.read_toml(Path(__file__).with_suffix(".toml"))
GROUPS: Mapping[str, Text] = {key: (ja, en) for key, (ja, en) in _OWN["groups"].items()}
"""Groups of columns, in their order."""
_OF_RUNS, _FACTS = _columns(_OWN["runs"]), _columns(_OWN["facts"])
LABELS = {column.key: column.label for column in (*_OF_RUNS, *_FACTS)}
"""Labels of the board's own columns but those of categories."""
PFGEN = Benchmark("pfgen", GROUPS["pfgen"], "score", 0.0, 1.0)


@dataclass(frozen=True)
class Model:
    """A model of the board. `name`: as its runs or sources have it, with the organisation if known."""

    name: str
    organisation: str | None
    runs: Sequence[Entry] = ()
    values: Mapping[str, Cell] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The name of its folder within a site."""
        return slug(self.name.casefold())

    @property
    def page(self) -> str:
        """The path of its page within a site."""
        return f"models/{self.slug}/index.html"

    @property
    def is_system(self) -> bool:
        """Whether all of its runs are of a system, no model."""
        return bool(self.runs) and all(run.rank is None for run in self.runs)


@dataclass(frozen=True)
class Board:
    """Models, best first, then those without runs; their columns; and what else the sources gave."""

    models: Sequence[Model]
    columns: Sequence[Column]
    benchmarks: Sequence[Benchmark]
    groups: Mapping[str, Text]
    sections: Sequence[Section]
    curves: Sequence[Mapping[str, Any]]
    categories: Mapping[str, str]
    labels: Mapping[str, str]
    dates: Mapping[str, date]
    costs: Mapping[str, float]

    @property
    def entries(self) -> list[Entry]:
        """All runs, best first."""
        runs = (run for model in self.models for run in model.runs)
        return sorted(runs, key=lambda run: (-run.score, run.run))

    def run_values(self, run: Entry) -> dict[str, Cell]:
        """Returns a run's values by column."""
        own = {column.key: getattr(run, column.key, None) for column in _OF_RUNS}
        low, high = run.estimate.low, run.estimate.high
        own |= {
            "score": Value(run.score, low, high),
            "trials": run.num_trials,
            "date": self.dates.get(run.run),
            "cost": self.costs.get(run.run),
        }
        return own | {f"category:{name}": mean for name, mean in self._category_means(run).items()}

    def _category_means(self, run: Entry) -> dict[str, float]:
        means: dict[str, list[float]] = {}
        for key, mean in run.questions.items():
            if key in self.categories:
                means.setdefault(self.categories[key], []).append(mean)
        return {name: sum(own) / len(own) for name, own in means.items()}


def board_of(
    entries: Sequence[Entry],
    benchmark: QuestionSet | None,
    facts: model_facts.ModelFacts,
    contributions: Iterable[Contribution] = (),
    dates: Mapping[str, date] = MappingProxyType({}),
    tokens: Mapping[str, float] = MappingProxyType({}),
) -> Board:
    """Returns the board of runs, best first, with what other sources contribute.

    Names in contributions are those of the runs' models or of models without runs; which names mean the same
    model has been decided. `dates`: when runs answered, `tokens`: how many tokens their answers have, by run.
    """
    given = list(contributions)
    categories = {q.id: q.category for q in benchmark or () if q.category}
    models = _models(entries, given, facts)
    costs = {
        run.run: cost
        for model in models
        for run in model.runs
        if (cost := run_cost(tokens.get(run.run), model.values)) is not None
    }
    own = [
        *_OF_RUNS,
        *(
            Column(f"category:{name}", "categories", "number", category_label(name), 3, 1)
            for name in dict.fromkeys(categories.values())
        ),
    ]
    columns = [*own, *_FACTS, *(c for each in given for c in each.columns)]
    benchmarks = [PFGEN] if entries else []
    benchmarks += [each.benchmark for each in given if each.benchmark is not None]
    groups = {**GROUPS, **{key: label for each in given for key, label in each.groups.items()}}
    return Board(
        models,
        list({column.key: column for column in columns}.values()),
        benchmarks,
        groups,
        [section for each in given for section in each.sections],
        [curve for each in given for curve in each.curves],
        categories,
        run_labels(entries),
        dates,
        costs,
    )


def category_label(name: str) -> Text:
    """Returns what a category of questions is called; one of strangers by its name."""
    known = strings(("common",)).table.get(f"category_{name}", {"ja": name, "en": name})
    return known["ja"], known["en"]


def _models(
    entries: Sequence[Entry], given: Sequence[Contribution], facts: model_facts.ModelFacts
) -> list[Model]:
    runs: dict[str, list[Entry]] = {}
    for entry in entries:
        runs.setdefault(model_key(entry), []).append(entry)
    names = {key: full_name(own[0]) for key, own in runs.items()}
    places = {name.casefold(): key for key, name in names.items()}
    values: dict[str, dict[str, Cell]] = {key: {} for key in runs}
    for contribution in given:
        for name, row in contribution.rows.items():
            key = places.setdefault(name.casefold(), name.casefold())
            names.setdefault(key, name)
            values.setdefault(key, {}).update(row)
    found = []
    for key, row in values.items():
        own = runs.get(key, [])
        known = facts_of(facts, [names[key], *(run.model for run in own)])
        organisation = own[0].organisation if own else names[key].rpartition("/")[0] or None
        if organisation:
            known.setdefault("organisation", organisation)
        found.append(Model(names[key], organisation, own, known | row))
    return found


def facts_of(facts: model_facts.ModelFacts, names: Sequence[str]) -> dict[str, Cell]:
    """Returns what is known of a model with these names, by column."""
    found: dict[str, Cell] = {key: fact.value for key, fact in facts.of(*names).items()}
    if isinstance(price := found.get("price"), model_facts.Price):
        found |= {"price": price.amount, "currency": price.currency, "price_date": price.date}
    return found


def run_cost(tokens: float | None, known: Mapping[str, Any]) -> float | None:
    """Returns what the output of a run costs in US dollars by its model's values; `None` if unknown."""
    price = known.get("price") if known.get("currency") == "USD" else None
    return None if tokens is None or price is None else float(tokens * price / 1e6)


def full_name(entry: Entry) -> str:
    """Returns the name of a run's model, with its organisation if it is known."""
    own = entry.model.rpartition("/")[2] or entry.model
    return f"{entry.organisation}/{own}" if entry.organisation else entry.model


def payload(board: Board, pages: Mapping[str, str]) -> dict[str, Any]:
    """Returns the board as JSON types; `pages`: paths of the pages of runs within the site, by run."""
    entries = board.entries
    places = {run.run: i for i, model in enumerate(board.models) for run in model.runs}
    own = [column for column in board.columns if column in _OF_RUNS or column.group == "categories"]
    others = [column for column in board.columns if column not in own]
    of_runs = {column.key for column in own}
    return {
        "level": LEVEL,
        "groups": [[key, list(label)] for key, label in board.groups.items()],
        "columns": [_column(column, of_runs) for column in board.columns],
        "benchmarks": [each._asdict() for each in board.benchmarks],
        "models": {
            "slug": [model.slug for model in board.models],
            "name": [model.name for model in board.models],
            "label": _model_labels(board),
            "page": [model.page for model in board.models],
            **_values(others, [model.values for model in board.models]),
        },
        "runs": {
            "model": [places[run.run] for run in entries],
            "slug": [slug(run.run) for run in entries],
            "name": [run.model for run in entries],
            "label": [board.labels[run.run] for run in entries],
            "page": [pages.get(run.run) for run in entries],
            "system": [run.rank is None for run in entries],
            **_values(own, [board.run_values(run) for run in entries]),
        },
        "curves": list(board.curves),
    }


def means(board: Board) -> dict[str, Any]:
    """Returns the means of questions, in the order of their ids, of each run of the most common questions.

    `None` for runs that ranks do not take part in: of other questions, or with a score that is no such mean.
    """
    entries = board.entries
    usable = [run for run in entries if run.rank_low is not None]
    ids = sorted(usable[0].questions) if usable else []
    return {
        "questions": ids,
        "means": [
            [run.questions[key] for key in ids] if run.rank_low is not None else None
            for run in entries
        ],
    }


def _column(column: Column, of_runs: set[str]) -> dict[str, Any]:
    found = {**column._asdict(), "of": "run" if column.key in of_runs else "model"}
    return {key: value for key, value in found.items() if value is not None}


def _values(columns: Sequence[Column], rows: Sequence[Mapping[str, Cell]]) -> dict[str, Any]:
    """Returns the values of columns that have any, and the bounds of those with intervals."""
    values, intervals = {}, {}
    for column in columns:
        cells = [row.get(column.key) for row in rows]
        if all(cell is None for cell in cells):
            continue
        values[column.key] = [_plain(cell) for cell in cells]
        bounds = [c if isinstance(c, Value) else Value(0.0) for c in cells]
        if any(bound.low is not None for bound in bounds):
            intervals[column.key] = [[b.low for b in bounds], [b.high for b in bounds]]
    return {"values": values, "intervals": intervals}


def _plain(cell: Cell) -> float | int | str | bool | None:
    if isinstance(cell, Value):
        return cell.value
    return cell.isoformat() if isinstance(cell, date) else cell


def _model_labels(board: Board) -> list[str]:
    """Returns a short name of each model: without its organisation, where no other model has that name."""
    short = [model.name.rpartition("/")[2] or model.name for model in board.models]
    counts = Counter(map(str.casefold, short))
    return [
        name if counts[name.casefold()] == 1 else model.name
        for name, model in zip(short, board.models, strict=True)
    ]
