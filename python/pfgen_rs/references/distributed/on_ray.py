"""Building on Ray: each question in a task of its own, or the shards of one question."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, PfgenError, SettingsError
from pfgen_rs.extras import needed
from pfgen_rs.references import provenance
from pfgen_rs.references.candidates import Gathered, Input
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.distributed.groups import (
    BUILT,
    QUESTION_ID,
    QuestionGroups,
    first_places,
)
from pfgen_rs.references.distributed.question import refuse_seconds
from pfgen_rs.references.finishing import (
    Built,
    configured_rules,
    configured_style,
    finish_set,
    refuse_unknown_rules,
)
from pfgen_rs.references.outlines import Outline, numbered_outlines, read_outlines
from pfgen_rs.references.writing import BuiltQuestion

__all__ = ["RayTasks", "build_on_ray"]

_LOG = logging.getLogger("pfgen_rs.references")
_EXTRA = "ray"
_ONE_THREAD = {"env_vars": {"POLARS_MAX_THREADS": "1"}}


class RayTasks:
    """Calls functions in tasks of Ray; handles are its object references.

    A task whose worker dies runs again with the same arguments, which nothing changes. `options`: those of
    Ray's tasks, such as `num_cpus` (default: 1) or `memory`. Raises `PfgenError` without Ray.
    """

    def __init__(self, **options: Any) -> None:
        needed("ray", _EXTRA)
        self._ray: Any = import_module("ray")
        self._options = {"num_cpus": 1, "runtime_env": _ONE_THREAD, **options}

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Start a task."""
        return self._ray.remote(**self._options)(function).remote(*arguments)

    def run_parts(self, parts: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Start a task that returns a tuple."""
        if parts == 1:
            return [self.run(_only_part_of_task, function, *arguments)]
        remote = self._ray.remote(**self._options, num_returns=parts)(function)
        return list(remote.remote(*arguments))

    def results(self, handles: Iterable[Any]) -> list[Any]:
        """Wait for values."""
        try:
            return list(self._ray.get(list(handles)))
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, PfgenError):
                raise error.cause from None
            raise


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
    task: for more, see `build_question`. `outlines` replaces the configuration's `questions`. `inputs`: what
    the provenance says of the input files; with those of `build`, it has the same bytes, too.
    `options`: those of Ray's tasks, such as `num_cpus` (default: 1) or `memory`.

    With `skip_bad_lines`, rows without an answer or with an unknown question are left out.

    Raises `SettingsError` for a selection by `seconds` and for the unit `token`, `InputError` for missing
    columns and unusable rows, and the errors of `build`.
    """
    needed("ray.data", _EXTRA)
    refuse_seconds(config)
    if config.unit == "token":
        raise SettingsError("unit 'token': build on one machine, or use another unit")
    provenance.refuse_foreign(config.path(config.out), Path(), config.only)
    dataset = _with_known_columns(dataset, config, order)
    outlines = _ray_outlines(dataset, config, order, outlines)
    rules, style = configured_rules(config), configured_style(config)
    asked = [outline for outline, _ in _gathered_for_ray(config, outlines)]
    refuse_unknown_rules(config, rules, asked)
    work = QuestionGroups(config, order, tuple(outlines), tuple(asked), style, rules)
    found = _grouped_on_ray(dataset, work, options)
    if not found:
        raise InputError("no candidates")
    built = [found.get(each.question_id) or work.built(each, work.empty()) for each in asked]
    result = finish_set(config, style, inputs, built)
    for warning in result.warnings:
        _LOG.warning(warning)
    return result


def _grouped_on_ray(
    dataset: Any, work: QuestionGroups, options: Mapping[str, Any]
) -> dict[str, BuiltQuestion]:
    """Build the questions that have candidates; raises the error of the first one that cannot be built."""
    own = {"num_cpus": 1, "runtime_env": _ONE_THREAD, **options}
    rows = (
        dataset.map_batches(work.identified, batch_format="pyarrow", **own)
        .groupby(QUESTION_ID, num_partitions=len(work.asked) + 1)
        .map_groups(work.grouped, batch_format="pyarrow", **own)
        .take_all()
    )
    found = {row[QUESTION_ID]: row[BUILT] for row in rows}
    for _, each in sorted(found.items()):
        if isinstance(each, PfgenError):
            raise each
    return found


def _with_known_columns(dataset: Any, config: BuildConfig, order: str) -> Any:
    fields, known = config.fields, list(dataset.schema().names)
    for name in (fields.question, fields.answer, order):
        if name not in known:
            raise InputError(f"no column {name!r}: expected one of {', '.join(known)}")
    names = (fields.question, fields.answer, fields.source, fields.model, order)
    return dataset.select_columns([name for name in dict.fromkeys(names) if name in known])


def _ray_outlines(
    dataset: Any, config: BuildConfig, order: str, outlines: Sequence[Outline] | None
) -> Sequence[Outline]:
    """Returns the outlines; without any, questions are numbered in order of appearance."""
    if outlines is None and config.questions:
        outlines = read_outlines(config.path(config.questions))
    if outlines is not None:
        return outlines
    question = config.fields.question
    first = partial(first_places, question, order)
    rows = dataset.map_batches(first, batch_format="pyarrow").take_all()
    rows.sort(key=lambda row: row[order])
    return numbered_outlines(dict.fromkeys(row[question] for row in rows))


def _gathered_for_ray(
    config: BuildConfig, outlines: Sequence[Outline]
) -> list[tuple[Outline, int]]:
    whole = Gathered([], [(outline, 0) for outline in outlines])
    return whole.narrowed(config.only, outlines).questions


def _only_part_of_task(function: Callable[..., Any], *arguments: Any) -> Any:
    (part,) = function(*arguments)
    return part
