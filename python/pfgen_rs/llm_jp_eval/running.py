"""Running a model on tasks: the run's folder, requests, asking an engine, and scoring the outputs.

config.json        model, prompts and parameters: one choice a folder; the last tasks, split and number
outputs.jsonl      one line an output, appended as it arrives
result.json, scores.json, samples.parquet: as `results` writes them
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Unpack

from pfgen_rs.ask.journal import Journal, journal_records
from pfgen_rs.ask.loop import Asked, Limits, UnreadError, ask, open_requests
from pfgen_rs.ask.protocol import Answered, Details, Engine
from pfgen_rs.ask.request import Group, Request, Respondent
from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.atomic import write_atomic, writing_failed
from pfgen_rs.io.lines import parse_line
from pfgen_rs.io.locks import locked
from pfgen_rs.io.run_files import CONFIG
from pfgen_rs.io.source import has_lone_surrogate
from pfgen_rs.llm_jp_eval.data import TaskData, item_id, used
from pfgen_rs.llm_jp_eval.outputs import Outputs, check_digests
from pfgen_rs.llm_jp_eval.prompts import SHOTS, PromptSettings, items
from pfgen_rs.llm_jp_eval.results import SAMPLING, ScoreSettings, signature, write_results
from pfgen_rs.llm_jp_eval.scoring import Evaluation, evaluate_variants

KIND = "llm-jp-eval"
OUTPUTS = "outputs.jsonl"
_KEY = ("id", "sample", "digest")
_SCOPE = ("tasks", "split", "n")
"""What may differ from one command to the next in the same folder."""
_DATA = "data"


def default_folder(model: str) -> Path:
    """Returns the folder of a model's run if none is chosen."""
    name = model.strip("/").replace("/", "--")
    return Path("runs") / KIND / (name if name.strip(".") else f"model-{name}")


def output_journal(folder: str | os.PathLike[str]) -> Journal:
    """Returns the journal of a folder's outputs, which is not open yet."""
    return Journal(Path(folder) / OUTPUTS, _KEY)


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
    _open_folder(folder, _config(datas, respondent, n, prompts))
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
    **limits: Unpack[Limits],
) -> Asked:
    """Ask a model for the outputs of tasks and keep them in the run's folder.

    `respondent`: its `max_tokens` is replaced by that of each task. `n`: number of samples a task, `None` for
    all. `limits` are those of `ask`. Nothing is asked twice, not even by several processes. Raises
    `SettingsError`, and what `ask` raises.
    """
    made = prompts or PromptSettings()
    _open_folder(folder, _config(datas, respondent, n, made))
    groups = request_groups(datas, respondent, n, made)
    with output_journal(folder) as journal:
        return ask(
            journal,
            groups,
            engine,
            _read_task_output,
            mode="chat" if made.chat else "completion",
            **limits,
        )


def score_run(
    folder: str | os.PathLike[str],
    datas: Sequence[TaskData],
    respondent: Respondent,
    settings: ScoreSettings,
    *,
    allow_missing: bool = False,
) -> tuple[dict[str, Any], Evaluation]:
    """Score the outputs of a folder and write `result.json`, `scores.json` and `samples.parquet` there.

    Outputs count if they were made by the same prompts and parameters. Returns the content of `scores.json`,
    and the evaluation of the chosen variant. Raises `MissingOutputsError` unless missing outputs are allowed,
    `InputError` and `OutputError`.
    """
    groups = request_groups(datas, respondent, settings.n, settings.prompts)
    digests = {r.subject: r.digest(group.respondent) for group in groups for r in group.requests}
    found = stored_outputs(folder, digests)
    outputs = {
        data.task: [
            found.get(item_id(data.task, data.split, index), {}).get("output")
            for index in range(used(data, settings.n))
        ]
        for data in datas
    }
    evaluations = evaluate_variants(datas, outputs, allow_missing=allow_missing)
    left_out = {str(name) for record in found.values() for name in record.get("left_out") or ()}
    settings = replace(settings, sampling=_sent(respondent.identity(), left_out))
    config = {**_read_config(Path(folder)), "signature": signature(datas, settings)}
    record = write_results(folder, datas, evaluations, config, settings)
    return record, evaluations[settings.variant]


def stored_outputs(
    folder: str | os.PathLike[str], digests: Mapping[str, str] | None = None
) -> dict[str, Mapping[str, Any]]:
    """Returns the records of a folder's outputs by id; with `digests` by id, those of these requests.

    Of several records with an id, the last counts. Raises `InputError` with file and line.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for record in journal_records(Path(folder) / OUTPUTS):
        name = record.get("id")
        if not isinstance(name, str) or not isinstance(record.get("output"), str):
            raise InputError("a record lacks 'id' or 'output'", path=Path(folder) / OUTPUTS)
        if digests is None or digests.get(name) == record.get("digest"):
            found[name] = record
    return found


def settings_of_outputs(
    found: Outputs, datas: Sequence[TaskData], settings: ScoreSettings
) -> ScoreSettings:
    """Returns settings with what outputs and their run's folder say of how they were made.

    `settings.prompts` as far as they were chosen. Raises `SettingsError` if a run had others, and
    `InputError` for outputs that answer other prompts than those of the samples (`check_digests`).
    """
    known, given = _settings_of_run(found.path), settings.prompts
    if known is not None:
        prompts, sampling = known
        _check_chosen_prompts(found.path, given, prompts)
        check_digests(datas, found, settings.n, prompts, sampling["top_p"])
    else:
        prompts = given if given.shots is not None else replace(given, shots=SHOTS)
        if not check_digests(datas, found, settings.n, prompts):
            return replace(settings, sampling=None)
        sampling = _sampling_of_records(found)
    left_out = {name for made in found.made.values() for name in made.left_out}
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


def _sent(sampling: Mapping[str, float | None], left_out: set[str]) -> dict[str, float | None]:
    """Returns the sampling parameters, of which those that a server refused were left to it."""
    return {
        name: None if name in left_out else sampling[name] for name in SAMPLING if name in sampling
    }


def _read_task_output(_: Request, answered: Answered) -> Mapping[str, Any]:
    details = answered.details or Details()
    if has_lone_surrogate(answered.text):
        raise UnreadError("the output contains a lone surrogate, which is not valid Unicode")
    return {"output": answered.text, "finish_reason": details.finish_reason}


# The configuration of a run.


def _config(
    datas: Sequence[TaskData], respondent: Respondent, n: int | None, prompts: PromptSettings
) -> dict[str, Any]:
    """Returns what a run's `config.json` says. `n`: number of samples a task, `None` for all."""
    identity = respondent.identity()
    model = identity.pop("model")
    del identity["max_tokens"], identity["logprobs"]
    return {
        "kind": KIND,
        "model": model,
        "engine": respondent.engine,
        "tasks": [data.task for data in datas],
        "split": datas[0].split,
        "n": n,
        **prompts.record(),
        "parameters": identity,
        _DATA: {
            name: digest
            for data in datas
            for name, digest in (
                (f"{data.split}/{data.task}.json", data.sha256),
                (f"train/{data.task}.json", data.shots_sha256),
            )
        },
    }


def _open_folder(path: str | os.PathLike[str], config: Mapping[str, Any]) -> None:
    """Create a run's folder, or continue one with the same settings and data.

    Tasks, split and number of samples may differ. Raises `SettingsError` with what else does, `InputError` if
    the folder is of another kind, and `OutputError`.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise writing_failed(folder, error) from error
    with locked(folder):
        new = dict(config)
        if (folder / CONFIG).exists():
            old = _read_config(folder)
            _check_settings(folder, old, new)
            new[_DATA] = {**old[_DATA], **new[_DATA]}
            if new == old:
                return
        elif (folder / OUTPUTS).exists():
            raise SettingsError(f"{folder}: has outputs but no config.json: choose another folder")
        content = json.dumps(new, ensure_ascii=False, indent=1)
        write_atomic(folder / CONFIG, content.encode("utf-8", "surrogatepass") + b"\n")


def _read_config(folder: Path) -> dict[str, Any]:
    """Returns what a run's `config.json` says. Raises `InputError` if it is missing or of another kind."""
    path = folder / CONFIG
    try:
        config = parse_line(path.read_bytes())
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except InputError as error:
        raise InputError(error.problem, path=path) from None
    if config.get("kind") != KIND or not isinstance(config.get(_DATA), dict):
        raise InputError("is not the folder of a run of llm-jp-eval", path=folder)
    return config


def _settings_of_run(path: Path) -> tuple[PromptSettings, dict[str, float | None]] | None:
    """Returns how a run's outputs were made: prompts, and sampling as `ScoreSettings` has it.

    `path`: a file of outputs; `None` if it is not in the folder of a run.
    """
    if path.name != OUTPUTS or not (path.parent / CONFIG).is_file():
        return None
    try:
        config = _read_config(path.parent)
    except InputError:  # of another program
        return None
    found: dict[str, Any] = {each.name: config.get(each.name) for each in fields(PromptSettings)}
    sampling = dict(config.get("parameters") or {})
    sampling = {name: sampling.get(name) for name in SAMPLING}
    numbers = found["shots"], *(value for value in sampling.values() if value is not None)
    if not all(isinstance(value, int | float) for value in numbers):
        return None
    return PromptSettings(**found), sampling


def _check_settings(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    for key in dict.fromkeys([*new, *old]):
        if key not in (*_SCOPE, _DATA) and old.get(key) != new.get(key):
            raise SettingsError(
                f"{folder}: was started with {_setting(key, old, new)}: choose another folder with "
                "--out"
            )
    for name, digest in new[_DATA].items():
        if old[_DATA].get(name, digest) != digest:
            raise SettingsError(
                f"{folder}: was started with another file {name}: choose another folder with --out"
            )


def _setting(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    before, now = old.get(key), new.get(key)
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        changed = next(n for n in dict.fromkeys([*now, *before]) if before.get(n) != now.get(n))
        return _setting(changed, before, now)
    return f"{key}={before!r:.60}, now {now!r:.60}"
