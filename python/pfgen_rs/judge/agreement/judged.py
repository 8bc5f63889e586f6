"""Decisions and human verdicts as arrays of letters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from pfgen_rs.errors import InputError
from pfgen_rs.judge.decision_columns import NONE, Codes, Floats, Indices, column_codes
from pfgen_rs.judge.decisions import RULES, Rule

_NEEDED = ("pair", "question_id", "v1", "v2", *RULES)


@dataclass(frozen=True)
class Judged:
    """Pairs with the verdicts of a judge and of raters, as codes of letters.

    `first`, `second`: verdicts of both orders, shape (pairs,). `decided`: decisions by rule. `task_names`,
    `tasks`: names of tasks and their codes, one name `None` if there are no tasks. `questions`: codes of
    questions. `raters`, `verdicts`: names, and letters of shape (raters, pairs), -1 where a rater did not
    judge.
    """

    first: Codes
    second: Codes
    decided: dict[Rule, Codes]
    task_names: tuple[str | None, ...]
    tasks: Indices
    questions: Indices
    raters: tuple[str, ...]
    verdicts: Codes


def judged(decisions: pl.DataFrame, humans: pl.DataFrame | None) -> Judged:
    """Returns the arrays of a frame of decisions and of one of human verdicts.

    Raises `InputError` for missing columns, unknown letters, no pairs, a pair that occurs twice, verdicts on
    unknown pairs, and two verdicts of a rater on a pair.
    """
    needed_columns(decisions, _NEEDED, "decisions")
    if decisions.is_empty():
        raise InputError("no pairs: agreement needs at least one")
    task_names, tasks = _task_codes(decisions)
    raters, verdicts = _human_codes(decisions["pair"].cast(pl.String), humans)
    return Judged(
        first=column_codes(decisions["v1"]),
        second=column_codes(decisions["v2"]),
        decided={rule: column_codes(decisions[rule]) for rule in RULES},
        task_names=task_names,
        tasks=tasks,
        questions=question_codes(decisions["question_id"]),
        raters=raters,
        verdicts=verdicts,
    )


def needed_columns(frame: pl.DataFrame, names: tuple[str, ...], what: str) -> None:
    """Raise `InputError` if columns are missing."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(f"columns missing in the frame of {what}: {', '.join(missing)}")


def codes_of_texts(column: pl.Series) -> tuple[tuple[str, ...], Indices]:
    """Returns the distinct texts in order of appearance, and the number of each row's text."""
    texts = column.cast(pl.String)
    distinct = texts.unique(maintain_order=True)
    codes = texts.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64)
    return tuple(distinct.to_list()), codes.to_numpy()


def question_codes(column: pl.Series) -> Indices:
    """Returns codes of questions, numbered without gaps. Raises `InputError` for a missing id."""
    if column.null_count():
        raise InputError("a pair without question_id in the decisions")
    return (column.cast(pl.String).rank("dense").cast(pl.Int64) - 1).to_numpy()


def winner_probabilities(decisions: pl.DataFrame) -> Floats:
    """Returns the largest mean probability of each pair, NaN without probabilities."""
    needed_columns(decisions, ("p_a", "p_b", "p_c"), "decisions")
    largest = decisions.select(pl.max_horizontal("p_a", "p_b", "p_c").cast(pl.Float64))
    return largest.to_series().fill_null(float("nan")).to_numpy()


def _task_codes(decisions: pl.DataFrame) -> tuple[tuple[str | None, ...], Indices]:
    if "task" not in decisions.columns or decisions["task"].null_count() == len(decisions):
        return (None,), np.zeros(len(decisions), dtype=np.int64)
    names, codes = codes_of_texts(decisions["task"].fill_null(""))
    return names, codes


def _human_codes(pairs: pl.Series, humans: pl.DataFrame | None) -> tuple[tuple[str, ...], Codes]:
    if pairs.n_unique() < len(pairs):
        twice = pairs.filter(pairs.is_duplicated()).first()
        raise InputError(f"pair {twice!r} occurs twice in the decisions")
    if humans is None:
        return (), np.empty((0, len(pairs)), dtype=np.int8)
    needed_columns(humans, ("pair", "rater", "verdict"), "human verdicts")
    places = _places_of_pairs(humans["pair"].cast(pl.String), pairs)
    if humans["rater"].null_count():
        raise InputError("a human verdict without a rater")
    names, raters = codes_of_texts(humans["rater"])
    slots = raters * len(pairs) + places
    letters = column_codes(humans["verdict"])
    _check_single_verdicts(slots[letters != NONE], pairs, names)
    verdicts = np.full(len(names) * len(pairs), NONE, dtype=np.int8)
    verdicts[slots[letters != NONE]] = letters[letters != NONE]
    return names, verdicts.reshape(len(names), len(pairs))


def _places_of_pairs(texts: pl.Series, pairs: pl.Series) -> Indices:
    """Returns the place of each text among the pairs."""
    known = pl.DataFrame({"pair": pairs}).with_row_index("place")
    wanted = pl.DataFrame({"pair": texts}).with_row_index("row")
    found = wanted.join(known, on="pair", how="inner")  # faster in any order
    places = np.full(len(texts), NONE, dtype=np.int64)
    places[found["row"].to_numpy()] = found["place"].to_numpy()
    if len(found) < len(texts):
        unknown = texts[int(np.flatnonzero(places == NONE)[0])]
        raise InputError(f"a verdict on the unknown pair {unknown!r}: the decisions lack it")
    return places


def _check_single_verdicts(slots: Indices, pairs: pl.Series, raters: tuple[str, ...]) -> None:
    taken = np.bincount(slots, minlength=1)
    if taken.max() > 1:
        rater, pair = divmod(int(taken.argmax()), len(pairs))
        raise InputError(f"rater {raters[rater]!r} has two verdicts on pair {pairs[pair]!r}")
