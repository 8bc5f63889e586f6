"""`pfgen-rs llm-jp-eval run`, `prompts` and `score`: asking a model, here or elsewhere, and scoring it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from pfgen_rs.cli import (
    engine_options,
    llm_jp_eval,
    llm_jp_eval_report as report,
    options,
    process,
    terminal,
)
from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted, plural
from pfgen_rs.lazy import pl

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.scoring import Evaluation


@options.with_options(engine_options.EngineOptions, "asking")
@options.with_options(llm_jp_eval.SampleOptions, "samples")
def run(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Name or path of the model for the engine.", show_default=False
        ),
    ],
    asking: engine_options.EngineOptions,
    samples: llm_jp_eval.SampleOptions,
    out: Annotated[
        Path | None,
        options.out_option(
            "DIR", "Folder of the run, new or to be continued (default: runs/llm-jp-eval/MODEL)."
        ),
    ] = None,
    profile: llm_jp_eval.ProfileNames = None,
    allow_missing: llm_jp_eval.AllowMissing = False,
    output_format: options.Format = "table",
) -> None:
    """Run a model on the tasks and score it: one output per sample, at temperature 0 or the profile's.

    Interrupted runs continue with the same command, and several processes may share a folder. Nothing is
    asked twice: further tasks, splits, samples and profiles are added to what is there.

    For example:

    - `pfgen-rs llm-jp-eval run org/model --engine vllm --limit 100`

    - `pfgen-rs llm-jp-eval run org/model --engine vllm --profile 1.3.0,swallow,nejumi4`
    """
    from pfgen_rs.ask import loop, request
    from pfgen_rs.ask.engines import recorded_name
    from pfgen_rs.llm_jp_eval import running, scoring

    if asking.engine == "manual":
        raise typer.BadParameter(
            "the engine manual is not supported: use the commands 'prompts' and 'score'",
            param_hint="--engine",
        )
    every = not llm_jp_eval.listed_names(samples.tasks) or "all" in llm_jp_eval.listed_names(
        samples.tasks
    )
    respondent = request.Respondent(
        recorded_name(asking.engine),
        model,
        base_url=asking.shown_base_url(),
        temperature=asking.temperature_value(),
        seed=asking.seed,
    )
    folder = out or running.default_folder(model)
    source = context.get_parameter_source("temperature")
    is_given = source is not None and source.name != "DEFAULT"
    fixed = {"temperature": respondent.temperature} if is_given else {}
    settings = scoring.ScoreSettings(
        n=samples.limit, prompts=samples.prompts(), all_tasks=every, sampling=fixed
    )
    main, *further = samples.plans(profile, settings)
    made = running.TaskRun(folder, main.datas, respondent, main.settings, further)
    total = sum(len(group.requests) for group in made.groups)
    asked: loop.Asked | None = loop.Asked(total, total, 0)
    if asking.dry_run or made.open():
        with engine_options.resumable_asking(folder, "generated"):
            asked = asking.ask_groups(made.groups, "generating", made.journal(), made.ask)
    if asked is None:
        return
    told = f"{folder}: {asked.stored:,} of {counted(asked.total, 'output')}, {asked.new:,} new"
    if output_format == "json":
        process.remark(told)
    else:
        process.emit(f"{told}\n")
    if asked.complete or allow_missing:
        record, evaluation = made.score(allow_missing=allow_missing)
        show_evaluation(record, evaluation, output_format)
        if left := [name for name in made.profiles() if name not in record["profiles"]]:
            told = f"scores.json has the figures of {', '.join(record['profiles'])} alone now"
            names = ",".join([*record["profiles"], *left])
            process.remark(f"{told}: run with --profile {names} for those of {', '.join(left)}")
    elif asked.stored + asked.elsewhere == asked.total:
        process.remark("not scored yet: the process that ends last scores the run")
    else:
        process.warn(
            "not scored, because outputs are missing: --allow-missing counts them as empty"
        )
    engine_options.finish_asking(asked)


@options.with_options(llm_jp_eval.SampleOptions, "samples", without=("chat",))
def prompts(
    samples: llm_jp_eval.SampleOptions,
    out: Annotated[
        str | None, options.out_option("FILE|-", "File to write, or - for stdout.")
    ] = None,
    exchange: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder to write TASK.eval-prompt.json to instead, the files that llm-jp-eval's inference "
            "repository reads.",
        ),
    ] = None,
    prompt_format: Annotated[
        Literal["jsonl", "openai-completions", "openai-chat"],
        typer.Option(
            "--format",
            "-f",
            help="jsonl: id, task, split, index, prompt, max_tokens and digest; others: requests for "
            "OpenAI's batch API and vLLM's run-batch.",
        ),
    ] = "jsonl",
    profile: llm_jp_eval.ProfileNames = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="NAME", help="Model named in openai formats."),
    ] = None,
) -> None:
    """Write the prompts of all samples, for inference made elsewhere; 'score' reads the outputs.

    Generate greedily (temperature 0), at most max_tokens new tokens, without stop strings. Outputs are JSON
    lines with the prompt's id and 'output', or what the batch APIs return. Keep the digest in them: 'score'
    then tells outputs to other prompts. With --exchange, llm-jp-eval's own pipelines generate, and 'score'
    reads the folder that they write.

    For example:

    - `pfgen-rs llm-jp-eval prompts --limit 100 --out prompts.jsonl`

    - `pfgen-rs llm-jp-eval prompts --exchange prompts`
    """
    from pfgen_rs.io import atomic, json_lines
    from pfgen_rs.llm_jp_eval import exchange as exchanging, scoring
    from pfgen_rs.llm_jp_eval.prompts import items

    if (out is None) == (exchange is None):
        raise typer.BadParameter(
            "exactly one of --out and --exchange is needed", param_hint="--out"
        )
    ours, chat = prompt_format == "jsonl", prompt_format == "openai-chat"
    if not ours and not model:
        raise typer.BadParameter(
            f"the format {prompt_format} requires the name of a model", param_hint="--model"
        )
    settings = scoring.ScoreSettings(n=samples.limit, prompts=samples.prompts())
    plans = samples.plans(profile, settings)
    if exchange is not None:
        count = exchanging.write_exchange(exchange, plans, samples.limit, samples.shots)
        written = f"{counted(count, 'prompt')} of {counted(len(plans[0].datas), 'task')}"
        process.emit(f"wrote {written} to {exchange}\n")
        return
    if not (ours or chat) and any(own.prompts.has_turns for _, own in plans):
        raise typer.BadParameter(
            "the prompts are chats: use openai-chat or jsonl", param_hint="--format"
        )
    found = {
        (item.id, item.digest()): (item, own.sampling)
        for datas, own in plans
        for item in items(datas, own.n, own.prompts)
    }
    lines = [
        json_lines.as_line(
            item.record() if ours else item.batch_line(model or "", chat=chat, sampling=sampling)
        )
        for item, sampling in found.values()
    ]
    if out is None or out == "-":
        process.emit(b"".join(lines).decode())
        return
    atomic.write_atomic(Path(out), b"".join(lines))
    tasks = {item.task for item, _ in found.values()}
    written = f"{counted(len(lines), 'prompt')} of {counted(len(tasks), 'task')}"
    process.emit(f"wrote {written} to {out}\n")


@options.with_options(llm_jp_eval.SampleOptions, "samples")
def score(
    outputs: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUTS",
            help="JSON lines (also .gz, .xz, .zst) with id and output, what OpenAI's batch API or vLLM's "
            "run-batch returned, or llm-jp-eval's folder of TASK.eval-generated.json.",
            show_default=False,
        ),
    ],
    samples: llm_jp_eval.SampleOptions,
    profile: llm_jp_eval.ProfileNames = None,
    allow_missing: llm_jp_eval.AllowMissing = False,
    out: Annotated[
        Path | None,
        options.out_option(
            "DIR",
            "Folder for result.json (as llm-jp-eval writes it), scores.json and samples.parquet.",
        ),
    ] = None,
    output_format: options.Format = "table",
) -> None:
    """Score outputs made elsewhere from the prompts of 'prompts', by their ids.

    Tasks without any output are left out unless --tasks names them. With --tasks all, result.json has the
    averages of llm-jp-eval, even if some tasks have no data. --shots, the templates, --chat and --max-tokens
    say how the prompts were made, for the signature and result.json; for the outputs.jsonl of a run, this is
    known. Outputs with a digest, as runs and 'prompts' write it, must match the prompts of these samples, and
    so must the prompts in the files of llm-jp-eval's inference, whose _config.json says more.

    For example:

    - `pfgen-rs llm-jp-eval score outputs.jsonl --limit 100 --out scores`

    - `pfgen-rs llm-jp-eval score outputs/run1 --out scores`
    """
    from pfgen_rs.llm_jp_eval import exchange, prompts, registry, running, scoring

    every = "all" in llm_jp_eval.listed_names(samples.tasks)
    if outputs.is_dir() and not any(outputs.glob(f"*{exchange.GENERATED}")):
        told = "has prompts, not outputs: " if any(outputs.glob(f"*{exchange.PROMPTS}")) else ""
        raise InputError(f"{told}there is no TASK{exchange.GENERATED} in it", path=outputs)
    found = exchange.read_exchange(outputs) or prompts.read_outputs(outputs)
    if found.failed:
        failed = counted(len(found.failed), "request")
        process.warn(f"{outputs}: {failed} failed, the first with {found.failed[0]:.200}")
    stated, shots = found.config, samples.shots
    names = llm_jp_eval.listed_names(profile) or [stated.get("profile", registry.DEFAULT)]
    shots = stated.get("chosen_shots") if shots is None else shots
    samples = replace(samples, limit=samples.limit or stated.get("n"), shots=shots)
    settings = scoring.ScoreSettings(
        n=samples.limit, prompts=samples.prompts(None), all_tasks=every
    )
    matched = running.plans_of_outputs(found, samples.plans(names, settings, found))
    try:
        done = running.scored(matched, out, allow_missing=allow_missing)
    except scoring.MissingOutputsError as error:
        advice = "--limit N scores the first N samples of each task, --allow-missing counts them as empty"
        raise InputError(f"{error}; {advice}", path=outputs) from None
    show_evaluation(*done, output_format)


def show_evaluation(
    record: Mapping[str, Any], evaluation: "Evaluation", output_format: str
) -> None:
    """Print scores as a table or as JSON. `record`: what `scores.json` says."""
    from pfgen_rs.llm_jp_eval import diagnosis
    from pfgen_rs.llm_jp_eval.registry import tasks

    chosen, notes = record["profiles"][record["profile"]], _means_of_notes(evaluation)
    if output_format == "json":
        told = {task: {"exact": e, "char_f1": c} for task, (_, e, c) in notes.items()}
        rest = {key: value for key, value in record.items() if key != "profiles"}
        several = {"profiles": record["profiles"]} if len(record["profiles"]) > 1 else {}
        process.emit_json({**rest, **chosen, **several, "notes": told})
        return
    if len(record["profiles"]) > 1 or any("@" in task for task in notes):
        terminal.show(*report.profile_tables(record["profiles"]))
    else:
        tables = [_scores_table(record, notes, shown) for shown in (4, 2)]
        terminal.show(terminal.first_that_fits(*tables))
        _show_average(record, chosen)
    for name, reason in evaluation.not_computed.items():
        process.remark(f"{name} is not computed: {reason}")
    for name, share in evaluation.out_of_label.items():
        info = tasks().get(name.removesuffix("_ool"))
        if share and info is not None and info.is_own:
            process.remark(f"{name} {share:.4f}: the share of predictions that are no label")
    if record["diagnosis"] and len(record["profiles"]) > 1:
        process.remark(f"what is lost to form is that of the profile {record['profile']}")
    report.show_diagnosis(diagnosis.of_record(record["diagnosis"]))
    _show_missing(record)


def _show_missing(record: Mapping[str, Any]) -> None:
    """Print what is missing, and the signature, of each profile."""
    for name, each in record["profiles"].items():
        if missing := sum(each["missing"].values()):
            of = f"{name}: " if len(record["profiles"]) > 1 else ""
            process.warn(
                f"{of}{counted(missing, 'output')} {plural(missing, 'was', 'were')} missing and "
                f"{plural(missing, 'counts', 'count')} as empty"
            )
        process.emit(f"{each['signature']}\n")


def _show_average(record: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    """Print the main average, or what it lacks."""
    from pfgen_rs.llm_jp_eval.registry import find_profile

    name = record["average"]
    lacking = record["lacking"].get(name, ())
    if name:
        process.emit(f"{name} –\n" if lacking else f"{name} {chosen['averages'][name]:.4f}\n")
    if lacking:
        size = len(find_profile(record["profile"]).averages[name])
        process.remark(f"{name} is the mean of {size} categories; not run: {', '.join(lacking)}")


def _scores_table(
    record: Mapping[str, Any], notes: Mapping[str, tuple[int, float, float]], shown: int
) -> Table:
    """Returns a table of scores by category, with the first `shown` columns after the number of samples."""
    from pfgen_rs.llm_jp_eval.averaging import categories, shown_averages, split_score
    from pfgen_rs.llm_jp_eval.registry import tasks

    profile, chosen = record["profile"], record["profiles"][record["profile"]]
    numbers = ["n", "score", "±", "exact", "char_f1"][: shown + 1]
    parts = {name: split_score(name, tasks()) for name in chosen["scores"]}
    averages = shown_averages(profile, {**chosen, "partial": ()})
    rows: list[list[str]] = []
    for category in categories():
        names = [name for name, (task, _) in parts.items() if tasks()[task].category == category]
        if names and category:
            mean = averages.get(category)
            lacking = "–" if category in chosen["averages"] else ""
            told = lacking if mean is None else report.average_text(mean, profile)
            rows.append([category, "", "", told, "", "", ""])
        before = ""
        for name in names:
            task, metric = parts[name]
            n, exact, ratio = notes[task]
            error = chosen["standard_errors"][name]
            score = [f"{chosen['scores'][name]:.4f}", "–" if error is None else f"{error:.4f}"]
            row = [f"  {task}", metric, f"{n:,}", *score, f"{exact:.4f}", f"{ratio:.4f}"]
            rows.append(row if task != before else ["", metric, "", *score, "", ""])
            before = task
    cut = [row[: len(numbers) + 2] for row in rows]
    table = terminal.new_table("task", "metric", *numbers, numbers=numbers, rows=cut)
    for column in table.columns[:2]:
        column.no_wrap = True
    return table


def _means_of_notes(evaluation: "Evaluation") -> dict[str, tuple[int, float, float]]:
    """Returns the number of samples, and the means of `exact` and `char_f1`, by task."""
    found = evaluation.frame.group_by("task", maintain_order=True).agg(
        pl.len().alias("n"), pl.col("exact").mean(), pl.col("char_f1").mean()
    )
    return {task: (n, exact, ratio) for task, n, exact, ratio in found.iter_rows()}
