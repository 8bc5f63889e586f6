"""Runs, tables and samples with made numbers, and every figure drawn of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from pfgen_rs import stats
from pfgen_rs.report import plots


def runs(count: int = 5, **changes: Any) -> pl.DataFrame:
    """Runs with numbers that are all different."""
    random = np.random.default_rng(count)
    score = np.sort(random.uniform(0.1, 1.0, count))[::-1]
    columns: dict[str, Any] = {
        "run": [f"result/m{i}/abcdef0" for i in range(count)],
        "model": [f"org/m{i}-step_{100 * (i + 1)}" for i in range(count)],
        "mode": [("completion", "chat", "qa", "system", None)[i % 5] for i in range(count)],
        "score": score,
        "fluency": random.uniform(0, 1.2, count),
        "truthfulness": random.uniform(0, 1, count),
        "helpfulness": random.uniform(0, 1, count),
        "length": random.uniform(20, 300, count),
        "score_low": score - 0.05,
        "score_high": score + 0.04,
        "rank_low": np.arange(1, count + 1),
        "rank_high": np.arange(1, count + 1) + 1,
        **changes,
    }
    return pl.DataFrame(columns).with_columns(pl.col("model").alias("name"))


def sample(questions: int = 3, trials: int = 6) -> stats.Sample:
    random = np.random.default_rng(questions)
    ids = tuple(f"Q{i}" for i in range(questions))
    values = {name: list(random.uniform(0, 1, (questions, trials))) for name in stats.METRICS}
    return stats.Sample("m", ids, dict.fromkeys(ids), values)


def question_table(table: pl.DataFrame) -> pl.DataFrame:
    rows = [(name, f"Q{i}", 0.1 * i) for name in table["name"] for i in range(4)]
    return pl.DataFrame(rows, schema=["name", "question_id", "score"], orient="row")


def source_table(table: pl.DataFrame) -> pl.DataFrame:
    random = np.random.default_rng(1)
    rows = [
        (name, question, source, *random.uniform(0, 1, 3))
        for name in table["name"]
        for question, sources in (("Q1", "AB"), ("Q2", "AB"), ("Q3", "A"), ("Q4", "ABC"))
        for source in sources
    ]
    columns = ["name", "question_id", "source", "fluency", "truthfulness", "average"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def response_table(prefix: str = "Q") -> pl.DataFrame:
    random = np.random.default_rng(2)
    count = 60
    names = ("average", "fluency", "truthfulness", "helpfulness")
    return pl.DataFrame(
        {
            "question_id": [f"{prefix}{i % 3}" for i in range(count)],
            "length": random.integers(1, 300, count),
            **{name: random.uniform(0, 1.1, count) for name in names},
        }
    )


def dated(table: pl.DataFrame) -> pl.DataFrame:
    """Adds facts about models, as far as they are known."""
    days = pl.date_ranges(pl.date(2023, 1, 1), pl.date(2023, 1, 1)).list.first()
    places = pl.int_range(pl.len())
    return table.with_columns(
        released=days + pl.duration(days=40 * places),
        parameters=pl.when(places % 5 != 3).then(0.7 * 3.0 ** (places % 7)),
        family=pl.format("f{}", places % 3),
        price=0.5 + places,
        currency=pl.lit("USD"),
    )


def curves(count: int = 3) -> dict[str, pl.DataFrame]:
    random = np.random.default_rng(count)
    steps = np.arange(0, 500, 100)
    bounds = {"score_low": pl.col("score") - 0.1, "score_high": pl.col("score") + 0.1}
    return {
        f"lr{i}-漢字": pl.DataFrame({"step": steps, "score": random.uniform(0, 1, 5)}).with_columns(
            **bounds
        )
        for i in range(count)
    }


def panels(table: pl.DataFrame, **look: Any) -> Figure:
    means = plots.category_intervals(question_table(table), CATEGORIES)
    return plots.panels(table, means, **look)


CATEGORIES = {"Q0": "math", "Q1": "arts", "Q2": "math", "Q3": None}
# Each figure, of runs and with what every figure takes.
FIGURES: dict[str, Callable[..., Figure]] = {
    "metrics": plots.metric_pairs,
    "length": lambda table, **look: plots.scatter(table, "length", **look),
    "intervals": plots.intervals,
    "steps": plots.score_steps,
    "size": lambda t, **look: plots.scatter(dated(t), "parameters", **look),
    "released": lambda t, **look: plots.scatter(dated(t), "released", "price", **look),
    "panels": panels,
    "questions": lambda t, **look: plots.question_map(plots.clustered(question_table(t)), **look),
    "learning": lambda _, **look: plots.learning_curves(curves(), **look),
    "sources": lambda table, **look: plots.source_pairs(source_table(table), table, **look),
    "categories": lambda t, **look: plots.category_map(
        plots.category_means(question_table(t), CATEGORIES), **look
    ),
    "convergence": lambda _, **look: plots.convergence([sample(), sample()], **look),
    "spread": lambda _, **look: plots.distributions(response_table(), **look),
}
