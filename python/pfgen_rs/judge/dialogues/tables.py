"""Light versions of a set of dialogues, and the tables of the paper on Japanese MT-bench++.

Means are exact until they are shown: of an answer over its scores, of a dialogue over its answers, of a
table's cell over answers or dialogues.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal, get_args

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.text import counted
from pfgen_rs.judge.dialogues import records
from pfgen_rs.judge.dialogues.records import CATEGORIES, TYPES, Answer, Dialogue, Turn, mean_of
from pfgen_rs.lazy import pl

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
    return mean_of(answer.mean for answer in dialogue.seconds if answer.author != records.HUMAN)


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
    known, unscored = list(dialogues), 0
    scored: dict[Kind, list[tuple[Fraction, str]]] = {
        kind: [] for kind in product(CATEGORIES, TYPES)
    }
    for dialogue in known:
        score = difficulty(dialogue)
        if score is None:
            unscored += 1
        else:
            scored[dialogue.category, dialogue.turn2_type].append((score, dialogue.id))
    _check_kinds(scored, per_category // 2, unscored)
    generator = random.Random(seed)  # noqa: S311 - not for secrets
    chosen: set[str] = set()
    for members in scored.values():
        chosen.update(_chosen_ids(members, version, per_category // 2, generator))
    return Light(version, tuple(each for each in known if each.id in chosen), unscored)


def _chosen_ids(
    members: Sequence[tuple[Fraction, str]], version: Version, count: int, generator: random.Random
) -> list[str]:
    if version == "lite":
        return generator.sample(sorted(dialogue_id for _, dialogue_id in members), count)
    sign = -1 if version == "easy" else 1
    ordered = sorted((sign * score, dialogue_id) for score, dialogue_id in members)
    return [dialogue_id for _, dialogue_id in ordered[:count]]


def _check_kinds(
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

Member = tuple[Dialogue, Answer]
"""An answer with the dialogue that it belongs to."""

_MEANS = {
    "human": pl.Float64,
    "human_scored": pl.Int64,
    "judge": pl.Float64,
    "judge_scored": pl.Int64,
}
_LIGHT = {"version": pl.String, "category": pl.String, "dialogues": pl.Int64, **_MEANS}
_BY_AUTHOR = {"author": pl.String, "category": pl.String, "answers": pl.Int64}
_SHOWN_VERSIONS: tuple[Version, ...] = ("easy", "hard", "lite")  # the order of the paper's table


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
    rows = []
    for light in sorted(versions, key=lambda light: _SHOWN_VERSIONS.index(light.version)):
        for category in CATEGORIES:
            members = [d for d in light.dialogues if d.category == category]
            human = [mean_of(answer.mean for answer in each.seconds) for each in members]
            judge = [mean_of(answer.judge for answer in each.seconds) for each in members]
            rows.append((light.version, category, len(members), *_mean(human), *_mean(judge)))
    return pl.DataFrame(rows, schema=_LIGHT, orient="row")


def answer_scores(dialogues: Iterable[Dialogue], turn: Turn) -> pl.DataFrame:
    """Returns table 3 or 4: mean scores of first answers (each counted once) or of second ones.

    One row per author (people last) and category: `author`, `category`, `answers`, `human` (the mean over
    answers of each answer's mean human score), `human_scored` (answers with human scores), `judge`,
    `judge_scored`.
    """
    rows = [
        (
            *place,
            *_mean([answer.mean for answer in mine]),
            *_mean([answer.judge for answer in mine]),
        )
        for place, mine in _by_author(dialogues, turn)
    ]
    return pl.DataFrame(rows, schema={**_BY_AUTHOR, **_MEANS}, orient="row")


def answer_lengths(dialogues: Iterable[Dialogue], turn: Turn) -> pl.DataFrame:
    """Returns table 12 or 13: mean lengths of first answers (each counted once) or of second ones.

    In code points; one row per author and category: `author`, `category`, `answers`, `length`.
    """
    rows = [
        (*place, _mean([Fraction(len(answer.text)) for answer in mine])[0])
        for place, mine in _by_author(dialogues, turn)
    ]
    return pl.DataFrame(rows, schema={**_BY_AUTHOR, "length": pl.Float64}, orient="row")


def answers_of_turn(dialogues: Iterable[Dialogue], turn: Turn) -> list[Member]:
    """Returns the second answers, or every first answer once, although it may stand in several dialogues.

    First answers are the same if category, first user turn, text and author are. The scores are those of
    the first dialogue that has any. Raises `SettingsError` for another turn.
    """
    if turn not in (1, 2):
        raise SettingsError(f"invalid turn {turn}: expected 1 or 2")
    if turn == 2:
        return [(dialogue, answer) for dialogue in dialogues for answer in dialogue.seconds]
    members: dict[tuple[str, str, str, str], Member] = {}
    for dialogue in dialogues:
        first = dialogue.first
        key = (dialogue.category, dialogue.user1, first.text, first.author)
        earlier, known = members.setdefault(key, (dialogue, first))
        human = known.human or first.human
        judge = first.judge if known.judge is None else known.judge
        members[key] = earlier, Answer(first.author, first.text, human, judge)
    return list(members.values())


def _by_author(
    dialogues: Iterable[Dialogue], turn: Turn
) -> list[tuple[tuple[str, str, int], list[Answer]]]:
    """Returns the answers of every author in every category, after both names and the number."""
    by_kind: dict[Kind, list[Answer]] = {}
    for dialogue, answer in answers_of_turn(dialogues, turn):
        by_kind.setdefault((answer.author, dialogue.category), []).append(answer)
    kinds = product(records.sorted_authors(author for author, _ in by_kind), CATEGORIES)
    answers = [(kind, by_kind.get(kind, [])) for kind in kinds]
    return [((*kind, len(mine)), mine) for kind, mine in answers]


def _mean(values: Sequence[Fraction | None]) -> tuple[float | None, int]:
    """Returns the mean, correctly rounded, and the number of values."""
    known = [value for value in values if value is not None]
    mean = mean_of(known)
    return None if mean is None else float(mean), len(known)
