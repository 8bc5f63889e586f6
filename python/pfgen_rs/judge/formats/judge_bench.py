"""JudgeBench: pairs of responses of which one is right, and what judges decided in one or two orders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io import json_lines, lines
from pfgen_rs.io.records import choice
from pfgen_rs.judge import Pair
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.formats.arena_hard import LEVELS
from pfgen_rs.judge.imported import Imported, records

_GAME = {"judgment": {"judge_model": "m", "response": "[[A]]"}, "decision": "A>B"}


@judge_format(
    "judgebench",
    files="the data set and `outputs/*.jsonl`; gold: `label`",
    verdicts="`decision` of each of `judgments`, as shown; the second one saw B first",
    pair_id="`pair_id`",
    example={
        "pair_id": "p",
        "original_id": 1,
        "source": "mmlu-pro-law",
        "question": "何ですか？",
        "response_model": "gpt-4o",
        "response_A": "甲",
        "response_B": "乙",
        "label": "A>B",
        "judge_name": "vanilla",
        "judgments": [_GAME, _GAME],
    },
    recognises=lambda record: {"response_A", "response_B", "label"} <= record.keys(),
)
def read_judge_bench(paths: Sequence[Path]) -> Imported:
    """Read the data set and outputs. Judges are called `MODEL/NAME`, with the `judge_name` of their prompt.

    A decision that is null is invalid. Raises `InputError`.
    """
    found = Imported("judgebench")
    for place, record in records(paths):
        with place:
            keys = ("source", "response_model", "question", "response_A", "response_B")
            source, model, question, *answers = (lines.text_field(record, key) for key in keys)
            name, shared = (json_lines.id_field(record, key) for key in ("pair_id", "original_id"))
            models, gold = (f"{model} (A)", f"{model} (B)"), (choice(record, "label", LEVELS),)
            about = {"question_id": f"{source}/{shared}", "task": source}
            pair = Pair(name, question, models, (answers[0], answers[1]), gold=gold, **about)
            found.add_pair(pair)
            if not {"judge_name", "judgments"}.isdisjoint(record):
                _add_judgments(found, pair, record)
    return found


def _add_judgments(found: Imported, pair: Pair, record: Mapping[str, Any]) -> None:
    name, games = lines.text_field(record, "judge_name"), record.get("judgments")
    if not isinstance(games, list) or not 1 <= len(games) <= 2:
        raise InputError("'judgments' must be a list of one or two objects")
    games = [game if isinstance(game, dict) else {} for game in games]
    said = [each if isinstance(each := game.get("judgment"), dict) else {} for game in games]
    judges = [each["judge_model"] for each in said if "judge_model" in each]
    if not judges or not isinstance(judges[0], str) or judges.count(judges[0]) < len(judges):
        raise InputError("'judgments' must name one 'judge_model'")
    for order, (game, each) in enumerate(zip(games, said, strict=True), 1):
        shown, output = choice(game, "decision", {**LEVELS, None: None}), each.get("response")
        found.add_judgment(pair, order, f"{judges[0]}/{name}", shown, output=output)
