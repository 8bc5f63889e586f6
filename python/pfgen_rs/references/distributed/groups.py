"""Building each question from its candidates where an engine has grouped them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, PfgenError, UnknownQuestionError
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.distributed.local_steps import built_here
from pfgen_rs.references.distributed.shard_frames import ShardSettings, candidate_columns
from pfgen_rs.references.ng_rules import AnswerRules
from pfgen_rs.references.normalise import Style
from pfgen_rs.references.outlines import Outline
from pfgen_rs.references.pool import COLUMNS
from pfgen_rs.references.writing import BuiltQuestion

__all__ = ["BUILT", "QUESTION_ID", "QuestionGroups", "first_places"]

QUESTION_ID, BUILT = "question_id", "built"
"""Columns of rows that stand for questions."""


@dataclass(frozen=True)
class QuestionGroups:
    """The work on candidates grouped by question; goes to wherever an engine has the rows."""

    config: BuildConfig
    order: str
    outlines: tuple[Outline, ...]
    asked: tuple[Outline, ...]
    style: Style
    rules: Mapping[str, AnswerRules]

    def identified(self, table: Any) -> Any:
        """Returns the rows of the questions asked for with their ids, and with "" those of unknown ones."""
        ids = {each.question_id: each.question_id for each in self.outlines}
        ids |= {each.question: each.question_id for each in self.outlines}
        fields, frame = self.config.fields, pl.DataFrame(table)
        question = pl.col(fields.question).cast(pl.String)
        identified = question.replace_strict(ids, default="", return_dtype=pl.String)
        frame = frame.with_columns(identified.fill_null("").alias(QUESTION_ID))
        if self.config.skip_bad_lines:
            frame = frame.filter(pl.col(QUESTION_ID) != "", pl.col(fields.answer).is_not_null())
        wanted = ["", *(each.question_id for each in self.asked)]
        return frame.filter(pl.col(QUESTION_ID).is_in(wanted)).to_arrow()

    def grouped(self, table: Any) -> dict[str, NDArray[np.object_]]:
        """Build the question of a table's rows; returns a row with it, or with what is wrong."""
        frame = pl.DataFrame(table)
        question_id = str(frame.get_column(QUESTION_ID)[0])
        found: BuiltQuestion | PfgenError
        try:
            frame = self._in_order(frame)
            found = self.built({each.question_id: each for each in self.asked}[question_id], frame)
        except PfgenError as error:
            found = error
        return {QUESTION_ID: _object_column(question_id), BUILT: _object_column(found)}

    def built(self, outline: Outline, frame: pl.DataFrame) -> BuiltQuestion:
        """Apply all steps to candidates in order."""
        settings = ShardSettings(self.config, outline.question_id, self.style, self.rules)
        with tempfile.TemporaryDirectory(prefix="pfgen-rs-") as folder:
            return built_here(
                outline, frame, None, self.config.steps, settings.context(Path(folder))
            )

    def empty(self) -> pl.DataFrame:
        """Returns no candidates."""
        return pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.String))

    def _in_order(self, frame: pl.DataFrame) -> pl.DataFrame:
        fields, config = self.config.fields, self.config
        frame = frame.sort(self.order)
        self._refuse_row(frame, pl.col(self.order).is_null(), "has no place in the order")
        self._refuse_row(
            frame, ~pl.col(self.order).is_first_distinct(), "has the place of another row"
        )
        if frame.get_column(QUESTION_ID)[0] == "":
            place, text = (frame.get_column(name)[0] for name in (self.order, fields.question))
            raise UnknownQuestionError(
                f"the row with {self.order} {place}: not the text or id of a configured question "
                "(set skip_bad_lines to skip such candidates)",
                question=text,
            )
        self._refuse_row(frame, pl.col(fields.answer).is_null(), "has no answer")
        return candidate_columns(frame, config)

    def _refuse_row(self, frame: pl.DataFrame, wrong: pl.Expr, problem: str) -> None:
        rows = frame.filter(wrong)
        if rows.height:
            raise InputError(
                f"the row with {self.order} {rows.get_column(self.order)[0]} {problem}"
            )


def first_places(question: str, order: str, table: Any) -> Any:
    """Returns each question of a table with its first place in the order."""
    rows = pl.DataFrame(table).select(question, order).drop_nulls()
    return rows.group_by(question).agg(pl.col(order).min()).to_arrow()


def _object_column(value: object) -> NDArray[np.object_]:
    column = np.empty(1, dtype=np.object_)
    column[0] = value
    return column
