"""Samples of the five tasks of the Wikipedia Annotated Corpus, from its documents, which rhoknp reads."""

import logging
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import dropwhile
from threading import Lock
from typing import TYPE_CHECKING

from pfgen_rs import extras
from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.llm_jp_eval.conversion import raw_files

if TYPE_CHECKING:
    from rhoknp import BasePhrase, Document, Morpheme

WIKI_TASKS = ("wiki_reading", "wiki_ner", "wiki_dependency", "wiki_pas", "wiki_coreference")
"""The names of the tasks, in the order in which they are run."""

# Checks before rhoknp reads: some of its patterns take exponentially long for lines that are damaged,
# and it goes through all morphemes of a sentence for each name, and through all mentions for each link.


DOCUMENT_BYTES = 1 << 16
"""The largest document that is read; the largest of the corpus has 30 kB."""

LINE_CHARACTERS = 2000
"""The longest line that is read; the longest of the corpus has 1,077 characters."""

MORPHEMES = 200
"""The most morphemes of a sentence; the corpus has 137 at most."""

TAGS = {"<": 1000, '<rel type="=': 200, "<NE:": 150}
"""The most tags of a document by how they begin; the corpus has 241, 63 and 110 at most."""

_TAG = (
    r'<(?:rel type="[^"\s<>]++"(?: mode="(?:AND|OR|？)")? target="[^"<]++"'
    r'(?: sid="[^"<]*+" id="\d++")?/'
    r'|(?!rel )(?:[^:"<>]|"(?:[^"<]|<(?!rel ))*+")++(?::(?:\\>|[^<>])++)?)>'
)
_LINE = re.compile(
    rf"[*+] (?P<parent>-1|\d++)[DPAI](?: (?:{_TAG})*+)?"
    rf"|(?![*+] .*<)(?P<m>(?:(?:[^ ]++| ) ){{3}}[^ ]++(?: \d++ [^ ]++){{3}} \d++"
    rf'(?: (?:NIL|"[^"]++"))?(?: (?:{_TAG})*+)?)'
    r"|(?P<c>#[^<]*+)|(?P<e>EOS\s*+)"
)
_SENTENCE = re.compile(r"c*+(?:\*(?:\+m++)++)*+e")


def _checked_text(file: raw_files.RawFile) -> str:
    """Returns the text of a document whose lines and sizes rhoknp can deal with. Raises `ValueError`."""
    if len(file.content) > DOCUMENT_BYTES:
        raise ValueError(f"more than {DOCUMENT_BYTES:,} bytes: not a document")
    text = raw_files.raw_text(file.content)
    for tag, most in TAGS.items():
        if text.count(tag) > most:
            raise ValueError(f"more than {most} tags that begin with {tag}")
    lines: list[re.Match[str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            lines.append(_checked_line(number, line))
            if lines[-1].lastgroup == "e":
                _check_sentence(number, lines)
                lines = []
    if lines:
        raise ValueError("ends within a sentence: expected 'EOS' at its end")
    return text


def _checked_line(number: int, line: str) -> re.Match[str]:
    match = _LINE.fullmatch(line) if len(line) <= LINE_CHARACTERS else None
    if match is None:
        raise ValueError(
            f"line {number}: expected a phrase such as '* 2D', a base phrase such as '+ 3D' with whole tags,"
            f" a comment, a morpheme with its 11 fields, or 'EOS', in at most {LINE_CHARACTERS:,} characters,"
            f" found {line[:60]!r}"
        )
    return match


def _check_sentence(number: int, lines: Sequence[re.Match[str]]) -> None:
    kinds = "".join([line[0][0] if line["parent"] else line.lastgroup or "" for line in lines])
    parents = ((int(line["parent"]), line[0][0]) for line in lines if line["parent"])
    if (
        not _SENTENCE.fullmatch(kinds)
        or kinds.count("m") > MORPHEMES
        or any(parent >= kinds.count(mark) for parent, mark in parents)
    ):
        raise ValueError(
            f"line {number}: the sentence that ends here is damaged: expected its comment, then phrases ('*')"
            f" of base phrases ('+') of morphemes, at most {MORPHEMES}, and numbers of phrases that it has"
        )


# Reading: rhoknp counts units and keeps entities in its classes, so one thread at a time may do so.

_READING = Lock()


def read_document(file: raw_files.RawFile) -> "tuple[Document, Document]":
    """Returns a document in the KNP format, and the same without its sentences in parentheses.

    Raises `InputError`, which names the file and, where it is known, the line, for content that is
    damaged or larger than the constants of this module say; within them, reading takes a minute at
    most. Raises `PfgenError` if rhoknp is not installed.
    """
    rhoknp = extras.needed("rhoknp", "llm-jp-eval")
    # With no handler at all, what it logs about annotations would be printed.
    logging.getLogger("rhoknp").addHandler(logging.NullHandler())
    with _READING:
        try:
            document = rhoknp.Document.from_knp(_checked_text(file))
            main = [each for each in document.sentences if "括弧始" not in each.misc_comment]
            return document, rhoknp.Document.from_sentences(main)
        except Exception as error:  # of many kinds, for features that rhoknp cannot read
            raise InputError(unreadable(error), path=file.label) from error


def document_samples(file: raw_files.RawFile) -> dict[str, tuple[str, str]]:
    """Returns input and output of each task for which a document's output is not blank.

    Raises the errors of `read_document`, and `InputError` if a sentence says that a parenthesised one was
    cut out and the next one does not say where.
    """
    document, main = read_document(file)
    whole, short = _with_parentheses(document, file.label), main.text
    found = {
        "wiki_reading": (short, "".join([_reading(each) for each in main.morphemes])),
        "wiki_ner": (whole, " ".join(_names(document))),
        "wiki_dependency": (short, "\n".join(_dependencies(main))),
        "wiki_pas": (whole, "\n".join(_predicates(document))),
        "wiki_coreference": (short, "\n".join(_coreferences(main))),
    }
    return {task: sample for task, sample in found.items() if sample[1].strip()}


_PLACE = re.compile(r"括弧始:(\S+) 括弧終:(\S+) 括弧位置:(\d+)")


def _with_parentheses(document: "Document", label: str) -> str:
    """Returns the text with parenthesised sentences back in those before them.

    As published, one sentence is put back: further ones from the same sentence follow it.
    """
    texts = []
    sentences = iter(document.sentences)
    for sentence in sentences:
        text = sentence.text
        if "括弧削除" in sentence.misc_comment:
            inner = next(sentences, None)
            place = _PLACE.search(inner.misc_comment) if inner else None
            if inner is None or place is None:
                problem = (
                    f"'括弧削除' in sentence {sentence.sid!r}, but no '括弧位置:3' in the next one"
                )
                raise InputError(problem, path=label)
            at = int(place[3])
            text = text[:at] + place[1] + inner.text + place[2] + text[at:]
        texts.append(text)
    return "".join(texts)


# wiki_reading: the text in hiragana.


_SPACES = (" ", "\u3000")
_CAPITALS = re.compile(r"[A-Z]+")
_NAMES = (
    "えー びー しー でぃー いー えふ じー えいち あい じぇー けー える えむ えぬ"
    " おー ぴー きゅー あーる えす てぃー ゆー ぶい だぶりゅー えっくす わい ぜっと"
)
_LETTERS = str.maketrans(dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", _NAMES.split(), strict=True)))


def _reading(morpheme: "Morpheme") -> str:
    """Returns the first of the readings: nothing for `/` itself, as published."""
    if morpheme.reading in _SPACES and morpheme.text not in _SPACES:
        return ""
    reading = morpheme.reading.partition("/")[0]
    return reading.translate(_LETTERS) if _CAPITALS.fullmatch(reading) else reading


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
"""The kinds of named entities by their categories; `OPTIONAL` is left out."""


def _names(document: "Document") -> Iterator[str]:
    for name in document.named_entities:
        if name.category.value in KINDS:
            yield f"{name.text}（{KINDS[name.category.value]}）"


# wiki_dependency: which phrase depends on which.


def _dependencies(document: "Document") -> Iterator[str]:
    for phrase in document.phrases:
        if phrase.parent is not None:
            yield f"{phrase.text} -> {phrase.parent.text}"


# wiki_pas: predicates and their arguments.


CASES = ("ガ", "デ", "ト", "ニ", "ヘ", "ヲ", "カラ", "ガ２", "マデ", "ヨリ")
"""The cases that are listed, in this order."""


def _predicates(document: "Document") -> Iterator[str]:
    from rhoknp.cohesion import EndophoraArgument

    for structure in document.pas_list:
        phrase = structure.predicate.phrase
        found = structure.get_all_arguments(relax=False)
        arguments = [
            f" {case.removesuffix('２')}：{mention_text(each.base_phrase)}"
            for case in CASES
            for each in found.get(case, ())
            if isinstance(each, EndophoraArgument) and each.phrase != phrase
        ]
        if arguments:
            text = _trimmed_text(phrase.morphemes, _FUNCTION_WORDS, ("助詞", "特殊"))
            yield text + "".join(arguments)


# wiki_coreference: phrases that mean the same.


def _coreferences(document: "Document") -> Iterator[str]:
    """Yield a line of mentions for each set of entities that two or more base phrases share."""
    groups: dict[frozenset[int], list[BasePhrase]] = {}
    for base_phrase in document.base_phrases:
        if base_phrase.entities:
            entities = frozenset([entity.eid for entity in base_phrase.entities])
            groups.setdefault(entities, []).append(base_phrase)
    for group in groups.values():
        if len(group) > 1:
            yield " ".join(map(mention_text, group))


# Texts of mentions: a base phrase and its dependents in the phrase, without function words.


_FUNCTION_WORDS = ("助詞", "特殊", "判定詞")


def mention_text(base_phrase: "BasePhrase") -> str:
    """Returns the text of a base phrase as a mention.

    To it belong the base phrases beside it in its phrase, those behind it and those before it, as
    long as each depends on it, directly or indirectly.
    """
    units = base_phrase.sentence.base_phrases
    phrase = base_phrase.phrase.base_phrases
    first, stop = base_phrase.index, base_phrase.index + 1
    while stop <= phrase[-1].index and _depends(units, stop, base_phrase.index):
        stop += 1
    while first > phrase[0].index and _depends(units, first - 1, base_phrase.index):
        first -= 1
    morphemes = [each for unit in units[first:stop] for each in unit.morphemes]
    return _trimmed_text(morphemes, _FUNCTION_WORDS, _FUNCTION_WORDS)


def _depends(units: "Sequence[BasePhrase]", index: int, head: int) -> bool:
    """Whether a base phrase depends on another one, directly or indirectly."""
    for _ in units:  # parents may form circles
        if index in (head, -1):
            break
        index = units[index].parent_index or 0
    return index == head


def _trimmed_text(
    morphemes: "Sequence[Morpheme]", front: Collection[str], back: Collection[str]
) -> str:
    """Returns the text without morphemes of these parts of speech at both ends; all if none are left."""
    kept = list(dropwhile(lambda each: each.pos in front, morphemes))
    while kept and kept[-1].pos in back:
        kept.pop()
    return "".join([each.text for each in kept or morphemes])
