"""`pfgen-rs llm-jp-eval demo`: from raw files to a comparison on the bundled sample, without a model."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_group

from pfgen_rs.cli import llm_jp_eval, output
from pfgen_rs.cli.demo_steps import DemoStep, demo_succeeds, tell

__all__ = ["demo"]

_PROGRAM = "pfgen-rs llm-jp-eval"

_MODEL_STEPS = (
    "run smollm2 --engine openai --data data --shots 3",
    "run smollm2 --engine openai --data data --shots 0",
)
"""What would make the outputs of the sample; not run."""

_MADE = ("data", "prompts.jsonl", "3-shot", "0-shot")
"""What the commands make."""

_DEMO_STEPS = (
    DemoStep("Raw files become the files of llm-jp-eval:", "convert --raw raw_files --out data"),
    DemoStep(
        "Prompts for inference elsewhere:", "prompts --data data --shots 3 --out prompts.jsonl"
    ),
    DemoStep(
        "What a small model said to them, scored:",
        "score outputs/3-shot.jsonl --data data --shots 3 --out 3-shot",
    ),
    DemoStep(
        "Are three examples better than none?",
        "score outputs/0-shot.jsonl --data data --shots 0 --out 0-shot",
    ),
    DemoStep("Both compared, sample by sample:", "report 3-shot 0-shot"),
)


def demo() -> None:
    """Show the commands on the bundled sample, with recorded outputs instead of a model.

    Each command is printed before its output, so that it can be tried with your own files. The texts are made
    up to contain edge cases: the scores say nothing about models.

    Example: `pfgen-rs llm-jp-eval demo`
    """
    from pfgen_rs.llm_jp_eval.sample import sample_path

    folder = sample_path()
    tell("The sample is made up: scores on it say nothing about models.")
    output.emit(f"\n$ cd {folder}\n")
    tell("\nThese commands need a model; what it said is recorded in the sample:")
    output.emit("\n" + "".join(f"# {_PROGRAM} {each}\n" for each in _MODEL_STEPS))
    command = get_group(llm_jp_eval.app)
    places = {path.name: folder for path in folder.iterdir()}
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-demo-") as made:
        places |= dict.fromkeys(_MADE, Path(made))
        succeeded = [_demo_step(command, step, places) for step in _DEMO_STEPS]
    if not all(succeeded):
        output.fail(output.BAD_INPUT)


def _demo_step(command: TyperGroup, step: DemoStep, places: Mapping[str, Path]) -> bool:
    """Run a command on files of the sample and on what the commands before it have made."""
    tell(f"\n{step.text}")
    output.emit(f"\n$ {_PROGRAM} {step.arguments}\n")
    words = []
    for word in step.arguments.split():
        place = places.get(word.partition("/")[0])
        words.append(word if place is None else str(place / word))
    return demo_succeeds(command, _PROGRAM, words)
