"""`pfgen-rs watch`, which evaluates every new checkpoint, and `harness-path`."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pfgen_rs.ask import engines
from pfgen_rs.cli import app, engine_options, llm_jp_eval, options, process, progress, terminal
from pfgen_rs.metrics.settings import PARTS

if TYPE_CHECKING:
    from pfgen_rs.training.serving import EngineMaker
    from pfgen_rs.training.watch import Evaluated


@dataclass(frozen=True, kw_only=True)
class WatchOptions(engine_options.EngineChoice):
    """Who answers for a checkpoint; every field is an option."""

    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            "-e",
            metavar="|".join(engines.names()),
            help="Engine that runs the checkpoint (default: openai with --serve, else command).",
            show_default=False,
        ),
    ] = ""
    command: Annotated[
        str | None,
        typer.Option(
            metavar="'PROGRAM …'",
            help="Program that answers (command); {checkpoint} is replaced by its path, {worker} by the "
            "number of the worker.",
        ),
    ] = None
    convert: Annotated[
        str | None,
        typer.Option(
            metavar="'PROGRAM …'",
            help="Program that converts {checkpoint} into the folder {out}, which the engine then loads.",
        ),
    ] = None
    converted: Annotated[
        Literal["keep", "remove"],
        typer.Option(
            help="Keep what --convert made, and use it again, or remove it after the evaluation."
        ),
    ] = "keep"
    converted_folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where --convert puts it (default: OUT/converted)."),
    ] = None
    convert_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time limit for --convert.")
    ] = 3600.0
    serve: Annotated[
        str | None,
        typer.Option(
            metavar="'PROGRAM …'",
            help="Server to start for {checkpoint} on {port} of 127.0.0.1, and to stop after the evaluation.",
        ),
    ] = None
    serve_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time in which the server must answer.")
    ] = 600.0

    def maker(self) -> "EngineMaker":
        """Returns what makes the engine of each checkpoint."""
        from pfgen_rs.training.serving import EngineMaker

        name = self.engine or ("command" if self.serve is None else "openai")
        settings = engine_options.unprefixed(engine_options.engine_settings(self.more or []))
        return EngineMaker(
            name,
            convert=self.convert,
            keep=self.converted,
            converted=self.converted_folder,
            convert_timeout=self.convert_timeout,
            serve=self.serve,
            serve_timeout=self.serve_timeout,
            **replace(self, engine=name).own_options(),
            **settings,
        )


@options.with_options(WatchOptions, "asking", without=("batch", "prices", "keep_going"))
def watch(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the checkpoints.")],
    asking: WatchOptions,
    benchmark: options.BenchmarkName = None,
    pattern: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Pattern of checkpoint names, such as `model-{step}-*` (repeatable; default: the names "
            "that known trainers give).",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Evaluate the existing checkpoints, then exit.")
    ] = False,
    marker: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A checkpoint is complete when it contains this file (default: when nothing is missing "
            "and its files have not changed for --settle seconds).",
        ),
    ] = None,
    settle: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="How long complete checkpoints do not change."),
    ] = 5.0,
    every: Annotated[
        float,
        typer.Option(min=0.1, metavar="SECONDS", help="How often checkpoints are looked for."),
    ] = 30.0,
    out: Annotated[
        Path | None,
        options.out_option("DIR", "Folder for curve.parquet and the answers (default: DIR/pfgen)."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=app.checked_output,
            help="Also plot the curve to this file (.svg or .png).",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=app.checked_output,
            help="Also write the page of the curve to this file (.html), as `curve` does.",
        ),
    ] = None,
    compare: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="With --page: folder of another curve (repeatable)."),
    ] = None,
    trials: options.Trials = 1,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Number of questions (default: all), also 0 with --task."
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[,NAME…]",
            help="Tasks or categories of llm-jp-eval to evaluate beside the benchmark, or all (repeatable).",
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", help="With --task: first N samples of each.")
    ] = 100,
    split: Annotated[
        Literal["train", "dev", "test"], typer.Option(help="With --task: split of the samples.")
    ] = "test",
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --task: folder of converted files (default: the installed data).",
        ),
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option(
            metavar="jsonl|tensorboard|wandb|mlflow",
            help="Log the scores: to OUT/metrics.jsonl, OUT/tensorboard, or a run of wandb or mlflow, as "
            "their environment variables say (repeatable).",
        ),
    ] = None,
    mode: options.Mode = "completion",
    shots: options.Shots = 20,
    think: options.Think = "keep",
    workers: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of checkpoints to evaluate at once.")
    ] = 1,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Time for the answers of one checkpoint; later ones are left out (default: no limit).",
        ),
    ] = None,
    gate: Annotated[
        int | None,
        typer.Option(min=2, metavar="K", help="Stop when K checkpoints in a row have fallen."),
    ] = None,
    max_drop: Annotated[
        float, typer.Option(metavar="X", help="With --gate: the largest drop that is accepted.")
    ] = 0.01,
) -> None:
    """Evaluate every new checkpoint in a folder, and draw the learning curve.

    Complete checkpoints of Megatron-LM, NeMo, torchtitan, nanotron, DeepSpeed, verl, Lightning, transformers
    and Composer are recognised, and folders named like `step_500`. For other names, use `--pattern`; the
    number in the place of `{step}` is the step.

    Those that are already on the curve are not evaluated again. One that fails, or whose files change
    meanwhile, is reported, and the others are evaluated nevertheless. Several processes may watch the same
    folder, on one machine or several, and divide the checkpoints among them.

    Who answers is an engine, as in `generate`, whose model is the checkpoint. With `--command`, a program is
    started for each checkpoint. It reads one task per line, such as `{"id": 1, "prompt": "…", "seed": 5, …}`,
    from standard input, and answers each with a line `{"id": 1, "answer": "…"}`. With `--convert`, another
    program first makes from the checkpoint what the engine loads. With `--serve`, a server is started for
    each checkpoint, which the engine `openai` asks. All are started without a shell, and stopped with their
    process groups; what converters and servers print is in OUT/logs. With `--workers`, several checkpoints
    are evaluated at once; `{worker}` is a number from 0, such as that of a GPU.

    With `--gate 3`, watching ends when each of the last three checkpoints on the curve scored lower than the
    best one before them, by more than --max-drop and by more than chance allows. One line names them.

    Exit codes: 0 success, 1 a checkpoint failed, `--once` found none or left the curve empty, or scores fell
    (`--gate`), 2 bad usage or input.

    For example:

    - `pfgen-rs watch checkpoints --engine transformers --set dtype=bfloat16`

    - `pfgen-rs watch checkpoints --serve 'vllm serve {checkpoint} --port {port}' --once --plot curve.svg`

    - `pfgen-rs watch checkpoints --convert 'python convert.py {checkpoint} {out}' --engine transformers`

    - `pfgen-rs watch checkpoints --command './answer {checkpoint}' --page curve.html --compare other/pfgen`

    - `pfgen-rs watch checkpoints --command './answer {checkpoint}' --gate 3 || touch checkpoints/stop`

    - `pfgen-rs watch checkpoints --command './answer --gpu {worker} {checkpoint}' --workers 2`
    """
    from pfgen_rs.training.watch import Watcher

    watcher = Watcher(
        folder,
        asking.maker(),
        benchmark=benchmark,
        patterns=pattern or (),
        marker=marker,
        settle_seconds=settle,
        out=out,
        trials=trials,
        questions=limit,
        mode=mode,
        num_examples=shots,
        think=think,
        tasks=llm_jp_eval.listed_names(task),
        n=samples,
        split=split,
        tasks_folder=data,
        log=log or (),
        workers=workers,
        budget=budget,
        plot=plot,
        page=page,
        compare=compare or (),
        gate=gate,
        max_drop=max_drop,
    )
    checkpoints, left = len(watcher.found()), len(watcher.open())
    before = f" ({checkpoints - left} already evaluated)" if left < checkpoints else ""
    checking = "" if once else f", checking every {every:g} s"
    patterns = ", ".join(watcher.patterns) or "checkpoints"
    process.remark(f"watching {folder} for {patterns}: {checkpoints} found{before}{checking}")
    with watcher, progress.logged("pfgen_rs", process.warn):
        steps = _print_outcomes(watcher.once() if once else watcher.forever(every))
    if fall := watcher.fall():
        process.remark(f"stopped: {fall}")
        process.fail(1)
    if elsewhere := len(watcher.elsewhere):
        process.remark(f"{elsewhere} left to other processes, which are evaluating them")
    open_steps = {one.step: one for one in watcher.open()}
    failed = steps & open_steps.keys()  # others have been evaluated later, here or elsewhere
    if incomplete := open_steps.keys() - failed - watcher.elsewhere:
        missing = (
            f" ({one.path.name}: {what})" for one in open_steps.values() if (what := one.lacking())
        )
        why = "" if marker else next(missing, "")
        process.warn(f"{len(incomplete)} skipped: empty or not complete{why}")
    if failed or not (checkpoints and watcher.record.rows):
        process.fail(1)


def _print_outcomes(outcomes: "Iterable[Evaluated]") -> set[int]:
    """Print a line for each checkpoint. Returns the steps that failed."""
    failed = set()
    for outcome in outcomes:
        name = outcome.checkpoint.path.name
        if outcome.error is not None:
            process.warn(f"{name}: {outcome.error}")
        if outcome.row is None:
            failed.add(outcome.checkpoint.step)
        else:
            process.emit(_line(name, outcome.row))
            if outcome.missing:
                total = outcome.row["answers"] + outcome.missing
                process.warn(f"{name}: {outcome.missing} of {total} answers were not given in time")
    return failed


def _line(name: str, row: dict[str, float | None]) -> str:
    from pfgen_rs.training.curve import task_figures

    parts = [f"{label} {value:.4f}" for label in PARTS if (value := row[label]) is not None]
    if (score := row["score"]) is not None:
        low, high = row["score_low"], row["score_high"]
        interval = "" if low is None else f" ({low:.4f}…{high:.4f})"
        parts.insert(0, f"score {score:.4f}{interval}")
    parts += [f"{task} {value:.4f}" for task, value in task_figures(row).items()]
    return f"{terminal.cell(name)}: {', '.join(parts)}\n"


def harness_path(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the harness, such as lm_eval.")
    ],
    task_folder: llm_jp_eval.TaskFolders = None,
) -> None:
    """Write the task files for an evaluation harness, and print only the path of their folder.

    Example: `lm_eval --include_path "$(pfgen-rs harness-path lm_eval)" --tasks pfgen`
    """
    from pfgen_rs import integrations

    llm_jp_eval.add_folders(task_folder)
    process.emit(f"{integrations.harness_path(name)}\n")
