"""Steps of demos: commands that are shown before their output."""

from collections.abc import Sequence
from typing import NamedTuple

from typer.core import TyperGroup

from pfgen_rs.cli import process
from pfgen_rs.errors import PfgenError


class DemoStep(NamedTuple):
    """What a command is for, and its arguments; files are named as in the sample."""

    text: str
    arguments: str


def demo_succeeds(command: TyperGroup, program: str, arguments: Sequence[str]) -> bool:
    """Run a command; if it fails, such as without an optional package, print why and return false."""
    try:
        command.main(args=list(arguments), prog_name=program, standalone_mode=False)
    except PfgenError as error:
        process.print_error(error)
        return False
    return True


def tell(text: str) -> None:
    """Print a line."""
    process.emit(f"{text}\n")
