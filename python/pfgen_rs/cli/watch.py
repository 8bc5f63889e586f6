"""`pfgen-rs watch`, which evaluates every new checkpoint, and `harness-path`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import app, llm_jp_eval, options, process, terminal
from pfgen_rs.metrics.settings import PARTS

if TYPE_CHECKING:
    from pfgen_rs.training.watch import Evaluated


def watch(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the checkpoints.")],
    command: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Program that generates answers, with arguments; {checkpoint} is replaced by its "
            "path, {worker} by the number of the worker.",
        ),
    ],
    benchmark: options.BenchmarkName = None,
    pattern: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Pattern of checkpoint names (repeatable; default: `step_*` and `checkpoint-*`).",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Evaluate the existing checkpoints, then exit.")
    ] = False,
    marker: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A checkpoint is complete when it contains this file (default: when its files have "
            "not changed for 5 seconds).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        options.out_option("DIR", "Folder for curve.parquet and the answers (default: DIR/pfgen)."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also plot the curve to this file (.svg or .png)."),
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
        int | None, typer.Option(min=1, metavar="N", help="Number of questions (default: all).")
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

    The program is started, without a shell, for each checkpoint. It reads one task per line, such as
    `{"id": 1, "prompt": "…", "seed": 5, …}`, from standard input, and answers each with a line
    `{"id": 1, "answer": "…"}`. Checkpoints are looked for every 30 seconds. Those that are already on the
    curve are not evaluated again. A checkpoint that fails is reported, and the others are evaluated
    nevertheless. With `--workers`, several programs run at once; `{worker}` is a number from 0, such as that
    of a GPU.

    With `--gate 3`, watching ends when each of the last three checkpoints on the curve scored lower than the
    best one before them, by more than --max-drop and by more than chance allows. One line names them.

    Exit codes: 0 success, 1 a checkpoint failed, `--once` found none, or scores fell (`--gate`), 2 bad usage
    or input.

    For example:

    - `pfgen-rs watch checkpoints --command 'python answer.py {checkpoint}'`

    - `pfgen-rs watch checkpoints --command './answer {checkpoint}' --once --plot curve.svg`

    - `pfgen-rs watch checkpoints --command './answer {checkpoint}' --page curve.html --compare other/pfgen`

    - `pfgen-rs watch checkpoints --command './answer {checkpoint}' --gate 3 || touch checkpoints/stop`

    - `pfgen-rs watch checkpoints --command './answer --gpu {worker} {checkpoint}' --workers 2`
    """
    from pfgen_rs.training.checkpoints import PATTERNS
    from pfgen_rs.training.watch import Watcher

    watcher = Watcher(
        folder,
        command,
        benchmark=benchmark,
        patterns=pattern or PATTERNS,
        marker=marker,
        out=out,
        trials=trials,
        questions=limit,
        mode=mode,
        num_examples=shots,
        think=think,
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
    checking = "" if once else ", checking every 30 s"
    patterns = ", ".join(watcher.patterns)
    process.remark(f"watching {folder} for {patterns}: {checkpoints} found{before}{checking}")
    failed = _print_outcomes(watcher.once() if once else watcher.forever())
    if fall := watcher.fall():
        process.remark(f"stopped: {fall}")
        process.fail(1)
    incomplete = len(watcher.open()) - failed
    if incomplete:
        process.warn(f"{incomplete} skipped, because they are empty or still being written")
    if failed or not checkpoints:
        process.fail(1)


def _print_outcomes(outcomes: "Iterable[Evaluated]") -> int:
    """Print a line for each checkpoint. Returns the number of failures."""
    failed = 0
    for outcome in outcomes:
        name = outcome.checkpoint.path.name
        if outcome.row is None:
            failed += 1
            process.warn(f"{name}: {outcome.error}")
        else:
            process.emit(_line(name, outcome.row))
            if outcome.missing:
                total = outcome.row["answers"] + outcome.missing
                process.warn(f"{name}: {outcome.missing} of {total} answers were not given in time")
    return failed


def _line(name: str, row: dict[str, float | None]) -> str:
    parts = [f"{label} {row[label]:.4f}" for label in PARTS]
    interval = (
        "" if row["score_low"] is None else f" ({row['score_low']:.4f}…{row['score_high']:.4f})"
    )
    return f"{terminal.cell(name)}: score {row['score']:.4f}{interval}, {', '.join(parts)}\n"


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
