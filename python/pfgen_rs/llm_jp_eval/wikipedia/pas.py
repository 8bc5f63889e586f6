"""wiki_pas: predicates and their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from pfgen_rs.llm_jp_eval.wikipedia.knp import BasePhrase, Document
from pfgen_rs.llm_jp_eval.wikipedia.mentions import FUNCTION_WORDS, mention_text, trimmed_text
from pfgen_rs.llm_jp_eval.wikipedia.targets import Targets

__all__ = ["CASES", "predicates"]

CASES = ("ガ", "デ", "ト", "ニ", "ヘ", "ヲ", "カラ", "ガ２", "マデ", "ヨリ")
"""The cases that are listed, in this order."""

_NOTHING = "なし"
_SHOWN_AS = {"ガ２": "ガ"}
_BEHIND_PREDICATES = frozenset({"助詞", "特殊"})
_WIDE = str.maketrans("0123456789", "０１２３４５６７８９")
_KATAKANA = {code: code + 0x60 for code in range(0x3041, 0x3097)}


def predicates(document: Document) -> str:
    """Returns a line `predicate case：argument …` for each predicate with arguments."""
    targets = Targets(document.sentences)
    lines = [
        _predicate_line(base_phrase, targets)
        for sentence in document.sentences
        for base_phrase in sentence.base_phrases
        if base_phrase.rels
    ]
    return "\n".join(filter(None, lines))


def _predicate_line(base_phrase: BasePhrase, targets: Targets) -> str:
    """Returns the line of a base phrase; nothing if it has no arguments to list."""
    arguments = "".join(_argument_texts(base_phrase, targets))
    return _predicate_text(base_phrase) + arguments if arguments else ""


def _predicate_text(base_phrase: BasePhrase) -> str:
    return trimmed_text(base_phrase.phrase.morphemes, FUNCTION_WORDS, _BEHIND_PREDICATES)


def _argument_texts(base_phrase: BasePhrase, targets: Targets) -> Iterator[str]:
    arguments = _arguments(base_phrase, targets)
    for case in sorted(arguments, key=CASES.index):
        for argument, optional in arguments[case].items():
            if not optional and argument.phrase is not base_phrase.phrase:
                yield f" {_SHOWN_AS.get(case, case)}：{mention_text(argument)}"


def _arguments(base_phrase: BasePhrase, targets: Targets) -> dict[str, dict[BasePhrase, bool]]:
    """Returns the arguments of each case in the order of their tags, and whether each is optional."""
    found: dict[str, dict[BasePhrase, bool]] = {}
    for tag in base_phrase.rels:
        case = _case(tag.type)
        if case not in CASES:
            continue
        arguments = found.setdefault(case, {})
        if not tag.id and tag.target == _NOTHING:
            arguments.update(dict.fromkeys(arguments, True))
        elif (target := targets.find(tag, base_phrase)) is not None:
            arguments.setdefault(target, False)
    return found


@lru_cache(1024)
def _case(name: str) -> str:
    """Returns the case of a type: with full-width digits and in katakana."""
    return name.translate(_WIDE).translate(_KATAKANA)
