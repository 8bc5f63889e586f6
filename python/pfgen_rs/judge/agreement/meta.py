"""Judging judges: their figures on pairs whose right letters are known, quotients of sums (judging 10)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted
from pfgen_rs.judge.agreement.tables import frame, quotient
from pfgen_rs.judge.decisions import needed_columns
from pfgen_rs.lazy import np, pl
from pfgen_rs.questions.left_out import maker_key
from pfgen_rs.stats import checks, resampling

_POINTS = 4
"""Of a win; a tie has half, so that the mean of several gold letters is a whole number."""
_UNITS = {"preference": 2, "own": _POINTS, "own_gold": _POINTS}
"""How much of the number below the line a pair or judgment has in figures where it is not 1."""

_NEEDED = (
    *("pair", "question_id", "task", "model_a", "model_b", "length_a", "length_b"),
    *("v1", "v2", "tie", "probability", "judged_1", "judged_2"),
)
Gold = Mapping[str, Collection[str]]


@dataclass(frozen=True, eq=False)
class MetaEvaluation:
    """Figures of judges. Undefined numbers are null; a null `task` stands for all pairs.

    `judges`: a row a `judge`: `pairs` that it judged, their `questions`, how many have `gold` letters, how
    many pairs are `missing`, and means of a judgment's tokens, where they are known: `prompt_tokens`,
    `completion_tokens`, with the `cost` of 1,000 judgments.
    `figures`: by `judge`, `task` and `figure` (judging 10): `n` judgments, pairs or questions,
    `count` of them, `value`, and its bounds at `level`: bootstrap over questions.
    `rules`: whether the judges are trivial rules, since there were no judgments. `notes`: remarks.
    """

    judges: pl.DataFrame
    figures: pl.DataFrame = field(repr=False)
    level: float
    resamples: int
    seed: int
    currency: str = ""
    rules: bool = False
    notes: tuple[str, ...] = ()

    def of(self, figure: str, task: str | None = None) -> dict[str, dict[str, Any]]:
        """Returns a figure's row by judge, of those that have it."""
        rows = self.figures.filter(figure=figure).filter(pl.col("task").eq_missing(task))
        return {row["judge"]: row for row in rows.iter_rows(named=True)}

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON types; `judges` and `figures` are lists of rows."""
        tables = {name: getattr(self, name).to_dicts() for name in ("judges", "figures")}
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**values, **tables, "notes": list(self.notes)}


def meta(
    decisions: Mapping[str, pl.DataFrame],
    gold: Gold,
    *,
    models: Mapping[str, str] | None = None,
    level: float = 0.95,
    resamples: int = resampling.RESAMPLES,
    seed: int = 0,
) -> MetaEvaluation:
    """Returns how well judges decide pairs whose right letters are known, and how they are biased.

    `decisions`: of each judge by name, as `VerdictFolder.decisions` has them; pairs without a judgment are
    left out and counted. `gold`: right letters by id of the pair, any of which is right; pairs without any
    count for what needs none. `models`: the judges' models, whose families own answers are told by (default:
    the names).

    Raises `InputError` for frames that lack columns and judges without judgments, `SettingsError` for invalid
    settings. Time: linear in pairs, plus the bootstrap over kinds of questions. Needs scipy (extra `judge`).
    """
    checks.check_level(level)
    checks.check_resampling(resamples, seed)
    about, tables, notes = [], [], list[str]()
    letters = {pair: "".join(right) for pair, right in gold.items()}
    for name, table in decisions.items():
        needed_columns(table, _NEEDED, f"decisions of {name}")
        judged = table.filter(pl.col("judged_1") | pl.col("judged_2"))
        if judged.is_empty():
            raise InputError(f"judge {name!r:.80} has judged none of the pairs")
        rows = _prepared(judged, letters, (models or {}).get(name, name))
        found = _figures(rows, level, resamples, seed).with_columns(judge=pl.lit(name))
        tables.append(found.select("judge", pl.exclude("judge")))
        counts = (len(rows), rows["question_id"].n_unique(), int((rows["gold"] != "").sum()))
        about.append((name, *counts, len(table) - len(rows)))
        if counts[2] < len(rows):
            lacking = "no pair has" if not counts[2] else f"{len(rows) - counts[2]:,} pairs have no"
            notes.append(f"{name}: {lacking} gold letters, which accuracies need")
        if len(rows) < len(table):
            notes.append(f"{name}: {counted(len(table) - len(rows), 'pair')} not judged: left out")
    numbers = ("pairs", "questions", "gold", "missing")
    judges = frame(about, texts=("judge",), counts=numbers)
    return MetaEvaluation(judges, pl.concat(tables), level, resamples, seed, notes=tuple(notes))


_NO = "-"
"""A letter that is missing."""


def _prepared(decisions: pl.DataFrame, gold: Mapping[str, str], judge: str) -> pl.DataFrame:
    """Returns the columns that figures are made of: letters, `-` for none, and right letters as a text.

    `longer` and `own`: the letter of the longer answer, and of the one by the judge's family, if one is.
    """
    mine, names = maker_key(judge), {*decisions["model_a"], *decisions["model_b"]}
    is_own = [pl.col(f"model_{x}").is_in([n for n in names if maker_key(n) == mine]) for x in "ab"]
    length_a, length_b = pl.col("length_a"), pl.col("length_b")

    def letter(a: pl.Expr, b: pl.Expr) -> pl.Expr:
        return pl.when(a).then(pl.lit("A")).when(b).then(pl.lit("B")).otherwise(pl.lit(_NO))

    return decisions.with_columns(
        pl.col("v1", "v2", "tie", "probability").fill_null(_NO),
        gold=pl.col("pair").replace_strict(gold, default="", return_dtype=pl.String),
        longer=letter(length_a > length_b, length_a < length_b),
        own=letter(is_own[0] & ~is_own[1], is_own[1] & ~is_own[0]),
    )


def _quotients(columns: Collection[str]) -> dict[str, tuple[pl.Expr, pl.Expr]]:
    """Returns what each figure counts of a pair, above and below the line."""
    number = pl.sum_horizontal
    v1, v2, gold, own, longer = map(pl.col, ("v1", "v2", "gold", "own", "longer"))
    judged = [pl.col(f"judged_{order}") for order in (1, 2)]
    asked = [each & (gold != "") for each in judged]
    both, valid = asked[0] & asked[1], (v1 != _NO) & (v2 != _NO)

    def right(letter: pl.Expr, among: pl.Expr) -> pl.Expr:
        return among & gold.str.contains(letter, literal=True)

    rights = [right(v1, asked[0]), right(v2, asked[1])]
    # In order 2 the pair's second answer was shown first.
    first, last = (v1 == "A", v2 == "B"), (v1 == "B", v2 == "A")
    won = (first[0] | last[0], first[1] | last[1])
    primacy = valid & ((first[0] & ~last[1]) | (first[1] & ~last[0]))
    recency = valid & ((last[0] & ~first[1]) | (last[1] & ~first[0]))
    # Of several pairs, at the first one.
    question = pl.col("question_id")
    once = question.is_first_distinct() & (pl.len().over(question) > 1)
    all_of = [[once & each.all().over(question) for each in flags] for flags in (rights, asked)]
    unequal, clear = longer != _NO, (longer != _NO) & gold.is_in(["A", "B"])
    has_own, known = [(own != _NO) & (v != _NO) for v in (v1, v2)], (own != _NO) & (gold != "")
    points = [_POINTS * (v == own).cast(int) + _POINTS // 2 * (v == "C") for v in (v1, v2)]
    gold_points = _POINTS * right(own, known).cast(int) + _POINTS // 2 * right(pl.lit("C"), known)
    found = {
        "accuracy_1": (rights[0], asked[0]),
        "accuracy_2": (rights[1], asked[1]),
        "accuracy": (number(rights), number(asked)),
        "both": (rights[0] & rights[1], both),
        "probability": (
            right(pl.col("probability"), both),
            both & (pl.col("probability") != _NO).any(),
        ),
        "tie": (right(pl.col("tie"), both), both),
        "question": (number(all_of[0]), number(all_of[1])),
        "agreement": (valid & (v1 == v2), judged[0] & judged[1]),
        "first": (number(first), number(won)),
        "preference": (number(valid, recency).cast(int) - number(primacy), number(valid, valid)),
        "consistency": (valid & ~primacy & ~recency, valid),
        "primacy": (primacy, valid),
        "recency": (recency, valid),
        "stable_1": (pl.col("stable_1"), pl.col("stable_1").is_not_null()),
        "stable_2": (pl.col("stable_2"), pl.col("stable_2").is_not_null()),
        "longer": (
            number(won[0] & (v1 == longer), won[1] & (v2 == longer)),
            number(won[0] & unequal, won[1] & unequal),
        ),
        "longer_gold": (clear & (gold == longer), clear),
        "own": (
            number(has_own[0] * points[0], has_own[1] * points[1]),
            _POINTS * number(has_own).cast(int),
        ),
        "own_gold": (gold_points // gold.str.len_chars().clip(1), _POINTS * known.cast(int)),
        "invalid": (number(judged[0] & (v1 == _NO), judged[1] & (v2 == _NO)), number(judged)),
    }
    return {name: each for name, each in found.items() if name in columns or "stable" not in name}


def _figures(rows: pl.DataFrame, level: float, resamples: int, seed: int) -> pl.DataFrame:
    """Returns a judge's `figures`."""
    quotients = _quotients(rows.columns)
    counts = rows.with_columns(
        each[side].fill_null(0).cast(float).alias(f"{side} {name}")
        for side in (0, 1)
        for name, each in quotients.items()
    ).select("question_id", pl.col("task").fill_null(""), pl.col("^[01] .*$"))
    has_tasks = rows["task"].null_count() < len(rows)
    tasks = counts.partition_by("task", maintain_order=True) if has_tasks else []
    found = []
    for part in (counts, *tasks):
        task = None if part is counts else part["task"][0]
        by_question = part.drop("task").group_by("question_id", maintain_order=True).sum()
        sums = by_question.drop("question_id").to_numpy()
        drawn = resampling.resampled_values(sums, resamples, seed)
        (_, below), total = np.split(sums, 2, axis=1), np.split(sums.sum(axis=0), 2)
        shares, resampled = quotient(*total), quotient(*np.split(drawn, 2, axis=1))
        number = np.count_nonzero(below, axis=0)
        bounds = resampling.share_bounds(shares, resampled, level, number)
        for place, name in enumerate(quotients):
            if n := int(total[1][place]) // _UNITS.get(name, 1):
                values = [float(each[place]) for each in (shares, *bounds)]
                if name == "preference":  # a share of two times n, from -1 to 1
                    values = [2 * value - 1 for value in values]
                found.append((task, name, n, round(values[0] * n, 6), *values))
    return frame(found, ("task", "figure"), ("n",), ("count", "value", "low", "high"))
