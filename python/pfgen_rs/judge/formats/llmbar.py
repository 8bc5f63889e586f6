"""LLMBar: pairs of outputs with the number of the better one, and results of evaluators in both orders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.lines import text_field
from pfgen_rs.io.records import choice
from pfgen_rs.judge import Pair
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Imported, records
from pfgen_rs.judge.verdicts import SWAPPED, Letter

_ORDERS = ("swap = False", "swap = True")
_WINNERS: Mapping[str | None, Letter | None] = {"1": "A", "2": "B", "tie": "C", None: None}
_GAME = {"completion": ["Output (a)", "stop"], "winner": "1"}
_LABELS: Mapping[int, Letter] = {1: "A", 2: "B"}
_EVALUATORS = "evaluators"


@judge_format(
    "llmbar",
    files="`dataset.json`, `evaluators/JUDGE/METHOD/result.json`; gold: `label`",
    verdicts="`winner` of the last of `results`: 1 or 2, of the outputs as the record has them",
    pair_id="`CATEGORY/NUMBER`: its folder and place in the file",
    example={
        "input": "何ですか？",
        "output_1": "甲",
        "output_2": "乙",
        "label": 1,
        "results": [dict.fromkeys(_ORDERS, _GAME)],
    },
    recognises=lambda record: {"input", "output_1", "output_2", "label"} <= record.keys(),
)
def read_llmbar(paths: Sequence[Path]) -> Imported:
    """Read data sets and results. Judges are called `JUDGE/METHOD`; `statistics.json` is left out.

    Of several `results`, which are steps or rounds of a debate, the last one with winners counts. Raises
    `InputError`.
    """
    found = Imported("llmbar")
    for place, record in records([path for path in paths if path.name != "statistics.json"]):
        with place:
            (category, judge), models = _names(place.path), ("output_1", "output_2")
            question, one, two = (text_field(record, key) for key in ("input", *models))
            gold = (choice(record, "label", _LABELS),)
            pair_id = f"{category}/{place.number}"
            pair = Pair(pair_id, question, models, (one, two), task=category, gold=gold)
            found.add_pair(pair)
            if judge is not None or "results" in record:
                _add_results(found, pair, judge or place.path.stem, record.get("results"))
    return found


def _names(path: Path) -> tuple[str, str | None]:
    """Returns the category of a file, and its judge."""
    folders, judge = path.absolute().parent.parts, None
    if _EVALUATORS in folders:
        place = folders.index(_EVALUATORS)
        folders, judge = folders[:place], "/".join(folders[place + 1 :])
    return "/".join(folders[-1 - (folders[-2:-1] == ("Adversarial",)) :]), judge


def _add_results(found: Imported, pair: Pair, judge: str, results: Any) -> None:
    steps = results if isinstance(results, list) else []
    games = [step for step in steps if isinstance(step, dict) and {*_ORDERS} & step.keys()]
    if not games or not all(isinstance(games[-1].get(name, {}), dict) for name in _ORDERS):
        raise InputError(f"'results' must be a list with an object of {' and '.join(_ORDERS)}")
    for order, name in enumerate(_ORDERS, 1):
        if (game := games[-1].get(name)) is not None:
            said, letter = game.get("completion"), choice(game, "winner", _WINNERS)
            shown = SWAPPED[letter] if letter and order == 2 else letter
            output = said[0] if isinstance(said, list) and said else said
            found.add_judgment(pair, order, judge, shown, output=output)
