"""Judgments in formats of other tools: AlpacaEval, Arena-Hard, FastChat, and JSON lines for all others."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import json_lines, lines
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.lines import optional_text_field, text_field
from pfgen_rs.judge.decisions import decide
from pfgen_rs.judge.imported import Imported, Judgment, Texts, files_of, question_id, records
from pfgen_rs.judge.pairs import Pair, pair_of, pair_record
from pfgen_rs.judge.verdicts import LETTERS, SWAPPED, Letter, Verdict

__all__ = ["detect_format", "read_format", "write_format"]


def detect_format(files: Sequence[Path]) -> str:
    """Returns the name of the format that the first records of files have.

    Files of questions and answers alone say nothing. Raises `InputError` if no format or several fit.
    """
    first = [record for path in files for _, record in islice(records([path]), 1)]
    fitting = [name for name, keys in _KEYS.items() if any(keys <= each.keys() for each in first)]
    if len(fitting) == 1:
        return fitting[0]
    problem = "files of several formats" if fitting else "unknown format"
    raise InputError(f"{problem}: expected one of {', '.join(fitting or _KEYS)}", path=files[0])


def read_format(paths: Sequence[str | os.PathLike[str]], name: str | None = None) -> Imported:
    """Read files of one format. A folder stands for the `.json` and `.jsonl` files in it.

    `name`: `alpaca-eval`, `arena-hard`, `fastchat` or `json-lines` (default: as `detect_format` says). Raises
    `InputError` with file and line or element, and `SettingsError` for an unknown name.
    """
    if name is not None and name not in _READERS:
        raise SettingsError(f"unknown format {name!r}: expected one of {', '.join(_READERS)}")
    files = files_of(paths)
    chosen = name or detect_format(files)
    found = _READERS[chosen](files)
    if not found.judgments:
        raise InputError(f"contains no judgments in the format {chosen}")
    return found


def write_format(path: str | os.PathLike[str], imported: Imported, name: str) -> int:
    """Write a file in the format `alpaca-eval` or `json-lines`; returns the number of pairs in it.

    Raises `SettingsError` for another name, and `OutputError`.
    """
    if name == "alpaca-eval":
        written = list(_alpaca_eval(imported))
        text = json.dumps(written, ensure_ascii=False, indent=4) + "\n"
        write_atomic(path, text.encode("utf-8", "surrogatepass"))
    elif name == "json-lines":
        written = list(_json_lines(imported))
        json_lines.write_objects(Path(path), written)
    else:
        raise SettingsError(f"cannot write {name!r}: expected alpaca-eval or json-lines")
    return len(written)


# AlpacaEval: annotations with a preference from 1 (first output) to 2 (second output)


_HARD: Mapping[float | None, Letter | None] = {1.0: "A", 2.0: "B", 1.5: "C", None: None}


def _alpaca_eval(imported: Imported) -> Iterator[dict[str, Any]]:
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


def _read_alpaca_eval(paths: Sequence[Path]) -> Imported:
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
        raise lines.missing("key", "preference", record, None)
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


# Arena-Hard: two games a question against a baseline, each with one of five levels


_LEVELS: Mapping[str, Letter] = {"A>>B": "A", "A>B": "A", "A=B": "C", "B>A": "B", "B>>A": "B"}
"""The five levels, as shown, and their letters."""


def _read_arena_hard(paths: Sequence[Path]) -> Imported:
    """Read `model_judgment/JUDGE/MODEL.jsonl`, with files of questions and answers for the texts.

    The first game shows the baseline first. A file without `baseline` has a baseline of that name. Raises
    `InputError`.
    """
    found, texts = Imported("arena-hard"), Texts(paths)
    for place, record in texts.others:
        with place:
            _add_arena_hard(found, texts, record)
    found.notes += texts.notes()
    return found


def _add_arena_hard(found: Imported, texts: Texts, record: dict[str, Any]) -> None:
    question = question_id(record)
    baseline = text_field(record, "baseline") if "baseline" in record else "baseline"
    models, task = (baseline, text_field(record, "model")), optional_text_field(record, "category")
    pair = texts.pair(question, models, task=task)
    found.add_pair(pair)
    judge, games = text_field(record, "judge"), record.get("games")
    if not isinstance(games, list) or not 1 <= len(games) <= 2:
        raise InputError("'games' must be a list of one or two games")
    for order, game in enumerate(games, 1):
        if game is None:
            continue
        if not isinstance(game, dict):
            raise InputError("'games' must contain objects only")
        level, said = game.get("score"), game.get("judgment")
        if level is not None and (not isinstance(level, str) or level not in _LEVELS):
            raise InputError(f"invalid 'score' {level!r:.40}: expected one of {', '.join(_LEVELS)}")
        output = said.get("answer") if isinstance(said, dict) else said
        shown = None if level is None else _LEVELS[level]
        found.add_judgment(pair, order, judge, shown, output=output, level=level)


# FastChat: winners of two games; texts are in other files


_SHOWN: Mapping[int, Mapping[str, Letter]] = {
    1: {"model_1": "A", "model_2": "B", "tie": "C"},
    2: {"model_1": "B", "model_2": "A", "tie": "C"},
}
"""Winners are models; letters speak of what was shown first, which is model_2 in the second game."""
_FAILED = "error"


def _read_fastchat(paths: Sequence[Path]) -> Imported:
    """Read pairwise judgments, with `question.jsonl` and `model_answer/*.jsonl` for the texts.

    The id of a pair is `QUESTION:MODEL_1:MODEL_2`, with `:turn-2` for second turns, whose texts are those of
    both turns. Without files of questions and answers the texts are empty, and a note says so. Raises
    `InputError`.
    """
    found, texts = Imported("fastchat"), Texts(paths)
    for place, record in texts.others:
        with place:
            if "score" in record and "model" in record and "g1_winner" not in record:
                raise InputError(
                    "is a rating of one answer, not of a pair: use 'pfgen-rs judge dialogues'"
                )
            question = json_lines.id_field(record, "question_id")
            models = (text_field(record, "model_1"), text_field(record, "model_2"))
            turn = record.get("turn", 1)
            if type(turn) is not int or turn not in (1, 2):
                raise InputError(f"invalid 'turn' {turn!r:.40}: expected 1 or 2")
            pair = texts.pair(question, models, turn)
            found.add_pair(pair)
            _add_games(found, pair, record)
    found.notes += texts.notes()
    return found


def _add_games(found: Imported, pair: Pair, record: Mapping[str, Any]) -> None:
    """Add the judgments of both games; a game without winner and text was not played."""
    named = isinstance(record.get("judge"), str)
    judge, prompt = (record["judge"], "") if named else json_lines.texts_field(record, "judge", 2)
    for order in (1, 2):
        winner, text = record.get(f"g{order}_winner"), record.get(f"g{order}_judgment")
        if winner == _FAILED and text is None:
            continue
        shown = _SHOWN[order].get(winner) if isinstance(winner, str) else None
        if shown is None and winner != _FAILED:
            raise InputError(
                f"invalid 'g{order}_winner' {winner!r:.40}: expected model_1, model_2, tie or error"
            )
        found.add_judgment(
            pair,
            order,
            judge,
            shown,
            prompt=prompt,
            output=text,
            timestamp=_iso_time(record.get("tstamp")),
            problem="the winner is 'error'",
        )


def _iso_time(seconds: Any) -> str | None:
    """Returns a time in seconds since 1970 as ISO 8601, `None` for anything else."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (TypeError, OverflowError, OSError, ValueError):
        return None


# Plain JSON lines: a pair with the verdicts of a judge


def _json_lines(imported: Imported) -> Iterator[dict[str, Any]]:
    """Yield a line a pair that was judged; probabilities are left out."""
    for pair, judgments in imported.by_pair():
        if judgments:
            last = max(judgments)
            shown = [judgments[n]["shown"] if n in judgments else None for n in range(1, last + 1)]
            judge = judgments[last]["judge"]["model"]
            yield {**pair_record(pair), "judge": judge, "verdicts": _turned(shown)}


def _turned(letters: Sequence[Letter | None]) -> list[Letter | None]:
    """Returns letters of the pair as they were shown, and the other way round."""
    return [
        SWAPPED[letter] if letter and order == 2 else letter
        for order, letter in enumerate(letters, 1)
    ]


def _read_json_lines(paths: Sequence[Path]) -> Imported:
    """Read pairs with verdicts. A pair may occur again with another judge. Raises `InputError`."""
    found = Imported("json-lines")
    for place, record in records(paths):
        with place:
            pair, verdicts = pair_of(record), record.get("verdicts")
            if (
                not isinstance(verdicts, list)
                or not 1 <= len(verdicts) <= 2
                or any(each not in (None, *LETTERS) for each in verdicts)
            ):
                raise InputError("'verdicts' must be a list of one or two of A, B, C and null")
            found.add_pair(pair)
            judge = text_field(record, "judge")
            for order, shown in enumerate(_turned(verdicts), 1):
                found.add_judgment(pair, order, judge, shown)
    return found


_KEYS: Mapping[str, set[str]] = {
    "alpaca-eval": {"instruction", "output_1", "output_2", "preference"},
    "arena-hard": {"games"},
    "fastchat": {"g1_winner", "model_1"},
    "json-lines": {"models", "answers", "verdicts"},
}
"""Keys by which the records of each format are recognised."""
_READERS: Mapping[str, Callable[[Sequence[Path]], Imported]] = {
    "alpaca-eval": _read_alpaca_eval,
    "arena-hard": _read_arena_hard,
    "fastchat": _read_fastchat,
    "json-lines": _read_json_lines,
}
