"""PandaLM's test set, with three raters, and the files of results of judges on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.json_lines import id_field
from pfgen_rs.io.records import as_text, optional_text_field, text_field
from pfgen_rs.judge.formats.imported import Collector, Imported, decided
from pfgen_rs.judge.formats.places import Place, all_records, write_array
from pfgen_rs.judge.formats.two_games import id_value
from pfgen_rs.judge.letters import Letter
from pfgen_rs.judge.pairs import Pair

__all__ = [
    "read_pandalm",
    "recognised_pandalm",
    "write_pandalm",
    "write_pandalm_results",
]

NAME = "pandalm"
_LETTERS: Mapping[str, Letter | None] = {
    "0": "C",
    "1": "A",
    "2": "B",
    "tie": "C",
    "garbage": None,
}
_NUMBERS: Mapping[Letter, int] = {"C": 0, "A": 1, "B": 2}
_RATER = "annotator"
_RESULT, _REASON = "_result", "_reason"


def recognised_pandalm(record: Mapping[str, Any]) -> bool:
    """Whether a record is of the test set or of a file of results."""
    return "idx" in record and ("response1" in record or _result_key(record) is not None)


def _result_key(record: Mapping[str, Any]) -> str | None:
    return next((key for key in record if key.endswith(_RESULT)), None)


def read_pandalm(paths: Sequence[Path]) -> Imported:
    """Read the test set and any number of files of results, each a judge called by the file's name.

    0 and "Tie" are C, 1 is A, 2 is B; "garbage" is an invalid judgment. Results are judgments in order 1.
    Pairs with the same instruction and input are of one question, called by the first `idx`. Raises
    `InputError`.
    """
    found = Collector(NAME)
    results: list[tuple[Place, dict[str, Any]]] = []
    questions: dict[str, str] = {}
    for place, record in all_records(paths):
        with place:
            if "response1" in record:
                _add_pandalm_pair(found, record, questions)
            else:
                results.append((place, record))
    for place, record in results:
        with place:
            _add_pandalm_result(found, record, place.path.stem.removesuffix("-testset-v1"))
    return found.imported()


def _add_pandalm_pair(found: Collector, record: dict[str, Any], questions: dict[str, str]) -> None:
    idx = id_field(record, "idx")
    instruction, given = text_field(record, "instruction"), optional_text_field(record, "input")
    question = f"{instruction}\n\n{given}" if given else instruction
    pair = Pair(
        id=idx,
        question=question,
        models=_models_of(text_field(record, "cmp_key")),
        answers=(_response(record, "response1"), _response(record, "response2")),
        question_id=questions.setdefault(question, idx),
        task=optional_text_field(record, "motivation_app"),
    )
    found.add_pair(pair)
    for rater in (key for key in record if key.startswith(_RATER)):
        letter = _letter_of_number(record, rater)
        if letter is None:
            raise InputError(f"invalid {rater!r}: expected 0, 1 or 2")
        found.add_human(pair, rater, letter)


def _response(record: Mapping[str, Any], key: str) -> str:
    """Returns a response; the published file has some that look like JSON as such, as `true`."""
    value = record.get(key)
    if isinstance(value, bool | int | float):
        return str(as_text(value))
    return text_field(record, key)


def _models_of(key: str) -> tuple[str, str]:
    first, separator, second = key.partition("_")
    if not separator or not first or not second:
        raise InputError(f"invalid 'cmp_key' {key!r:.80}: expected MODEL_MODEL")
    return first, second


def _letter_of_number(record: Mapping[str, Any], key: str) -> Letter | None:
    written = (as_text(record[key]) or "").strip().lower()
    if written not in _LETTERS:
        raise InputError(f"invalid {key!r} {record[key]!r:.40}: expected 0, 1, 2, Tie or garbage")
    return _LETTERS[written]


def _add_pandalm_result(found: Collector, record: dict[str, Any], judge: str) -> None:
    key = _result_key(record)
    if key is None:
        raise InputError("is neither of the test set ('response1') nor a result ('…_result')")
    idx = id_field(record, "idx")
    if idx not in found.pairs:
        raise InputError(f"unknown idx {idx!r:.80}: add the file of the test set")
    reason = record.get(key.removesuffix(_RESULT) + _REASON)
    found.add_judgment(
        found.pairs[idx],
        1,
        judge,
        _letter_of_number(record, key),
        prompt="",
        output=reason if isinstance(reason, str) else "",
        problem="the result is 'garbage'",
    )


def write_pandalm(path: Path, imported: Imported) -> int:
    """Write pairs and raters as a test set; inputs are part of the instructions. Raises `OutputError`."""
    return write_array(path, _test_set(imported))


def _test_set(imported: Imported) -> Iterator[dict[str, Any]]:
    verdicts: dict[str, dict[str, int]] = {}
    raters = {rater: rater for _, rater, _ in imported.humans}
    if not all(rater.startswith(_RATER) for rater in raters):
        raters = {rater: f"{_RATER}{number}" for number, rater in enumerate(sorted(raters), 1)}
    for pair, rater, letter in imported.humans:
        verdicts.setdefault(pair, {})[raters[rater]] = _NUMBERS[letter]
    for each in imported.pairs:
        yield {
            "idx": id_value(each.id),
            "motivation_app": each.task,
            "cmp_key": _comparison_key(each),
            "instruction": each.question,
            "input": "",
            "response1": each.answers[0],
            "response2": each.answers[1],
            **dict(sorted(verdicts.get(each.id, {}).items())),
        }


def _comparison_key(pair: Pair) -> str:
    first, second = pair.models
    if "_" in first:
        raise InputError(
            f"model {first!r:.80} cannot be written: names in 'cmp_key' are separated by '_'"
        )
    return f"{first}_{second}"


def write_pandalm_results(path: Path, imported: Imported) -> int:
    """Write one result a pair: "1", "2", "Tie", or "garbage" if it is invalid. Raises `OutputError`."""
    by_pair = imported.by_pair()
    written = {"A": "1", "B": "2", "C": "Tie", None: "garbage"}
    return write_array(
        path,
        (
            {
                "idx": id_value(pair.id),
                "gpt_result": written[decided(by_pair[pair.id])[0]],
                "gpt_reason": by_pair[pair.id][0]["output"],
            }
            for pair in imported.pairs
            if by_pair[pair.id]
        ),
    )
