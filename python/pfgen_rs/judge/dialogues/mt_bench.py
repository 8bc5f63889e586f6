"""FastChat's files of MT-bench: questions, models' answers and judgments, as JSON lines."""

from __future__ import annotations

import csv
import hashlib
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.equality import EqualByFields
from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.json_lines import Line, id_field, parsed_lines
from pfgen_rs.io.lines import text_field
from pfgen_rs.io.text import counted, shortened

INVALID = -1
"""The score of a judgment without a rating that FastChat could read."""
REFERENCE_CATEGORIES = ("math", "reasoning", "coding")
"""Categories that are graded with a reference answer."""

Row = tuple[str, str, str, str | None, int, float | None]
"""Question, model, judge, prompt, turn and score (`None`: invalid) of a rating."""

_RATINGS = {
    "question_id": pl.String,
    "model": pl.String,
    "judge": pl.String,
    "prompt": pl.String,
    "turn": pl.Int64,
    "score": pl.Float64,
}
_KEYS = ("question_id", "model", "turn")  # columns of a table of judges, beside theirs
_SHOWN = 3  # duplicates in a warning


@dataclass(frozen=True, slots=True)
class Question:
    """A question of MT-bench: what the user says in each turn, and reference answers, if it has any."""

    id: str
    category: str
    turns: tuple[str, ...]
    reference: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """The answers of one model: by question id, the answer to each turn."""

    model: str
    answers: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Ratings(EqualByFields):
    """Ratings of models' answers by judges.

    `frame`: one row per rating: `question_id`, `model`, `judge`, `prompt` (null if unknown), `turn`,
    `score` (null if invalid). `notes`: warnings, such as duplicates, which are kept.
    """

    frame: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()


def read_questions(path: str | os.PathLike[str]) -> tuple[Question, ...]:
    """Read `question.jsonl`: `question_id`, `category`, `turns`, and optionally `reference`.

    Raises `InputError` with file and line, also for a duplicate id, and for a file without questions.
    """
    lines: dict[str, int] = {}

    def parse(line: Line) -> Question:
        record = line.record
        question = Question(
            id_field(record, "question_id"),
            text_field(record, "category"),
            _text_list(record, "turns"),
            _text_list(record, "reference") if record.get("reference") else (),
        )
        if question.id in lines:
            first = lines[question.id]
            raise InputError(f"duplicate question_id {question.id!r}: already on line {first}")
        lines[question.id] = line.number
        return question

    found = tuple(parsed_lines(Path(path), parse))
    if not found:
        raise InputError("contains no questions", path=os.fspath(path))
    return found


def read_answers(path: str | os.PathLike[str]) -> tuple[ModelAnswers, ...]:
    """Read a file of `model_answer` or `reference_answer`: `question_id`, `model_id`, `choices[0].turns`.

    Usually the answers of one model; models in the order of the file. Raises `InputError` with file and
    line, also for a second answer of a model to a question, and for a file without answers.
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}

    def parse(line: Line) -> None:
        record = line.record
        question_id, model = id_field(record, "question_id"), text_field(record, "model_id")
        choices = record.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise InputError("'choices' must be a list that begins with an object with 'turns'")
        answers = found.setdefault(model, {})
        if question_id in answers:
            raise InputError(
                f"duplicate answer of model {shortened(model)!r} to question {question_id!r}"
            )
        answers[question_id] = _text_list(choices[0], "turns")

    for _ in parsed_lines(Path(path), parse):
        pass
    if not found:
        raise InputError("contains no answers", path=os.fspath(path))
    return tuple(ModelAnswers(model, answers) for model, answers in found.items())


def read_ratings(paths: Sequence[str | os.PathLike[str]]) -> Ratings:
    """Read files of judgments, such as `gpt-4_single.jsonl`.

    Keys: `question_id`, `model`, `judge` (a name, or a list of name and prompt), `turn`, `score`. A score
    of -1 is invalid. Ratings that occur more than once are kept, with a note. Raises `InputError` with file
    and line.
    """
    rows = [row for path in paths for row in parsed_lines(Path(path), _parsed_judgment)]
    return ratings_of(rows)


def read_judge_table(path: str | os.PathLike[str]) -> Ratings:
    """Read a CSV file with `question_id`, `model`, `turn`, and one column of ratings per judge.

    An empty cell is no rating, and -1 an invalid one. Raises `InputError` with file and row.
    """
    rows: list[Row] = []
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = reader.fieldnames or ()
            judges = [name for name in names if name not in _KEYS]
            if not judges or not {*_KEYS} <= {*names}:
                expected = f"expected {', '.join(_KEYS)} and a column per judge"
                raise InputError(f"missing columns: {expected}")
            for number, row in enumerate(reader, start=1):
                rows += _judge_table_row(row, judges, number)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(unreadable(error), path=os.fspath(path)) from error
    except InputError as error:
        raise InputError(error.problem, path=os.fspath(path), line=error.line, item="row") from None
    return ratings_of(rows)


def ratings_of(rows: Sequence[Row]) -> Ratings:
    """Returns ratings with notes on duplicates and invalid ones; raises `InputError` for none."""
    if not rows:
        raise InputError("no judgments found")
    counts = Counter((question, model, judge, turn) for question, model, judge, _, turn, _ in rows)
    twice = [key for key, count in counts.items() if count > 1]
    notes = []
    if twice:
        named = ", ".join(
            f"question {question}, turn {turn} of {shortened(model)}"
            for question, model, _, turn in twice[:_SHOWN]
        )
        more = ", …" if len(twice) > _SHOWN else ""
        rated = "is rated" if len(twice) == 1 else "are rated"
        notes.append(
            f"{counted(len(twice), 'answer')} {rated} more than once, and all ratings are kept: {named}{more}"
        )
    invalid = sum(row[-1] is None for row in rows)
    if invalid:
        notes.append(f"{counted(invalid, 'invalid rating')} left out of means")
    return Ratings(pl.DataFrame(rows, schema=_RATINGS, orient="row"), tuple(notes))


def answer_record(
    question_id: str, model: str, turns: Sequence[str], timestamp: float
) -> dict[str, Any]:
    """Returns a line of `model_answer`. Its `answer_id` is a digest of the rest without the time."""
    key = "\0".join((question_id, model, *turns)).encode("utf-8", "surrogatepass")
    return {
        "question_id": written_id(question_id),
        "answer_id": hashlib.sha256(key).hexdigest()[:22],
        "model_id": model,
        "choices": [{"index": 0, "turns": list(turns)}],
        "tstamp": timestamp,
    }


def judgment_record(
    *,
    question_id: str,
    model: str,
    judge: str,
    prompt: str,
    user_prompt: str,
    judgment: str,
    score: float | None,
    turn: int,
    timestamp: float,
) -> dict[str, Any]:
    """Returns a line of judgments; an invalid score is -1."""
    whole = score is not None and score == int(score)
    return {
        "question_id": written_id(question_id),
        "model": model,
        "judge": [judge, prompt],
        "user_prompt": user_prompt,
        "judgment": judgment,
        "score": INVALID if score is None else int(score) if whole else score,
        "turn": turn,
        "tstamp": timestamp,
    }


def written_id(question_id: str) -> str | int:
    """Returns an id as FastChat writes it: digits as a number."""
    canonical = question_id.isascii() and question_id.isdigit() and len(question_id) <= 18
    return int(question_id) if canonical and str(int(question_id)) == question_id else question_id


def _parsed_judgment(line: Line) -> Row:
    record = line.record
    judge, prompt = _judge_and_prompt(record)
    return (
        id_field(record, "question_id"),
        text_field(record, "model"),
        judge,
        prompt,
        _turn_number(record),
        _rating(record),
    )


def _judge_and_prompt(record: Mapping[str, Any]) -> tuple[str, str | None]:
    judge = record.get("judge")
    if isinstance(judge, str):
        return judge, None
    if isinstance(judge, list) and judge and all(isinstance(each, str) for each in judge):
        return judge[0], judge[1] if len(judge) > 1 else None
    raise InputError("'judge' must be a name, or a list of the judge's name and the prompt's")


def _turn_number(record: Mapping[str, Any]) -> int:
    turn = record.get("turn")
    if type(turn) is not int or turn < 1:
        raise InputError(f"'turn' must be a whole number of at least 1, not {turn!r:.60}")
    return turn


def _rating(record: Mapping[str, Any]) -> float | None:
    if "score" not in record:
        text_field(record, "score")
    score = record["score"]
    if score is None or score == INVALID:
        return None
    number = isinstance(score, int | float) and not isinstance(score, bool)
    if not number or not math.isfinite(score) or score < 0:
        raise InputError(f"'score' must be a number of at least 0, or -1, not {score!r:.60}")
    return float(score)


def _text_list(record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    if key not in record:
        text_field(record, key)
    value = record[key]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value) or not value:
        raise InputError(f"{key!r} must be a list of texts")
    return tuple(value)


def _judge_table_row(row: Mapping[str, str | None], judges: list[str], number: int) -> list[Row]:
    turn = row["turn"] or ""
    if None in row or not all(row[key] for key in _KEYS) or not turn.isdecimal():
        raise InputError(
            "expected a question_id, a model, a whole number as turn, and a rating per judge",
            line=number,
        )
    cells = {judge: (row[judge] or "").strip() for judge in judges}
    question, model = str(row["question_id"]), str(row["model"])
    return [
        (question, model, judge, None, int(turn), _table_rating(text, number, judge))
        for judge, text in cells.items()
        if text
    ]


def _table_rating(text: str, number: int, judge: str) -> float | None:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if score == INVALID:
        return None
    if not math.isfinite(score) or score < 0:
        raise InputError(
            f"column {judge!r} must be a number of at least 0, or -1, not {text!r:.60}",
            line=number,
        )
    return score
