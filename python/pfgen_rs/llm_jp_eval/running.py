"""Running a model on tasks: requests, asking an engine, and scoring the outputs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pfgen_rs.ask.costs import Budget
from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.loop import Asked, AskingProgress, UnreadError, ask
from pfgen_rs.ask.protocol import Answered, Details, Engine
from pfgen_rs.ask.request import Request, Respondent
from pfgen_rs.errors import SettingsError
from pfgen_rs.io.source import has_lone_surrogate
from pfgen_rs.llm_jp_eval.data import TaskData, item_id, used
from pfgen_rs.llm_jp_eval.outputs import Outputs, check_digests, items
from pfgen_rs.llm_jp_eval.prompts import SHOTS
from pfgen_rs.llm_jp_eval.results import (
    SAMPLING,
    PromptSettings,
    ScoreSettings,
    signature,
    write_results,
)
from pfgen_rs.llm_jp_eval.run_folder import (
    left_out_parameters,
    open_run_folder,
    output_journal,
    read_run_config,
    run_config,
    settings_of_run,
    stored_outputs,
)
from pfgen_rs.llm_jp_eval.scoring import Evaluation, evaluate_variants

__all__ = [
    "Group",
    "ScoredRun",
    "open_run",
    "request_groups",
    "run_tasks",
    "score_run",
    "settings_of_outputs",
]

BudgetOf = Callable[[Respondent], Budget | None]


@dataclass(frozen=True)
class Group:
    """Requests with the same maximum number of new tokens, which is the respondent's."""

    respondent: Respondent
    requests: list[Request] = field(default_factory=list)


@dataclass(frozen=True)
class ScoredRun:
    """The scores of a run: the content of `scores.json`, and the evaluation of the chosen variant."""

    record: Mapping[str, Any]
    evaluation: Evaluation


def request_groups(
    datas: Sequence[TaskData], respondent: Respondent, n: int | None, prompts: PromptSettings
) -> list[Group]:
    """Returns the requests for the first `n` samples of each task (`None`: all), short outputs first.

    Raises `SettingsError` for prompts that cannot be made.
    """
    groups: dict[int, Group] = {}
    for item in items(datas, n, prompts):
        limit = item.max_tokens
        if limit not in groups:
            groups[limit] = Group(replace(respondent, max_tokens=limit))
        about = {"id": item.id, "task": item.task, "split": item.split, "index": item.index}
        request = Request(item.id, (("user", item.prompt),), about)
        groups[limit].requests.append(request)
    return [groups[limit] for limit in sorted(groups)]


def open_run(
    folder: str | os.PathLike[str],
    datas: Sequence[TaskData],
    respondent: Respondent,
    n: int | None,
    prompts: PromptSettings,
) -> int:
    """Create or continue a run's folder; returns the number of requests that it does not answer yet.

    Raises `SettingsError` with what differs if the folder was started with other settings, and `OutputError`.
    """
    open_run_folder(folder, run_config(datas, respondent, n, prompts))
    journal = output_journal(folder)
    answered = journal.stored_keys()
    return sum(
        _request_key(journal, request, group.respondent) not in answered
        for group in request_groups(datas, respondent, n, prompts)
        for request in group.requests
    )


def run_tasks(
    folder: str | os.PathLike[str],
    datas: Sequence[TaskData],
    engine: Engine,
    respondent: Respondent,
    *,
    n: int | None = None,
    prompts: PromptSettings | None = None,
    budget_of: BudgetOf | None = None,
    keep_going: bool = False,
    progress: AskingProgress | None = None,
) -> Asked:
    """Ask a model for the outputs of tasks and keep them in a folder (see `run_folder`).

    `respondent`: its `max_tokens` is replaced by that of each task. `n`: number of samples a task, `None` for
    all. `budget_of` returns the budget that is left when a group of requests begins. Nothing is asked twice,
    not even by several processes. Raises `SettingsError`, and what `ask` raises.
    """
    made = prompts or PromptSettings()
    open_run_folder(folder, run_config(datas, respondent, n, made))
    groups = request_groups(datas, respondent, n, made)
    found = Asked(0, 0, 0)
    with output_journal(folder) as journal:
        told = _GroupProgress(journal, groups, progress)
        for number, group in enumerate(groups):
            asked = ask(
                journal,
                group.requests,
                engine,
                group.respondent,
                _read_task_output,
                mode="chat" if made.chat else "completion",
                budget=None if budget_of is None else budget_of(group.respondent),
                keep_going=keep_going,
                progress=told.of(number),
            )
            told.end(number, asked)
            found = _joined_asked(found, asked)
        journal.refresh()  # other processes may have answered what they were working on
        stored = _stored_requests(journal, groups)
    open_ones = found.total - sum(stored)
    return replace(found, stored=sum(stored), elsewhere=min(found.elsewhere, open_ones))


def score_run(
    folder: str | os.PathLike[str],
    datas: Sequence[TaskData],
    respondent: Respondent,
    settings: ScoreSettings,
    *,
    allow_missing: bool = False,
) -> ScoredRun:
    """Score the outputs of a folder and write `result.json`, `scores.json` and `samples.parquet` there.

    Outputs count if they were made by the same prompts and parameters. Raises `MissingOutputsError` unless
    missing outputs are allowed, `InputError` and `OutputError`.
    """
    groups = request_groups(datas, respondent, settings.n, settings.prompts)
    digests = {r.subject: r.digest(group.respondent) for group in groups for r in group.requests}
    texts = stored_outputs(folder, digests)
    outputs = {
        data.task: [
            texts.get(item_id(data.task, data.split, index))
            for index in range(used(data, settings.n))
        ]
        for data in datas
    }
    evaluations = evaluate_variants(datas, outputs, allow_missing=allow_missing)
    left_out = left_out_parameters(folder, digests)
    settings = replace(settings, sampling=_sent(respondent.identity(), left_out))
    config = {**read_run_config(folder), "signature": signature(datas, settings)}
    record = write_results(folder, datas, evaluations, config, settings)
    return ScoredRun(record, evaluations[settings.variant])


def settings_of_outputs(
    found: Outputs, datas: Sequence[TaskData], settings: ScoreSettings
) -> ScoreSettings:
    """Returns settings with what outputs and their run's folder say of how they were made.

    `settings.prompts` as far as they were chosen. Raises `SettingsError` if a run had others, and
    `InputError` for outputs that answer other prompts than those of the samples (`check_digests`).
    """
    known, given = settings_of_run(found.path), settings.prompts
    if known is not None:
        prompts, sampling = known
        _check_chosen_prompts(found.path, given, prompts)
        check_digests(datas, found, settings.n, prompts, sampling["top_p"])
    else:
        prompts = given if given.shots is not None else replace(given, shots=SHOTS)
        if not check_digests(datas, found, settings.n, prompts):
            return replace(settings, sampling=None)
        sampling = _sampling_of_records(found)
    left_out = frozenset(name for made in found.made.values() for name in made.left_out)
    return replace(settings, prompts=prompts, sampling=_sent(sampling, left_out))


def _check_chosen_prompts(path: Path, chosen: PromptSettings, made: PromptSettings) -> None:
    for name, value in chosen.record().items():
        own = made.record()[name]
        if value not in (None, False, own):
            raise SettingsError(
                f"{path}: the run was made with {name}={own!r:.60}, not {value!r:.60}: leave the option out"
            )


def _sampling_of_records(found: Outputs) -> dict[str, float | None]:
    """Returns the sampling that all outputs have according to their records, whose digests are right."""
    models = [made.model for made in found.made.values()]
    if None in models:
        return {}
    alike = {name: {(model or {}).get(name) for model in models} for name in SAMPLING}
    return {name: values.pop() for name, values in alike.items() if len(values) == 1}


def _sent(
    sampling: Mapping[str, float | None], left_out: frozenset[str]
) -> dict[str, float | None]:
    """Returns the sampling parameters, of which those that a server refused were left to it."""
    return {
        name: None if name in left_out else sampling[name] for name in SAMPLING if name in sampling
    }


def _read_task_output(_: Request, answered: Answered) -> Mapping[str, Any]:
    details = answered.details or Details()
    if has_lone_surrogate(answered.text):
        raise UnreadError("the output contains a lone surrogate, which is not valid Unicode")
    return {"output": answered.text, "finish_reason": details.finish_reason}


def _joined_asked(one: Asked, other: Asked) -> Asked:
    return Asked(
        one.total + other.total,
        one.stored + other.stored,
        one.new + other.new,
        [*one.failures, *other.failures],
        one.elsewhere + other.elsewhere,
        one.unaffordable + other.unaffordable,
        one.spent if other.spent is None else other.spent,
    )


class _GroupProgress:
    """Progress over all groups: what the current one reports, and the state of the others."""

    def __init__(
        self, journal: Journal, groups: Sequence[Group], report: AskingProgress | None
    ) -> None:
        self._report = report
        self._done = _stored_requests(journal, groups)
        self._total = sum(len(group.requests) for group in groups)
        self._failed = 0

    def of(self, number: int) -> AskingProgress | None:
        """Returns the progress function for a group."""
        report = self._report
        if report is None:
            return None

        def tell(done: int, _: int, rate: float, failed: int) -> None:
            self._done[number] = done
            report(sum(self._done), self._total, rate, self._failed + failed)

        return tell

    def end(self, number: int, asked: Asked) -> None:
        """Take note of a group's end."""
        self._done[number] = asked.stored
        self._failed += len(asked.failures)


def _stored_requests(journal: Journal, groups: Sequence[Group]) -> list[int]:
    """Returns the number of requests of each group that the open journal answers."""
    return [
        sum(_request_key(journal, r, group.respondent) in journal for r in group.requests)
        for group in groups
    ]


def _request_key(journal: Journal, request: Request, respondent: Respondent) -> tuple[Any, ...]:
    digest = request.digest(respondent)
    return journal.key({**request.about, "sample": request.sample, "digest": digest})
