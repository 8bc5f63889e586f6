"""Generating answers: prompts, engines, and run folders that pfgen-bench accepts."""

from pfgen_rs.generate.examples import Example, read_examples
from pfgen_rs.generate.prompts import Mode, Prompter, Task

__all__ = ["Example", "Mode", "Prompter", "Task", "read_examples"]
