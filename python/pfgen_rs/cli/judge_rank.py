"""`pfgen-rs judge rank`: models ranked by the decisions about their pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.cli.judge_agree_view import percent, range_text
from pfgen_rs.cli.judge_decide import RuleName, read_decisions
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    from pfgen_rs.judge.agreement.ranking import Ranking

__all__ = ["rank"]


def rank(
    verdicts: Annotated[
        Path, typer.Argument(metavar="VERDICTS", help="Folder of verdicts.", show_default=False)
    ],
    by: Annotated[
        RuleName, typer.Option(help="How pairs are decided; see `judge decide`.")
    ] = RuleName.PROBABILITY,
    win_rates_only: Annotated[
        bool,
        typer.Option(
            "--win-rates-only",
            help="Do not fit Bradley–Terry, which needs models that are connected by wins.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write all tables to a folder, as Parquet, CSV, Markdown and JSON.",
        ),
    ] = None,
    resamples: Annotated[
        int, typer.Option(metavar="N", help="Number of bootstrap resamples.")
    ] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the bootstrap.")] = 0,
    level: options.Level = 0.95,
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Rank models by Bradley–Terry and by win rates, with intervals and the ranks that they leave open.

    A tie counts as half a win each way. Soft win rates use the judge's probabilities. Intervals resample
    questions. Pairs without a decision are left out and counted.

    Example: `pfgen-rs judge rank verdicts`
    """
    from pfgen_rs.judge.agreement.ranking import rank as ranked
    from pfgen_rs.judge.decision_columns import write_tables
    from pfgen_rs.judge.verdict_folder import VerdictFolder

    folder = VerdictFolder(verdicts)
    [(decisions, coverage)] = read_decisions([folder])
    found = ranked(
        decisions,
        rule=by.value,
        with_strengths=not win_rates_only,
        level=level,
        resamples=resamples,
        seed=seed,
    )
    if out is not None:
        write_tables(found.tables(), found.to_dict(), out)
    if output_format is options.JsonFormat.JSON:
        values = {"name": folder.judge_name, **found.to_dict(), "coverage": coverage.to_dict()}
        output.emit_json(values)
        return
    _show_ranking(folder.judge_name, found)


def _show_ranking(name: str, found: Ranking) -> None:
    left_out = (
        f", {counted(found.left_out, 'pair')} without a decision left out" if found.left_out else ""
    )
    output.remark(
        f"{name}: {counted(found.games, 'pair')} of {counted(found.questions, 'question')}{left_out}; "
        f"intervals {100 * found.level:g} % ({found.resamples} resamples of questions, seed {found.seed})"
    )
    known = [name for name in _SCORES if found.models[name].is_not_null().any()]
    choices = [_ranking_table(found, known[:count]) for count in range(len(known), 0, -1)]
    output.show(output.first_that_fits(*choices))
    for note in found.notes:
        output.warn(note)


_SCORES = {
    "strength": ("Bradley–Terry", 1.0, 2),
    "win_rate": ("win rate, %", 100.0, 1),
    "soft_win_rate": ("soft, %", 100.0, 1),
}


def _ranking_table(found: Ranking, known: Sequence[str]) -> Any:
    names = ["rank", "ranks", "model", "games", "W/T/L"]
    for place, name in enumerate(known):
        names += [_SCORES[name][0], "interval" + " " * place]
    numbers = [name for name in names if name != "model"]
    table = output.new_table(*names, numbers=numbers)
    for row in found.models.iter_rows(named=True):
        cells = [
            row["rank"],
            f"{row['best_rank']}–{row['worst_rank']}",
            row["model"],
            row["games"],
            f"{row['wins']}/{row['ties']}/{row['losses']}",
        ]
        for name in known:
            _, scale, digits = _SCORES[name]
            value = row[name]
            cells.append(percent(None) if value is None else f"{scale * value:.{digits}f}")
            cells.append(range_text(row[f"{name}_low"], row[f"{name}_high"], scale, digits))
        table.add_row(*map(output.cell, cells))
    return table
