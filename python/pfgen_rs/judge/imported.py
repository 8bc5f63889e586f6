"""Judgments of other tools: pairs, judgments as in verdict folders, verdicts of people; as folders, too."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, OutputError
from pfgen_rs.io.atomic import writing_failed
from pfgen_rs.io.json_lines import write_objects
from pfgen_rs.io.text import counted, plural
from pfgen_rs.judge.decisions import Decision, decide
from pfgen_rs.judge.pairs import Pair, read_humans, write_pairs
from pfgen_rs.judge.requests import JUDGMENTS, imported_digest
from pfgen_rs.judge.tokens import Letter
from pfgen_rs.judge.verdict_folder import VerdictFolder, open_verdict_folder
from pfgen_rs.judge.verdicts import Verdict

Judgment = dict[str, Any]
HUMANS = "humans.jsonl"
"""Verdicts of people in a verdict folder, where `read_folder` looks for them."""


@dataclass(frozen=True)
class Imported:
    """Pairs with judgments and verdicts of people.

    `judgments`: records as in the journal of a verdict folder. `humans`: pair id, rater, letter.
    `notes`: what is missing or was left out, for the user.
    """

    pairs: list[Pair]
    judgments: list[Judgment] = field(default_factory=list)
    humans: list[tuple[str, str, Letter]] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    @property
    def judges(self) -> list[str]:
        """The judges, in the order in which they occur."""
        return list(dict.fromkeys(each["judge"]["model"] for each in self.judgments))

    def of_judge(self, judge: str | None) -> Imported:
        """Returns the same with the judgments of one judge.

        `judge`: may be `None` if there is at most one. Raises `InputError` for an unknown or unclear choice.
        """
        known = self.judges
        if judge is None and len(known) <= 1:
            return self
        if judge not in known:
            names = ", ".join(known) or "none"
            problem = "several judges" if judge is None else f"unknown judge {judge!r}"
            raise InputError(f"{problem}: choose one of {names}")
        return replace(
            self, judgments=[each for each in self.judgments if each["judge"]["model"] == judge]
        )

    def by_pair(self) -> dict[str, list[Judgment]]:
        """Returns the judgments of each pair, also of pairs without any."""
        found: dict[str, list[Judgment]] = {pair.id: [] for pair in self.pairs}
        for each in self.judgments:
            found[each["pair"]].append(each)
        return found


class Collector:
    """Collects what a reader finds, each pair once and each judgment once."""

    def __init__(self, source: str) -> None:
        """`source`: name of the format, the `engine` of its judgments."""
        self.source = source
        self.pairs: dict[str, Pair] = {}
        self.judgments: dict[tuple[str, str, int], Judgment] = {}
        self.humans: dict[tuple[str, str], Letter] = {}

    def add_pair(self, pair: Pair) -> None:
        """Add a pair, which may occur again unchanged. Raises `InputError` if other texts have its id."""
        if self.pairs.setdefault(pair.id, pair) != pair:
            raise InputError(f"pair {pair.id!r:.80} occurs twice with different texts")

    def add_judgment(
        self,
        pair: Pair,
        order: int,
        judge: str,
        shown: Letter | None,
        *,
        prompt: str,
        output: str = "",
        probabilities: Mapping[str, float] | None = None,
        timestamp: str | None = None,
        problem: str = "no verdict",
        **more: Any,
    ) -> None:
        """Add a judgment. `problem`: why there is no verdict. Raises `InputError` for a second one."""
        key = (judge, pair.id, order)
        if key in self.judgments:
            raise InputError(
                f"second judgment of pair {pair.id!r:.80} in order {order} by {judge!r:.80}"
            )
        self.judgments[key] = {
            "pair": pair.id,
            "question_id": pair.question_id,
            "task": pair.task,
            "models": list(pair.models),
            "order": order,
            "sample": 0,
            "prompt": prompt,
            "judge": {
                "engine": self.source,
                "model": judge,
                "temperature": None,
                "seed": None,
                "base_url": None,
            },
            "digest": imported_digest(self.source, judge, pair, order),
            "output": output,
            "finish_reason": None,
            "shown": shown,
            "probabilities": None if probabilities is None else dict(probabilities),
            "problem": problem if shown is None else None,
            "usage": None,
            "left_out": [],
            "timestamp": timestamp,
            **more,
        }

    def add_human(self, pair: Pair, rater: str, verdict: Letter) -> None:
        """Add a rater's verdict. Raises `InputError` for a second one."""
        if (pair.id, rater) in self.humans:
            raise InputError(f"second verdict of rater {rater!r:.80} on pair {pair.id!r:.80}")
        self.humans[pair.id, rater] = verdict

    def imported(self, *notes: str) -> Imported:
        """Returns what was found. Raises `InputError` if there is no pair."""
        if not self.pairs:
            raise InputError(f"contains no pairs in the format {self.source}")
        return Imported(
            list(self.pairs.values()),
            list(self.judgments.values()),
            [(pair, rater, verdict) for (pair, rater), verdict in self.humans.items()],
            tuple(notes),
        )


def decided(judgments: Sequence[Judgment]) -> tuple[Letter | None, Decision]:
    """Returns the letter of a pair's judgments for formats with one verdict a pair, and the whole decision.

    Both orders: their verdict if they agree, else C (rule `tie`); one order: its verdict.
    """
    verdicts = {
        each["order"]: Verdict(each["shown"], each["probabilities"])
        for each in judgments
        if each["sample"] == 0
    }
    decision = decide(verdicts.get(1), verdicts.get(2))
    if len(verdicts) == 1:
        first, second = decision.verdicts
        return first or second, decision
    return decision.tie, decision


def write_folder(out: str | os.PathLike[str], imported: Imported) -> None:
    """Write a new verdict folder with the judgments of one judge, and `humans.jsonl` if there are raters.

    Without judgments there are only pairs and raters. Raises `InputError` if there are several judges, and
    `OutputError` if the folder has anything in it.
    """
    chosen, folder = imported.of_judge(None), Path(out)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(f"{folder}: already exists: choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise writing_failed(folder, error) from error
    if chosen.humans:
        write_objects(
            folder / HUMANS,
            ({"id": pair, "rater": rater, "verdict": each} for pair, rater, each in chosen.humans),
        )
    if not chosen.judgments:
        write_pairs(folder / "pairs.jsonl", chosen.pairs)
        return
    open_verdict_folder(folder, _imported_config(chosen.judgments[0]), chosen.pairs)
    write_objects(folder / JUDGMENTS, chosen.judgments)


def _imported_config(judgment: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "pairwise",
        "judge": judgment["judge"],
        "prompt": {"name": judgment["prompt"]},
    }


def read_folder(path: str | os.PathLike[str]) -> Imported:
    """Read a verdict folder: pairs, the last judgment of each pair in each order, and raters if it has them.

    Samples after the first are left out, and so are judgments of other texts than the pairs' present ones,
    with notes. Raises `InputError`.
    """
    folder = VerdictFolder(path)
    pairs = folder.pairs()
    known = {pair.id for pair in pairs}
    others = 0
    for judgment in folder.judgments():
        if judgment.get("pair") not in known:
            raise InputError(
                f"has a judgment of an unknown pair {judgment.get('pair')!r:.80}",
                path=folder.path / JUDGMENTS,
            )
        others += bool(judgment.get("sample", 0))
    last = {(each["pair"], each["order"]): each for each in folder.present_judgments()}
    humans = folder.path / HUMANS
    rows = read_humans(humans, known).rows() if humans.is_file() else []
    counts = f"{counted(others, 'judgment')} of further samples {plural(others, 'was', 'were')}"
    notes = [f"{counts} left out"] if others else []
    notes += replace(folder.read()[1], unbound=0).notes()  # files of others bind nothing to texts
    return Imported(pairs, list(last.values()), rows, tuple(notes))
