"""`pfgen-rs judge compare`: verdicts on pairs, in both orders."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import output
from pfgen_rs.cli.judge_options import (
    RetryOptions,
    finish_asking,
    resumable_asking,
    retrying_options,
)
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    from pfgen_rs.generate.asking import Asked
    from pfgen_rs.judge.pairs import Pair
    from pfgen_rs.judge.verdict_folder import VerdictFolder

__all__ = ["compare"]


class Orders(StrEnum):
    """Orders in which a pair is shown."""

    BOTH = "both"
    ONE = "one"


class RequestMode(StrEnum):
    """How prompts are sent."""

    CHAT = "chat"
    COMPLETION = "completion"


@retrying_options
def compare(
    pairs: Annotated[
        Path,
        typer.Argument(metavar="PAIRS", help="File of pairs (JSON lines).", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of verdicts.", show_default=False),
    ],
    asking: RetryOptions,
    prompt: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Prompt: criteria-reason, criteria-result, reason, result (Morita 2025), pair, pair-math "
            "(Japanese Vicuna QA), or one of --prompts.",
        ),
    ] = "reason",
    criteria: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of criteria (default: PAIRS.criteria.jsonl)."),
    ] = None,
    orders: Annotated[
        Orders, typer.Option(help="Show each pair in both orders, or once, which costs half.")
    ] = Orders.BOTH,
    mode: Annotated[
        RequestMode, typer.Option(help="Send prompts as chats, or as texts to complete.")
    ] = RequestMode.CHAT,
) -> None:
    """Let a judge say which answer of each pair is better, in both orders.

    Nothing is asked twice: if interrupted, the same command continues, and several processes may share the
    work. Judgments are appended to judgments.jsonl in DIR as they arrive. The exit code is 1 if some are
    missing at the end.

    Example: `pfgen-rs judge compare pairs.jsonl --engine openai --model gpt-4o --out verdicts`
    """
    from pfgen_rs.judge.compare import compare as compared
    from pfgen_rs.judge.compare import comparison_requests
    from pfgen_rs.judge.verdict_folder import VerdictFolder, judgment_journal

    chosen = asking.prompt(prompt, "pairwise")
    judge = asking.retrying(asking.judge(chosen, brief=chosen.verdict == "first"), out)
    found = _pairs_with_criteria(pairs, criteria)
    requests = list(comparison_requests(found, chosen, orders.value))
    if orders is Orders.ONE:
        output.warn(
            "with --orders one, position bias stays in every decision and cannot be measured; strict and tie "
            "decide nothing"
        )
    with resumable_asking(out, "judged"):
        asked = asking.ask(
            judge,
            "judging",
            judgment_journal(out),
            requests,
            lambda engine, budget, progress: compared(
                found,
                engine,
                judge,
                chosen,
                out,
                orders=orders.value,
                mode=mode.value,
                budget=budget,
                keep_going=asking.keep_going,
                progress=progress,
            ),
        )
    if asked is not None:
        _tell_judged(VerdictFolder(out), asked)
    finish_asking(asked)


def _pairs_with_criteria(path: Path, criteria: Path | None) -> list[Pair]:
    from pfgen_rs.judge.criteria import criteria_file, pairs_with_criteria
    from pfgen_rs.judge.pairs import read_pairs

    found = read_pairs(path)
    beside = criteria or criteria_file(path)
    if criteria is None and not beside.exists():
        return found
    complete, notes = pairs_with_criteria(found, beside)
    for note in notes:
        output.warn(note)
    return complete


def _tell_judged(folder: VerdictFolder, asked: Asked) -> None:
    from pfgen_rs.judge.verdict_folder import doubtful_share

    last = {(each["pair"], each["order"]): each for each in folder.present_judgments()}
    problems = Counter(
        problem for record in last.values() if (problem := record.get("problem")) is not None
    )
    output.emit(
        f"{folder.path}: {asked.stored} of {counted(asked.total, 'judgment')}, {asked.new} new\n"
    )
    for problem, count in problems.most_common():
        output.warn(f"{counted(count, 'judgment')} invalid: {problem}")
    doubtful = doubtful_share(folder.doubts())
    if doubtful is not None:
        output.warn(doubtful)
    for note in folder.read()[1].notes():
        output.warn(note)
