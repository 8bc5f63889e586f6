"""MT-bench's human judgments: a winner a pair and turn, of people or of a model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io import json_lines, lines
from pfgen_rs.io.records import choice
from pfgen_rs.judge import Pair
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Imported, records, said_by
from pfgen_rs.judge.pairs import leading_letters
from pfgen_rs.judge.verdicts import SWAPPED, Letter

_WINNERS: Mapping[str, Letter] = dict(
    zip(("model_a", "model_b", "tie", "tie (inconsistent)"), ("A", "B", "C", "C"), strict=True)
)
_PERSON = re.compile(r"(?:expert|author)_\d+")
_SAID = [{"role": "user", "content": "何？"}, {"role": "assistant", "content": "甲"}]


@judge_format(
    "mt-bench-human",
    files="`human` and `gpt4_pair` as Parquet or JSON lines; gold: the majority of the people",
    verdicts="`winner`; of `expert_N` and `author_N` as those of people",
    pair_id="`QUESTION:MODEL_A:MODEL_B`, second turns with `:turn-2`",
    example={
        "question_id": 81,
        "model_a": "m1",
        "model_b": "m2",
        "winner": "model_a",
        "judge": "gpt4_pair",
        "conversation_a": _SAID,
        "conversation_b": _SAID,
        "turn": 1,
    },
    recognises=lambda record: {"conversation_a", "conversation_b", "winner"} <= record.keys(),
)
def read_mt_bench_human(paths: Sequence[Path]) -> Imported:
    """Read judgments. Those of models are in order 1, since they are winners over both orders.

    Models stand in a pair as they do where it occurs first. Gold letters are those that most people chose,
    all of them where several share the lead. Of several verdicts of a person about a pair, the first counts.
    Raises `InputError`.
    """
    found, sides, again = Imported("mt-bench-human"), dict[str, tuple[str, str]](), 0
    for place, record in records(paths):
        with place:
            pair, is_turned = _pair(record, sides)
            found.add_pair(pair)
            letter, judge = choice(record, "winner", _WINNERS), lines.text_field(record, "judge")
            letter = SWAPPED[letter] if is_turned else letter
            if not _PERSON.fullmatch(judge):
                found.add_judgment(pair, 1, judge, letter)
            else:
                again += (pair.id, judge) in found.humans
                found.humans.setdefault((pair.id, judge), letter)
    votes: dict[str, list[Letter]] = {}
    for (name, _), letter in found.humans.items():
        votes.setdefault(name, []).append(letter)
    for name, letters in votes.items():
        found.pairs[name] = replace(found.pairs[name], gold=leading_letters(letters))
    if again:
        found.notes.append(f"{again:,} verdicts left out of people who had judged the same pair")
    return found


def _pair(record: Mapping[str, Any], sides: dict[str, tuple[str, str]]) -> tuple[Pair, bool]:
    """Returns the pair, and whether the record has its models the other way round."""
    question, turn = (
        json_lines.id_field(record, "question_id"),
        choice(record, "turn", {1: 1, 2: 2}),
    )
    own = (lines.text_field(record, "model_a"), lines.text_field(record, "model_b"))
    models = sides.setdefault(":".join((question, *sorted(own))), own)
    texts = []
    for key in ("conversation_a", "conversation_b"):
        asked, said = (said_by(role, record, key)[:turn] for role in ("user", "assistant"))
        if not len(asked) == len(said) == turn:
            raise InputError(f"{key!r} must have {turn} texts of the user and of the assistant")
        texts.append("\n\n".join(said))
    answers = (texts[0], texts[1]) if own == models else (texts[1], texts[0])
    pair_id = ":".join((question, *models)) + (f":turn-{turn}" if turn > 1 else "")
    return Pair(pair_id, "\n\n".join(asked), models, answers, question), own != models
