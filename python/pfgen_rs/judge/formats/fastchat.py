"""FastChat's pairwise judgments (`gpt-4_pair.jsonl`): winners of two games; texts are in other files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.json_lines import id_field, texts_field
from pfgen_rs.io.lines import text_field
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Collector, Imported
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.records import (
    Place,
    Texts,
    all_records,
    iso_time,
    unix_time,
    write_lines,
    written_id,
)
from pfgen_rs.judge.tokens import Letter

_TURN = ":turn-"
_SHOWN: Mapping[int, Mapping[str, Letter]] = {
    1: {"model_1": "A", "model_2": "B", "tie": "C"},
    2: {"model_1": "B", "model_2": "A", "tie": "C"},
}
"""Winners are models; letters speak of what was shown first, which is model_2 in the second game."""
_FAILED = "error"


def write_fastchat(path: Path, imported: Imported) -> int:
    """Write judgments as JSON lines, without texts and probabilities. Raises `OutputError`."""
    return write_lines(path, _written_records(imported))


def _written_records(imported: Imported) -> Iterator[dict[str, Any]]:
    by_pair = imported.by_pair()
    for pair in imported.pairs:
        judgments = by_pair[pair.id]
        if judgments:
            yield {
                "question_id": written_id(pair.question_id),
                "model_1": pair.models[0],
                "model_2": pair.models[1],
                **_written_games(judgments),
                "judge": [judgments[0]["judge"]["model"], judgments[0]["prompt"]],
                "turn": 2 if pair.id.endswith(f"{_TURN}2") else 1,
            }


@judge_format(
    "fastchat",
    files="`gpt-4_pair.jsonl`, with `question.jsonl`, `model_answer/` and `reference_answer/` for the texts",
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
    write=write_fastchat,
)
def read_fastchat(paths: Sequence[Path]) -> Imported:
    """Read pairwise judgments, with `question.jsonl` and `model_answer/*.jsonl` for the texts.

    The id of a pair is `QUESTION:MODEL_1:MODEL_2`, with `:turn-2` for second turns, whose texts are those of
    both turns. Without files of questions and answers the texts are empty, and a note says so. Raises
    `InputError`.
    """
    found, texts = Collector("fastchat"), Texts()
    judgments = [(p, each) for p, each in all_records(paths) if not _took_text(texts, p, each)]
    for place, record in judgments:
        with place:
            _add_record(found, texts, record)
    return found.imported(*texts.note())


def _took_text(texts: Texts, place: Place, record: Mapping[str, Any]) -> bool:
    with place:
        if "score" in record and "model" in record and "g1_winner" not in record:
            raise InputError(
                "is a rating of one answer, not of a pair: use 'pfgen-rs judge dialogues'"
            )
        return texts.take(place, record)


def _add_record(found: Collector, texts: Texts, record: dict[str, Any]) -> None:
    question = id_field(record, "question_id")
    models = (text_field(record, "model_1"), text_field(record, "model_2"))
    turn = record.get("turn", 1)
    if type(turn) is not int or turn not in (1, 2):
        raise InputError(f"invalid 'turn' {turn!r:.40}: expected 1 or 2")
    pair = Pair(
        id=":".join((question, *models)) + (f"{_TURN}{turn}" if turn > 1 else ""),
        question=texts.question(question, turn),
        models=models,
        answers=(
            texts.answer(question, models[0], turn),
            texts.answer(question, models[1], turn),
        ),
        question_id=question,
        task=texts.categories.get(question),
        reference=texts.reference(question, turn),
    )
    found.add_pair(pair)
    judge, prompt = _judge_of(record)
    _add_games(found, pair, record, judge, prompt)


def _judge_of(record: Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(record.get("judge"), str):
        return str(record["judge"]), ""
    judge, prompt = texts_field(record, "judge", 2)
    return judge, prompt


def _add_games(
    found: Collector, pair: Pair, record: Mapping[str, Any], judge: str, prompt: str
) -> None:
    """Add the judgments of both games; a game without winner and text was not played."""
    for order in (1, 2):
        winner, text = record.get(f"g{order}_winner"), record.get(f"g{order}_judgment")
        if winner == _FAILED and text is None:
            continue
        shown = _winner_shown(record, order)
        found.add_judgment(
            pair,
            order,
            judge,
            shown,
            prompt=prompt,
            output=text if isinstance(text, str) else "",
            timestamp=iso_time(record.get("tstamp")),
            problem="the winner is 'error'",
        )


def _winner_shown(record: Mapping[str, Any], order: int) -> Letter | None:
    winner = record.get(f"g{order}_winner")
    if winner == _FAILED:
        return None
    shown = _SHOWN[order].get(winner) if isinstance(winner, str) else None
    if shown is None:
        raise InputError(
            f"invalid 'g{order}_winner' {winner!r:.40}: expected model_1, model_2, tie or error"
        )
    return shown


def _written_games(judgments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns winners and texts of both games, and the time of the last one."""
    orders = {each["order"]: each for each in judgments}
    fields: dict[str, Any] = {}
    for order in (1, 2):
        judgment = orders.get(order)
        winners = {letter: winner for winner, letter in _SHOWN[order].items()}
        fields[f"g{order}_winner"] = (
            winners.get(judgment["shown"], _FAILED) if judgment else _FAILED
        )
        fields[f"g{order}_judgment"] = judgment["output"] if judgment else None
    last = max((each["timestamp"] or "" for each in judgments), default="")
    return fields | {"tstamp": unix_time(last)}
