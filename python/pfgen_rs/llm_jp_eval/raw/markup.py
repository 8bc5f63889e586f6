"""Reads XML files as small trees, without entities of their own, external files or deep nesting."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.raw.rawfiles import RawFile
from pfgen_rs.llm_jp_eval.raw.reading import raw_text

__all__ = ["DEPTH_LIMIT", "Element", "xml_tree"]

DEPTH_LIMIT = 64
"""Most elements that may be nested."""


@dataclass(slots=True, eq=False)
class Element:
    """An element: its children in order, its own text, the file and the line where it begins."""

    tag: str
    attributes: dict[str, str]
    path: str
    line: int
    children: list[Element] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    mixed: bool = False  # whether it has children that were left out

    @property
    def text(self) -> str:
        """The element's text, stripped at both ends. Raises `InputError` if it contains elements."""
        if self.children or self.mixed:
            self.fail(f"expected only text in <{self.tag}>, found elements")
        return "".join(self.parts).strip()

    def all(self, tag: str) -> Iterator[Element]:
        """Yield the children with this tag."""
        return (child for child in self.children if child.tag == tag)

    def one(self, tag: str) -> Element:
        """Returns the only child with this tag. Raises `InputError` if there are none or several."""
        found = list(self.all(tag))
        if len(found) != 1:
            self.fail(f"expected one <{tag}> in <{self.tag}>, found {len(found)}")
        return found[0]

    def required_text(self) -> str:
        """Returns the text. Raises `InputError` if it is empty."""
        return self.text or self.fail(f"<{self.tag}> is empty")

    def fail(self, problem: str) -> NoReturn:
        """Raise `InputError` with the element's place."""
        raise InputError(problem, path=self.path, line=self.line)


def xml_tree(file: RawFile, root: str, tags: Collection[str]) -> Element:
    """Returns the root element of an XML file in UTF-8, without descendants whose tags are not in `tags`.

    A document type may name an external file, which is ignored. Raises `InputError` if the file is not XML,
    declares or uses entities of its own, is nested too deeply, or has another root element.
    """
    builder = _TreeBuilder(file, frozenset(tags))
    found = builder.parse(raw_text(file))
    if found.tag != root:
        found.fail(f"expected the root element <{root}>, found <{found.tag}>")
    return found


class _TreeBuilder:
    def __init__(self, file: RawFile, tags: frozenset[str]) -> None:
        self._file = file
        self._tags = tags
        self._skipped = 0  # depth within an element that is left out
        self._open: list[Element] = []
        self._root: Element | None = None
        # The encoding counts that is given here, not one that the file declares.
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._entity_declared
        self._parser.SkippedEntityHandler = self._entity_used
        self._parser.ExternalEntityRefHandler = self._entity_used

    def parse(self, text: str) -> Element:
        try:
            self._parser.Parse(text.encode(), True)
        except expat.ExpatError as error:
            problem = f"not XML ({expat.ErrorString(error.code)})"
            raise InputError(problem, path=self._file.label, line=error.lineno) from None
        if self._root is None:  # expat reports this itself
            raise InputError("no XML element", path=self._file.label)
        return self._root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) + self._skipped >= DEPTH_LIMIT:
            self._fail(f"more than {DEPTH_LIMIT} elements are nested")
        if self._skipped or (self._open and tag not in self._tags):
            self._open[-1].mixed = True
            self._skipped += 1
            return
        element = Element(tag, attributes, self._file.label, self._parser.CurrentLineNumber)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        if self._skipped:
            self._skipped -= 1
        else:
            self._open.pop()

    def _characters(self, text: str) -> None:
        if self._open and not self._skipped:
            self._open[-1].parts.append(text)

    def _entity_declared(self, name: str, *_: object) -> None:
        self._fail(f"declares the entity {name!r}: entity declarations are not allowed")

    def _entity_used(self, name: str | None, *_: object) -> int:
        self._fail(f"uses the entity {name!r}, which the file does not define")

    def _fail(self, problem: str) -> NoReturn:
        line = self._parser.CurrentLineNumber
        raise InputError(problem, path=self._file.label, line=line)
