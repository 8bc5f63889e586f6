"""The raw files of the data sets: their digests, which of them a path stands for, and readers of formats."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from pfgen_rs.errors import InputError, Item
from pfgen_rs.io.text import shortened
from pfgen_rs.llm_jp_eval.registry import find_task, tasks

DOCUMENTED: Mapping[str, int] = MappingProxyType(
    {"jnli_train.json": 20073, "jsquad_train.json": 62859}
)
"""Number of samples of the published files whose digest is unknown, as JGLUE documents it."""


class Published(NamedTuple):
    """The SHA-256, in lower-case hex, and the size of a published file in bytes."""

    sha256: str
    size: int


@cache
def published() -> Mapping[str, Published]:
    """Returns digest and size of each published file by the reference's name.

    Without the files of `DOCUMENTED`, whose digests are unknown.
    """
    text = files(__package__).joinpath("published.txt").read_text(encoding="utf-8")
    lines = (line.split(" ") for line in text.splitlines() if not line.startswith("#"))
    return MappingProxyType({name: Published(digest, int(size)) for digest, size, name in lines})


def published_names(folder: str) -> frozenset[str]:
    """Returns the names of the published files of a folder such as `train/`."""
    return frozenset(name for name in published() if name.startswith(folder))


def needs(task: str) -> tuple[str, ...]:
    """Returns the names of the raw files, and folders of files, that a task is made from."""
    own = find_task(task).source
    return () if own is None else tuple(own.files)


def is_folder(name: str) -> bool:
    """Whether a name of `needs` stands for a folder of files."""
    return name.endswith("/")


def need_of(name: str) -> str:
    """Returns the need that a file belongs to: that of its folder, or its own."""
    folder = name[: name.rfind("/") + 1]
    return folder if folder in _FOLDERS else name


_FOLDERS = ("chabsa/chABSA-dataset/", "train/", "dev/", "test/")
_IN_FOLDER = re.compile(
    r"(?:^|/)(chabsa/chABSA-dataset/[^/]+\.json|(?:train|dev|test)/[^/]+\.knp)$"
)


def names_by_path() -> dict[str, str]:
    """Returns the reference's names of raw files by the end of their paths in the repositories and its own.

    Of files in folders, by the names of the published ones alone.
    """
    names = {name.rpartition("/")[2]: name for name in published() if need_of(name) != name}
    for info in tasks().values():
        for name, path in (info.source.files if info.source else {}).items():
            if not is_folder(name):
                # JGLUE is also found without its folder `datasets`.
                names |= {name: name, path: name, path.removeprefix("datasets/"): name}
    return names


def name_of(path: str, names: Mapping[str, str]) -> str | None:
    """Returns the reference's name of the raw file that a path with "/" stands for; None if it is another.

    `names`: as `names_by_path` returns them.
    """
    if found := _IN_FOLDER.search(path):
        return found[1]
    parts = path.split("/")
    tails = ("/".join(parts[at:]) for at in range(len(parts)))
    return next((names[tail] for tail in tails if tail in names), None)


# Raw files as they were found.


class Status(StrEnum):
    """What is known about a raw file; from the best to the worst."""

    PUBLISHED = "published"
    """Its SHA-256 is that of the published file."""
    UNVERIFIED = "unverified"
    """The digest of the published file is unknown; if the number of its samples is, this one has as many."""
    CHANGED = "changed"
    """It is not the published file."""


@dataclass(frozen=True, slots=True)
class RawFile:
    """A raw file: the reference's name, where it was found, its content, and what is known about it."""

    name: str
    label: str
    content: bytes
    status: Status = Status.CHANGED

    @property
    def sha256(self) -> str:
        """The digest of the content, in lower-case hex."""
        return hashlib.sha256(self.content).hexdigest()


def raw_file(name: str, label: str, content: bytes) -> RawFile:
    """Returns a raw file with what is known about it."""
    file = RawFile(name, label, content)
    if name in published():
        is_changed = file.sha256 != published()[name].sha256
        status = Status.CHANGED if is_changed else Status.PUBLISHED
    else:
        is_unknown = need_of(name) == name and (
            name not in DOCUMENTED or _sample_count(file) == DOCUMENTED[name]
        )
        status = Status.UNVERIFIED if is_unknown else Status.CHANGED
    return RawFile(name, label, content, status)


@dataclass(frozen=True, slots=True)
class RawFiles:
    """Raw files by name."""

    files: Mapping[str, RawFile]

    def of(self, need: str) -> list[RawFile]:
        """Returns the file of this name, or the files of this folder in the order of their names."""
        if not is_folder(need):
            return [self.files[need]] if need in self.files else []
        return [self.files[name] for name in sorted(self.files) if name.startswith(need)]

    def missing(self, task: str) -> tuple[str, ...]:
        """Returns the names of files and folders that a task needs and that were not found."""
        return tuple(need for need in needs(task) if not self.of(need))

    def status(self, task: str) -> Status:
        """Returns the worst status of a task's files; `CHANGED` if a folder lacks published files."""
        found = {Status.PUBLISHED, *(file.status for need in needs(task) for file in self.of(need))}
        for need in filter(is_folder, needs(task)):
            if {file.name for file in self.of(need)} != published_names(need):
                found.add(Status.CHANGED)
        return worst(found)


def worst(statuses: Iterable[Status]) -> Status:
    """Returns the worst of these statuses."""
    return max(statuses, key=list(Status).index)


# Reads raw files as text, TSV, JSON and XML; errors name file and line.


@dataclass(slots=True)
class Place:
    """A position in a raw file, for reading values there; errors name it."""

    path: str
    line: int | None = None
    item: Item = "line"
    where: str = ""

    def fail(self, problem: str) -> NoReturn:
        """Raise `InputError` with this place."""
        where = f"{self.where}: " if self.where else ""
        raise InputError(where + problem, path=self.path, line=self.line, item=self.item)

    def at(self, where: str) -> "Place":
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

    def items(self, record: Any, key: str) -> "Iterator[tuple[Place, Any]]":
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
        fits = len(row) >= columns if width is None else len(row) == width
        if not fits:
            header = f"a header of {columns} columns"
            expected = header if width is None else f"{width} columns as in the header"
            problem = f"expected {expected}, separated by tabs, found {len(row)}"
            raise InputError(problem, path=file.label, line=number)
        if width is not None:
            yield row
        width = len(row)
    if width is None:
        raise InputError("empty file: expected a header and rows", path=file.label)


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


def _sample_count(file: RawFile) -> int | None:
    """Returns the number of samples of a file of JGLUE; None where it is none."""
    try:
        if file.name.startswith("jnli"):
            return sum(1 for _ in json_lines(file))
        root, document = json_document(file)
        articles = root.items(document, "data")
        paragraphs = (each for at, article in articles for each in at.items(article, "paragraphs"))
        return sum(1 for at, paragraph in paragraphs for _ in at.items(paragraph, "qas"))
    except InputError:
        return None


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
    children: "list[Element]" = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The element's text, stripped at both ends. Raises `InputError` if it contains elements."""
        if self.children:
            self.fail(f"expected only text in <{self.tag}>, found elements")
        return "".join(self.parts).strip()

    def all(self, tag: str) -> "Iterator[Element]":
        """Yield the children with this tag."""
        return (child for child in self.children if child.tag == tag)

    def one(self, tag: str) -> "Element":
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
