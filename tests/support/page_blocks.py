"""The code of Markdown pages: fenced blocks with their languages, lines, and marks of what is not run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from places import DOCS, ROOT

PAGES = sorted(
    page for page in [ROOT / "README.md", *DOCS.rglob("*.md")] if not page.name.endswith(".ja.md")
)
"""The pages whose code is run; `test_texts.py` compares that of the Japanese ones with it."""

BLOCK = re.compile(
    r"(?:^ *<!-- not run(?P<parts>(?: \"[^\"\n]+\",?)*): (?P<reason>[^\n]+) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w+)(?: title=\"(?P<file>[^\"\n]+)\")?[^\n]*\n"
    r"(?P<code>.*?)^(?P=indent)```$",
    flags=re.DOTALL | re.MULTILINE,
)
LINE = re.compile(
    r"[^\n]*<<'?(\w+)'?[^\n]*\n.*?^\1$|(?:[^\n]*\\\n)*[^\n]+", flags=re.DOTALL | re.MULTILINE
)
INLINE = re.compile(r"(?<!`)`(pfgen-rs [^`\n]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """A fenced block. `line`: of its first line of code. `file`: the name that it is to be saved under.

    `reason`: why it is not run; empty if it is. `parts`: only lines that contain one of these are not.
    """

    page: Path
    line: int
    language: str
    code: str
    file: str
    reason: str
    parts: tuple[str, ...]

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{name(self.page)}:{self.line}"

    @property
    def is_run(self) -> bool:
        """Whether any of it is."""
        return not self.reason or bool(self.parts)


def name(page: Path) -> str:
    """A page by its path in the project."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        code = re.sub(rf"^{found['indent']}", "", found["code"], flags=re.MULTILINE)
        line = text.count("\n", 0, found.start("code")) + 1
        parts = tuple(re.findall(r"\"([^\"]+)\"", found["parts"] or ""))
        yield Block(
            page, line, found["language"], code, found["file"] or "", found["reason"] or "", parts
        )


def inline_commands(page: Path) -> list[str]:
    """Commands within sentences; they may be beginnings of commands."""
    return INLINE.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))


def lines(script: str) -> list[str]:
    """The lines of a script; one that a backslash or a here-document continues is one."""
    return [match[0] for match in LINE.finditer(script)]


def commands(script: str) -> Iterator[list[str]]:
    """The words after `pfgen-rs`, for each time that a script runs it."""
    for line in lines(script):
        lexer = shlex.shlex(
            line.replace("\\\n", " ").split("\n")[0], posix=True, punctuation_chars=True
        )
        lexer.whitespace_split = True
        part: list[str] = []
        for word in [*lexer, ";"]:
            if not set(word) <= set(";|&()<>"):
                part.append(word)
                continue
            if "pfgen-rs" in part:
                yield part[part.index("pfgen-rs") + 1 :]
            part = []
