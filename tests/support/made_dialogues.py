"""Dialogue records with made-up texts and scores."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pfgen_rs.judge.dialogues.records import Dialogue, Fields, _parsed_dialogue

CATEGORIES = ("human", "roleplay", "writing", "STEM", "reasoning")
TYPES = ("same", "free")
HUMAN = "human"
AUTHORS = ("calm", "llm-jp", HUMAN)


def made_dialogue(dialogue_id: str | int, **changes: Any) -> dict[str, Any]:
    """A valid record, with changes."""
    return {
        "id": dialogue_id,
        "category": "STEM",
        "turn2_type": "same",
        "turns": ["空はなぜ青いのですか。", "光が散乱するからです。", "夕焼けはなぜ赤いのですか。"],
        "author1": "calm",
        "human1": [3, 4],
        "gpt1": 4,
        "answers2": [
            {"author": "calm", "text": "遠回りするからです。", "human": [2, 3], "gpt": 3},
            {"author": HUMAN, "text": "青い光が途中で散るからです。", "human": [5, 4], "gpt": None},
        ],
        **changes,
    }


def made_set(
    each: int = 40, seed: int = 1, *, unscored: int = 0, longest: int = 30
) -> list[dict[str, Any]]:
    """A set of `each` dialogues of every category and type, and `unscored` more of each without human scores.

    Each first answer stands in two dialogues, one of either type. Scores are one to five, so many are equal.
    """
    draw = random.Random(seed)
    found = []
    number = 0
    for category in CATEGORIES:
        for place in range(each + unscored):
            author = draw.choice(AUTHORS)
            first = "答" * draw.randint(1, longest)
            human1, gpt1 = [draw.randint(1, 5), draw.randint(1, 5)], draw.randint(1, 5)
            for kind in TYPES:
                answers = [
                    {
                        "author": name,
                        "human": [] if place >= each else [draw.randint(1, 5) for _ in range(2)],
                        "gpt": draw.choice([None, 1, 2, 3, 4, 5]),
                        "text": "文" * draw.randint(1, longest),
                    }
                    for name in AUTHORS
                ]
                number += 1
                found.append(
                    made_dialogue(
                        f"d{number}",
                        category=category,
                        turn2_type=kind,
                        turns=[f"{category}の質問{place}", first, f"{kind}の続き"],
                        author1=author,
                        human1=human1,
                        gpt1=gpt1,
                        answers2=answers,
                    )
                )
    draw.shuffle(found)
    return found


def rating(**changes: Any) -> dict[str, Any]:
    """A judgment in FastChat's format, with changes."""
    return {"question_id": 1, "model": "m", "judge": ["j", "p"], "turn": 1, "score": 5, **changes}


def dialogues_of(records: Iterable[dict[str, Any]]) -> list[Dialogue]:
    """The records, read."""
    return [_parsed_dialogue(record, Fields(), b"") for record in records]


def write_json_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    """The records as JSON lines, spaced as json does it."""
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text("".join(lines), encoding="utf-8")
    return path
