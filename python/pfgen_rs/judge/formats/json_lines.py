"""Plain JSON lines: a pair with the verdicts of a judge, for whatever has no format here."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.lines import text_field
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Imported, records
from pfgen_rs.judge.pairs import pair_of, pair_record
from pfgen_rs.judge.verdicts import LETTERS, SWAPPED, Letter


def write_json_lines(imported: Imported) -> Iterator[dict[str, Any]]:
    """Yield a line a pair that was judged; probabilities are left out."""
    for pair, judgments in imported.by_pair():
        if judgments:
            last = max(judgments)
            shown = [judgments[n]["shown"] if n in judgments else None for n in range(1, last + 1)]
            judge = judgments[last]["judge"]["model"]
            yield {**pair_record(pair), "judge": judge, "verdicts": _turned(shown)}


def _turned(letters: Sequence[Letter | None]) -> list[Letter | None]:
    """Returns letters of the pair as they were shown, and the other way round."""
    return [
        SWAPPED[letter] if letter and order == 2 else letter
        for order, letter in enumerate(letters, 1)
    ]


@judge_format(
    "json-lines",
    files="one line a pair, as in files of pairs, with `judge` and `verdicts`, or with neither",
    verdicts="a letter for each order that was judged (A: the pair's first model wins, C: a tie, "
    "null: invalid)",
    pair_id="`id`",
    example={
        "id": "q1/m1/m2",
        "question": "何ですか？",
        "models": ["m1", "m2"],
        "answers": ["甲", "乙"],
        "judge": "gpt-4",
        "verdicts": ["A", "C"],
    },
    recognises=lambda record: {"models", "answers"} <= record.keys(),
    write=write_json_lines,
)
def read_json_lines(paths: Sequence[Path]) -> Imported:
    """Read pairs, perhaps with verdicts. A pair may occur again with another judge. Raises `InputError`."""
    found = Imported("json-lines")
    for place, record in records(paths):
        with place:
            pair, verdicts = pair_of(record), record.get("verdicts")
            if {"judge", "verdicts"}.isdisjoint(record):
                found.add_pair(pair)
                continue
            if (
                not isinstance(verdicts, list)
                or not 1 <= len(verdicts) <= 2
                or any(each not in (None, *LETTERS) for each in verdicts)
            ):
                raise InputError("'verdicts' must be a list of one or two of A, B, C and null")
            found.add_pair(pair)
            judge = text_field(record, "judge")
            for order, shown in enumerate(_turned(verdicts), 1):
                found.add_judgment(pair, order, judge, shown)
    return found
