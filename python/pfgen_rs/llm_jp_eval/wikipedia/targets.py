"""Where tags of relations lead to."""

from __future__ import annotations

from collections.abc import Iterable

from pfgen_rs.llm_jp_eval.wikipedia.knp import BasePhrase, Sentence, number
from pfgen_rs.llm_jp_eval.wikipedia.rel import Rel

__all__ = ["Targets"]


class Targets:
    """The base phrases of some sentences, found by the tags that name them."""

    def __init__(self, sentences: Iterable[Sentence]) -> None:
        self._sentences: dict[str, Sentence] = {}
        for sentence in sentences:
            self._sentences.setdefault(sentence.sid, sentence)

    def find(self, tag: Rel, base_phrase: BasePhrase) -> BasePhrase | None:
        """Returns where a tag of this base phrase leads to; `None` if to nothing in the sentences."""
        if not tag.id:
            return None
        # A tag without the id of a sentence leads to its own one.
        sentence = self._sentences.get(tag.sid) if tag.sid else base_phrase.sentence
        index = number(tag.id)
        if sentence is None or index >= len(sentence.base_phrases):
            return None
        return sentence.base_phrases[index]
