"""Running a model on tasks: the run's folder, requests, asking an engine, and scoring the outputs.

config.json        model, prompts and parameters: one choice a folder; the last tasks, split and number
outputs.jsonl      one line an output, appended as it arrives
result.json, scores.json, samples.parquet: as `scoring` writes them
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from pfgen_rs.ask.journal import Journal, journal_records
from pfgen_rs.ask.loop import Asked, Limits, UnreadError, ask, open_requests
from pfgen_rs.ask.protocol import Answered, Details, Engine
from pfgen_rs.ask.request import Group, Request, Respondent
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import atomic, locks, run_files, source
from pfgen_rs.llm_jp_eval import scoring
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData, files_of, item_id, read_object, used
from pfgen_rs.llm_jp_eval.prompts import SHOTS, Outputs, PromptSettings, check_digests, items

KIND = "llm-jp-eval"
OUTPUTS = "outputs.jsonl"
_KEY = ("id", "sample", "digest")
_OTHER_FOLDER = "choose another folder with --out"
_SCOPE = ("tasks", "split", "n")
"""What may differ from one command to the next in the same folder."""
_DATA = "data"


def default_folder(model: str) -> Path:
    """Returns the folder of a model's run if none is chosen."""
    name = model.strip("/").replace("/", "--")
    return Path("runs") / KIND / (name if name.strip(".") else f"model-{name}")


@dataclass(frozen=True, eq=False)
class TaskRun:
    """A run of a model on tasks, in a folder.

    `respondent`: its `max_tokens` is replaced by that of each task. Outputs count if they were made by the
    same prompts and parameters.
    """

    folder: Path
    datas: Sequence[TaskData]
    respondent: Respondent
    settings: scoring.ScoreSettings = field(default_factory=scoring.ScoreSettings)

    @cached_property
    def groups(self) -> list[Group]:
        """The requests for the samples, short outputs first. Raises `SettingsError`."""
        groups: dict[int, list[Request]] = {}
        for item in items(self.datas, self.settings.n, self.settings.prompts):
            about = {"id": item.id, "task": item.task, "split": item.split, "index": item.index}
            request = Request(item.id, (("user", item.prompt),), about)
            groups.setdefault(item.max_tokens, []).append(request)
        return [Group(replace(self.respondent, max_tokens=n), groups[n]) for n in sorted(groups)]

    def journal(self) -> Journal:
        """Returns the journal of the outputs, which is not open yet."""
        return Journal(self.folder / OUTPUTS, _KEY)

    def open(self) -> int:
        """Create or continue the folder; returns the number of requests that it does not answer yet.

        Tasks, split and number of samples may differ from those before. Raises `SettingsError` with what else
        does, `InputError` if the folder is of another kind, and `OutputError`.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise atomic.writing_failed(self.folder, error) from error
        with locks.locked(self.folder):
            _write_config(self.folder, self._config())
        return sum(len(group.requests) for group in open_requests(self.journal(), self.groups))

    def ask(self, engine: Engine, **limits: Unpack[Limits]) -> Asked:
        """Ask for the outputs and keep them in the folder, which is open; nothing is asked twice.

        `limits` are those of `ask.loop.ask`, and so is what this raises.
        """
        mode = "chat" if self.settings.prompts.chat else "completion"
        with self.journal() as journal:
            return ask(journal, self.groups, engine, _read_task_output, mode=mode, **limits)

    def score(self, *, allow_missing: bool = False) -> tuple[dict[str, Any], scoring.Evaluation]:
        """Score the outputs and write `result.json`, `scores.json` and `samples.parquet`.

        Returns the content of `scores.json`, and the evaluation of the chosen profile. Raises
        `MissingOutputsError` unless missing outputs are allowed, `InputError` and `OutputError`.
        """
        found = self._outputs()
        outputs = {
            data.task: [
                found.get(item_id(data.task, data.split, index), {}).get("output")
                for index in range(used(data, self.settings.n))
            ]
            for data in self.datas
        }
        evaluations = scoring.evaluate_profiles(self.datas, outputs, allow_missing=allow_missing)
        left_out = {str(name) for record in found.values() for name in record.get("left_out") or ()}
        sent = _sent(self.respondent.identity(), left_out)
        settings = replace(self.settings, sampling=sent)
        config = {**_read_config(self.folder), "signature": scoring.signature(self.datas, settings)}
        record = scoring.write_results(self.folder, self.datas, evaluations, config, settings)
        return record, evaluations[settings.profile]

    def _outputs(self) -> dict[str, Mapping[str, Any]]:
        """Returns the last record of each request that has one, by id. Raises `InputError`."""
        digests = {
            r.subject: r.digest(group.respondent) for group in self.groups for r in group.requests
        }
        found: dict[str, Mapping[str, Any]] = {}
        for record in journal_records(self.folder / OUTPUTS):
            name = record.get("id")
            if not isinstance(name, str) or not isinstance(record.get("output"), str):
                raise InputError("a record lacks 'id' or 'output'", path=self.folder / OUTPUTS)
            if digests.get(name) == record.get("digest"):
                found[name] = record
        return found

    def _config(self) -> dict[str, Any]:
        """Returns what `config.json` says."""
        identity = self.respondent.identity()
        model = identity.pop("model")
        del identity["max_tokens"], identity["logprobs"]
        return {
            "kind": KIND,
            "model": model,
            "engine": self.respondent.engine,
            "tasks": [data.task for data in self.datas],
            "split": self.datas[0].split,
            "n": self.settings.n,
            **asdict(self.settings.prompts),
            "parameters": identity,
            _DATA: {name: digest for data in self.datas for name, digest in files_of(data).items()},
        }


def settings_of_outputs(
    found: Outputs, datas: Sequence[TaskData], settings: scoring.ScoreSettings
) -> scoring.ScoreSettings:
    """Returns settings with what outputs and their run's folder say of how they were made.

    `settings.prompts` as far as they were chosen. Raises `SettingsError` if a run had others, and
    `InputError` for outputs that answer other prompts than those of the samples (`check_digests`).
    """
    known, given = _settings_of_run(found.path), settings.prompts
    if known is not None:
        prompts, sampling = known
        check_chosen_prompts(found.path, given, prompts)
        check_digests(datas, found, settings.n, prompts, sampling["top_p"])
    else:
        prompts = given if given.shots is not None else replace(given, shots=SHOTS)
        if not check_digests(datas, found, settings.n, prompts):
            return replace(settings, sampling=None)
        sampling = _sampling_of_records(found)
    left_out = {name for made in found.made.values() for name in made.left_out}
    return replace(settings, prompts=prompts, sampling=_sent(sampling, left_out))


def check_chosen_prompts(path: Path, chosen: PromptSettings, made: PromptSettings) -> None:
    """Raise `SettingsError` if settings of prompts were chosen that are not those of outputs."""
    for name, value in asdict(chosen).items():
        own = getattr(made, name)
        if value not in (None, False, own):
            raise SettingsError(
                f"{path}: the run was made with {name}={own!r:.60}, not {value!r:.60}: leave the option out"
            )


def _sampling_of_records(found: Outputs) -> dict[str, float | None]:
    """Returns the sampling that all outputs have according to their records, whose digests are right."""
    models = [made.model for made in found.made.values()]
    if None in models:
        return {}
    alike = {name: {(model or {}).get(name) for model in models} for name in scoring.SAMPLING}
    return {name: values.pop() for name, values in alike.items() if len(values) == 1}


def _sent(sampling: Mapping[str, float | None], left_out: set[str]) -> dict[str, float | None]:
    """Returns the sampling parameters, of which those that a server refused were left to it."""
    return {
        name: None if name in left_out else sampling[name]
        for name in scoring.SAMPLING
        if name in sampling
    }


def _read_task_output(_: Request, answered: Answered) -> Mapping[str, Any]:
    details = answered.details or Details()
    if source.has_lone_surrogate(answered.text):
        raise UnreadError("the output contains a lone surrogate, which is not valid Unicode")
    return {"output": answered.text, "finish_reason": details.finish_reason}


# The configuration of a run.


def _write_config(folder: Path, new: dict[str, Any]) -> None:
    """Write what a folder's `config.json` says, or check that it says the same."""
    if (folder / run_files.CONFIG).exists():
        old = _read_config(folder)
        before, now = _compared(old), _compared(new)
        for key in dict.fromkeys([*now, *before]):
            if before.get(key) != now.get(key):
                told = f"{key}={before.get(key)!r:.60}, now {now.get(key)!r:.60}"
                raise SettingsError(f"{folder}: was started with {told}: {_OTHER_FOLDER}")
        for name, digest in new[_DATA].items():
            if old[_DATA].get(name, digest) != digest:
                raise SettingsError(
                    f"{folder}: was started with another file {name}: {_OTHER_FOLDER}"
                )
        new[_DATA] = {**old[_DATA], **new[_DATA]}
        if new == old:
            return
    elif (folder / OUTPUTS).exists():
        raise SettingsError(f"{folder}: has outputs but no config.json: {_OTHER_FOLDER}")
    content = json.dumps(new, ensure_ascii=False, indent=1)
    atomic.write_atomic(folder / run_files.CONFIG, content.encode("utf-8", "surrogatepass") + b"\n")


def _compared(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that must be the same throughout a folder."""
    found = {**config, **config["parameters"]}
    return {key: found[key] for key in found if key not in (*_SCOPE, _DATA, "parameters")}


def _read_config(folder: Path) -> dict[str, Any]:
    """Returns what a run's `config.json` says. Raises `InputError` if it is missing or of another kind."""
    config, _ = read_object(folder / run_files.CONFIG)
    parts = (config.get("parameters"), config.get(_DATA))
    if config.get("kind") != KIND or not all(isinstance(part, dict) for part in parts):
        raise InputError("is not the folder of a run of llm-jp-eval", path=folder)
    return config


def _settings_of_run(path: Path) -> tuple[PromptSettings, dict[str, float | None]] | None:
    """Returns how a run's outputs were made: prompts, and sampling as `ScoreSettings` has it.

    `path`: a file of outputs; `None` if it is not in the folder of a run.
    """
    if path.name != OUTPUTS:
        return None
    try:
        config = _read_config(path.parent)
    except InputError:  # of another program
        return None
    found: dict[str, Any] = {each.name: config.get(each.name) for each in fields(PromptSettings)}
    sampling = {name: config["parameters"].get(name) for name in scoring.SAMPLING}
    numbers = found["shots"], *(value for value in sampling.values() if value is not None)
    if not all(isinstance(value, int | float) for value in numbers):
        return None
    return PromptSettings(**found), sampling
