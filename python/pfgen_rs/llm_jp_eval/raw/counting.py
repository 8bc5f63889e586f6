"""Checks files whose digest is unknown by their shape and number of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.raw.rawfiles import RawFile
from pfgen_rs.llm_jp_eval.raw.reading import json_document, json_lines
from pfgen_rs.llm_jp_eval.raw.sources import DOCUMENTED

__all__ = ["has_documented_count"]


def has_documented_count(file: RawFile) -> bool:
    """Whether a file has the shape and the number of samples that are documented for the published file.

    False for files whose published digest is known.
    """
    if file.name not in DOCUMENTED:
        return False
    try:
        return _COUNTS[file.name](file) == DOCUMENTED[file.name]
    except InputError:
        return False


def _count_jnli(file: RawFile) -> int:
    count = 0
    for place, record in json_lines(file):
        for key in ("sentence1", "sentence2", "label"):
            place.text(record, key)
        count += 1
    return count


def _count_jsquad(file: RawFile) -> int:
    root, document = json_document(file)
    count = 0
    for at_article, article in root.items(document, "data"):
        for at_paragraph, paragraph in at_article.items(article, "paragraphs"):
            at_paragraph.text(paragraph, "context")
            count += sum(1 for _ in at_paragraph.items(paragraph, "qas"))
    return count


_COUNTS: Mapping[str, Callable[[RawFile], int]] = {
    "jnli_train.json": _count_jnli,
    "jsquad_train.json": _count_jsquad,
}
