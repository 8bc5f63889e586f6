"""Arena-Hard's judgments: two games a question against a baseline, each with one of five levels."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.records import optional_text_field, text_field
from pfgen_rs.judge.formats.imported import Collector, Imported
from pfgen_rs.judge.formats.places import all_records, write_lines
from pfgen_rs.judge.formats.texts import Texts, own_id
from pfgen_rs.judge.formats.two_games import id_value
from pfgen_rs.judge.letters import Letter
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.thoughts import without_thoughts

__all__ = [
    "LEVELS",
    "STRONG_WINS",
    "read_arena_hard",
    "read_level",
    "recognised_arena_hard",
    "wins_of_level",
    "write_arena_hard",
]

NAME = "arena-hard"
LEVELS: Mapping[str, Letter] = {"A>>B": "A", "A>B": "A", "A=B": "C", "B>A": "B", "B>>A": "B"}
"""The five levels, as shown, and their letters."""
STRONG_WINS = 3
"""How many wins `>>` counts in Arena-Hard's own Bradley–Terry ranking."""

_LEVEL = re.compile(r"\[\[([AB<>=]+)\]\]")
_LEVEL_OF_LETTER = {"A": "A>B", "B": "B>A", "C": "A=B"}
_BASELINE = "baseline"


def read_level(text: str) -> str | None:
    """Returns the level in a judge's reply, such as "A>>B"; `None` without any or with different ones.

    Levels are written `[[A>>B]]`; thoughts up to the last `</think>` are ignored, and NFKC applies.
    """
    normal = unicodedata.normalize("NFKC", without_thoughts(text))
    found = set(_LEVEL.findall(normal))
    level = found.pop() if len(found) == 1 else None
    return level if level in LEVELS else None


def wins_of_level(level: str) -> int:
    """Returns the wins that a level counts in Arena-Hard's ranking: 3 for `>>`, else 1."""
    return STRONG_WINS if ">>" in level else 1


def recognised_arena_hard(record: Mapping[str, Any]) -> bool:
    """Whether a record is a judgment of this format."""
    return isinstance(record.get("games"), list)


def read_arena_hard(paths: Sequence[Path]) -> Imported:
    """Read `model_judgment/JUDGE/MODEL.jsonl`, with files of questions and answers for the texts.

    The first game shows the baseline first. The id of a pair is `QUESTION:BASELINE:MODEL`; a file without
    `baseline` has a baseline of that name. Judgments keep their `level`, as shown. Raises `InputError`.
    """
    found, texts = Collector(NAME), Texts()
    judgments = []
    for place, record in all_records(paths):
        with place:
            if not texts.take(place, record):
                judgments.append((place, record))
    for place, record in judgments:
        with place:
            _add_arena_record(found, texts, record)
    return found.imported(*texts.note())


def _add_arena_record(found: Collector, texts: Texts, record: dict[str, Any]) -> None:
    question = own_id(record)
    baseline = text_field(record, "baseline") if "baseline" in record else _BASELINE
    models = (baseline, text_field(record, "model"))
    pair = Pair(
        id=":".join((question, *models)),
        question=texts.question(question, 1),
        models=models,
        answers=(texts.answer(question, models[0], 1), texts.answer(question, models[1], 1)),
        question_id=question,
        task=optional_text_field(record, "category") or texts.categories.get(question),
    )
    found.add_pair(pair)
    judge, games = text_field(record, "judge"), record.get("games")
    if not isinstance(games, list) or not 1 <= len(games) <= 2:
        raise InputError("'games' must be a list of one or two games")
    for order, game in enumerate(games, 1):
        if game is not None:
            level, output = _game(game)
            shown = None if level is None else LEVELS[level]
            found.add_judgment(pair, order, judge, shown, prompt="", output=output, level=level)


def _game(game: Any) -> tuple[str | None, str]:
    """Returns level and text of a game."""
    if not isinstance(game, dict):
        raise InputError("'games' must contain objects only")
    level = game.get("score")
    if level is not None and (not isinstance(level, str) or level not in LEVELS):
        raise InputError(f"invalid 'score' {level!r:.40}: expected one of {', '.join(LEVELS)}")
    text = game.get("judgment")
    if isinstance(text, dict):
        text = text.get("answer")
    return level, text if isinstance(text, str) else ""


def write_arena_hard(path: Path, imported: Imported) -> int:
    """Write judgments as JSON lines, with the first model of each pair as baseline. Raises `OutputError`.

    Judgments without a level count as `>`.
    """
    return write_lines(path, _arena_records(imported))


def _arena_records(imported: Imported) -> Iterator[dict[str, Any]]:
    by_pair = imported.by_pair()
    for pair in imported.pairs:
        orders = {each["order"]: each for each in by_pair[pair.id]}
        if orders:
            yield {
                "question_id": id_value(pair.question_id),
                "category": pair.task,
                "model": pair.models[1],
                "baseline": pair.models[0],
                "judge": next(iter(orders.values()))["judge"]["model"],
                "games": [_written_game(orders.get(order)) for order in (1, 2)],
            }


def _written_game(judgment: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if judgment is None:
        return None
    level = judgment.get("level") or _LEVEL_OF_LETTER.get(judgment["shown"])
    return {"judgment": judgment["output"], "score": level}
