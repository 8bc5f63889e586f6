"""Every table of dialogues and of ratings as a frame, as Markdown and as a figure."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pfgen_rs.drawing.words import Language
from pfgen_rs.equality import EqualByFields
from pfgen_rs.errors import InputError, PlotError, SettingsError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.table_writer import csv_text, write_parquet
from pfgen_rs.judge.dialogues import association, layout, plots, tables
from pfgen_rs.judge.dialogues import association as judges
from pfgen_rs.judge.dialogues.layout import Grid
from pfgen_rs.judge.dialogues.mt_bench import Ratings
from pfgen_rs.judge.dialogues.records import Dialogue
from pfgen_rs.judge.dialogues.tables import PER_CATEGORY, VERSIONS, light_version
from pfgen_rs.report.markup import inert

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIALOGUE_TABLES = ("1", "2", "3", "4", "5", "12", "13", "length-bias")
"""Tables of dialogue records; numbers are those of the paper."""
RATING_TABLES = ("means", "judges")
"""Tables of ratings in FastChat's format."""

_TOP_RATING = 10.0
Drawn = Callable[..., "Figure"]


@dataclass(frozen=True)
class Options:
    """How tables are computed: light versions, the turn of table 5, intervals."""

    per_category: int = PER_CATEGORY
    seed: int = 0
    turn: association.Turn = 2
    level: float = 0.95
    resamples: int = association.RESAMPLES

    @property
    def intervals(self) -> dict[str, Any]:
        """The arguments of functions with bootstrap intervals."""
        return {"level": self.level, "resamples": self.resamples, "seed": self.seed}


@dataclass(frozen=True, eq=False)
class Table(EqualByFields):
    """A table: `name` (also of its files), title, frame, texts as printed, notes, and how it is drawn."""

    name: str
    title: str
    frame: pl.DataFrame = field(repr=False)
    grid: Grid = field(repr=False)
    draw: Drawn | None = field(repr=False)
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """Returns the table as Markdown, with its title and notes."""
        notes = "".join(f"\n{inert(note)}.\n" for note in self.notes)
        return f"## {self.title}\n\n{layout.markdown(self.grid)}{notes}"

    def figure(
        self, *, title: str | None = None, language: Language = "en", font: str | None = None
    ) -> Figure:
        """Draw the table.

        Raises `PlotError` if there is nothing to draw, and `OutputError` without matplotlib.
        """
        if self.draw is None:
            raise PlotError(f"table {self.name} has nothing to draw by category: pass questions")
        return self.draw(self.frame, title=title, language=language, font=font)


def dialogue_tables(
    dialogues: Sequence[Dialogue],
    names: Sequence[str] = DIALOGUE_TABLES,
    options: Options | None = None,
) -> list[Table]:
    """Returns tables of dialogue records by name (`DIALOGUE_TABLES`).

    Raises `SettingsError` for unknown names, and `InputError` if there are too few dialogues for the light
    versions of table 1.
    """
    return _made_tables(
        {name: _MAKERS[name] for name in DIALOGUE_TABLES}, dialogues, names, options or Options()
    )


def rating_tables(
    ratings: Ratings,
    names: Sequence[str] = RATING_TABLES,
    options: Options | None = None,
    categories: Mapping[str, str] | None = None,
) -> list[Table]:
    """Returns tables of ratings by name (`RATING_TABLES`).

    `means`: each model's mean rating, by turn and by category (by question id, see `model_means`).
    `judges`: the agreement of every two judges, over models and over items. Raises `SettingsError` for
    unknown names, and `InputError` for `judges` if no two judges rated the same answers.
    """
    makers = {
        "means": lambda found, _: _means_table(found, categories),
        "judges": _judges_table,
    }
    return _made_tables(makers, ratings, names, options or Options())


def model_table(frame: pl.DataFrame, notes: Sequence[str] = ()) -> Table:
    """Returns table 6 from its frame (`pfgen_rs.judge.dialogues.grading.model_scores`)."""
    lost = {
        what: int(frame.filter(pl.col("category") == judges.MEAN)[what].sum())
        for what in ("invalid", "missing")
    }
    remarks = [f"Dialogues with {what} ratings, left out: {n}" for what, n in lost.items() if n]
    return Table(
        "6",
        "Table 6: mean rating of each model by version and category",
        frame,
        layout.by_category(frame, ["version", "model"], {"rating": "rating"}, 2),
        lambda found, **look: plots.radar(
            found.filter(pl.col("category") != judges.MEAN),
            label="model",
            values={"rating": "Rating"},
            panel="version",
            top=_TOP_RATING,
            usual="Ratings of second answers by category",
            **look,
        ),
        (*remarks, *notes),
    )


def write_tables(
    folder: str | os.PathLike[str],
    made: Sequence[Table],
    *,
    plot: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> list[Path]:
    """Write each table as `table-NAME.parquet`, `.csv` and `.md`, and drawn as `.svg` or `.png`.

    `plot`: "svg", "png", or `None` for no figures. Tables without anything to draw have no figure. Returns
    the files. Raises `OutputError`.
    """
    from pfgen_rs.drawing.figures import png, svg

    written = []
    for table in made:
        place = Path(folder, f"table-{table.name}")
        write_parquet(place.with_suffix(".parquet"), table.frame)
        write_atomic(place.with_suffix(".csv"), csv_text(table.frame).encode())
        write_atomic(place.with_suffix(".md"), table.markdown().encode())
        written += [place.with_suffix(suffix) for suffix in (".parquet", ".csv", ".md")]
        if plot is None or table.draw is None:
            continue
        try:
            figure = table.figure(language=language, font=font)
        except PlotError:
            if not table.frame.is_empty():
                raise
            continue
        write_atomic(place.with_suffix(f".{plot}"), (svg if plot == "svg" else png)(figure))
        written.append(place.with_suffix(f".{plot}"))
    return written


def _made_tables(
    makers: Mapping[str, Callable[[Any, Options], Table]],
    data: Any,
    names: Sequence[str],
    options: Options,
) -> list[Table]:
    for name in names:
        if name not in makers:
            raise SettingsError(f"unknown table {name!r}: expected one of {', '.join(makers)}")
    return [makers[name](data, options) for name in dict.fromkeys(names)]


class _Shown(NamedTuple):
    """The means of a table: their headings in print and in figures, decimals, and the end of the axis."""

    headings: Mapping[str, str]
    drawn: Mapping[str, str]
    digits: int
    top: float | None = None


_SCORES = _Shown(
    {"human": "people", "judge": "judge"},
    {"human": "Scores by people", "judge": "Scores by the judge"},
    2,
    5.0,
)
_LENGTHS = _Shown({"length": "length"}, {"length": "Mean length (characters)"}, 1)


def _table_of_means(
    name: str, frame: pl.DataFrame, label: str, what: str, usual: str, shown: _Shown, *notes: str
) -> Table:
    return Table(
        name,
        f"Table {name}: {what}",
        frame,
        layout.by_category(frame, [label], shown.headings, shown.digits),
        partial(plots.radar, label=label, values=shown.drawn, top=shown.top, usual=usual),
        notes,
    )


def _light_table(dialogues: Sequence[Dialogue], options: Options) -> Table:
    versions = [
        light_version(dialogues, version, per_category=options.per_category, seed=options.seed)
        for version in VERSIONS
    ]
    notes = [f"{options.per_category} dialogues per category, seed {options.seed}"]
    if unscored := versions[0].unscored:
        notes.append(f"Dialogues without human scores, left out: {unscored}")
    what, usual = (
        "mean scores of second answers in the light versions",
        "Scores of second answers in the light versions",
    )
    frame = tables.light_scores(versions)
    return _table_of_means("1", frame, "version", what, usual, _SCORES, *notes)


_ONCE = "Each first answer is counted once"
_BY_AUTHOR: Mapping[str, tuple[Callable[..., pl.DataFrame], str, str, _Shown, *tuple[str, ...]]] = {
    "3": (
        tables.first_answer_scores,
        "mean scores of first answers",
        "Scores of first answers by category",
        _SCORES,
        _ONCE,
    ),
    "4": (
        tables.second_answer_scores,
        "mean scores of second answers",
        "Scores of second answers by category",
        _SCORES,
    ),
    "12": (
        tables.first_answer_lengths,
        "mean length of first answers (characters)",
        "Length of first answers by category",
        _LENGTHS,
        _ONCE,
    ),
    "13": (
        tables.second_answer_lengths,
        "mean length of second answers (characters)",
        "Length of second answers by category",
        _LENGTHS,
    ),
}
"""Of each table by author: its frame, what it shows, the title of its figure, its means, and notes."""


def _author_table(name: str, dialogues: Sequence[Dialogue], _: Options) -> Table:
    make, what, usual, shown, *notes = _BY_AUTHOR[name]
    return _table_of_means(name, make(dialogues), "author", what, usual, shown, *notes)


def _size_table(dialogues: Sequence[Dialogue], _: Options) -> Table:
    frame = tables.sizes(dialogues)
    return Table(
        "2",
        "Table 2: number of dialogues",
        frame,
        layout.plain(frame, 1, 0),
        lambda found, **look: plots.counts(
            found.filter(pl.col("turn2_type") != tables.TOTAL),
            label="turn2_type",
            columns=[name for name in found.columns[1:] if name != tables.TOTAL],
            usual="Number of dialogues",
            **look,
        ),
    )


_WITH_INTERVALS: Mapping[
    str, tuple[Callable[..., pl.DataFrame], str, str, Mapping[str, str], *tuple[str, ...]]
] = {
    "5": (
        association.human_judge_correlation,
        "Table 5: correlation of scores by people and by the judge",
        "Correlation of scores by people and by the judge",
        {"pearson": "Pearson's r", "spearman": "Spearman's ρ"},
    ),
    "length-bias": (
        association.length_bias,
        "Length bias: the judge's score minus people's, on the log of the length",
        "Length bias of the judge",
        {"slope": "Slope", "spearman": "Spearman's ρ"},
        "A slope of 0.1 means 0.07 more for an answer twice as long",
    ),
}
"""Of each table of intervals: its frame, its title, that of its figure, its values, and notes."""


def _interval_table(name: str, dialogues: Sequence[Dialogue], options: Options) -> Table:
    make, title, usual, values, *notes = _WITH_INTERVALS[name]
    frame = make(dialogues, turn=options.turn, **options.intervals)
    return Table(
        name,
        f"{title}, turn {options.turn}",
        frame,
        layout.with_intervals(frame, 1, list(values), 3),
        partial(plots.interval_points, label="author", values=values, usual=usual),
        (_interval_note(options, "first user turns"), *notes),
    )


def _means_table(ratings: Ratings, categories: Mapping[str, str] | None) -> Table:
    frame = judges.model_means(ratings, categories)
    known = set((categories or {}).values())
    named = frame.filter(pl.col("category").is_in(known))

    def draw(_: pl.DataFrame, **look: Any) -> Figure:
        return plots.radar(
            named,
            label="model",
            values={"mean": "Rating"},
            panel="judge",
            top=_TOP_RATING,
            usual="Ratings by category",
            **look,
        )

    questions = ratings.frame["question_id"]
    without = questions.filter(~questions.is_in(list(categories or ()))).n_unique()
    notes = [f"Questions without a category: {without}"] if known and without else []
    return Table(
        "means",
        "Mean ratings",
        frame,
        layout.by_category(frame, ["judge", "model"], {"mean": "mean"}, 2),
        draw if known else None,
        (*notes, *ratings.notes),
    )


def _judges_table(ratings: Ratings, options: Options) -> Table:
    frame = judges.judge_agreement(ratings, **options.intervals)
    if frame.is_empty():
        raise InputError(
            "cannot compare judges: expected ratings of the same answers by two judges"
        )
    return Table(
        "judges",
        "Agreement of judges",
        frame,
        layout.with_intervals(
            frame.select(
                "judge_a", "judge_b", "over", "items", "questions", pl.col("^(pear|spear|kap).*$")
            ),
            3,
            ["pearson", "spearman", "kappa"],
            3,
        ),
        lambda found, **look: plots.agreement_matrix(
            found.filter(pl.col("over") == "items"),
            values={"pearson": "Pearson's r", "spearman": "Spearman's ρ", "kappa": "Weighted κ"},
            usual="Agreement of judges over answers",
            **look,
        ),
        (
            _interval_note(options, "questions"),
            "κ: Cohen's, with quadratic weights",
            *ratings.notes,
        ),
    )


def _interval_note(options: Options, units: str) -> str:
    return (
        f"{options.level:.0%} intervals: bootstrap over {units}, {options.resamples:,} resamples, "
        f"seed {options.seed}"
    )


_MAKERS: Mapping[str, Callable[[Any, Options], Table]] = {
    "1": _light_table,
    "2": _size_table,
    **{name: partial(_author_table, name) for name in _BY_AUTHOR},
    **{name: partial(_interval_table, name) for name in _WITH_INTERVALS},
}
