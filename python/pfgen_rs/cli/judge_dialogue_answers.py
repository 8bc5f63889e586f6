"""`pfgen-rs judge dialogues answer`: a model continues dialogues."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import output
from pfgen_rs.cli.judge_dialogue_options import (
    FieldsFile,
    TurnsName,
    read_dialogue_fields,
)
from pfgen_rs.cli.judge_options import (
    RetryOptions,
    finish_asking,
    resumable_asking,
    retrying_options,
)
from pfgen_rs.io.counted import counted

__all__ = ["answer"]


@retrying_options
def answer(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Dialogue records, or MT-bench's questions (JSON lines).",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of answers.", show_default=False),
    ],
    asking: RetryOptions,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the model in tables (default: MODEL)."),
    ] = None,
    turns: Annotated[
        TurnsName | None,
        typer.Option(
            help="Whether the model writes the second answer, after the record's first one, or both, as in "
            "the original MT-bench (default: second; both for MT-bench's questions).",
        ),
    ] = None,
    system: Annotated[
        str | None, typer.Option(metavar="TEXT", help="System message (default: none).")
    ] = None,
    fields: FieldsFile = None,
) -> None:
    """Let a model answer dialogues, as a chat of two turns.

    MODEL is the model that answers. If interrupted, the same command continues, and several processes can run
    it at the same time. The folder then has the answers in FastChat's format (model_answer.jsonl).

    Example: `pfgen-rs judge dialogues answer lite.jsonl --engine openai --model gpt-4o --out answers/gpt-4o`
    """
    from pfgen_rs.judge.dialogues.answering import (
        EXPORT,
        answer_journal,
        answer_requests,
        poor_answers,
        read_items,
    )
    from pfgen_rs.judge.dialogues.answering import answer as answered
    from pfgen_rs.judge.prompts import Prompt

    items, _ = read_items(
        data, read_dialogue_fields(fields), None if turns is None else turns.value
    )
    model = asking.retrying(asking.judge(Prompt("answer", "grade", ""), brief=False), out)
    with resumable_asking(out, "answered"):
        asked = asking.ask(
            model,
            "answering",
            answer_journal(out),
            answer_requests(items, model, out, name=name, system=system),
            lambda engine, budget, progress: answered(
                items,
                engine,
                model,
                out,
                name=name,
                system=system,
                budget=budget,
                keep_going=asking.keep_going,
                progress=progress,
            ),
        )
    if asked is not None:
        output.emit(f"{out}: {asked.stored} of {counted(asked.total, 'answer')}, {asked.new} new\n")
        blank, cut = poor_answers(out)
        if blank or cut:
            output.warn(f"{counted(blank, 'blank answer')}, {cut:,} cut off by the limit on tokens")
        if asked.complete:
            output.emit(f"wrote {out / EXPORT}\n")
    finish_asking(asked)
