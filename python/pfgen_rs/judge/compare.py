"""Asking a judge which answer of each pair is better (judging 1 and 2)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pfgen_rs.generate.asking import Asked, ask
from pfgen_rs.generate.asking.ask import AskingProgress
from pfgen_rs.generate.asking.costs import Budget
from pfgen_rs.generate.engines import Answered, Details, Engine
from pfgen_rs.judge.binding import Orders, comparison_requests
from pfgen_rs.judge.judge import Judge
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.prompts import Prompt
from pfgen_rs.judge.thoughts import CUT, THOUGHT_BEGIN, without_thoughts
from pfgen_rs.judge.verdict_folder import open_verdict_folder
from pfgen_rs.judge.verdicts import Verdict, Which, read_output

__all__ = ["compare", "comparison_config", "comparison_requests", "read_judgment"]

_EMPTY = Details()


def compare(
    pairs: Sequence[Pair],
    engine: Engine,
    judge: Judge,
    prompt: Prompt,
    out: str | os.PathLike[str],
    *,
    orders: Orders = "both",
    mode: Literal["chat", "completion"] = "chat",
    budget: Budget | None = None,
    keep_going: bool = False,
    progress: AskingProgress | None = None,
) -> Asked:
    """Ask a judge about pairs, each in both orders, and keep its judgments in the folder `out`.

    Pairs without a reference answer get the prompt without it. With `orders="one"` each pair is shown once,
    which costs half: position bias then remains in every decision and cannot be measured, and `strict` and
    `tie` decide nothing. What is stored is never asked again; the same call continues after an interruption,
    and several processes may share the work. Raises `SettingsError` for prompts that need criteria which
    pairs lack and for another configuration of the folder, `GenerationError` if nothing can be asked, and
    `OutputError`.
    """
    requests = list(comparison_requests(pairs, prompt, orders))
    folder = open_verdict_folder(out, comparison_config(judge, prompt, mode), pairs)
    which = prompt.verdict
    with folder.journal() as journal:
        return ask(
            journal,
            requests,
            engine,
            judge,
            lambda _, answered: read_judgment(answered, which),
            mode=mode,
            budget=budget,
            keep_going=keep_going,
            progress=progress,
        )


def comparison_config(judge: Judge, prompt: Prompt, mode: str) -> dict[str, Any]:
    """Returns what a verdict folder's `config.json` says."""
    return {
        "kind": "pairwise",
        "judge": {"engine": judge.engine, **judge.identity()},
        "mode": mode,
        "prompt": {
            "name": prompt.name,
            "verdict": prompt.verdict,
            "system": prompt.system,
            "text": prompt.text,
        },
    }


def read_judgment(answered: Answered, which: Which) -> Mapping[str, Any]:
    """Returns the fields of a judgment that the judge's answer determines."""
    details = answered.details or _EMPTY
    verdict = read_output(answered.text, details.tokens, which)
    problem = _judgment_problem(answered.text, verdict, details.finish_reason, which)
    if problem is not None:
        verdict = Verdict(None)
    return {
        "output": answered.text,
        "finish_reason": details.finish_reason,
        "shown": verdict.shown,
        "probabilities": None if verdict.probabilities is None else dict(verdict.probabilities),
        "problem": problem,
    }


def _judgment_problem(
    text: str, verdict: Verdict, finish_reason: str | None, which: Which
) -> str | None:
    """Returns why a judgment is invalid, or `None`."""
    content = without_thoughts(text).strip()
    sure = which == "first" and not content.startswith(THOUGHT_BEGIN)
    if finish_reason == "length" and not (sure and verdict.shown):
        return CUT
    if verdict.shown is not None:
        return None
    return "no verdict" if content else "empty"
