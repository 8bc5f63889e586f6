"""FastChat's files of MT-bench: questions, models' answers and judgments, as JSON lines."""

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.json_lines import Line, id_field, parsed_lines
from pfgen_rs.io.lines import text_field
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.judge.dialogues.records import read_unique
from pfgen_rs.lazy import pl

INVALID = -1
"""The score of a judgment without a rating that FastChat could read."""

Row = tuple[str, str, str, str | None, int, float | None]
"""Question, model, judge, prompt, turn and score (`None`: invalid) of a rating."""
RATINGS = {
    "question_id": pl.String,
    "model": pl.String,
    "judge": pl.String,
    "prompt": pl.String,
    "turn": pl.Int64,
    "score": pl.Float64,
}
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
class Ratings:
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

    def parse(line: Line) -> Question:
        record = line.record
        return Question(
            id_field(record, "question_id"),
            text_field(record, "category"),
            _text_list(record, "turns"),
            _text_list(record, "reference") if record.get("reference") else (),
        )

    return read_unique(path, parse, "questions")


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
    return ratings_of(pl.DataFrame(rows, schema=RATINGS, orient="row"))


def read_judge_table(path: str | os.PathLike[str]) -> Ratings:
    """Read a CSV file with `question_id`, `model`, `turn`, and one column of ratings per judge.

    An empty cell is no rating, and -1 an invalid one. Raises `InputError` with file and row.
    """
    try:
        table = pl.read_csv(Path(path), infer_schema=False).with_row_index("row", 1)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot be read as CSV: {error}", path=os.fspath(path)) from error
    keys = ["question_id", "model", "turn"]
    judges = [name for name in table.columns if name not in ("row", *keys)]
    if not judges or not {*keys} <= {*table.columns}:
        expected = f"expected {', '.join(keys)} and a column per judge"
        raise InputError(f"missing columns: {expected}", path=os.fspath(path))
    text, number = pl.col("score").str.strip_chars(), pl.col("number")
    found = (
        table.unpivot(judges, index=["row", *keys], variable_name="judge", value_name="score")
        .sort("row", maintain_order=True)
        .with_columns(turn=pl.col("turn").cast(pl.Int64, strict=False), score=text)
        .filter(text.fill_null("") != "")
        .with_columns(number=pl.col("score").cast(pl.Float64, strict=False))
    )
    valid = number.is_finite() & ((number >= 0) | (number == INVALID))
    complete = pl.all_horizontal(pl.col(keys).is_not_null())
    wrong = found.filter(~(valid.fill_null(value=False) & complete))
    for row in wrong.head(1).to_dicts():
        raise InputError(
            f"{row['judge']!r:.60} rates turn {row['turn']} of question {row['question_id']!r:.60} by "
            f"{row['model']!r:.60} as {row['score']!r:.60}: expected a question, a model, a whole number as "
            "turn, and a number of at least 0, or -1",
            path=os.fspath(path),
            line=row["row"],
            item="row",
        )
    score = pl.when(number >= 0).then(number)
    return ratings_of(found.with_columns(prompt=pl.lit(None, pl.String), score=score))


def ratings_of(ratings: pl.DataFrame) -> Ratings:
    """Returns ratings with notes on duplicates and invalid ones; raises `InputError` for none."""
    if ratings.is_empty():
        raise InputError("no judgments found")
    frame = ratings.select(*RATINGS)
    rated = frame.group_by("question_id", "turn", "model", "judge", maintain_order=True).len()
    twice = rated.filter(pl.col("len") > 1)
    notes = []
    if len(twice):
        named = ", ".join(
            f"question {question}, turn {turn} of {shortened(model)}"
            for question, turn, model, *_ in twice.head(_SHOWN).rows()
        )
        more = ", …" if len(twice) > _SHOWN else ""
        are = "is rated" if len(twice) == 1 else "are rated"
        notes.append(
            f"{counted(len(twice), 'answer')} {are} more than once, and all ratings are kept: {named}{more}"
        )
    if invalid := frame["score"].null_count():
        notes.append(f"{counted(invalid, 'invalid rating')} left out of means")
    return Ratings(frame, tuple(notes))


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


def judgment_record(grade: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a stored rating as a line of judgments; an invalid score is -1."""
    score = grade["rating"]
    whole = score is not None and score == int(score)
    return {
        "question_id": written_id(grade["item"]),
        "model": grade["model"],
        "judge": [grade["judge"]["model"], grade["prompt"]],
        "user_prompt": grade["user_prompt"],
        "judgment": grade["output"],
        "score": INVALID if score is None else int(score) if whole else score,
        "turn": grade["turn"],
        "tstamp": datetime.fromisoformat(grade["timestamp"]).timestamp(),
    }


def written_id(question_id: str) -> str | int:
    """Returns an id as FastChat writes it: digits as a number."""
    canonical = question_id.isascii() and question_id.isdigit() and len(question_id) <= 18
    return int(question_id) if canonical and str(int(question_id)) == question_id else question_id


def _parsed_judgment(line: Line) -> Row:
    record = line.record
    judge = record.get("judge")
    named = [judge] if isinstance(judge, str) else judge
    if not isinstance(named, list) or not named or not all(isinstance(n, str) for n in named):
        raise InputError("'judge' must be a name, or a list of the judge's name and the prompt's")
    turn = record.get("turn")
    if type(turn) is not int or turn < 1:
        raise InputError(f"'turn' must be a whole number of at least 1, not {turn!r:.60}")
    return (
        id_field(record, "question_id"),
        text_field(record, "model"),
        named[0],
        named[1] if len(named) > 1 else None,
        turn,
        _rating(record),
    )


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
