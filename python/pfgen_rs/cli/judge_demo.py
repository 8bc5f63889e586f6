"""`pfgen-rs judge demo`: the path from pairs to rankings on the bundled sample, without a judge."""

from __future__ import annotations

from typer.main import get_group

from pfgen_rs.cli import judge, output
from pfgen_rs.cli.demo_steps import DemoStep, demo_succeeds, tell

__all__ = ["demo"]

_PROGRAM = "pfgen-rs judge"

_RECORDED = (
    "pairs runs/kaede runs/nagi runs/shiori --out pairs.jsonl",
    "criteria pairs.jsonl --engine openai --model gpt-4o",
    "compare pairs.jsonl --engine openai --model gpt-4o --prompt criteria-reason --out verdicts/careful",
)
"""What would make the verdicts of the sample; not run."""

_STEPS = (
    DemoStep(
        "Both orders of each pair are decided by their mean probabilities:",
        "decide verdicts/careful --by probability",
    ),
    DemoStep(
        "A judge that favours the answer it saw first leaves many pairs undecided:",
        "decide verdicts/hasty --by strict",
    ),
    DemoStep(
        "How far is it to be trusted, and what do mean probabilities change?",
        "agree verdicts/hasty --humans humans.jsonl",
    ),
    DemoStep("Which model is best, and how sure is that?", "rank verdicts/careful"),
    DemoStep(
        "Does a judge prefer the answers with the higher scores of pfgen-bench?", "against-scores"
    ),
    DemoStep("How many dialogues are there?", "dialogues sizes dialogues.jsonl"),
    DemoStep(
        "What do people and the judge think of the second answers?",
        "dialogues tables dialogues.jsonl --table 4",
    ),
    DemoStep(
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
    tell("The sample is made up: its numbers say nothing about models, people or judges.")
    output.emit(f"\n$ cd {folder}\n")
    tell("\nThese commands need runs and a judge; what they give is recorded in the sample:")
    output.emit("\n" + "".join(f"# {_PROGRAM} {each}\n" for each in _RECORDED))
    command = get_group(judge.app)
    failed = False
    known = {path.name for path in folder.iterdir()}
    for step in _STEPS:
        tell(f"\n{step.text}")
        output.emit(f"\n$ {_PROGRAM} {step.arguments}\n")
        arguments = [
            str(folder / each) if each.partition("/")[0] in known else each
            for each in step.arguments.split()
        ]
        failed |= not demo_succeeds(command, _PROGRAM, arguments)
    if failed:
        output.fail(output.BAD_INPUT)
