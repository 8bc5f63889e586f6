"""wiki_dependency: which phrase depends on which."""

from __future__ import annotations

from pfgen_rs.llm_jp_eval.wikipedia.knp import NO_PARENT, Document
from pfgen_rs.llm_jp_eval.wikipedia.texts import main_sentences

__all__ = ["dependencies"]


def dependencies(document: Document) -> str:
    """Returns a line `phrase -> parent` for each phrase with a parent, outside parentheses."""
    lines = []
    for sentence in main_sentences(document):
        texts = [phrase.text for phrase in sentence.phrases]
        lines += [
            f"{text} -> {texts[phrase.parent]}"
            for phrase, text in zip(sentence.phrases, texts, strict=True)
            if phrase.parent != NO_PARENT
        ]
    return "\n".join(lines)
