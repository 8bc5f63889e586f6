"""What profiles ask for: their tasks with the numbers of examples, and tasks that are made of others."""

import os
from collections.abc import Sequence
from dataclasses import replace

from pfgen_rs.llm_jp_eval.evaluation_files import Sample, TaskData, read_tasks, without_file
from pfgen_rs.llm_jp_eval.profiles import INCORRECT, SYMBOLS, VARIANTS
from pfgen_rs.llm_jp_eval.prompts import Outputs
from pfgen_rs.llm_jp_eval.registry import chosen_tasks, find_profile, find_task, of_task
from pfgen_rs.llm_jp_eval.scoring import Plan, ScoreSettings

_LONGEST = 5  # characters of three labels and two commas


def plan(datas: Sequence[TaskData], settings: ScoreSettings, shots: int | None = None) -> Plan:
    """Returns what the profile of `settings` asks for, given the data of its tasks.

    `shots`: number of examples instead of the profile's. Settings get the profile's number of samples and its
    sampling, unless they name others, and its chat; if they do not know the number of examples, it stays so.
    A task that is asked with several numbers of examples is there several times, as `jamp@0` and `jamp@2`.
    """
    profile = find_profile(settings.profile)
    runs = profile.shots if shots is None else (shots,)
    several = len(profile.shots) > 1
    found = []
    for data in datas:
        limit = of_task(profile.task_limits, data.task, None) if settings.n is None else None
        own = replace(data, samples=data.samples[:limit])
        numbers = runs if shots is not None else of_task(profile.task_shots, data.task, runs)
        for number in numbers:
            name = f"{data.task}@{number}" if several else data.task
            stated = number if several or numbers != runs else data.num_few_shots
            found.append(replace(own, task=name, num_few_shots=stated))
    return Plan(
        found,
        replace(
            settings,
            n=profile.limit if settings.n is None else settings.n,
            prompts=replace(
                settings.prompts,
                shots=runs[0] if several or settings.prompts.shots is not None else None,
                intro=profile.chat,
            ),
            sampling={**profile.sampling, **(settings.sampling or {})},
            runs=runs if several else (),
        ),
    )


def profile_data(
    folder: str | os.PathLike[str] | None,
    profile: str,
    names: Sequence[str],
    split: str,
    shots: int | None,
    read: dict[tuple[str, str], TaskData],
) -> tuple[list[TaskData], list[str]]:
    """Returns the data of a profile's tasks, or of those named, and the tasks that have none.

    `shots`: as `read_task` takes it. `read`: what is read already, by task and split; gets what is new.
    Raises as `read_tasks` does, and `InputError` for a named task that has no data.
    """
    chosen = [task.name for task in chosen_tasks(names, profile)]
    without = without_file(folder, chosen, split)
    there = [t for t in chosen if t not in without or (t in names and t not in VARIANTS)]
    new = [task for task in there if (task, split) not in read]
    if new or not there:
        for data in read_tasks(folder, new, split, shots):
            read[data.task, split] = data
    datas = with_variants([read[task, split] for task in there], without)
    found = {data.task for data in datas}
    return datas, [task for task in without if task not in found]


def answered_tasks(found: Outputs, profile: str) -> list[str]:
    """Returns the tasks that have outputs: those of the profile and one's own, or any if there are none."""
    tasks = find_profile(profile).tasks
    own = [name for name in found.by_task if name in tasks or find_task(name).is_own]
    return own or list(found.by_task)


def with_variants(datas: Sequence[TaskData], lacking: Sequence[str]) -> list[TaskData]:
    """Returns data with what can be made of it for tasks that lack data: the variants of jmmlu."""
    jmmlu = [data for data in datas if data.task == "jmmlu"]
    names = [name for name in VARIANTS if name in lacking]
    return [*datas, *(variant(data, name) for data in jmmlu for name in names)]


def variant(data: TaskData, name: str) -> TaskData:
    """Returns jmmlu's data as that of a variant, whose answers must say the same.

    `jmmlu_SymbolChoice`: other labels; `jmmlu_IncorrectChoice`: all wrong labels are to be named.
    """
    symbols = name == "jmmlu_SymbolChoice"
    change = _with_symbols if symbols else _with_incorrect
    return replace(
        data,
        task=name,
        instruction=find_task(name).instruction or data.instruction,
        output_length=data.output_length * (1 if symbols else _LONGEST),
        samples=tuple(map(change, data.samples)),
        shots=tuple(map(change, data.shots)),
    )


def _with_symbols(sample: Sample) -> Sample:
    text, output = sample.input, sample.output
    for letter, symbol in SYMBOLS.items():
        output = output.replace(letter, symbol)
        for before in ("選択肢：", ","):
            text = text.replace(f"{before}{letter}.", f"{before}{symbol}.")
    return Sample(text, output)


def _with_incorrect(sample: Sample) -> Sample:
    return Sample(sample.input, INCORRECT.get(sample.output, sample.output))
