"""What FastChat's and Japanese Vicuna QA's records share: two games a pair, whose winners are models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.judge.formats.imported import Collector, iso_time, unix_time
from pfgen_rs.judge.letters import Letter
from pfgen_rs.judge.pairs import Pair

__all__ = ["add_games", "id_value", "written_games"]

_SHOWN: Mapping[int, Mapping[str, Letter]] = {
    1: {"model_1": "A", "model_2": "B", "tie": "C"},
    2: {"model_1": "B", "model_2": "A", "tie": "C"},
}
"""Winners are models; letters speak of what was shown first, which is model_2 in the second game."""
_FAILED = "error"
_LONG_NUMBER = 16  # other programs read such numbers as floats


def add_games(
    found: Collector, pair: Pair, record: Mapping[str, Any], judge: str, prompt: str
) -> None:
    """Add the judgments of both games; a game without winner and text was not played."""
    for order in (1, 2):
        winner, text = record.get(f"g{order}_winner"), record.get(f"g{order}_judgment")
        if winner == _FAILED and text is None:
            continue
        shown = _winner_shown(record, order)
        found.add_judgment(
            pair,
            order,
            judge,
            shown,
            prompt=prompt,
            output=text if isinstance(text, str) else "",
            timestamp=iso_time(record.get("tstamp")),
            problem="the winner is 'error'",
        )


def _winner_shown(record: Mapping[str, Any], order: int) -> Letter | None:
    winner = record.get(f"g{order}_winner")
    if winner == _FAILED:
        return None
    shown = _SHOWN[order].get(winner) if isinstance(winner, str) else None
    if shown is None:
        raise InputError(
            f"invalid 'g{order}_winner' {winner!r:.40}: expected model_1, model_2, tie or error"
        )
    return shown


def written_games(judgments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns winners and texts of both games, and the time of the last one."""
    orders = {each["order"]: each for each in judgments}
    fields: dict[str, Any] = {}
    for order in (1, 2):
        judgment = orders.get(order)
        winners = {letter: winner for winner, letter in _SHOWN[order].items()}
        fields[f"g{order}_winner"] = (
            winners.get(judgment["shown"], _FAILED) if judgment else _FAILED
        )
        fields[f"g{order}_judgment"] = judgment["output"] if judgment else None
    last = max((each["timestamp"] or "" for each in judgments), default="")
    return fields | {"tstamp": unix_time(last)}


def id_value(name: str) -> str | int:
    """Returns an id as files of others have it: a number if it is one."""
    plain = name.isascii() and name.isdigit() and len(name) < _LONG_NUMBER
    return int(name) if plain and str(int(name)) == name else name
