"""The data of a page of verdicts: an index of all pairs, and their texts in chunks, loaded on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from pfgen_rs.judge.agreement.codes import Codes
from pfgen_rs.judge.letters import LETTERS
from pfgen_rs.judge.pages.views import ORDERS, JudgeView, Said, VerdictView

__all__ = ["INDEX", "chunk_name", "chunk_payloads", "chunk_starts", "index_payload"]

INDEX = "verdicts/index"
"""Name of the payload with what lists, filters and orders need."""

_PAIRS, _CHARACTERS = 64, 200_000  # of a chunk
_UNIT = 10**4  # probabilities go to the page as whole numbers of it
_BRIEF = 300  # characters of a question in the index
_NO_LETTER, _NOT_JUDGED = "-", "."
_LETTER_COLUMNS = ("v1", "v2", "probability", "strict", "tie", "first")
_PROBABILITIES = ("p1_a", "p1_b", "p1_c", "p2_a", "p2_b", "p2_c", "p_a", "p_b", "p_c")
_NUMBERS = (*_PROBABILITIES, "margin")


def chunk_name(number: int) -> str:
    """Returns the name of the payload with the texts of a chunk."""
    return f"verdicts/{number:05d}"


def chunk_starts(view: VerdictView) -> list[int]:
    """Returns the row of the first pair of each chunk: at most 64 pairs, and about 200,000 characters."""
    starts, pairs, size = [0], 0, 0
    for row, pair in enumerate(view.pairs):
        own = len(pair.question) + len(pair.answers[0]) + len(pair.answers[1])
        own += sum(
            len(said.output)
            for judge in view.judges
            for order in ORDERS
            if (said := judge.said.get((pair.id, order)))
        )
        if pairs and (pairs == _PAIRS or size + own > _CHARACTERS):
            starts.append(row)
            pairs, size = 0, 0
        pairs, size = pairs + 1, size + own
    return starts


def index_payload(view: VerdictView, starts: Sequence[int]) -> dict[str, Any]:
    """Returns the index: a column for each property of pairs, and those of each judge.

    Letters are texts with a character a pair: `-` for none, `.` if a judgment that is needed is missing.
    Probabilities and margins are in units of 0.0001, null if unknown.
    """
    pairs = view.pairs
    questions, question = _numbered_texts(pair.question[:_BRIEF] for pair in pairs)
    tasks, task = _numbered_texts(pair.task for pair in pairs)
    models, model = _numbered_texts(name for pair in pairs for name in pair.models)
    return {
        "ids": [pair.id for pair in pairs],
        "questions": questions,
        "question": question,
        "tasks": tasks,
        "task": task,
        "models": models,
        "a": model[::2],
        "b": model[1::2],
        "raters": list(view.raters),
        "letters": [_code_text(codes) for codes in view.letters],
        "majority": _code_text(view.majority),
        "judges": [_judge_columns(judge, len(pairs)) for judge in view.judges],
        "starts": list(starts),
    }


def chunk_payloads(
    view: VerdictView, starts: Sequence[int]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and values of the payloads with texts.

    A value has the distinct `texts`; `pairs`, with the places of question, reference and answers; and
    `judges`, for each the places of criteria, outputs and problems (order 1, then 2) of each pair. -1: none.
    """
    places = [dict(zip(judge.rows, judge.criteria, strict=True)) for judge in view.judges]
    for number, (start, stop) in enumerate(
        zip(starts, [*starts[1:], len(view.pairs)], strict=True)
    ):
        texts = _Texts()
        pairs = view.pairs[start:stop]
        yield (
            chunk_name(number),
            {
                "pairs": [
                    [texts.place(text) for text in (pair.question, pair.reference, *pair.answers)]
                    for pair in pairs
                ],
                "judges": [
                    [
                        _judge_text_places(texts, judge, pair.id, criteria.get(start + i))
                        for i, pair in enumerate(pairs)
                    ]
                    for judge, criteria in zip(view.judges, places, strict=True)
                ],
                "texts": list(texts.known),
            },
        )


class _Texts:
    """Distinct texts by their places."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def place(self, text: str | None) -> int:
        return -1 if text is None else self.known.setdefault(text, len(self.known))


def _judge_text_places(
    texts: _Texts, judge: JudgeView, pair: str, criteria: str | None
) -> list[int]:
    said = [judge.said.get((pair, order)) for order in ORDERS]
    return [
        texts.place(criteria),
        *(place for each in said for place in _places_of_said(texts, each)),
    ]


def _places_of_said(texts: _Texts, said: Said | None) -> tuple[int, int]:
    return (-1, -1) if said is None else (texts.place(said.output), texts.place(said.problem))


def _numbered_texts(texts: Iterator[Any]) -> tuple[list[str], list[int]]:
    """Returns the distinct texts, and the place of each, -1 for `None`."""
    known = _Texts()
    places = [known.place(text) for text in texts]
    return list(known.known), places


def _code_text(codes: Codes) -> str:
    return "".join((*LETTERS, _NO_LETTER)[code] for code in codes.tolist())


def _judge_columns(judge: JudgeView, pairs: int) -> dict[str, Any]:
    table = judge.listed
    return {
        "name": judge.name,
        **{name: _letter_text(table, name, judge.rows, pairs) for name in _LETTER_COLUMNS},
        **{name: _unit_column(table[name], judge.rows, pairs) for name in _NUMBERS},
    }


def _letter_text(table: pl.DataFrame, name: str, rows: Sequence[int], pairs: int) -> str:
    letters = [_NOT_JUDGED] * pairs
    one, two = pl.col("judged_1"), pl.col("judged_2")
    needed = {
        "v1": one,
        "first": one,
        "v2": two,
        "probability": pl.col("probability_state") != "missing",
    }
    none = (
        pl.when(needed.get(name, one & two)).then(pl.lit(_NO_LETTER)).otherwise(pl.lit(_NOT_JUDGED))
    )
    own = table.select(pl.col(name).fill_null(none)).to_series()
    for row, letter in zip(rows, own, strict=True):
        letters[row] = letter
    return "".join(letters)


def _unit_column(column: pl.Series, rows: Sequence[int], pairs: int) -> list[int | None]:
    numbers: list[int | None] = [None] * pairs
    units = (column * _UNIT).round().cast(pl.Int64).to_list()
    for row, number in zip(rows, units, strict=True):
        numbers[row] = number
    return numbers
