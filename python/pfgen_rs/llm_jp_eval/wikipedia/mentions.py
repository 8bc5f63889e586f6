"""Texts of mentions: a base phrase and its dependents in the phrase, without function words."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pfgen_rs.llm_jp_eval.wikipedia.knp import BasePhrase, Morpheme, joined

__all__ = ["FUNCTION_WORDS", "mention_text", "trimmed_text"]

FUNCTION_WORDS = frozenset({"助詞", "特殊", "判定詞"})
"""Parts of speech that are dropped at the ends of mentions."""


def mention_text(base_phrase: BasePhrase) -> str:
    """Returns the text of a base phrase as a mention.

    To it belong the base phrases beside it in its phrase, those behind it and those before it, as
    long as each depends on it, directly or indirectly.
    """
    units = base_phrase.sentence.base_phrases
    start, stop = base_phrase.phrase.base_phrases[0].index, base_phrase.index + 1
    end = base_phrase.phrase.base_phrases[-1].index + 1
    dependents = _Dependents(base_phrase)
    first = base_phrase.index
    while stop < end and stop in dependents:
        stop += 1
    while first > start and first - 1 in dependents:
        first -= 1
    morphemes = [each for unit in units[first:stop] for each in unit.morphemes]
    return trimmed_text(morphemes, FUNCTION_WORDS, FUNCTION_WORDS)


def trimmed_text(
    morphemes: Sequence[Morpheme], front: Collection[str], back: Collection[str]
) -> str:
    """Returns the text without morphemes of these parts of speech at front and back.

    If none were left, returns the text of all.
    """
    start, stop = 0, len(morphemes)
    while start < stop and morphemes[start].pos in front:
        start += 1
    while start < stop and morphemes[stop - 1].pos in back:
        stop -= 1
    return joined(morphemes[start:stop] if start < stop else morphemes)


class _Dependents:
    """The indexes of the base phrases that depend on one, found as they are asked for."""

    def __init__(self, head: BasePhrase) -> None:
        self._units = head.sentence.base_phrases
        self._known = {head.index: True}

    def __contains__(self, index: int) -> bool:
        path = []
        # Parents that lead back to the path do not lead to the head.
        while index >= 0 and index not in self._known:
            self._known[index] = False
            path.append(index)
            index = self._units[index].parent
        found = index >= 0 and self._known[index]
        if found:
            self._known.update(dict.fromkeys(path, True))
        return found
