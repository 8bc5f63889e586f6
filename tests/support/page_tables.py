"""What pages of reference say in tables and fences, for tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_CELLS = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"(`+)(.+?)\1", flags=re.DOTALL)


class Table(NamedTuple):
    """A table's header and its rows of cells, as they are written."""

    header: list[str]
    rows: list[list[str]]

    def column(self, place: int = 0) -> list[list[str]]:
        """What stands in code in the cells of a column."""
        return [codes(row[place]) for row in self.rows]


def japanese(page: Path) -> Path:
    """The same page in Japanese."""
    return page.with_name(f"{page.stem}.ja.md")


def prose(page: Path) -> str:
    """A page without its fences."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def fences(page: Path) -> list[tuple[str, str]]:
    """Language and content of the fences of a page."""
    return _FENCE.findall(page.read_text(encoding="utf-8"))


def codes(text: str) -> list[str]:
    """What stands in backticks."""
    return [code.strip().replace("\\|", "|") for _, code in _CODE.findall(text)]


def tables(page: Path) -> list[Table]:
    """The tables of a page."""
    found: list[list[list[str]]] = []
    inside = False
    for line in prose(page).splitlines():
        if line.startswith("|"):
            if not inside:
                found.append([])
            found[-1].append([cell.strip() for cell in _CELLS.split(line)[1:-1]])
        inside = line.startswith("|")
    return [Table(rows[0], rows[2:]) for rows in found]
