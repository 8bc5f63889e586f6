"""Candidates made from grammars, of which a known share is spoilt in known ways.

A candidate's `model` names what was done to it, so that the report of a build tells what each step lets
through:

    clean          nothing
    style          other widths, brackets, punctuation or spaces, which normalising corrects
    other-style    plain forms, Markdown, a reply phrase, a line break, which normalising rejects
    cut            the last sentence ends too early
    wrong-often    a wrong fact that many candidates share, for the rules
    wrong-seldom   one or two wrong digits or kanji
    typo           a character twice, two swapped, or one missing
    too-short, too-long   a sentence less or more
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from grammar import Grammar

__all__ = [
    "KINDS",
    "SHARES",
    "candidates",
    "generator",
    "index",
    "pick",
    "shuffled",
    "split_sentences",
]

T = TypeVar("T")
Way = Callable[[str], str]
SHARES: Mapping[str, float] = {
    "clean": 0.68,
    "style": 0.06,
    "other-style": 0.06,
    "cut": 0.04,
    "wrong-often": 0.04,
    "wrong-seldom": 0.04,
    "typo": 0.04,
    "too-short": 0.02,
    "too-long": 0.02,
}
KINDS = tuple(SHARES)
_KANJI = re.compile(r"[\u4e00-\u9fff]")
_SENTENCE = re.compile(r"[^。]*。")
_WIDE = str.maketrans("0123456789ABDINPS", "０１２３４５６７８９ＡＢＤＩＮＰＳ")
_NARROW = str.maketrans("（）、。", "(),.")
_HALF = str.maketrans("、。「」", "､｡｢｣")


def candidates(
    grammar: Grammar, wrong: tuple[str, str], count: int, rng: random.Random
) -> Iterator[tuple[str, str]]:
    """Draw `count` candidates and what was done to each; `wrong` is a fact and what it is mistaken for."""
    spoil: Mapping[str, Way] = {
        "clean": lambda answer: answer,
        "style": lambda answer: _styled(answer, rng),
        "other-style": lambda answer: _other_style(answer, rng),
        "cut": lambda answer: _cut(answer, rng),
        "wrong-often": lambda answer: answer.replace(*wrong),
        "wrong-seldom": lambda answer: _slip(answer, rng),
        "typo": lambda answer: _typo(answer, rng),
        "too-short": lambda answer: _shortened(answer, rng),
        "too-long": lambda answer: answer + pick(split_sentences(grammar.sample(rng)), rng),
    }
    for kind, share in SHARES.items():
        made = 0
        while made < round(count * share):
            answer = grammar.sample(rng)
            spoilt = spoil[kind](answer)
            if kind == "clean" or spoilt != answer:
                made += 1
                yield spoilt, kind


def _styled(answer: str, rng: random.Random) -> str:
    ways: Sequence[Way] = (
        lambda text: text.translate(_WIDE),
        lambda text: text.translate(_HALF),
        lambda text: text.translate(_NARROW),
        lambda text: " " + text.replace("。", "。 "),
        lambda text: text.replace("、", "、\u3000"),
    )
    return pick(ways, rng)(answer)


def _other_style(answer: str, rng: random.Random) -> str:
    ways: Sequence[Way] = (
        lambda text: re.sub("です。$", "である。", text),
        lambda text: re.sub("ます。$", "ることになる。", text),
        lambda text: "はい、" + text,
        lambda text: "**" + text.replace("は", "**は", 1),
        lambda text: "- " + text.replace("。", "。\n- ", 1),
        lambda text: "以下に説明します。" + text,
        lambda text: text + "いかがでしたか？",
    )
    return pick(ways, rng)(answer)


def _cut(answer: str, rng: random.Random) -> str:
    last = len(split_sentences(answer)[-1])
    return answer[: len(answer) - 1 - index(last - 1, rng)]


def _slip(answer: str, rng: random.Random) -> str:
    characters = list(answer)
    places = [i for i, each in enumerate(characters) if each.isdecimal() or _KANJI.match(each)]
    for place in shuffled(places, rng)[: 1 + index(2, rng)]:
        digit = characters[place].isdecimal()
        choice = "123456789" if digit else sorted(set(_KANJI.findall(answer)))
        characters[place] = pick([each for each in choice if each != characters[place]], rng)
    return "".join(characters)


def _typo(answer: str, rng: random.Random) -> str:
    place = index(len(answer) - 2, rng)
    before, two, after = answer[:place], answer[place : place + 2], answer[place + 2 :]
    return before + pick((two[0] + two, two[::-1], two[1]), rng) + after


def _shortened(answer: str, rng: random.Random) -> str:
    sentences = split_sentences(answer)
    if len(sentences) > 1:
        del sentences[index(len(sentences), rng)]
    return "".join(sentences)


def split_sentences(text: str) -> list[str]:
    """Split after full stops; text without any is one sentence."""
    return _SENTENCE.findall(text) or [text]


# Chance: only `Random.random()` is used, whose sequence Python keeps stable across versions.


def generator(*names: str) -> random.Random:
    """Return the stream of chance that belongs to these names."""
    digest = hashlib.sha1("::".join(names).encode(), usedforsecurity=False).hexdigest()
    return random.Random(int(digest, 16))


def index(count: int, rng: random.Random) -> int:
    """Draw one of 0 ... `count` - 1."""
    return int(rng.random() * count)


def pick(items: Sequence[T], rng: random.Random) -> T:
    """Draw one item."""
    return items[index(len(items), rng)]


def shuffled(items: Sequence[T], rng: random.Random) -> list[T]:
    """Return a shuffled copy (Fisher and Yates)."""
    result = list(items)
    for last in range(len(result) - 1, 0, -1):
        other = index(last + 1, rng)
        result[last], result[other] = result[other], result[last]
    return result
