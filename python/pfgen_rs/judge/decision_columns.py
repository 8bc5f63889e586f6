"""Decisions about many pairs at once: columns with the same results to the bit as `decide`, and tables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, OutputError, SettingsError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.table_writer import csv_text
from pfgen_rs.judge.decisions import Rule, check_rule
from pfgen_rs.judge.tokens import LETTERS
from pfgen_rs.report.markup import inert

Codes = NDArray[np.int8]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
ORDERS = (1, 2)
NONE = -1
"""The code of a missing letter: undecided, invalid, or not judged."""


_LETTER_CODES: dict[object, int] = {None: NONE, **{each: i for i, each in enumerate(LETTERS)}}


def letter_codes(letters: Iterable[object]) -> Codes:
    """Returns codes of letters, -1 for `None`: int8, one per letter. Raises `InputError` for others."""
    listed = list(letters)
    try:
        return np.array([_LETTER_CODES[letter] for letter in listed], dtype=np.int8)
    except (KeyError, TypeError):
        unknown = next(each for each in listed if not (each is None or each in LETTERS))
        raise InputError(f"unknown letter {unknown!r}: expected 'A', 'B', 'C' or None") from None


def column_codes(column: pl.Series) -> Codes:
    """Returns codes of a column of letters, -1 for null: int8. Raises `InputError` for other values."""
    texts = column.cast(pl.String)
    codes = np.full(len(texts), NONE, dtype=np.int8)
    for code, letter in enumerate(LETTERS):
        codes[(texts == letter).fill_null(value=False).to_numpy()] = code
    if np.count_nonzero(codes == NONE) > texts.null_count():
        unknown = texts.filter(~texts.is_in(LETTERS)).first()
        raise InputError(
            f"unknown letter {unknown!r} in column {column.name!r}: expected 'A', 'B', 'C' or null"
        )
    return codes


# Decisions about many pairs at once: `decide` on columns, with the same results to the bit.


"""The code of no letter; A, B and C are 0, 1 and 2."""


_A, _B, _C = range(len(LETTERS))


_SWAPPED_BACK = np.array([_B, _A, _C, NONE], dtype=np.int8)  # the last one is that of code -1


class DecidedColumns(NamedTuple):
    """`Decision` as columns: letters as codes (shape (pairs,)), NaN if unknown.

    `p1`, `p2` and `mean`: probabilities of A, B, C in letters of the pair, shape (pairs, 3).
    """

    v1: Codes
    v2: Codes
    p1: Floats
    p2: Floats
    probability: Codes
    strict: Codes
    tie: Codes
    mean: Floats
    single: NDArray[np.bool_]
    valid: NDArray[np.bool_]
    consistent: NDArray[np.bool_]
    margin: Floats
    outside: Floats


def swapped_codes(codes: Codes) -> Codes:
    """Returns codes as they read in the other order."""
    return _SWAPPED_BACK[codes]


def decide_columns(shown1: Codes, shown2: Codes, p1: Floats, p2: Floats) -> DecidedColumns:
    """Decide pairs by all rules, as `decide` does.

    `shown1`, `shown2`: codes of the verdicts in order 1 and 2 as they were shown, int8, shape (pairs,).
    `p1`, `p2`: probabilities of A, B, C as shown, float64, shape (pairs, 3), NaN where unknown. Linear time.
    """
    v1, v2 = shown1, swapped_codes(shown2)
    p2 = p2[:, [_B, _A, _C]]
    known1, known2 = _known_rows(p1), _known_rows(p2)
    both = known1 & known2
    mean = np.where(known1[:, None], p1, np.where(known2[:, None], p2, np.nan))
    mean[both] = (p1[both] + p2[both]) / 2
    valid, same = (v1 != NONE) & (v2 != NONE), v1 == v2
    ranked = np.sort(mean, axis=1)
    total = (mean[:, _A] + mean[:, _B]) + mean[:, _C]
    return DecidedColumns(
        v1=v1,
        v2=v2,
        p1=p1,
        p2=p2,
        probability=_most_probable_codes(mean, ranked, known1 | known2),
        strict=np.where(valid & same, v1, NONE).astype(np.int8),
        tie=np.where(valid, np.where(same, v1, _C), NONE).astype(np.int8),
        mean=mean,
        single=known1 != known2,
        valid=valid,
        consistent=valid & same,
        margin=ranked[:, 2] - ranked[:, 1],
        outside=np.maximum(0.0, 1.0 - total),
    )


def _known_rows(p: Floats) -> NDArray[np.bool_]:
    return np.asarray(~np.isnan(p).any(axis=1))


def _most_probable_codes(mean: Floats, ranked: Floats, known: NDArray[np.bool_]) -> Codes:
    winners = np.where(ranked[:, 2] == ranked[:, 1], _C, np.argmax(mean, axis=1))
    return np.where(known, winners, NONE).astype(np.int8)


_WRITERS = {".jsonl": "write_ndjson", ".csv": "write_csv", ".parquet": "write_parquet"}


def decision_rows(decisions: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Returns one row a pair with its decision by a rule and its `state`.

    `decisions`: as `VerdictFolder.decisions` returns them. Raises `SettingsError` for an unknown rule.
    """
    check_rule(rule)
    if rule in ("strict", "probability"):
        state = pl.col(f"{rule}_state")
    else:
        needed = pl.col("judged_1") if rule == "first" else pl.col("judged_1") & pl.col("judged_2")
        lacking = pl.when(needed).then(pl.lit("invalid")).otherwise(pl.lit("missing"))
        state = pl.when(pl.col(rule).is_null()).then(lacking).otherwise(pl.lit("decided"))
    return decisions.select(
        "pair",
        "question_id",
        "task",
        "model_a",
        "model_b",
        decision=pl.col(rule),
        state=state,
        v1="v1",
        v2="v2",
        p_a="p_a",
        p_b="p_b",
        p_c="p_c",
        margin="margin",
        outside="outside",
    )


def decision_counts(decisions: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Returns how often each decision occurs, one row a pair of models.

    Columns: `model_a`, `model_b`, `A`, `B`, `C`, `undecided`, `invalid`, `missing`, `pairs`; models are in
    alphabetical order, and wins of pairs in either order are added.
    """
    rows = decision_rows(decisions, rule)
    turned = pl.col("model_a") > pl.col("model_b")
    letter = (
        pl.when(turned)
        .then(pl.col("decision").replace({"A": "B", "B": "A"}))
        .otherwise(pl.col("decision"))
    )
    return (
        rows.select(
            model_a=pl.when(turned).then("model_b").otherwise("model_a"),
            model_b=pl.when(turned).then("model_a").otherwise("model_b"),
            letter=letter,
            state="state",
        )
        .group_by("model_a", "model_b")
        .agg(
            *((pl.col("letter") == x).sum().alias(x) for x in LETTERS),
            *((pl.col("state") == x).sum().alias(x) for x in ("undecided", "invalid", "missing")),
            pairs=pl.len(),
        )
        .sort("model_a", "model_b")
    )


def write_frame(frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table to a file: `.jsonl`, `.csv` or `.parquet`. Raises `SettingsError` and `OutputError`."""
    kind = Path(path).suffix
    if kind not in _WRITERS:
        raise SettingsError(f"{path}: unknown format: expected {', '.join(_WRITERS)}")
    buffer = BytesIO()
    try:
        if kind == ".csv":
            buffer.write(csv_text(frame).encode())
        else:
            getattr(frame, _WRITERS[kind])(buffer)
    except pl.exceptions.PolarsError as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error
    write_atomic(path, buffer.getvalue())


def write_tables(
    tables: Mapping[str, pl.DataFrame],
    everything: Mapping[str, Any],
    folder: str | os.PathLike[str],
) -> None:
    """Write tables to a folder: each as Parquet and CSV, all as `tables.md`, and `everything` as `all.json`.

    Raises `OutputError`.
    """
    place = Path(folder)
    for name, table in tables.items():
        write_frame(table, place / f"{name}.parquet")
        write_frame(table, place / f"{name}.csv")
    texts = [
        f"## {name.replace('_', ' ')}\n\n{_markdown_table(table)}" for name, table in tables.items()
    ]
    write_atomic(place / "tables.md", "\n".join(texts).encode())
    content = json.dumps(everything, ensure_ascii=False, indent=1)
    write_atomic(place / "all.json", f"{content}\n".encode())


def _markdown_table(table: pl.DataFrame) -> str:
    numbers = [kind.is_numeric() for kind in table.dtypes]
    rows = [
        [inert(name.replace("_", " ")) for name in table.columns],
        ["--:" if number else ":--" for number in numbers],
        *(list(map(_markdown_cell, row)) for row in table.iter_rows()),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _markdown_cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else inert(str(value))


def _decision_series(
    columns: DecidedColumns, judged: Sequence[Flags], whole: Flags
) -> list[pl.Series]:
    """Returns the columns of decisions. `judged`: in each order; `whole`: in every order that was asked."""
    both = judged[0] & judged[1]
    known = np.where(columns.consistent, "decided", "undecided")
    states = np.where(columns.valid, known, np.where(both, "invalid", "missing"))
    lacking = np.where(whole, "invalid", "missing")
    probable = np.where(columns.probability == NONE, lacking, "decided")
    letters = {
        "v1": columns.v1,
        "v2": columns.v2,
        "probability": columns.probability,
        "strict": columns.strict,
        "tie": columns.tie,
        "first": columns.v1,
    }
    return [
        *(_letter_series(name, codes) for name, codes in letters.items()),
        *_probability_series("p1", columns.p1),
        *_probability_series("p2", columns.p2),
        pl.Series("probability_state", probable),
        pl.Series("strict_state", states),
        *_probability_series("p", columns.mean),
        pl.Series("single", columns.single),
        pl.Series("consistent", columns.consistent),
        pl.Series("margin", columns.margin, nan_to_null=True),
        pl.Series("outside", columns.outside, nan_to_null=True),
        *(pl.Series(f"judged_{order}", each) for order, each in zip(ORDERS, judged, strict=True)),
    ]


def _letter_series(name: str, codes: Codes) -> pl.Series:
    letters = pl.Series([*LETTERS, None], dtype=pl.String)
    places = np.where(codes == NONE, len(LETTERS), codes).astype(np.uint32)
    return letters.gather(pl.Series(places)).alias(name)


def _probability_series(name: str, p: Floats) -> list[pl.Series]:
    return [
        pl.Series(f"{name}_{letter.lower()}", p[:, i], nan_to_null=True)
        for i, letter in enumerate(LETTERS)
    ]
