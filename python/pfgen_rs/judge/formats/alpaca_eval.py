"""AlpacaEval's annotations: a JSON list with a preference from 1 (first output) to 2 (second output)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.lines import missing, optional_text_field, text_field
from pfgen_rs.judge import Pair, decide
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Imported, Judgment, records
from pfgen_rs.judge.verdicts import Letter, Verdict

_HARD: Mapping[float | None, Letter | None] = {1.0: "A", 2.0: "B", 1.5: "C", None: None}


def write_alpaca_eval(imported: Imported) -> Iterator[dict[str, Any]]:
    """Yield one annotation a pair.

    With probabilities the preference is 1 + p(B) + p(C)/2 of the normalised mean; without, 1, 2, 1.5 (tie) or
    null (invalid).
    """
    for pair, judgments in imported.by_pair():
        if judgments:
            yield {
                "instruction": pair.question,
                "output_1": pair.answers[0],
                "output_2": pair.answers[1],
                "generator_1": pair.models[0],
                "generator_2": pair.models[1],
                "dataset": pair.task,
                "annotator": judgments[min(judgments)]["judge"]["model"],
                "preference": _written_preference(judgments),
                "raw_completion": judgments[min(judgments)]["output"],
            }


def _written_preference(judgments: Mapping[int, Judgment]) -> float | None:
    """Returns the preference of a pair: of both orders, their verdict if they agree, else a tie."""
    verdicts = {
        order: Verdict(each["shown"], each["probabilities"]) for order, each in judgments.items()
    }
    decision = decide(verdicts.get(1), verdicts.get(2))
    total = sum(decision.mean.values()) if decision.mean else 0
    if decision.mean and total > 0:
        return 1 + (decision.mean["B"] + decision.mean["C"] / 2) / total
    first, second = decision.verdicts
    letter = first or second if len(verdicts) == 1 else decision.tie
    return next(preference for preference, each in _HARD.items() if each == letter)


@judge_format(
    "alpaca-eval",
    files="`annotations.json`",
    verdicts="`preference` 1: A, 2: B, 1.5: C, null: invalid. An annotator with any other value gives soft "
    "preferences: 2 − x and x − 1 are the probabilities of A and B",
    pair_id="`N:GENERATOR_1:GENERATOR_2`",
    example={
        "instruction": "何ですか？",
        "output_1": "甲",
        "output_2": "乙",
        "generator_1": "m1",
        "generator_2": "m2",
        "annotator": "gpt4",
        "preference": 1,
    },
    recognises=lambda record: (
        {"instruction", "output_1", "output_2", "preference"} <= record.keys()
    ),
    write=write_alpaca_eval,
    is_array=True,
)
def read_alpaca_eval(paths: Sequence[Path]) -> Imported:
    """Read annotations. Each is one judgment in order 1; the order that was shown is not recorded.

    The id of a pair is `N:GENERATOR_1:GENERATOR_2` with the number of the instruction in order of occurrence.
    An annotator with other preferences than 1, 1.5 and 2 gives soft ones: 2 − preference and preference − 1
    are the probabilities of A and B, and that of C is 0. Null is an invalid judgment. Raises `InputError`.
    """
    annotations = list(records(paths))
    soft = set()
    for place, record in annotations:
        with place:
            if _preference(record) not in _HARD:
                soft.add(_annotator(record))
    found, numbers = Imported("alpaca-eval"), dict[str, int]()
    for place, record in annotations:
        with place:
            question = text_field(record, "instruction")
            number = str(numbers.setdefault(question, len(numbers) + 1))
            models = (text_field(record, "generator_1"), text_field(record, "generator_2"))
            pair = Pair(
                id=":".join((number, *models)),
                question=question,
                models=models,
                answers=(text_field(record, "output_1"), text_field(record, "output_2")),
                question_id=number,
                task=optional_text_field(record, "dataset"),
            )
            found.add_pair(pair)
            judge, preference = _annotator(record), _preference(record)
            found.add_judgment(
                pair,
                1,
                judge,
                _letter(preference),
                output=record.get("raw_completion"),
                probabilities=_probabilities(preference) if judge in soft else None,
                problem="the preference is null",
            )
    found.notes.append("the order in which outputs were shown is unknown: position bias is, too")
    return found


def _annotator(record: Mapping[str, Any]) -> str:
    return text_field(record, "annotator") if "annotator" in record else "annotator"


def _preference(record: Mapping[str, Any]) -> float | None:
    if "preference" not in record:
        raise missing("key", "preference", record, None)
    value = record["preference"]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 2:
        raise InputError(f"invalid 'preference' {value!r:.40}: expected null or 1 to 2")
    return float(value)


def _letter(preference: float | None) -> Letter | None:
    if preference in _HARD:
        return _HARD[preference]
    return "A" if preference is not None and preference < 1.5 else "B"


def _probabilities(preference: float | None) -> dict[str, float] | None:
    if preference is None:
        return None
    return {"A": 2 - preference, "B": preference - 1, "C": 0.0}
