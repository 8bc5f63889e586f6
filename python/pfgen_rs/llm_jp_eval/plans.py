"""What profiles ask for: their tasks with the numbers of examples, and tasks that are made of others."""

from collections.abc import Sequence
from dataclasses import replace

from pfgen_rs.llm_jp_eval.evaluation_files import Sample, TaskData
from pfgen_rs.llm_jp_eval.profiles import INCORRECT, SYMBOLS, VARIANTS
from pfgen_rs.llm_jp_eval.registry import find_profile, of_task
from pfgen_rs.llm_jp_eval.scoring import Plan, ScoreSettings

_SYMBOL_INSTRUCTION = (
    "与えられた質問と選択肢から、最も適切な回答を選択してください。なお、回答には選択肢の記号（例：$）のみを含め、"
    "他には何も含めないことを厳守してください。"
)
_INCORRECT_INSTRUCTION = (
    "与えられた質問と選択肢から、不正解となる回答を全て選択してください。なお、回答には選択肢の記号（例：A）のみを含め、"
    "回答となるアルファベットはカンマ区切りで出力してください。他には何も含めないことを厳守してください。"
)
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
    for data in [*datas, *_variants(profile.tasks, datas)]:
        limit = of_task(profile.task_limits, data.task, None) if settings.n is None else None
        own = replace(data, samples=data.samples[:limit])
        numbers = runs if shots is not None else of_task(profile.task_shots, data.task, runs)
        for number in numbers:
            if several:
                found.append(replace(own, task=f"{data.task}@{number}", num_few_shots=number))
            else:
                found.append(own if numbers == runs else replace(own, num_few_shots=number))
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


def _variants(tasks: Sequence[str], datas: Sequence[TaskData]) -> list[TaskData]:
    """Returns the variants of jmmlu that a profile has and no file of its own gives."""
    there = {data.task: data for data in datas}
    names = [name for name in VARIANTS if name in tasks and name not in there]
    return [variant(there["jmmlu"], name) for name in names] if "jmmlu" in there else []


def variant(data: TaskData, name: str) -> TaskData:
    """Returns jmmlu's data as that of a variant, whose answers must say the same.

    `jmmlu_SymbolChoice`: other labels; `jmmlu_IncorrectChoice`: all wrong labels are to be named.
    """
    symbols = name == "jmmlu_SymbolChoice"
    change = _with_symbols if symbols else _with_incorrect
    return replace(
        data,
        task=name,
        instruction=_SYMBOL_INSTRUCTION if symbols else _INCORRECT_INSTRUCTION,
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
