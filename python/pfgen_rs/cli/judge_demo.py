"""`pfgen-rs judge demo`: the path from pairs to rankings on the bundled sample, without a judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from typer.core import TyperGroup
from typer.main import get_group

from pfgen_rs.cli import judge, output
from pfgen_rs.errors import PfgenError

__all__ = ["demo"]

_PROGRAM = "pfgen-rs judge"


class _Step(NamedTuple):
    """What a command is for, and its arguments; files are named as in the sample."""

    text: str
    arguments: str


_RECORDED = (
    "pairs runs/kaede runs/nagi runs/shiori --out pairs.jsonl",
    "criteria pairs.jsonl --engine openai --model gpt-4o",
    "compare pairs.jsonl --engine openai --model gpt-4o --prompt criteria-reason --out verdicts/careful",
)
"""What would make the verdicts of the sample; not run."""

_STEPS = (
    _Step(
        "Both orders of each pair are decided by their mean probabilities:",
        "decide verdicts/careful --by probability",
    ),
    _Step(
        "A judge that favours the answer it saw first leaves many pairs undecided:",
        "decide verdicts/hasty --by strict",
    ),
    _Step(
        "How far is it to be trusted, and what do mean probabilities change?",
        "agree verdicts/hasty --humans humans.jsonl",
    ),
    _Step("Which model is best, and how sure is that?", "rank verdicts/careful"),
    _Step(
        "Does a judge prefer the answers with the higher scores of pfgen-bench?", "against-scores"
    ),
    _Step("How many dialogues are there?", "dialogues sizes dialogues.jsonl"),
    _Step(
        "What do people and the judge think of the second answers?",
        "dialogues tables dialogues.jsonl --table 4",
    ),
    _Step(
        "Do they agree, and does the judge like long answers?",
        "dialogues tables dialogues.jsonl --table 5 --table length-bias",
    ),
)


def demo() -> None:
    """Show the commands on the bundled sample, with recorded verdicts instead of a judge.

    Each command is printed before its output, so that it can be tried with your own files. The sample is made
    up: its numbers say nothing about models, people or judges.

    Example: `pfgen-rs judge demo`
    """
    from pfgen_rs.judge.sample import sample_path

    folder = sample_path()
    _say("The sample is made up: its numbers say nothing about models, people or judges.")
    output.emit(f"\n$ cd {folder}\n")
    _say("\nThese commands need runs and a judge; what they give is recorded in the sample:")
    output.emit("\n" + "".join(f"# {_PROGRAM} {each}\n" for each in _RECORDED))
    command = get_group(judge.app)
    failed = False
    known = {path.name for path in folder.iterdir()}
    for step in _STEPS:
        _say(f"\n{step.text}")
        output.emit(f"\n$ {_PROGRAM} {step.arguments}\n")
        arguments = [
            str(folder / each) if each.partition("/")[0] in known else each
            for each in step.arguments.split()
        ]
        failed |= not _succeeds(command, arguments)
    if failed:
        output.fail(output.BAD_INPUT)


def _succeeds(command: TyperGroup, arguments: Sequence[str]) -> bool:
    """Run a command; if it fails, such as without an optional package, the others can still be shown."""
    try:
        command.main(args=list(arguments), prog_name=_PROGRAM, standalone_mode=False)
    except PfgenError as error:
        output.print_error(error)
        return False
    return True


def _say(text: str) -> None:
    output.emit(f"{text}\n")
