"""Sample runs that differ clearly in quality: faithful, careless and babbling."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import made
from made import index, pick, shuffled, split_sentences

__all__ = ["RUNS", "TRIALS", "Material"]

TRIALS = 10
MARKOV_ORDER = 1
MARKOV_LIMIT = 160

_KANJI = re.compile(r"[\u4e00-\u9fff]")
_CLAUSE = re.compile(r"[^、。]*[、。]?")


@dataclass(frozen=True, slots=True)
class Material:
    """A question with its reference answers, and good answers that are no reference, in a random order."""

    question_id: str
    question: str
    references: Sequence[str]
    spare: Sequence[str]


def generator(*names: str) -> Random:
    """Return the stream of chance that belongs to these names."""
    return made.generator("pfgen-mini", *names)


def faithful(questions: Sequence[Material]) -> list[list[str]]:
    """Give answers of the grammars that are no reference answers."""
    return [list(question.spare[:TRIALS]) for question in questions]


def careless(questions: Sequence[Material]) -> list[list[str]]:
    """Give other such answers, each spoilt by mistakes that a weak model makes."""
    return [
        [
            spoil(answer, elsewhere(questions, question), generator("careless", answer))
            for answer in question.spare[TRIALS : 2 * TRIALS]
        ]
        for question in questions
    ]


def babbling(questions: Sequence[Material]) -> list[list[str]]:
    """Give text of a character Markov chain over the reference answers of all questions."""
    chain = MarkovChain(
        (answer for question in questions for answer in question.references), MARKOV_ORDER
    )
    return [
        [
            chain.sample(generator("babbling", question.question_id, str(trial)))
            for trial in range(TRIALS)
        ]
        for question in questions
    ]


RUNS: dict[str, Callable[[Sequence[Material]], list[list[str]]]] = {
    "faithful": faithful,
    "careless": careless,
    "babbling": babbling,
}


def elsewhere(questions: Sequence[Material], question: Material) -> list[str]:
    """Collect answers to the other questions, the stuff of mix-ups."""
    return [each for other in questions if other is not question for each in other.spare[-50:]] or [
        *question.spare[-50:]
    ]


def spoil(answer: str, others: Sequence[str], rng: Random) -> str:
    """Make two different mistakes and a few slips of the pen."""
    kinds = shuffled([drop_clause, borrow_sentence, repeat_sentence, ramble_on, stop_early], rng)
    # The slips come last, so that they touch the borrowed parts as well.
    for mistake in (*kinds[:2], slip):
        answer = mistake(answer, others, rng)
    return answer


def drop_clause(answer: str, others: Sequence[str], rng: Random) -> str:
    """Leave out one clause, but not the last."""
    del others
    clauses = [clause for clause in _CLAUSE.findall(answer) if clause]
    if len(clauses) > 2:
        del clauses[index(len(clauses) - 1, rng)]
    return "".join(clauses)


def borrow_sentence(answer: str, others: Sequence[str], rng: Random) -> str:
    """Replace a sentence by one from the answer to another question."""
    sentences = split_sentences(answer)
    sentences[index(len(sentences), rng)] = pick(split_sentences(pick(others, rng)), rng)
    return "".join(sentences)


def repeat_sentence(answer: str, others: Sequence[str], rng: Random) -> str:
    """Say a sentence twice."""
    del others
    sentences = split_sentences(answer)
    place = index(len(sentences), rng)
    sentences.insert(place, sentences[place])
    return "".join(sentences)


def ramble_on(answer: str, others: Sequence[str], rng: Random) -> str:
    """Go on about other questions, past 150 characters."""
    while len(answer) <= 150:
        answer += pick(split_sentences(pick(others, rng)), rng)
    return answer


def stop_early(answer: str, others: Sequence[str], rng: Random) -> str:
    """Stop after 30 to 69 characters, wherever that is."""
    del others
    return answer[: 30 + index(40, rng)]


def slip(answer: str, others: Sequence[str], rng: Random) -> str:
    """Put three wrong digits or kanji, or as many as there are places for."""
    kanji = _KANJI.findall(pick(others, rng))
    characters = list(answer)
    places = [i for i, each in enumerate(characters) if each.isdecimal() or _KANJI.match(each)]
    for place in shuffled(places, rng)[:3]:
        choice = kanji if _KANJI.match(characters[place]) else list("123456789")
        characters[place] = pick([each for each in choice if each != characters[place]], rng)
    return "".join(characters)


class MarkovChain:
    """Characters drawn by the `order` characters before them; an answer ends where one ended."""

    def __init__(self, texts: Iterable[str], order: int) -> None:
        """Count what follows every `order` characters in `texts`."""
        self.order = order
        counts: dict[str, Counter[str]] = {}
        for text in texts:
            padded = "\n" * order + text + "\n"
            for start in range(len(text) + 1):
                context = padded[start : start + order]
                counts.setdefault(context, Counter())[padded[start + order]] += 1
        self.followers = {
            context: (list(counter), list(accumulate(counter.values())))
            for context, counter in counts.items()
        }

    def sample(self, rng: Random) -> str:
        """Draw one text of at most `MARKOV_LIMIT` characters."""
        text = "\n" * self.order
        while len(text) < self.order + MARKOV_LIMIT:
            characters, totals = self.followers[text[-self.order :]]
            following = characters[bisect_right(totals, int(rng.random() * totals[-1]))]
            if following == "\n":
                break
            text += following
        return text[self.order :]
