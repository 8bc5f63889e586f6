"""Places where candidates contradict each other, as a list for a person to review.

In "時計の針は1日に22回重なります", the number 22 is between "は1日に" and "回重". Answers with the same
characters around a place, but another number or name in it, contradict each other, unless both are right.
Only a person can decide which is wrong, if any, and write a rule against it: what most answers say is a hint,
not a proof.
"""

from __future__ import annotations

import json
import re
import tempfile
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from pfgen_rs.errors import ConfigError, SettingsError
from pfgen_rs.references.candidates import GatherProgress, gather, input_files
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.normalise import Style
from pfgen_rs.references.outlines import read_outlines
from pfgen_rs.references.pool import Pool

Kind = Literal["number", "name"]

SAMPLE = 50_000  # answers examined per question
_FEW = 5_000  # answers examined for ordinary words
_COMMON = 3  # questions in whose answers a name is frequent, if it is an ordinary word
_NEAR = 3
"""How many times as many answers the most frequent text must have as one that contradicts it."""
_LEAST = 0.01
"""The least share of the answers at a place that a text must have."""
_TOGETHER = 0.1
"""The largest share of answers with a contradicting text that may have the most frequent one elsewhere."""
_MODELS = 4
"""How many times as many models must have the most frequent name as one that contradicts it."""
_MAJORITY = 0.5
"""The least share of the answers at a place that must have the most frequent text, unless it is stated."""
_ALIKE = 3
"""How many places with the same contradiction come before others."""
_NEW = 0.5
"""The least share of the contradicting answers at a place that those before it do not have."""

_KANJI = "一-鿿々〆ヶ"
_NUMBER = (
    r"[0-9０-９]+(?:[,.，．][0-9０-９]+)*(?:[兆億万千百]+(?:[0-9０-９]+)?)*"
    rf"|(?:(?<![{_KANJI}])|(?<=[約第計全]))[〇一二三四五六七八九十百千]+(?=[年月日回個人時分度か万億兆])[万億兆]*"
)
# Katakana, Latin words with a capital, and kanji that end like names of places, periods and institutions.
_ENDING = "[都道府県市区町村郡州島山川湖海湾港駅橋城寺社代紀省庁]"
_NAME = (
    r"[ァ-ヺー]{2,}(?:[・＝][ァ-ヺー]+)*"
    r"|[A-ZＡ-Ｚ][\wＡ-Ｚａ-ｚ]*(?:[ .&'’-][A-Z][A-Za-z0-9]*)*"
    rf"|(?<![{_KANJI}])[{_KANJI}]{{1,12}}(?<={_ENDING})(?![{_KANJI}])"
)
_FILL = re.compile(f"(?P<number>{_NUMBER})|(?P<name>{_NAME})", re.ASCII)
_ENDS = frozenset("。．！？；.!?;:\n")
_LISTS_BEFORE = re.compile(r"(?:[や・と、,]|\b(?:and|or))$")
_LISTS_AFTER = re.compile(r"(?:や|など|、|・|,|and\b|or\b)")
_HEDGES = re.compile(r"[、約\s]")
_CLOSE = 3
"""Characters before a place that a text must also have to state what is there."""
_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")}
_DIGITS_AT_MOST = 12
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "億": 10**8, "兆": 10**12}


# Places.


class Place(NamedTuple):
    """What is around a number or a name; `starts` and `ends`: the answer starts or ends with it."""

    before: str
    after: str
    starts: bool = False
    ends: bool = False


class Fill(NamedTuple):
    """A number or a name in an answer, and its place."""

    kind: Kind
    text: str
    place: Place


def fills_in(text: str, before: int, after: int) -> Iterator[Fill]:
    """Yield the numbers and names in an answer, with so many characters around them, in order."""
    for match in _FILL.finditer(text):
        kind: Kind = "number" if match.lastgroup == "number" else "name"
        start, end = match.span()
        left, right = start - before, end + after
        place = Place(text[max(0, left) : start], text[end:right], left < 0, right > len(text))
        if end - start > 1 or kind == "number":
            yield Fill(kind, match[0], place)


def tells(kind: Kind, place: Place) -> bool:
    """Whether what is around a place says what it is about, so that answers may contradict each other.

    After the end of a sentence or clause anything may follow (but after "は、" what is said of the topic),
    and names in lists are examples.
    """
    before = place.before.rstrip().removesuffix("約").rstrip()
    if not before or before[-1] in _ENDS:
        return False
    if before[-1] in "、,":
        return before.endswith("は、")
    is_listed = _LISTS_BEFORE.search(before) or _LISTS_AFTER.match(place.after.lstrip())
    return kind == "number" or not is_listed


def agree(kind: Kind, a: str, b: str) -> bool:
    """Whether two fills of a place do not contradict each other: the same number, or parts or spellings.

    A number agrees with itself rounded to fewer decimals.
    """
    if kind == "number":
        x, y = _value(a), _value(b)
        if x is None or y is None:
            return a == b
        return _is_rounded(x, y) or _is_rounded(y, x)
    short, long = sorted((_spelling(a), _spelling(b)), key=len)
    return short in long


def _spelling(name: str) -> str:
    return re.sub(r"[ー・＝ .&'’-]", "", unicodedata.normalize("NFKC", name)).casefold()


def _is_rounded(exact: Decimal, rounded: Decimal) -> bool:
    try:
        return exact.quantize(rounded) == rounded
    except ArithmeticError:  # too many digits to be rounded
        return exact == rounded


def _value(text: str) -> Decimal | None:
    """Returns the value of a number such as 1,234.5, 46億 or 二十二; `None` if it is none of these."""
    total = Decimal(0)
    rest = unicodedata.normalize("NFKC", text).replace(",", "")
    if len(rest) > _DIGITS_AT_MOST:
        return None
    for part in re.finditer(r"([0-9.]*)([〇一二三四五六七八九十百千]*)([万億兆]?)", rest):
        if not part[0]:
            continue
        try:
            value = Decimal(part[1]) if part[1] else Decimal(1)
        except ArithmeticError:
            return None
        if part[2]:
            value *= _kanji_value(part[2])
        total += value * _MYRIADS.get(part[3], 1)
    return total


def _kanji_value(text: str) -> int:
    if not any(character in _TENS for character in text):
        return int("".join(str(_DIGITS[character]) for character in text))
    total, digit = 0, 1
    for character in text:
        if character in _TENS:
            total += digit * _TENS[character]
            digit = 1
        else:
            digit = _DIGITS[character]
    return total + (digit if text[-1] not in _TENS else 0)


# Contradictions.


@dataclass(frozen=True)
class Alternative:
    """A number or name at a place.

    `answers`: how many answers have it there; `share`: of all answers that have the place; `models`: how many
    models they are from, 0 if unknown; `contradicts`: whether it contradicts the most frequent or the stated
    one; `stated`: whether the example answer or a keyword of the question has it; `example`: a short answer.
    """

    text: str
    answers: int
    share: float
    models: int
    contradicts: bool
    stated: bool
    example: str


@dataclass(frozen=True)
class Contradiction:
    """A place that answers fill differently.

    `alternatives`: by descending number of answers, then by text. `score`: the number of answers with the
    place, times the share of the most frequent alternative that contradicts none, times the share of those
    that contradict it. `rows`: of the answers that have these.
    """

    kind: Kind
    place: Place
    alternatives: tuple[Alternative, ...]
    score: float
    rows: frozenset[int]

    @property
    def pair(self) -> tuple[str, str]:
        """The most frequent alternative, and the most frequent of those that contradict it."""
        kept, wrong = (
            next(each.text for each in self.alternatives if each.contradicts is wanted)
            for wanted in (False, True)
        )
        return kept, wrong


def contradictions(
    answers: Any,
    *,
    models: Any = None,
    stated: str = "",
    common: Collection[str] = (),
    top: int = 20,
    min_share: float = 0.005,
    before: int = 4,
    after: int = 2,
    sample: int = SAMPLE,
) -> list[Contradiction]:
    """Returns the `top` places where answers contradict each other: numbers first, then names.

    Places hold a number, or a name (katakana, Latin words with a capital, kanji that end like names of
    places, periods and institutions), and are identified by the `before` and `after` characters around them.
    Within a kind, places are ordered by descending score, then by the place, so the same answers give the
    same list.

    A place must occur in at least `min_share` of the answers. What at least half of them have there is
    contradicted by what at most a third as many have, and at least two and 1 %. Left out are near ties; what
    agrees with the most frequent text (the same number, a rounded one, a part of a name); what often occurs
    together with it; names in lists, names that more than a quarter as many models have, and those in
    `common` (see `frequent_names`); places at the beginning of a sentence or clause; and places where mostly
    the same answers contradict as at one before them. `stated`: text that is known to be right, such as the
    example answer. A number that it has at the same place is contradicted by the others unless another has a
    majority there; elsewhere, what it has contradicts nothing.

    `models`: the model of each answer, a column as long as `answers`. Of more than `sample` answers, every
    k-th is read so that at most `sample` are. Time and memory: linear in the number of characters read.
    Raises `SettingsError` for numbers out of range.
    """
    least = {"top": (top, 0), "before": (before, 1), "after": (after, 1), "sample": (sample, 1)}
    for name, (value, minimum) in least.items():
        if value < minimum:
            raise SettingsError(f"{name} must be at least {minimum}, not {value}")
    if not 0 <= min_share <= 1:
        raise SettingsError(f"min_share must be between 0 and 1, not {min_share}")
    read = _Sample(answers, models, sample)
    read.find(before, after)
    judge = _Judge(read, stated, common, max(2, min_share * len(read.texts)))
    judged = [each for place in read.places if (each := judge.of(place)) is not None]
    return _novel(sorted(judged, key=_order), top)


def frequent_names(answers: Any, *, share: float = 0.01, sample: int = _FEW) -> set[str]:
    """Returns the names that at least `share` of the answers have.

    Names that are frequent in the answers to several questions are ordinary words, such as システム: what
    answers have in their place does not contradict them.
    """
    texts = _Sample(answers, None, sample).texts
    counts = Counter(
        name
        for text in texts
        for name in {fill.text for fill in fills_in(text, 0, 0) if fill.kind == "name"}
    )
    return {name for name, count in counts.items() if count >= share * len(texts)}


def _order(each: Contradiction) -> tuple[bool, float, Place]:
    return each.kind == "name", -each.score, each.place


def _novel(ordered: Sequence[Contradiction], top: int) -> list[Contradiction]:
    """Returns the first places, without those that concern few answers that others do not.

    Only the first few with the same contradiction come before others, so that these have room, too.
    """
    alike: Counter[tuple[str, str]] = Counter()
    first: list[Contradiction] = []
    later: list[Contradiction] = []
    for each in ordered:
        alike[each.pair] += 1
        (first if alike[each.pair] <= _ALIKE else later).append(each)
    chosen: list[Contradiction] = []
    concerned: set[int] = set()
    for each in [*first, *later]:
        if len(chosen) < top and len(each.rows - concerned) >= _NEW * len(each.rows):
            chosen.append(each)
            concerned |= each.rows
    return sorted(chosen, key=_order)


class _Filled:
    """The rows of the answers that have a place, by what they have there."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.rows: defaultdict[str, list[int]] = defaultdict(list)

    @property
    def answers(self) -> int:
        return sum(map(len, self.rows.values()))


class _Sample:
    """A sample of answers: its texts, their models, what they have, and where.

    `places`: answers that fill a place in several ways enumerate rather than contradict, and are left out.
    """

    def __init__(self, answers: Any, models: Any, most: int) -> None:
        column = pl.Series("answer", answers, dtype=pl.String)
        names = pl.Series("model", [None] * len(column) if models is None else models, pl.String)
        step = max(1, -(-len(column) // most))
        kept = pl.DataFrame([column, names]).gather_every(step).drop_nulls("answer")
        self.texts: list[str] = kept.get_column("answer").to_list()
        self._models: list[str | None] = kept.get_column("model").to_list()
        self.has: list[frozenset[str]] = []
        self.places: dict[Place, _Filled] = {}

    def find(self, before: int, after: int) -> None:
        """Find all places of all answers."""
        for row, text in enumerate(self.texts):
            fills = list(fills_in(text, before, after))
            self.has.append(frozenset(fill.text for fill in fills))
            own: dict[Place, set[tuple[Kind, str]]] = {}
            for kind, fill, place in fills:
                own.setdefault(place, set()).add((kind, fill))
            for place, ways in own.items():
                if len(ways) == 1:
                    self._add(place, *ways.pop(), row)

    def _add(self, place: Place, kind: Kind, text: str, row: int) -> None:
        filled = self.places.setdefault(place, _Filled(kind))
        if filled.kind == kind:
            filled.rows[text].append(row)

    def models(self, rows: Sequence[int]) -> int:
        """Returns how many models the answers are from."""
        return len({self._models[row] for row in rows} - {None, ""})

    def shortest(self, rows: Sequence[int]) -> str:
        """Returns the shortest of the answers."""
        return min((self.texts[row] for row in rows), key=lambda text: (len(text), text))


class _Judge:
    """Decides what at a place contradicts the rest."""

    def __init__(self, read: _Sample, stated: str, common: Collection[str], least: float) -> None:
        self._read, self._stated, self._common, self._least = read, stated, common, least

    def of(self, place: Place) -> Contradiction | None:
        """Returns the contradiction at a place, if there is any."""
        filled = self._read.places[place]
        if not tells(filled.kind, place) or filled.answers < self._least:
            return None
        texts = self._frequent(filled)
        wrong = self._wrong(filled, texts, place) if len(texts) > 1 else set()
        if not wrong:
            return None
        alternatives = tuple(
            self._alternative(filled, text, place, text in wrong) for text in texts
        )
        shares = sum(each.share for each in alternatives if each.contradicts)
        kept = max(each.share for each in alternatives if not each.contradicts)
        rows = frozenset(row for text in wrong for row in filled.rows[text])
        score = filled.answers * kept * shares
        return Contradiction(filled.kind, place, alternatives, score, rows)

    def _frequent(self, filled: _Filled) -> list[str]:
        """Returns what often fills a place, the most frequent first."""
        least = max(2, _LEAST * filled.answers)
        texts = [
            text
            for text, rows in filled.rows.items()
            if len(rows) >= least and not (filled.kind == "name" and text in self._common)
        ]
        return sorted(texts, key=lambda text: (-len(filled.rows[text]), text))

    def _wrong(self, filled: _Filled, texts: Sequence[str], place: Place) -> set[str]:
        kept = texts[0]
        has_majority = len(filled.rows[kept]) >= _MAJORITY * filled.answers
        decided = self._decided(filled.kind, texts, place)
        if decided is not None and (decided == kept or not has_majority):
            return {text for text in texts if not agree(filled.kind, decided, text)}
        others = [text for text in texts if not agree(filled.kind, kept, text)]
        if not has_majority or any(_is_near(filled, kept, text) for text in others):
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
        stated = [text for text in texts if _is_stated_at(place, text, self._stated)]
        return stated[0] if len(stated) == 1 else None

    def _is_stated(self, kind: Kind, text: str, place: Place) -> bool:
        """Whether it is stated anywhere: a number with the character after it."""
        if kind == "name":
            return text in self._stated
        pattern = rf"(?<![0-9０-９.,]){re.escape(text + place.after[:1])}"
        return re.search(pattern, self._stated) is not None

    def _may_be_synonym(self, filled: _Filled, kept: str, text: str) -> bool:
        """Whether so many models have a name that it is hardly a mistake."""
        if filled.kind == "number":
            return False
        models, most = (self._read.models(filled.rows[each]) for each in (text, kept))
        return models * _MODELS > most > 1

    def _occur_together(self, filled: _Filled, kept: str, text: str) -> bool:
        rows = filled.rows[text]
        return sum(kept in self._read.has[row] for row in rows) > _TOGETHER * len(rows)

    def _alternative(self, filled: _Filled, text: str, place: Place, wrong: bool) -> Alternative:
        rows = filled.rows[text]
        return Alternative(
            text,
            answers=len(rows),
            share=len(rows) / filled.answers,
            models=self._read.models(rows),
            contradicts=wrong,
            stated=self._is_stated(filled.kind, text, place),
            example=self._read.shortest(rows),
        )


def _is_near(filled: _Filled, kept: str, text: str) -> bool:
    return _NEAR * len(filled.rows[text]) > len(filled.rows[kept])


def _is_stated_at(place: Place, fill: str, stated: str) -> bool:
    """Whether a text has this at the same place; commas, white space and 約 do not matter."""
    before, after, text = (_HEDGES.sub("", part) for part in (place.before, place.after, stated))
    return bool(before and after) and f"{before[-_CLOSE:]}{fill}{after}" in text


# The list for a configuration.

_SCHEMA: Mapping[str, Any] = {
    "question_id": pl.String,
    "kind": pl.String,
    "before": pl.String,
    "text": pl.String,
    "after": pl.String,
    "contradicts": pl.Boolean,
    "answers": pl.Int64,
    "share": pl.Float64,
    "models": pl.Int64,
    "stated": pl.Boolean,
    "example": pl.String,
}


def review_list(
    config: BuildConfig,
    *,
    top: int = 20,
    memory: int = 1 << 30,
    progress: GatherProgress | None = None,
) -> pl.DataFrame:
    """Returns the `top` contradictions among the candidates of each question, a row an alternative.

    Columns: `question_id`, the `kind` of place (number or name), what is `before` it, the `text` there and
    what is `after` it, and the fields of `Alternative`. Candidates are normalised first if the configuration
    includes that step. What the example answers and keywords of the questions state is taken to be right, and
    names that are frequent in the answers to three questions to be ordinary words. Raises the same errors as
    `pipeline.build` for invalid candidates and configurations, and `ConfigError` for tokens.
    """
    if config.unit == "token":
        raise ConfigError("contradictions need text: there are none for the unit 'token'")
    outlines = read_outlines(config.path(config.questions)) if config.questions else None
    style = config.prepared()["normalise"] if "normalise" in config.steps else None
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-") as name:
        folder, sources = Path(name), input_files(config)
        gathered = gather(config, sources, outlines, folder, memory=memory, progress=progress)
        pools = [(each, Pool(folder / each.question_id), n) for each, n in gathered.questions]
        few = (_sampled(pool, count, _FEW, style)["answer"] for _, pool, count in pools)
        counts = Counter(name for answers in few for name in frequent_names(answers))
        common = {name for name, count in counts.items() if count >= _COMMON}
        rows: list[tuple[Any, ...]] = []
        for outline, pool, count in pools:
            sample = _sampled(pool, count, SAMPLE, style)
            keywords = json.dumps(list(outline.keywords), ensure_ascii=False)
            stated = f"{outline.note}\n{keywords}"
            for each in contradictions(
                sample["answer"], models=sample["model"], stated=stated, common=common, top=top
            ):
                rows += _rows(outline.question_id, each)
    return pl.DataFrame(rows, schema=dict(_SCHEMA), orient="row")


def _rows(question_id: str, at: Contradiction) -> Iterator[tuple[Any, ...]]:
    for each in at.alternatives:
        place = (at.kind, at.place.before, each.text, at.place.after)
        facts = (each.contradicts, each.answers, each.share, each.models, each.stated)
        yield question_id, *place, *facts, each.example


def _sampled(pool: Pool, count: int, most: int, style: Style | None) -> pl.DataFrame:
    """Returns every k-th answer of a pool with its model, normalised if a style is given."""
    step, at = max(1, -(-count // most)), 0
    pieces = [pl.DataFrame(schema={"answer": pl.String, "model": pl.String})]
    for frame in pool.frames("answer", "model"):
        rows = frame.gather_every(step, -at % step)
        at += frame.height
        if style is not None:
            result = style.apply(rows.get_column("answer"))
            rows = rows.with_columns(answer=result.answers).filter(pl.Series(result.kept))
        pieces.append(rows)
    return pl.concat(pieces)
