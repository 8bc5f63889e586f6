"""What the commands of `pfgen-rs judge dialogues` share: options, and tables on the terminal."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import output

if TYPE_CHECKING:
    from pfgen_rs.judge.dialogues.layout import Grid
    from pfgen_rs.judge.dialogues.records import Fields

__all__ = [
    "FieldsFile",
    "PerCategory",
    "Seed",
    "TurnsName",
    "VersionName",
    "read_dialogue_fields",
    "show_dialogue_grid",
]

FieldsFile = Annotated[
    Path | None,
    typer.Option(
        "--fields",
        metavar="FILE",
        help="TOML file whose table [fields] gives the keys of dialogue records other names.",
    ),
]
PerCategory = Annotated[
    int,
    typer.Option(
        "--per-category",
        "-n",
        metavar="N",
        help="Number of dialogues of each category in a light version, half of each type.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of random choices.")]


class VersionName(StrEnum):
    """A light version."""

    LITE = "lite"
    EASY = "easy"
    HARD = "hard"


class TurnsName(StrEnum):
    """Which answers a model writes."""

    SECOND = "second"
    BOTH = "both"


def read_dialogue_fields(path: Path | None) -> Fields | None:
    """Returns the names of fields in a file, if there is one."""
    from pfgen_rs.judge.dialogues.records import read_fields

    return None if path is None else read_fields(path)


def show_dialogue_grid(grid: Grid, title: str | None = None) -> None:
    """Print a table."""
    table = output.new_table(*grid.headings, numbers=grid.headings[grid.labels :], title=title)
    for row in grid.rows:
        table.add_row(*map(output.cell, row))
    output.show(table)
