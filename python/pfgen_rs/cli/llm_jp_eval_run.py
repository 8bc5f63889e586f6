"""`pfgen-rs llm-jp-eval run` and `score`: outputs of a model, asked here or elsewhere, and their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import llm_jp_eval as shared
from pfgen_rs.cli import options, output, streams
from pfgen_rs.cli.engine_options import EngineOptions, finish_asking, resumable_asking
from pfgen_rs.cli.llm_jp_eval import SampleOptions
from pfgen_rs.cli.options import JsonFormat
from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted, plural

if TYPE_CHECKING:
    from rich.table import Table

    from pfgen_rs.llm_jp_eval.scoring import Evaluation

_LENIENT = "more answers that would be right if stripped and read like this"


@options.with_options(EngineOptions, "asking")
@options.with_options(SampleOptions, "samples")
def run(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Name or path of the model for the engine.", show_default=False
        ),
    ],
    asking: EngineOptions,
    samples: SampleOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder of the run, new or to be continued (default: runs/llm-jp-eval/MODEL).",
        ),
    ] = None,
    variant: shared.Variant = shared.VariantName.UPSTREAM,
    average: shared.Average = shared.AverageName.AVR,
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Score even if outputs are missing, which count as empty."
        ),
    ] = False,
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Run a model on the tasks and score it: one output a sample, with temperature 0.

    Interrupted runs continue with the same command, and several processes may share a folder. Nothing is
    asked twice: further tasks, splits and samples are added to what is there.

    Example: `pfgen-rs llm-jp-eval run org/model --engine vllm --limit 100`
    """
    from pfgen_rs.ask.engines import recorded_name
    from pfgen_rs.ask.loop import Asked
    from pfgen_rs.ask.request import Respondent
    from pfgen_rs.llm_jp_eval.results import ScoreSettings
    from pfgen_rs.llm_jp_eval.running import (
        default_folder,
        open_run,
        output_journal,
        request_groups,
        run_tasks,
        score_run,
    )

    if asking.engine == "manual":
        raise typer.BadParameter(
            "the engine manual is not supported: use the commands 'prompts' and 'score'",
            param_hint="--engine",
        )
    prompts = samples.prompts()
    every = not shared.listed_names(samples.tasks) or samples.asks_for_all()
    settings = ScoreSettings(variant.value, average.value, samples.limit, prompts, every)
    datas = samples.datas()
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
    (streams.remark if output_format is options.JsonFormat.JSON else _emit_line)(told)
    if asked.complete or allow_missing:
        scored = score_run(folder, datas, respondent, settings, allow_missing=allow_missing)
        show_evaluation(*scored, output_format)
    elif asked.stored + asked.elsewhere == asked.total:
        streams.remark("not scored yet: the process that ends last scores the run")
    else:
        streams.warn(
            "not scored, because outputs are missing: --allow-missing counts them as empty"
        )
    finish_asking(asked)


def _emit_line(line: str) -> None:
    streams.emit(f"{line}\n")


@options.with_options(SampleOptions, "samples", without=("shots", "strict"))
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
    samples: SampleOptions,
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
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Score outputs made elsewhere from the prompts of 'prompts', by their ids.

    Tasks without any output are left out unless --tasks names them. With --tasks all, result.json has the
    averages of llm-jp-eval, even if some tasks have no data. --shots, the templates, --chat and --max-tokens
    say how the prompts were made, for the signature and result.json; of outputs.jsonl in the folder of a run
    that is known. Outputs with a digest, as runs and 'prompts' have it, must be those of these samples.

    Example: `pfgen-rs llm-jp-eval score outputs.jsonl --limit 100 --out scores`
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

    n, every = samples.limit, samples.asks_for_all()
    prompts = replace(samples, shots=shots).prompts()
    found = read_outputs(outputs, samples.split.value)
    datas = replace(samples, tasks=samples.tasks or list(found.texts)).datas()
    chosen = ScoreSettings(variant.value, average.value, n, prompts, every)
    settings = settings_of_outputs(found, datas, chosen)
    by_task = outputs_by_task(datas, found, n)
    try:
        evaluations = evaluate_variants(datas, by_task, allow_missing=allow_missing)
    except MissingOutputsError as error:
        advice = "--limit N scores the first N samples of each task, --allow-missing counts them as empty"
        raise InputError(f"{error}; {advice}", path=outputs) from None
    if out is None:
        record = scores_record(datas, evaluations, settings)
    else:
        record = write_results(out, datas, evaluations, score_config(datas, settings), settings)
    show_evaluation(record, evaluations[variant.value], output_format)


def _scores_json(record: Mapping[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """Returns scores for programs: those of the chosen variant, with the means of both notes by task."""
    chosen = record["variants"][record["variant"]]
    notes = {
        task: {"exact": e, "char_f1": c} for task, (_, e, c) in _means_of_notes(evaluation).items()
    }
    return {
        **{key: value for key, value in record.items() if key != "variants"},
        **chosen,
        "notes": notes,
    }


def show_evaluation(
    record: Mapping[str, Any], evaluation: Evaluation, output_format: JsonFormat
) -> None:
    """Print scores as a table or as JSON. `record`: what `scores.json` says."""
    if output_format is JsonFormat.JSON:
        streams.emit_json(_scores_json(record, evaluation))
    else:
        _show_scores(record, evaluation)


def _show_scores(record: Mapping[str, Any], evaluation: Evaluation) -> None:
    """Print a table by category, the average, and the signature."""
    chosen = record["variants"][record["variant"]]
    tables = [_scores_table(chosen, evaluation, notes=notes) for notes in (True, False)]
    output.show(output.first_that_fits(*tables))
    average = record["average"]
    _show_average(average, chosen, record["lacking"][average])
    _show_lenient(record, chosen)
    missing = sum(record["missing"].values())
    if missing:
        streams.warn(
            f"{counted(missing, 'output')} {plural(missing, 'was', 'were')} missing and "
            f"{plural(missing, 'counts', 'count')} as empty"
        )
    streams.emit(f"{record['signature']}\n")


def _show_average(average: str, chosen: Mapping[str, Any], lacking: Sequence[str]) -> None:
    """Print the average, or that it has none: the paper's is one of all its categories."""
    shown = "–" if lacking and average == "AVR" else f"{chosen['averages'][average]:.4f}"
    streams.emit(f"{average} {shown}\n")
    if lacking and average == "AVR":
        streams.remark(f"AVR is the mean of seven categories; not run: {', '.join(lacking)}")
    elif lacking:
        without = plural(len(lacking), "category counts", "categories count")
        streams.remark(f"not run, so the {without} as 0 in {average}: {', '.join(lacking)}")


def _show_lenient(record: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    """Print how many answers are wrong only for their form, by task, and what the average would be."""
    found = record["lenient"]
    tasks = [task for task in record["samples"] if any(task in w["right"] for w in found.values())]
    if not tasks:
        return
    headings = [way.replace("_", " ") for way in found]
    rows = []
    for task in tasks:
        counts = [way["right"].get(task, 0) for way in found.values()]
        rows.append([task, *(f"{each:,}" if each else "" for each in counts)])
    average = record["average"]
    told = ""
    if average != "AVR" or not record["lacking"][average]:
        means = [f"{way['averages'][average]:.4f}" for way in found.values()]
        rows.append([average, *means])
        told = f": {average} would be {means[-1]} instead of {chosen['averages'][average]:.4f}"
    output.show(output.new_table("task", *headings, numbers=headings, title=_LENIENT, rows=rows))
    count = sum(found["all"]["right"].values())
    wrong = plural(count, "answer is", "answers are")
    streams.warn(
        f"{count:,} {wrong} wrong only for blanks, thoughts, quotation marks or capitals{told}"
    )


def _scores_table(chosen: Mapping[str, Any], evaluation: Evaluation, *, notes: bool) -> Table:
    from pfgen_rs.llm_jp_eval.catalog import CATEGORIES, tasks

    found = _means_of_notes(evaluation)
    numbers = ["n", "score", "±", *(("exact", "char_f1") if notes else ())]
    table = output.new_table("task", "metric", *numbers, numbers=numbers)
    for column in table.columns[:2]:
        column.no_wrap = True

    def add(*cells: str) -> None:
        table.add_row(*map(output.cell, [*cells, *[""] * len(table.columns)][: len(table.columns)]))

    for category in CATEGORIES:
        names = [name for name in found if tasks()[name].category == category]
        if names:
            mean = chosen["averages"].get(category)
            add(category, "", "", "" if mean is None else f"{mean:.4f}")
        for name in names:
            n, exact, ratio = found[name]
            told = [f"  {name}", f"{n:,}", f"{exact:.4f}", f"{ratio:.4f}"]
            for metric in _metrics_of_scores(chosen["scores"], name):
                key = f"{name}_{metric}"
                error = chosen["standard_errors"][key]
                shown = [f"{chosen['scores'][key]:.4f}", "–" if error is None else f"{error:.4f}"]
                add(told[0], metric, told[1], *shown, *told[2:])
                told = [""] * len(told)
    return table


def _means_of_notes(evaluation: Evaluation) -> dict[str, tuple[int, float, float]]:
    """Returns the number of samples, and the means of `exact` and `char_f1`, by task."""
    import polars as pl

    found = evaluation.frame.group_by("task", maintain_order=True).agg(
        pl.len().alias("n"), pl.col("exact").mean(), pl.col("char_f1").mean()
    )
    return {task: (n, exact, ratio) for task, n, exact, ratio in found.iter_rows()}


def _metrics_of_scores(scores: Mapping[str, float], task: str) -> list[str]:
    from pfgen_rs.llm_jp_eval.catalog import tasks

    others = [name for name in tasks() if name != task and name.startswith(f"{task}_")]
    return [
        name.removeprefix(f"{task}_")
        for name in scores
        if name.startswith(f"{task}_") and not any(name.startswith(f"{o}_") for o in others)
    ]
