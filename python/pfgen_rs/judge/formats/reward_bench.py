"""RewardBench 2: prompts with correct and wrong completions, as pairs of one of each."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io import json_lines, lines
from pfgen_rs.judge import Pair
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Imported, records
from pfgen_rs.judge.verdicts import Letter

_TIES = "Ties"
_Side = tuple[str, str, str]
"""Name for the pair's id, model, and text of an answer."""


@judge_format(
    "reward-bench-2",
    files="the data set as Parquet or JSON lines; gold: what is `chosen`",
    verdicts="none",
    pair_id="`ID:CHOSEN:REJECTED`, numbers from 1; `ID:CHOSEN=CHOSEN` in `Ties`",
    example={
        "id": "1",
        "prompt": "何ですか？",
        "chosen": ["甲"],
        "rejected": ["乙"],
        "subset": "Factuality",
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
            question = lines.text_field(record, "prompt")
            for joint, sides, is_tie in _meetings(record, is_tied=subset == _TIES):
                turned = numbers[subset] % 2 == 1
                numbers[subset] += 1
                (one, model, answer), (two, other, text) = sides
                gold: Letter = "C" if is_tie else "B" if turned else "A"
                pair_id = f"{name}:{one}{joint}{two}"
                if pair_id in found.pairs:
                    raise InputError(f"second record of {name!r:.80}")
                found.add_pair(
                    Pair(
                        id=pair_id,
                        question=question,
                        models=(other, model) if turned else (model, other),
                        answers=(text, answer) if turned else (answer, text),
                        question_id=name,
                        task=subset,
                        gold=(gold,),
                    )
                )
    return found


def _meetings(
    record: dict[str, Any], *, is_tied: bool
) -> Iterator[tuple[str, tuple[_Side, _Side], bool]]:
    """Yield pairs of answers, and whether they are equally good."""
    chosen, rejected = _texts(record, "chosen"), _texts(record, "rejected")
    named = record.get("models")
    names = [f"chosen {n}" for n in range(1, len(chosen) + 1)]
    names += [f"rejected {n}" for n in range(1, len(rejected) + 1)]
    if isinstance(named, list) and len(named) == len(names) and all(type(x) is str for x in named):
        names = named
    sides = [(str(n), *side) for n, side in enumerate(zip(names, chosen, strict=False), 1)]
    wrong = zip(names[len(chosen) :], rejected, strict=True)
    for each in product(sides, [(str(n), *side) for n, side in enumerate(wrong, 1)]):
        yield ":", each, False
    for each in pairwise(sides) if is_tied else ():
        yield "=", each, True


def _texts(record: dict[str, Any], key: str) -> list[str]:
    value = record.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(x, str) for x in value):
        raise InputError(f"{key!r} must be a list of texts")
    return value
