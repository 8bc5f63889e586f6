"""Agreement of a judge with raters: everything that one frame of decisions and one of verdicts say."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.counted import counted
from pfgen_rs.judge.agreement.biases import (
    Preference,
    favoured_by_family,
    favoured_by_length,
    preference,
)
from pfgen_rs.judge.agreement.calibration import Calibration, calibration
from pfgen_rs.judge.agreement.codes import NONE, Codes
from pfgen_rs.judge.agreement.families import Families
from pfgen_rs.judge.agreement.judged import Judged, judged, winner_probabilities
from pfgen_rs.judge.agreement.paired import PERMUTATIONS
from pfgen_rs.judge.agreement.position import position_bias_of_codes
from pfgen_rs.judge.agreement.resampling import RESAMPLES
from pfgen_rs.judge.agreement.result import Agreement
from pfgen_rs.judge.agreement.tables import BOUNDS, COUNT, NUMBER, TEXT, AgreementTables, frame
from pfgen_rs.judge.decisions import RULES, Rule
from pfgen_rs.judge.letters import LETTERS
from pfgen_rs.stats.checks import check_resampling
from pfgen_rs.stats.student import check_level

__all__ = ["agree", "check_rule"]


def agree(
    decisions: pl.DataFrame,
    humans: pl.DataFrame | None = None,
    *,
    rule: Rule = "probability",
    judge: str | None = None,
    families: Families | None = None,
    allow_missing: bool = False,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Agreement:
    """Returns how far a judge's decisions agree with raters and with themselves.

    `decisions`: one row per pair, with `pair`, `question_id`, the letters `v1`, `v2` of both orders
    (swapped back) and those of all rules; optionally `task`, `p_a`, `p_b`, `p_c` (mean probabilities),
    `model_a`, `model_b`, `length_a`, `length_b`. `humans`: `pair`, `rater`, `verdict`; without it there is
    what a judge says of itself. `rule`: which decisions to look at closely; concordance is shown for all.
    `judge`: the judge's model, for preference of its own family (`families`: default built in).
    `allow_missing`: Krippendorff's α where raters are missing, which is otherwise left out with a note.

    Intervals are a bootstrap over questions, except exact ones. 500,000 pairs with three
    raters take one to two seconds. Raises `InputError` for frames that lack columns or contradict themselves,
    if `rule` decided no pair, and `SettingsError` for invalid settings. Needs scipy (extra `judge`).
    """
    check_level(level)
    check_resampling(resamples, seed)
    check_rule(rule)
    data = judged(decisions, humans)
    if rule == "probability" and (data.decided[rule] == NONE).all():
        raise InputError(
            "no pair has a decision by probability: choose the rule strict, tie or first, or a judge that "
            "reports log-probabilities"
        )
    work = AgreementTables(data, rule, allow_missing, level, resamples, seed)
    chosen = data.decided[rule]
    biases, remarks = _biases(decisions, data, chosen, judge, families, level)
    return Agreement(
        rule=rule,
        judge=judge,
        raters=data.raters,
        pairs=len(chosen),
        questions=int(data.questions.max()) + 1,
        level=level,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        decisions=_decision_table(decisions, data),
        concordance=work.concordance(),
        robustness=work.robustness(),
        position=position_bias_of_codes(data.first, data.second, level),
        rater_agreement=work.rater_agreement(),
        cohen=work.cohen(),
        confusion=work.confusion(),
        leave_one_out=work.leave_one_out(),
        biases=biases,
        calibration=_calibration(decisions, data, level),
        comparisons=work.comparisons(permutations),
        notes=(*_missing_notes(decisions, data, allow_missing), *remarks),
    )


def check_rule(rule: str) -> None:
    """Raise `SettingsError` for an unknown rule."""
    if rule not in RULES:
        raise SettingsError(f"unknown rule {rule!r}: expected one of {', '.join(RULES)}")


_BIASES = {
    "bias": TEXT,
    "rater": TEXT,
    "wins": COUNT,
    "n": COUNT,
    "share": NUMBER,
    **BOUNDS,
    "ties": COUNT,
}


def _decision_table(decisions: pl.DataFrame, data: Judged) -> pl.DataFrame:
    valid = (data.first != NONE) & (data.second != NONE)
    one, two = _judged_orders(decisions)
    lacking = {"first": ~one, "probability": ~one | ~two & two.any()}
    rows = []
    for rule, codes in data.decided.items():
        none = codes == NONE
        undecided = int(np.count_nonzero(none & valid)) if rule == "strict" else 0
        missing = int(np.count_nonzero(none & lacking.get(rule, ~(one & two))))
        letters = np.bincount(codes[~none], minlength=len(LETTERS)).tolist()
        invalid = int(np.count_nonzero(none)) - undecided - missing
        rows.append((rule, *letters, undecided, invalid, missing))
    names = (*LETTERS, "undecided", "invalid", "missing")
    return frame(rows, {"rule": TEXT, **dict.fromkeys(names, COUNT)})


def _judged_orders(decisions: pl.DataFrame) -> list[NDArray[np.bool_]]:
    """Whether each pair has a judgment in order 1 and 2, which frames of others need not say."""
    names = ("judged_1", "judged_2")
    if not {*names} <= {*decisions.columns}:
        return [np.ones(len(decisions), dtype=bool)] * 2
    return [decisions[name].to_numpy() for name in names]


def _biases(
    decisions: pl.DataFrame,
    data: Judged,
    chosen: Codes,
    judge: str | None,
    families: Families | None,
    level: float,
) -> tuple[pl.DataFrame, list[str]]:
    favoured, notes = {}, []
    if {"length_a", "length_b"} <= {*decisions.columns}:
        lengths = (decisions[name].to_numpy() for name in ("length_a", "length_b"))
        favoured["longer answer"] = favoured_by_length(*lengths)
    if judge is not None and {"model_a", "model_b"} <= {*decisions.columns}:
        own = favoured_by_family(judge, decisions["model_a"], decisions["model_b"], families)
        if own is None:
            notes.append(
                f"no family is known for the judge {judge!r}: no preference of its own family"
            )
        else:
            favoured["own family"] = own
    everyone = [(None, chosen), *zip(data.raters, data.verdicts, strict=True)]
    rows = [
        (name, rater, *_preference_row(preference(letters, each, level)))
        for name, each in favoured.items()
        for rater, letters in everyone
    ]
    return frame(rows, _BIASES), notes


def _preference_row(found: Preference) -> tuple[float, ...]:
    share, bounds = found.share, found.share.interval
    return share.count, share.n, share.value, bounds.low, bounds.high, found.ties


def _calibration(decisions: pl.DataFrame, data: Judged, level: float) -> Calibration | None:
    chosen = data.decided["probability"]
    if not data.raters or (chosen == NONE).all() or "p_a" not in decisions.columns:
        return None
    return calibration(chosen, winner_probabilities(decisions), data.verdicts, level)


def _missing_notes(decisions: pl.DataFrame, data: Judged, allow_missing: bool) -> Iterator[str]:
    one, two = _judged_orders(decisions)
    unjudged = int(np.count_nonzero(~one | ~two & two.any()))
    if unjudged:
        yield (
            f"{unjudged:,} of {counted(len(one), 'pair')} lack a judgment of their texts: they count like "
            "invalid ones"
        )
    present = np.count_nonzero(data.verdicts != NONE, axis=0)
    lacking = int(np.count_nonzero(present < len(data.raters)))
    if not lacking:
        return
    number = f"{lacking:,} of {counted(len(present), 'pair')}"
    if len(data.raters) > 1 and not allow_missing:
        yield (
            f"{number} lack raters: no Fleiss' kappa; Krippendorff's alpha is computed if missing raters are "
            "allowed"
        )
    else:
        yield f"{number} lack raters: they are left out where a rater did not judge"
