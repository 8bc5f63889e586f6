"""The tasks of the Wikipedia Annotated Corpus by the obvious means: lists gone through anew each time."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from itertools import combinations

CASES = ("ガ", "デ", "ト", "ニ", "ヘ", "ヲ", "カラ", "ガ２", "マデ", "ヨリ")
KINDS = {
    "ORGANIZATION": "組織名",
    "PERSON": "人名",
    "LOCATION": "地名",
    "ARTIFACT": "固有物名",
    "DATE": "日付表現",
    "TIME": "時刻表現",
    "MONEY": "金額表現",
    "PERCENT": "割合表現",
}
LETTERS = (
    "えー,びー,しー,でぃー,いー,えふ,じー,えいち,あい,じぇー,けー,える,えむ,えぬ,おー,ぴー,きゅー,"
    "あーる,えす,てぃー,ゆー,ぶい,だぶりゅー,えっくす,わい,ぜっと"
)
REL = re.compile(
    r'<rel type="(.*?)"(?: mode="(.*?)")? target="(.*?)"(?: sid="(.*?)" id="(\d+)")?/>'
)
PLACE = re.compile(r"括弧始:(\S+) 括弧終:(\S+) 括弧位置:(\d+)")


@dataclass(eq=False)
class Word:
    surface: str
    reading: str
    pos: str


@dataclass(eq=False)
class Unit:
    """A phrase or a base phrase."""

    parent: int
    features: str = ""
    words: list[Word] = field(default_factory=list)
    phrase: Unit | None = None

    @property
    def text(self) -> str:
        return "".join(word.surface for word in self.words)


@dataclass(eq=False)
class Sentence:
    sid: str = ""
    remark: str = ""
    phrases: list[Unit] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)

    @property
    def words(self) -> list[Word]:
        return [word for phrase in self.phrases for word in phrase.words]

    @property
    def text(self) -> str:
        return "".join(word.surface for word in self.words)


@dataclass(eq=False)
class Entity:
    number: int
    referent: str | None = None
    same: list[Unit] = field(default_factory=list)
    near: list[Unit] = field(default_factory=list)


def read(text: str) -> list[Sentence]:
    """The sentences of a correct document."""
    sentences = [Sentence()]
    for line in text.split("\n"):
        now = sentences[-1]
        head = re.fullmatch(r"([*+])(?: (-?\d+)[DPIA](?: (.*))?)?", line)
        if line == "EOS":
            sentences.append(Sentence())
        elif line.startswith("# S-ID:"):
            now.sid, _, remark = line.removeprefix("# S-ID:").partition(" ")
            now.remark = remark.lstrip()
        elif head and head[1] == "*":
            now.phrases.append(Unit(int(head[2] or -1)))
        elif head:
            now.units.append(Unit(int(head[2] or -1), head[3] or "", phrase=now.phrases[-1]))
        elif line:
            surface, reading, _, pos = line.replace("   ", " \0 ").split(" ")[:4]
            word = Word(surface, reading.replace("\0", " "), pos)
            now.phrases[-1].words.append(word)
            now.units[-1].words.append(word)
    return sentences[:-1]


def outputs(text: str) -> dict[str, tuple[str, str]]:
    """Input and output of each task, blank outputs left out."""
    sentences = read(text)
    kept = [each for each in sentences if "括弧始" not in each.remark]
    without = "".join(each.text for each in kept)
    with_all = with_parentheses(sentences)
    found = {
        "wiki_reading": (without, reading(kept)),
        "wiki_ner": (with_all, " ".join(names(sentences))),
        "wiki_dependency": (without, "\n".join(dependencies(kept))),
        "wiki_pas": (with_all, "\n".join(predicates(sentences))),
        "wiki_coreference": (without, "\n".join(coreferences(kept))),
    }
    return {task: pair for task, pair in found.items() if pair[1].strip()}


def with_parentheses(sentences: list[Sentence]) -> str:
    text, left = "", list(sentences)
    while left:
        now = left.pop(0)
        if "括弧削除" not in now.remark:
            text += now.text
            continue
        inner = left.pop(0)
        place = PLACE.search(inner.remark)
        assert place
        at = int(place[3])
        text += now.text[:at] + place[1] + inner.text + place[2] + now.text[at:]
    return text


def reading(sentences: list[Sentence]) -> str:
    text = ""
    for word in (word for sentence in sentences for word in sentence.words):
        if word.reading in " \u3000" and word.surface not in " \u3000":
            continue
        first = word.reading.split("/")[0]
        if re.fullmatch("[A-Z]+", first):
            first = "".join(LETTERS.split(",")[ord(letter) - ord("A")] for letter in first)
        text += first
    return text


def dependencies(sentences: list[Sentence]) -> list[str]:
    return [
        f"{phrase.text} -> {sentence.phrases[phrase.parent].text}"
        for sentence in sentences
        for phrase in sentence.phrases
        if phrase.parent != -1
    ]


def names(sentences: list[Sentence]) -> list[str]:
    found = []
    for sentence in sentences:
        surfaces: list[str] = []
        for unit in sentence.units:
            surfaces += [word.surface for word in unit.words]
            features = re.findall(r"<NE:([^:>]+):((?:\\>|[^>])*)>", unit.features)
            if not features:
                continue
            category, name = features[-1][0], features[-1][1].replace("\\>", ">")
            runs = {"".join(surfaces[a:b]) for a, b in combinations(range(len(surfaces) + 1), 2)}
            if category in KINDS and name in runs:
                found.append(f"{name}（{KINDS[category]}）")
    return found


def trimmed(words: list[Word], front: str, back: str) -> str:
    left = list(words)
    while left and left[0].pos in front.split():
        left.pop(0)
    while left and left[-1].pos in back.split():
        left.pop()
    return "".join(word.surface for word in left or words)


def mention(sentences: list[Sentence], unit: Unit) -> str:
    sentence = next(each for each in sentences if unit in each.units)
    inside = {unit}
    for _ in sentence.units:
        inside |= {
            u for u in sentence.units if u.parent != -1 and sentence.units[u.parent] in inside
        }
    phrase = [each for each in sentence.units if each.phrase is unit.phrase]
    at = phrase.index(unit)
    chosen = [unit]
    for each in phrase[at + 1 :]:
        if each not in inside:
            break
        chosen.append(each)
    for each in reversed(phrase[:at]):
        if each not in inside:
            break
        chosen.insert(0, each)
    words = [word for each in chosen for word in each.words]
    return trimmed(words, "助詞 特殊 判定詞", "助詞 特殊 判定詞")


def tags(unit: Unit) -> list[tuple[str, str, str, str, str]]:
    return REL.findall(unit.features)


def target(sentences: list[Sentence], own: Sentence, sid: str, number: str) -> Unit | None:
    found = [own] if sid == "" else [each for each in sentences if each.sid == sid]
    units = found[0].units if found else []
    return units[int(number)] if int(number) < len(units) else None


def katakana(text: str) -> str:
    return "".join(chr(ord(c) + 96) if "ぁ" <= c <= "ゖ" else c for c in text)


def predicates(sentences: list[Sentence]) -> list[str]:
    lines = []
    for sentence in sentences:
        for unit in sentence.units:
            listed: dict[str, list[Unit]] = {}
            optional: dict[str, list[Unit]] = {}
            for kind, _, name, sid, number in tags(unit):
                case = "".join(
                    unicodedata.lookup(f"FULLWIDTH {unicodedata.name(c)}")
                    if c in "0123456789"
                    else c
                    for c in kind
                )
                case = katakana(case) if katakana(case) in CASES else case
                arguments = listed.setdefault(case, [])
                if number:
                    argument = target(sentences, sentence, sid, number)
                    if argument and argument not in arguments:
                        arguments.append(argument)
                elif name == "なし":
                    optional[case] = list(arguments)
            line = "".join(
                f" {'ガ' if case == 'ガ２' else case}：{mention(sentences, argument)}"
                for case in CASES
                for argument in listed.get(case, [])
                if argument not in optional.get(case, []) and argument.phrase is not unit.phrase
            )
            if line:
                assert unit.phrase
                lines.append(trimmed(unit.phrase.words, "助詞 特殊 判定詞", "助詞 特殊") + line)
    return lines


def coreferences(sentences: list[Sentence]) -> list[str]:
    entities = Entities(sentences)
    groups: list[tuple[set[int], list[str]]] = []
    for sentence in sentences:
        for unit in sentence.units:
            numbers = {each.number for each in entities.all if unit in each.same}
            mentions = next((group[1] for group in groups if group[0] == numbers), None)
            if numbers and mentions is None:
                groups.append((numbers, mentions := []))
            if numbers and mentions is not None:
                mentions.append(mention(sentences, unit))
    return [" ".join(mentions) for _, mentions in groups if len(mentions) > 1]


class Entities:
    """The entities of a document; `all` in the order of their numbers."""

    def __init__(self, sentences: list[Sentence]) -> None:
        self.all: list[Entity] = []
        self.sentences = sentences
        for sentence in sentences:
            for unit in sentence.units:
                for kind, mode, name, sid, number in tags(unit):
                    other = target(sentences, sentence, sid, number) if number else None
                    if not kind.startswith("="):
                        self.case(other, name if not number else "なし")
                    elif mode not in ("OR", "？"):
                        self.ensure(unit)
                        self.link(unit, other, name if not number else None, kind.endswith("≒"))

    def case(self, other: Unit | None, name: str) -> None:
        if other:
            self.ensure(other)
        elif name != "なし":
            self.referent(name)

    def link(self, unit: Unit, other: Unit | None, name: str | None, near: bool) -> None:
        if name is not None:
            self.with_referent(unit, self.referent(name), near)
        elif other and other is not unit:
            self.ensure(other)
            self.with_unit(unit, other, near)

    def new(self, referent: str | None = None) -> Entity:
        self.all.append(Entity(max((each.number for each in self.all), default=-1) + 1, referent))
        return self.all[-1]

    def ensure(self, unit: Unit) -> None:
        if not any(unit in each.same for each in self.all):
            self.new().same.append(unit)

    def referent(self, text: str) -> Entity:
        match = re.fullmatch(r"(不特定:人|不特定:物|不特定:状況|前文|後文)([0-9０-９]+)", text)
        if match:
            text = f"{match[1]}{int(match[2])}"
        if match or text in ("著者", "読者"):
            for each in self.all:
                if each.referent == text:
                    return each
        return self.new(text)

    def of(self, unit: Unit) -> list[Entity]:
        return [each for each in self.all if unit in each.same or unit in each.near]

    def with_unit(self, b: Unit, t: Unit, near: bool) -> None:
        for s, other in [(s, e) for s in self.of(b) for e in self.of(t)]:
            if s in self.of(b) and other in self.of(t):
                self.merge(b, t, s, other, near)

    def with_referent(self, b: Unit, entity: Entity, near: bool) -> None:
        for s in self.of(b):
            if s in self.of(b) and entity in self.all:
                self.merge(b, None, s, entity, near)

    def merge(self, b: Unit, t: Unit | None, s: Entity, e: Entity, near: bool) -> None:
        tn, sn = t is not None and t in e.near, b in s.near
        if s is e:
            if tn != sn and not near:
                self.add(t if t and tn else b, s, near=False)
            return
        if t is not None:
            self.add(t, s, near=near or sn)
        self.add(b, e, near=near or tn)
        if near or tn or sn or len({s.referent, e.referent} - {None}) == 2:
            return
        s.referent = e.referent if s.referent is None else s.referent
        for unit in list(e.same):
            self.add(unit, s, near=False)
        for unit in list(e.near):
            self.add(unit, s, near=True)
        self.all.remove(e)

    def add(self, unit: Unit, entity: Entity, near: bool) -> None:
        if near:
            if unit not in entity.same and unit not in entity.near:
                entity.near.append(unit)
            return
        if unit in entity.near:
            entity.near.remove(unit)
        if unit not in entity.same:
            entity.same.append(unit)
