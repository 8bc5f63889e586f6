"""wiki_coreference: phrases that mean the same."""

from __future__ import annotations

from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.wikipedia.entities import Entity, read_entities
from pfgen_rs.llm_jp_eval.wikipedia.knp import BasePhrase, Document
from pfgen_rs.llm_jp_eval.wikipedia.mentions import mention_text
from pfgen_rs.llm_jp_eval.wikipedia.texts import main_sentences

__all__ = ["coreferences"]


def coreferences(document: Document) -> str:
    """Returns a line of mentions for each set of entities that two or more base phrases share.

    Sentences in parentheses are left out. Raises `InputError` for a document with absurdly many
    relations.
    """
    sentences = main_sentences(document)
    try:
        entities = read_entities(sentences)
    except InputError as error:
        raise InputError(error.problem, path=document.name, line=error.line) from None
    groups: dict[frozenset[Entity], list[BasePhrase]] = {}
    for sentence in sentences:
        for base_phrase in sentence.base_phrases:
            if found := entities.identical(base_phrase):
                groups.setdefault(frozenset(found), []).append(base_phrase)
    return "\n".join(
        [" ".join(map(mention_text, group)) for group in groups.values() if len(group) > 1]
    )
