"""The page of verdicts: those of one or more judges on the same pairs, to look through in a browser."""

from __future__ import annotations

import os
import random
from collections.abc import Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from pfgen_rs.errors import InputError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.judge.agreement.agree import Agreement, agree
from pfgen_rs.judge.agreement.kappa import majority
from pfgen_rs.judge.decision_columns import NONE, ORDERS, Codes, column_codes
from pfgen_rs.judge.decisions import Rule
from pfgen_rs.judge.pairs import Pair, read_humans
from pfgen_rs.judge.requests import Coverage
from pfgen_rs.judge.tokens import LETTERS
from pfgen_rs.judge.verdict_folder import VerdictFolder, check_same_pairs, distinct_judge_names
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.folder import SiteFolder
from pfgen_rs.report.site.pages import render

__all__ = ["write_verdict_page"]

LISTED = 20_000
"""Pairs that a page lists at most, unless told otherwise."""


class Said(NamedTuple):
    """What a judge said about a pair in one order, and why that is invalid, if it is."""

    output: str
    problem: str | None


@dataclass(frozen=True)
class JudgeView:
    """The verdicts of a judge.

    `name`: that of judge and prompt, with the folder where several share it. `decisions`: as
    `VerdictFolder.decisions` has them, one row a pair of the *folder*. `coverage`: what is missing of them.
    `listed`: the rows of pairs that the page lists, and `rows` their places on it. `criteria`: those of
    these pairs. `said`: by pair and order.
    """

    name: str
    decisions: pl.DataFrame
    coverage: Coverage
    listed: pl.DataFrame
    rows: Sequence[int]
    criteria: Sequence[str | None]
    said: dict[tuple[str, int], Said]


@dataclass(frozen=True)
class VerdictView:
    """Pairs to list, judges, and the verdicts of raters: a frame, and letters of shape (raters, pairs).

    `total`: the number of pairs, which may be more than `pairs`, a sample of them.
    """

    pairs: Sequence[Pair]
    total: int
    judges: Sequence[JudgeView]
    humans: pl.DataFrame | None
    raters: Sequence[str]
    letters: Codes

    @property
    def majority(self) -> Codes:
        """The letter that most raters chose for each pair, -1 if several share the lead or none judged."""
        return majority(self.letters) if len(self.raters) else np.full(len(self.pairs), NONE)


def verdict_view(
    folders: Sequence[str | os.PathLike[str]],
    humans: str | os.PathLike[str] | None = None,
    sample: int = LISTED,
) -> VerdictView:
    """Read folders of verdicts, and verdicts of people about their pairs.

    Pairs of several folders are the same if their ids are. Of more than `sample` pairs, so many are drawn to
    be listed, always the same ones. Raises `InputError`, also if pairs with the same id have other texts.
    """
    if not folders:
        raise InputError("no folder of verdicts")
    opened = [VerdictFolder(path) for path in folders]
    check_same_pairs(opened)
    read = [folder.read() for folder in opened]
    ids = pl.concat(frame["pair"] for frame, _ in read).unique(maintain_order=True)
    total = len(ids)
    found = None if humans is None else read_humans(humans, ids.to_list())
    if total > sample:
        ids = ids.gather(sorted(random.Random(0).sample(range(total), sample)))  # noqa: S311
    places = {pair: place for place, pair in enumerate(ids)}
    pairs: dict[str, Pair] = {}
    judges: list[JudgeView] = []
    for folder, name, (frame, coverage) in zip(
        opened, distinct_judge_names(opened), read, strict=True
    ):
        own = [pair for pair in folder.each_pair() if pair.id in places]
        pairs = {pair.id: pair for pair in own} | pairs
        judges.append(
            JudgeView(
                name=name,
                decisions=frame,
                coverage=coverage,
                listed=frame.filter(pl.col("pair").is_in(ids.implode())),
                rows=[places[pair.id] for pair in own],
                criteria=[pair.criteria for pair in own],
                said=_said_by_pair(folder, places),
            )
        )
    raters, letters = _rater_letters(ids.to_list(), found)
    return VerdictView([pairs[each] for each in ids], total, judges, found, raters, letters)


def _said_by_pair(folder: VerdictFolder, listed: Container[str]) -> dict[tuple[str, int], Said]:
    """Returns the last judgment of each listed pair and order, which is the one that counts."""
    return {
        (record["pair"], record["order"]): Said(record.get("output") or "", record.get("problem"))
        for record in folder.present_judgments()
        if record["pair"] in listed
    }


def _rater_letters(pairs: list[str], humans: pl.DataFrame | None) -> tuple[list[str], Codes]:
    if humans is None:
        return [], np.empty((0, len(pairs)), dtype=np.int8)
    ids = pl.DataFrame({"pair": pairs})
    raters = humans["rater"].unique(maintain_order=True).to_list()
    columns = [
        ids.join(
            humans.filter(pl.col("rater") == rater), on="pair", how="left", maintain_order="left"
        )["verdict"]
        for rater in raters
    ]
    return raters, np.stack([column_codes(column) for column in columns])


# The figures at the top


@dataclass(frozen=True)
class JudgeSummary:
    """What a page says about a judge: its agreement, and rows of tables (`Agreement.to_dict`'s columns)."""

    name: str
    agreement: Agreement
    coverage: Coverage

    @property
    def robustness(self) -> Mapping[str, Any]:
        """Robustness over all pairs."""
        return self.agreement.robustness.filter(pl.col("task").is_null()).to_dicts()[0]

    @property
    def rules(self) -> list[dict[str, Any]]:
        """For each rule the number of decisions, and the concordance of all pairs (mean of the raters)."""
        rows = self.agreement.decisions.to_dicts()
        means = self.agreement.concordance
        if means.is_empty():
            return rows
        means = means.filter(pl.col("task").is_null(), pl.col("rater").is_null())
        found = {row["rule"]: row for row in means.to_dicts()}
        return [{**found.get(row["rule"], {}), **row} for row in rows]


def summaries(view: VerdictView) -> list[JudgeSummary]:
    """Returns the figures of each judge. Raises what `agree` raises."""
    return [
        JudgeSummary(judge.name, _agreement_of(judge, view.humans), judge.coverage)
        for judge in view.judges
    ]


def _agreement_of(judge: JudgeView, humans: pl.DataFrame | None) -> Agreement:
    table = judge.decisions
    rule: Rule = "strict" if table["probability"].null_count() == len(table) else "probability"
    own = None
    if humans is not None:
        own = humans.join(table.select("pair"), on="pair", how="semi", maintain_order="left")
        own = None if own.is_empty() else own
    return agree(table, own, rule=rule, allow_missing=True)


# The data: an index of all pairs, and their texts in chunks, which are loaded on demand


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


# The page: a single file, or a folder with the page and its data


_BATCH = 64  # payloads that are in memory at the same time


def write_verdict_page(
    folders: Sequence[str | os.PathLike[str]],
    path: str | os.PathLike[str],
    *,
    humans: str | os.PathLike[str] | None = None,
    sample: int = LISTED,
) -> VerdictView:
    """Write the page of the verdicts in `folders`: to one file if `path` ends in `.html`, else to a folder.

    A folder gets `index.html` and files with texts, which the page loads on demand; a single file contains
    everything. `humans`: a file with verdicts of people (`read_humans`). Of more than `sample` pairs, the
    page lists so many, drawn at random; its figures are about all. Returns what the page shows. Raises
    `InputError`, `OutputError`, and `PfgenError` without the extra `judge`.
    """
    view = verdict_view(folders, humans, sample)
    starts = chunk_starts(view)
    payloads = _verdict_payloads(view, starts)
    if Path(path).suffix == ".html":
        write_atomic(path, _verdict_page(view, starts, dict(payloads)))
        return view
    page = _verdict_page(view, starts, {})  # fails before anything is written
    folder = SiteFolder(path)
    with folder.writing():
        _write_verdict_payloads(folder, payloads)
        folder.write("index.html", page)
        folder.finish()
    return view


def _verdict_payloads(view: VerdictView, starts: Sequence[int]) -> Iterator[tuple[str, Any]]:
    yield INDEX, index_payload(view, starts)
    yield from chunk_payloads(view, starts)


def _write_verdict_payloads(folder: SiteFolder, payloads: Iterator[tuple[str, Any]]) -> None:
    """Write payloads in threads: compressing releases the GIL."""

    def write(named: tuple[str, Any]) -> None:
        name, value = named
        folder.write(f"{name}.js", payload.payload_file(name, value))

    with ThreadPoolExecutor() as pool:
        while batch := list(islice(payloads, _BATCH)):
            for _ in pool.map(write, batch):
                pass


def _verdict_page(view: VerdictView, starts: Sequence[int], payloads: Mapping[str, Any]) -> bytes:
    found = summaries(view)
    return render(
        "verdicts",
        parts=("blocks", "verdicts"),
        nav=(),
        here="",
        summaries=found,
        between=found[0].agreement.rater_agreement,
        pairs=len(view.pairs),
        total=view.total,
        raters=view.raters,
        several=len(view.judges) > 1,
        data={"index": INDEX, "chunks": [chunk_name(number) for number in range(len(starts))]},
        payloads=payloads,
    )
