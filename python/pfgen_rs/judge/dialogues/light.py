"""Light versions of a set of dialogues: as many of each category and type, at random, easy or hard."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal, get_args

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.counted import counted
from pfgen_rs.judge.dialogues.records import CATEGORIES, HUMAN, TYPES, Dialogue, mean_of

__all__ = ["PER_CATEGORY", "VERSIONS", "Light", "Version", "difficulty", "light_version"]

Version = Literal["lite", "easy", "hard"]
VERSIONS: tuple[Version, ...] = get_args(Version)
PER_CATEGORY = 60
Kind = tuple[str, str]


@dataclass(frozen=True)
class Light:
    """A light version: its dialogues in the order of the set, and how many unscored ones were left out."""

    version: Version
    dialogues: tuple[Dialogue, ...]
    unscored: int


def difficulty(dialogue: Dialogue) -> Fraction | None:
    """Returns the mean human score of the models' second answers; `None` if no person scored any.

    The mean over answers of each answer's mean score.
    """
    return mean_of(answer.mean for answer in dialogue.seconds if answer.author != HUMAN)


def light_version(
    dialogues: Iterable[Dialogue],
    version: Version,
    *,
    per_category: int = PER_CATEGORY,
    seed: int = 0,
) -> Light:
    """Choose `per_category` dialogues of each category, half of each type.

    `easy` takes those with the highest `difficulty`, `hard` those with the lowest, equal ones by id, as
    strings ascending. `lite` draws with `random.Random(seed).sample` from the ids in ascending order,
    category by category, "same" before "free". Dialogues without a difficulty are left out of all three,
    and counted.

    Raises `SettingsError` for an unknown version and for an odd or too small `per_category`, and `InputError`
    if there are too few dialogues of a kind.
    """
    if version not in VERSIONS:
        raise SettingsError(f"unknown version {version!r}: expected one of {', '.join(VERSIONS)}")
    if per_category < 2 or per_category % 2:
        raise SettingsError(
            f"invalid number of dialogues per category {per_category}: expected an even number of at "
            "least 2, since half of them are of each type"
        )
    known = list(dialogues)
    scored: dict[Kind, list[tuple[Fraction, str]]] = {
        kind: [] for kind in product(CATEGORIES, TYPES)
    }
    unscored = 0
    for dialogue in known:
        score = difficulty(dialogue)
        if score is None:
            unscored += 1
        else:
            scored[dialogue.category, dialogue.turn2_type].append((score, dialogue.id))
    _check_light_kinds(scored, per_category // 2, unscored)
    generator = random.Random(seed)  # noqa: S311 - not for secrets
    chosen: set[str] = set()
    for members in scored.values():
        chosen.update(_chosen_light_ids(members, version, per_category // 2, generator))
    return Light(version, tuple(each for each in known if each.id in chosen), unscored)


def _chosen_light_ids(
    members: Sequence[tuple[Fraction, str]], version: Version, count: int, generator: random.Random
) -> list[str]:
    if version == "lite":
        return generator.sample(sorted(dialogue_id for _, dialogue_id in members), count)
    sign = -1 if version == "easy" else 1
    ordered = sorted((sign * score, dialogue_id) for score, dialogue_id in members)
    return [dialogue_id for _, dialogue_id in ordered[:count]]


def _check_light_kinds(
    scored: dict[Kind, list[tuple[Fraction, str]]], needed: int, unscored: int
) -> None:
    short = [
        f"{category}/{turn2_type} has {len(members)}"
        for (category, turn2_type), members in scored.items()
        if len(members) < needed
    ]
    if short:
        left_out = f" ({counted(unscored, 'unscored dialogue')} left out)" if unscored else ""
        raise InputError(
            f"too few dialogues: expected at least {needed} scored ones of each kind, but "
            f"{', '.join(short)}{left_out}: choose a smaller number per category"
        )
