"""`pfgen-rs judge dialogues`: graded dialogues, such as those of Japanese MT-bench++."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import (
    judge_dialogue_answers,
    judge_dialogue_grades,
    judge_dialogue_tables,
    loading,
    options,
    output,
)
from pfgen_rs.cli.judge_dialogue_options import (
    FieldsFile,
    PerCategory,
    Seed,
    VersionName,
    read_dialogue_fields,
    show_dialogue_grid,
)
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    from pfgen_rs.judge.dialogues.records import Dialogue

__all__ = ["app"]

app = loading.group("Count, select, tabulate, answer and grade dialogues of two turns.")

Data = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="Dialogue records (JSON lines).", show_default=False),
]


@app.command()
def sizes(
    data: Data, fields: FieldsFile = None, output_format: options.Rows = options.RowsFormat.TABLE
) -> None:
    """Count the dialogues of each category and type of second turn.

    Example: `pfgen-rs judge dialogues sizes dialogues.jsonl`
    """
    from pfgen_rs.judge.dialogues import tables
    from pfgen_rs.judge.dialogues.layout import plain

    frame = tables.sizes(_read_dialogue_file(data, fields))
    if output_format is options.RowsFormat.JSON:
        output.emit_json(frame.to_dicts())
    elif output_format is options.RowsFormat.CSV:
        output.emit_csv(frame.to_dicts())
    else:
        show_dialogue_grid(plain(frame, 1, 0))


@app.command()
def light(
    data: Data,
    version: Annotated[
        VersionName,
        typer.Argument(metavar="VERSION", help="One of lite, easy and hard.", show_default=False),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File to write (JSON lines).")
    ],
    per_category: PerCategory = 60,
    seed: Seed = 0,
    fields: FieldsFile = None,
) -> None:
    """Select a light version: as many dialogues of each category, half of each type of second turn.

    `lite` is a random choice. `easy` and `hard` take the dialogues whose second answers by models got the
    highest or lowest mean score from people. Dialogues without such scores are left out. The records are
    written as they are.

    Example: `pfgen-rs judge dialogues light dialogues.jsonl hard --out hard.jsonl`
    """
    from pfgen_rs.io import write_atomic
    from pfgen_rs.io.patterns import refuse_overwriting
    from pfgen_rs.judge.dialogues.tables import light_version

    refuse_overwriting(out, [str(data)])
    dialogues = _read_dialogue_file(data, fields)
    chosen = light_version(dialogues, version.value, per_category=per_category, seed=seed)
    if chosen.unscored:
        output.warn(f"left out {counted(chosen.unscored, 'dialogue')} without human scores")
    write_atomic(out, b"".join(each.source + b"\n" for each in chosen.dialogues))
    output.emit(f"wrote {counted(len(chosen.dialogues), 'dialogue')} to {out}\n")


app.command("tables")(judge_dialogue_tables.tables)
app.command("answer")(judge_dialogue_answers.answer)
app.command("grade")(judge_dialogue_grades.grade)


def _read_dialogue_file(data: Path, fields: Path | None) -> tuple[Dialogue, ...]:
    from pfgen_rs.judge.dialogues.records import read_dialogues

    return read_dialogues(data, read_dialogue_fields(fields))
