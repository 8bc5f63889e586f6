"""The code of Markdown pages: fenced blocks with their languages, lines, and marks of what is not run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from places import DOCS, ROOT

__all__ = [
    "JAPANESE",
    "PAGES",
    "Block",
    "blocks",
    "english",
    "inline_commands",
    "marks",
    "name",
    "unfenced",
]

JAPANESE = ".ja.md"
PAGES = sorted([*ROOT.glob("README*.md"), *DOCS.rglob("*.md")])
"""What readers copy commands from: the READMEs and all pages, in both languages."""

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
MARK = re.compile(r"^<!-- not run(?P<parts>(?: \"[^\"]+\",?)*): (?P<reason>\S.*) -->$")
TITLE = re.compile(r"\btitle=\"([^\"]+)\"")
NESTING = re.compile(r"^ *(?:[-*+] |\d+[.)] |!!! |\?\?\? |\?\?\?\+ |=== )")
INLINE = re.compile(r"(?<!`)`(pfgen-rs [^`\n]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """A fenced block. `line`: of its first line of code. `file`: the name that it is to be saved under.

    `reason`: why it is not run; None if it is. `parts`: only statements that contain one of these are not.
    """

    page: Path
    line: int
    language: str
    code: str
    file: str = ""
    reason: str | None = None
    parts: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{name(self.page)}:{self.line}"

    @property
    def is_run(self) -> bool:
        """Whether any of it is."""
        return self.reason is None or bool(self.parts)


def name(page: Path) -> str:
    """A page by its path in the project."""
    return page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name


def english(page: Path) -> Path:
    """The page that a Japanese page translates."""
    return page.with_name(page.name.removesuffix(JAPANESE) + ".md")


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, from top to bottom."""
    return list(_blocks(page, page.read_text(encoding="utf-8").splitlines()))


def _blocks(page: Path, lines: list[str]) -> Iterator[Block]:
    rest = iter(enumerate(lines, 1))
    for number, line in rest:
        if opened := FENCE.match(line):
            code = []
            for _, inside in rest:
                if _closes(inside, opened["fence"]):
                    break
                code.append(inside.removeprefix(opened["indent"]))
            else:
                raise ValueError(f"{page}:{number}: the block is not closed")
            language = (opened["info"].split() or [""])[0]
            reason, parts = _mark_before(lines, number - 1)
            text = "".join(f"{each}\n" for each in code)
            file = TITLE.search(opened["info"])
            yield Block(page, number + 1, language, text, file[1] if file else "", reason, parts)


def _closes(line: str, fence: str) -> bool:
    return line.strip().startswith(fence) and not line.strip().strip(fence[0])


def _mark_before(lines: list[str], number: int) -> tuple[str | None, tuple[str, ...]]:
    """The reason and the parts of the mark that stands right before a line."""
    before = [line.strip() for line in lines[:number] if line.strip()]
    found = MARK.match(before[-1]) if before else None
    if found is None:
        return None, ()
    return found["reason"], tuple(re.findall(r"\"([^\"]+)\"", found["parts"]))


def marks(page: Path) -> int:
    """How many comments of a page are meant as marks, whether they are written right or not."""
    return len(re.findall(r"<!--\s*not[ -]?run", page.read_text(encoding="utf-8"), re.IGNORECASE))


def unfenced(page: Path) -> list[int]:
    """Lines where code begins that is indented, not fenced: it has no language, so nothing checks it."""
    found, fence, nested, before = [], "", False, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif opened := FENCE.match(line):
            fence = opened["fence"]
        elif line.startswith("    ") and not before.strip() and not nested and line.strip():
            found.append(number)
        if line.strip() and not line.startswith(" "):
            nested = bool(NESTING.match(line))
        before = line
    return found


def inline_commands(page: Path) -> list[str]:
    """Commands within sentences; they may be beginnings of commands."""
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        text = text.replace(block.code, "")
    return INLINE.findall(text)
