"""Records of Position-Bias-Analyzer: TSV, a row a judgment, repetitions in files of their own."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.judge import Pair
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Imported, records
from pfgen_rs.judge.verdicts import Letter, read_verdict_text

_TEXTS = re.compile(r"(?:question|reference_answer)(?:_[12])?|answer[12](?:_[12])?")
_OTHERS = {"cmp_index", "A", "B", "evaluating_guidance", "task"}
_CHOICE = re.compile(r"(?:Choice:|选择：) *(?:\[\[)?([ABC])\b")
_REPETITION = re.compile(r"Repetition(\d+)-")
_DERIVED = {"consistent_cmp.tsv", "inconsistent_cmp.tsv"}
_Record = Mapping[str, Any]


@judge_format(
    "position-bias",
    files="`record_*.tsv`, in folders or files `RepetitionN-…` for repetitions; no gold",
    verdicts="`Choice: A` or `[[A]]` in the judge's column, as shown; without one: invalid",
    pair_id="`ID:MODEL_1:MODEL_2`, with `ID` of `cmp_index`; the models as they occur first",
    example={
        "cmp_index": "q1;m1;m2",
        "question": "何ですか？",
        "answer1": "甲",
        "answer2": "乙",
        "A": "m1",
        "B": "m2",
        "gpt-4": "Choice: A",
    },
    recognises=lambda record: {"cmp_index", "A", "B"} <= record.keys(),
)
def read_position_bias(paths: Sequence[Path]) -> Imported:
    """Read records, of which each shows the answer of its model `A` first.

    The number of a repetition makes that of a sample. Rows in which a model meets itself are left out, and so
    are files that the tool derives from records. Raises `InputError`.
    """
    found, sides, itself = (
        Imported("position-bias"),
        dict[tuple[str, frozenset[str]], tuple[str, str]](),
        0,
    )
    for place, record in records([path for path in paths if path.name not in _DERIVED]):
        with place:
            name, one, other = _names(record)
            if one == other:
                itself += 1
                continue
            models = sides.setdefault((name, frozenset((one, other))), (one, other))
            order = 1 if models[0] == one else 2
            pair = _pair(record, name, models, order)
            found.add_pair(pair)
            number = _REPETITION.search("/".join(place.path.parts[-2:]))
            for judge, output in _judged(record):
                choice = _CHOICE.search(output)
                shown: Letter | None = choice[1] if choice else None  # type: ignore[assignment]
                shown = shown or read_verdict_text(output, "brackets").shown
                sample = max(int(number[1]) - 1, 0) if number else 0
                found.add_judgment(pair, order, judge, shown, sample=sample, output=output)
    if itself:
        found.notes.append(f"{itself:,} rows left out, in which a model meets itself")
    return found


def _names(record: _Record) -> tuple[str, str, str]:
    """Returns id of the question and the models as shown."""
    index = str(record.get("cmp_index"))
    name, *models = index.rsplit(";", 2)
    if not name or models != [record.get("A"), record.get("B")] or not all(models):
        raise InputError(
            f"'cmp_index' {index!r:.80} must be ID;A;B with the models of the columns A and B"
        )
    return name, models[0], models[1]


def _pair(record: _Record, name: str, models: tuple[str, str], order: int) -> Pair:
    shown = (_text(record, "answer1"), _text(record, "answer2"))
    return Pair(
        id=":".join((name, *models)),
        question=_text(record, "question"),
        models=models,
        answers=shown if order == 1 else shown[::-1],
        question_id=name,
        task=record.get("task") or None,
        reference=_text(record, "reference_answer", needed=False) or None,
        criteria=record.get("evaluating_guidance") or None,
    )


def _text(record: _Record, key: str, *, needed: bool = True) -> str:
    """Returns a text, or those of two turns."""
    parts = [record[each] for each in (key, f"{key}_1", f"{key}_2") if record.get(each) is not None]
    if (needed and not parts) or not all(isinstance(part, str) for part in parts):
        raise InputError(f"{key!r} (or {key}_1 and {key}_2) must be a text")
    return "\n\n".join(filter(None, parts))


def _judged(record: _Record) -> list[tuple[str, str]]:
    """Returns judges and what they said: the columns that are nothing else."""
    known = [key for key in record if not _TEXTS.fullmatch(key) and key not in _OTHERS]
    found = [(key, record[key] or "") for key in known if not key.startswith("extracted")]
    if not found or not all(isinstance(text, str) for _, text in found):
        raise InputError(
            "the judge's column is missing, or is no text: it is named after the judge"
        )
    return found
