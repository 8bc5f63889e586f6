"""The texts that tasks show: without the parenthesised sentences, or with them where they stood."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.wikipedia.knp import Document, Sentence, number

__all__ = ["main_sentences", "text_with_parentheses", "text_without_parentheses"]

_PARENTHESISED = "括弧始"
_PARENTHESES_CUT = "括弧削除"
_PLACE = re.compile(r"(?<!\S)(\S++)(?= 括弧終:(\S++) 括弧位置:(\d+))")


def main_sentences(document: Document) -> list[Sentence]:
    """Returns the sentences that were not taken out of parentheses of another one."""
    return [each for each in document.sentences if _PARENTHESISED not in each.remark]


def text_without_parentheses(document: Document) -> str:
    """Returns the text of the sentences that were not in parentheses."""
    return "".join([each.text for each in main_sentences(document)])


def text_with_parentheses(document: Document) -> str:
    """Returns the text of all sentences, with a parenthesised one back in the one before it.

    As published, just one sentence is put back: further ones from the same sentence follow it.
    Raises `InputError` if the place of a parenthesised sentence is missing.
    """
    return "".join(_texts_with_parentheses(document))


def _texts_with_parentheses(document: Document) -> Iterator[str]:
    sentences = iter(document.sentences)
    for sentence in sentences:
        if _PARENTHESES_CUT not in sentence.remark:
            yield sentence.text
            continue
        inner = next(sentences, None)
        if inner is None:
            problem = f"{_PARENTHESES_CUT!r}, but no sentence follows to put back"
            raise InputError(problem, path=document.name, line=sentence.line)
        yield _put_back(document, sentence, inner)


def _put_back(document: Document, sentence: Sentence, inner: Sentence) -> str:
    place = _place(inner.remark)
    if place is None:
        raise InputError(
            f"{_PARENTHESES_CUT!r} in the sentence before, but no place to put this one back: expected"
            " '括弧始:（ 括弧終:） 括弧位置:3' or the like in its comment",
            path=document.name,
            line=inner.line,
        )
    start, end, position = place
    text = sentence.text
    return text[:position] + start + inner.text + end + text[position:]


def _place(remark: str) -> tuple[str, str, int] | None:
    """Returns the parentheses and their position in characters, if the remark tells them."""
    for place in _PLACE.finditer(remark):
        start = place[1].partition(_PARENTHESISED + ":")[2]
        if start:
            return start, place[2], number(place[3])
    return None
