"""Samples of the five tasks of the Wikipedia Annotated Corpus, from its documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from pfgen_rs.llm_jp_eval.conversion import entities, knp

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

_NOTHING = "なし"
_SHOWN_AS = {"ガ２": "ガ"}
_BEHIND_PREDICATES = frozenset({"助詞", "特殊"})
_WIDE = str.maketrans("0123456789", "０１２３４５６７８９")
_KATAKANA = {code: code + 0x60 for code in range(0x3041, 0x3097)}


def predicates(document: knp.Document) -> str:
    """Returns a line `predicate case：argument …` for each predicate with arguments."""
    targets = entities.Targets(document.sentences)
    lines = [
        _predicate_line(base_phrase, targets)
        for sentence in document.sentences
        for base_phrase in sentence.base_phrases
        if base_phrase.rels
    ]
    return "\n".join(filter(None, lines))


def _predicate_line(base_phrase: knp.BasePhrase, targets: entities.Targets) -> str:
    """Returns the line of a base phrase; nothing if it has no arguments to list."""
    arguments = "".join(_argument_texts(base_phrase, targets))
    return _predicate_text(base_phrase) + arguments if arguments else ""


def _predicate_text(base_phrase: knp.BasePhrase) -> str:
    return entities.trimmed_text(
        base_phrase.phrase.morphemes, entities.FUNCTION_WORDS, _BEHIND_PREDICATES
    )


def _argument_texts(base_phrase: knp.BasePhrase, targets: entities.Targets) -> Iterator[str]:
    arguments = _arguments(base_phrase, targets)
    for case in sorted(arguments, key=CASES.index):
        for argument, optional in arguments[case].items():
            if not optional and argument.phrase is not base_phrase.phrase:
                yield f" {_SHOWN_AS.get(case, case)}：{entities.mention_text(argument)}"


Arguments = dict[knp.BasePhrase, bool]
"""Base phrases in the order of their tags, and whether each is optional."""


def _arguments(base_phrase: knp.BasePhrase, targets: entities.Targets) -> dict[str, Arguments]:
    """Returns the arguments of each case in the order of their tags, and whether each is optional."""
    found: dict[str, Arguments] = {}
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


_Text = Callable[[knp.Document], str]

_TASKS: dict[str, tuple[_Text, _Text]] = {
    "wiki_reading": (knp.text_without_parentheses, readings),
    "wiki_ner": (knp.text_with_parentheses, named_entities),
    "wiki_dependency": (knp.text_without_parentheses, dependencies),
    "wiki_pas": (knp.text_with_parentheses, predicates),
    "wiki_coreference": (knp.text_without_parentheses, entities.coreferences),
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
