"""Records of Position-Bias-Analyzer: TSV, a row a judgment, repetitions in files of their own."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.judge import Pair
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Imported, records
from pfgen_rs.judge.verdicts import read_verdict_text

_KNOWN = re.compile(
    r"(question|reference_answer|answer[12])(_[12])?|cmp_index|A|B|evaluating_guidance|task|extracted.*"
)
_CHOICE = re.compile(r"(?:Choice:|选择：) *(?:\[\[)?([ABC])\b")
_REPETITION = re.compile(r"Repetition([1-9]\d*)-")
_DERIVED = {"consistent_cmp.tsv", "inconsistent_cmp.tsv"}


@judge_format(
    "position-bias",
    files="`record_*.tsv`, in folders or files `RepetitionN-…` for repetitions; no gold",
    verdicts="`Choice: A` or `[[A]]` in the judge's column, as shown; without one: invalid",
    pair_id="`ID:MODEL_1:MODEL_2`, with `ID` of `cmp_index`; the models as they occur first",
    example={
        "cmp_index": "q1;m1;m2",
        "A": "m1",
        "B": "m2",
        "question": "何ですか？",
        "answer1": "甲",
        "answer2": "乙",
        "gpt-4": "Choice: A",
    },
    recognises=lambda record: {"cmp_index", "A", "B"} <= record.keys(),
)
def read_position_bias(paths: Sequence[Path]) -> Imported:
    """Read records, of which each shows the answer of its model `A` first.

    The number of a repetition makes that of a sample. Rows in which a model meets itself are left out, and so
    are files that the tool derives from records. Raises `InputError`.
    """
    found, sides = Imported("position-bias"), dict[tuple[str, ...], tuple[str, str]]()
    itself = 0
    for place, record in records([path for path in paths if path.name not in _DERIVED]):
        with place:
            name, *own = str(record.get("cmp_index")).rsplit(";", 2)
            if not name or len(own) < 2 or own != [record.get("A"), record.get("B")]:
                raise InputError("'cmp_index' must be ID;A;B, with the models in A and B")
            models = sides.setdefault((name, *sorted(own)), (own[0], own[1]))
            if models[0] == models[1]:
                itself += 1
                continue
            answers, order = (_text(record, "answer1"), _text(record, "answer2")), 1
            if models[0] != own[0]:
                answers, order = answers[::-1], 2
            task, criteria = (record.get(key) or None for key in ("task", "evaluating_guidance"))
            reference = _text({"reference_answer": "", **record}, "reference_answer") or None
            about = (name, task, reference, criteria)
            pair = Pair(
                ":".join((name, *models)), _text(record, "question"), models, answers, *about
            )
            found.add_pair(pair)
            number = _REPETITION.search("/".join(place.path.parts[-2:]))
            sample = int(number[1]) - 1 if number else 0
            for judge, said in _judged(record):
                choices = _CHOICE.findall(said) or [read_verdict_text(said, "brackets").shown]
                found.add_judgment(pair, order, judge, choices[0], sample=sample, output=said)
    if itself:
        found.notes.append(f"{itself:,} rows left out, in which a model meets itself")
    return found


def _text(record: Mapping[str, Any], key: str) -> str:
    """Returns a text, or those of two turns."""
    parts = [record[each] for each in (key, f"{key}_1", f"{key}_2") if record.get(each) is not None]
    if not parts or not all(isinstance(part, str) for part in parts):
        raise InputError(f"{key!r} (or {key}_1 and {key}_2) must be a text")
    return "\n\n".join(filter(None, parts))


def _judged(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns judges and what they said: the columns that are nothing else."""
    found = [(key, said or "") for key, said in record.items() if not _KNOWN.fullmatch(key)]
    if not found or not all(isinstance(said, str) for _, said in found):
        raise InputError("the judge's column is missing or not text: it is named after the judge")
    return found
