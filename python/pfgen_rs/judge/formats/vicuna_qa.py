"""Pairwise judgments of Japanese Vicuna QA: JSON lines with question and answers in every record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.io.json_lines import id_field
from pfgen_rs.io.records import text_field
from pfgen_rs.judge.formats.imported import Collector, Imported
from pfgen_rs.judge.formats.places import all_records, write_lines
from pfgen_rs.judge.formats.two_games import add_games, id_value, written_games
from pfgen_rs.judge.pairs import Pair

__all__ = ["read_vicuna_qa", "recognised_vicuna_qa", "write_vicuna_qa"]

NAME = "vicuna-qa"


def recognised_vicuna_qa(record: Mapping[str, Any]) -> bool:
    """Whether a record is a judgment of this format."""
    return {"g1_winner", "model_1", "answer_1"} <= record.keys()


def read_vicuna_qa(paths: Sequence[Path]) -> Imported:
    """Read pairwise files, and `question.jsonl` for the tasks (categories) if it is among them.

    The id of a pair is `QUESTION:MODEL_1:MODEL_2`. `g1` shows model 1 first, `g2` model 2. Raises
    `InputError`.
    """
    found = Collector(NAME)
    listed = list(all_records(paths))
    tasks: dict[str, str] = {}
    for place, record in listed:
        with place:
            if "category" in record and "turns" in record:
                tasks[id_field(record, "question_id")] = text_field(record, "category")
    for place, record in listed:
        with place:
            if "turns" not in record:
                _add_vicuna_record(found, record, tasks)
    return found.imported()


def _add_vicuna_record(found: Collector, record: dict[str, Any], tasks: Mapping[str, str]) -> None:
    question_id = id_field(record, "question_id")
    models = (text_field(record, "model_1"), text_field(record, "model_2"))
    pair = Pair(
        id=":".join((question_id, *models)),
        question=text_field(record, "question"),
        models=models,
        answers=(text_field(record, "answer_1"), text_field(record, "answer_2")),
        question_id=question_id,
        task=tasks.get(question_id),
    )
    found.add_pair(pair)
    judge, prompt = text_field(record, "judge_model"), text_field(record, "judge_prompt")
    add_games(found, pair, record, judge, prompt)


def write_vicuna_qa(path: Path, imported: Imported) -> int:
    """Write the judgments of one judge as JSON lines; probabilities are left out. Raises `OutputError`."""
    by_pair = imported.by_pair()
    return write_lines(
        path,
        (
            {
                "model_1": pair.models[0],
                "model_2": pair.models[1],
                "question_id": id_value(pair.question_id),
                "question": pair.question,
                "answer_1": pair.answers[0],
                "answer_2": pair.answers[1],
                **written_games(by_pair[pair.id]),
                "judge_model": by_pair[pair.id][0]["judge"]["model"],
                "judge_prompt": by_pair[pair.id][0]["prompt"],
            }
            for pair in imported.pairs
            if by_pair[pair.id]
        ),
    )
