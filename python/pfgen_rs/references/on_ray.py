"""Building on Ray: each question in a task of its own, with the result of `build`."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pfgen_rs import InputError, PfgenError, SettingsError, UnknownQuestionError, extras
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.references import pipeline, steps
from pfgen_rs.references.built import Built, finish_set, refuse_foreign
from pfgen_rs.references.candidates import Input, asked
from pfgen_rs.references.checkpoints import CANDIDATES, Checkpoints
from pfgen_rs.references.config import BuildConfig, Outline, read_outlines
from pfgen_rs.references.ranking import ranked
from pfgen_rs.references.sorting import SortedPool

_ONE_THREAD = {"env_vars": {"POLARS_MAX_THREADS": "1"}}
_MEMORY = 1 << 30  # bytes for the steps of a question, besides its candidates
_ID, _BUILT = "question_id", "built"


def build_on_ray(
    dataset: Any,
    config: BuildConfig,
    *,
    outlines: Sequence[Outline] | None = None,
    inputs: Sequence[Input] = (),
    **options: Any,
) -> Built:
    """Build the set described by `config` from a dataset of Ray: question files are those of `build`.

    `dataset`: candidates, with the columns that `config.fields` names (source and model may be missing);
    `config.candidates` is not read. The candidates of a question must fit into the memory of a task.
    `outlines` replaces the configuration's `questions`. `inputs`: what the provenance says of the input
    files; with those of `build`, it has the same bytes, too. `options`: those of Ray's tasks, such as
    `num_cpus` (default: 1) or `memory`. A task whose worker dies runs again.

    With `skip_bad_lines`, rows without an answer or with an unknown question are left out.

    Raises `SettingsError` for the unit `token`, `InputError` for missing columns and unusable rows, and the
    errors of `build`.
    """
    extras.needed("ray.data", "ray")
    _refuse(config)
    refuse_foreign(config.path(config.out), Path(), config.only)
    fields, known = config.fields, list(dataset.schema().names)
    for name in (fields.question, fields.answer):
        if name not in known:
            raise InputError(f"no column {name!r}: expected one of {', '.join(known)}")
    names = (fields.question, fields.answer, fields.source, fields.model)
    dataset = dataset.select_columns([name for name in dict.fromkeys(names) if name in known])
    outlines = _outlines(dataset, config, outlines)
    wanted = asked(outlines, config.only)
    prepared = config.prepared()
    pipeline.refuse_unknown(config, prepared, wanted)
    work = QuestionGroups(config, outlines, wanted, prepared)
    own = {"num_cpus": 1, "runtime_env": _ONE_THREAD, **options}
    if "ranking" in config.steps:
        scores = _results(dataset, replace(work, scoring=True), own)
        prepared = {**prepared, "ranking": ranked(scores.values())}
        work = replace(work, prepared=prepared)
    found = _results(dataset, work, own)
    nothing = pl.DataFrame(schema=dict.fromkeys(steps.COLUMNS, pl.String))
    built = [found.get(each.question_id) or work.built(each, nothing) for each in wanted]
    return finish_set(config, prepared, inputs, built)


def _results(dataset: Any, work: "QuestionGroups", options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the result of each question that has candidates; raises the error of the first that has one."""
    rows = (
        dataset.map_batches(work.identified, batch_format="pyarrow", **options)
        .groupby(_ID, num_partitions=len(work.asked) + 1)
        .map_groups(work.grouped, batch_format="pyarrow", **options)
        .take_all()
    )
    found = {row[_ID]: row[_BUILT] for row in rows}
    for _, each in sorted(found.items()):
        if isinstance(each, PfgenError):
            raise each
    if not found:
        raise InputError("no candidates")
    return found


def _refuse(config: BuildConfig) -> None:
    if config.unit == "token":
        raise SettingsError("unit 'token': build on one machine, or use another unit")


def _outlines(
    dataset: Any, config: BuildConfig, outlines: Sequence[Outline] | None
) -> Sequence[Outline]:
    """Returns the outlines; without any, questions are numbered in the order of their texts."""
    if outlines is None and config.questions:
        outlines = read_outlines(config.path(config.questions))
    if outlines is not None:
        return outlines
    question = config.fields.question
    distinct = partial(_distinct, question)
    rows = dataset.map_batches(distinct, batch_format="pyarrow").take_all()
    texts = sorted({row[question] for row in rows})
    return [Outline(f"Q{number:02}", text) for number, text in enumerate(texts, 1)]


def _distinct(question: str, table: Any) -> Any:
    """Returns each question of a table once."""
    return pl.DataFrame(table).select(question).drop_nulls().unique().to_arrow()


@dataclass(frozen=True)
class QuestionGroups:
    """The work on candidates grouped by question, which Ray sends to where it has the rows.

    `prepared`: what is in the files that the configuration names, which are not everywhere. `scoring`: only
    score the models, in the first of two rounds.
    """

    config: BuildConfig
    outlines: Sequence[Outline]
    asked: Sequence[Outline]
    prepared: Mapping[str, Any]
    scoring: bool = False

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
        row: dict[str, object] = {_ID: str(frame.get_column(_ID)[0])}
        try:
            candidates = self._candidates(frame)
            [outline] = [each for each in self.asked if each.question_id == row[_ID]]
            row[_BUILT] = self.built(outline, candidates)
        except PfgenError as error:
            row[_BUILT] = error
        columns = {name: np.empty(1, dtype=np.object_) for name in row}
        for name, value in row.items():
            columns[name][0] = value
        return columns

    def built(self, outline: Outline, frame: pl.DataFrame) -> Any:
        """Apply all steps to candidates (columns `COLUMNS`), or only score the models."""
        with tempfile.TemporaryDirectory(prefix="pfgen-rs-") as folder:
            checkpoints = Checkpoints(Path(folder))
            pool = SortedPool(checkpoints.pool(CANDIDATES, ""))
            pool.add(frame)
            pool.finish(_MEMORY)
            build = pipeline.Build(self.config, self.prepared, _MEMORY, threads=1)
            process = build.scored if self.scoring else build.stepped
            return process(outline, frame.height, "", checkpoints)

    def _candidates(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Returns the columns `COLUMNS` of rows, filled as a build on one machine fills them."""
        fields, source = self.config.fields, self.config.source
        if frame.get_column(_ID)[0] == "":
            raise UnknownQuestionError(
                "not the text or id of a configured question "
                "(set skip_bad_lines to skip such candidates)",
                question=min(
                    frame.get_column(fields.question).drop_nulls().to_list(), default=None
                ),
            )
        if missing := frame.get_column(fields.answer).null_count():
            raise InputError(
                f"question {frame[_ID][0]}: {missing:,} of the candidates without an answer"
            )

        def named(name: str, default: str) -> pl.Expr:
            if name not in frame.columns:
                return pl.lit(default, dtype=pl.String)
            return pl.col(name).cast(pl.String).fill_null(default)

        own = named(fields.source, source) if self.config.per_source else pl.lit(source, pl.String)
        return frame.select(answer=pl.col(fields.answer), source=own, model=named(fields.model, ""))
