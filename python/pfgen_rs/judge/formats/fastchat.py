"""FastChat's pairwise judgments (`gpt-4_pair.jsonl`): winners of two games; texts are in other files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.json_lines import id_field, texts_field
from pfgen_rs.io.records import text_field
from pfgen_rs.judge.formats.imported import Collector, Imported
from pfgen_rs.judge.formats.places import Place, all_records, write_lines
from pfgen_rs.judge.formats.texts import Texts
from pfgen_rs.judge.formats.two_games import add_games, id_value, written_games
from pfgen_rs.judge.pairs import Pair

__all__ = ["read_fastchat", "recognised_fastchat", "write_fastchat"]

NAME = "fastchat"
_TURN = ":turn-"


def recognised_fastchat(record: Mapping[str, Any]) -> bool:
    """Whether a record is a pairwise judgment of this format."""
    return {"g1_winner", "model_1"} <= record.keys() and "answer_1" not in record


def read_fastchat(paths: Sequence[Path]) -> Imported:
    """Read pairwise judgments, with `question.jsonl` and `model_answer/*.jsonl` for the texts.

    The id of a pair is `QUESTION:MODEL_1:MODEL_2`, with `:turn-2` for second turns, whose texts are those of
    both turns. Without files of questions and answers the texts are empty, and a note says so. Raises
    `InputError`.
    """
    found, texts = Collector(NAME), Texts()
    judgments = [(p, each) for p, each in all_records(paths) if not _took_text(texts, p, each)]
    for place, record in judgments:
        with place:
            _add_fastchat_record(found, texts, record)
    return found.imported(*texts.note())


def _took_text(texts: Texts, place: Place, record: Mapping[str, Any]) -> bool:
    with place:
        if "score" in record and "model" in record and "g1_winner" not in record:
            raise InputError(
                "is a rating of one answer, not of a pair: use 'pfgen-rs judge dialogues'"
            )
        return texts.take(place, record)


def _add_fastchat_record(found: Collector, texts: Texts, record: dict[str, Any]) -> None:
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
    add_games(found, pair, record, judge, prompt)


def _judge_of(record: Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(record.get("judge"), str):
        return str(record["judge"]), ""
    judge, prompt = texts_field(record, "judge", 2)
    return judge, prompt


def write_fastchat(path: Path, imported: Imported) -> int:
    """Write judgments as JSON lines, without texts and probabilities. Raises `OutputError`."""
    return write_lines(path, _fastchat_records(imported))


def _fastchat_records(imported: Imported) -> Iterator[dict[str, Any]]:
    by_pair = imported.by_pair()
    for pair in imported.pairs:
        judgments = by_pair[pair.id]
        if judgments:
            yield {
                "question_id": id_value(pair.question_id),
                "model_1": pair.models[0],
                "model_2": pair.models[1],
                **written_games(judgments),
                "judge": [judgments[0]["judge"]["model"], judgments[0]["prompt"]],
                "turn": 2 if pair.id.endswith(f"{_TURN}2") else 1,
            }
