"""Partial results as bytes: a JSON text and arrays behind a checksum, of which nothing is believed."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.runs.exact_sums import SQUARED, Cell, out_of_range

__all__ = ["Rows", "damaged", "opened", "read_cells", "read_left_out", "read_rows", "sealed"]

_FORMAT = b"pfgen-rs partial result 1\n"
_DIGEST = 16  # bytes
_SIZE = struct.Struct("<Q")
_PARTS = {"about", "left_out", "cells", "rows"}
_NUMBER = re.compile(r"-?[0-9a-f]{1,600}\.[0-9]{1,4}")
_SHIFT = 2200  # bits: sums of squares are in units of 2^-1074
_MOST = 1 << 53  # rows

Runs = Mapping[str | None, Any]


class Rows(NamedTuple):
    """Scored answers of a run: places in its order, numbers of questions, and scores as columns."""

    places: NDArray[np.int64]
    numbers: NDArray[np.uint32]
    scores: NDArray[np.float64]

    def taken(self, rows: Any) -> Rows:
        """Returns some of the rows."""
        return Rows(self.places[rows], self.numbers[rows], self.scores[rows])


def damaged(why: str) -> InputError:
    """Returns the error for bytes that no partial result is written as."""
    return InputError(f"a partial result is damaged: {why}")


def sealed(
    about: dict[str, Any],
    left_out: Mapping[str | None, Counter[str]],
    cells: Mapping[str | None, dict[int, Cell]],
    rows: Mapping[str | None, Rows],
) -> bytes:
    """Returns a partial result as bytes. `rows`: of each run by place."""
    together = _sorted_by_run(rows)
    header = {
        "about": about,
        "left_out": [[run, sorted(counts.items())] for run, counts in _sorted_by_run(left_out)],
        "cells": [
            [run, [[n, c.answers, *map(_hexadecimal, c.sums)] for n, c in sorted(of_run.items())]]
            for run, of_run in _sorted_by_run(cells)
        ],
        "rows": [[run, len(of_run.places)] for run, of_run in together],
    }
    text = _json_of(header)
    arrays = [array.tobytes() for _, of_run in together for array in of_run]
    content = b"".join([_SIZE.pack(len(text)), text, *arrays])
    return _FORMAT + _digest_of_partial(content) + content


def opened(data: bytes) -> tuple[dict[str, Any], memoryview]:
    """Returns the parts of the JSON text, and the arrays.

    Raises `InputError` for bytes of another format, another checksum, and other text than `sealed` writes.
    """
    content = memoryview(data)[len(_FORMAT) + _DIGEST :]
    if not data.startswith(_FORMAT):
        raise InputError("no partial result of this version of pfgen_rs")
    if data[len(_FORMAT) : len(_FORMAT) + _DIGEST] != _digest_of_partial(content):
        raise damaged("its checksum differs")
    _expect(len(content) >= _SIZE.size, "it ends too early")
    [size] = _SIZE.unpack_from(content)
    _expect(size <= len(content) - _SIZE.size, "it ends too early")
    text, arrays = bytes(content[_SIZE.size :][:size]), content[_SIZE.size + size :]
    try:
        header = json.loads(text.decode())
        is_own = _json_of(header) == text
    except (ValueError, RecursionError):
        raise damaged("it has no readable header") from None
    _expect(is_own and type(header) is dict and header.keys() == _PARTS, "unknown header")
    _expect(type(header["about"]) is dict, "it does not say of what it is")
    return header, arrays


def read_left_out(found: Any, named: bool) -> dict[str | None, Counter[str]]:
    """Returns how many rows of each run were left out, by reason. `named`: whether runs have names."""
    left_out: dict[str | None, Counter[str]] = {}
    for run, counts in _by_run(found, named, nulls=True):
        pairs = [_items(pair, 2) for pair in _items(counts)]
        reasons = [_text(reason) for reason, _ in pairs]
        _expect(_ascend(reasons), "reasons out of order")
        numbers = [_whole(count, 1, _MOST) for _, count in pairs]
        left_out[run] = Counter(dict(zip(reasons, numbers, strict=True)))
    return left_out


def read_cells(
    found: Any, named: bool, questions: int, columns: Sequence[str]
) -> dict[str | None, dict[int, Cell]]:
    """Returns the sums of each run by number of the question."""
    cells: dict[str | None, dict[int, Cell]] = {}
    for run, of_run in _by_run(found, named):
        made = [_read_cell(cell, questions, columns) for cell in _items(of_run)]
        _expect(bool(made), "a run without questions")
        _expect(_ascend([number for number, _ in made]), "questions out of order")
        cells[run] = dict(made)
    return cells


def _read_cell(found: Any, questions: int, columns: Sequence[str]) -> tuple[int, Cell]:
    number, answers, *sums = _items(found, 2 + len(columns) + len(SQUARED))
    cell = Cell(_whole(answers, 1, _MOST), [_read_number(text) for text in sums])
    wrong = out_of_range(cell, columns)
    _expect(wrong is None, f"impossible sums of {wrong!r}")
    return _whole(number, 0, questions - 1), cell


def read_rows(
    found: Any, named: bool, questions: int, width: int, content: memoryview
) -> dict[str | None, Rows]:
    """Returns the rows of each run, whose values are not looked at. `width`: the number of columns."""
    counts = [(run, _whole(count, 1, _MOST)) for run, count in _by_run(found, named)]
    of_row = 8 + 4 + 8 * width
    _expect(sum(count for _, count in counts) * of_row == len(content), "wrong number of rows")
    at, rows = 0, {}
    for run, count in counts:
        places = np.frombuffer(content, np.int64, count, at)
        numbers = np.frombuffer(content, np.uint32, count, at + places.nbytes)
        at += places.nbytes + numbers.nbytes
        scores = np.frombuffer(content, np.float64, count * width, at)
        at += scores.nbytes
        _expect(bool((places[1:] >= places[:-1]).all()), "rows out of order")
        _expect(bool((numbers < questions).all()), "a question that the benchmark does not have")
        rows[run] = Rows(places, numbers, scores.reshape(count, width))
    return rows


def _by_run(found: Any, named: bool, *, nulls: bool = False) -> Iterator[tuple[str | None, Any]]:
    """Yields runs and what is said of them: each once, ascending; `nulls`: also of rows without a run."""
    last: tuple[bool, str] | None = None
    for entry in _items(found):
        run, of_run = _items(entry, 2)
        _expect(
            type(run) is str if named and not (nulls and run is None) else run is None,
            "a run's name",
        )
        key = _run_key(run)
        _expect(last is None or last < key, "runs out of order")
        last = key
        yield run, of_run


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise damaged(otherwise)


def _items(found: Any, size: int | None = None) -> list[Any]:
    if type(found) is not list or size not in (None, len(found)):
        raise damaged("a list is missing or has another length")
    return found


def _text(found: Any) -> str:
    if type(found) is not str:
        raise damaged("a text is missing")
    return found


def _whole(found: Any, least: int, most: int) -> int:
    if type(found) is not int or not least <= found <= most:
        raise damaged(f"expected an integer from {least} to {most}")
    return found


def _ascend(items: Sequence[Any]) -> bool:
    return all(a < b for a, b in itertools.pairwise(items))


def _hexadecimal(number: int) -> str:
    """Returns an integer in hexadecimal, without the zeros at its end, which are counted."""
    zeros = max((number & -number).bit_length() - 1, 0)
    return f"{number >> zeros:x}.{zeros}"


def _read_number(found: Any) -> int:
    text = _text(found)
    _expect(_NUMBER.fullmatch(text) is not None, "a sum that is no number")
    digits, _, zeros = text.partition(".")
    _expect(int(zeros) <= _SHIFT, "a sum that is too large")
    number = int(digits, 16) << int(zeros)
    _expect(_hexadecimal(number) == text, "a sum that is written otherwise")
    return number


def _sorted_by_run(runs: Runs) -> list[tuple[str | None, Any]]:
    return sorted(runs.items(), key=lambda item: _run_key(item[0]))


def _run_key(run: str | None) -> tuple[bool, str]:
    return run is not None, run or ""


def _json_of(header: Any) -> bytes:
    return json.dumps(header, ensure_ascii=False).encode()


def _digest_of_partial(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()
