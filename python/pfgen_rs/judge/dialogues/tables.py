"""Light versions of a set of dialogues, and the tables of the paper on Japanese MT-bench++.

Means are exact until they are shown: of an answer over its scores, of a dialogue over its answers, of a
table's cell over answers or dialogues.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal, get_args

import polars as pl

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.text import counted
from pfgen_rs.judge.dialogues.records import (
    CATEGORIES,
    HUMAN,
    TYPES,
    Answer,
    Dialogue,
    mean_of,
    sorted_authors,
)

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


# Tables


TOTAL = "total"
"""Label of the row and the column over all."""

First = tuple[Dialogue, Answer]
"""An answer with the dialogue that it belongs to."""

_SCORES = {
    "author": pl.String,
    "category": pl.String,
    "answers": pl.Int64,
    "human": pl.Float64,
    "human_scored": pl.Int64,
    "judge": pl.Float64,
    "judge_scored": pl.Int64,
}
_LENGTHS = {
    "author": pl.String,
    "category": pl.String,
    "answers": pl.Int64,
    "length": pl.Float64,
}
_LIGHT = {
    "version": pl.String,
    "category": pl.String,
    "dialogues": pl.Int64,
    "human": pl.Float64,
    "human_scored": pl.Int64,
    "judge": pl.Float64,
    "judge_scored": pl.Int64,
}
_SHOWN_VERSIONS = ("easy", "hard", "lite")  # the order of the paper's table


def sizes(dialogues: Iterable[Dialogue]) -> pl.DataFrame:
    """Returns table 2, the number of dialogues.

    One row per type and one for both: `turn2_type`, a column per category, and `total`.
    """
    counts = Counter((dialogue.turn2_type, dialogue.category) for dialogue in dialogues)
    for (_, category), count in list(counts.items()):
        counts[TOTAL, category] += count
    rows = [
        (kind, *(counts[kind, category] for category in CATEGORIES)) for kind in (*TYPES, TOTAL)
    ]
    schema = {"turn2_type": pl.String, **dict.fromkeys(CATEGORIES, pl.Int64)}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(pl.sum_horizontal(CATEGORIES).alias(TOTAL))


def light_scores(versions: Iterable[Light]) -> pl.DataFrame:
    """Returns table 1: mean scores of second answers in each light version by category.

    The mean over dialogues of each dialogue's mean over all of its second answers, those of people
    included. One row per version and category: `version`, `category`, `dialogues`, `human`, `human_scored`
    (dialogues with human scores), `judge`, `judge_scored`.
    """
    known = {light.version: light for light in versions}
    rows = []
    for version in sorted(known, key=lambda v: (_SHOWN_VERSIONS.index(v), VERSIONS.index(v))):
        for category in CATEGORIES:
            members = [d for d in known[version].dialogues if d.category == category]
            human = [mean_of(answer.mean for answer in each.seconds) for each in members]
            judge = [mean_of(answer.judge for answer in each.seconds) for each in members]
            scores = (*_table_mean(human), *_table_mean(judge))
            rows.append((version, category, len(members), *scores))
    return pl.DataFrame(rows, schema=_LIGHT, orient="row")


def first_answer_scores(dialogues: Iterable[Dialogue]) -> pl.DataFrame:
    """Returns table 3: mean scores of first answers by author and category, each answer counted once."""
    return _score_table(distinct_firsts(dialogues))


def second_answer_scores(dialogues: Iterable[Dialogue]) -> pl.DataFrame:
    """Returns table 4: mean scores of second answers by author and category.

    One row per author (people last) and category: `author`, `category`, `answers`, `human` (the mean over
    answers of each answer's mean human score), `human_scored` (answers with human scores), `judge`,
    `judge_scored`.
    """
    return _score_table(_second_members(dialogues))


def first_answer_lengths(dialogues: Iterable[Dialogue]) -> pl.DataFrame:
    """Returns table 12: mean lengths of first answers in code points, each answer counted once."""
    return _length_table(distinct_firsts(dialogues))


def second_answer_lengths(dialogues: Iterable[Dialogue]) -> pl.DataFrame:
    """Returns table 13: mean lengths of second answers in code points.

    One row per author and category: `author`, `category`, `answers`, `length`.
    """
    return _length_table(_second_members(dialogues))


def distinct_firsts(dialogues: Iterable[Dialogue]) -> list[First]:
    """Returns every first answer once, although it may stand in several dialogues.

    Answers are the same if category, first user turn, text and author are. The scores are those of the first
    dialogue that has any.
    """
    found: dict[tuple[str, str, str, str], First] = {}
    for dialogue in dialogues:
        first = dialogue.first
        key = (dialogue.category, dialogue.user1, first.text, first.author)
        before = found.setdefault(key, (dialogue, first))[1]
        if before is not first and (not before.human or before.judge is None):
            human = before.human or first.human
            judge = first.judge if before.judge is None else before.judge
            found[key] = found[key][0], Answer(first.author, first.text, human, judge)
    return list(found.values())


def _second_members(dialogues: Iterable[Dialogue]) -> list[First]:
    return [(dialogue, answer) for dialogue in dialogues for answer in dialogue.seconds]


def _score_table(members: Sequence[First]) -> pl.DataFrame:
    def cell(answers: Sequence[Answer]) -> tuple[float | int | None, ...]:
        human = _table_mean([answer.mean for answer in answers])
        return (*human, *_table_mean([answer.judge for answer in answers]))

    return _author_table(members, cell, _SCORES)


def _length_table(members: Sequence[First]) -> pl.DataFrame:
    def cell(answers: Sequence[Answer]) -> tuple[float | int | None, ...]:
        return _table_mean([Fraction(len(answer.text)) for answer in answers])[:1]

    return _author_table(members, cell, _LENGTHS)


def _author_table(
    members: Sequence[First],
    cell: Callable[[Sequence[Answer]], tuple[float | int | None, ...]],
    schema: dict[str, type[pl.DataType]],
) -> pl.DataFrame:
    by_kind: dict[tuple[str, str], list[Answer]] = {}
    for dialogue, answer in members:
        by_kind.setdefault((answer.author, dialogue.category), []).append(answer)
    rows = []
    for author in sorted_authors(answer.author for _, answer in members):
        for category in CATEGORIES:
            answers = by_kind.get((author, category), [])
            rows.append((author, category, len(answers), *cell(answers)))
    return pl.DataFrame(rows, schema=schema, orient="row")


def _table_mean(values: Sequence[Fraction | None]) -> tuple[float | None, int]:
    """Returns the mean, correctly rounded, and the number of values."""
    known = [value for value in values if value is not None]
    mean = mean_of(known)
    return None if mean is None else float(mean), len(known)
