"""Example answers to a benchmark's questions, which prompts show to models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs.errors import BenchmarkError, InputError
from pfgen_rs.io.json_lines import parsed
from pfgen_rs.io.lines import text_field
from pfgen_rs.io.run_files import EXAMPLES
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.questions.question import read_folder


class Example(NamedTuple):
    """A question and its example answer."""

    question: str
    answer: str


def read_examples(
    place: str | os.PathLike[str] | None = None, *, shown: bool = True
) -> list[Example]:
    """Returns the questions of a benchmark with their example answers, in the order in which they are asked.

    `place`: any argument of `load_benchmark` (its `questions.jsonl` is read), or a JSON lines file with
    `question` and `answer`. `shown`: whether prompts show the answers; otherwise a benchmark without that
    file has its questions, by id, with empty answers. Raises `BenchmarkNotFoundError`, or `BenchmarkError`
    with file and line.
    """
    path = _examples_path(place)
    if not shown and not path.exists():
        return [Example(question.text, "") for question in read_folder(benchmark_path(place))[0]]
    try:
        examples = [example for _, example in parsed(path, _example)]
    except InputError as error:
        if error.line is None:
            problem = (
                f"{error.problem}: expected the example answers that prompts show, one line per "
                'question: {"question": …, "answer": …}; without examples (--shots 0) it is not needed'
            )
        else:
            problem = f"line {error.line}: {error.problem}"
        raise BenchmarkError(problem, path=path) from error
    _reject_duplicate_examples(examples, path)
    return examples


def _example(record: Mapping[str, Any]) -> Example:
    return Example(text_field(record, "question"), text_field(record, "answer"))


def _examples_path(place: str | os.PathLike[str] | None) -> Path:
    if place is not None and Path(place).is_file():
        return Path(place)
    folder = benchmark_path(place)
    places = [folder / EXAMPLES, folder / "data" / EXAMPLES]
    return next(filter(Path.is_file, places), places[0])


def _reject_duplicate_examples(examples: list[Example], path: Path) -> None:
    if not examples:
        raise BenchmarkError("contains no questions", path=path)
    seen: set[str] = set()
    for question, _ in examples:
        if question in seen:
            raise BenchmarkError(f"duplicate question {question!r}", path=path)
        seen.add(question)
