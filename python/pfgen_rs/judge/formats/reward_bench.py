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
            right, wrong = _answers(record)
            games = [(":", *sides) for sides in product(right, wrong)]
            games += [("=", *sides) for sides in pairwise(right)] if subset == _TIES else []
            for joint, (one, *first), (two, *second) in games:
                if (pair_id := f"{name}:{one}{joint}{two}") in found.pairs:
                    raise InputError(f"second record of {name!r:.80}")
                turned = numbers[subset] % 2
                numbers[subset] += 1
                models, answers = zip(
                    *((second, first) if turned else (first, second)), strict=True
                )
                found.add_pair(
                    Pair(
                        pair_id,
                        lines.text_field(record, "prompt"),
                        models,
                        answers,
                        question_id=name,
                        task=subset,
                        gold=("C" if joint == "=" else "AB"[turned],),  # type: ignore[arg-type]
                    )
                )
    return found


def _answers(record: dict[str, Any]) -> list[list[tuple[int, str, str]]]:
    """Returns correct and wrong answers: number, model and text of each."""
    keys, named = ("chosen", "rejected"), record.get("models")
    count = [len(texts) for key in keys if isinstance(texts := record.get(key), list) and texts]
    if len(count) < len(keys):
        raise InputError("'chosen' and 'rejected' must be lists of texts")
    texts = [json_lines.texts_field(record, key, n) for key, n in zip(keys, count, strict=True)]
    models = [
        f"{key} {n}" for key, own in zip(keys, texts, strict=True) for n in range(1, len(own) + 1)
    ]
    if isinstance(named, list) and len(named) == sum(count) and {*map(type, named)} == {str}:
        models = named
    parts = (models[: count[0]], models[count[0] :])
    return [
        [(n, *each) for n, each in enumerate(zip(*part, strict=True), 1)]
        for part in zip(parts, texts, strict=True)
    ]
