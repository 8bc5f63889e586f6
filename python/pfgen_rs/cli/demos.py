"""Demos: commands on a bundled sample, each shown before its output."""

from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from pfgen_rs.cli import process
from pfgen_rs.errors import PfgenError


def show_demo(
    app: typer.Typer,
    program: str,
    folder: Path,
    texts: tuple[str, str],
    recorded: Sequence[str],
    steps: Sequence[tuple[str, str]],
    split: Callable[[str], list[str]] = str.split,
) -> None:
    """Print the commands whose outcome is recorded, then run the others.

    `texts`: what the sample does not say, and what the recorded commands need. `steps`: what a command is
    for, and its arguments. If one fails, such as without an optional package, the reason is printed and the
    next is run; the exit code is that of bad input.
    """
    about, needed = texts
    process.emit(f"{about}\n\n$ cd {folder}\n\n{needed}\n\n")
    process.emit("".join(f"# {program} {each}\n" for each in recorded))
    command, failed = typer.main.get_group(app), False
    for text, words in steps:
        process.emit(f"\n{text}\n\n$ {program} {words}\n")
        try:
            command.main(args=split(words), prog_name=program, standalone_mode=False)
        except PfgenError as error:
            process.print_error(error)
            failed = True
    if failed:
        process.fail(process.BAD_INPUT)
