"""What the examples train on: the texts of the bundled benchmark, a token a character."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import Benchmark
from pfgen_rs.generate import Example, Prompter, read_examples

__all__ = ["END", "Characters", "batches", "training_texts"]

END = "\0"
Rows = NDArray[np.int32]


class Characters:
    """The characters of some texts as tokens. Token 0 ends a text, and fills the rest of its row.

    Small Latin letters are always among them: transformers needs some to look for stop strings.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.known = [END, *sorted(set(ascii_lowercase).union(*texts))]
        self.codes = {character: code for code, character in enumerate(self.known)}
        self.context = max(map(len, texts)) + 1

    def rows(self, texts: Sequence[str]) -> Rows:
        """Tokens of shape (texts, context)."""
        rows = np.zeros((len(texts), self.context), dtype=np.int32)
        for row, text in zip(rows, texts, strict=True):
            row[: len(text)] = [self.codes[character] for character in text]
        return rows

    def text(self, row: Rows) -> str:
        """The text of a row, up to its end."""
        return "".join(self.known[code] for code in row).partition(END)[0]


def training_texts(benchmark: Benchmark) -> list[str]:
    """Each sample and reference answer behind the prompt that asks for it, without samples in it."""
    examples = read_examples(benchmark.folder)
    prompts = {task.question: task.prompt for task in Prompter(examples, num_examples=0).tasks(1)}
    pairs = list(examples)
    for question in benchmark:
        texts = [text for source in question.answers.values() for text in source]
        pairs += [Example(question.text, text) for text in texts]
    return [f"{prompts[question]} {answer}\n\n" for question, answer in pairs]


def batches(rows: Rows, size: int, seed: int) -> Iterator[Rows]:
    """So many rows at a time, in random order, again and again."""
    random = np.random.default_rng(seed)
    while True:
        order = random.permutation(len(rows))
        for start in range(0, len(rows) - size + 1, size):
            yield rows[order[start : start + size]]
