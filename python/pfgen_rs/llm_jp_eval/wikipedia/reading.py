"""wiki_reading: the text in hiragana."""

from __future__ import annotations

import re

from pfgen_rs.llm_jp_eval.wikipedia.knp import Document, Morpheme
from pfgen_rs.llm_jp_eval.wikipedia.texts import main_sentences

__all__ = ["readings"]

_SPACES = (" ", "\u3000")
_CAPITALS = re.compile(r"[A-Z]+")
_NAMES = (
    "えー びー しー でぃー いー えふ じー えいち あい じぇー けー える えむ えぬ"
    " おー ぴー きゅー あーる えす てぃー ゆー ぶい だぶりゅー えっくす わい ぜっと"
)
_LETTERS = str.maketrans(dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", _NAMES.split(), strict=True)))


def readings(document: Document) -> str:
    """Returns the readings of all morphemes that are not in parentheses."""
    return "".join(
        [_reading(each) for sentence in main_sentences(document) for each in sentence.morphemes]
    )


def _reading(morpheme: Morpheme) -> str:
    """Returns the first of the readings: nothing for `/` itself, as published."""
    if morpheme.reading in _SPACES and morpheme.surface not in _SPACES:
        return ""
    reading = morpheme.reading.partition("/")[0]
    return reading.translate(_LETTERS) if _CAPITALS.fullmatch(reading) else reading
