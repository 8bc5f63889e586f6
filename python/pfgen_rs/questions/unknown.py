"""Error messages for questions that a benchmark does not have.

Time and message length are bounded for any question, because questions come from untrusted files.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property

from pfgen_rs import install
from pfgen_rs.io.text import shortened
from pfgen_rs.questions.examples import read_examples
from pfgen_rs.questions.locate import BUNDLED, bundled_path
from pfgen_rs.questions.question import Question

PUBLISHED_DIGESTS = re.findall(
    "[0-9a-f]{16}",
    """
    c64059620be0cda9 552eb78aea3b5c37 3ea4a9347bcc270d c573fb76390c9834 88e0dcc5d361c35d
    b4a9350a01c71f71 0ae0eba279357bf8 daafadcefd443c1c d0900109803d0cfd 0bbaff1c8cfd62cc
    0d3f3a253286c251 fca996256fcd9942 a74b7a692f2e3ce8 49e8e4346b3b10b5 58d4d02189e2fefd
    a5ec921f3da952d9 fbf4e62493f8e44e 85704e297e969d94 e74a7147ca1d735e 8ce11d17ae198214
    ca50f32a9ebd4845 5b7fe2b9659262b4 53aad5994e540854 bf494df90efc6c0e 620e45a5beeb148f
    52cf262f7df2bc96 a5b7f303a1e55681 30031fb133f0df17 2b39ffba8a2fce32 fcb41a936b5e35ac
    d1b2a62454e60dd0 857fb6ddb9fec140 cd943cd0d34c7890 d7bd4572ad3ae72d 042636dcd1460dbb
    7169abddceb284df 35f36f3981099571 1c724fa6df125afb 21ec3cba51b348e4 92bd40cb0e97dd41
    6279b50c0800b50c 612f23ec8912a247 577c32afbdf92169 cf4664c9e1feda3c 174fa66c786f6bb3
    68a4746a3336094d ff69c158aeacb325 3e070ee08eee31e4 f3fcacecd0fd46b8 039b7425da485b51
    """,
)
"""`digest` of the published questions in the order of their ids, Q01 to Q50."""

_PUBLISHED = "pfgen-bench"
_PUBLISHED_SET = set(PUBLISHED_DIGESTS)
_LONGEST = 400  # characters; longer texts are not considered misspelt questions
_NEAR = 0.6  # ratio of `difflib`
_MOST = 500  # questions to search for the most similar one
_ELSEWHERE = "choose another benchmark with -b ('pfgen-rs data list' shows them)"


class Lookalikes:
    """Suggests what an unknown question may refer to. Immutable, and so thread-safe.

    `name`: the benchmark's name, if it has one.
    """

    def __init__(self, name: str | None, questions: Sequence[Question]) -> None:
        self._name, self._questions = name, questions

    def message(self, asked: str, others: Iterable[str] = (), *, search: bool = True) -> str:
        """Returns a message that names the benchmark, what it lacks, and what to do about it.

        `others`: the other questions asked; if at least half are those of a known set, the message says so.
        `search`: whether to suggest similar questions, which takes most of the time.
        """
        if not asked.strip():
            return "the question is empty"
        name = "the benchmark" if self._name is None else f"benchmark {shortened(self._name)!r}"
        hint = (self.crowd(others) or self.crowd([asked]) or self._nearest(asked)) if search else ""
        return f"{name} has no question with exactly this text or id; {hint or _ELSEWHERE}"

    def crowd(self, asked: Iterable[str]) -> str | None:
        """Returns how many of the questions are those of a known set, and how to use it, if at least half.

        Counts distinct questions. Returns `None` if the benchmark has all of that set.
        """
        different = set(asked)
        digests = set(map(digest, different))
        for name, known_digests in _known_sets().items():
            found = digests & known_digests
            if not found <= self._digests and 2 * len(found) >= len(different):
                return f"{len(found)} of {len(different)} questions are those of {_known_set_hint(name)}"
        return None

    def _nearest(self, asked: str) -> str | None:
        """Names the question that is spelt most like this one, or else the ids."""
        if len(asked) > _LONGEST or not self._questions:
            return None
        texts = {_folded(question.text): question for question in self._questions[:_MOST]}
        for found in difflib.get_close_matches(_folded(asked), texts, n=1, cutoff=_NEAR):
            nearest = f"{shortened(texts[found].id)}, {shortened(texts[found].text)!r}"
            return f"the most similar one is {nearest}; otherwise, {_ELSEWHERE}"
        first, last = (shortened(self._questions[place].id) for place in (0, -1))
        return f"its ids are {first} to {last}; otherwise, {_ELSEWHERE}"

    @cached_property
    def _digests(self) -> set[str | None]:
        return {digest(question.text) for question in self._questions}


def digest(text: str) -> str | None:
    """Returns the first 8 bytes of the SHA-256 of a question, ignoring width, case and white space.

    16 hexadecimal digits; `None` for texts that are too long for a question.
    """
    if len(text) > _LONGEST:
        return None
    return hashlib.sha256(_folded(text).encode(errors="replace")).hexdigest()[:16]


def _known_sets() -> dict[str, set[str]]:
    """Returns the digests of the questions of known sets."""
    return {_PUBLISHED: _PUBLISHED_SET, BUNDLED: _bundled_digests()}


@cache
def _bundled_digests() -> set[str]:
    return {str(digest(example.question)) for example in read_examples(bundled_path())}


def _known_set_hint(name: str) -> str:
    use = f"use -b {name} (in Python, load_benchmark({name!r}))"
    if name != BUNDLED and install.installed_path(name) is None:
        use = f"run 'pfgen-rs data install {name}', then {use}"
    return f"{name}: {use}"


def _folded(text: str) -> str:
    """Normalise width, case and white space, which are easily mistyped."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


# The order of reference sources in reports, and the meaning of their published names.


PUBLISHED = {
    "P": "PLaMo-100b",
    "T": "Swallow-MX",
    "S": "stockmark-100b",
    "R": "RAG",
    "X": "unknown",
}
"""The model that wrote the reference answers of the published questions, by source."""


_ORDER = ("P", "T", "S", "R")


def sources_in_order(shares: Mapping[str, float]) -> dict[str, float]:
    """Returns the shares by source in the published order, followed by other sources."""
    known = [source for source in _ORDER if source in shares]
    return {source: shares[source] for source in [*known, *(s for s in shares if s not in _ORDER)]}


def order(sources: Sequence[str]) -> list[int]:
    """Returns the indices of the sources in the order of reports: as published, then other sources."""
    places = sources_in_order({source: float(place) for place, source in enumerate(sources)})
    return [int(place) for place in places.values()]


def known(sources: Iterable[str]) -> dict[str, str]:
    """Returns what the sources of a set stand for if all of them have published names; else empty."""
    found = set(sources)
    if not found <= PUBLISHED.keys():
        return {}
    return {source: name for source, name in PUBLISHED.items() if source in found}


def explained(sources: Iterable[str]) -> str:
    """Returns the same as one line of text; empty if there is nothing to explain."""
    return ", ".join(f"{source} = {name}" for source, name in known(sources).items())
