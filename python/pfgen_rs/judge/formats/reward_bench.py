"""RewardBench 2: prompts with correct and wrong completions, as pairs of one of each."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io import json_lines, lines
from pfgen_rs.judge import Pair
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Imported, records
from pfgen_rs.judge.verdicts import LETTERS

_TIES = "Ties"


@judge_format(
    "reward-bench-2",
    files="the data set as Parquet or JSON lines; gold: what is `chosen`",
    verdicts="none",
    pair_id="`ID:CHOSEN:REJECTED`, numbers from 1; `ID:CHOSEN=CHOSEN` in `Ties`",
    example={
        "id": "1",
        "prompt": "何ですか？",
        "subset": "Math",
        "chosen": ["甲"],
        "rejected": ["乙"],
    },
    recognises=lambda record: {"prompt", "chosen", "rejected", "subset"} <= record.keys(),
)
def read_reward_bench(paths: Sequence[Path]) -> Imported:
    """Read the data set: every correct answer meets every wrong one.

    Which side is correct alternates within a subset. In `Ties` each correct answer also meets the next one,
    which is a tie (gold C). Raises `InputError`.
    """
    found, numbers = Imported("reward-bench-2"), Counter[str]()
    for place, record in records(paths):
        with place:
            name, subset = json_lines.id_field(record, "id"), lines.text_field(record, "subset")
            question, (right, wrong) = lines.text_field(record, "prompt"), _answers(record)
            games = [(":", *sides) for sides in product(right, wrong)]
            games += [("=", *sides) for sides in pairwise(right)] if subset == _TIES else []
            for joint, (one, model, answer), (two, other, text) in games:
                pair_id, side = f"{name}:{one}{joint}{two}", numbers[subset] % 2
                numbers[subset] += 1
                if pair_id in found.pairs:
                    raise InputError(f"second record of {name!r:.80}")
                models, answers = (model, other), (answer, text)
                if side:
                    models, answers = models[::-1], answers[::-1]
                gold = (LETTERS[2 if joint == "=" else side],)
                pair = Pair(pair_id, question, models, answers, name, subset, gold=gold)
                found.add_pair(pair)
    return found


def _answers(record: dict[str, Any]) -> list[list[tuple[int, str, str]]]:
    """Returns correct and wrong answers: number, model and text of each."""
    texts, named = {key: record.get(key) for key in ("chosen", "rejected")}, record.get("models")
    for key, own in texts.items():
        if not isinstance(own, list) or not own or {*map(type, own)} != {str}:
            raise InputError(f"{key!r} must be a list of texts")
    names = [f"{key} {n}" for key, own in texts.items() for n, _ in enumerate(own or (), 1)]
    if isinstance(named, list) and len(named) == len(names) and {*map(type, named)} == {str}:
        names = named
    rest = iter(names)
    return [[(n, next(rest), x) for n, x in enumerate(own or (), 1)] for own in texts.values()]
