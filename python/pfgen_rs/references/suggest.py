"""Suggestions for rules: places where answers contradict each other, for a person to review.

At the same place, different answers say different things: "1日に【22】回" in most, "1日に【11】回" in a few.
Only a person can decide which of them is wrong, if any; what most answers say is a hint, not a proof.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from pfgen_rs.errors import SettingsError
from pfgen_rs.metrics.units import Unit
from pfgen_rs.references.places import Kind, Place, agree, fills_in, is_stated_at, tells

__all__ = ["Alternative", "Suggestion", "frequent_names", "suggest_rules"]

_EXAMPLES = 3
_AROUND: dict[Unit, tuple[int, int]] = {"character": (4, 2), "word": (3, 1)}
"""How many units before and after a place identify it."""
_NEAR = 3
"""How many times as many answers the kept alternative must have as one that is to be forbidden."""
_LEAST = 0.01
"""The least share of the answers at a place that an alternative must have."""
_TOGETHER = 0.1
"""The largest share of answers with a forbidden alternative that may have the kept one elsewhere."""
_MODELS = 4
"""How many times as many models must have the kept name as one that is to be forbidden."""
_MAJORITY = 0.5
"""The least share of the answers at a place that must have the kept alternative, unless it is stated."""
_ALIKE = 3
"""How many suggestions that keep and forbid the same come before others."""
_NEW = 0.5
"""The least share of the answers that a suggestion removes that those above it do not."""
_KINDS: tuple[Kind, ...] = ("number", "name")


@dataclass(frozen=True)
class Alternative:
    """A number or name at a place.

    `answers`: how many answers have it there; `share`: of all answers that have the place; `models`: how many
    models they are from, 0 if unknown; `forbidden`: whether the suggestion is to forbid it; `stated`: whether
    the example answer or a keyword of the question has it; `examples`: up to three answers, as
    different in length as possible.
    """

    text: str
    answers: int
    share: float
    models: int
    forbidden: bool
    stated: bool
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Suggestion:
    """A place that answers fill differently.

    `alternatives`: by descending number of answers, then by text; those that are not forbidden are the kept
    one and what agrees with it. `score`: the number of answers with the place, times the share of the kept
    alternative, times the share of the forbidden ones. `words`: whether the place consists of whole words.
    """

    kind: Kind
    place: Place
    alternatives: tuple[Alternative, ...]
    score: float
    words: bool = False

    @property
    def forbidden(self) -> tuple[str, ...]:
        """The alternatives that the suggestion is to forbid."""
        return tuple(each.text for each in self.alternatives if each.forbidden)

    @property
    def answers(self) -> int:
        """How many answers have one of the alternatives."""
        return sum(each.answers for each in self.alternatives)


def suggest_rules(
    answers: Any,
    *,
    models: Any = None,
    stated: str = "",
    common: Collection[str] = (),
    unit: Unit = "character",
    top: int = 20,
    min_share: float = 0.005,
    before: int | None = None,
    after: int | None = None,
    sample: int = 50_000,
) -> list[Suggestion]:
    """Returns the `top` places where answers contradict each other: numbers first, then names.

    Places hold a number, or a name (katakana, Latin words with a capital, kanji that end like names of
    places, periods and institutions), and are identified by the `before` and `after` units around them (by
    default 4 and 2 characters, or 3 and 1 words). With the unit `word`, words stay whole. Within a kind,
    places are ordered by descending score, then by the place, so the same answers give the same suggestions.

    A place must occur in at least `min_share` of the answers. Suggested is to keep what at least half of
    them have there, and to forbid what at most a third as many have, and at least two and 1 %. Not suggested
    are near ties; what agrees with the kept alternative (the same number, a rounded one, a part of a name);
    what often occurs together with it; names in lists, names that more than a quarter as many models have,
    and those in `common` (see `frequent_names`); places at the beginning of a sentence or clause; and what
    removes mostly the same answers as a suggestion before it. `stated`: text that is known to be right, such
    as the example answer. A number that it has at the same place is kept unless another has a majority
    there; elsewhere, what it has is never forbidden.

    `models`: the model of each answer, a column as long as `answers`. Of more than `sample`
    answers, every k-th is read so that at most `sample` are. Time and memory: linear in the number of
    characters read. Raises `SettingsError` for numbers out of range and for tokens.
    """
    wide, narrow = _suggestion_context(unit)
    before, after = wide if before is None else before, narrow if after is None else after
    _check_suggest_settings(top=top, before=before, after=after, sample=sample)
    if not 0 <= min_share <= 1:
        raise SettingsError(f"min_share must be between 0 and 1, not {min_share}")
    read = _ReadSample(answers, models, sample)
    read.find(unit, before, after)
    judge = _Judge(read, stated, common, max(2, min_share * len(read.texts)))
    found = [judged for place in read.places if (judged := judge.of(place, unit)) is not None]
    found.sort(key=lambda each: _suggestion_order(each.suggestion))
    return _novel_suggestions(found, top)


def frequent_names(
    answers: Any, unit: Unit = "character", *, share: float = 0.01, sample: int = 5_000
) -> set[str]:
    """Returns the names that at least `share` of the answers have.

    Names that are frequent in the answers to several questions are ordinary words, such as システム: what
    answers have in their place does not contradict them.
    """
    _suggestion_context(unit)
    read = _ReadSample(answers, None, sample)
    counts = Counter(
        name
        for text in read.texts
        for name in {fill.text for fill in fills_in(text, unit, 0, 0) if fill.kind == "name"}
    )
    return {name for name, count in counts.items() if count >= share * len(read.texts)}


def _suggestion_context(unit: Unit) -> tuple[int, int]:
    if unit not in _AROUND:
        raise SettingsError(f"rules need text: they cannot be suggested for the unit {unit!r}")
    return _AROUND[unit]


def _check_suggest_settings(*, top: int, **positive: int) -> None:
    if top < 0:
        raise SettingsError(f"top must be at least 0, not {top}")
    for name, value in positive.items():
        if value < 1:
            raise SettingsError(f"{name} must be at least 1, not {value}")


def _suggestion_order(suggestion: Suggestion) -> tuple[int, float, Place]:
    return _KINDS.index(suggestion.kind), -suggestion.score, suggestion.place


class _FilledPlace:
    """The rows of the answers that have a place, by what they have there."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.rows: defaultdict[str, list[int]] = defaultdict(list)


class _ReadSample:
    """A sample of answers: its texts, their models, what they have, and where.

    `places`: answers that fill a place in several ways enumerate rather than contradict, and are left out.
    """

    def __init__(self, answers: Any, models: Any, most: int) -> None:
        column = pl.Series("answer", answers, dtype=pl.String)
        names = pl.Series("model", [None] * len(column) if models is None else models, pl.String)
        step = max(1, -(-len(column) // most))
        kept = pl.DataFrame([column, names]).gather_every(step).drop_nulls("answer")
        self.texts: list[str] = kept.get_column("answer").to_list()
        self.models: list[str | None] = kept.get_column("model").to_list()
        self.has: list[frozenset[str]] = []
        self.places: dict[Place, _FilledPlace] = {}

    def find(self, unit: Unit, before: int, after: int) -> None:
        """Find all places of all answers."""
        for row, text in enumerate(self.texts):
            fills = list(fills_in(text, unit, before, after))
            self.has.append(frozenset(fill.text for fill in fills))
            only: dict[Place, tuple[Kind, str] | None] = {}
            for kind, found, place in fills:
                only[place] = (
                    (kind, found) if only.get(place, (kind, found)) == (kind, found) else None
                )
            for place, fill in only.items():
                if fill is not None:
                    self._add(place, *fill, row)

    def _add(self, place: Place, kind: Kind, text: str, row: int) -> None:
        filled = self.places.setdefault(place, _FilledPlace(kind))
        if filled.kind == kind:
            filled.rows[text].append(row)

    def models_of(self, rows: Sequence[int]) -> int:
        """Returns how many models the answers are from."""
        return len({self.models[row] for row in rows} - {None, ""})

    def examples_of(self, rows: Sequence[int]) -> tuple[str, ...]:
        """Returns a short, a middling and a long answer."""
        texts = sorted({self.texts[row] for row in rows}, key=lambda text: (len(text), text))
        last = len(texts) - 1
        return tuple(texts[i] for i in dict.fromkeys((0, last // 2, last)))


class _Judged(NamedTuple):
    """A suggestion, and the rows of the answers that it removes."""

    suggestion: Suggestion
    removed: frozenset[int]


class _Judge:
    """Decides what of a place to keep and what to forbid."""

    def __init__(
        self, read: _ReadSample, stated: str, common: Collection[str], least: float
    ) -> None:
        self._read, self._stated, self._common, self._least = read, stated, common, least

    def of(self, place: Place, unit: Unit) -> _Judged | None:
        """Returns the suggestion for a place, if there is any."""
        filled = self._read.places[place]
        if not tells(filled.kind, place):
            return None
        answers = sum(map(len, filled.rows.values()))
        if answers < self._least:
            return None
        texts = self._frequent(filled, answers)
        forbidden = self._forbidden(filled, texts, place) if len(texts) > 1 else set()
        if not forbidden:
            return None
        alternatives = tuple(
            self._alternative(filled, text, place, answers, text in forbidden) for text in texts
        )
        wrong = sum(each.share for each in alternatives if each.forbidden)
        kept = max(each.share for each in alternatives if not each.forbidden)
        score = answers * kept * wrong
        rows = frozenset(row for text in forbidden for row in filled.rows[text])
        return _Judged(
            Suggestion(filled.kind, place, alternatives, score, words=unit == "word"), rows
        )

    def _frequent(self, filled: _FilledPlace, answers: int) -> list[str]:
        """Returns what often fills a place, the most frequent first."""
        least = max(2, _LEAST * answers)
        texts = [
            text
            for text, rows in filled.rows.items()
            if len(rows) >= least and not (filled.kind == "name" and text in self._common)
        ]
        return sorted(texts, key=lambda text: (-len(filled.rows[text]), text))

    def _forbidden(self, filled: _FilledPlace, texts: Sequence[str], place: Place) -> set[str]:
        kept = texts[0]
        has_majority = len(filled.rows[kept]) >= _MAJORITY * sum(map(len, filled.rows.values()))
        decided = self._decided(filled.kind, texts, place)
        if decided is not None and (decided == kept or not has_majority):
            return {text for text in texts if not agree(filled.kind, decided, text)}
        others = [text for text in texts if not agree(filled.kind, kept, text)]
        if not has_majority or any(self._is_near(filled, kept, text) for text in others):
            return set()
        return {
            text
            for text in others
            if not self._is_stated(filled.kind, text, place)
            and not self._occur_together(filled, kept, text)
            and not self._may_be_synonym(filled, kept, text)
        }

    def _decided(self, kind: Kind, texts: Sequence[str], place: Place) -> str | None:
        """Returns the number that is stated at the same place, if exactly one is."""
        if kind != "number":
            return None
        stated = [text for text in texts if is_stated_at(place, text, self._stated)]
        return stated[0] if len(stated) == 1 else None

    def _is_stated(self, kind: Kind, text: str, place: Place) -> bool:
        """Whether it is stated anywhere: a number with the character after it."""
        if kind == "name":
            return text in self._stated
        pattern = rf"(?<![0-9０-９.,]){re.escape(text + place.after[:1])}"
        return re.search(pattern, self._stated) is not None

    def _is_near(self, filled: _FilledPlace, kept: str, text: str) -> bool:
        return _NEAR * len(filled.rows[text]) > len(filled.rows[kept])

    def _may_be_synonym(self, filled: _FilledPlace, kept: str, text: str) -> bool:
        """Whether so many models have a name that it is hardly a mistake."""
        if filled.kind == "number":
            return False
        models, most = (self._read.models_of(filled.rows[each]) for each in (text, kept))
        return models * _MODELS > most > 1

    def _occur_together(self, filled: _FilledPlace, kept: str, text: str) -> bool:
        rows = filled.rows[text]
        return sum(kept in self._read.has[row] for row in rows) > _TOGETHER * len(rows)

    def _alternative(
        self, filled: _FilledPlace, text: str, place: Place, answers: int, forbidden: bool
    ) -> Alternative:
        rows = filled.rows[text]
        return Alternative(
            text,
            answers=len(rows),
            share=len(rows) / answers,
            models=self._read.models_of(rows),
            forbidden=forbidden,
            stated=self._is_stated(filled.kind, text, place),
            examples=self._read.examples_of(rows),
        )


def _novel_suggestions(found: Sequence[_Judged], top: int) -> list[Suggestion]:
    """Returns the first suggestions, without those that remove little that others do not.

    Only the first few that keep and forbid the same come before others, so that these have room, too.
    """
    alike: Counter[tuple[str, ...]] = Counter()
    first: list[_Judged] = []
    later: list[_Judged] = []
    for each in found:
        kept = next(a.text for a in each.suggestion.alternatives if not a.forbidden)
        pair = kept, each.suggestion.forbidden[0]
        alike[pair] += 1
        (first if alike[pair] <= _ALIKE else later).append(each)
    chosen: list[Suggestion] = []
    removed: set[int] = set()
    for suggestion, rows in [*first, *later]:
        if len(chosen) < top and len(rows - removed) >= _NEW * len(rows):
            chosen.append(suggestion)
            removed |= rows
    return sorted(chosen, key=_suggestion_order)
