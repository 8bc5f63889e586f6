"""`pfgen-rs judge criteria`: evaluation criteria for each question."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import output
from pfgen_rs.cli.judge_options import AskOptions, asking_options, finish_asking

__all__ = ["criteria"]


@asking_options
def criteria(
    pairs: Annotated[
        Path,
        typer.Argument(metavar="PAIRS", help="File of pairs (JSON lines).", show_default=False),
    ],
    asking: AskOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File of criteria (default: PAIRS.criteria.jsonl)."
        ),
    ] = None,
    prompt: Annotated[str, typer.Option(metavar="NAME", help="Prompt.")] = "criteria",
) -> None:
    """Let a judge write the criteria by which answers to each question are compared.

    One request a question, shared by all its pairs. The file of pairs is not changed; `compare` finds the
    criteria beside it. Existing criteria are not made again.

    Example: `pfgen-rs judge criteria pairs.jsonl --engine openai --model gpt-4o`
    """
    from pfgen_rs.judge.compare import (
        criteria_file,
        criteria_requests,
        make_criteria,
        open_criteria,
    )
    from pfgen_rs.judge.pairs import read_pairs

    path = out or criteria_file(pairs)
    found = read_pairs(pairs)
    chosen = asking.prompt(prompt, "criteria")
    judge = asking.judge(chosen, brief=False)
    requests = list(criteria_requests(found, chosen))
    asked = asking.ask(
        judge,
        "criteria",
        open_criteria(path),
        requests,
        lambda engine, budget, progress: make_criteria(
            found,
            engine,
            judge,
            chosen,
            path,
            budget=budget,
            keep_going=asking.keep_going,
            progress=progress,
        ),
    )
    if asked is not None:
        output.emit(
            f"{path}: criteria of {asked.stored} of {asked.total} questions, {asked.new} new\n"
        )
    finish_asking(asked)
