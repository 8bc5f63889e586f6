"""Plain JSON lines: a pair with the verdicts of a judge and of people, for whatever has no format here."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.lines import text_field
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Collector, Imported, records
from pfgen_rs.judge.pairs import Pair, pair_of, pair_record
from pfgen_rs.judge.tokens import LETTERS, SWAPPED, Letter


def write_json_lines(imported: Imported) -> Iterator[dict[str, Any]]:
    """Yield a line a pair, also of pairs without judgments; probabilities are left out."""
    raters: dict[str, dict[str, Letter]] = {}
    for pair, rater, letter in imported.humans:
        raters.setdefault(pair, {})[rater] = letter
    for each, judgments in imported.by_pair():
        record = pair_record(each)
        orders = {judgment["order"]: judgment for judgment in judgments}
        if orders:
            last = max(orders)
            record["judge"] = orders[last]["judge"]["model"]
            record["verdicts"] = [_letter(orders.get(order), order) for order in range(1, last + 1)]
        if each.id in raters:
            record["humans"] = raters[each.id]
        yield record


def _letter(judgment: dict[str, Any] | None, order: int) -> Letter | None:
    shown: Letter | None = judgment["shown"] if judgment else None
    return SWAPPED[shown] if shown and order == 2 else shown


@judge_format(
    "json-lines",
    files="one line a pair, as in files of pairs, with `judge` and `verdicts`, with `humans`, or with both",
    verdicts="`verdicts`: a letter for each order that was judged (A: the pair's first model wins, C: a tie, "
    "null: invalid); `humans`: letters by rater",
    pair_id="`id`",
    example={
        "id": "q1/m1/m2",
        "question": "何ですか？",
        "models": ["m1", "m2"],
        "answers": ["甲", "乙"],
        "judge": "gpt-4",
        "verdicts": ["A", "C"],
        "humans": {"r1": "A", "r2": "B"},
    },
    recognises=lambda record: (
        {"models", "answers"} <= record.keys()
        and not record.keys().isdisjoint({"verdicts", "humans"})
    ),
    write=write_json_lines,
)
def read_json_lines(paths: Sequence[Path]) -> Imported:
    """Read pairs with verdicts. A pair may occur again with another judge. Raises `InputError`."""
    found = Collector("json-lines")
    for place, record in records(paths):
        with place:
            pair = pair_of(record)
            found.add_pair(pair)
            if "verdicts" in record:
                _add_verdicts(found, pair, record)
            _add_humans(found, pair, record.get("humans", {}))
    return found.imported()


def _add_verdicts(found: Collector, pair: Pair, record: dict[str, Any]) -> None:
    verdicts = record["verdicts"]
    known = (None, *LETTERS)
    if (
        not isinstance(verdicts, list)
        or not 1 <= len(verdicts) <= 2
        or any(each not in known for each in verdicts)
    ):
        raise InputError("'verdicts' must be a list of one or two of A, B, C and null")
    judge = text_field(record, "judge")
    for order, letter in enumerate(verdicts, 1):
        shown = SWAPPED[letter] if letter and order == 2 else letter
        found.add_judgment(pair, order, judge, shown)


def _add_humans(found: Collector, pair: Pair, humans: Any) -> None:
    if not isinstance(humans, dict) or any(each not in LETTERS for each in humans.values()):
        raise InputError("'humans' must be an object of letters A, B or C by rater")
    for rater, letter in humans.items():
        found.add_human(pair, rater, letter)
