"""Writing a set: question files in the published format, and `provenance.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.io import write_atomic
from pfgen_rs.questions.files import PROVENANCE
from pfgen_rs.references.funnel import StepReport
from pfgen_rs.references.lengths import Lengths
from pfgen_rs.references.outlines import Outline

__all__ = ["PROVENANCE", "BuiltQuestion", "built_names", "question_bytes", "write_set"]


@dataclass(frozen=True)
class BuiltQuestion:
    """A question, its number of candidates, what each step did, and its reference answers by source.

    `models`: the number of candidates by model. `lengths`: the spread of the answers' lengths by source.
    """

    outline: Outline
    candidates: int
    models: Mapping[str, int]
    reports: list[StepReport]
    answers: Mapping[str, Sequence[str]]
    lengths: Mapping[str, Lengths]


def question_bytes(question: BuiltQuestion, scoring: Mapping[str, Any] | None = None) -> bytes:
    """Returns a question file in the published format: keys in order, no newline at the end.

    `scoring`: the settings by which answers are scored, if they are not the published ones.
    """
    content = question.outline.to_dict(question.answers)
    if scoring is not None:
        answers = content.pop("answers")  # last, since they are long
        content |= {"scoring": scoring, "answers": answers}
    return json.dumps(content, ensure_ascii=False, indent=2).encode()


def built_names(folder: Path) -> set[str]:
    """Returns the question files that an earlier build wrote to a folder, according to its provenance."""
    try:
        questions = json.loads((folder / PROVENANCE).read_bytes())["questions"]
        return {
            f"{question_id}.json"
            for question_id in questions
            if Path(question_id).name == question_id
        }
    except (OSError, ValueError, LookupError, TypeError):
        return set()


def write_set(
    folder: Path,
    questions: Sequence[BuiltQuestion],
    provenance: Mapping[str, Any],
    scoring: Mapping[str, Any] | None,
) -> None:
    """Write all files of a set atomically, and remove files of an earlier build that do not belong to it.

    The provenance is written last: if it matches the files in the folder, the set is complete.
    """
    contents = {
        f"{question.outline.question_id}.json": question_bytes(question, scoring)
        for question in questions
    }
    earlier = built_names(folder)
    for name, content in contents.items():
        write_atomic(folder / name, content)
    for name in sorted(earlier - contents.keys()):
        (folder / name).unlink(missing_ok=True)
    text = json.dumps(provenance, ensure_ascii=False, indent=2)
    write_atomic(folder / PROVENANCE, f"{_with_written_counts_in_lines(text)}\n".encode())


def _with_written_counts_in_lines(text: str) -> str:
    """Put each list of integers of an indented JSON text on one line; strings have no line breaks."""
    return re.sub(r"\[\n[\s\d,]+\]", lambda found: f"[{' '.join(found[0][1:-1].split())}]", text)
