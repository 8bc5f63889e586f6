"""`pfgen-rs build`: builds sets of reference answers from candidates, and checks sets."""

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import RenderableType

from pfgen_rs.cli import app as loading, options, process, progress as progress_log, terminal
from pfgen_rs.io.text import counted

if TYPE_CHECKING:
    from pfgen_rs.references.built import Built
    from pfgen_rs.references.check import Check

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}
_LEAST = 64 << 20
_CONTINUE = "run the same command again to continue"


class _Build(loading.Group):
    """`build CONFIG` is `build run CONFIG`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command `run` if none is named."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = loading.group("Build sets of reference answers from candidates, and check sets.", cls=_Build)


def _memory_size(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,12})\s*([KMG]?I?)B?", text.strip().upper())
    if match is None or match[2] not in _UNITS:
        raise typer.BadParameter(f"invalid size {text!r}: expected a size such as 4GB or 512MiB")
    size = int(match[1]) * _UNITS[match[2]]
    if size < _LEAST:
        raise typer.BadParameter(f"must be at least {_LEAST >> 20} MiB, not {text!r}")
    return size


@app.command()
def run(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="Configuration file (TOML).")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the set (default: `out` in CONFIG)."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--question", metavar="ID", help="Build only this question; repeatable."),
    ] = None,
    allow_fewer: Annotated[
        bool, typer.Option("--allow-fewer", help="Also write questions with too few answers.")
    ] = False,
    memory: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Memory that the process may use, such as 4GB."),
    ] = "4GiB",
    output_format: options.Format = "table",
    threads: options.Threads = None,
) -> None:
    """Build a set: normalise, filter and select candidates, and write question files.

    The same candidates, configuration and seed produce the same files. `provenance.json` beside them records
    what happened to every answer. Finished steps of a build that did not complete are reused.

    Example: `pfgen-rs build my-set.toml --memory 4GB`
    """
    from pfgen_rs.references.config import read_config
    from pfgen_rs.references.pipeline import build, work_folder

    changed = read_config(config).with_changes(
        out=None if out is None else str(out.absolute()),
        only=tuple(only) if only else None,
        allow_fewer=allow_fewer or None,
    )
    size = _memory_size(memory)
    kept = process.resumable(lambda: work_folder(changed), "done", _CONTINUE)
    logged = progress_log.logged("pfgen_rs.references", process.warn)
    with kept, logged, terminal.building() as progress:
        built = build(changed, memory=size, threads=threads, progress=progress)
    for each in built.inputs:
        if each.left_out:
            process.warn(f"{each.name}: skipped {counted(each.left_out, 'line')}")
    for question in built.left_out:
        process.warn(f"question {question.outline.question_id}: skipped, because no answer is left")
    if output_format == "json":
        process.emit_json(_json_rows(built))
    else:
        _show(built)


def _json_rows(built: "Built") -> list[dict[str, Any]]:
    return [
        {
            "question_id": question.outline.question_id,
            "candidates": question.candidates,
            **{report.step: report.after for report in question.reports},
            "answers": {source: len(answers) for source, answers in question.answers.items()},
            "lengths": {source: each._asdict() for source, each in question.lengths.items()},
        }
        for question in [*built.questions, *built.left_out]
    ]


def _show(built: "Built") -> None:
    steps = [report.step for report in built.questions[0].reports]
    names = ["candidates", *steps, "lengths"]
    table = terminal.new_table("question", *names, numbers=names)
    for question in [*built.questions, *built.left_out]:
        counts = [question.candidates, *(report.after for report in question.reports)]
        lengths = [f"{each.mean:.1f} ±{each.std:.1f}" for each in question.lengths.values()]
        cells = [question.outline.question_id, *(f"{n:,}" for n in counts), ", ".join(lengths)]
        table.add_row(*map(terminal.cell, cells))
    terminal.show(table, terminal.cell(str(built.folder)))


@app.command("suggest-rules")
def suggest_rules(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="Configuration file that lists the candidates.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="List to write (CSV; default: standard output)."),
    ] = None,
) -> None:
    """List places where candidates contradict each other in numbers and names.

    What most answers say is a hint, not a proof: read the list, and write rules against what is wrong.

    Example: `pfgen-rs build suggest-rules my-set.toml --out contradictions.csv`
    """
    from pfgen_rs.io import atomic, table_writer
    from pfgen_rs.references.config import read_config
    from pfgen_rs.references.contradictions import review_list

    with terminal.building() as progress:
        listed = review_list(read_config(config), progress=progress)
    if out is None:
        process.emit(table_writer.csv_text(listed))
    else:
        atomic.write_atomic(out, table_writer.csv_text(listed).encode())
        places = listed.n_unique(["question_id", "before", "after"]) if len(listed) else 0
        process.emit(f"wrote {counted(places, 'place')} to {out}\n")


# Columns of the summary for which a terminal has room, and their headings.
_HEADINGS = {
    "question_id": "question",
    "answers": "answers",
    "near_pairs": "near pairs",
    "length": "length",
    "self_fluency": "fluency",
    "self_truthfulness": "truthfulness",
    "self_helpfulness": "helpfulness",
    "agreement": "agreement",
    "note_average": "example",
    "warnings": "warnings",
}


@app.command("check")
def check(
    benchmark: Annotated[
        str,
        typer.Argument(metavar="SET", help="A folder of question files, or a benchmark's name."),
    ],
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="FILE|DIR",
            help="Run to score with the set and with its sources (repeatable; a quoted glob is "
            "expanded). Correlations need three runs.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="SET", help="Another set, to correlate the scores of the runs with."),
    ] = None,
    influence: Annotated[
        bool,
        typer.Option(
            "--influence",
            help="Measure how much models that wrote reference answers lift their own scores.",
        ),
    ] = False,
    leave_out: Annotated[
        Literal["model", "family"],
        typer.Option(help="With --influence: a model, or all models of its organisation."),
    ] = "model",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for all tables (CSV) and a report (check.md)."),
    ] = None,
    output_format: options.Format = "table",
    threads: options.Threads = None,
) -> None:
    """Diagnose a set of reference answers.

    For each question, the table shows its answers' scores against the other answers (fluency, truthfulness,
    helpfulness), how well its sources agree (agreement), the score of its example answer, and warnings.
    Warnings do not change the exit code. With --against, it says how many sources of another set would rank
    the runs as well as this set.

    For example:

    - `pfgen-rs build check my-set`

    - `pfgen-rs build check my-set --run 'runs/*' --out checked`

    - `pfgen-rs build check my-set --run 'runs/*' --against pfgen-bench`
    """
    from pfgen_rs.references.check import check as check_set

    with terminal.building() as progress, progress_log.logged("pfgen_rs", process.warn):
        tell = partial(progress, benchmark)
        how: dict[str, Any] = {"influence": leave_out if influence else None, "threads": threads}
        checked = check_set(benchmark, run or (), against=against, progress=tell, **how)
    if out is not None:
        checked.to_dir(out)
    if output_format == "json":
        questions = checked.summary.to_dicts()
        about = {"signature": checked.signature, "findings": checked.findings}
        shown = checked.tables.keys() & {"against", "against_runs", "influence"}
        found = {name: checked.tables[name].to_dicts() for name in sorted(shown)}
        process.emit_json({**about, "questions": questions, **found})
    else:
        terminal.show(*_check_lines(checked))


def _check_lines(checked: "Check") -> list[RenderableType]:
    summary = checked.summary.select([*_HEADINGS, "length_std"])
    numbers = [_HEADINGS[name] for name in _HEADINGS if summary.schema[name].is_numeric()]
    table = terminal.new_table(*_HEADINGS.values(), numbers=numbers)
    for row in summary.iter_rows(named=True):
        spread = row.pop("length_std")
        shown = {name: _shown(name, value) for name, value in row.items()}
        shown["length"] += f" ±{spread:.1f}"
        table.add_row(*map(terminal.cell, shown.values()))
    lines = [terminal.cell(f"- {finding}") for finding in checked.findings]
    return [table, *lines, terminal.cell(checked.signature)]


def _shown(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.1f}" if name == "length" else f"{value:.3f}"
    return str(value)
