"""Pairs of answers to a question, and what people say about them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.json_lines import id_field, parsed, texts_field, write_objects
from pfgen_rs.io.records import optional_text_field, text_field
from pfgen_rs.judge.letters import LETTERS

__all__ = ["Pair", "pair_of", "pair_record", "read_humans", "read_pairs", "write_pairs"]

_HUMANS = {"pair": pl.String, "rater": pl.String, "verdict": pl.String}
_OPTIONAL = ("task", "reference", "criteria")


@dataclass(frozen=True, slots=True)
class Pair:
    """A question with the answers of two models, a and b.

    `question_id` (default: the pair's `id`) is shared by pairs about the same question, which statistics
    keep together. `criteria`: what answers to the question are judged by.
    """

    id: str
    question: str
    models: tuple[str, str]
    answers: tuple[str, str]
    question_id: str = ""
    task: str | None = None
    reference: str | None = None
    criteria: str | None = None

    def __post_init__(self) -> None:
        if not self.question_id:
            object.__setattr__(self, "question_id", self.id)


def pair_of(record: dict[str, Any]) -> Pair:
    """Returns the pair in a JSON object. Raises `InputError` without a place."""
    pair_id = id_field(record, "id")
    given = record.get("question_id")
    a, b = texts_field(record, "models", 2)
    first, second = texts_field(record, "answers", 2)
    return Pair(
        id=pair_id,
        question=text_field(record, "question"),
        models=(a, b),
        answers=(first, second),
        question_id=pair_id if given is None else id_field(record, "question_id"),
        **{key: optional_text_field(record, key) for key in _OPTIONAL},
    )


def pair_record(pair: Pair) -> dict[str, Any]:
    """Returns a pair as a JSON object, without what it lacks."""
    record: dict[str, Any] = {"id": pair.id, "question_id": pair.question_id}
    if pair.task is not None:
        record["task"] = pair.task
    record["question"] = pair.question
    record |= {key: text for key in _OPTIONAL[1:] if (text := getattr(pair, key)) is not None}
    return record | {"models": list(pair.models), "answers": list(pair.answers)}


def read_pairs(path: str | os.PathLike[str]) -> list[Pair]:
    """Read pairs from JSON lines.

    Keys: `id`, `question`, `models` [a, b], `answers` [a, b], and optionally `question_id`, `task`,
    `reference`, `criteria`. Raises `InputError` with file and line, also for duplicate ids and empty files.
    """
    path = Path(path)
    pairs: dict[str, Pair] = {}
    for number, pair in parsed(path, pair_of):
        if pair.id in pairs:
            raise InputError(f"duplicate pair id {pair.id!r:.80}", path=path, line=number)
        pairs[pair.id] = pair
    if not pairs:
        raise InputError("contains no pairs", path=path)
    return list(pairs.values())


def write_pairs(path: str | os.PathLike[str], pairs: Iterable[Pair]) -> None:
    """Write pairs as JSON lines, atomically. Raises `OutputError`."""
    write_objects(Path(path), map(pair_record, pairs))


def read_humans(path: str | os.PathLike[str], known: Collection[str]) -> pl.DataFrame:
    """Read verdicts of people from JSON lines: `id` of the pair, `rater`, `verdict` (A, B or C).

    Returns columns `pair`, `rater`, `verdict`. CSV files need these columns. `known`: the ids of the pairs.
    Raises `InputError` with file and line for unknown ids and letters, and for a second verdict of a rater.
    """
    path = Path(path)
    quick = _human_columns(path)
    if quick is not None and _are_humans_sound(quick, known):
        return quick
    found: dict[tuple[str, str], str] = {}
    for number, (pair, rater, verdict) in _human_rows(path):  # says what is wrong, and where
        if pair not in known:
            raise InputError(f"unknown pair id {pair!r:.80}", path=path, line=number)
        if (pair, rater) in found:
            raise InputError(
                f"second verdict of rater {rater!r:.80} on pair {pair!r:.80}",
                path=path,
                line=number,
            )
        found[pair, rater] = verdict
    if not found:
        raise InputError("contains no verdicts", path=path)
    rows = [(pair, rater, verdict) for (pair, rater), verdict in found.items()]
    return pl.DataFrame(rows, schema=_HUMANS, orient="row")


def _human_columns(path: Path) -> pl.DataFrame | None:
    """Returns a file's columns if all ids are texts, as they nearly always are."""
    if path.suffix.lower() == ".csv":
        return None
    try:
        found = pl.read_ndjson(
            path, schema={"id": pl.String, "rater": pl.String, "verdict": pl.String}
        )
    except (OSError, pl.exceptions.PolarsError):
        return None
    return found.rename({"id": "pair"})


def _are_humans_sound(humans: pl.DataFrame, known: Collection[str]) -> bool:
    ids = pl.Series(list(known), dtype=pl.String)
    sound = humans.select(
        (pl.col("rater") != "").all()
        & pl.col("verdict").is_in(LETTERS).all()
        & pl.col("pair").is_in(ids.implode()).all()
        & (pl.sum_horizontal(pl.all().null_count()) == 0)
        & pl.struct("pair", "rater").is_unique().all()
    )
    return bool(len(humans) and sound.item())


def _human_rows(path: Path) -> Iterable[tuple[int, tuple[str, str, str]]]:
    if path.suffix.lower() == ".csv":
        return _human_rows_of_csv(path)
    return parsed(path, _human_row)


def _human_row(record: dict[str, Any]) -> tuple[str, str, str]:
    verdict = text_field(record, "verdict")
    if verdict not in LETTERS:
        raise InputError(f"invalid verdict {verdict!r:.40}: expected A, B or C")
    return id_field(record, "id"), id_field(record, "rater"), verdict


def _human_rows_of_csv(path: Path) -> Iterable[tuple[int, tuple[str, str, str]]]:
    try:
        table = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(unreadable(error), path=path) from error
    for number, row in enumerate(table.iter_rows(named=True), 2):
        try:
            yield number, _human_row(row)
        except InputError as error:
            raise InputError(error.problem, path=path, line=number) from None
