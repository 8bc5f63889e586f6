"""`pfgen-rs judge agree`: how far a judge agrees with people and with itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from pfgen_rs import judge
from pfgen_rs.cli import judge_options, options, process, terminal
from pfgen_rs.cli.judge_options import NONE, number, percent, range_text, rows_table
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import pl
from pfgen_rs.stats.permutation import permutations_text, resolution_text, shown_p

_STATISTICS = {"fleiss_kappa": "Fleiss' κ", "krippendorff_alpha": "Krippendorff's α"}


def agree(
    verdicts: judge_options.Folders,
    humans: judge_options.Humans = None,
    by: judge_options.By = None,
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Raters may lack pairs: Krippendorff's α instead of Fleiss' κ."
        ),
    ] = False,
    output_format: options.Format = "table",
) -> None:
    """Compare a judge's decisions with verdicts of people, and its two orders with each other.

    Shows concordance by rater, task and rule (Morita et al.), robustness, position bias, κ, how each person
    would do as a judge, biases, and calibration. Intervals come from resampling questions. Without --humans,
    shows what can be told from the verdicts alone. Two folders are also compared with each other.

    Example: `pfgen-rs judge agree verdicts --humans humans.jsonl`
    """
    if len(verdicts) > 2 or (len(verdicts) == 2 and humans is None):
        raise typer.BadParameter("expected one folder, or two folders and --humans")
    read = judge_options.read_decisions(verdicts)
    by = judge_options.chosen_rule(read, by)
    known = {pair for each in read for pair in each.decisions["pair"]}
    people = None if humans is None else judge.read_humans(humans, known)
    found = {}
    for each in read:
        own = None if people is None else people.join(each.decisions, on="pair", how="semi")
        found[each.name] = judge.agree(
            each.decisions, own, rule=by, judge=each.folder.judge_model, allow_missing=allow_missing
        )
    between = None
    if len(read) == 2 and people is not None:
        between = judge.compare_judges(read[0].decisions, read[1].decisions, people, rules=(by, by))
    if output_format == "json":
        rows = [{"name": name, **agreement.to_dict()} for name, agreement in found.items()]
        coverage = [each.coverage.to_dict() for each in read]
        process.emit_json(
            {"judges": rows, "comparison": between and between.to_dict(), "coverage": coverage}
        )
        return
    for name, agreement in found.items():
        _show(name, agreement)
    if between is not None:
        show_comparison(list(found), between)


def _show(name: str, found: judge.Agreement) -> None:
    """Print all tables of an agreement."""
    raters = f", raters {', '.join(found.raters)}" if found.raters else ""
    process.remark(
        f"{name}: {counted(found.pairs, 'pair')} of {counted(found.questions, 'question')}{raters}; "
        f"intervals {100 * found.level:g} % ({found.resamples} resamples of questions, seed {found.seed})"
    )
    terminal.show(*_parts_of_agreement(found))
    for line in _lines_of_agreement(found):
        process.emit(f"{line}\n")
    judge_options.warn_all(found.notes)


def _parts_of_agreement(found: judge.Agreement) -> list[Any]:
    names: Sequence[str] = ("rule", "A", "B", "C", "undecided", "invalid", "missing")
    decisions = found.decisions.select(names).iter_rows()
    parts: list[Any] = [rows_table(names, decisions, title="decisions")]
    if found.raters:
        parts.append(_rules_table(found))
        if smallest := max(found.comparisons["smallest_p"].to_list(), default=0.0):
            parts.append(terminal.cell(resolution_text(smallest)))
    parts += _task_tables(found)
    if len(found.repetition):
        rows: Iterable[Iterable[object]] = (
            (
                "all" if row["task"] is None else row["task"],
                *(row["order"], row["pairs"]),
                *_with_bounds(row, "repetition"),
            )
            for row in found.repetition.iter_rows(named=True)
        )
        names = ("task", "order", "pairs", "repetition", "interval")
        parts.append(rows_table(names, rows, title="pairs whose samples all say the same, %"))
    if found.raters:
        parts.append(_raters_table(found))
    biases = found.biases.filter(pl.col("n") > 0)
    if len(biases):
        rows = (
            (row["bias"], row["rater"] or "judge", *_with_bounds(row, "share"), row["n"])
            for row in biases.iter_rows(named=True)
        )
        names = ("wins of the", "by", "share", "exact interval", "n")
        title = "biases, % of decided pairs with a winner"
        parts.append(rows_table(names, rows, words=2, title=title))
    if found.calibration is not None:
        rows = (
            (
                f"{100 * row['from']:.0f}–{100 * row['to']:.0f}",
                percent(row["probability"]),
                *_with_bounds(row, "share"),
                row["pairs"],
            )
            for row in found.calibration.table.filter(pl.col("pairs") > 0).iter_rows(named=True)
        )
        names = ("probability", "mean", "right", "exact interval", "pairs")
        title = "calibration against the raters' majority, %"
        parts.append(rows_table(names, rows, words=0, title=title))
    return parts


def _has_both_orders(found: judge.Agreement) -> bool:
    """Whether any pair has valid verdicts in both orders."""
    whole = found.robustness.filter(pl.col("task").is_null())
    return bool((whole["invalid"] < whole["pairs"]).any())


def _with_bounds(row: Mapping[str, Any], value: str) -> list[str]:
    """Returns a share and its interval in percent."""
    return [percent(row[value]), range_text(row["low"], row["high"])]


def _rules_table(found: judge.Agreement) -> Any:
    names = ["rule", *found.raters, "mean", "interval", f"vs {found.rule}", "p"]
    differences = {row["other"]: row for row in found.comparisons.iter_rows(named=True)}
    none = pl.col("invalid") + pl.col("missing") == found.pairs
    without = found.decisions.filter(none)["rule"].to_list()
    shown = pl.col("task").is_null() & ~pl.col("rule").is_in(without)
    rows = []
    for (rule,), each in found.concordance.filter(shown).group_by("rule", maintain_order=True):
        shares = {row["rater"]: row for row in each.iter_rows(named=True)}
        other = differences.get(str(rule))
        row = [rule, *(percent(shares[rater]["concordance"]) for rater in found.raters)]
        row += _with_bounds(shares[None], "concordance")
        if other is None:
            row += [NONE, NONE]
        else:
            row += [f"{-100 * other['difference']:+.1f}", shown_p(other["p"], other["smallest_p"])]
        rows.append(row)
    return rows_table(names, rows, title="concordance with raters, %")


def _task_tables(found: judge.Agreement) -> list[Any]:
    means = found.concordance.filter((pl.col("rule") == found.rule) & pl.col("rater").is_null())
    concordance = {row["task"]: row for row in means.iter_rows(named=True)}
    both = _has_both_orders(found)
    names = ["task", "pairs", *(["robustness", "interval", "invalid"] if both else [])]
    names += ["concordance", "interval "] if concordance else []
    if len(names) == 2:
        return []
    rows = []
    for row in found.robustness.iter_rows(named=True):
        cells = ["all" if row["task"] is None else row["task"], row["pairs"]]
        if both:
            cells += [*_with_bounds(row, "robustness"), row["invalid"]]
        if row["task"] in concordance:
            cells += _with_bounds(concordance[row["task"]], "concordance")
        rows.append(cells)
    return [rows_table(names, rows, title=f"by task, % (decisions by {found.rule})")]


def _raters_table(found: judge.Agreement) -> Any:
    names = ["rater", "κ with the judge", "interval", "pairs"]
    names += ["human", "judge", "difference", "interval "]
    others = {row["rater"]: row for row in found.leave_one_out.iter_rows(named=True)}
    rows = []
    for row in found.cohen.iter_rows(named=True):
        left = others.get(row["rater"], {})
        apart = left.get("difference")
        rows.append(
            (
                row["rater"],
                number(row["kappa"], 3),
                range_text(row["low"], row["high"], 1, 3),
                left.get("pairs", NONE),
                percent(left.get("human")),
                percent(left.get("judge")),
                NONE if apart is None else f"{100 * apart:+.1f}",
                range_text(left.get("difference_low"), left.get("difference_high")),
            )
        )
    title = "each rater: Cohen's κ; agreement with the others' majority, %"
    return rows_table(names, rows, title=title)


def _lines_of_agreement(found: judge.Agreement) -> Iterable[str]:
    position = found.position
    if not _has_both_orders(found):
        yield "only one order was judged: robustness and position bias are unknown"
    elif position.n:
        interval = range_text(position.interval.low, position.interval.high)
        yield (
            f"position bias: of {counted(position.n, 'pair')} whose winner changed with the order, "
            f"{percent(position.value)} % were won by the answer shown first (exact interval {interval})"
        )
    else:
        yield "position bias: no winner changed with the order"
    between = found.rater_agreement
    if between is not None:
        interval = range_text(between.interval.low, between.interval.high, 1, 3)
        name = _STATISTICS[between.statistic]
        yield f"agreement of the raters: {name} {between.value:.3f} ({interval})"
    if found.calibration is not None:
        said = f"expected calibration error: {percent(found.calibration.error)} %"
        if found.token_calibration is not None:
            tokens = percent(found.token_calibration.error)
            said += f" of the samples, {tokens} % of the probabilities of their tokens"
        yield said


def show_comparison(names: Sequence[str], between: judge.JudgeComparison) -> None:
    """Print the difference between two judges."""
    interval = range_text(between.interval.low, between.interval.high)
    p = shown_p(between.p, between.smallest_p)
    told = f"p {p}" if p[0] in "<≤" else f"p = {p}"
    if between.smallest_p and "=" not in told:
        told += f", {permutations_text(between.smallest_p)}"
    process.emit(
        f"concordance of {names[0]} {percent(between.first)} %, of {names[1]} {percent(between.second)} %: "
        f"difference {100 * between.difference:+.1f} ({interval}), {told}, "
        f"{counted(between.pairs, 'pair')} of {counted(between.questions, 'question')}\n"
    )
