"""Reads the objects of JSON lines, plain or compressed, with the place of every error."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from pfgen_rs.errors import InputError, Item, unreadable
from pfgen_rs.io.lines import text_blocks
from pfgen_rs.io.records import parse_line
from pfgen_rs.io.source import Source

__all__ = ["Line", "parsed", "read_lines"]

T = TypeVar("T")
_BLOCK = 1 << 20


class Line(NamedTuple):
    """One object of a file: its path, its line from 1, its bytes without the newline, and its fields."""

    path: str
    number: int
    text: bytes
    record: dict[str, Any]
    item: Item = "line"


def read_lines(path: str | os.PathLike[str]) -> Iterator[Line]:
    """Yield the objects of JSON lines or of a JSON array; blank lines are skipped.

    Raises `InputError` with file and line.
    """
    source = Source(path)
    number = 0
    item: Item = "line"
    try:
        with source.open() as raw:
            for block in text_blocks(raw, _BLOCK):
                item = block.item
                for text in _block_lines(block.text):
                    number += 1
                    if text.strip():
                        stripped = text.removesuffix(b"\r")
                        yield Line(source.path, number, stripped, parse_line(stripped), item)
                if block.damage is not None:
                    number += 1
                    raise InputError(block.damage)
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.problem, path=source.path, line=number or None, item=item) from None
    except OSError as error:
        raise InputError(unreadable(error), path=source.path) from error


def _block_lines(text: bytes) -> list[bytes]:
    return text.removesuffix(b"\n").split(b"\n") if text else []


def parsed(path: str | os.PathLike[str], parse: Callable[[dict[str, Any], Line], T]) -> Iterator[T]:
    """Yield what `parse` makes of each object; its `InputError` gets the file and line."""
    for line in read_lines(path):
        try:
            found = parse(line.record, line)
        except InputError as error:
            if error.path is not None:
                raise
            raise InputError(
                error.problem, path=line.path, line=line.number, item=line.item
            ) from None
        yield found
