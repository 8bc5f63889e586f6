"""Samples of the five tasks of the Wikipedia Annotated Corpus, from its documents."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.conversion import knp

STEPS = 1_000_000
"""Pairs of entities and mentions that may be gone through for one document."""

_NOTHING = "なし"
_NEAR = "≒"
_LEFT_OUT = ("OR", "？")
_NAMED = ("著者", "読者")
_NUMBERED = re.compile(r"(不特定:(?:人|物|状況)|前文|後文)([0-9０-９]+)")
_NARROW = str.maketrans("０１２３４５６７８９", "0123456789")


Sentences = Mapping[str, knp.Sentence]
"""The first sentence with each id."""


@dataclass(slots=True, eq=False)
class Entity:
    """An entity: mentions that are identical to it or nearly so (≒), and its referent outside."""

    number: int
    referent: str | None = None
    identical: set[knp.BasePhrase] = field(default_factory=set, repr=False)
    near: set[knp.BasePhrase] = field(default_factory=set, repr=False)

    def __contains__(self, mention: knp.BasePhrase) -> bool:
        return mention in self.identical or mention in self.near


class Entities:
    """The entities of a document, by number."""

    def __init__(self) -> None:
        self._entities: dict[int, Entity] = {}  # in ascending order
        self._referents: dict[str, Entity] = {}  # those that are unique in a document
        self._identical: dict[knp.BasePhrase, set[Entity]] = {}
        self._near: dict[knp.BasePhrase, set[Entity]] = {}
        self._steps = 0

    def identical(self, mention: knp.BasePhrase) -> Collection[Entity]:
        """Returns the entities to which a base phrase is identical."""
        return self._identical.get(mention, ())

    def both(self, mention: knp.BasePhrase) -> list[Entity]:
        """Returns the entities that a base phrase mentions, nearly or not, in ascending number."""
        found = [*self._identical.get(mention, ()), *self._near.get(mention, ())]
        found.sort(key=lambda entity: entity.number)
        return found

    def __contains__(self, entity: Entity) -> bool:
        return self._entities.get(entity.number) is entity

    def give(self, mention: knp.BasePhrase) -> None:
        """Make an entity for a base phrase that is identical to none."""
        if not self.identical(mention):
            self._add(mention, self._new(), near=False)

    def of_referent(self, text: str) -> Entity:
        """Returns the entity of a referent outside the document: a new one unless it is unique."""
        unique = _unique_referent(text)
        if unique is None:
            return self._new(text)
        if unique not in self._referents:
            self._referents[unique] = self._new(unique)
        return self._referents[unique]

    def link(self, source: knp.BasePhrase, target: knp.BasePhrase, near: bool) -> None:
        """Merge the entities of two base phrases. Raises `InputError` after too many steps."""
        ours, theirs = self.both(source), self.both(target)
        for one in ours:
            self._count(len(theirs))
            for other in theirs:
                if source in one and target in other:
                    self._merge(source, target, one, other, near)

    def link_referent(self, source: knp.BasePhrase, entity: Entity, near: bool) -> None:
        """Merge the entities of a base phrase with another. Raises `InputError` as `link` does."""
        ours = self.both(source)
        self._count(len(ours))
        for one in ours:
            if source in one and entity in self:
                self._merge(source, None, one, entity, near)

    def _new(self, referent: str | None = None) -> Entity:
        number = next(reversed(self._entities), -1) + 1
        self._entities[number] = Entity(number, referent)
        return self._entities[number]

    def _add(self, mention: knp.BasePhrase, entity: Entity, *, near: bool) -> None:
        if near:
            if mention not in entity:
                entity.near.add(mention)
                self._near.setdefault(mention, set()).add(entity)
            return
        if mention in entity.near:
            entity.near.remove(mention)
            self._near[mention].remove(entity)
        entity.identical.add(mention)
        self._identical.setdefault(mention, set()).add(entity)

    def _merge(
        self,
        source: knp.BasePhrase,
        target: knp.BasePhrase | None,
        one: Entity,
        other: Entity,
        near: bool,
    ) -> None:
        """Make a link from `source`, of entity `one`, to `target`, of `other`; merge both if identical."""
        near_target = target is not None and target in other.near
        near_source = source in one.near
        if one is other:
            if not near and near_target != near_source:
                mention = target if target is not None and near_target else source
                self._add(mention, one, near=False)
            return
        if target is not None:
            self._add(target, one, near=near or near_source)
        self._add(source, other, near=near or near_target)
        differ = None not in (one.referent, other.referent) and one.referent != other.referent
        if not (near or near_target or near_source or differ):
            self._absorb(one, other)

    def _absorb(self, one: Entity, other: Entity) -> None:
        """Move referent and mentions of an entity into another one, and delete it."""
        self._count(len(other.identical) + len(other.near))
        if one.referent is None:
            one.referent = other.referent
            if other.referent in self._referents:
                self._referents[other.referent] = one
        for mention in other.identical:
            self._add(mention, one, near=False)
            self._identical[mention].remove(other)
        for mention in other.near:
            self._add(mention, one, near=True)
            self._near[mention].remove(other)
        other.identical.clear()
        other.near.clear()
        del self._entities[other.number]

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > STEPS:
            raise InputError("too many relations between entities: is the document damaged?")


def read_entities(sentences: Iterable[knp.Sentence]) -> Entities:
    """Returns the entities that the tags of these sentences make.

    Tags into other sentences lead to nothing. Raises `InputError` with the line of a tag.
    """
    sentences = list(sentences)
    targets = _by_id(sentences)
    entities = Entities()
    for sentence in sentences:
        for base_phrase in sentence.base_phrases:
            for tag in base_phrase.rels:
                try:
                    _read_rel(tag, base_phrase, targets, entities)
                except InputError as error:
                    raise InputError(error.problem, line=base_phrase.line) from None
    return entities


def _read_rel(tag: knp.Rel, source: knp.BasePhrase, targets: Sentences, entities: Entities) -> None:
    if tag.type.startswith("="):
        if tag.mode not in _LEFT_OUT:
            _read_coreference(tag, source, targets, entities)
    elif tag.id:
        target = _target(tag, source, targets)
        if target is not None:
            entities.give(target)
    elif tag.target != _NOTHING:
        entities.of_referent(tag.target)


def _read_coreference(
    tag: knp.Rel, source: knp.BasePhrase, targets: Sentences, entities: Entities
) -> None:
    entities.give(source)
    near = tag.type.endswith(_NEAR)
    if not tag.id:
        entities.link_referent(source, entities.of_referent(tag.target), near)
        return
    target = _target(tag, source, targets)
    if target is not None and target is not source:
        entities.give(target)
        entities.link(source, target, near)


def _unique_referent(text: str) -> str | None:
    """Returns how a referent that is unique in a document is known; `None` for all others."""
    if text in _NAMED:
        return text
    match = _NUMBERED.fullmatch(text)
    if match is None:
        return None
    return match[1] + (match[2].translate(_NARROW).lstrip("0") or "0")


# Where tags of relations lead to.


def _by_id(sentences: Iterable[knp.Sentence]) -> Sentences:
    found: dict[str, knp.Sentence] = {}
    for sentence in sentences:
        found.setdefault(sentence.sid, sentence)
    return found


def _target(
    tag: knp.Rel, base_phrase: knp.BasePhrase, sentences: Sentences
) -> knp.BasePhrase | None:
    """Returns where a tag of this base phrase leads to; `None` if to nothing in the sentences."""
    # A tag without the id of a sentence leads to its own one.
    sentence = sentences.get(tag.sid) if tag.sid else base_phrase.sentence
    if not tag.id or sentence is None:
        return None
    index = knp.number(tag.id)
    return sentence.base_phrases[index] if index < len(sentence.base_phrases) else None


# wiki_coreference: phrases that mean the same.


def coreferences(document: knp.Document) -> str:
    """Returns a line of mentions for each set of entities that two or more base phrases share.

    Sentences in parentheses are left out. Raises `InputError` for a document with absurdly many
    relations.
    """
    sentences = knp.main_sentences(document)
    try:
        entities = read_entities(sentences)
    except InputError as error:
        raise InputError(error.problem, path=document.name, line=error.line) from None
    groups: dict[frozenset[Entity], list[knp.BasePhrase]] = {}
    for sentence in sentences:
        for base_phrase in sentence.base_phrases:
            if found := entities.identical(base_phrase):
                groups.setdefault(frozenset(found), []).append(base_phrase)
    return "\n".join(
        [" ".join(map(mention_text, group)) for group in groups.values() if len(group) > 1]
    )


# Texts of mentions: a base phrase and its dependents in the phrase, without function words.


FUNCTION_WORDS = frozenset({"助詞", "特殊", "判定詞"})
"""Parts of speech that are dropped at the ends of mentions."""


def mention_text(base_phrase: knp.BasePhrase) -> str:
    """Returns the text of a base phrase as a mention.

    To it belong the base phrases beside it in its phrase, those behind it and those before it, as
    long as each depends on it, directly or indirectly.
    """
    units = base_phrase.sentence.base_phrases
    start, stop = base_phrase.phrase.base_phrases[0].index, base_phrase.index + 1
    end = base_phrase.phrase.base_phrases[-1].index + 1
    known = {base_phrase.index: True}
    first = base_phrase.index
    while stop < end and _depends(units, stop, known):
        stop += 1
    while first > start and _depends(units, first - 1, known):
        first -= 1
    morphemes = [each for unit in units[first:stop] for each in unit.morphemes]
    return trimmed_text(morphemes, FUNCTION_WORDS, FUNCTION_WORDS)


def trimmed_text(
    morphemes: Sequence[knp.Morpheme], front: Collection[str], back: Collection[str]
) -> str:
    """Returns the text without morphemes of these parts of speech at front and back.

    If none were left, returns the text of all.
    """
    start, stop = 0, len(morphemes)
    while start < stop and morphemes[start].pos in front:
        start += 1
    while start < stop and morphemes[stop - 1].pos in back:
        stop -= 1
    return knp.joined(morphemes[start:stop] if start < stop else morphemes)


def _depends(units: Sequence[knp.BasePhrase], index: int, known: dict[int, bool]) -> bool:
    """Whether a base phrase depends on one, directly or indirectly. `known`: of which that is known."""
    path = []
    # Parents that lead back to the path do not lead to the head.
    while index >= 0 and index not in known:
        known[index] = False
        path.append(index)
        index = units[index].parent
    found = index >= 0 and known[index]
    if found:
        known.update(dict.fromkeys(path, True))
    return found


# wiki_ner: named entities and their kinds.


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
"""The kinds of named entities by their categories; others (such as `OPTIONAL`) are left out."""

_START = re.compile(r"<NE:([^:>]+):")
_END = re.compile(r"(?<!\\)>")


def named_entities(document: knp.Document) -> str:
    """Returns all named entities, `name（kind）`, on one line."""
    return " ".join([item for sentence in document.sentences for item in _entities(sentence)])


def named_entity(features: str) -> tuple[str, str] | None:
    r"""Returns category and name of the last feature `<NE:CATEGORY:name>`; `\\>` stands for `>`."""
    found = None
    start = _START.search(features) if "<NE:" in features else None
    while start is not None:
        stop = _name_end(features, start.end())
        if stop < 0:
            break
        found = start[1], features[start.end() : stop].replace("\\>", ">")
        start = _START.search(features, stop + 1)
    return found


def _name_end(features: str, start: int) -> int:
    """Returns where the first `>` stands that is not escaped; the last one if all are; or -1."""
    end = _END.search(features, start)
    return end.start() if end is not None else features.rfind(">", start)


def _entities(sentence: knp.Sentence) -> Iterator[str]:
    for base_phrase in sentence.base_phrases:
        found = named_entity(base_phrase.features)
        if found is None or found[0] not in KINDS:
            continue
        category, name = found
        if _is_run(name, sentence.base_phrases[: base_phrase.index + 1]):
            yield f"{name}（{KINDS[category]}）"


def _is_run(name: str, base_phrases: Sequence[knp.BasePhrase]) -> bool:
    """Whether some successive morphemes make up the name."""
    surfaces = [each.surface for unit in base_phrases for each in unit.morphemes]
    text = "".join(surfaces)
    bounds = {0, *accumulate(map(len, surfaces))}
    return bool(name) and any(
        stop - len(name) in bounds and text.startswith(name, stop - len(name)) for stop in bounds
    )


# wiki_dependency: which phrase depends on which.


def dependencies(document: knp.Document) -> str:
    """Returns a line `phrase -> parent` for each phrase with a parent, outside parentheses."""
    lines = []
    for sentence in knp.main_sentences(document):
        texts = [phrase.text for phrase in sentence.phrases]
        lines += [
            f"{text} -> {texts[phrase.parent]}"
            for phrase, text in zip(sentence.phrases, texts, strict=True)
            if phrase.parent != knp.NO_PARENT
        ]
    return "\n".join(lines)


# wiki_reading: the text in hiragana.


_SPACES = (" ", "\u3000")
_CAPITALS = re.compile(r"[A-Z]+")
_NAMES = (
    "えー びー しー でぃー いー えふ じー えいち あい じぇー けー える えむ えぬ"
    " おー ぴー きゅー あーる えす てぃー ゆー ぶい だぶりゅー えっくす わい ぜっと"
)
_LETTERS = str.maketrans(dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", _NAMES.split(), strict=True)))


def readings(document: knp.Document) -> str:
    """Returns the readings of all morphemes that are not in parentheses."""
    return "".join(
        [_reading(each) for sentence in knp.main_sentences(document) for each in sentence.morphemes]
    )


def _reading(morpheme: knp.Morpheme) -> str:
    """Returns the first of the readings: nothing for `/` itself, as published."""
    if morpheme.reading in _SPACES and morpheme.surface not in _SPACES:
        return ""
    reading = morpheme.reading.partition("/")[0]
    return reading.translate(_LETTERS) if _CAPITALS.fullmatch(reading) else reading


# wiki_pas: predicates and their arguments.


CASES = ("ガ", "デ", "ト", "ニ", "ヘ", "ヲ", "カラ", "ガ２", "マデ", "ヨリ")
"""The cases that are listed, in this order."""

_SHOWN_AS = {"ガ２": "ガ"}
_BEHIND_PREDICATES = frozenset({"助詞", "特殊"})
_WIDE = str.maketrans("0123456789", "０１２３４５６７８９")
_KATAKANA = {code: code + 0x60 for code in range(0x3041, 0x3097)}


def predicates(document: knp.Document) -> str:
    """Returns a line `predicate case：argument …` for each predicate with arguments."""
    targets = _by_id(document.sentences)
    lines = [
        _predicate_line(base_phrase, targets)
        for sentence in document.sentences
        for base_phrase in sentence.base_phrases
        if base_phrase.rels
    ]
    return "\n".join(filter(None, lines))


def _predicate_line(base_phrase: knp.BasePhrase, targets: Sentences) -> str:
    """Returns the line of a base phrase; nothing if it has no arguments to list."""
    arguments = "".join(_argument_texts(base_phrase, targets))
    words = base_phrase.phrase.morphemes
    text = trimmed_text(words, FUNCTION_WORDS, _BEHIND_PREDICATES)
    return text + arguments if arguments else ""


def _argument_texts(base_phrase: knp.BasePhrase, targets: Sentences) -> Iterator[str]:
    arguments = _arguments(base_phrase, targets)
    for case in sorted(arguments, key=CASES.index):
        for argument, optional in arguments[case].items():
            if not optional and argument.phrase is not base_phrase.phrase:
                yield f" {_SHOWN_AS.get(case, case)}：{mention_text(argument)}"


Arguments = dict[knp.BasePhrase, bool]
"""Base phrases in the order of their tags, and whether each is optional."""


def _arguments(base_phrase: knp.BasePhrase, targets: Sentences) -> dict[str, Arguments]:
    """Returns the arguments of each case in the order of their tags, and whether each is optional."""
    found: dict[str, Arguments] = {}
    for tag in base_phrase.rels:
        case = _case(tag.type)
        if case not in CASES:
            continue
        arguments = found.setdefault(case, {})
        if not tag.id and tag.target == _NOTHING:
            arguments.update(dict.fromkeys(arguments, True))
        elif (target := _target(tag, base_phrase, targets)) is not None:
            arguments.setdefault(target, False)
    return found


@lru_cache(1024)
def _case(name: str) -> str:
    """Returns the case of a type: with full-width digits and in katakana."""
    return name.translate(_WIDE).translate(_KATAKANA)


_Text = Callable[[knp.Document], str]

_TASKS: dict[str, tuple[_Text, _Text]] = {
    "wiki_reading": (knp.text_without_parentheses, readings),
    "wiki_ner": (knp.text_with_parentheses, named_entities),
    "wiki_dependency": (knp.text_without_parentheses, dependencies),
    "wiki_pas": (knp.text_with_parentheses, predicates),
    "wiki_coreference": (knp.text_without_parentheses, coreferences),
}

WIKI_TASKS = tuple(_TASKS)
"""The names of the tasks, in the order in which they are run."""


def document_samples(document: knp.Document) -> dict[str, tuple[str, str]]:
    """Returns input and output of each task for which the document's output is not blank."""
    found = {}
    for task, (shown, expected) in _TASKS.items():
        output = expected(document)
        if output.strip():
            found[task] = shown(document), output
    return found
