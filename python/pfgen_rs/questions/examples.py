"""Example answers to a benchmark's questions, which prompts show to models."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pfgen_rs.errors import BenchmarkError, InputError, unreadable
from pfgen_rs.io.lines import parse_line, text_field
from pfgen_rs.io.run_files import EXAMPLES
from pfgen_rs.questions.locate import benchmark_path


class Example(NamedTuple):
    """A question and its example answer."""

    question: str
    answer: str


def read_examples(place: str | os.PathLike[str] | None = None) -> list[Example]:
    """Returns the questions of a benchmark with their example answers, in the order in which they are asked.

    `place`: any argument of `load_benchmark` (its `questions.jsonl` is read), or a JSON lines file with
    `question` and `answer`. Raises `BenchmarkNotFoundError`, or `BenchmarkError` with file and line.
    """
    path = _examples_path(place)
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise BenchmarkError(
            f"{unreadable(error)}: expected the example answers that prompts show, one line per "
            'question: {"question": …, "answer": …}',
            path=path,
        ) from error
    examples = list(_parsed_examples(lines, path))
    _reject_duplicate_examples(examples, path)
    return examples


def _examples_path(place: str | os.PathLike[str] | None) -> Path:
    if place is not None and Path(place).is_file():
        return Path(place)
    folder = benchmark_path(place)
    places = [folder / EXAMPLES, folder / "data" / EXAMPLES]
    return next(filter(Path.is_file, places), places[0])


def _parsed_examples(lines: list[bytes], path: Path) -> Iterator[Example]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = parse_line(line)
            yield Example(text_field(record, "question"), text_field(record, "answer"))
        except InputError as error:
            raise BenchmarkError(f"line {number}: {error.problem}", path=path) from None


def _reject_duplicate_examples(examples: list[Example], path: Path) -> None:
    if not examples:
        raise BenchmarkError("contains no questions", path=path)
    seen: set[str] = set()
    for question, _ in examples:
        if question in seen:
            raise BenchmarkError(f"duplicate question {question!r}", path=path)
        seen.add(question)
