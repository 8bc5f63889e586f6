"""`pfgen-rs judge dialogues grade`: a judge rates answers in dialogues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import output
from pfgen_rs.cli.judge_dialogue_options import (
    FieldsFile,
    TurnsName,
    read_dialogue_fields,
    show_dialogue_grid,
)
from pfgen_rs.cli.judge_options import (
    RetryOptions,
    finish_asking,
    resumable_asking,
    retrying_options,
)
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    from pfgen_rs.judge.dialogues.items import Item
    from pfgen_rs.judge.dialogues.mt_bench import ModelAnswers
    from pfgen_rs.judge.dialogues.records import Dialogue

__all__ = ["grade"]


@retrying_options
def grade(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="The dialogue records or MT-bench's questions that were answered (JSON lines).",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of ratings.", show_default=False),
    ],
    asking: RetryOptions,
    answers: Annotated[
        list[Path] | None,
        typer.Option(
            "--answers",
            metavar="PATH",
            help="Answers of a model: a folder of `answer`, or a file in FastChat's format; repeatable "
            "(default: the second answers in the records, by author).",
        ),
    ] = None,
    prompt: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Prompt: mtbench++-10 or mtbench++-5 (Uematsu 2025: the last answer, a number only), or one "
            "of --prompts, such as single-v1 of FastChat's judge_prompts.jsonl (every answer).",
        ),
    ] = "mtbench++-10",
    turns: Annotated[
        TurnsName | None,
        typer.Option(
            help="Whether the models wrote the second answer or both, as for `answer` (default: second; both "
            "for MT-bench's questions).",
        ),
    ] = None,
    references: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Reference answers in FastChat's format, for math, reasoning and coding.",
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of these dialogues in table 6 (default: DATA's name)."
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Ratings of each answer; needs a temperature above 0."
        ),
    ] = 1,
    fields: FieldsFile = None,
) -> None:
    """Let a judge rate models' answers in dialogues, and print mean ratings by category (table 6).

    MODEL is the judge. Several versions and models may share a folder; nothing is asked twice. The folder
    then has all ratings in FastChat's format (judgments.jsonl).

    For example:

    - `pfgen-rs judge dialogues grade lite.jsonl --answers answers/a --engine openai --model gpt-4o --out g`

    - `pfgen-rs judge dialogues grade question.jsonl --answers model_answer/a.jsonl --references gpt-4.jsonl
    --prompts judge_prompts.jsonl --prompt single-v1 --engine openai --model gpt-4o --out g`
    """
    from pfgen_rs.judge.dialogues.grading import (
        find_grading_prompts,
        grade_answers,
        grade_journal,
        grade_requests,
        model_scores,
        stale_grades,
    )
    from pfgen_rs.judge.dialogues.items import read_items, with_references
    from pfgen_rs.judge.dialogues.mt_bench import read_answers
    from pfgen_rs.judge.dialogues.report import model_table

    items, dialogues = read_items(
        data, read_dialogue_fields(fields), None if turns is None else turns.value
    )
    if references is not None:
        items = with_references(items, read_answers(references)[0].answers)
    graded = _answers_to_grade(answers, items, dialogues)
    prompts = find_grading_prompts(prompt, asking.prompts)
    first = replace(prompts.prompts[prompts.name], max_tokens=prompts.max_tokens)
    judge = asking.retrying(asking.judge(first, brief=prompts.brief), out)
    requests = list(grade_requests(items, graded, prompts, samples))
    with resumable_asking(out, "rated"):
        asked = asking.ask(
            judge,
            "rating",
            grade_journal(out),
            requests,
            lambda engine, budget, progress: grade_answers(
                version or data.name.partition(".")[0],
                items,
                graded,
                engine,
                judge,
                prompts,
                out,
                samples=samples,
                budget=budget,
                keep_going=asking.keep_going,
                progress=progress,
            ),
        )
    if asked is not None:
        output.emit(f"{out}: {asked.stored} of {counted(asked.total, 'rating')}, {asked.new} new\n")
        if asked.stored:
            table = model_table(model_scores(out))
            show_dialogue_grid(table.grid, table.title)
            for note in table.notes:
                output.warn(note)
            if stale := stale_grades(out):
                output.warn(f"{counted(stale, 'rating')} of earlier answers: kept, but not used")
    finish_asking(asked)


def _answers_to_grade(
    paths: Sequence[Path] | None, items: Sequence[Item], dialogues: Sequence[Dialogue]
) -> list[ModelAnswers]:
    from pfgen_rs.judge.dialogues.answering import read_model_answers
    from pfgen_rs.judge.dialogues.items import record_answers

    if paths:
        return [found for path in paths for found in read_model_answers(path, items)]
    found = record_answers(dialogues)
    if not found:
        raise typer.BadParameter("DATA contains no answers to grade", param_hint="--answers")
    return found
