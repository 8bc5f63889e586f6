"""`pfgen-rs judge agree`: how far a judge agrees with people and with itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs import lazy
from pfgen_rs.cli import options, output, streams
from pfgen_rs.cli.judge_options import (
    By,
    Humans,
    Resamples,
    Seed,
    TablesFolder,
    percent,
    range_text,
    read_decisions,
    warn_all,
)
from pfgen_rs.io.text import counted
from pfgen_rs.stats.permutation import permutations_text, resolution_text, shown_p

if TYPE_CHECKING:
    import polars as pl

    from pfgen_rs.judge.agreement.agree import Agreement, JudgeComparison
else:
    pl = lazy.module("polars")


_MEAN, _ALL, _JUDGE, _NONE = "mean", "all", "judge", "–"


def agree(
    verdicts: Annotated[
        list[Path],
        typer.Argument(
            metavar="VERDICTS…",
            help="Folder of verdicts, or two to compare judges or prompts.",
            show_default=False,
        ),
    ],
    humans: Humans = None,
    by: By = "probability",
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Raters may lack pairs: Krippendorff's α instead of Fleiss' κ."
        ),
    ] = False,
    out: TablesFolder = None,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    level: options.Level = 0.95,
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Compare a judge's decisions with verdicts of people, and its two orders with each other.

    Concordance by rater, task and rule (Morita et al.), robustness, position bias, κ, what each person would
    get as judge, biases, and calibration. Intervals resample questions. Without --humans: what the verdicts
    say of themselves.

    Example: `pfgen-rs judge agree verdicts --humans humans.jsonl`
    """
    from pfgen_rs.judge.agreement.agree import agree as agreed
    from pfgen_rs.judge.agreement.agree import compare_judges
    from pfgen_rs.judge.decision_columns import write_tables
    from pfgen_rs.judge.pairs import read_humans
    from pfgen_rs.judge.verdict_folder import VerdictFolder, distinct_judge_names

    if len(verdicts) > 2 or (len(verdicts) == 2 and humans is None):
        raise typer.BadParameter("expected one folder, or two folders and --humans")
    if out is not None and len(verdicts) > 1:
        raise typer.BadParameter("--out requires a single folder of verdicts", param_hint="--out")
    folders = [VerdictFolder(path) for path in verdicts]
    read = read_decisions(folders)
    frames = [frame for frame, _ in read]
    known = {pair for frame in frames for pair in frame["pair"]}
    people = None if humans is None else read_humans(humans, known)
    found = [
        agreed(
            frame,
            _humans_of_pairs(people, frame),
            rule=by,
            judge=folder.judge_model,
            allow_missing=allow_missing,
            level=level,
            resamples=resamples,
            seed=seed,
        )
        for frame, folder in zip(frames, folders, strict=True)
    ]
    between = None
    if len(frames) == 2 and people is not None:
        between = compare_judges(
            frames[0],
            frames[1],
            people,
            rules=(by, by),
            level=level,
            resamples=resamples,
            seed=seed,
        )
    if out is not None:
        write_tables(found[0].tables(), found[0].to_dict(), out)
    names = distinct_judge_names(folders)
    if output_format is options.JsonFormat.JSON:
        rows = [{"name": n, **each.to_dict()} for n, each in zip(names, found, strict=True)]
        coverage = [each.to_dict() for _, each in read]
        streams.emit_json(
            {"judges": rows, "comparison": between and between.to_dict(), "coverage": coverage}
        )
        return
    for name, each in zip(names, found, strict=True):
        show_agreement(name, each)
    if between is not None:
        show_comparison(names, between)


def _humans_of_pairs(humans: pl.DataFrame | None, frame: pl.DataFrame) -> pl.DataFrame | None:
    return None if humans is None else humans.filter(humans["pair"].is_in(frame["pair"].to_list()))


def show_agreement(name: str, found: Agreement) -> None:
    """Print all tables of an agreement."""
    raters = f", raters {', '.join(found.raters)}" if found.raters else ""
    streams.remark(
        f"{name}: {counted(found.pairs, 'pair')} of {counted(found.questions, 'question')}{raters}; "
        f"intervals {100 * found.level:g} % ({found.resamples} resamples of questions, seed {found.seed})"
    )
    output.show(*_parts_of_agreement(found))
    for line in _lines_of_agreement(found):
        streams.emit(f"{line}\n")
    warn_all(found.notes)


def _parts_of_agreement(found: Agreement) -> list[Any]:
    names = ("rule", "A", "B", "C", "undecided", "invalid", "missing")
    parts = [_table("decisions", found.decisions, names)]
    if found.raters:
        parts.append(_rules_table(found))
        if smallest := max(found.comparisons["smallest_p"].to_list(), default=0.0):
            parts.append(output.cell(resolution_text(smallest)))
        parts += [*_task_tables(found), _raters_table(found)]
    else:
        parts += _task_tables(found)
    if (found.biases["n"] > 0).any():
        parts.append(_bias_table(found.biases))
    if found.calibration is not None:
        parts.append(_calibration_table(found.calibration.table))
    return parts


def _table(title: str, frame: pl.DataFrame, names: Sequence[str]) -> Any:
    table = output.new_table(*names, numbers=names[1:], title=title)
    for row in frame.select(names).iter_rows():
        table.add_row(*(output.cell(value) for value in row))
    return table


def _has_both_orders(found: Agreement) -> bool:
    """Whether any pair has valid verdicts in both orders."""
    whole = found.robustness.filter(pl.col("task").is_null())
    return bool((whole["invalid"] < whole["pairs"]).any())


def _rules_table(found: Agreement) -> Any:
    names = ["rule", *found.raters, _MEAN, "interval", f"vs {found.rule}", "p"]
    table = output.new_table(*names, numbers=names[1:], title="concordance with raters, %")
    differences = {row["other"]: row for row in found.comparisons.iter_rows(named=True)}
    none = pl.col("invalid") + pl.col("missing") == found.pairs
    without = found.decisions.filter(none)["rule"].to_list()
    shown = pl.col("task").is_null() & ~pl.col("rule").is_in(without)
    for (rule,), rows in found.concordance.filter(shown).group_by("rule", maintain_order=True):
        shares = {row["rater"]: row for row in rows.iter_rows(named=True)}
        mean, other = shares[None], differences.get(str(rule))
        table.add_row(
            output.cell(rule),
            *(output.cell(percent(shares[rater]["concordance"])) for rater in found.raters),
            output.cell(percent(mean["concordance"])),
            output.cell(range_text(mean["low"], mean["high"])),
            output.cell(_NONE if other is None else f"{-100 * other['difference']:+.1f}"),
            output.cell(_NONE if other is None else shown_p(other["p"], other["smallest_p"])),
        )
    return table


def _task_tables(found: Agreement) -> list[Any]:
    robust = {row["task"]: row for row in found.robustness.iter_rows(named=True)}
    means = found.concordance.filter((pl.col("rule") == found.rule) & pl.col("rater").is_null())
    concordance = {row["task"]: row for row in means.iter_rows(named=True)}
    names = ["task", "pairs"]
    both = _has_both_orders(found)
    if both:
        names += ["robustness", "interval", "invalid"]
    if concordance:
        names += ["concordance", "interval "]
    if len(names) == 2:
        return []
    title = f"by task, % (decisions by {found.rule})"
    table = output.new_table(*names, numbers=names[1:], title=title)
    for task, row in robust.items():
        cells = [_ALL if task is None else task, row["pairs"]]
        if both:
            cells += [
                percent(row["robustness"]),
                range_text(row["low"], row["high"]),
                row["invalid"],
            ]
        mine = concordance.get(task)
        if mine is not None:
            cells += [percent(mine["concordance"]), range_text(mine["low"], mine["high"])]
        table.add_row(*map(output.cell, cells))
    return [table]


def _raters_table(found: Agreement) -> Any:
    names = [
        "rater",
        "κ with the judge",
        "interval",
        "pairs",
        "human",
        "judge",
        "difference",
        "interval ",
    ]
    table = output.new_table(
        *names,
        numbers=names[1:],
        title="each rater: Cohen's κ; agreement with the others' majority, %",
    )
    others = {row["rater"]: row for row in found.leave_one_out.iter_rows(named=True)}
    for row in found.cohen.iter_rows(named=True):
        left = others.get(row["rater"], {})
        difference = left.get("difference")
        table.add_row(
            output.cell(row["rater"]),
            output.cell(_NONE if row["kappa"] is None else f"{row['kappa']:.3f}"),
            output.cell(range_text(row["low"], row["high"], 1, 3)),
            output.cell(left.get("pairs", _NONE)),
            output.cell(percent(left.get("human"))),
            output.cell(percent(left.get("judge"))),
            output.cell(_NONE if difference is None else f"{100 * difference:+.1f}"),
            output.cell(range_text(left.get("difference_low"), left.get("difference_high"))),
        )
    return table


def _bias_table(biases: pl.DataFrame) -> Any:
    names = ["wins of the", "by", "share", "exact interval", "n"]
    table = output.new_table(
        *names, numbers=names[2:], title="biases, % of decided pairs with a winner"
    )
    for row in biases.filter(pl.col("n") > 0).iter_rows(named=True):
        table.add_row(
            output.cell(row["bias"]),
            output.cell(row["rater"] or _JUDGE),
            output.cell(percent(row["share"])),
            output.cell(range_text(row["low"], row["high"])),
            output.cell(row["n"]),
        )
    return table


def _calibration_table(bins: pl.DataFrame) -> Any:
    names = ["probability", "mean", "right", "exact interval", "pairs"]
    table = output.new_table(
        *names, numbers=names, title="calibration against the raters' majority, %"
    )
    for row in bins.filter(pl.col("pairs") > 0).iter_rows(named=True):
        table.add_row(
            output.cell(f"{100 * row['from']:.0f}–{100 * row['to']:.0f}"),
            output.cell(percent(row["probability"])),
            output.cell(percent(row["share"])),
            output.cell(range_text(row["low"], row["high"])),
            output.cell(row["pairs"]),
        )
    return table


def _lines_of_agreement(found: Agreement) -> Iterable[str]:
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
        name = {"fleiss_kappa": "Fleiss' κ", "krippendorff_alpha": "Krippendorff's α"}[
            between.statistic
        ]
        interval = range_text(between.interval.low, between.interval.high, 1, 3)
        yield f"agreement of the raters: {name} {between.value:.3f} ({interval})"
    if found.calibration is not None:
        error = found.calibration.error
        yield f"expected calibration error: {percent(error)} %"


def show_comparison(names: Sequence[str], between: JudgeComparison) -> None:
    """Print the difference between two judges."""
    interval = range_text(between.interval.low, between.interval.high)
    streams.emit(
        f"concordance of {names[0]} {percent(between.first)} %, of {names[1]} {percent(between.second)} %: "
        f"difference {100 * between.difference:+.1f} ({interval}), {_p_between(between)}, "
        f"{counted(between.pairs, 'pair')} of "
        f"{counted(between.questions, 'question')}\n"
    )


def _p_between(between: JudgeComparison) -> str:
    shown, smallest = shown_p(between.p, between.smallest_p), between.smallest_p
    if shown[0] not in "<≤":
        return f"p = {shown}"
    return f"p {shown}, {permutations_text(smallest)}" if smallest else f"p {shown}"
