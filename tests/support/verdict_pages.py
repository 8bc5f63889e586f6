"""Folders of verdicts with one pair of every kind, and pairs whose every text attacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pfgen_rs.judge.pairs import Pair, write_pairs
from pfgen_rs.judge.requests import imported_digest
from pfgen_rs.judge.verdicts import LETTERS
from site_samples import HOSTILE

MODELS = ("org/alpha", "org/beta", "org/gamma")
TASKS = ("要約", "校正", None)
# Letters in order 1 and in order 2 (swapped back), `-` for an invalid verdict, `.` for none.
KINDS = ("AA", "AB", "BA", "AC", "CC", "B-", "--", "A.", "..", "BB")
_SWAPPED = {"A": "B", "B": "A", "C": "C"}


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
    rest = {
        other: (0.95 - high) * share for other, share in zip("ABC", (0.5, 0.3, 0.2), strict=True)
    }
    return {**rest, letter: high}


def write_verdict_folder(
    folder: Path, pairs: list[Pair], *, model: str = "judge", shift: int = 0, logprobs: bool = True
) -> Path:
    """A folder of verdicts: pair i has those of `KINDS[i + shift]`."""
    folder.mkdir(parents=True)
    write_pairs(folder / "pairs.jsonl", pairs)
    judge = {"engine": "made-up", "model": model}
    config = {"kind": "pairwise", "judge": judge, "prompt": {"name": "reason"}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    records = [
        record
        for i, pair in enumerate(pairs)
        for order, letter in enumerate(KINDS[(i + shift) % len(KINDS)], 1)
        if (record := _judgment(pair, i, order, letter, model, logprobs=logprobs))
    ]
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (folder / "judgments.jsonl").write_text(text, encoding="utf-8", errors="surrogatepass")
    return folder


def _judgment(
    pair: Pair, i: int, order: int, letter: str, model: str, *, logprobs: bool
) -> dict[str, Any] | None:
    if letter == ".":
        return None
    known = letter in LETTERS
    shown = (letter if order == 1 else _SWAPPED[letter]) if known else None
    return {
        "pair": pair.id,
        "order": order,
        "sample": 0,
        "digest": imported_digest("made-up", model, pair, order),
        "output": f"理由{i}の{order}\n{shown}",
        "finish_reason": "stop",
        "shown": shown,
        "probabilities": probabilities_of(shown, i + order) if shown and logprobs else None,
        "problem": None if known else "no verdict found",
    }


def write_human_verdicts(path: Path, pairs: list[Pair]) -> Path:
    """Verdicts of three raters: unanimous, two to one, split, and none, in turn."""
    said = ("AAA", "ABA", "ABC", "---", "BBC", "CC-", "BAB")
    lines = [
        json.dumps({"id": pair.id, "rater": f"rater {n}", "verdict": letter})
        for i, pair in enumerate(pairs)
        for n, letter in enumerate(said[i % len(said)])
        if letter != "-"
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


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
    place = write_verdict_folder(folder / "verdicts", pairs, model=HOSTILE[1])
    records = [json.loads(line) for line in (place / "judgments.jsonl").read_bytes().splitlines()]
    ids = {pair.id: pair.question for pair in pairs}
    for record in records:
        record["output"] = f"{ids[record['pair']]} [[A]]"
        record["problem"] = record["problem"] and HOSTILE[0]
    text = "".join(json.dumps(record, ensure_ascii=True) + "\n" for record in records)
    (place / "judgments.jsonl").write_text(text, encoding="utf-8")
    humans = folder / "humans.jsonl"
    lines = [
        json.dumps({"id": pair.id, "rater": rater, "verdict": "B"})
        for pair in pairs
        for rater in (HOSTILE[3], HOSTILE[5])
    ]
    humans.write_text("\n".join(lines), encoding="utf-8")
    return place, humans
