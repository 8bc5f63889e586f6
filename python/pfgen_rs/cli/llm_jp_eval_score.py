"""`pfgen-rs llm-jp-eval score`: scores of outputs made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import llm_jp_eval_options as shared
from pfgen_rs.cli import options
from pfgen_rs.cli.llm_jp_eval_view import show_evaluation
from pfgen_rs.errors import InputError

__all__ = ["score"]


def score(
    outputs: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUTS",
            help="JSON lines (also .gz, .xz, .zst) with id and output, or what OpenAI's batch API or vLLM's "
            "run-batch returned.",
            show_default=False,
        ),
    ],
    data: shared.Data = None,
    tasks: shared.TaskNames = None,
    split: shared.Split = shared.SplitName.TEST,
    num: shared.Num = None,
    variant: shared.Variant = shared.VariantName.UPSTREAM,
    average: shared.Average = shared.AverageName.AVR,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Missing outputs count as empty.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder for result.json (as llm-jp-eval writes it), scores.json and samples.parquet.",
        ),
    ] = None,
    shots: Annotated[
        int | None,
        typer.Option(
            "--shots",
            "-k",
            min=0,
            metavar="K",
            help="Number of examples in the prompts (default: that of the outputs' run, or not known).",
        ),
    ] = None,
    template: shared.PromptTemplate = None,
    fewshots_template: shared.Fewshots = None,
    chat: shared.Chat = False,
    max_tokens: shared.MaxNewTokens = None,
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Score outputs made elsewhere from the prompts of 'prompts', by their ids.

    Tasks without any output are left out unless --tasks names them. With --tasks all, result.json has the
    averages of llm-jp-eval, even if some tasks have no data. --shots, the templates, --chat and --max-tokens
    say how the prompts were made, for the signature and result.json; of outputs.jsonl in the folder of a run
    that is known. Outputs with a digest, as runs and 'prompts' have it, must be those of these samples.

    Example: `pfgen-rs llm-jp-eval score outputs.jsonl --num 100 --out scores`
    """
    from pfgen_rs.llm_jp_eval.outputs import outputs_by_task, read_outputs
    from pfgen_rs.llm_jp_eval.results import (
        ScoreSettings,
        score_config,
        scores_record,
        write_results,
    )
    from pfgen_rs.llm_jp_eval.running import settings_of_outputs
    from pfgen_rs.llm_jp_eval.scoring import MissingOutputsError, evaluate_variants

    n = shared.number(num)
    prompts = shared.prompt_settings(
        shots, template, fewshots_template, chat=chat, max_tokens=max_tokens
    )
    every = shared.asks_for_all(tasks)
    found = read_outputs(outputs, split.value)
    datas = shared.read_datas(data, tasks or list(found.texts), split)
    chosen = ScoreSettings(variant.value, average.value, n, prompts, every)
    settings = settings_of_outputs(found, datas, chosen)
    by_task = outputs_by_task(datas, found, n)
    try:
        evaluations = evaluate_variants(datas, by_task, allow_missing=allow_missing)
    except MissingOutputsError as error:
        advice = (
            "--num N scores the first N samples of each task, --allow-missing counts them as empty"
        )
        raise InputError(f"{error}; {advice}", path=outputs) from None
    if out is None:
        record = scores_record(datas, evaluations, settings)
    else:
        record = write_results(out, datas, evaluations, score_config(datas, settings), settings)
    show_evaluation(record, evaluations[variant.value], output_format)
