"""Reads raw files as text, TSV, JSON and XML; errors name file and line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

from pfgen_rs.errors import InputError, Item
from pfgen_rs.io.text import shortened
from pfgen_rs.llm_jp_eval.conversion.published import RawFile


class Place:
    """A position in a raw file, for reading values there; errors name it."""

    __slots__ = ("item", "line", "path", "where")

    def __init__(
        self, path: str, line: int | None = None, item: Item = "line", where: str = ""
    ) -> None:
        self.path, self.line, self.item, self.where = path, line, item, where

    def fail(self, problem: str) -> NoReturn:
        """Raise `InputError` with this place."""
        where = f"{self.where}: " if self.where else ""
        raise InputError(where + problem, path=self.path, line=self.line, item=self.item)

    def at(self, where: str) -> Place:
        """Returns a place within this one."""
        return Place(self.path, self.line, self.item, f"{self.where}{where}")

    def value(self, record: Any, key: str) -> Any:
        """Returns a value of an object. Raises `InputError` if it is not an object with this key."""
        if not isinstance(record, dict):
            self.fail(f"expected an object, found {_shown(record)}")
        if key not in record:
            self.fail(f"missing key {key!r}")
        return record[key]

    def text(self, record: Any, key: str) -> str:
        """Returns a text of an object. Raises `InputError` for other values and lone surrogates."""
        value = self.value(record, key)
        if not isinstance(value, str):
            self.fail(f"{key!r} must be a text, found {_shown(value)}")
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail(f"{key!r} contains a lone surrogate: expected Unicode text")
        return value

    def items(self, record: Any, key: str) -> Iterator[tuple[Place, Any]]:
        """Yield the elements of a list in an object, with their places."""
        value = self.value(record, key)
        if not isinstance(value, list):
            self.fail(f"{key!r} must be a list, found {_shown(value)}")
        for index, element in enumerate(value):
            yield self.at(f"{'.' if self.where else ''}{key}[{index}]"), element

    def number(self, record: Any, key: str) -> int | float:
        """Returns a finite number of an object."""
        value = self.value(record, key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(f"{key!r} must be a number, found {_shown(value)}")
        if isinstance(value, float) and not math.isfinite(value):  # such as 1e999
            self.fail(f"{key!r} must be a finite number")
        return value


def raw_text(file: RawFile) -> str:
    """Returns a file's text as Python's text mode reads it: UTF-8, each line ends with one newline.

    A byte order mark is skipped. Raises `InputError` for other encodings.
    """
    try:
        text = file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = _universal(file.content[: error.start].decode("utf-8", "replace")).count("\n") + 1
        problem = f"not UTF-8 text: byte 0x{error.object[error.start]:02x} is invalid here"
        raise InputError(problem, path=file.label, line=line) from None
    return _universal(text)


def _universal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _numbered_lines(file: RawFile) -> Iterator[tuple[int, str]]:
    lines = raw_text(file).split("\n")
    if not lines[-1]:
        lines.pop()
    return enumerate(lines, start=1)


def tsv_rows(file: RawFile, columns: int) -> Iterator[Sequence[str]]:
    """Yield the rows of a TSV file after its header, split at tabs, without quoting.

    Raises `InputError` for headers of fewer than `columns` columns and rows that do not match the header.
    """
    width = None
    for number, line in _numbered_lines(file):
        row = line.split("\t")
        if width is None:
            width = len(row)
            if width < columns:
                _fail_width(file, number, f"a header of {columns} columns", width)
        elif len(row) != width:
            _fail_width(file, number, f"{width} columns as in the header", len(row))
        else:
            yield row
    if width is None:
        raise InputError("empty file: expected a header and rows", path=file.label)


def _fail_width(file: RawFile, number: int, expected: str, found: int) -> NoReturn:
    problem = f"expected {expected}, separated by tabs, found {found}"
    raise InputError(problem, path=file.label, line=number)


def json_lines(file: RawFile) -> Iterator[tuple[Place, Any]]:
    """Yield the value of each line and its place. Raises `InputError` for lines that are not JSON."""
    for number, line in _numbered_lines(file):
        yield Place(file.label, number), _parsed(file, line.strip(), number)


def json_document(file: RawFile) -> tuple[Place, Any]:
    """Returns the value of a JSON file and its place. Raises `InputError` if it is not JSON."""
    return Place(file.label), _parsed(file, raw_text(file), None)


def json_list(file: RawFile) -> Iterator[tuple[Place, Any]]:
    """Yield the elements of a JSON list and their places. Raises `InputError` for other files."""
    place, values = json_document(file)
    if not isinstance(values, list):
        place.fail(f"expected a JSON list, found {_shown(values)}")
    for number, value in enumerate(values, start=1):
        yield Place(file.label, number, "element"), value


def _parsed(file: RawFile, text: str, line: int | None) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        problem = f"not JSON ({error.msg})"
        line = error.lineno if line is None else line
    except RecursionError:
        problem = "nested too deeply"
    except ValueError as error:  # a constant, or an integer of thousands of digits
        problem = f"not JSON ({error})"
    raise InputError(problem, path=file.label, line=line)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False, default=str))


# Reads XML files as small trees, without entities of their own, external files or deep nesting.


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

    @property
    def text(self) -> str:
        """The element's text, stripped at both ends. Raises `InputError` if it contains elements."""
        if self.children:
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


def xml_tree(file: RawFile, root: str) -> Element:
    """Returns the root element of an XML file in UTF-8.

    A document type may name an external file, which is ignored. Raises `InputError` if the file is not XML,
    declares or uses entities of its own, is nested too deeply, or has another root element.
    """
    # The encoding counts that is given here, not one that the file declares.
    parser, top = expat.ParserCreate("utf-8"), Element("", {}, file.label, 0)
    opened = [top]

    def fail(problem: str) -> NoReturn:
        raise InputError(problem, path=file.label, line=parser.CurrentLineNumber)

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(opened) > DEPTH_LIMIT:
            fail(f"more than {DEPTH_LIMIT} elements are nested")
        opened.append(Element(tag, attributes, file.label, parser.CurrentLineNumber))
        opened[-2].children.append(opened[-1])

    def declared(name: str, *_: object) -> None:
        fail(f"declares the entity {name!r}: entity declarations are not allowed")

    def used(name: str | None, *_: object) -> int:
        fail(f"uses the entity {name!r}, which the file does not define")

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: opened.pop()
    parser.CharacterDataHandler = lambda text: opened[-1].parts.append(text)
    parser.EntityDeclHandler = declared
    parser.SkippedEntityHandler = parser.ExternalEntityRefHandler = used
    try:
        parser.Parse(raw_text(file).encode(), True)
    except expat.ExpatError as error:
        problem = f"not XML ({expat.ErrorString(error.code)})"
        raise InputError(problem, path=file.label, line=error.lineno) from None
    [found] = top.children  # of other numbers, expat reports an error
    if found.tag != root:
        found.fail(f"expected the root element <{root}>, found <{found.tag}>")
    return found
