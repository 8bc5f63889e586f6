"""Scores of judges against people's (table 5), lengths of answers, and other judges; means of ratings."""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any

from pfgen_rs.judge.agreement.measures import cohen_kappa
from pfgen_rs.judge.dialogues import records, tables
from pfgen_rs.judge.dialogues.fastchat_files import Ratings
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.stats import correlation

ALL = "all"
"""Label of the row over all authors."""
MEAN = "mean"
"""Label of the mean over all ratings."""
OVERALL = "overall"
"""Label of the mean of the categories' means."""
RESAMPLES = 1000
_CORRELATIONS = ("pearson", "spearman")
_BOUNDS = ("", "_low", "_high")
_FISHER = ("_fisher_low", "_fisher_high")
_AUTHOR = {"author": pl.String, "answers": pl.Int64, "user_turns": pl.Int64}


def _numbers(*names: str) -> dict[str, type[pl.DataType]]:
    return dict.fromkeys(names, pl.Float64)


def human_judge_correlation(
    dialogues: Iterable[records.Dialogue],
    *,
    turn: records.Turn = 2,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> pl.DataFrame:
    """Returns table 5: Pearson's and Spearman's correlation of mean human score and judge's score by author.

    Over answers to the second turn or, with `turn=1`, to the first (each once) that have both scores. One
    row per author and one for all: `author`, `answers`, `user_turns` (distinct first user turns), and for
    both correlations the value, `_low` and `_high` (bootstrap over first user turns), `_fisher_low` and
    `_fisher_high` (Fisher's interval, as if answers were independent); null where undefined.
    """

    def both(answer: records.Answer) -> tuple[float, float] | None:
        if answer.mean is None or answer.judge is None:
            return None
        return float(answer.mean), float(answer.judge)

    def row(x: Floats, y: Floats, groups: Any, counts: Any) -> dict[str, float | None]:
        drawn = correlation.resampled_moments(x, y, groups, counts).pearson
        ranked = correlation.resampled_spearman(x, y, groups, counts)
        return _correlations(x, y, drawn, ranked)

    rows = _rows_by_author(dialogues, turn, both, row, resamples, seed)
    names = [f"{name}{bound}" for name in _CORRELATIONS for bound in (*_BOUNDS, *_FISHER)]
    return pl.DataFrame(rows, schema={**_AUTHOR, **_numbers(*names)})


def length_bias(
    dialogues: Iterable[records.Dialogue],
    *,
    turn: records.Turn = 2,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> pl.DataFrame:
    """Returns how much more than people the judge likes long answers, by author and over all.

    Slope (least squares) and Spearman's correlation of judge's score minus mean human score on the natural
    logarithm of the length in code points, each with its interval (bootstrap over first user turns). Empty
    answers, and those without both scores, are left out. Columns: `author`, `answers`, `user_turns`, `slope`,
    `slope_low`, `slope_high`, `spearman`, `spearman_low`, `spearman_high`.
    """

    def both(answer: records.Answer) -> tuple[float, float] | None:
        if answer.mean is None or answer.judge is None or not answer.text:
            return None
        return math.log(len(answer.text)), float(answer.judge - answer.mean)

    def row(x: Floats, y: Floats, groups: Any, counts: Any) -> dict[str, float | None]:
        slope = float(correlation.moments(x, y).slope[0]) if len(x) > 1 and np.ptp(x) > 0 else None
        slopes = correlation.resampled_moments(x, y, groups, counts).slope
        ranked = correlation.resampled_spearman(x, y, groups, counts)
        return {
            **_bounded("slope", slope, slopes),
            **_bounded("spearman", correlation.spearman(x, y), ranked),
        }

    rows = _rows_by_author(dialogues, turn, both, row, resamples, seed)
    names = [f"{name}{bound}" for name in ("slope", "spearman") for bound in _BOUNDS]
    return pl.DataFrame(rows, schema={**_AUTHOR, **_numbers(*names)})


def _rows_by_author(
    dialogues: Iterable[records.Dialogue],
    turn: records.Turn,
    both: Callable[[records.Answer], tuple[float, float] | None],
    row: Callable[[Floats, Floats, Any, Any], dict[str, float | None]],
    resamples: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Returns a row per author and one for all; resamples are the same for all authors of the same size."""
    values: dict[str, list[tuple[float, float, str]]] = {}
    for dialogue, answer in tables.answers_of_turn(dialogues, turn):
        pair = both(answer)
        if pair is not None:
            values.setdefault(answer.author, []).append((*pair, dialogue.user1))
    parts = {author: values[author] for author in records.sorted_authors(values)}
    labelled = list(parts.items())
    if len(parts) > 1:
        labelled.append((ALL, [each for part in parts.values() for each in part]))
    rows = []
    for author, part in labelled:
        x, y = (np.array([each[i] for each in part], dtype=np.float64) for i in (0, 1))
        numbers = {turn: i for i, turn in enumerate(dict.fromkeys(each[2] for each in part))}
        groups = np.array([numbers[each[2]] for each in part], dtype=np.int64)
        counts = correlation.group_resamples(len(numbers), resamples, seed)
        about = {"author": author, "answers": len(part), "user_turns": len(numbers)}
        rows.append({**about, **row(x, y, groups, counts)})
    return rows


# Ratings in FastChat's format


_MEANS = {
    "judge": pl.String,
    "model": pl.String,
    "category": pl.String,
    "ratings": pl.Int64,
    "invalid": pl.Int64,
    "mean": pl.Float64,
}
_AGREEMENT: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("judge_a", "judge_b", "over"), pl.String),
    **dict.fromkeys(("items", "questions"), pl.Int64),
    **_numbers(*(f"{name}{bound}" for name in (*_CORRELATIONS, "kappa") for bound in _BOUNDS)),
    **_numbers(*(f"{name}{bound}" for name in _CORRELATIONS for bound in _FISHER)),
}


def model_means(ratings: Ratings, categories: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Returns mean ratings of each model by each judge: over everything, by turn and by category.

    `categories`: by question id; questions without one are in the mean over everything and by turn only.
    One row per judge, model and category, where `category` is "mean", "turn 1", …, a category or, where there
    are categories, "overall" (the mean of their means): `ratings` (valid ones), `invalid`, `mean`. Models by
    descending mean.
    """
    known = categories or {}
    scores: dict[tuple[str, str], dict[str, list[float | None]]] = {}
    for row in ratings.frame.iter_rows(named=True):
        mine = scores.setdefault((row["judge"], row["model"]), {})
        category = known.get(row["question_id"])
        for column in (MEAN, f"turn {row['turn']}", *([category, OVERALL] if category else [])):
            mine.setdefault(column, []).append(row["score"])
    turns = sorted({int(turn) for turn in ratings.frame["turn"].unique()})
    kinds = list(dict.fromkeys(known.values()))
    columns = [MEAN, *(f"turn {turn}" for turn in turns), *kinds, *([OVERALL] if kinds else [])]
    judges = list(dict.fromkeys(judge for judge, _ in scores))
    order = sorted(
        scores,
        key=lambda key: (judges.index(key[0]), -(mean_rating(scores[key][MEAN]) or 0.0), key[1]),
    )
    rows = []
    for judge, model in order:
        mine = scores[judge, model]
        means = [mean_rating(mine.get(each, ())) for each in kinds]
        for column in columns:
            given = mine.get(column, [])
            invalid = given.count(None)
            mean = mean_rating(means if column == OVERALL else given)
            rows.append((judge, model, column, len(given) - invalid, invalid, mean))
    return pl.DataFrame(rows, schema=_MEANS, orient="row")


def mean_rating(ratings: Iterable[float | None]) -> float | None:
    """Returns the mean of the valid ratings; `None` without any."""
    valid = [rating for rating in ratings if rating is not None]
    return math.fsum(valid) / len(valid) if valid else None


def judge_agreement(ratings: Ratings, *, resamples: int = RESAMPLES, seed: int = 0) -> pl.DataFrame:
    """Returns the agreement of every two judges, over models and over items.

    An item is a model's answer to one turn of a question. Items that one of the two judges did not rate, or
    rated invalidly, are left out; several ratings of an item by a judge count as their mean. Over "models",
    the correlations are those of the models' means, and `kappa` is null. Over "items", `kappa` is Cohen's
    with quadratic weights. `_low` and `_high`: bootstrap over questions, with all models' answers to a
    question together; `_fisher_low` and `_fisher_high`: Fisher's interval, which takes models (or items) as
    independent.
    """
    items = (
        ratings.frame.drop_nulls("score")
        .group_by("question_id", "model", "turn", "judge", maintain_order=True)
        .agg(pl.col("score").mean())
    )
    rows = []
    for a, b in combinations(ratings.frame["judge"].unique(maintain_order=True).to_list(), 2):
        both = items.filter(pl.col("judge") == a).join(
            items.filter(pl.col("judge") == b),
            on=["question_id", "model", "turn"],
            suffix="_b",
            maintain_order="left",
        )
        rows += _agreement_rows(a, b, both, resamples, seed)
    return pl.DataFrame(rows, schema=_AGREEMENT, orient="row")


def _agreement_rows(
    a: str, b: str, both: pl.DataFrame, resamples: int, seed: int
) -> list[dict[str, Any]]:
    if both.is_empty():
        return []
    questions, groups = np.unique(both["question_id"].to_numpy(), return_inverse=True)
    counts = correlation.group_resamples(len(questions), resamples, seed)
    x, y = both["score"].to_numpy(), both["score_b"].to_numpy()
    about = {"judge_a": a, "judge_b": b, "questions": len(questions)}
    means, drawn = _model_means(both, groups, counts)
    over_models = [
        [_correlation(measure, *each) for each in zip(*drawn, strict=True)]
        for measure in (correlation.pearson, correlation.spearman)
    ]
    resampled = np.array(over_models, dtype=np.float64)
    items = correlation.resampled_moments(x, y, groups, counts)
    ranked = correlation.resampled_spearman(x, y, groups, counts)
    kappa = cohen_kappa(x, y, weights="quadratic")
    return [
        {
            **about,
            "over": "models",
            "items": means.shape[1],
            **_correlations(means[0], means[1], resampled[0], resampled[1]),
        },
        {
            **about,
            "over": "items",
            "items": len(both),
            **_correlations(x, y, items.pearson, ranked),
            **_bounded("kappa", None if math.isnan(kappa) else kappa, items.quadratic_kappa),
        },
    ]


def _model_means(
    both: pl.DataFrame, groups: NDArray[np.int64], counts: NDArray[np.int32]
) -> tuple[Floats, Floats]:
    """Returns the models' means by both judges, shape (2, models), and resampled (2, resamples, models)."""
    names, models = np.unique(both["model"].to_numpy(), return_inverse=True)
    shape = len(names), counts.shape[1]
    places = models * shape[1] + groups

    def sums(values: Any = None) -> Floats:
        each = np.bincount(places, values, minlength=shape[0] * shape[1])
        return each.reshape(shape).astype(np.float64)

    def drawn(sums: Floats) -> Floats:
        # Not a matrix product: its last digits depend on the number of threads.
        return np.asarray(np.einsum("rg,mg->rm", counts.astype(np.float64), sums))

    size, scores = sums(), [sums(both[name].to_numpy()) for name in ("score", "score_b")]
    with np.errstate(invalid="ignore"):
        means = [each.sum(axis=1) / size.sum(axis=1) for each in scores]
        return np.array(means), np.array([drawn(each) / drawn(size) for each in scores])


def _correlation(measure: Any, one: Floats, other: Floats) -> float:
    """Returns the correlation over the models that a resample has."""
    known = np.isfinite(one) & np.isfinite(other)
    value = measure(one[known], other[known])
    return math.nan if value is None else value


def _correlations(x: Floats, y: Floats, drawn: Floats, ranked: Floats) -> dict[str, float | None]:
    """Returns both correlations with bounds of their resamples, `drawn` and `ranked`, and Fisher's."""
    r, rho = correlation.pearson(x, y), correlation.spearman(x, y)
    low, high = correlation.fisher_interval(r, len(x))
    low_rank, high_rank = correlation.fisher_interval(rho, len(x), ranks=True)
    return {
        **_bounded("pearson", r, drawn),
        "pearson_fisher_low": low,
        "pearson_fisher_high": high,
        **_bounded("spearman", rho, ranked),
        "spearman_fisher_low": low_rank,
        "spearman_fisher_high": high_rank,
    }


def _bounded(name: str, value: float | None, drawn: Floats) -> dict[str, float | None]:
    low, high = (None, None) if value is None else correlation.percentile_interval(drawn)
    return {name: value, f"{name}_low": low, f"{name}_high": high}
