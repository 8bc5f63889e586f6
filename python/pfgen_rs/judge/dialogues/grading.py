"""Judges grade answers in dialogues: one rating per answer, with a prompt that fits its turn and category."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.ask.costs import Budget
from pfgen_rs.ask.loop import Asked, AskingProgress, ask
from pfgen_rs.ask.protocol import Engine
from pfgen_rs.ask.request import Request
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.judge.dialogues.answering import Item
from pfgen_rs.judge.dialogues.grades import (
    add_digests,
    add_version,
    export_judgments,
    grade_journal,
)
from pfgen_rs.judge.dialogues.mt_bench import (
    REFERENCE_CATEGORIES,
    ModelAnswers,
)
from pfgen_rs.judge.grading import read_grading
from pfgen_rs.judge.prompts import Prompt, built_in_prompts, read_prompts
from pfgen_rs.judge.requests import Judge, write_folder_config

_MULTI_TURN, _MATH = "-multi-turn", "-math"
_DIALOGUE = {"user1", "user2", "assistant1", "assistant2"}


class GradingPrompts:
    """The prompts of a grading: one that shows the dialogue, or a family for single answers.

    A prompt that shows the dialogue, such as `mtbench++-10`, grades the last answer. The prompt `NAME` that
    shows a question and an answer grades first answers, and `NAME-multi-turn` of the same file, if any,
    later ones. Of MT-bench's questions in `REFERENCE_CATEGORIES`, answers are graded with a reference
    answer by the same with `-math` (as in `single-math-v1`), if the file has them.
    """

    def __init__(self, prompts: Mapping[str, Prompt], name: str) -> None:
        if name not in prompts or prompts[name].kind != "grade":
            fitting = ", ".join(p.name for p in prompts.values() if p.kind == "grade") or "none"
            raise SettingsError(f"unknown prompt {name!r}: expected one of {fitting}")
        self.name = name
        self._whole = not _DIALOGUE.isdisjoint(prompts[name].placeholders)
        names = [name]
        if not self._whole:
            names += [_math_name(name), name + _MULTI_TURN, _math_name(name) + _MULTI_TURN]
        self.prompts = {each: prompts[each] for each in names if each in prompts}

    @property
    def brief(self) -> bool:
        """Whether the judge answers with a number only."""
        return not any(prompt.brackets for prompt in self.prompts.values())

    @property
    def max_tokens(self) -> int | None:
        """The largest limit on the judge's output that a prompt has."""
        limits = [p.max_tokens for p in self.prompts.values() if p.max_tokens is not None]
        return max(limits, default=None)

    def turns_of(self, item: Item) -> list[int]:
        """Returns the turns whose answers are graded, from 1. Raises `SettingsError` for none."""
        last = len(item.users)
        if self._whole:
            return [last]
        several = self.name + _MULTI_TURN in self.prompts
        turns = [n for n in range(len(item.given) + 1, last + 1) if n == 1 or several]
        if not turns:
            raise SettingsError(
                f"prompt {self.name!r} shows one turn only, but answers to a second one are graded: choose a "
                f"prompt with {{user1}}, or a file that also has {self.name + _MULTI_TURN!r}"
            )
        return turns

    def prompt(self, item: Item, turn: int) -> Prompt:
        """Returns the prompt for the answer to a turn."""
        more = _MULTI_TURN if turn > 1 and not self._whole else ""
        with_reference = _math_name(self.name) + more
        math_like = item.question and item.category in REFERENCE_CATEGORIES
        if math_like and with_reference in self.prompts:
            return self.prompts[with_reference]
        return self.prompts[self.name + more]

    def config(self) -> dict[str, Any]:
        """Returns the prompts as they are recorded."""
        return {
            name: {
                "scale": list(prompt.scale),
                "brackets": prompt.brackets,
                "system": prompt.system,
                "text": prompt.text,
            }
            for name, prompt in self.prompts.items()
        }


def find_grading_prompts(name: str, file: str | os.PathLike[str] | None = None) -> GradingPrompts:
    """Returns prompts by name, from a user's file (such as `judge_prompts.jsonl`) or the built-in ones.

    Raises `SettingsError` if the name is unknown, and what `read_prompts` raises.
    """
    return GradingPrompts(built_in_prompts() if file is None else read_prompts(file), name)


def grade_requests(
    items: Iterable[Item],
    answers: Iterable[ModelAnswers],
    prompts: GradingPrompts,
    samples: int = 1,
) -> Iterator[Request]:
    """Yield the requests for ratings of each model's answers to the items.

    Raises `InputError` if a model has not answered an item, or an item lacks the reference answer that its
    prompt needs, and `SettingsError` for prompts that need something else.
    """
    if samples < 1:
        raise SettingsError(f"samples must be at least 1, not {samples}")
    known, models = list(items), list(answers)
    names = Counter(model.model for model in models)
    for name, count in names.items():
        if count > 1:
            raise InputError(f"answers of {name!r:.80} occur twice: each model needs its own name")
    for model in models:
        for item in known:
            turns = _answered_turns(item, model)
            for turn in prompts.turns_of(item):
                yield from _grade_request(item, turn, turns, model.model, prompts, samples)


def grade_answers(
    version: str,
    items: Sequence[Item],
    answers: Sequence[ModelAnswers],
    engine: Engine,
    judge: Judge,
    prompts: GradingPrompts,
    out: str | os.PathLike[str],
    *,
    samples: int = 1,
    budget: Budget | None = None,
    keep_going: bool = False,
    progress: AskingProgress | None = None,
) -> Asked:
    """Ask for ratings of models' answers and keep them in the folder `out`.

    `version`: a name for the items, such as "lite"; several versions may share a folder, and a dialogue
    that is in more than one is graded once. Nothing is asked twice. Invalid ratings are stored with their
    reason. Afterwards `judgments.jsonl` has all ratings in FastChat's format. Raises `InputError`,
    `SettingsError`, and what `ask` raises.
    """
    if samples > 1 and judge.temperature == 0:
        raise SettingsError("several samples need a temperature above 0: all would be the same")
    requests = list(grade_requests(items, answers, prompts, samples))
    folder = Path(out)
    write_folder_config(folder, _grades_config(judge, prompts))
    add_version(folder, version, items)
    add_digests(folder, version, requests, judge)
    with grade_journal(folder) as journal:
        asked = ask(
            journal,
            requests,
            engine,
            judge,
            lambda request, answered: read_grading(
                answered, prompts.prompts[request.about["prompt"]]
            ),
            budget=budget,
            keep_going=keep_going,
            progress=progress,
        )
    export_judgments(folder)
    return asked


def _math_name(name: str) -> str:
    """Returns the name of the prompt with a reference answer: `single-v1` and `single-math-v1`."""
    before, dash, version = name.rpartition("-")
    return f"{before}{_MATH}-{version}" if dash else f"{name}{_MATH}"


def _answered_turns(item: Item, model: ModelAnswers) -> tuple[str, ...]:
    turns = model.answers.get(item.id)
    if turns is None or len(turns) < len(item.users):
        what = "no answer" if turns is None else f"only {len(turns)} of {len(item.users)} answers"
        raise InputError(f"{model.model!r:.80} has {what} to {item.id!r:.80}")
    if turns[: len(item.given)] != item.given:
        raise InputError(
            f"{model.model!r:.80} answered {item.id!r:.80} after another first answer than the dialogue's: "
            "choose --turns both if it wrote both answers"
        )
    return turns


def _grade_request(
    item: Item,
    turn: int,
    answers: Sequence[str],
    model: str,
    prompts: GradingPrompts,
    samples: int,
) -> Iterator[Request]:
    prompt = prompts.prompt(item, turn)
    values = _grade_values(item, turn, answers)
    if "reference" in prompt.placeholders and "reference" not in values:
        raise InputError(
            f"{item.id!r:.80} has no reference answer, which prompt {prompt.name!r} needs: pass "
            "--references, or choose another prompt"
        )
    messages = prompt.filled(values)
    about = {
        "item": item.id,
        "model": model,
        "turn": turn,
        "category": item.category,
        "prompt": prompt.name,
        "user_prompt": messages[-1][1],
    }
    for sample in range(samples):
        yield Request(f"{item.id} ({model})", messages, about, sample)


def _grade_values(item: Item, turn: int, answers: Sequence[str]) -> dict[str, str]:
    """Returns the values of all placeholders that there are for an answer."""
    values = {"question": item.users[turn - 1], "answer": answers[turn - 1]}
    for number in range(turn):
        values[f"user{number + 1}"] = item.users[number]
        values[f"assistant{number + 1}"] = answers[number]
    for number, reference in enumerate(item.reference):
        values["reference" if number == 0 else f"reference{number + 1}"] = reference
    return values


def _grades_config(judge: Judge, prompts: GradingPrompts) -> dict[str, Any]:
    return {
        "kind": "dialogue grades",
        "judge": {"engine": judge.engine, **judge.identity()},
        "prompts": prompts.config(),
    }
