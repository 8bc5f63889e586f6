"""The texts that tasks show: without the parenthesised sentences, or with them where they stood."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.wikipedia.knp import Document, Sentence, number

__all__ = ["main_sentences", "text_with_parentheses", "text_without_parentheses"]

_PARENTHESISED = "括弧始"
_PARENTHESES_CUT = "括弧削除"
_PLACE = re.compile(r"(?<!\S)\S*?括弧始:(\S+) 括弧終:(\S+) 括弧位置:(\d+)")


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
    place = _PLACE.search(inner.remark)
    if place is None:
        raise InputError(
            f"no place in a sentence taken out of the one before it: expected"
            f" '{_PARENTHESISED}:（ 括弧終:） 括弧位置:3' or the like in its comment",
            path=document.name,
            line=inner.line,
        )
    text, position = sentence.text, number(place[3])
    return text[:position] + place[1] + inner.text + place[2] + text[position:]
