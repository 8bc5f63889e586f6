"""FastChat's pairwise judgments (`gpt-4_pair.jsonl`): winners of two games; texts are in other files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io import json_lines, lines
from pfgen_rs.io.records import choice
from pfgen_rs.judge import Pair, imported, verdicts
from pfgen_rs.judge.formats import judge_format

_SHOWN: Mapping[int, Mapping[str, verdicts.Letter | None]] = {
    1: {"model_1": "A", "model_2": "B", "tie": "C", "error": None},
    2: {"model_1": "B", "model_2": "A", "tie": "C", "error": None},
}
"""Winners are models; letters speak of what was shown first, which is model_2 in the second game."""
_FAILED = "error"


@judge_format(
    "fastchat",
    files="`gpt-4_pair.jsonl`, with `question.jsonl`, `model_answer/` and `reference_answer/` for the texts, "
    "or Japanese Vicuna QA's `pairwise_*.jsonl`, which have them",
    verdicts='`g1_winner`: model 1 was shown first; `g2_winner`: model 2; "error" is invalid',
    pair_id="`QUESTION:MODEL_1:MODEL_2`, second turns with `:turn-2`",
    example={
        "question_id": 11,
        "model_1": "m1",
        "model_2": "m2",
        "g1_winner": "model_1",
        "g2_winner": "model_1",
        "g1_judgment": "[[A]]",
        "g2_judgment": "[[B]]",
        "judge": ["gpt-4", "pair-v2"],
        "turn": 1,
        "tstamp": 1702887286.5,
    },
    recognises=lambda record: {"g1_winner", "model_1"} <= record.keys(),
)
def read_fastchat(paths: Sequence[Path]) -> imported.Imported:
    """Read pairwise judgments, with `question.jsonl` and `model_answer/*.jsonl` for texts that they lack.

    The id of a pair is `QUESTION:MODEL_1:MODEL_2`, with `:turn-2` for second turns, whose texts are those of
    both turns. Without files of questions and answers the texts are empty, and a note says so. Raises
    `InputError`.
    """
    found, texts, lacking = imported.Imported("fastchat"), imported.Texts(paths), False
    for place, record in texts.others:
        with place:
            if "score" in record and "model" in record and "g1_winner" not in record:
                raise InputError(
                    "is a rating of one answer, not of a pair: use 'pfgen-rs judge dialogues'"
                )
            question = json_lines.id_field(record, "question_id")
            models = (lines.text_field(record, "model_1"), lines.text_field(record, "model_2"))
            turn = choice({"turn": 1, **record}, "turn", {1: 1, 2: 2})
            pair = texts.pair(question, models, turn)
            if has_texts := {"question", "answer_1", "answer_2"} <= record.keys():
                asked, one, other = (
                    lines.text_field(record, key) for key in ("question", "answer_1", "answer_2")
                )
                pair = replace(pair, question=asked, answers=(one, other))
            lacking |= not has_texts
            found.add_pair(pair)
            _add_games(found, pair, record)
    found.notes += texts.notes() if lacking else []
    return found


def _add_games(found: imported.Imported, pair: Pair, record: Mapping[str, Any]) -> None:
    """Add the judgments of both games; a game without winner and text was not played."""
    if "judge_model" in record:
        judge, prompt = (lines.text_field(record, key) for key in ("judge_model", "judge_prompt"))
    elif isinstance(record.get("judge"), str):
        judge, prompt = record["judge"], ""
    else:
        judge, prompt = json_lines.texts_field(record, "judge", 2)
    for order in (1, 2):
        winner, text = record.get(f"g{order}_winner"), record.get(f"g{order}_judgment")
        if winner == _FAILED and text is None:
            continue
        shown = choice(record, f"g{order}_winner", _SHOWN[order])
        found.add_judgment(
            pair,
            order,
            judge,
            shown,
            prompt=prompt,
            output=text,
            timestamp=_iso_time(record.get("tstamp")),
            problem="the winner is 'error'",
        )


def _iso_time(seconds: Any) -> str | None:
    """Returns a time in seconds since 1970 as ISO 8601, `None` for anything else."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (TypeError, OverflowError, OSError, ValueError):
        return None
