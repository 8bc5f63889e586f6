"""Tables of whatever files there are: dialogue records, ratings in FastChat's format, folders of ratings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import polars as pl

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.json_lines import lines
from pfgen_rs.io.text import counted
from pfgen_rs.judge.dialogues import grades
from pfgen_rs.judge.dialogues.association import read_judge_table
from pfgen_rs.judge.dialogues.mt_bench import Ratings, ratings_of, read_questions, read_ratings
from pfgen_rs.judge.dialogues.records import Fields, read_dialogues
from pfgen_rs.judge.dialogues.report import (
    DIALOGUE_TABLES,
    RATING_TABLES,
    Options,
    Table,
    dialogue_tables,
    model_table,
    rating_tables,
)

TABLES = (*DIALOGUE_TABLES, "6", *RATING_TABLES)
"""Names of all tables."""


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
    """Returns tables by name, by default all that the data allows.

    `paths`: one file of dialogue records, or ratings: files of FastChat's judgments, CSV files with a
    column per judge, and folders of ratings. `questions`: MT-bench's questions, for the categories of
    ratings. Raises `SettingsError` for unknown names, and `InputError`, also for tables that the data does
    not allow.
    """
    chosen = options or Options()
    for name in names or ():
        if name not in TABLES:
            raise SettingsError(f"unknown table {name!r}: expected one of {', '.join(TABLES)}")
    if _are_dialogues(paths):
        return _tables_of_dialogues(paths, names, chosen, fields)
    return _tables_of_ratings(paths, names, chosen, questions)


def _are_dialogues(paths: Sequence[str | os.PathLike[str]]) -> bool:
    kinds = {_is_dialogue_file(Path(path)) for path in paths}
    if len(kinds) > 1:
        raise InputError("cannot mix dialogue records and ratings: pass one of them")
    return kinds == {True}


def _is_dialogue_file(path: Path) -> bool:
    if path.is_dir() or path.suffix.lower() == ".csv":
        return False
    first = next(islice(lines(path), 1), None)
    return first is None or not {"judge", "score"} <= first.record.keys()


def _tables_of_dialogues(
    paths: Sequence[str | os.PathLike[str]],
    names: Sequence[str] | None,
    options: Options,
    fields: Fields | None,
) -> Made:
    if len(paths) > 1:
        raise InputError(f"expected one file of dialogue records, found {len(paths)}")
    _check_table_names(names, DIALOGUE_TABLES, "dialogue records")
    dialogues = read_dialogues(paths[0], fields)
    if names is not None:
        return Made(dialogue_tables(dialogues, names, options))
    made, notes = [], []
    for name in DIALOGUE_TABLES:
        try:
            made += dialogue_tables(dialogues, [name], options)
        except InputError as error:
            notes.append(f"table {name} left out: {error}")
    return Made(made, notes)


def _tables_of_ratings(
    paths: Sequence[str | os.PathLike[str]],
    names: Sequence[str] | None,
    options: Options,
    questions: str | os.PathLike[str] | None,
) -> Made:
    folders = [Path(path) for path in paths if Path(path).is_dir()]
    for folder in folders:
        if not grades.is_grade_folder(folder):
            raise InputError("is not a folder of graded dialogues", path=folder)
    allowed = RATING_TABLES if len(folders) < len(paths) else ("6", *RATING_TABLES)
    _check_table_names(names, allowed, "these ratings")
    ratings = _read_all_ratings(paths)
    categories: Mapping[str, str] = {
        dialogue: category
        for folder in folders
        for dialogue, category in grades.graded_categories(folder).items()
    }
    if questions is not None:
        categories = {question.id: question.category for question in read_questions(questions)}
    compared = ratings.frame["judge"].n_unique() > 1
    default = [name for name in allowed if name != "judges" or compared]
    made, notes = [], [*ratings.notes, *_stale_notes(folders)]
    for name in names if names is not None else default:
        try:
            if name == "6":
                made.append(model_table(_table_6(folders)))
            else:
                made += rating_tables(ratings, [name], options, categories)
        except InputError as error:
            if names is not None:
                raise
            notes.append(f"table {name} left out: {error}")
    return Made(made, notes)


def _stale_notes(folders: Sequence[Path]) -> list[str]:
    counts = [(folder, grades.stale_grades(folder)) for folder in folders]
    return [
        f"{folder}: {counted(count, 'rating')} of earlier answers: kept, but not used"
        for folder, count in counts
        if count
    ]


def _check_table_names(names: Sequence[str] | None, allowed: Sequence[str], what: str) -> None:
    for name in names or ():
        if name not in allowed:
            raise InputError(
                f"table {name!r} cannot be made from {what}: expected one of {', '.join(allowed)}"
            )


def _read_all_ratings(paths: Sequence[str | os.PathLike[str]]) -> Ratings:
    frames = []
    for path in paths:
        if Path(path).is_dir():
            found = grades.ratings_of_folder(path)
        elif Path(path).suffix.lower() == ".csv":
            found = read_judge_table(path)
        else:
            found = read_ratings([path])
        frames.append(found.frame)
    return ratings_of(pl.concat(frames).rows())  # answers may be rated twice in several files


def _table_6(folders: Sequence[Path]) -> pl.DataFrame:
    """Returns the ratings of all folders; with several, versions are named after the judges, too."""
    frames = []
    for folder in folders:
        frame = grades.model_scores(folder)
        if len(folders) > 1:
            judge = grades.ratings_of_folder(folder).frame["judge"][0]
            frame = frame.with_columns(
                pl.format("{} · {}", pl.lit(judge), "version").alias("version")
            )
        frames.append(frame)
    return pl.concat(frames)
