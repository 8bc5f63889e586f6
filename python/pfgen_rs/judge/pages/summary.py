"""The figures at the top of a page of verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from pfgen_rs.judge.agreement.agreed import agree
from pfgen_rs.judge.agreement.result import Agreement
from pfgen_rs.judge.binding import Coverage
from pfgen_rs.judge.decisions import Rule
from pfgen_rs.judge.pages.views import JudgeView, VerdictView

__all__ = ["JudgeSummary", "summaries"]


@dataclass(frozen=True)
class JudgeSummary:
    """What a page says about a judge: its agreement, and rows of tables (`Agreement.to_dict`'s columns)."""

    name: str
    agreement: Agreement
    coverage: Coverage

    @property
    def robustness(self) -> Mapping[str, Any]:
        """Robustness over all pairs."""
        return self.agreement.robustness.filter(pl.col("task").is_null()).to_dicts()[0]

    @property
    def rules(self) -> list[dict[str, Any]]:
        """For each rule the number of decisions, and the concordance of all pairs (mean of the raters)."""
        rows = self.agreement.decisions.to_dicts()
        means = self.agreement.concordance
        if means.is_empty():
            return rows
        means = means.filter(pl.col("task").is_null(), pl.col("rater").is_null())
        found = {row["rule"]: row for row in means.to_dicts()}
        return [{**found.get(row["rule"], {}), **row} for row in rows]


def summaries(view: VerdictView) -> list[JudgeSummary]:
    """Returns the figures of each judge. Raises what `agree` raises."""
    return [
        JudgeSummary(judge.name, _agreement_of(judge, view.humans), judge.coverage)
        for judge in view.judges
    ]


def _agreement_of(judge: JudgeView, humans: pl.DataFrame | None) -> Agreement:
    table = judge.decisions
    rule: Rule = "strict" if table["probability"].null_count() == len(table) else "probability"
    own = None
    if humans is not None:
        own = humans.join(table.select("pair"), on="pair", how="semi", maintain_order="left")
        own = None if own.is_empty() else own
    return agree(table, own, rule=rule, allow_missing=True)
