"""Documents in the KNP format: sentences of phrases (`*`), base phrases (`+`), morphemes; their texts."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pfgen_rs.errors import InputError

DOCUMENT_BYTES = 1 << 20
"""The largest document that is read; the largest of the corpus has 30 kB."""

SENTENCE_CHARACTERS = 2000
"""The longest sentence that is read; the longest of the corpus has 231 characters."""

NO_PARENT = -1

_COMMENT = re.compile(r"# S-ID:(\S*)(?: (.*))?")
_HEAD = re.compile(r"[*+](?: (-?\d+)[DPIA](?: (.*))?)?")
_SPACED_MORPHEME = re.compile(r"( |[^ ]+) ( |[^ ]+) (?: |[^ ]+) ([^ ]+)(?: [^ ]+){7}(?: .*)?")
_FIELDS_AFTER_POS = 7
_DIGITS = 4000  # of a number; Python refuses to read more than 4300
_SHOWN = 60  # characters of a line


@dataclass(slots=True, eq=False)
class Morpheme:
    """A morpheme: its surface, its reading (alternatives separated by `/`) and part of speech."""

    surface: str
    reading: str
    pos: str


@dataclass(slots=True, eq=False)
class BasePhrase:
    """A base phrase: `index` and `parent` (or -1) count from 0 within the sentence.

    `line`: its line in the file, from 1. `features`: what its line has after the parent.
    """

    index: int
    parent: int
    features: str
    line: int
    phrase: "Phrase" = field(repr=False)
    rels: "Sequence[Rel]" = ()
    morphemes: list[Morpheme] = field(default_factory=list)

    @property
    def sentence(self) -> "Sentence":
        """The sentence that it is part of."""
        return self.phrase.sentence


@dataclass(slots=True, eq=False)
class Phrase:
    """A phrase (bunsetsu): `parent` is an index within the sentence, or -1."""

    parent: int
    line: int
    sentence: "Sentence" = field(repr=False)
    base_phrases: list[BasePhrase] = field(default_factory=list)

    @property
    def morphemes(self) -> list[Morpheme]:
        """The morphemes of its base phrases."""
        return [each for base_phrase in self.base_phrases for each in base_phrase.morphemes]

    @property
    def text(self) -> str:
        """Its surfaces, joined with nothing."""
        return joined(self.morphemes)


@dataclass(slots=True, eq=False)
class Sentence:
    """A sentence: `sid` its id, `remark` what its comment says after the id."""

    line: int
    sid: str = ""
    remark: str = ""
    commented: bool = False
    phrases: list[Phrase] = field(default_factory=list)
    base_phrases: list[BasePhrase] = field(default_factory=list)
    morphemes: list[Morpheme] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its surfaces, joined with nothing."""
        return joined(self.morphemes)


@dataclass(slots=True, eq=False)
class Document:
    """A document; `name` is what errors call it."""

    name: str
    sentences: list[Sentence]


def joined(morphemes: Iterable[Morpheme]) -> str:
    """Returns the surfaces, joined with nothing."""
    return "".join([each.surface for each in morphemes])


def number(digits: str) -> int:
    """Returns the value of a number of any length; of absurdly long ones, some other large value."""
    return int(digits[:_DIGITS])


def read_document(name: str, content: bytes) -> Document:
    """Returns the document that a file in the KNP format contains.

    Raises `InputError`, which names file and line, where the content is not of that format.
    """
    sentences: list[Sentence] = []
    sentence = None
    line = 0
    try:
        for line, text in _lines(content):
            sentence = sentence or Sentence(line)
            if text.startswith("EOS") and text.rstrip() == "EOS":
                _end_sentence(sentence)
                sentences.append(sentence)
                sentence = None
            else:
                _read_line(sentence, line, text)
        if sentence is not None:
            raise InputError("the file ends within a sentence: expected 'EOS' at its end")
    except InputError as error:
        raise InputError(error.problem, path=name, line=error.line or line or None) from None
    return Document(name, sentences)


def _lines(content: bytes) -> Iterable[tuple[int, str]]:
    """Returns numbers (from 1) and texts of the lines that are not blank. Raises `InputError`."""
    if len(content) > DOCUMENT_BYTES:
        problem = f"{len(content):,} bytes: expected a document of at most {DOCUMENT_BYTES:,}"
        raise InputError(problem)
    content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"not valid UTF-8: {error.reason}", line=line) from None
    if text.startswith("\ufeff"):
        raise InputError("begins with a byte order mark: expected UTF-8 without one", line=1)
    return [(line, each) for line, each in enumerate(text.split("\n"), 1) if each.strip()]


def _read_line(sentence: Sentence, line: int, text: str) -> None:
    """Add to a sentence what a line says. Raises `InputError`."""
    head = _HEAD.fullmatch(text) if text[0] in "*+" else None
    if head is not None:
        parent = NO_PARENT if head[1] is None else _parent_number(head[1])
        if text[0] == "*":
            _end_phrase(sentence)
            sentence.phrases.append(Phrase(parent, line, sentence))
        else:
            _add_base_phrase(sentence, parent, head[2] or "", line)
    elif text.startswith("# S-ID:"):
        _read_comment(sentence, text)
    else:
        _add_morpheme(sentence, text)


def _parent_number(digits: str) -> int:
    return -number(digits[1:]) if digits[0] == "-" else number(digits)


def _read_comment(sentence: Sentence, text: str) -> None:
    if sentence.commented or sentence.phrases:
        raise InputError("a sentence begins before the previous one ended: expected 'EOS'")
    match = _COMMENT.match(text)
    if match is not None:
        sentence.sid = match[1]
        sentence.remark = (match[2] or "").lstrip()
    sentence.commented = True


def _add_base_phrase(sentence: Sentence, parent: int, features: str, line: int) -> None:
    if not sentence.phrases:
        raise InputError("a base phrase ('+') outside a phrase: expected a line with '*' before it")
    _end_base_phrase(sentence)
    phrase = sentence.phrases[-1]
    index = len(sentence.base_phrases)
    base_phrase = BasePhrase(index, parent, features, line, phrase, rels(features))
    phrase.base_phrases.append(base_phrase)
    sentence.base_phrases.append(base_phrase)


def _add_morpheme(sentence: Sentence, text: str) -> None:
    fields = text.split(" ", 4)
    if all(fields) and len(fields) == 5 and fields[4].count(" ") >= _FIELDS_AFTER_POS - 1:
        morpheme = Morpheme(fields[0], fields[1], fields[3])
    else:
        morpheme = _spaced_morpheme(text)
    if not sentence.base_phrases or not sentence.phrases[-1].base_phrases:
        raise InputError(
            "a morpheme outside a base phrase: expected lines with '*' and '+' before it"
        )
    sentence.morphemes.append(morpheme)
    sentence.base_phrases[-1].morphemes.append(morpheme)


def _spaced_morpheme(text: str) -> Morpheme:
    """Returns a morpheme of which a field is itself a space. Raises `InputError`."""
    match = _SPACED_MORPHEME.fullmatch(text)
    if match is None:
        shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
        raise InputError(
            "expected a phrase such as '* 2D', a base phrase such as '+ 3D', 'EOS',"
            f" or a morpheme with at least 11 fields, found {shown!r}"
        )
    return Morpheme(match[1], match[2], match[3])


def _end_sentence(sentence: Sentence) -> None:
    """Check a whole sentence. Raises `InputError`."""
    _end_phrase(sentence)
    if sum(len(each.surface) for each in sentence.morphemes) > SENTENCE_CHARACTERS:
        problem = f"a sentence of more than {SENTENCE_CHARACTERS:,} characters: is 'EOS' missing?"
        raise InputError(problem, line=sentence.line)
    _check_parents("phrase", sentence.phrases)
    _check_parents("base phrase", sentence.base_phrases)


def _end_phrase(sentence: Sentence) -> None:
    if sentence.phrases and not sentence.phrases[-1].base_phrases:
        problem = "a phrase without base phrases: expected a line with '+' after it"
        raise InputError(problem, line=sentence.phrases[-1].line)
    _end_base_phrase(sentence)


def _end_base_phrase(sentence: Sentence) -> None:
    last = sentence.base_phrases[-1] if sentence.base_phrases else None
    if last is not None and not last.morphemes:
        problem = "a base phrase without morphemes: expected at least one after it"
        raise InputError(problem, line=last.line)


def _check_parents(what: str, units: Sequence[Phrase] | Sequence[BasePhrase]) -> None:
    for unit in units:
        if not NO_PARENT <= unit.parent < len(units):
            problem = (
                f"the parent is not a {what} of the sentence:"
                f" expected -1 or an index up to {len(units) - 1}"
            )
            raise InputError(problem, line=unit.line)


# Tags of relations (`<rel …/>`) in the features of a base phrase.


_TAG = re.compile(
    r'<rel type="([^"]*)"(?: mode="([^"]*)")? target="([^"]*)"(?: sid="([^"]*)" id="(\d+)")?/>'
)
_START = "<rel "


class Rel(NamedTuple):
    """A tag: `id` (digits) is empty where it leads to nothing in the document."""

    type: str
    mode: str
    target: str
    sid: str
    id: str


def rels(features: str) -> Sequence[Rel]:
    """Returns the tags in order. Raises `InputError` for one that cannot be read."""
    if _START not in features:
        return ()
    found = [Rel._make(fields) for fields in _TAG.findall(features)]
    if len(found) != features.count(_START):
        raise InputError(
            'a damaged tag: expected <rel type="…" target="…"/>, with mode="…" after type'
            ' and sid="…" id="…" after target where it has them'
        )
    return found


# The texts that tasks show: without the parenthesised sentences, or with them where they stood.


_PARENTHESISED = "括弧始"
_PARENTHESES_CUT = "括弧削除"
_PLACE = re.compile(r"(?<!\S)(\S++)(?= 括弧終:(\S++) 括弧位置:(\d+))")


def main_sentences(document: Document) -> list[Sentence]:
    """Returns the sentences that were not taken out of parentheses of another one."""
    return [each for each in document.sentences if _PARENTHESISED not in each.remark]


def text_without_parentheses(document: Document) -> str:
    """Returns the text of the sentences that were not in parentheses."""
    return "".join([each.text for each in main_sentences(document)])


def text_with_parentheses(document: Document) -> str:
    """Returns the text of all sentences, with a parenthesised one back in the one before it.

    As published, just one sentence is put back: further ones from the same sentence follow it.
    Raises `InputError` if the place of a parenthesised sentence is missing.
    """
    return "".join(_texts(document))


def _texts(document: Document) -> Iterator[str]:
    sentences = iter(document.sentences)
    for sentence in sentences:
        if _PARENTHESES_CUT not in sentence.remark:
            yield sentence.text
            continue
        inner = next(sentences, None)
        if inner is None:
            problem = f"{_PARENTHESES_CUT!r}, but no sentence follows to put back"
            raise InputError(problem, path=document.name, line=sentence.line)
        yield _put_back(document, sentence, inner)


def _put_back(document: Document, sentence: Sentence, inner: Sentence) -> str:
    place = _place(inner.remark)
    if place is None:
        raise InputError(
            f"{_PARENTHESES_CUT!r} in the sentence before, but no place to put this one back: expected"
            " '括弧始:（ 括弧終:） 括弧位置:3' or the like in its comment",
            path=document.name,
            line=inner.line,
        )
    start, end, position = place
    text = sentence.text
    return text[:position] + start + inner.text + end + text[position:]


def _place(remark: str) -> tuple[str, str, int] | None:
    """Returns the parentheses and their position in characters, if the remark tells them."""
    for place in _PLACE.finditer(remark):
        start = place[1].partition(_PARENTHESISED + ":")[2]
        if start:
            return start, place[2], number(place[3])
    return None
