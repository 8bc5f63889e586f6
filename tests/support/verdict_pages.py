"""Folders of verdicts with one pair of every kind, and pairs whose every text attacks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pfgen_rs.judge.imported import Imported, write_folder
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.verdicts import SWAPPED
from site_samples import HOSTILE

MODELS = ("org/alpha", "org/beta", "org/gamma")
TASKS = ("要約", "校正", None)
# Letters in order 1 and in order 2 (swapped back), `-` for an invalid verdict, `.` for none.
KINDS = ("AA", "AB", "BA", "AC", "CC", "B-", "--", "A.", "..", "BB")


def made_verdict_pairs(count: int) -> list[Pair]:
    """Pairs of three models; every second pair shares its question with the one before."""
    return [
        Pair(
            id=f"p{i:03}",
            question=f"質問{i // 2}\n二行目",
            models=(MODELS[i % 3], MODELS[(i + 1 + i % 2) % 3]),
            answers=(f"回答{i}甲\n\t字下げ", f"回答{i}乙" + "長" * (i % 7)),
            question_id=f"q{i // 2}",
            task=TASKS[i % 3],
            reference=f"模範{i // 2}" if i % 2 else None,
            criteria=f"観点{i // 2}",
        )
        for i in range(count)
    ]


def probabilities_of(letter: str, i: int) -> dict[str, float]:
    """Probabilities whose largest is that of the letter, different for each pair."""
    high = 0.5 + (i % 40) / 100
    rest = {each: (0.95 - high) * share for each, share in zip("ABC", (0.5, 0.3, 0.2), strict=True)}
    return {**rest, letter: high}


def write_verdict_folder(
    folder: Path,
    pairs: list[Pair],
    *,
    model: str = "judge",
    shift: int = 0,
    logprobs: bool = True,
    hostile: bool = False,
) -> Path:
    """A folder of verdicts: pair i has those of `KINDS[i + shift]`."""
    made = Imported("made-up")
    for i, pair in enumerate(pairs):
        made.add_pair(pair)
        for order, letter in enumerate(KINDS[(i + shift) % len(KINDS)], 1):
            shown: Any = {"-": None, "B": "B", "A": "A", "C": "C"}.get(letter)
            shown = SWAPPED[shown] if shown and order == 2 else shown
            if letter != ".":
                made.add_judgment(
                    *(pair, order, model, shown),
                    prompt="reason",
                    output=f"{pair.question} [[A]]" if hostile else f"理由{i}の{order}\n{shown}",
                    problem=(HOSTILE[0], "constructor")[order - 1]
                    if hostile
                    else "no verdict found",
                    probabilities=probabilities_of(shown, i + order)
                    if shown and logprobs
                    else None,
                )
    write_folder(folder, made)
    return folder


def write_sampled_folder(folder: Path, pairs: list[Pair]) -> Path:
    """A folder of three samples an order, letters as shown in their outputs; the third pair's agree."""
    made = Imported("made-up")
    for i, pair in enumerate(pairs):
        made.add_pair(pair)
        for order in (1, 2):
            for sample, shown in enumerate("CCC" if i == 2 else "BA-"):
                output = f"{pair.id} {order} {sample} {shown}"
                letter: Any = None if shown == "-" else shown
                made.add_judgment(
                    pair, order, "judge", letter, prompt="reason", output=output, sample=sample
                )
    write_folder(folder, made)
    return folder


def write_humans(path: Path, said: Iterable[tuple[str, str, str]]) -> Path:
    """Verdicts of people: pair, rater and letter."""
    names = ("id", "rater", "verdict")
    lines = [json.dumps(dict(zip(names, each, strict=True))) + "\n" for each in said]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_human_verdicts(path: Path, pairs: list[Pair]) -> Path:
    """Verdicts of three raters: unanimous, two to one, split, and none, in turn."""
    said = ("AAA", "ABA", "ABC", "---", "BBC", "CC-", "BAB")
    everything = (
        (pair.id, f"rater {n}", letter)
        for i, pair in enumerate(pairs)
        for n, letter in enumerate(said[i % len(said)])
    )
    return write_humans(path, (each for each in everything if each[2] != "-"))


def write_hostile_verdicts(folder: Path) -> tuple[Path, Path]:
    """A folder of verdicts and a file of human verdicts whose every text attacks."""
    pairs = [
        Pair(
            id=f"{i}{text[:200]}",
            question=text,
            models=(f"m{text[:300]}", f"n{text[:300]}"),
            answers=(text, f"{text}!"),
            task=text[:100],
            reference=text,
            criteria=text,
        )
        for i, text in enumerate(HOSTILE)
    ]
    place = write_verdict_folder(folder / "verdicts", pairs, model=HOSTILE[1], hostile=True)
    raters = (HOSTILE[3], HOSTILE[5])
    humans = write_humans(
        folder / "humans.jsonl", ((pair.id, rater, "B") for pair in pairs for rater in raters)
    )
    return place, humans
