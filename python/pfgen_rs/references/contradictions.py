"""Places where candidates contradict each other, as a list for a person to review.

In "時計の針は1日に22回重なります", the number 22 is between "は1日に" and "回重". Answers with the same
characters around a place, but another number or name in it, contradict each other, unless both are right.
Only a person can decide which is wrong, if any, and write a rule against it: what most answers say is a hint,
not a proof.
"""

import json
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pfgen_rs.errors import ConfigError
from pfgen_rs.lazy import pl
from pfgen_rs.references import rules, steps
from pfgen_rs.references.candidates import BuildProgress, gather, input_files
from pfgen_rs.references.config import BuildConfig, read_outlines

Kind = Literal["number", "name"]

_MEMORY = 1 << 30  # bytes
_SAMPLE = 50_000  # answers examined per question
_BEFORE, _AFTER = 4, 2  # characters around a place
_NEAR = 3  # how many times as many answers the most frequent text has as one that contradicts it
_PLACE = 0.005  # the least share of the answers that a place must have
_LEAST = 0.01  # the least share of the answers at a place that a text must have
_TOGETHER = 0.1  # the largest share of answers with a text that may have the most frequent one, too
_MODELS = 4  # how many times as many models have the most frequent name as one that contradicts it
_NEW = 0.5  # the least share of the contradicting answers that the places before do not have
_CLOSE = 3  # characters before a place that a text must also have to state what is there

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
_LISTS_BEFORE = re.compile(r"(?:[や・と、,]|\b(?:and|or))$")
_LISTS_AFTER = re.compile(r"(?:や|など|、|・|,|and\b|or\b)")


class Place(NamedTuple):
    """What is around a number or a name: fewer characters at the start or the end of an answer."""

    before: str
    after: str


def fills_in(text: str) -> Iterator[tuple[Place, Kind, str]]:
    """Yield the numbers and names in an answer, in order, each with its place."""
    for match in _FILL.finditer(text):
        start, end = match.span()
        place = Place(text[max(0, start - _BEFORE) : start], text[end : end + _AFTER])
        if match.lastgroup == "number":
            yield place, "number", match[0]
        elif end - start > 1:
            yield place, "name", match[0]


def tells(kind: Kind, place: Place) -> bool:
    """Whether what is around a place says what it is about, so that answers may contradict each other.

    After the end of a sentence or clause anything may follow (but after "は、" what is said of the topic),
    and names in lists are examples.
    """
    before = place.before.rstrip().removesuffix("約").rstrip()
    if not before or before[-1] in "。．！？；.!?;:\n":
        return False
    if before[-1] in "、,":
        return before.endswith("は、")
    is_listed = _LISTS_BEFORE.search(before) or _LISTS_AFTER.match(place.after.lstrip())
    return kind == "number" or not is_listed


# Spellings of the same.

_DIGITS = "〇一二三四五六七八九"
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "億": 10**8, "兆": 10**12}
_PARTS = re.compile(r"([0-9.]*)([〇一二三四五六七八九十百千]*)([万億兆]?)")


def agree(kind: Kind, a: str, b: str) -> bool:
    """Whether two fills of a place do not contradict each other: the same number, or parts or spellings.

    A number agrees with itself rounded to fewer decimals.
    """
    one, other = (unicodedata.normalize("NFKC", text) for text in (a, b))
    if kind == "number":
        x, y = _value(one), _value(other)
        return a == b or (x is not None and y is not None and _is_same(x, y))
    plain = [re.sub(r"[ー・＝ .&'’-]", "", name).casefold() for name in (one, other)]
    return plain[0] in plain[1] or plain[1] in plain[0]


def _is_same(x: Decimal, y: Decimal) -> bool:
    try:
        return x.quantize(y) == y or y.quantize(x) == x
    except ArithmeticError:  # too many digits to be rounded
        return x == y


def _value(text: str) -> Decimal | None:
    """Returns the value of a number such as 1,234.5, 46億 or 二十二; `None` if it is none of these."""
    total = Decimal(0)
    if len(text.replace(",", "")) > 12:
        return None
    for digits, kanji, unit in _PARTS.findall(text.replace(",", "")):
        try:
            value = Decimal(digits or 1)
        except ArithmeticError:
            return None
        if digits or kanji or unit:
            total += value * _kanji_value(kanji) * _MYRIADS.get(unit, 1)
    return total


def _kanji_value(text: str) -> int:
    if text and not set(text) & _TENS.keys():
        return int("".join(str(_DIGITS.index(character)) for character in text))
    total, digit = 0, 1
    for character in text:
        total += digit * _TENS.get(character, 0)
        digit = 1 if character in _TENS else _DIGITS.index(character)
    return total + digit * (text[-1:] not in _TENS)


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
    """A place that answers fill differently; `alternatives` by descending number of answers, then by text.

    `score`: the number of answers with the place, times the share of the most frequent alternative that
    contradicts none, times the share of those that contradict it. `rows`: of the answers that have these.
    """

    kind: Kind
    place: Place
    alternatives: tuple[Alternative, ...]
    score: float
    rows: frozenset[int]


def contradictions(
    answers: Any, *, models: Any = None, stated: str = "", top: int = 20
) -> list[Contradiction]:
    """Returns the `top` places where answers contradict each other: numbers first, then names.

    Places hold a number, or a name (katakana, Latin words with a capital, kanji that end like names of
    places, periods and institutions), and are identified by 4 characters before them and 2 after them.
    Within a kind, places come by descending score, then by the place, so the same answers give the same list.

    A place must occur in at least 0.5 % of the answers. What at least half of them have there is contradicted
    by what at most a third as many have, and at least two and 1 %. Left out are near ties; what agrees with
    the most frequent text (the same number, a rounded one, a part of a name); what often occurs together with
    it; names in lists, and those that more than a quarter as many models have; places at the beginning of a
    sentence or clause; and places where mostly the same answers contradict as at one before them. `stated`:
    text that is known to be right, such as the example answer. A number that it has at the same place is
    contradicted by the others unless another has a majority there; otherwise what it has contradicts nothing.

    `models`: the model of each answer, a column as long as `answers`. Of more than 50,000 answers, every
    k-th is read so that at most so many are. Time and memory: linear in the number of characters read.
    """
    texts = pl.Series("answer", answers, dtype=pl.String)
    named = pl.Series("model", [""] * len(texts) if models is None else models, pl.String)
    rows = pl.DataFrame([texts, named.fill_null("")]).drop_nulls()
    rows = rows.gather_every(max(1, -(-rows.height // _SAMPLE)))
    found = _Found(rows["answer"].to_list(), rows["model"].to_list(), stated)
    judged = [found.judged(place, *each) for place, each in found.places.items()]
    listed: list[Contradiction] = []
    concerned: set[int] = set()
    ranked = sorted(filter(None, judged), key=lambda at: (at.kind == "name", -at.score, at.place))
    for each in ranked:
        if len(listed) < top and len(each.rows - concerned) >= _NEW * len(each.rows):
            listed.append(each)
            concerned |= each.rows
    return listed


Filled = dict[str, list[int]]
"""The rows of the answers that have a place, by what they have there."""


class _Found:
    """What answers have, and where; answers that fill a place in several ways enumerate, and are left out."""

    def __init__(self, texts: list[str], models: list[str], stated: str) -> None:
        self._texts, self._models, self._stated = texts, models, stated
        self._has: list[set[str]] = []
        self.places: dict[Place, tuple[Kind, Filled]] = {}
        for row, text in enumerate(texts):
            fills = list(fills_in(text))
            self._has.append({fill for _, _, fill in fills})
            ways = Counter(place for place, _, _ in set(fills))
            for place, kind, fill in dict.fromkeys(fills):
                if ways[place] == 1:
                    known, filled = self.places.setdefault(place, (kind, {}))
                    if known == kind:
                        filled.setdefault(fill, []).append(row)

    def judged(self, place: Place, kind: Kind, filled: Filled) -> Contradiction | None:
        """Returns the contradiction at a place, if there is any."""
        total = sum(map(len, filled.values()))
        if not tells(kind, place) or total < max(2, _PLACE * len(self._texts)):
            return None
        texts = [text for text, rows in filled.items() if len(rows) >= max(2, _LEAST * total)]
        texts.sort(key=lambda text: (-len(filled[text]), text))
        wrong = self._wrong(kind, place, filled, texts) if len(texts) > 1 else []
        if not wrong:
            return None
        alternatives = tuple(
            Alternative(
                text,
                answers=len(filled[text]),
                share=len(filled[text]) / total,
                models=self._models_of(filled[text]),
                contradicts=text in wrong,
                stated=self._is_stated(kind, text, place),
                example=min((self._texts[row] for row in filled[text]), key=lambda t: (len(t), t)),
            )
            for text in texts
        )
        kept = max(each.share for each in alternatives if not each.contradicts)
        score = total * kept * sum(each.share for each in alternatives if each.contradicts)
        rows = frozenset(row for text in wrong for row in filled[text])
        return Contradiction(kind, place, alternatives, score, rows)

    def _wrong(self, kind: Kind, place: Place, filled: Filled, texts: list[str]) -> list[str]:
        kept = texts[0]
        has_majority = 2 * len(filled[kept]) >= sum(map(len, filled.values()))
        here = [text for text in texts if kind == "number" and self._is_stated_at(place, text)]
        if len(here) == 1 and (here[0] == kept or not has_majority):
            return [text for text in texts if not agree(kind, here[0], text)]
        others = [text for text in texts if not agree(kind, kept, text)]
        if not has_majority or any(_NEAR * len(filled[t]) > len(filled[kept]) for t in others):
            return []
        most = self._models_of(filled[kept]) if kind == "name" else 0
        return [
            text
            for text in others
            if not self._is_stated(kind, text, place)
            and sum(kept in self._has[row] for row in filled[text]) <= _TOGETHER * len(filled[text])
            # So many models hardly make the same mistake: it may be a synonym.
            and not self._models_of(filled[text]) * _MODELS > most > 1
        ]

    def _models_of(self, rows: Sequence[int]) -> int:
        return len({self._models[row] for row in rows} - {""})

    def _is_stated(self, kind: Kind, text: str, place: Place) -> bool:
        """Whether it is stated anywhere: a number with the character after it."""
        if kind == "name":
            return text in self._stated
        pattern = rf"(?<![0-9０-９.,]){re.escape(text + place.after[:1])}"
        return re.search(pattern, self._stated) is not None

    def _is_stated_at(self, place: Place, fill: str) -> bool:
        """Whether it is stated at the same place; commas, white space and 約 do not matter."""
        before, after, text = (re.sub(r"[、約\s]", "", t) for t in (*place[:2], self._stated))
        return bool(before and after) and f"{before[-_CLOSE:]}{fill}{after}" in text


# The list for a configuration.

_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(["question_id", "kind", "before", "text", "after"], pl.String),
    "contradicts": pl.Boolean,
    "answers": pl.Int64,
    "share": pl.Float64,
    "models": pl.Int64,
    "stated": pl.Boolean,
    "example": pl.String,
}


def review_list(config: BuildConfig, progress: BuildProgress | None = None) -> pl.DataFrame:
    """Returns the 20 strongest contradictions among the candidates of each question, a row an alternative.

    Columns: `question_id`, the `kind` of place (number or name), what is `before` it, the `text` there and
    what is `after` it, and the fields of `Alternative`. Candidates are normalised first if the configuration
    includes that step. What the example answers and keywords of the questions state is taken to be right.
    Raises the same errors as `pipeline.build` for invalid candidates and configurations, and `ConfigError`
    for tokens.
    """
    if config.unit == "token":
        raise ConfigError("contradictions need text: there are none for the unit 'token'")
    outlines = read_outlines(config.path(config.questions)) if config.questions else None
    style = None
    if "normalise" in config.steps:  # rules need not be written yet
        style = config.normalise.prepared(config.path)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-") as name:
        folder, sources = Path(name), input_files(config)
        gathered = gather(config, sources, outlines, folder, memory=_MEMORY, progress=progress)
        for outline, count in gathered.questions:
            sample = _sampled(steps.Pool(folder / outline.question_id), count, style)
            stated = f"{outline.note}\n{json.dumps(list(outline.keywords), ensure_ascii=False)}"
            for at in contradictions(sample["answer"], models=sample["model"], stated=stated):
                about = {"question_id": outline.question_id, "kind": at.kind}
                around = {"before": at.place.before, "after": at.place.after}
                rows += [about | around | vars(each) for each in at.alternatives]
    return pl.DataFrame(rows, schema=_COLUMNS)


def _sampled(pool: steps.Pool, count: int, style: rules.Style | None) -> pl.DataFrame:
    """Returns every k-th answer of a pool with its model, normalised if a style is given."""
    step, at = max(1, -(-count // _SAMPLE)), 0
    pieces = [pl.DataFrame(schema={"answer": pl.String, "model": pl.String})]
    for frame in pool.frames("answer", "model"):
        rows = frame.gather_every(step, -at % step)
        at += frame.height
        if style is not None:
            result = style.apply(rows.get_column("answer"))
            rows = rows.with_columns(answer=result.answers).filter(pl.Series(result.kept))
        pieces.append(rows)
    return pl.concat(pieces)
