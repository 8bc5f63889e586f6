"""Running a model on tasks: the run's folder, requests, asking an engine, and scoring the outputs.

config.json        model, prompts and parameters: one choice a folder; the last tasks, split and number
outputs.jsonl      one line an output, appended as it arrives
result.json, scores.json, samples.parquet: as `scoring` writes them
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Unpack

from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.loop import Asked, Limits, UnreadError, ask, open_requests
from pfgen_rs.ask.protocol import Answered, Details, Engine
from pfgen_rs.ask.request import Group, Messages, Request, Respondent
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import atomic, locks, run_files, source
from pfgen_rs.io.json_lines import journal_records
from pfgen_rs.io.text import counted
from pfgen_rs.llm_jp_eval import prompts, scoring
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData, files_of, item_id, read_object
from pfgen_rs.llm_jp_eval.prompts import Item, Matched, Output, Outputs, PromptSettings, items
from pfgen_rs.llm_jp_eval.registry import DEFAULT, find_profile, plain_name, typed
from pfgen_rs.llm_jp_eval.scoring import Plan

KIND = "llm-jp-eval"
OUTPUTS = "outputs.jsonl"
_KEY = ("id", "sample", "digest")
_OTHER_FOLDER = "choose another folder with --out"
_SCOPE = ("tasks", "split", "n")
"""What may differ from one command to the next in the same folder."""
_OF_PROFILE = ("shots", "temperature", "top_p")
"""What each profile has its own of."""
_DATA, _PROFILES = "data", "profiles"
_SHOWN = 20  # characters of a prompt


def default_folder(model: str) -> Path:
    """Returns the folder of a model's run if none is chosen."""
    name = model.strip("/").replace("/", "--")
    return Path("runs") / KIND / (name if name.strip(".") else f"model-{name}")


@dataclass(frozen=True, eq=False)
class TaskRun:
    """A run of a model on tasks, in a folder.

    `respondent`: its `max_tokens` is replaced by that of each task, and its sampling by what the settings
    say. Outputs count if they were made by the same prompts and parameters. `further`: what more profiles ask
    for; a request that several make alike is asked once.
    """

    folder: Path
    datas: Sequence[TaskData]
    respondent: Respondent
    settings: scoring.ScoreSettings = field(default_factory=scoring.ScoreSettings)
    further: Sequence[Plan] = ()

    @property
    def plans(self) -> list[Plan]:
        """What each profile asks for, the main one first."""
        return [Plan(self.datas, self.settings), *self.further]

    @cached_property
    def groups(self) -> list[Group]:
        """The requests for the samples, short outputs first. Raises `SettingsError`."""
        groups: dict[tuple[int, str, Respondent], dict[tuple[str, Messages], Request]] = {}
        for plan in self.plans:
            respondent, mode = self._respondent(plan), plan.settings.prompts.mode
            for item in items(plan.datas, plan.settings.n, plan.settings.prompts):
                alike = groups.setdefault((item.max_tokens, mode, respondent), {})
                alike.setdefault((item.id, item.messages), _request(item))
        ordered = sorted(groups.items(), key=lambda each: each[0][0])
        return [
            Group(replace(respondent, max_tokens=most), list(alike.values()), mode)
            for (most, mode, respondent), alike in ordered
        ]

    def _respondent(self, plan: Plan) -> Respondent:
        given = plan.settings.sampling or {}
        own: dict[str, Any] = {key: given[key] for key in ("temperature", "top_p") if key in given}
        return replace(self.respondent, **own)

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

    def profiles(self) -> list[str]:
        """Returns the profiles that the folder, which is open, was ever asked for. Raises `InputError`."""
        return [*_read_config(self.folder)[_PROFILES]]

    def ask(self, engine: Engine, **limits: Unpack[Limits]) -> Asked:
        """Ask for the outputs and keep them in the folder, which is open; nothing is asked twice.

        `limits` are those of `ask.loop.ask`, and so is what this raises.
        """
        with self.journal() as journal:
            return ask(journal, self.groups, engine, _read_task_output, **limits)

    def score(self, *, allow_missing: bool = False) -> tuple[dict[str, Any], scoring.Evaluation]:
        """Score the outputs and write `result.json`, `scores.json` and `samples.parquet`.

        Returns the content of `scores.json`, and the evaluation of the main profile. Raises
        `MissingOutputsError` unless missing outputs are allowed, `InputError` and `OutputError`.
        """
        found = self._outputs()
        matched = [self._matched(plan, found) for plan in self.plans]
        config = {**_read_config(self.folder), "signature": scoring.signature(*matched[0][0])}
        return scored(matched, self.folder, config, allow_missing=allow_missing)

    def _matched(self, plan: Plan, found: Outputs) -> tuple[Plan, Matched]:
        """Returns a plan with what was sent, and its outputs."""
        respondent, settings = self._respondent(plan), plan.settings

        def is_answer(item: Item, output: Output) -> bool:
            asked = replace(respondent, max_tokens=item.max_tokens)
            return output.digest == _request(item).digest(asked)

        own = prompts.matching_outputs(plan.datas, found, settings.n, settings.prompts, is_answer)
        sent = _sent(respondent.identity(), own)
        return Plan(plan.datas, replace(settings, sampling=sent)), own

    def _outputs(self) -> Outputs:
        """Returns the outputs of all requests, of each the last one first. Raises `InputError`."""
        found = Outputs(self.folder / OUTPUTS)
        for record in journal_records(found.path):
            match record:
                case {"id": str(name), "output": str(text)}:
                    own = found.by_task.setdefault(name.split("/")[0], {}).setdefault(name, [])
                    own.insert(0, prompts.output_of(record, text, found.path))
                case _:
                    raise InputError("a record lacks 'id' or 'output'", path=found.path)
        return found

    def _config(self) -> dict[str, Any]:
        """Returns what `config.json` says."""
        identity = self._respondent(self.plans[0]).identity()
        stated = asdict(self.settings.prompts)
        del stated["intro"]
        files = (files_of(data) for plan in self.plans for data in plan.datas)
        return {
            "kind": KIND,
            "model": identity["model"],
            "engine": self.respondent.engine,
            "tasks": list(dict.fromkeys(plain_name(data.task) for data in self.datas)),
            "split": self.datas[0].split,
            "n": self.settings.n,
            **stated,
            "parameters": {name: identity[name] for name in scoring.SAMPLING},
            _PROFILES: {plan.settings.profile: self._asked(plan) for plan in self.plans},
            _DATA: {name: digest for each in files for name, digest in each.items()},
        }

    def _asked(self, plan: Plan) -> dict[str, Any]:
        """Returns how a profile asks, as `config.json` has it."""
        own, shots = self._respondent(plan), list(plan.settings.runs) or plan.settings.prompts.shots
        return {"shots": shots, "temperature": own.temperature, "top_p": own.top_p}


def _request(item: Item) -> Request:
    about = {"id": item.id, "task": item.task, "split": item.split, "index": item.index}
    return Request(item.id, item.messages, about)


def scored(
    matched: Sequence[tuple[Plan, Matched]],
    folder: Path | None,
    config: Mapping[str, Any] | None = None,
    *,
    allow_missing: bool = False,
) -> tuple[dict[str, Any], scoring.Evaluation]:
    """Score outputs by all plans, and write results with `config` to a folder, if there is one.

    Returns the content of `scores.json`, and the evaluation of the main plan. Raises as `scoring.evaluate`
    and `scoring.write_results` do.
    """
    evaluations = {
        plan.settings.profile: scoring.evaluate(
            plan.datas,
            own.texts,
            plan.settings.profile,
            allow_missing=allow_missing,
            finish_reasons=own.reasons,
        )
        for plan, own in matched
    }
    (datas, main), *further = (plan for plan, _ in matched)
    if folder is None:
        record = scoring.scores_record(datas, evaluations, main, further)
    else:
        config = config or scoring.score_config(datas, main)
        record = scoring.write_results(folder, datas, evaluations, config, main, further)
    return record, evaluations[main.profile]


def plans_of_outputs(found: Outputs, plans: Sequence[Plan]) -> list[tuple[Plan, Matched]]:
    """Returns plans with what outputs and their files say of how they were made, and outputs by task.

    The prompts of the settings are those that were chosen. Raises `SettingsError` if outputs had others, and
    `InputError` for outputs that answer no prompt of the samples, or that do not say which of several prompts
    they answer.
    """
    every = [each.model for t in found.by_task.values() for own in t.values() for each in own]
    if len(models := sorted({str(each.get("model")) for each in every if each})) > 1:
        told = f"has outputs of several models ({', '.join(models)}): score those of each apart"
        raise InputError(told, path=found.path)
    made = [_matched_plan(found, plan) for plan in plans]
    right = {name for _, matched in made for name, _ in matched.answered}
    wrong = [each for _, matched in made for each in matched.wrong if each[0].id not in right]
    if wrong:
        number = counted(len({item.id for item, _ in wrong}), "output")
        files = {k: v for plan in plans for data in plan.datas for k, v in files_of(data).items()}
        first = f"{wrong[0][0].id}{_difference(*wrong[0], found.config.get(_DATA), files)}"
        made_for = found.config.get("profile", plans[0].settings.profile)
        if made_for not in {plan.settings.profile for plan in plans}:
            first += f"; these prompts are of the profile {made_for}"
        raise InputError(
            f"by their digests, {number} answered prompts other than those here, the first is {first}: "
            "choose --data, --shots and the other options of prompts as they were",
            path=found.path,
        )
    for plan, matched in made:
        names = [plain_name(data.task) for data in plan.datas]
        if len(set(names)) < len(names) and not matched.says_prompts:
            problem = f"{plan.settings.profile} has several prompts for a sample"
            raise InputError(f"{problem}: outputs need the digests of theirs", path=found.path)
    return made


def _difference(item: Item, output: Output, stated: Any, files: Mapping[str, str]) -> str:
    """Returns what differs from what an output answered, as far as that is known."""
    for name, digest in files.items():
        if isinstance(stated, dict) and stated.get(name, digest) != digest:
            return f", made from another file {name}"
    if output.asked is None:
        return ""
    prompt, limit = output.asked
    if limit != item.max_tokens:
        return f", which had at most {limit!r:.20} new tokens, not {item.max_tokens} (--max-tokens)"
    both = enumerate(zip(prompt, item.prompt, strict=False))
    place = next((n for n, (a, b) in both if a != b), min(len(prompt), len(item.prompt)))
    one, other = (text[place : place + _SHOWN] for text in (prompt, item.prompt))
    return f", which says {one!r} at character {place}, not {other!r}"


def _matched_plan(found: Outputs, plan: Plan) -> tuple[Plan, Matched]:
    """Returns a plan with the settings that its outputs were made with, and these outputs."""
    datas, settings = plan
    for data in datas:
        ids = {item_id(data.task, data.split, index) for index in range(len(data.samples))}
        for name in found.by_task.get(plain_name(data.task), {}):
            if name not in ids:
                there = f"{data.task} has {counted(len(ids), 'sample')} in the split {data.split}"
                problem = f"unknown id {name!r}: {there}, counted from 0"
                raise InputError(problem, path=found.path)
    given = settings.prompts
    known, sampling = _stated(found, settings)
    usual = find_profile(settings.profile).shots[0] if given.shots is None else given.shots
    made = known or replace(given, shots=usual)
    chat = made.chat or found.inference.get("apply_chat_template", False)
    made = replace(made, intro=given.intro, chat=chat)
    for name, value in asdict(given).items():
        if known and value is not False and value not in (None, own := getattr(made, name)):
            told = f"{name}={own!r:.60}, not {value!r:.60}"
            raise SettingsError(f"{found.path}: the run was made with {told}: leave the option out")
    top_p = {**(settings.sampling or {}), **sampling}.get("top_p")
    is_answer = partial(prompts.answers, top_p=top_p)
    matched = prompts.matching_outputs(datas, found, settings.n, made, is_answer)
    if known is None and not matched.says_prompts:
        return Plan(datas, replace(settings, sampling=None)), matched
    models = [output.model for _, output in matched.answered if output.digest]
    if models and None not in models:
        alike = {name: {(each or {}).get(name) for each in models} for name in scoring.SAMPLING}
        sent = {name: values.pop() for name, values in alike.items() if len(values) == 1}
        sampling = {**sent, "top_p": top_p, **sampling}  # with which their digests were made
    own = replace(settings, prompts=made, inference=found.inference)
    return Plan(datas, replace(own, sampling=_sent(sampling, matched))), matched


def _stated(
    found: Outputs, settings: scoring.ScoreSettings
) -> tuple[PromptSettings | None, dict[str, float | None]]:
    """Returns how outputs for a profile were made, as far as their files say so: prompts, and sampling.

    Profiles that a run was not asked for have the prompts of its main one, unless they have chats.
    """
    config: Mapping[str, Any] = {**found.inference, **found.config}
    if found.path.name == OUTPUTS:
        try:
            config = _read_config(found.path.parent)
            asked = config[_PROFILES].get(settings.profile, {})
            config = {**config, **config["parameters"], **asked}
            if not asked and find_profile(settings.profile).chat:
                config = {}  # its prompts are its own, and digests say whether outputs answer them
        except InputError:  # of another program
            pass
    numbers = [n for n in scoring.SAMPLING if isinstance(config.get(n, ""), int | float | None)]
    sampling = {name: config[name] for name in numbers}
    names = [each.name for each in fields(PromptSettings) if each.name != "intro"]
    stated = {name: config[name] for name in names if config.get(name) is not None}
    match stated.get("shots"):
        case None:
            return None, sampling
        case [first, *_]:  # each task has its own
            stated["shots"] = first
    return typed(PromptSettings, {"chat": settings.prompts.chat, **stated}), sampling


def _sent(sampling: Mapping[str, float | None], matched: Matched) -> dict[str, float | None]:
    """Returns the sampling parameters, of which those that a server refused were left to it."""
    left_out = {name for _, output in matched.answered for name in output.left_out}
    known = [name for name in scoring.SAMPLING if name in sampling]
    return {name: None if name in left_out else sampling[name] for name in known}


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
        _check_same(folder, old, new)
        new[_DATA] = {**old[_DATA], **new[_DATA]}
        new[_PROFILES] = {**old[_PROFILES], **new[_PROFILES]}
        if new == old:
            return
    elif (folder / OUTPUTS).exists():
        raise SettingsError(f"{folder}: has outputs but no config.json: {_OTHER_FOLDER}")
    content = json.dumps(new, ensure_ascii=False, indent=1)
    atomic.write_atomic(folder / run_files.CONFIG, content.encode("utf-8", "surrogatepass") + b"\n")


def _check_same(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    for name, asked in new[_PROFILES].items():
        before = {**_compared(old), **old[_PROFILES].get(name, asked)}
        now = {**_compared(new), **asked}
        for key in dict.fromkeys([*now, *before]):
            if before.get(key) != now.get(key):
                told = f"{key}={before.get(key)!r:.60}, now {now.get(key)!r:.60}"
                place = f"{folder}, profile {name}"
                raise SettingsError(f"{place}: was started with {told}: {_OTHER_FOLDER}")
    for name, digest in new[_DATA].items():
        if old[_DATA].get(name, digest) != digest:
            raise SettingsError(f"{folder}: was started with another file {name}: {_OTHER_FOLDER}")


def _compared(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that must be the same throughout a folder."""
    found = {**config, **config["parameters"]}
    apart = (*_SCOPE, *_OF_PROFILE, _DATA, _PROFILES, "parameters")
    return {key: found[key] for key in found if key not in apart}


def _read_config(folder: Path) -> dict[str, Any]:
    """Returns what a run's `config.json` says. Raises `InputError` if it is missing or of another kind."""
    config, _ = read_object(folder / run_files.CONFIG)
    match config:
        case {"kind": "llm-jp-eval", "parameters": {}, "data": {}, "profiles": dict(asked)} if all(
            isinstance(each, dict) for each in asked.values()
        ):
            return config
        case {"kind": "llm-jp-eval", "parameters": dict(sampling), "data": {}} if (
            _PROFILES not in config
        ):
            every = {**config, **sampling}
            known = {DEFAULT: {key: every.get(key) for key in _OF_PROFILE}}
            return {**config, _PROFILES: known}  # of versions that had one profile a folder
    raise InputError("is not the folder of a run of llm-jp-eval", path=folder)
