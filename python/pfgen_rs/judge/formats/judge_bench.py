"""JudgeBench: pairs of responses of which one is right, and what judges decided in one or two orders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io import json_lines, lines
from pfgen_rs.judge import Pair
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.formats.arena_hard import LEVELS
from pfgen_rs.judge.imported import Imported, records


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
        "judgments": [
            {"judgment": {"judge_model": "m", "response": "[[A]]"}, "decision": "A>B"},
            {"judgment": {"judge_model": "m", "response": "[[B]]"}, "decision": "B>A"},
        ],
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
            source, model = (lines.text_field(record, key) for key in ("source", "response_model"))
            label = record.get("label")
            if not isinstance(label, str) or label not in LEVELS:
                raise InputError(f"invalid 'label' {label!r:.40}: expected A>B, B>A or A=B")
            pair = Pair(
                id=json_lines.id_field(record, "pair_id"),
                question=lines.text_field(record, "question"),
                models=(f"{model} (A)", f"{model} (B)"),
                answers=(
                    lines.text_field(record, "response_A"),
                    lines.text_field(record, "response_B"),
                ),
                question_id=f"{source}/{json_lines.id_field(record, 'original_id')}",
                task=source,
                gold=(LEVELS[label],),
            )
            found.add_pair(pair)
            if not {"judge_name", "judgments"}.isdisjoint(record):
                _add_judgments(found, pair, record)
    return found


def _add_judgments(found: Imported, pair: Pair, record: Mapping[str, Any]) -> None:
    name, games = lines.text_field(record, "judge_name"), record.get("judgments")
    if not isinstance(games, list) or not 1 <= len(games) <= 2:
        raise InputError("'judgments' must be a list of one or two objects")
    said = [game.get("judgment") if isinstance(game, dict) else None for game in games]
    models = [
        each["judge_model"] for each in said if isinstance(each, dict) and "judge_model" in each
    ]
    if not models or not all(isinstance(model, str) and model == models[0] for model in models):
        raise InputError("'judgments' must name one 'judge_model'")
    for order, (game, each) in enumerate(zip(games, said, strict=True), 1):
        decision = game.get("decision") if isinstance(game, dict) else game
        if decision is not None and (not isinstance(decision, str) or decision not in LEVELS):
            raise InputError(f"invalid 'decision' {decision!r:.40}: expected A>B, B>A, A=B or null")
        shown = None if decision is None else LEVELS[decision]
        output = each.get("response") if isinstance(each, dict) else None
        found.add_judgment(pair, order, f"{models[0]}/{name}", shown, output=output)
