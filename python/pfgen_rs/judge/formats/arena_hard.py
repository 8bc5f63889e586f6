"""Arena-Hard's judgments: two games a question against a baseline, each with one of five levels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.lines import optional_text_field, text_field
from pfgen_rs.io.records import choice
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Imported, Texts, question_id
from pfgen_rs.judge.verdicts import Letter

LEVELS: Mapping[str, Letter] = {"A>>B": "A", "A>B": "A", "A=B": "C", "B>A": "B", "B>>A": "B"}
"""The five levels, as shown, and their letters."""


@judge_format(
    "arena-hard",
    files="`model_judgment/JUDGE/*.jsonl`, with questions and answers for the texts",
    verdicts="`A>>B` and `A>B`: A, `A=B`: C; the judgment keeps its `level`",
    pair_id="`QUESTION:BASELINE:MODEL`",
    example={
        "question_id": "q",
        "model": "m",
        "judge": "gpt-4",
        "games": [
            {"user_prompt": "…", "judgment": "[[B>>A]]", "score": "B>>A"},
            {"user_prompt": "…", "judgment": "[[A>B]]", "score": "A>B"},
        ],
    },
    recognises=lambda record: isinstance(record.get("games"), list),
)
def read_arena_hard(paths: Sequence[Path]) -> Imported:
    """Read `model_judgment/JUDGE/MODEL.jsonl`, with files of questions and answers for the texts.

    The first game shows the baseline first. A file without `baseline` has a baseline of that name. Raises
    `InputError`.
    """
    found, texts = Imported("arena-hard"), Texts(paths)
    for place, record in texts.others:
        with place:
            _add_record(found, texts, record)
    found.notes += texts.notes()
    return found


def _add_record(found: Imported, texts: Texts, record: dict[str, Any]) -> None:
    question = question_id(record)
    baseline = text_field(record, "baseline") if "baseline" in record else "baseline"
    models, task = (baseline, text_field(record, "model")), optional_text_field(record, "category")
    pair = texts.pair(question, models, task=task)
    found.add_pair(pair)
    judge, games = text_field(record, "judge"), record.get("games")
    if not isinstance(games, list) or not 1 <= len(games) <= 2:
        raise InputError("'games' must be a list of one or two games")
    for order, game in enumerate(games, 1):
        if game is None:
            continue
        if not isinstance(game, dict):
            raise InputError("'games' must contain objects only")
        shown, said = choice(game, "score", {**LEVELS, None: None}), game.get("judgment")
        output = said.get("answer") if isinstance(said, dict) else said
        found.add_judgment(pair, order, judge, shown, output=output, level=game.get("score"))
