"""The page of verdicts: those of one or more judges on the same pairs, to look through in a browser."""

import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs import _native
from pfgen_rs.judge import Pair, read_humans, verdict_folder, verdicts
from pfgen_rs.judge.agreement.agree import agree
from pfgen_rs.judge.agreement.measures import majority
from pfgen_rs.judge.decisions import NONE, ORDERS, Codes, Rule, column_codes, winner_probabilities
from pfgen_rs.lazy import np, pl
from pfgen_rs.report.site import pages
from pfgen_rs.report.site.own_page import OwnPage
from pfgen_rs.report.site.pages import ALONE, Frame

__all__ = ["verdict_page", "write_verdict_page"]

LISTED = 20_000
"""Pairs that a page lists at most."""
FILE_CHARACTERS, FOLDER_CHARACTERS = 10_000_000, 100_000_000
"""Characters of texts that a page lists at most, in a single file and in a folder."""


class Said(NamedTuple):
    """What a judge said about a pair in one order, why it is invalid if it is, and its letter of the pair."""

    output: str | None
    problem: str | None
    letter: str | None


@dataclass(frozen=True)
class JudgeView:
    """The verdicts of a judge.

    `read`: its folder, with decisions about all pairs. `listed`: its decisions about the pairs that the page
    lists, in their order, null where the judge has no such pair. `criteria`: by pair. `said`: by pair, then
    by order and sample.
    """

    read: verdict_folder.FolderVerdicts
    listed: pl.DataFrame
    criteria: Mapping[str, str | None]
    said: Mapping[str, Mapping[tuple[int, int], Said]]

    def samples(self, pair: str, order: int) -> list[Said]:
        """Returns what the judge said about a pair in one order, by sample."""
        found = sorted(self.said.get(pair, {}).items())
        return [said for (own, _), said in found if own == order]


@dataclass(frozen=True)
class VerdictView:
    """Pairs to list, judges, and the verdicts of raters: a frame, and letters about these pairs by rater.

    `total`: the number of pairs, which may be more than `pairs`, a sample of them.
    """

    pairs: Sequence[Pair]
    total: int
    judges: Sequence[JudgeView]
    humans: pl.DataFrame | None
    letters: Mapping[str, Codes]


class _Drawn:
    """Distinct pairs in random order: the first ones, whose texts have at most so many characters in all.

    `held`: what is known of pairs, from which those that no longer fit are dropped.
    """

    def __init__(self, ids: Sequence[str], characters: int) -> None:
        self.ids = random.Random(0).sample(ids, min(len(ids), LISTED))  # noqa: S311
        self.sizes = dict.fromkeys(self.ids, 0)
        self.spare = characters
        self.held: list[dict[str, Any]] = []

    def add(self, pair: str, *texts: str | None) -> None:
        """Count texts of a pair that is among the drawn ones."""
        size = sum(len(text or "") for text in texts)
        self.sizes[pair] += size
        self.spare -= size
        while self.spare < 0 and len(self.ids) > 1:
            last = self.ids.pop()
            self.spare += self.sizes.pop(last)
            for known in self.held:
                known.pop(last, None)


def verdict_view(
    folders: Sequence[str | os.PathLike[str]],
    humans: str | os.PathLike[str] | None = None,
    *,
    characters: int = FOLDER_CHARACTERS,
) -> VerdictView:
    """Read folders of verdicts, and verdicts of people about their pairs.

    Pairs of several folders are the same if their ids are. Of more than `LISTED` pairs, or of texts with more
    than so many `characters`, so many are drawn to be listed, always the same ones. Memory is bounded by
    these texts, beside that of the decisions. Raises `InputError`, also if pairs with the same id have other
    texts.
    """
    read = verdict_folder.read_verdicts(folders)
    ids = pl.concat(each.decisions["pair"] for each in read).unique(maintain_order=True)
    found = None if humans is None else read_humans(humans, ids.to_list())
    drawn = _Drawn(ids.to_list(), characters)
    pairs: dict[str, Pair] = {}
    drawn.held.append(pairs)
    texts = [_read_texts(each.folder, drawn, pairs) for each in read]
    listed_ids = ids.filter(ids.is_in(drawn.ids))

    def listed(table: pl.DataFrame) -> pl.DataFrame:
        return listed_ids.to_frame("pair").join(table, on="pair", how="left", maintain_order="left")

    judges = [
        JudgeView(each, listed(each.decisions), *own) for each, own in zip(read, texts, strict=True)
    ]
    letters = {
        part["rater"][0]: column_codes(listed(part)["verdict"])
        for part in ([] if found is None else found.partition_by("rater", maintain_order=True))
    }
    return VerdictView([pairs[each] for each in listed_ids], len(ids), judges, found, letters)


def _read_texts(
    folder: verdict_folder.VerdictFolder, drawn: _Drawn, pairs: dict[str, Pair]
) -> tuple[dict[str, str | None], dict[str, dict[tuple[int, int], Said]]]:
    """Returns criteria, and what the judge said, of drawn pairs; adds new ones to `pairs`."""
    criteria: dict[str, str | None] = {}
    said: dict[str, dict[tuple[int, int], Said]] = {}
    drawn.held += [criteria, said]
    for pair in folder.each_pair():
        if pair.id in drawn.sizes:
            criteria[pair.id] = pair.criteria
            if pairs.setdefault(pair.id, pair) is pair:
                drawn.add(pair.id, pair.question, pair.reference, pair.criteria, *pair.answers)
    for record in folder.present_judgments():  # the last one of a pair, order and sample counts
        if (pair_id := record["pair"]) in drawn.sizes:
            order, shown = record["order"], record.get("shown")
            letter = shown if shown in verdicts.LETTERS else None
            if order == 2 and letter:
                letter = verdicts.SWAPPED[letter]
            output, problem = (record.get(name) for name in ("output", "problem"))
            own = Said(output if isinstance(output, str) else "", problem, letter)
            said.setdefault(pair_id, {})[order, record.get("sample") or 0] = own
            drawn.add(pair_id, own.output, own.problem)
    return criteria, said


def _summary(judge: JudgeView, humans: pl.DataFrame | None) -> dict[str, Any]:
    """Returns what the page says about a judge at its top. Raises what `agree` raises.

    `robustness`: over all pairs. `rules`: for each the number of decisions, and the concordance of all pairs
    (mean of the raters).
    """
    table = judge.read.decisions
    rule: Rule = "strict" if table["probability"].null_count() == len(table) else "probability"
    own = humans
    if humans is not None:
        own = humans.join(table, on="pair", how="semi", maintain_order="left")
    people = None if own is None or own.is_empty() else own
    found = agree(table, people, rule=rule)
    everything = pl.col("task").is_null()
    rows = found.concordance.filter(everything, pl.col("rater").is_null())
    means = {row["rule"]: row for row in rows.to_dicts()}
    return {
        "name": judge.read.name,
        "coverage": judge.read.coverage,
        "agreement": found,
        "robustness": found.robustness.filter(everything).to_dicts()[0],
        "rules": [
            {**means.get(row["rule"], {}), **row}
            for row in found.decisions.to_dicts()
            if row["rule"] == rule or row["rule"] != "probability"
        ],
    }


# The data: an index of all pairs, and their texts in chunks, which are loaded on demand


INDEX = "verdicts/index"
"""Name of the payload with what lists, filters and orders need."""

_PAIRS, _CHARACTERS = 64, 200_000  # of a chunk
_UNIT = 10**4  # probabilities go to the page as whole numbers of it
_BRIEF = 300  # characters of a question in the index
_NO_LETTER, _NOT_JUDGED, _NO_PAIR = "-", ".", " "
_DIGEST = 12  # hexadecimal digits by which a page knows a pair's texts
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
        said = (each for judge in view.judges for each in judge.said.get(pair.id, {}).values())
        own += sum(len(each.output or "") for each in said)
        if pairs and (pairs == _PAIRS or size + own > _CHARACTERS):
            starts.append(row)
            pairs, size = 0, 0
        pairs, size = pairs + 1, size + own
    return starts


def index_payload(view: VerdictView, starts: Sequence[int]) -> dict[str, Any]:
    """Returns the index: a column for each property of pairs, and those of each judge.

    Letters are texts with a character a pair: `-` for none, `.` if a judgment that is needed is missing, and
    a space where the judge does not have the pair. Probabilities and margins are in units of 0.0001, null if
    unknown; `winner`, that of the decision, is as it is. `unstable`: whether samples of an order differ.
    `groups`: which pairs share a question, by its id. `digests`: twelve characters a pair, which change with
    its texts.
    """
    pairs = view.pairs
    nobody = np.full((1, len(pairs)), NONE, dtype=np.int8)
    most = majority(np.stack([*view.letters.values()]) if view.letters else nobody)
    questions, tasks, models, groups = _Texts(), _Texts(), _Texts(), _Texts()
    question = questions.places(*(pair.question[:_BRIEF] for pair in pairs))
    task = tasks.places(*(pair.task for pair in pairs))
    model = models.places(*(name for pair in pairs for name in pair.models))
    judges = [_judge_columns(judge) for judge in view.judges]
    return {
        "ids": [pair.id for pair in pairs],
        "questions": list(questions.known),
        "question": question,
        "groups": groups.places(*(pair.question_id or pair.id for pair in pairs)),
        "digests": "".join(map(_digest, pairs)),
        "tasks": list(tasks.known),
        "task": task,
        "models": list(models.known),
        "a": model[::2],
        "b": model[1::2],
        "raters": list(view.letters),
        "letters": [_code_text(codes) for codes in view.letters.values()],
        "majority": _code_text(most),
        "judges": judges,
        "sampled": [judge["name"] for judge in judges if any(judge["unstable"])],
        "starts": list(starts),
    }


def chunk_payloads(
    view: VerdictView, starts: Sequence[int]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and values of the payloads with texts.

    A value has the distinct `texts`; `pairs`, with the places of question, reference and answers; and
    `judges`, for each the place of criteria of each pair and, for order 1 and 2, the places of output,
    problem and letter of each sample. -1: none.
    """
    ends = [*starts[1:], len(view.pairs)]
    for number, (start, stop) in enumerate(zip(starts, ends, strict=True)):
        texts = _Texts()
        pairs = view.pairs[start:stop]
        value: dict[str, Any] = {
            "pairs": [texts.places(p.question, p.reference, *p.answers) for p in pairs],
            "judges": [
                [
                    [
                        *texts.places(judge.criteria.get(pair.id)),
                        *(
                            [texts.places(*each) for each in judge.samples(pair.id, o)]
                            for o in ORDERS
                        ),
                    ]
                    for pair in pairs
                ]
                for judge in view.judges
            ],
        }
        yield chunk_name(number), {**value, "texts": list(texts.known)}


class _Texts:
    """Distinct texts by their places."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def places(self, *texts: str | None) -> list[int]:
        """Returns the place of each text, -1 for `None`."""
        known = self.known
        return [-1 if text is None else known.setdefault(text, len(known)) for text in texts]


def _digest(pair: Pair) -> str:
    texts = json.dumps([pair.id, pair.question, *pair.answers])
    return _native.digest(texts.encode())[:_DIGEST]


def _code_text(codes: Codes) -> str:
    return "".join((*verdicts.LETTERS, _NO_LETTER)[code] for code in codes.tolist())


def _judge_columns(judge: JudgeView) -> dict[str, Any]:
    table = judge.listed
    units = ((table[name] * _UNIT).round().cast(pl.Int64).to_list() for name in _NUMBERS)
    return {
        "name": judge.read.name,
        **{name: _letter_text(table, name) for name in _LETTER_COLUMNS},
        **dict(zip(_NUMBERS, units, strict=True)),
        "unstable": (~(table["stable_1"] & table["stable_2"])).fill_null(value=False).to_list(),
        "winner": pl.Series(winner_probabilities(table), nan_to_null=True).to_list(),
    }


def _letter_text(table: pl.DataFrame, name: str) -> str:
    one, two = pl.col("judged_1"), pl.col("judged_2")
    probable = pl.col("probability_state") != "missing"
    needed = {"v1": one, "first": one, "v2": two, "probability": probable}
    judged = needed.get(name, one & two)
    none = pl.when(judged).then(pl.lit(_NO_LETTER)).otherwise(pl.lit(_NOT_JUDGED))
    none = pl.when(one.is_null()).then(pl.lit(_NO_PAIR)).otherwise(none)
    return "".join(table.select(pl.col(name).fill_null(none)).to_series())


# The page: a single file, or a folder with the page and its data


_OWN = ("verdict_figures", "verdict_card", "verdict_keys", "verdicts", "verdict_form")


def write_verdict_page(
    folders: Sequence[str | os.PathLike[str]],
    path: str | os.PathLike[str],
    *,
    humans: str | os.PathLike[str] | None = None,
) -> VerdictView:
    """Write the page of the verdicts in `folders`: to one file if `path` ends in `.html`, else to a folder.

    A folder gets `index.html` and files with texts, which the page loads on demand; a single file contains
    everything. `humans`: a file with verdicts of people (`read_humans`). Of more than 20,000 pairs, or more
    than 100 million characters of texts (10 million in a single file), the page lists so many, drawn at
    random; its figures are about all. Returns what the page shows. Raises `InputError`, `OutputError`, and
    `PfgenError` without the extra `judge`.
    """
    characters = FILE_CHARACTERS if Path(path).suffix == ".html" else FOLDER_CHARACTERS
    view = verdict_view(folders, humans, characters=characters)
    verdict_page(view).write(path)
    return view


def verdict_page(view: VerdictView, place: Frame = ALONE) -> OwnPage:
    """Returns the page of verdicts, which raises what `agree` raises when it is made."""
    starts = chunk_starts(view)
    data = {
        "index": place.name(INDEX),
        "chunks": [place.name(chunk_name(number)) for number in range(len(starts))],
    }
    payloads = chain([(INDEX, index_payload(view, starts))], chunk_payloads(view, starts))
    named = ((place.name(name), value) for name, value in payloads)
    return OwnPage(named, lambda inside: _page_of(view, data, place, inside), place)


def _page_of(
    view: VerdictView, data: Mapping[str, Any], place: Frame, payloads: Mapping[str, Any]
) -> bytes:
    summaries = [_summary(judge, view.humans) for judge in view.judges]
    return pages.render(
        "verdicts",
        parts=("blocks", "listing", "statistics", *_OWN),
        frame=place,
        summaries=summaries,
        between=summaries[0]["agreement"].rater_agreement,
        pairs=len(view.pairs),
        total=view.total,
        raters=list(view.letters),
        several=len(view.judges) > 1,
        data={"verdicts": data},
        payloads=payloads,
    )
