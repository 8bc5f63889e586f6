"""A run's folder: how the model is asked, the journal of its outputs, and their scores.

config.json        model, prompts and parameters: one choice a folder; the last tasks, split and number
outputs.jsonl      one line an output, appended as it arrives
result.json, scores.json, samples.parquet: as `results` writes them
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from pfgen_rs.ask.journal import Journal, journal_records
from pfgen_rs.ask.request import Respondent
from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.atomic import write_atomic, writing_failed
from pfgen_rs.io.lines import parse_line
from pfgen_rs.io.locks import locked
from pfgen_rs.io.run_files import CONFIG
from pfgen_rs.llm_jp_eval.data import TaskData
from pfgen_rs.llm_jp_eval.results import SAMPLING, PromptSettings

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


def run_config(
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


def open_run_folder(path: str | os.PathLike[str], config: Mapping[str, Any]) -> None:
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
            old = read_run_config(folder)
            _check_settings(folder, old, new)
            new[_DATA] = {**old[_DATA], **new[_DATA]}
            if new == old:
                return
        elif (folder / OUTPUTS).exists():
            raise SettingsError(f"{folder}: has outputs but no config.json: choose another folder")
        content = json.dumps(new, ensure_ascii=False, indent=1)
        write_atomic(folder / CONFIG, content.encode("utf-8", "surrogatepass") + b"\n")


def read_run_config(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns what a run's `config.json` says. Raises `InputError` if it is missing or of another kind."""
    path = Path(folder) / CONFIG
    try:
        config = parse_line(path.read_bytes())
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except InputError as error:
        raise InputError(error.problem, path=path) from None
    if config.get("kind") != KIND or not isinstance(config.get(_DATA), dict):
        raise InputError("is not the folder of a run of llm-jp-eval", path=Path(folder))
    return config


def stored_outputs(
    folder: str | os.PathLike[str], digests: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Returns the outputs of a folder by id; with `digests` by id, those of the requests with these digests.

    Of several outputs with an id, the last counts. Raises `InputError` with file and line.
    """
    return {name: text for name, text, _ in _stored_records(folder, digests)}


def left_out_parameters(
    folder: str | os.PathLike[str], digests: Mapping[str, str]
) -> frozenset[str]:
    """Returns the parameters that a server refused, so that some of these outputs were made without."""
    records = _stored_records(folder, digests)
    return frozenset(str(name) for *_, record in records for name in record.get("left_out") or ())


def _stored_records(
    folder: str | os.PathLike[str], digests: Mapping[str, str] | None
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield ids, outputs and records."""
    for record in journal_records(Path(folder) / OUTPUTS):
        name, text = record.get("id"), record.get("output")
        if not isinstance(name, str) or not isinstance(text, str):
            raise InputError("a record lacks 'id' or 'output'", path=Path(folder) / OUTPUTS)
        if digests is None or digests.get(name) == record.get("digest"):
            yield name, text, record


def settings_of_run(path: Path) -> tuple[PromptSettings, dict[str, float | None]] | None:
    """Returns how a run's outputs were made: prompts, and sampling as `ScoreSettings` has it.

    `path`: a file of outputs; `None` if it is not in the folder of a run.
    """
    if path.name != OUTPUTS or not (path.parent / CONFIG).is_file():
        return None
    try:
        config = read_run_config(path.parent)
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
