"""`pfgen-rs build CONFIG`: builds a set of reference answers from candidates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import build_check, build_rules, loading, options, output, progress_log
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    from pfgen_rs.references.pipeline import Built
    from pfgen_rs.references.writing import BuiltQuestion

__all__ = ["app"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}
_LEAST = 64 << 20


class _Build(loading.Group):
    """`build CONFIG` is `build run CONFIG`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command `run` if none is named."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = loading.group("Build sets of reference answers from candidates, and check sets.", cls=_Build)


def _build_memory_size(text: str) -> int:
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
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed (default: `seed` in CONFIG).")
    ] = None,
    allow_fewer: Annotated[
        bool, typer.Option("--allow-fewer", help="Also write questions with too few answers.")
    ] = False,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory limit, such as 4GB.")
    ] = "4GiB",
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Reuse the finished steps of a build that did not complete."),
    ] = False,
    output_format: options.Format = options.JsonFormat.TABLE,
    threads: options.Threads = None,
) -> None:
    """Build a set: normalise, filter and select candidates, and write question files.

    The same candidates, configuration and seed produce the same files. `provenance.json` beside them records
    what happened to every answer.

    Example: `pfgen-rs build my-set.toml --memory 4GB`
    """
    from pfgen_rs.references.config import read_config
    from pfgen_rs.references.pipeline import build, work_folder

    changed = read_config(config).with_changes(
        out=None if out is None else str(out.absolute()),
        only=tuple(only) if only else None,
        seed=seed,
        allow_fewer=allow_fewer or None,
    )
    size = _build_memory_size(memory)
    kept = output.resumable(lambda: work_folder(changed), "done", output.RESUME)
    logged = progress_log.logged("pfgen_rs.references", output.warn)
    with kept, logged, output.building() as progress:
        built = build(changed, memory=size, threads=threads, resume=resume, progress=progress)
    for each in built.inputs:
        if each.left_out:
            output.warn(f"{each.name}: skipped {counted(each.left_out, 'line')}")
    for question in built.left_out:
        output.warn(f"question {question.outline.question_id}: skipped, because no answer is left")
    if output_format is options.JsonFormat.JSON:
        output.emit_json(_rows_of_build(built))
    else:
        _show_build(built)


app.command("suggest-rules")(build_rules.suggest_rules)
app.command("accept-rules")(build_rules.accept_rules)
app.command("check")(build_check.check)


def _rows_of_build(built: Built) -> list[dict[str, Any]]:
    return [
        {
            "question_id": question.outline.question_id,
            "candidates": question.candidates,
            **{report.step: report.after for report in question.reports},
            "answers": {source: len(answers) for source, answers in question.answers.items()},
            "lengths": {
                source: {"mean": each.mean, "std": each.std}
                for source, each in question.lengths.items()
            },
        }
        for question in [*built.questions, *built.left_out]
    ]


def _show_build(built: Built) -> None:
    steps = [report.step for report in built.questions[0].reports]
    names = ["candidates", *steps, "lengths"]
    table = output.new_table("question", *names, numbers=names)
    for question in [*built.questions, *built.left_out]:
        counts = [question.candidates, *(report.after for report in question.reports)]
        table.add_row(
            output.cell(question.outline.question_id),
            *(output.cell(f"{count:,}") for count in counts),
            output.cell(_shown_build_lengths(question)),
        )
    output.show(table, output.cell(str(built.folder)))


def _shown_build_lengths(question: BuiltQuestion) -> str:
    """Returns the mean length and its standard deviation of each source."""
    return ", ".join(f"{each.mean:.1f} ±{each.std:.1f}" for each in question.lengths.values())
