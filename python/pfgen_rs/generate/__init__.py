"""Generating answers: prompts, engines, and run folders that pfgen-bench accepts."""

from pfgen_rs.ask.protocol import Task
from pfgen_rs.generate.config import Prompter, RunConfig
from pfgen_rs.generate.runner import Run, generate, open_tasks
from pfgen_rs.io.cleaning import Mode
from pfgen_rs.questions.examples import Example, read_examples

__all__ = [
    "Example",
    "Mode",
    "Prompter",
    "Run",
    "RunConfig",
    "Task",
    "generate",
    "open_tasks",
    "read_examples",
]
