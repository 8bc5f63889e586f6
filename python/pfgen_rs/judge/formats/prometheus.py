"""Prometheus: rubrics, `[RESULT] n` and `[RESULT] A`, and records of relative grading."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.records import optional_text_field, text_field
from pfgen_rs.judge.formats.imported import Collector, Imported, decided
from pfgen_rs.judge.formats.places import all_records, records, write_array
from pfgen_rs.judge.letters import Letter
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.thoughts import without_thoughts

__all__ = [
    "Rubric",
    "read_prometheus",
    "read_relative",
    "read_result",
    "read_rubric",
    "recognised_prometheus",
    "rubric_text",
    "write_prometheus",
]

NAME = "prometheus"
_RESULT = re.compile(
    r"\[RESULT\][\s(\[]*(?:(?P<number>\d+(?:\.\d+)?)(?![\d.]*\d)|(?P<letter>[AB])(?![A-Za-z0-9]))"
)
_MODELS = ("A", "B")
_SCORES = range(1, 6)


@dataclass(frozen=True, slots=True)
class Rubric:
    """What is graded, and what each score from 1 on stands for; `text` goes where a prompt has `{rubric}`."""

    criteria: str
    descriptions: tuple[str, ...]

    @property
    def text(self) -> str:
        """The rubric as Prometheus' prompts write it."""
        scores = (f"Score {n}: {each}" for n, each in enumerate(self.descriptions, 1))
        return "\n".join((f"[{self.criteria}]", *scores))


def read_result(text: str, low: float = 1, high: float = 5) -> float | None:
    """Returns the last `[RESULT] n` of a reply; `None` without any, or if it is not on the scale.

    After NFKC, without thoughts; brackets around the number do not matter.
    """
    written = _last_result(text)
    number = written and written["number"]
    return float(number) if number and low <= float(number) <= high else None


def read_relative(text: str) -> Letter | None:
    """Returns the letter of the last `[RESULT] A` or `[RESULT] B` of a reply; `None` without any."""
    written = _last_result(text)
    letter: Letter | None = written["letter"] if written else None  # type: ignore[assignment]
    return letter


def _last_result(text: str) -> re.Match[str] | None:
    normal = unicodedata.normalize("NFKC", without_thoughts(text))
    return next(reversed(list(_RESULT.finditer(normal))), None)


def read_rubric(path: str | os.PathLike[str]) -> Rubric:
    """Read a rubric from a JSON file with `criteria` and `score1_description` to `score5_description`.

    The keys may begin with `orig_`, as in Prometheus' collections. Raises `InputError`.
    """
    for place, record in records(Path(path)):
        with place:
            return _rubric_of(record)
    raise InputError("contains no rubric", path=Path(path))


def rubric_text(path: str | os.PathLike[str]) -> str:
    """Returns what `{rubric}` stands for: the rubric in a `.json` file, or the text of any other file.

    Raises `InputError`.
    """
    file = Path(path)
    if file.suffix == ".json":
        return read_rubric(file).text
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(unreadable(error), path=file) from error


def _rubric_of(record: Mapping[str, Any]) -> Rubric:
    prefix = "orig_" if "orig_criteria" in record else ""
    keys = [f"{prefix}score{n}_description" for n in _SCORES]
    return Rubric(
        text_field(record, f"{prefix}criteria"), tuple(text_field(record, key) for key in keys)
    )


def recognised_prometheus(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of relative grading."""
    return {"orig_response_A", "orig_response_B"} <= record.keys()


def read_prometheus(paths: Sequence[Path]) -> Imported:
    """Read records of relative grading, as in the Preference Collection; the judge has the file's name.

    Keys: `orig_instruction`, `orig_response_A`, `orig_response_B`, `orig_preference` (A or B), and perhaps
    `orig_feedback`, `orig_criteria`, `orig_reference_answer`. Each is one judgment in order 1. Pairs and
    questions are numbered in order of occurrence; the models are called A and B. Raises `InputError`.
    """
    found, questions = Collector(NAME), dict[str, str]()
    for number, (place, record) in enumerate(all_records(paths), 1):
        with place:
            question = text_field(record, "orig_instruction")
            pair = Pair(
                id=str(number),
                question=question,
                models=_MODELS,
                answers=(
                    text_field(record, "orig_response_A"),
                    text_field(record, "orig_response_B"),
                ),
                question_id=questions.setdefault(question, str(number)),
                reference=optional_text_field(record, "orig_reference_answer"),
                criteria=optional_text_field(record, "orig_criteria"),
            )
            found.add_pair(pair)
            shown, output = _preferred(record)
            found.add_judgment(pair, 1, place.path.stem, shown, prompt="", output=output)
    return found.imported()


def _preferred(record: Mapping[str, Any]) -> tuple[Letter | None, str]:
    feedback = record.get("orig_feedback")
    output = feedback if isinstance(feedback, str) else ""
    if "orig_preference" not in record:
        return read_relative(output), output
    preference = record["orig_preference"]
    if preference not in _MODELS:
        raise InputError(f"invalid 'orig_preference' {preference!r:.40}: expected A or B")
    return preference, output


def write_prometheus(path: Path, imported: Imported) -> int:
    """Write records of relative grading. Raises `OutputError`.

    Pairs without a decision and ties, which the format does not have, are left out.
    """
    return write_array(path, _relative_records(imported))


def _relative_records(imported: Imported) -> Iterator[dict[str, Any]]:
    by_pair = imported.by_pair()
    for pair in imported.pairs:
        letter = decided(by_pair[pair.id])[0]
        if letter in _MODELS:
            yield {
                "orig_instruction": pair.question,
                "orig_response_A": pair.answers[0],
                "orig_response_B": pair.answers[1],
                "orig_reference_answer": pair.reference,
                "orig_criteria": pair.criteria,
                "orig_preference": letter,
                "orig_feedback": by_pair[pair.id][0]["output"],
            }
