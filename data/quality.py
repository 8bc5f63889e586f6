"""How well each step of a build finds what was spoilt: precision and recall, from the report of the build."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

__all__ = ["Quality", "qualities", "table"]

# What each step is there to find. Candidates of the kind `style` are right once they are normalised.
_AIMS: Mapping[str, tuple[str, ...]] = {
    "normalise": ("other-style", "cut"),
    "rules": ("wrong-often",),
    "singletons": ("wrong-seldom", "typo"),
    "length": ("too-short", "too-long"),
}
_RIGHT = ("clean", "style")


class Quality(NamedTuple):
    """One step: the share of its own kinds that it removes, and of spoilt ones in what it removes."""

    step: str
    kinds: tuple[str, ...]
    reached: int
    removed: int
    recall: float
    precision: float


def qualities(provenance: bytes) -> list[Quality]:
    """The steps that are there to find something."""
    data = json.loads(provenance)
    questions = list(data["questions"].values())
    before = _counts(data, questions)
    found = []
    for number, step in enumerate(questions[0]["steps"]):
        after = _counts(data, (question["steps"][number] for question in questions))
        kinds = _AIMS.get(step["step"], ())
        removed = {kind: before[kind] - after[kind] for kind in before}
        if kinds:
            found.append(_quality(step["step"], kinds, before, removed))
        before = after
    return found


def _quality(
    step: str, kinds: tuple[str, ...], before: Mapping[str, int], removed: Mapping[str, int]
) -> Quality:
    total = sum(removed.values())
    spoilt = total - sum(removed[kind] for kind in _RIGHT)
    recall = sum(removed[kind] for kind in kinds) / sum(before[kind] for kind in kinds)
    return Quality(step, kinds, sum(before.values()), total, recall, spoilt / total)


def _counts(provenance: Mapping[str, Any], steps: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """The answers by model, over the questions of which these are parts."""
    total: Counter[str] = Counter()
    for each in steps:
        total.update(dict(zip(provenance["models"], each["models"], strict=True)))
    return total


def table(provenance: bytes) -> str:
    """The figures as Markdown."""
    lines = [
        "| step | is to find | candidates | removed | recall | precision |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {each.step} | {', '.join(each.kinds)} | {each.reached:,} | {each.removed:,} | "
        f"{each.recall:.1%} | {each.precision:.1%} |"
        for each in qualities(provenance)
    ]
    data = json.loads(provenance)
    chosen = _counts(data, (each["steps"][-1] for each in data["questions"].values()))
    right = sum(chosen[kind] for kind in _RIGHT)
    total = sum(chosen.values())
    return "\n".join(
        [*lines, "", f"Of the {total:,} reference answers {right / total:.1%} are right."]
    )
