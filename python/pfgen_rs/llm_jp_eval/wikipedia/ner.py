"""wiki_ner: named entities and their kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from pfgen_rs.llm_jp_eval.wikipedia.knp import BasePhrase, Document, Sentence

__all__ = ["KINDS", "named_entities", "named_entity"]

KINDS = {
    "ORGANIZATION": "組織名",
    "PERSON": "人名",
    "LOCATION": "地名",
    "ARTIFACT": "固有物名",
    "DATE": "日付表現",
    "TIME": "時刻表現",
    "MONEY": "金額表現",
    "PERCENT": "割合表現",
}
"""The kinds of named entities by their categories; others (such as `OPTIONAL`) are left out."""

_START = re.compile(r"<NE:([^:>]+):")
_END = re.compile(r"(?<!\\)>")


def named_entities(document: Document) -> str:
    """Returns all named entities, `name（kind）`, on one line."""
    return " ".join(
        [item for sentence in document.sentences for item in _entities_of_sentence(sentence)]
    )


def named_entity(features: str) -> tuple[str, str] | None:
    r"""Returns category and name of the last feature `<NE:CATEGORY:name>`; `\\>` stands for `>`."""
    found = None
    start = _START.search(features) if "<NE:" in features else None
    while start is not None:
        stop = _name_end(features, start.end())
        if stop < 0:
            break
        found = start[1], features[start.end() : stop].replace("\\>", ">")
        start = _START.search(features, stop + 1)
    return found


def _name_end(features: str, start: int) -> int:
    """Returns where the first `>` stands that is not escaped; the last one if all are; or -1."""
    end = _END.search(features, start)
    return end.start() if end is not None else features.rfind(">", start)


def _entities_of_sentence(sentence: Sentence) -> Iterator[str]:
    for base_phrase in sentence.base_phrases:
        found = named_entity(base_phrase.features)
        if found is None or found[0] not in KINDS:
            continue
        category, name = found
        if _is_run(name, sentence.base_phrases[: base_phrase.index + 1]):
            yield f"{name}（{KINDS[category]}）"


def _is_run(name: str, base_phrases: Sequence[BasePhrase]) -> bool:
    """Whether some successive morphemes make up the name."""
    surfaces = [each.surface for unit in base_phrases for each in unit.morphemes]
    text = "".join(surfaces)
    bounds = {0, *accumulate(map(len, surfaces))}
    return bool(name) and any(
        stop - len(name) in bounds and text.startswith(name, stop - len(name)) for stop in bounds
    )
