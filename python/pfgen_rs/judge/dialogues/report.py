"""The tables of dialogue records and of ratings, from whatever files there are."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pfgen_rs.drawing.radar import radar
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import json_lines, text
from pfgen_rs.judge.dialogues import association, fastchat_files, grading, layout, tables
from pfgen_rs.judge.dialogues.layout import Table
from pfgen_rs.judge.dialogues.records import Dialogue, Fields, Turn, read_dialogues
from pfgen_rs.lazy import pl

DIALOGUE_TABLES = ("1", "2", "3", "4", "5", "12", "13", "length-bias")
"""Tables of dialogue records; numbers are those of the paper."""
TABLES = (*DIALOGUE_TABLES, "6", "means", "judges")
"""Names of all tables; the last two are of ratings in FastChat's format."""

_TOP_RATING = 10.0
_INTERVALS = f"95% intervals: bootstrap over {{}}, {association.RESAMPLES:,} resamples, seed {{}}"


@dataclass(frozen=True)
class Made:
    """Tables, and remarks: on tables that the data does not allow, and on doubtful ratings."""

    tables: list[Table]
    notes: list[str] = field(default_factory=list)


def tables_of(
    paths: Sequence[str | os.PathLike[str]],
    names: Sequence[str] | None = None,
    *,
    per_category: int = tables.PER_CATEGORY,
    seed: int = 0,
    fields: Fields | None = None,
    questions: str | os.PathLike[str] | None = None,
) -> Made:
    """Returns tables by name (`TABLES`), by default all that the data allows.

    `paths`: one file of dialogue records, or ratings: files of FastChat's judgments, CSV files with a
    column per judge, and folders of ratings. `per_category`: size of light versions; `seed`: of the random
    one, and of bootstraps. `questions`: MT-bench's questions, for the categories of ratings. Raises
    `SettingsError` for unknown names, and `InputError`, also for tables that the data does not allow.
    """
    unknown = next((name for name in names or () if name not in TABLES), None)
    if unknown is not None:
        raise SettingsError(f"unknown table {unknown!r}: expected one of {', '.join(TABLES)}")
    kinds = {_is_file(Path(path)) for path in paths}
    if len(kinds) > 1:
        raise InputError("cannot mix dialogue records and ratings: pass one of them")
    if kinds == {True}:
        makers = _dialogue_makers(paths, fields, per_category, seed)
        return _made(names, "dialogue records", makers, [])
    return _made(names, "these ratings", *_rating_makers(paths, questions, seed, names))


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
    first = next(islice(json_lines.lines(path), 1), None)
    return first is None or not {"judge", "score"} <= first.record.keys()


def _dialogue_makers(
    paths: Sequence[str | os.PathLike[str]], fields: Fields | None, per_category: int, seed: int
) -> Makers:
    if len(paths) > 1:
        raise InputError(f"expected one file of dialogue records, found {len(paths)}")
    dialogues = read_dialogues(paths[0], fields)
    makers: Makers = {
        "1": partial(_light_table, dialogues, per_category, seed),
        "2": partial(_size_table, dialogues),
        **{name: partial(_author_table, name, dialogues) for name in _BY_AUTHOR},
        **{name: partial(_interval_table, name, dialogues, seed) for name in _WITH_INTERVALS},
    }
    return {name: makers[name] for name in DIALOGUE_TABLES}


def _rating_makers(
    paths: Sequence[str | os.PathLike[str]],
    questions: str | os.PathLike[str] | None,
    seed: int,
    names: Sequence[str] | None,
) -> tuple[Makers, list[str]]:
    """Returns how tables of ratings are made, and remarks on the ratings."""
    folders = [Path(path) for path in paths if Path(path).is_dir()]
    categories: dict[str, str] = {}
    remarks = []
    for folder in folders:
        if not grading.is_grade_folder(folder):
            raise InputError("is not a folder of graded dialogues", path=folder)
        categories |= grading.graded_categories(folder)
        if stale := grading.stale_grades(folder):
            earlier = f"{text.counted(stale, 'rating')} of earlier answers: kept, but not used"
            remarks.append(f"{folder}: {earlier}")
    # An answer may be rated in several files.
    ratings = fastchat_files.ratings_of(pl.concat(_read_ratings(path).frame for path in paths))
    if questions is not None:
        categories = {each.id: each.category for each in fastchat_files.read_questions(questions)}
    makers: Makers = {}
    if len(folders) == len(paths):
        makers["6"] = lambda: model_table(_scores_of_folders(folders))
    makers["means"] = partial(_means_table, ratings, categories)
    if names is not None or ratings.frame["judge"].n_unique() > 1:
        makers["judges"] = partial(_judges_table, ratings, seed)
    return makers, [*ratings.notes, *remarks]


def _read_ratings(path: str | os.PathLike[str]) -> fastchat_files.Ratings:
    if Path(path).is_dir():
        return grading.ratings_of_folder(path)
    if Path(path).suffix.lower() == ".csv":
        return fastchat_files.read_judge_table(path)
    return fastchat_files.read_ratings([path])


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
        layout.drawing(
            radar,
            frame.filter(~pl.col("category").is_in([association.MEAN, association.OVERALL])),
            label="model",
            values={"rating": "Rating"},
            panel="version",
            top=_TOP_RATING,
            usual="Ratings of second answers by category",
        ),
        [f"Dialogues with {what} ratings, left out: {n}" for what, n in lost.items() if n],
    )


# Tables of dialogue records


class _Means(NamedTuple):
    """Means by author: what of, their frame, headings in print and in figures, decimals, end of the axis."""

    what: str
    frame: Callable[[Sequence[Dialogue], Turn], pl.DataFrame]
    headings: Mapping[str, str]
    drawn: Mapping[str, str]
    digits: int
    top: float | None = None

    def table(self, name: str, frame: pl.DataFrame, which: str, usual: str, *notes: str) -> Table:
        label, unit = frame.columns[0], " (characters)" if self.what == "Length" else ""
        return Table(
            name,
            f"Table {name}: mean {self.what.lower()} of {which}{unit}",
            frame,
            layout.by_category(frame, [label], self.headings, self.digits),
            layout.drawing(radar, frame, label=label, values=self.drawn, top=self.top, usual=usual),
            notes,
        )


_SCORES = _Means(
    "Scores",
    tables.answer_scores,
    {"human": "people", "judge": "judge"},
    {"human": "Scores by people", "judge": "Scores by the judge"},
    2,
    5.0,
)
_LENGTHS = _Means(
    "Length",
    tables.answer_lengths,
    {"length": "length"},
    {"length": "Mean length (characters)"},
    1,
)
_BY_AUTHOR: Mapping[str, tuple[_Means, Turn]] = {
    "3": (_SCORES, 1),
    "4": (_SCORES, 2),
    "12": (_LENGTHS, 1),
    "13": (_LENGTHS, 2),
}


def _author_table(name: str, dialogues: Sequence[Dialogue]) -> Table:
    means, turn = _BY_AUTHOR[name]
    which = "first answers" if turn == 1 else "second answers"
    notes = ["Each first answer is counted once"] if turn == 1 else []
    usual = f"{means.what} of {which} by category"
    return means.table(name, means.frame(dialogues, turn), which, usual, *notes)


def _light_table(dialogues: Sequence[Dialogue], per_category: int, seed: int) -> Table:
    versions = [
        tables.light_version(dialogues, version, per_category=per_category, seed=seed)
        for version in tables.VERSIONS
    ]
    notes = [f"{per_category} dialogues per category, seed {seed}"]
    if unscored := versions[0].unscored:
        notes.append(f"Dialogues without human scores, left out: {unscored}")
    which = "second answers in the light versions"
    return _SCORES.table("1", tables.light_scores(versions), which, f"Scores of {which}", *notes)


def _size_table(dialogues: Sequence[Dialogue]) -> Table:
    frame = tables.sizes(dialogues)
    return Table("2", "Table 2: number of dialogues", frame, layout.with_intervals(frame, 1))


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


def _interval_table(name: str, dialogues: Sequence[Dialogue], seed: int) -> Table:
    make, title, usual, values, *notes = _WITH_INTERVALS[name]
    frame = make(dialogues, seed=seed)
    return Table(
        name,
        f"{title}, turn 2",
        frame,
        layout.with_intervals(frame, 1, list(values), 3),
        layout.drawing(layout.interval_points, frame, label="author", values=values, usual=usual),
        (_INTERVALS.format("first user turns", seed), *notes),
    )


# Tables of ratings


def _means_table(ratings: fastchat_files.Ratings, categories: Mapping[str, str]) -> Table:
    frame = association.model_means(ratings, categories)
    draw = layout.drawing(
        radar,
        frame.filter(pl.col("category").is_in(list(categories.values()))),
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
        draw,
        (*notes, *ratings.notes),
    )


def _judges_table(ratings: fastchat_files.Ratings, seed: int) -> Table:
    frame = association.judge_agreement(ratings, seed=seed)
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
        layout.drawing(
            layout.agreement_matrix,
            frame.filter(pl.col("over") == "items"),
            values=values,
            usual="Agreement of judges over answers",
        ),
        (
            _INTERVALS.format("questions", seed),
            "κ: Cohen's, with quadratic weights",
            *ratings.notes,
        ),
    )
