"""Writing a set: question files in the published format, and `provenance.json` beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.io import write_atomic
from pfgen_rs.questions.question import PROVENANCE
from pfgen_rs.references.funnel import StepReport
from pfgen_rs.references.outlines import Outline

__all__ = ["PROVENANCE", "BuiltQuestion", "built_names", "question_bytes", "write_set"]


@dataclass(frozen=True)
class BuiltQuestion:
    """A question, how many candidates it had, what each step did, and its reference answers by source.

    `models`: how many candidates each model wrote.
    """

    outline: Outline
    candidates: int
    models: Mapping[str, int]
    reports: list[StepReport]
    answers: Mapping[str, Sequence[str]]


def question_bytes(question: BuiltQuestion) -> bytes:
    """A question file as published: its order of keys, and no newline at the end."""
    content = question.outline.to_dict(question.answers)
    return json.dumps(content, ensure_ascii=False, indent=2).encode()


def built_names(folder: Path) -> set[str]:
    """The question files that an earlier build has written into a folder, by its provenance."""
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
    folder: Path, questions: Sequence[BuiltQuestion], provenance: Mapping[str, Any]
) -> None:
    """Write all files of a set, each whole or not at all; files of an earlier build that are none of it go.

    The provenance comes last: where it names what lies there, the set is complete.
    """
    contents = {
        f"{question.outline.question_id}.json": question_bytes(question) for question in questions
    }
    earlier = built_names(folder)
    for name, content in contents.items():
        write_atomic(folder / name, content)
    for name in sorted(earlier - contents.keys()):
        (folder / name).unlink(missing_ok=True)
    text = json.dumps(provenance, ensure_ascii=False, indent=2) + "\n"
    write_atomic(folder / PROVENANCE, text.encode())
