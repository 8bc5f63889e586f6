"""Columns that figures draw: of the leaderboard, facts about models, and means by category of questions."""

from collections.abc import Mapping, Sequence

from pfgen_rs.drawing.style import Look
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import pl
from pfgen_rs.report.plots.inputs import PlotRequest, drawable
from pfgen_rs.report.site import board
from pfgen_rs.stats.checks import two_sided_quantile

CATEGORY = "category:"
"""What names of columns with the means of a category of questions begin with."""


def table_of(request: PlotRequest, keys: Sequence[str]) -> "pl.DataFrame":
    """Returns the runs with facts about their models and, if these keys are among them, means by category.

    Raises `PlotError` for keys of no column.
    """
    runs = request.inputs.runs
    known = [request.known.get(run, {}) for run in runs["run"]]
    more = dict.fromkeys([*board.LABELS, *(key for row in known for key in row)])
    table = runs.with_columns(
        pl.Series(
            key, [getattr(row.get(key), "value", row.get(key)) for row in known], strict=False
        )
        for key in more
        if key not in runs.columns
    )
    if table["currency"].count():  # prices in others cannot be compared
        usual = table["currency"].drop_nulls().mode().min()
        table = table.with_columns(pl.when(currency=usual).then("price").alias("price"))
    if "num_trials" in runs.columns:
        table = table.with_columns(trials="num_trials")
    for key in (key for key in keys if key.startswith(CATEGORY)):
        means = category_intervals(*request.category_scores[:2])
        own = means.filter(pl.col("category") == key.removeprefix(CATEGORY)).drop("category")
        if len(own):
            own = own.rename({name: name.replace("score", key) for name in own.columns})
            table = table.join(own, on="name", how="left", maintain_order="left")
    for key in keys:
        if key not in table.columns:
            usable = (
                n for n, kind in table.schema.items() if kind.is_numeric() or kind.is_temporal()
            )
            expected = ", ".join(dict.fromkeys([*usable, f"{CATEGORY}NAME"]))
            raise PlotError(f"unknown column {key!r}: expected one of {expected}")
    return table


def label(key: str, look: Look, width: float = 60) -> str:
    """Returns what a column is called, as on pages; a name of strangers stays as it is."""
    if key.startswith(CATEGORY):
        text = board.category_label(key.removeprefix(CATEGORY))
    else:
        text = board.LABELS.get(key, (key, key))
    return look.name(text[look.language != "ja"], width)


def category_means(
    scores: "pl.DataFrame",
    categories: Mapping[str, str | None],
    overall: Mapping[str, float] | None = None,
) -> "pl.DataFrame":
    """Returns the mean score of each run by category, and over all questions.

    `scores`: columns `name`, `question_id`, `score`. `categories`: by question id, in the order of the
    columns; questions without one count as `?`. `overall`: published scores of runs by name (default: the
    mean over questions). One row per run, by descending `all`; one column, `category:NAME`, per category.
    """
    rows = drawable(scores, ["name"], ["score"]).group_by("name", maintain_order=True)
    known = pl.col("name").replace_strict(dict(overall or {}), default=pl.col("score"))
    parts = category_intervals(scores, categories).with_columns(
        category=CATEGORY + pl.col("category")
    )
    wide = parts.pivot("category", index="name", values="score")
    table = (
        rows.agg(pl.col("score").mean())
        .select("name", all=known)
        .join(wide, on="name", maintain_order="left")
    )
    return table.sort("all", descending=True, maintain_order=True)


def category_intervals(
    scores: "pl.DataFrame", categories: Mapping[str, str | None]
) -> "pl.DataFrame":
    """Returns the mean of each run and category with its 95 % interval, Student's t over questions.

    Arguments as of `category_means`. Columns `name`, `category`, `score`, `score_low`, `score_high`; bounds
    are null for one question.
    """
    named = {key: name or "?" for key, name in categories.items()}
    order = {name: place for place, name in enumerate(dict.fromkeys(named.values()))}
    found = drawable(scores, ["name", "question_id"], ["score"]).with_columns(
        category=pl.col("question_id").replace_strict(named, default="?", return_dtype=pl.String)
    )
    table = found.group_by("category", "name", maintain_order=True).agg(
        pl.col("score").mean(), n=pl.len(), error=pl.col("score").std() / pl.len().sqrt()
    )
    reach = pl.col("error") * pl.col("n").replace_strict(
        {n: two_sided_quantile(0.95, n - 1) if n > 1 else None for n in table["n"].unique()},
        return_dtype=pl.Float64,
    )
    bounds = {"score_low": pl.col("score") - reach, "score_high": pl.col("score") + reach}
    placed = table.sort(pl.col("category").replace_strict(order, default=None), maintain_order=True)
    return placed.select("name", "category", "score", **bounds)
