"""Draws figures about judges by name, from folders of verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from pfgen_rs.benchmark import score_runs
from pfgen_rs.drawing.style import NEEDED, available
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import OutputError, PlotError
from pfgen_rs.judge.against_scores import run_correlation
from pfgen_rs.judge.agreement.agreed import check_rule
from pfgen_rs.judge.agreement.calibration import Calibration, calibration
from pfgen_rs.judge.agreement.codes import NONE, Codes, column_codes
from pfgen_rs.judge.agreement.judged import judged, winner_probabilities
from pfgen_rs.judge.agreement.matrix import UNDECIDED, agreements
from pfgen_rs.judge.agreement.position import position_bias_of_codes
from pfgen_rs.judge.agreement.ranking import rank
from pfgen_rs.judge.decisions import Rule
from pfgen_rs.judge.grading import mean_ratings, ratings_of_runs
from pfgen_rs.judge.pairs import read_humans
from pfgen_rs.judge.plots.matrix import agreement_matrix
from pfgen_rs.judge.plots.position import position_bars
from pfgen_rs.judge.plots.ranks import ranks
from pfgen_rs.judge.plots.reliability import reliability
from pfgen_rs.judge.plots.scores import rating_scores
from pfgen_rs.judge.run_pairs import references_of
from pfgen_rs.judge.verdict_folder import VerdictFolder, check_same_pairs, distinct_judge_names
from pfgen_rs.report.plot_kinds import Drawn
from pfgen_rs.report.plots.inputs import Score
from pfgen_rs.runs.naming import named_results

__all__ = ["KINDS", "JudgeWish", "draw"]

_LEVEL = 0.95


@dataclass(frozen=True)
class JudgeWish:
    """What to draw: folders of verdicts (`scores`: one of ratings) and options.

    A figure ignores options that it does not need.
    """

    folders: Sequence[str | os.PathLike[str]]
    humans: str | os.PathLike[str] | None = None
    rule: Rule = "probability"
    value: str | None = None
    runs: Sequence[str] = ()
    benchmark: str | None = None
    title: str | None = None
    language: Language = "en"
    font: str | None = None
    score: Score = score_runs

    @property
    def look(self) -> dict[str, Any]:
        """The arguments of every figure."""
        return {"title": self.title, "language": self.language, "font": self.font}

    @property
    def choice(self) -> dict[str, Any]:
        """The value to draw, if one is chosen."""
        return {} if self.value is None else {"value": self.value.replace("-", "_")}


def draw(kind: str, wish: JudgeWish) -> Drawn:
    """Draw a figure of `KINDS`, with notes about what it rests on.

    Raises a `PfgenError` for what cannot be read or drawn.
    """
    if kind not in KINDS:
        raise PlotError(f"unknown figure {kind!r}: expected one of {', '.join(KINDS)}")
    if not available():
        raise OutputError(NEEDED)
    check_rule(wish.rule)
    return KINDS[kind](wish)


def _decisions_by_judge(wish: JudgeWish) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Returns the decisions of each judge, and notes on what is missing or out of date."""
    if not wish.folders:
        raise PlotError("no folder of verdicts")
    folders = [VerdictFolder(path) for path in wish.folders]
    check_same_pairs(folders)
    found, notes = dict[str, pl.DataFrame](), list[str]()
    for name, folder in zip(distinct_judge_names(folders), folders, strict=True):
        found[name], coverage = folder.read()
        notes += (f"{name}: {note}" for note in coverage.notes())
    return found, notes


def _humans(wish: JudgeWish, judges: dict[str, pl.DataFrame]) -> pl.DataFrame | None:
    known = {pair for table in judges.values() for pair in table["pair"]}
    return None if wish.humans is None else read_humans(wish.humans, known)


def _draw_reliability(wish: JudgeWish) -> Drawn:
    judges, notes = _decisions_by_judge(wish)
    humans = _humans(wish, judges)
    if humans is None:
        raise PlotError("a reliability diagram needs verdicts of people: --humans FILE")
    found = {name: _calibration_of(table, humans) for name, table in judges.items()}
    return Drawn(reliability(found, **wish.look), notes)


def _calibration_of(decisions: pl.DataFrame, humans: pl.DataFrame) -> Calibration:
    own = humans.join(decisions.select("pair"), on="pair", how="semi", maintain_order="left")
    data = judged(decisions, own)
    probabilities = winner_probabilities(decisions)
    return calibration(data.decided["probability"], probabilities, data.verdicts, _LEVEL)


def _draw_position(wish: JudgeWish) -> Drawn:
    judges, notes = _decisions_by_judge(wish)
    shares = {
        name: position_bias_of_codes(column_codes(table["v1"]), column_codes(table["v2"]), _LEVEL)
        for name, table in judges.items()
    }
    return Drawn(position_bars(shares, **wish.look), notes)


def _draw_agreement(wish: JudgeWish) -> Drawn:
    judges, notes = _decisions_by_judge(wish)
    humans = _humans(wish, judges)
    pairs = pl.concat([table.select("pair") for table in judges.values()]).unique(
        maintain_order=True
    )
    letters = {name: _letters_of_judge(pairs, table, wish.rule) for name, table in judges.items()}
    for rater, verdicts in _verdicts_by_rater(humans):
        name = rater if rater not in letters else f"{rater} (rater)"
        letters[name] = column_codes(_in_order_of(pairs, verdicts, "verdict"))
    return Drawn(agreement_matrix(agreements(letters), **wish.choice, **wish.look), notes)


def _letters_of_judge(pairs: pl.DataFrame, decisions: pl.DataFrame, rule: Rule) -> Codes:
    codes = column_codes(_in_order_of(pairs, decisions, rule))
    seen = pairs["pair"].is_in(decisions["pair"].to_list()).to_numpy()
    return np.where((codes == NONE) & seen, UNDECIDED, codes).astype(np.int8)


def _in_order_of(pairs: pl.DataFrame, table: pl.DataFrame, column: str) -> pl.Series:
    chosen = table.select("pair", column)
    return pairs.join(chosen, on="pair", how="left", maintain_order="left")[column]


def _verdicts_by_rater(humans: pl.DataFrame | None) -> list[tuple[str, pl.DataFrame]]:
    if humans is None:
        return []
    return [(part["rater"][0], part) for part in humans.partition_by("rater", maintain_order=True)]


def _draw_ranks(wish: JudgeWish) -> Drawn:
    if len(wish.folders) != 1:
        raise PlotError(f"expected one folder of verdicts, found {len(wish.folders)}")
    value = wish.choice.get("value", "strength")
    judges, notes = _decisions_by_judge(wish)
    [decisions] = judges.values()
    found = rank(decisions, rule=wish.rule, with_strengths=value == "strength", level=_LEVEL)
    models = found.models
    if value not in ("strength", "win_rate"):  # the values that the rank ranges are about
        models = models.drop("best_rank", "worst_rank")
    return Drawn(ranks(models, value=value, **wish.look), [*notes, *found.notes])


def _draw_scores(wish: JudgeWish) -> Drawn:
    if len(wish.folders) != 1:
        raise PlotError(f"expected one folder of ratings, found {len(wish.folders)}")
    if not wish.runs:
        raise PlotError("ratings are drawn against the scores of the rated runs: --run RUN")
    results = named_results(wish.score(list(wish.runs), wish.benchmark))
    frames = {name: result.frame for name, result in results.items()}
    ratings = ratings_of_runs(wish.folders[0], frames, references_of(wish.benchmark))
    means = mean_ratings(ratings.frame)
    found = run_correlation(means, {name: result.score for name, result in results.items()})
    modes = {name: (result.config or {}).get("mode") for name, result in results.items()}
    known = pl.DataFrame(
        {"model": list(modes), "mode": [x if isinstance(x, str) else None for x in modes.values()]},
        schema={"model": pl.String, "mode": pl.String},
    )
    runs = found.runs.join(known, on="model", how="left", maintain_order="left").join(
        means.select("model", "se"), on="model", how="left", maintain_order="left"
    )
    figure = rating_scores(runs, found.pearson, found.pearson_interval, **wish.look)
    return Drawn(figure, ratings.notes())


KINDS: dict[str, Callable[[JudgeWish], Drawn]] = {
    "reliability": _draw_reliability,
    "agreement": _draw_agreement,
    "position": _draw_position,
    "ranks": _draw_ranks,
    "scores": _draw_scores,
}
"""Figures by name."""
