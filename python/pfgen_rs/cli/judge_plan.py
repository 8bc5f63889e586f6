"""`pfgen-rs judge plan`: how many samples of a judge are enough."""

from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import judge_options, options, process, terminal
from pfgen_rs.cli.judge_options import number, percent
from pfgen_rs.io.text import counted


def plan(
    verdicts: judge_options.Verdicts,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Number of pairs to plan for (default: those of the pilot)."
        ),
    ] = None,
    stop_at: Annotated[
        float, typer.Option(metavar="ERROR", help="Error at which asking stops; see `compare`.")
    ] = 0.05,
    prices: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Prices of a million tokens (TOML); see `compare`."),
    ] = None,
    seed: judge_options.Seed = 0,
    output_format: options.Format = "table",
) -> None:
    """Estimate from a pilot how many samples of a judge are enough, and what they take.

    The pilot is a folder of verdicts with several samples, such as 30 pairs with 9. The table has the share
    of pairs that are decided as with infinitely many samples, half of the 95 % interval of a model's win
    rate, and requests without and with `--stop-at`.

    Example: `pfgen-rs judge plan pilot --pairs 1000`
    """
    from pfgen_rs.ask.costs import read_prices
    from pfgen_rs.judge.plan import plan_samples
    from pfgen_rs.judge.verdict_folder import VerdictFolder

    known = None
    if prices is not None:
        known = read_prices(prices, VerdictFolder(verdicts).judge_model or "")
    found = plan_samples(verdicts, pairs=pairs, stop_at=stop_at, prices=known, seed=seed)
    if output_format == "json":
        process.emit_json(found.to_dict())
        return
    widths = {f"± {found.pilot:,} pairs": "pilot_half_width"}
    widths[f"± {found.pairs:,} pairs"] = "half_width"
    costs = (
        {} if known is None else {f"cost, {found.currency}": "cost", "stopping ": "cost_stopped"}
    )
    names = ["samples", "as decided", *widths, "requests", "stopping", *costs]
    rows = [
        (
            row["samples"],
            *(percent(row[name]) for name in ("agreement", *widths.values())),
            *(f"{row[name]:,}" for name in ("requests", "requests_stopped")),
            *(number(row[name], 2) for name in costs.values()),
        )
        for row in found.table.iter_rows(named=True)
    ]
    title = "pairs decided as with infinitely many samples, and half-widths of a win rate, %"
    process.remark(f"{found.judge}: pilot of {counted(found.pilot, 'pair')}")
    terminal.show(judge_options.rows_table(names, rows, words=0, title=title))
    process.emit(f"{found.advice}\n")
