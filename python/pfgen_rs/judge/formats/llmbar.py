"""LLMBar: pairs of outputs with the number of the better one, and results of evaluators in both orders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.lines import text_field
from pfgen_rs.judge import Pair
from pfgen_rs.judge.formats import judge_format
from pfgen_rs.judge.imported import Imported, records
from pfgen_rs.judge.verdicts import SWAPPED, Letter

_WINNERS: Mapping[object, Letter | None] = {"1": "A", "2": "B", "tie": "C", None: None}
_LABELS: Mapping[object, Letter] = {1: "A", 2: "B"}
_ORDERS = {1: "swap = False", 2: "swap = True"}
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
        "results": [
            {
                "swap = False": {"completion": ["Output (a)", "stop"], "winner": "1"},
                "swap = True": {"completion": ["Output (b)", "stop"], "winner": "1"},
            }
        ],
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
            category, judge = _names(place.path)
            label = record.get("label")
            if type(label) is not int or label not in _LABELS:
                raise InputError(f"invalid 'label' {label!r:.40}: expected 1 or 2")
            pair = Pair(
                id=f"{category}/{place.number}",
                question=text_field(record, "input"),
                models=("output_1", "output_2"),
                answers=(text_field(record, "output_1"), text_field(record, "output_2")),
                task=category,
                gold=(_LABELS[label],),
            )
            found.add_pair(pair)
            if "results" in record or _EVALUATORS in place.path.parts:
                _add_results(found, pair, judge, record.get("results"))
    return found


def _names(path: Path) -> tuple[str, str]:
    """Returns category and judge of a file."""
    folders, own = path.absolute().parent.parts, path.stem
    if _EVALUATORS in folders:
        place = folders.index(_EVALUATORS)
        folders, own = folders[:place], "/".join(folders[place + 1 :]) or own
    above = 2 if folders[-2:-1] == ("Adversarial",) else 1
    return "/".join(folders[-above:]), own


def _add_results(found: Imported, pair: Pair, judge: str, results: Any) -> None:
    steps = results if isinstance(results, list) else []
    games = [step for step in steps if isinstance(step, dict) and {*_ORDERS.values()} & step.keys()]
    if not games:
        raise InputError(
            "'results' must be a list with an object that has 'swap = False' or 'swap = True'"
        )
    for order, name in _ORDERS.items():
        if name not in games[-1]:
            continue
        game = games[-1][name]
        winner = game.get("winner") if isinstance(game, dict) else game
        key = str(winner) if type(winner) is int else winner
        if not isinstance(game, dict) or isinstance(key, list | dict) or key not in _WINNERS:
            raise InputError(f"invalid 'winner' {winner!r:.40}: expected 1, 2, tie or null")
        letter, said = _WINNERS[key], game.get("completion")
        shown = SWAPPED[letter] if letter and order == 2 else letter
        output = said[0] if isinstance(said, list) and said else said
        found.add_judgment(pair, order, judge, shown, output=output)
