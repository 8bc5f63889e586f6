"""Candidates grouped by question, as Ray hands them to a task: the result of a build, and unusable rows."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builds import IDS, ROWS, prepare
from pfgen_rs.errors import InputError
from pfgen_rs.references.built import BuiltQuestion
from pfgen_rs.references.config import BuildConfig, read_outlines
from pfgen_rs.references.on_ray import QuestionGroups
from pfgen_rs.references.pipeline import build


def grouped(config: BuildConfig, table: pl.DataFrame) -> Any:
    """What Ray gets for the rows of each question, by id."""
    outlines = tuple(read_outlines(config.path(config.questions)))
    groups = QuestionGroups(config, "line", outlines, outlines, config.prepared())
    work = pickle.loads(pickle.dumps(groups))
    known = pl.DataFrame(work.identified(table.to_arrow()))
    parts = (work.grouped(own.to_arrow()) for _, own in known.group_by("question_id"))
    return {part["question_id"][0]: part["built"][0] for part in parts}


def told(question: BuiltQuestion) -> tuple[object, ...]:
    lengths = {source: (each.mean, each.std) for source, each in question.lengths.items()}
    return question.answers, question.models, question.reports, lengths, question.candidates


def test_rows_in_any_order(tmp_path: Path) -> None:
    config = prepare(tmp_path)
    built = build(config)
    table = pl.DataFrame(ROWS).with_row_index("line").sample(fraction=1.0, shuffle=True, seed=1)
    names = dict(zip((each.outline.question for each in built.questions), IDS, strict=True))
    table = table.with_columns(
        question=pl.when(pl.col("line") % 2 == 0)
        .then(pl.col("question").replace(names))
        .otherwise("question")
    )
    groups = grouped(config, table)
    for question in built.questions:
        assert told(groups[question.outline.question_id]) == told(question)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": None}, "the row with line 1800 has no answer"),
        ({"question": "?"}, r"question '\?': the row with line 1800: not the text or id"),
        ({"question": None}, "the row with line 1800: not the text or id"),
        ({"line": 7}, "the row with line 7 has the place of another row"),
        ({"line": None}, "the row with line None has no place in the order"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    config = prepare(tmp_path)
    table = pl.DataFrame(ROWS).with_row_index("line")
    row = {**table.row(7, named=True), "line": 1800, **changes}
    table = pl.concat([table, pl.DataFrame([row], schema=table.schema)])
    [error] = [each for each in grouped(config, table).values() if isinstance(each, InputError)]
    assert re.search(message, str(error)), str(error)
    if "answer" in changes or "question" in changes:
        groups = grouped(replace(config, skip_bad_lines=True), table)
        assert sorted(groups) == list(IDS)
        assert {type(each) for each in groups.values()} == {BuiltQuestion}
