"""Samples of the five tasks from the documents of a split."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from pfgen_rs.llm_jp_eval.wikipedia.coreference import coreferences
from pfgen_rs.llm_jp_eval.wikipedia.dependency import dependencies
from pfgen_rs.llm_jp_eval.wikipedia.knp import Document, read_document
from pfgen_rs.llm_jp_eval.wikipedia.ner import named_entities
from pfgen_rs.llm_jp_eval.wikipedia.pas import predicates
from pfgen_rs.llm_jp_eval.wikipedia.reading import readings
from pfgen_rs.llm_jp_eval.wikipedia.texts import text_with_parentheses, text_without_parentheses

__all__ = ["WIKI_TASKS", "document_samples", "samples"]

_Text = Callable[[Document], str]

_TASKS: dict[str, tuple[_Text, _Text]] = {
    "wiki_reading": (text_without_parentheses, readings),
    "wiki_ner": (text_with_parentheses, named_entities),
    "wiki_dependency": (text_without_parentheses, dependencies),
    "wiki_pas": (text_with_parentheses, predicates),
    "wiki_coreference": (text_without_parentheses, coreferences),
}

WIKI_TASKS = tuple(_TASKS)
"""The names of the tasks, in the order in which they are run."""


def samples(documents: Iterable[tuple[str, bytes]]) -> dict[str, list[tuple[str, str]]]:
    """Returns inputs and outputs of each of the five tasks.

    `documents`: names and contents of the KNP files of a split, in any order; they are taken in the
    order of their file names. Documents with a blank output are left out of the task. Raises
    `InputError`, which names file and line, for content that is not in the KNP format.
    """
    found: dict[str, list[tuple[str, str]]] = {task: [] for task in WIKI_TASKS}
    for name, content in sorted(documents, key=lambda document: (Path(document[0]).name, document)):
        for task, sample in document_samples(read_document(name, content)).items():
            found[task].append(sample)
    return found


def document_samples(document: Document) -> dict[str, tuple[str, str]]:
    """Returns input and output of each task for which the document's output is not blank."""
    found = {}
    for task, (shown, expected) in _TASKS.items():
        output = expected(document)
        if output.strip():
            found[task] = shown(document), output
    return found
