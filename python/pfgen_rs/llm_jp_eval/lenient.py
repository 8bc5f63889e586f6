"""How many answers are wrong only for their form: blanks, thoughts, quotation marks, capitals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pfgen_rs.io.cleaning import without_thoughts
from pfgen_rs.llm_jp_eval.averages import averages, split_score
from pfgen_rs.llm_jp_eval.metrics.correlations import parse_float
from pfgen_rs.llm_jp_eval.metrics.means import mean
from pfgen_rs.llm_jp_eval.metrics.names import METRICS
from pfgen_rs.llm_jp_eval.metrics.values import metric
from pfgen_rs.llm_jp_eval.predictions import prediction
from pfgen_rs.llm_jp_eval.scoring import Evaluation

__all__ = ["LENIENT", "Lenient", "leniently"]

LENIENT = ("stripped", "without_thoughts", "unquoted", "lower_cased", "all")
"""Ways to read outputs; each strips them as well."""
_QUOTES = ('""', "''", "``", "「」", "『』", "“”", "‘’", "«»")

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Lenient:
    """Outputs read in another way: by task, how many more are right, and the averages that would follow.

    An output is right if its value is 1, or where a task has correlations, if it is the number expected.
    """

    right: dict[str, int]
    averages: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields by name."""
        return asdict(self)


def leniently(evaluation: Evaluation) -> dict[str, Lenient]:
    """Returns what would be if outputs were read leniently, by the names of `LENIENT`.

    `evaluation`: one that knows its outputs.
    """
    scores = {name: dict(evaluation.scores) for name in LENIENT}
    right: dict[str, dict[str, int]] = {name: {} for name in LENIENT}
    frames = evaluation.frame.group_by("task", maintain_order=True)
    tasks = evaluation.frame["task"].unique().to_list()
    main: dict[str, str] = {}
    for score in evaluation.scores:
        task, name = split_score(score, tasks)
        main.setdefault(task, name)
    for (key,), frame in frames:
        task, name = str(key), main[str(key)]
        pairs = list(zip(frame["pred"], frame["gold"], strict=True))
        outputs = frame["output"].to_list()
        before = _values_of_pairs(name, pairs)
        for way in LENIENT:
            read = [_READ[way](text, gold) for text, (_, gold) in zip(outputs, pairs, strict=True)]
            changed = [
                i for i, (one, other) in enumerate(zip(read, pairs, strict=True)) if one != other
            ]
            values = [*before]
            found = _values_of_pairs(name, [read[i] for i in changed])
            for i, value in zip(changed, found, strict=True):
                values[i] = value
            more = sum(values[i] == 1 != before[i] for i in changed)
            if more:
                right[way][task] = more
            if name in METRICS:
                scores[way][f"{task}_{name}"] = mean(values)
    return {way: Lenient(right[way], averages(scores[way])) for way in LENIENT}


def _values_of_pairs(name: str, pairs: Sequence[Pair]) -> list[float]:
    preds, golds = [pred for pred, _ in pairs], [gold for _, gold in pairs]
    if name in METRICS:
        return list(metric(name, preds, golds))
    return [float(parse_float(pred) == float(gold)) for pred, gold in pairs]


def _stripped(text: str, gold: str) -> Pair:
    return prediction(text.strip(), "swallow"), gold


def _without_thoughts(text: str, gold: str) -> Pair:
    return _stripped(without_thoughts(text), gold)


def _unquoted(text: str, gold: str) -> Pair:
    return _pair_unquoted(*_stripped(text, gold))


def _lower_cased(text: str, gold: str) -> Pair:
    pred, _ = _stripped(text, gold)
    return pred.lower(), gold.lower()


def _all(text: str, gold: str) -> Pair:
    pred, gold = _pair_unquoted(*_without_thoughts(text, gold))
    return pred.lower(), gold.lower()


def _pair_unquoted(pred: str, gold: str) -> Pair:
    """Remove the quotation marks around a prediction, unless the answer is expected in some."""
    quoted = len(pred) > 1 and pred[0] + pred[-1] in _QUOTES
    return (
        (pred[1:-1].strip(), gold)
        if quoted and gold[:1] + gold[-1:] not in _QUOTES
        else (pred, gold)
    )


_READ: dict[str, Callable[[str, str], Pair]] = {
    "stripped": _stripped,
    "without_thoughts": _without_thoughts,
    "unquoted": _unquoted,
    "lower_cased": _lower_cased,
    "all": _all,
}
