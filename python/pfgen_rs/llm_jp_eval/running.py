"""Running a model on tasks: requests, asking an engine, and scoring the outputs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pfgen_rs.ask.costs import Budget
from pfgen_rs.ask.loop import Asked, AskingProgress, UnreadError, ask_groups, open_requests
from pfgen_rs.ask.protocol import Answered, Details, Engine
from pfgen_rs.ask.request import Group, Request, Respondent
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

BudgetOf = Callable[[Respondent], Budget | None]


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
    groups: dict[int, list[Request]] = {}
    for item in items(datas, n, prompts):
        about = {"id": item.id, "task": item.task, "split": item.split, "index": item.index}
        request = Request(item.id, (("user", item.prompt),), about)
        groups.setdefault(item.max_tokens, []).append(request)
    return [Group(replace(respondent, max_tokens=limit), groups[limit]) for limit in sorted(groups)]


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
    groups = request_groups(datas, respondent, n, prompts)
    return sum(len(group.requests) for group in open_requests(output_journal(folder), groups))


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
    with output_journal(folder) as journal:
        return ask_groups(
            journal,
            groups,
            engine,
            _read_task_output,
            mode="chat" if made.chat else "completion",
            budget_of=budget_of,
            keep_going=keep_going,
            progress=progress,
        )


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
