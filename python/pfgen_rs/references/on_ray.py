"""Building on Ray: each question in a task of its own, with the result of `build`."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, PfgenError, SettingsError, UnknownQuestionError
from pfgen_rs.extras import needed
from pfgen_rs.references.built import Built, BuiltQuestion, finish_set, refuse_foreign
from pfgen_rs.references.candidates import Gathered, Input
from pfgen_rs.references.checkpoints import CANDIDATES, Checkpoints
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.outlines import Outline, numbered_outlines, read_outlines
from pfgen_rs.references.pipeline import Build, refuse_unknown_rules
from pfgen_rs.references.pool import COLUMNS, PoolWriter

_LOG = logging.getLogger("pfgen_rs.references")
_ONE_THREAD = {"env_vars": {"POLARS_MAX_THREADS": "1"}}
_MEMORY = 1 << 30  # bytes for the steps of a question, besides its candidates
_ID, _BUILT = "question_id", "built"


def build_on_ray(
    dataset: Any,
    config: BuildConfig,
    *,
    order: str,
    outlines: Sequence[Outline] | None = None,
    inputs: Sequence[Input] = (),
    **options: Any,
) -> Built:
    """Build the set described by `config` from a dataset of Ray: question files are those of `build`.

    `dataset`: candidates, with the columns that `config.fields` names (source and model may be missing);
    `config.candidates` is not read. `order`: a column of distinct values that sort as the candidates' lines
    would; datasets have no order of their own. The candidates of a question must fit into the memory of a
    task. `outlines` replaces the configuration's `questions`. `inputs`: what the provenance says of the
    input files; with those of `build`, it has the same bytes, too. `options`: those of Ray's tasks, such as
    `num_cpus` (default: 1) or `memory`. A task whose worker dies runs again.

    With `skip_bad_lines`, rows without an answer or with an unknown question are left out.

    Raises `SettingsError` for a selection by `seconds` and for the unit `token`, `InputError` for missing
    columns and unusable rows, and the errors of `build`.
    """
    needed("ray.data", "ray")
    _refuse(config)
    refuse_foreign(config.path(config.out), Path(), config.only)
    dataset = _with_known_columns(dataset, config, order)
    outlines = _outlines(dataset, config, order, outlines)
    whole = Gathered([], [(outline, 0) for outline in outlines])
    asked = [outline for outline, _ in whole.narrowed(config.only, outlines).questions]
    settings = config.prepared()
    refuse_unknown_rules(config, settings, [each.question_id for each in asked])
    work = QuestionGroups(config, order, tuple(outlines), tuple(asked), settings)
    questions = _grouped(dataset, work, options)
    if not questions:
        raise InputError("no candidates")
    built = [questions.get(each.question_id) or work.built(each, work.empty()) for each in asked]
    result = finish_set(config, settings["normalise"].digest, inputs, built)
    for warning in result.warnings:
        _LOG.warning(warning)
    return result


def _refuse(config: BuildConfig) -> None:
    if "select" in config.steps and config.select.seconds is not None:
        raise SettingsError(
            "select.seconds: a budget in seconds gives different answers on different machines: "
            "set select.proposals"
        )
    if config.unit == "token":
        raise SettingsError("unit 'token': build on one machine, or use another unit")


def _with_known_columns(dataset: Any, config: BuildConfig, order: str) -> Any:
    fields, known = config.fields, list(dataset.schema().names)
    for name in (fields.question, fields.answer, order):
        if name not in known:
            raise InputError(f"no column {name!r}: expected one of {', '.join(known)}")
    names = (fields.question, fields.answer, fields.source, fields.model, order)
    return dataset.select_columns([name for name in dict.fromkeys(names) if name in known])


def _outlines(
    dataset: Any, config: BuildConfig, order: str, outlines: Sequence[Outline] | None
) -> Sequence[Outline]:
    """Returns the outlines; without any, questions are numbered in order of appearance."""
    if outlines is None and config.questions:
        outlines = read_outlines(config.path(config.questions))
    if outlines is not None:
        return outlines
    question = config.fields.question
    first = partial(_first_places, question, order)
    rows = dataset.map_batches(first, batch_format="pyarrow").take_all()
    rows.sort(key=lambda row: row[order])
    return numbered_outlines(dict.fromkeys(row[question] for row in rows))


def _first_places(question: str, order: str, table: Any) -> Any:
    """Returns each question of a table with its first place in the order."""
    rows = pl.DataFrame(table).select(question, order).drop_nulls()
    return rows.group_by(question).agg(pl.col(order).min()).to_arrow()


def _grouped(
    dataset: Any, work: QuestionGroups, options: Mapping[str, Any]
) -> dict[str, BuiltQuestion]:
    """Build the questions that have candidates; raises the error of the first one that cannot be built."""
    own = {"num_cpus": 1, "runtime_env": _ONE_THREAD, **options}
    rows = (
        dataset.map_batches(work.identified, batch_format="pyarrow", **own)
        .groupby(_ID, num_partitions=len(work.asked) + 1)
        .map_groups(work.grouped, batch_format="pyarrow", **own)
        .take_all()
    )
    built = {row[_ID]: row[_BUILT] for row in rows}
    for _, each in sorted(built.items()):
        if isinstance(each, PfgenError):
            raise each
    return built


@dataclass(frozen=True)
class QuestionGroups:
    """The work on candidates grouped by question, which Ray sends to where it has the rows."""

    config: BuildConfig
    order: str
    outlines: tuple[Outline, ...]
    asked: tuple[Outline, ...]
    settings: Mapping[str, Any]

    def identified(self, table: Any) -> Any:
        """Returns the rows of the questions asked for with their ids, and with "" those of unknown ones."""
        ids = {each.question_id: each.question_id for each in self.outlines}
        ids |= {each.question: each.question_id for each in self.outlines}
        fields, frame = self.config.fields, pl.DataFrame(table)
        question = pl.col(fields.question).cast(pl.String)
        identified = question.replace_strict(ids, default="", return_dtype=pl.String)
        frame = frame.with_columns(identified.fill_null("").alias(_ID))
        if self.config.skip_bad_lines:
            frame = frame.filter(pl.col(_ID) != "", pl.col(fields.answer).is_not_null())
        wanted = ["", *(each.question_id for each in self.asked)]
        return frame.filter(pl.col(_ID).is_in(wanted)).to_arrow()

    def grouped(self, table: Any) -> dict[str, NDArray[np.object_]]:
        """Build the question of a table's rows; returns a row with it, or with what is wrong."""
        frame = pl.DataFrame(table)
        question_id = str(frame.get_column(_ID)[0])
        built: BuiltQuestion | PfgenError
        try:
            frame = self._in_order(frame)
            built = self.built({each.question_id: each for each in self.asked}[question_id], frame)
        except PfgenError as error:
            built = error
        return {_ID: _object_column(question_id), _BUILT: _object_column(built)}

    def built(self, outline: Outline, frame: pl.DataFrame) -> BuiltQuestion:
        """Apply all steps to candidates (columns `COLUMNS`) in order."""
        with tempfile.TemporaryDirectory(prefix="pfgen-rs-") as folder:
            checkpoints = Checkpoints(Path(folder))
            writer = PoolWriter(checkpoints.pool(CANDIDATES, ""))
            writer.add(frame)
            writer.flush()
            build = Build(self.config, _MEMORY, threads=1, progress=None)
            return build.stepped(outline, frame.height, "", checkpoints)

    def empty(self) -> pl.DataFrame:
        """Returns no candidates."""
        return pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.String))

    def _in_order(self, frame: pl.DataFrame) -> pl.DataFrame:
        fields = self.config.fields
        frame = frame.sort(self.order)
        place = pl.col(self.order)
        self._refuse_row(frame, place.is_null(), "has no place in the order")
        self._refuse_row(frame, ~place.is_first_distinct(), "has the place of another row")
        if frame.get_column(_ID)[0] == "":
            first, text = (frame.get_column(name)[0] for name in (self.order, fields.question))
            raise UnknownQuestionError(
                f"the row with {self.order} {first}: not the text or id of a configured question "
                "(set skip_bad_lines to skip such candidates)",
                question=text,
            )
        self._refuse_row(frame, pl.col(fields.answer).is_null(), "has no answer")
        return self._candidates(frame)

    def _refuse_row(self, frame: pl.DataFrame, wrong: pl.Expr, problem: str) -> None:
        rows = frame.filter(wrong)
        if rows.height:
            place = rows.get_column(self.order)[0]
            raise InputError(f"the row with {self.order} {place} {problem}")

    def _candidates(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Returns the columns `COLUMNS`, filled as a build on one machine fills them."""
        fields, source = self.config.fields, self.config.source

        def named(name: str, default: str) -> pl.Expr:
            if name not in frame.columns:
                return pl.lit(default, dtype=pl.String)
            return pl.col(name).cast(pl.String).fill_null(default)

        own = named(fields.source, source) if self.config.per_source else pl.lit(source, pl.String)
        return frame.select(answer=pl.col(fields.answer), source=own, model=named(fields.model, ""))


def _object_column(value: object) -> NDArray[np.object_]:
    column = np.empty(1, dtype=np.object_)
    column[0] = value
    return column
