"""What a comparison of runs finds: every pair with its tests, and all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import polars as pl

from pfgen_rs.equality import EqualByFields
from pfgen_rs.errors import InputError
from pfgen_rs.io import notebook
from pfgen_rs.io.counted import counted
from pfgen_rs.io.safe_text import shortened
from pfgen_rs.stats.estimates import Estimate
from pfgen_rs.stats.permutation import shown_p

__all__ = ["Comparison", "Pair", "as_html"]

_SHOWN = 5  # runs in a `repr`


@dataclass(frozen=True)
class Pair:
    """The comparison of two runs in one metric.

    `difference`: mean over the questions of a's mean minus b's. `se`: its standard error over questions.
    `low`, `high`: interval of the difference from the bootstrap over questions and trials or, with Student's
    t over questions, difference ± t·se (see `compare`). `p`: p-value of
    the sign-flip permutation test. `p_holm`: the same, corrected for the `family` of pairs in this metric
    (see `compare`). `minimum_detectable`: the difference that a test of this pair alone has 80 % power to
    detect: (t + z)·se, with t the quantile for the level of the test with Q - 1 degrees of freedom and z the
    normal quantile for the power (H. S. Bloom, "Minimum detectable effects", Evaluation Review 19 (1995);
    Miller 2024, section 5).
    """

    a: str
    b: str
    metric: str
    difference: float
    se: float
    low: float
    high: float
    p: float
    p_holm: float
    family: int
    minimum_detectable: float

    def turned(self) -> Pair:
        """Returns the same comparison with b first."""
        return replace(
            self, a=self.b, b=self.a, difference=-self.difference, low=-self.high, high=-self.low
        )

    def better_first(self) -> Pair:
        """Returns the same comparison with the better run first."""
        return self.turned() if self.difference < 0 else self


@dataclass(frozen=True, eq=False)
class Comparison(EqualByFields):
    """Two or more runs, compared over the questions that all of them answer.

    `runs`: names, in the given order. `pairs`: every two runs, in each metric. `estimates`, `ranks`: by
    metric, one value per run. A rank range is the best and worst rank among models that the pairwise tests
    cannot exclude; it is `None` for system runs next to models. `smallest_p`: the smallest p-value that the
    permutations can resolve, which stands for all smaller ones; 0 if they are exact. `left_out`: questions
    that only some runs answer. `questions`, `categories`: see `pfgen_rs.stats.tables`. `notes`: remarks for
    the reader.
    """

    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    level: float
    compared: tuple[str, ...]
    left_out: tuple[str, ...]
    estimates: dict[str, list[Estimate]] = field(repr=False)
    pairs: list[Pair]
    ranks: dict[str, list[tuple[int, int] | None]]
    questions: pl.DataFrame = field(repr=False)
    categories: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()
    signature: str | None = None
    smallest_p: float = 0.0

    def __repr__(self) -> str:
        """Show the means of the first few runs in the first metric, and the signature."""
        metric = self.metrics[0]
        means = [
            f"{shortened(run)!r}: {estimate.mean:.4f}"
            for run, estimate in zip(self.runs[:_SHOWN], self.estimates[metric], strict=False)
        ]
        more = [f"and {len(self.runs) - _SHOWN} more"] if len(self.runs) > _SHOWN else []
        over = counted(len(self.compared), "question")
        shown = f"{metric} over {over}: {', '.join(means + more)}"
        return f"{type(self).__name__}({shown}; signature={self.signature!r})"

    def pair(self, a: str, b: str, metric: str = "average") -> Pair:
        """Returns the comparison of two runs, in this order. Raises `InputError` if there is none."""
        for pair in self.pairs:
            if (pair.a, pair.b, pair.metric) == (a, b, metric):
                return pair
        raise InputError(f"no comparison of {a!r} with {b!r} in {metric!r}, in this order")

    def _repr_html_(self) -> str:
        """For notebooks: runs and pairs in the first metric."""
        return as_html(self, self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        return {
            "runs": list(self.runs),
            "metrics": list(self.metrics),
            "level": self.level,
            "compared": list(self.compared),
            "left_out": list(self.left_out),
            "notes": list(self.notes),
            "signature": self.signature,
            "smallest_p": self.smallest_p,
            "estimates": {
                metric: {run: each.to_dict() for run, each in zip(self.runs, found, strict=True)}
                for metric, found in self.estimates.items()
            },
            "pairs": [asdict(pair) for pair in self.pairs],
            "ranks": {
                metric: {
                    run: None if found is None else list(found)
                    for run, found in zip(self.runs, ranks, strict=True)
                }
                for metric, ranks in self.ranks.items()
            },
            "questions": self.questions.to_dicts(),
            "categories": self.categories.to_dicts(),
        }


def as_html(found: Comparison, notes: Sequence[str]) -> str:
    """HTML for notebooks: runs with intervals and pairs with tests in the first metric, and notes."""
    metric, interval = found.metrics[0], f"{found.level * 100:g} % interval"
    each = zip(found.runs, found.ranks[metric], found.estimates[metric], strict=True)
    runs = [
        (
            name,
            _compared_rank_range(ranks),
            estimate.mean,
            _compared_bounds_text(estimate.low, estimate.high),
        )
        for name, ranks, estimate in sorted(each, key=lambda row: -row[2].mean)
    ]
    of_metric = (pair.better_first() for pair in found.pairs if pair.metric == metric)
    pairs = [
        (p.a, p.b, p.difference, _compared_bounds_text(p.low, p.high), _compared_p_value(p, found))
        for p in of_metric
    ]
    return notebook.document(
        [
            notebook.heading(f"{metric}, {counted(len(found.compared), 'question')}"),
            notebook.table(("run", "rank", "mean", interval), runs),
            notebook.table(("run", "minus", "difference", interval, "p (Holm)"), pairs),
            *map(notebook.paragraph, notes),
            notebook.paragraph(found.signature or ""),
        ]
    )


def _compared_rank_range(ranks: tuple[int, int] | None) -> str | None:
    return None if ranks is None else "–".join(dict.fromkeys(map(str, ranks)))


def _compared_bounds_text(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else f"[{low:.4f}, {high:.4f}]"


def _compared_p_value(pair: Pair, found: Comparison) -> str:
    return shown_p(pair.p_holm, found.smallest_p * pair.family)
