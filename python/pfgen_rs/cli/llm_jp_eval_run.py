"""`pfgen-rs llm-jp-eval run`: runs a model on the tasks, and scores it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import llm_jp_eval_options as shared
from pfgen_rs.cli import options, output
from pfgen_rs.cli.engine_options import (
    EngineOptions,
    finish_asking,
    resumable_asking,
)
from pfgen_rs.cli.llm_jp_eval_view import show_evaluation
from pfgen_rs.io.counted import counted

__all__ = ["run"]


@options.with_options(EngineOptions, "asking")
def run(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Name or path of the model for the engine.", show_default=False
        ),
    ],
    asking: EngineOptions,
    data: shared.Data = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder of the run, new or to be continued (default: runs/llm-jp-eval/MODEL).",
        ),
    ] = None,
    tasks: shared.TaskNames = None,
    split: shared.Split = shared.SplitName.TEST,
    num: shared.Num = None,
    shots: shared.Shots = 4,
    template: shared.PromptTemplate = None,
    fewshots_template: shared.Fewshots = None,
    chat: shared.Chat = False,
    max_tokens: shared.MaxNewTokens = None,
    variant: shared.Variant = shared.VariantName.UPSTREAM,
    average: shared.Average = shared.AverageName.AVR,
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Score even if outputs are missing, which count as empty."
        ),
    ] = False,
    strict: shared.Strict = False,
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Run a model on the tasks and score it: one output a sample, with temperature 0.

    Interrupted runs continue with the same command, and several processes may share a folder. Nothing is
    asked twice: further tasks, splits and samples are added to what is there.

    Example: `pfgen-rs llm-jp-eval run org/model --engine vllm --num 100`
    """
    from pfgen_rs.ask.engines import recorded_name
    from pfgen_rs.ask.loop import Asked
    from pfgen_rs.ask.request import Respondent
    from pfgen_rs.llm_jp_eval.results import ScoreSettings
    from pfgen_rs.llm_jp_eval.run_folder import default_folder, output_journal
    from pfgen_rs.llm_jp_eval.running import open_run, request_groups, run_tasks, score_run

    if asking.engine == "manual":
        raise typer.BadParameter(
            "the engine manual is not supported: use the commands 'prompts' and 'score'",
            param_hint="--engine",
        )
    prompts = shared.prompt_settings(
        shots, template, fewshots_template, chat=chat, max_tokens=max_tokens
    )
    every = not shared.listed_names(tasks) or shared.asks_for_all(tasks)
    settings = ScoreSettings(variant.value, average.value, shared.number(num), prompts, every)
    datas = shared.read_datas(data, tasks, split, strict=strict)
    respondent = Respondent(
        recorded_name(asking.engine),
        model,
        base_url=asking.shown_base_url(),
        temperature=asking.temperature_value(),
        seed=asking.seed,
    )
    folder = out or default_folder(model)
    groups = request_groups(datas, respondent, settings.n, prompts)
    total = sum(len(group.requests) for group in groups)
    asked: Asked | None = Asked(total, total, 0)
    if asking.dry_run or open_run(folder, datas, respondent, settings.n, prompts):
        with resumable_asking(folder, "generated"):
            asked = asking.ask_groups(
                groups,
                "generating",
                output_journal(folder),
                lambda engine, budget_of, progress: run_tasks(
                    folder,
                    datas,
                    engine,
                    respondent,
                    n=settings.n,
                    prompts=prompts,
                    budget_of=budget_of,
                    keep_going=asking.keep_going,
                    progress=progress,
                ),
            )
    if asked is None:
        return
    told = f"{folder}: {asked.stored:,} of {counted(asked.total, 'output')}, {asked.new:,} new"
    (output.remark if output_format is options.JsonFormat.JSON else _emit_line)(told)
    if asked.complete or allow_missing:
        scored = score_run(folder, datas, respondent, settings, allow_missing=allow_missing)
        show_evaluation(scored.record, scored.evaluation, output_format)
    elif asked.stored + asked.elsewhere == asked.total:
        output.remark("not scored yet: the process that ends last scores the run")
    else:
        output.warn("not scored, because outputs are missing: --allow-missing counts them as empty")
    finish_asking(asked)


def _emit_line(line: str) -> None:
    output.emit(f"{line}\n")
