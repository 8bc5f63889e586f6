"""The tables of dialogue records and of ratings, from whatever files there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.json_lines import lines
from pfgen_rs.io.text import counted
from pfgen_rs.judge.dialogues import association, grading, layout, mt_bench, plots, tables
from pfgen_rs.judge.dialogues.layout import Table
from pfgen_rs.judge.dialogues.mt_bench import Ratings
from pfgen_rs.judge.dialogues.records import CATEGORIES, Dialogue, Fields, Turn, read_dialogues
from pfgen_rs.judge.dialogues.tables import PER_CATEGORY, VERSIONS, light_version

if TYPE_CHECKING:
    pass

DIALOGUE_TABLES = ("1", "2", "3", "4", "5", "12", "13", "length-bias")
"""Tables of dialogue records; numbers are those of the paper."""
TABLES = (*DIALOGUE_TABLES, "6", "means", "judges")
"""Names of all tables; the last two are of ratings in FastChat's format."""

_TOP_RATING = 10.0


@dataclass(frozen=True)
class Options:
    """How tables are computed: light versions, the turn of table 5, intervals."""

    per_category: int = PER_CATEGORY
    seed: int = 0
    turn: Turn = 2
    level: float = 0.95
    resamples: int = association.RESAMPLES

    @property
    def intervals(self) -> dict[str, Any]:
        """The arguments of functions with bootstrap intervals."""
        return {"level": self.level, "resamples": self.resamples, "seed": self.seed}


@dataclass(frozen=True)
class Made:
    """Tables, and remarks: on tables that the data does not allow, and on doubtful ratings."""

    tables: list[Table]
    notes: list[str] = field(default_factory=list)


def tables_of(
    paths: Sequence[str | os.PathLike[str]],
    names: Sequence[str] | None = None,
    options: Options | None = None,
    *,
    fields: Fields | None = None,
    questions: str | os.PathLike[str] | None = None,
) -> Made:
    """Returns tables by name (`TABLES`), by default all that the data allows.

    `paths`: one file of dialogue records, or ratings: files of FastChat's judgments, CSV files with a
    column per judge, and folders of ratings. `questions`: MT-bench's questions, for the categories of
    ratings. Raises `SettingsError` for unknown names, and `InputError`, also for tables that the data does
    not allow.
    """
    unknown = next((name for name in names or () if name not in TABLES), None)
    if unknown is not None:
        raise SettingsError(f"unknown table {unknown!r}: expected one of {', '.join(TABLES)}")
    kinds = {_is_file(Path(path)) for path in paths}
    if len(kinds) > 1:
        raise InputError("cannot mix dialogue records and ratings: pass one of them")
    chosen = options or Options()
    if kinds == {True}:
        return _made(names, "dialogue records", _dialogue_makers(paths, fields, chosen), [])
    return _made(names, "these ratings", *_rating_makers(paths, questions, chosen, names))


Makers = dict[str, Callable[[], Table]]


def _made(names: Sequence[str] | None, what: str, makers: Makers, notes: list[str]) -> Made:
    """Make tables; by default all, with a remark on what the data does not allow."""
    made = []
    for name in dict.fromkeys(makers if names is None else names):
        if name not in makers:
            expected = f"expected one of {', '.join(makers)}"
            raise InputError(f"table {name!r} cannot be made from {what}: {expected}")
        try:
            made.append(makers[name]())
        except InputError as error:
            if names is not None:
                raise
            notes.append(f"table {name} left out: {error}")
    return Made(made, notes)


def _is_file(path: Path) -> bool:
    if path.is_dir() or path.suffix.lower() == ".csv":
        return False
    first = next(islice(lines(path), 1), None)
    return first is None or not {"judge", "score"} <= first.record.keys()


def _dialogue_makers(
    paths: Sequence[str | os.PathLike[str]], fields: Fields | None, options: Options
) -> Makers:
    if len(paths) > 1:
        raise InputError(f"expected one file of dialogue records, found {len(paths)}")
    dialogues = read_dialogues(paths[0], fields)
    makers: Makers = {
        "1": partial(_light_table, dialogues, options),
        "2": partial(_size_table, dialogues),
        **{name: partial(_author_table, name, dialogues) for name in _BY_AUTHOR},
        **{name: partial(_interval_table, name, dialogues, options) for name in _WITH_INTERVALS},
    }
    return {name: makers[name] for name in DIALOGUE_TABLES}


def _rating_makers(
    paths: Sequence[str | os.PathLike[str]],
    questions: str | os.PathLike[str] | None,
    options: Options,
    names: Sequence[str] | None,
) -> tuple[Makers, list[str]]:
    """Returns how tables of ratings are made, and remarks on the ratings."""
    folders = [Path(path) for path in paths if Path(path).is_dir()]
    for folder in folders:
        if not grading.is_grade_folder(folder):
            raise InputError("is not a folder of graded dialogues", path=folder)
    frames = [_read_ratings(path).frame for path in paths]
    ratings = mt_bench.ratings_of(
        pl.concat(frames).rows()
    )  # an answer may be rated in several files
    categories: dict[str, str] = {}
    for folder in folders:
        categories |= grading.graded_categories(folder)
    if questions is not None:
        categories = {each.id: each.category for each in mt_bench.read_questions(questions)}
    makers: Makers = {}
    if len(folders) == len(paths):
        makers["6"] = lambda: model_table(_scores_of_folders(folders))
    makers["means"] = partial(_means_table, ratings, categories)
    if names is not None or ratings.frame["judge"].n_unique() > 1:
        makers["judges"] = partial(_judges_table, ratings, options)
    stale = [(folder, grading.stale_grades(folder)) for folder in folders]
    remarks = [
        f"{folder}: {counted(count, 'rating')} of earlier answers: kept, but not used"
        for folder, count in stale
        if count
    ]
    return makers, [*ratings.notes, *remarks]


def _read_ratings(path: str | os.PathLike[str]) -> Ratings:
    if Path(path).is_dir():
        return grading.ratings_of_folder(path)
    if Path(path).suffix.lower() == ".csv":
        return mt_bench.read_judge_table(path)
    return mt_bench.read_ratings([path])


def _scores_of_folders(folders: Sequence[Path]) -> pl.DataFrame:
    """Returns the ratings of all folders; with several, versions are named after the judges, too."""
    frames = [grading.model_scores(folder) for folder in folders]
    if len(folders) > 1:
        judges = [grading.ratings_of_folder(folder).frame["judge"][0] for folder in folders]
        frames = [
            frame.with_columns(version=pl.format("{} · {}", pl.lit(judge), "version"))
            for frame, judge in zip(frames, judges, strict=True)
        ]
    return pl.concat(frames)


def model_table(frame: pl.DataFrame) -> Table:
    """Returns table 6 from its frame (`pfgen_rs.judge.dialogues.grading.model_scores`)."""
    whole = frame.filter(pl.col("category") == association.MEAN)
    lost = {what: int(whole[what].sum()) for what in ("invalid", "missing")}
    return Table(
        "6",
        "Table 6: mean rating of each model by version and category",
        frame,
        layout.by_category(frame, ["version", "model"], {"rating": "rating"}, 2),
        partial(
            plots.radar,
            label="model",
            values={"rating": "Rating"},
            panel="version",
            top=_TOP_RATING,
            usual="Ratings of second answers by category",
        ),
        [f"Dialogues with {what} ratings, left out: {n}" for what, n in lost.items() if n],
        frame.filter(pl.col("category") != association.MEAN),
    )


# Tables of dialogue records


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
    what = "cores of second answers in the light versions"
    frame = tables.light_scores(versions)
    return _table_of_means("1", frame, "version", f"mean s{what}", f"S{what}", _SCORES, *notes)


_BY_AUTHOR: Mapping[str, tuple[Callable[..., pl.DataFrame], Turn, str, str, _Shown]] = {
    "3": (
        tables.answer_scores,
        1,
        "mean scores of first answers",
        "Scores of first answers by category",
        _SCORES,
    ),
    "4": (
        tables.answer_scores,
        2,
        "mean scores of second answers",
        "Scores of second answers by category",
        _SCORES,
    ),
    "12": (
        tables.answer_lengths,
        1,
        "mean length of first answers (characters)",
        "Length of first answers by category",
        _LENGTHS,
    ),
    "13": (
        tables.answer_lengths,
        2,
        "mean length of second answers (characters)",
        "Length of second answers by category",
        _LENGTHS,
    ),
}
"""Of each table by author: its frame, the turn, what it shows, the title of its figure, its means."""


def _author_table(name: str, dialogues: Sequence[Dialogue]) -> Table:
    make, turn, what, usual, shown = _BY_AUTHOR[name]
    notes = ["Each first answer is counted once"] if turn == 1 else []
    return _table_of_means(name, make(dialogues, turn), "author", what, usual, shown, *notes)


def _size_table(dialogues: Sequence[Dialogue]) -> Table:
    frame = tables.sizes(dialogues)
    return Table(
        "2",
        "Table 2: number of dialogues",
        frame,
        layout.plain(frame, 1, 0),
        partial(plots.counts, label="turn2_type", columns=CATEGORIES, usual="Number of dialogues"),
        drawn=frame.filter(pl.col("turn2_type") != tables.TOTAL),
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


# Tables of ratings


def _means_table(ratings: Ratings, categories: Mapping[str, str]) -> Table:
    frame = association.model_means(ratings, categories)
    draw = partial(
        plots.radar,
        label="model",
        values={"mean": "Rating"},
        panel="judge",
        top=_TOP_RATING,
        usual="Ratings by category",
    )
    questions = ratings.frame["question_id"]
    without = questions.filter(~questions.is_in(list(categories))).n_unique()
    notes = [f"Questions without a category: {without}"] if categories and without else []
    return Table(
        "means",
        "Mean ratings",
        frame,
        layout.by_category(frame, ["judge", "model"], {"mean": "mean"}, 2),
        draw if categories else None,
        (*notes, *ratings.notes),
        frame.filter(pl.col("category").is_in(list(categories.values()))),
    )


def _judges_table(ratings: Ratings, options: Options) -> Table:
    frame = association.judge_agreement(ratings, **options.intervals)
    if frame.is_empty():
        raise InputError(
            "cannot compare judges: expected ratings of the same answers by two judges"
        )
    values = {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "kappa": "Weighted κ"}
    return Table(
        "judges",
        "Agreement of judges",
        frame,
        layout.with_intervals(frame, 3, list(values), 3),
        partial(plots.agreement_matrix, values=values, usual="Agreement of judges over answers"),
        (
            _interval_note(options, "questions"),
            "κ: Cohen's, with quadratic weights",
            *ratings.notes,
        ),
        frame.filter(pl.col("over") == "items"),
    )


def _interval_note(options: Options, units: str) -> str:
    return (
        f"{options.level:.0%} intervals: bootstrap over {units}, {options.resamples:,} resamples, "
        f"seed {options.seed}"
    )
