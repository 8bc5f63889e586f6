"""`pfgen-rs judge page`: a page of verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import output
from pfgen_rs.io.counted import counted
from pfgen_rs.io.safe_text import visible

__all__ = ["page"]


def page(
    verdicts: Annotated[
        list[Path],
        typer.Argument(
            metavar="VERDICTS",
            help="Folders of verdicts of one or more judges on the same pairs.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR|FILE.html",
            help="Folder or file to write. A folder suits many pairs: texts are loaded on demand.",
            show_default=False,
        ),
    ],
    humans: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Verdicts of people (JSON lines or CSV: id, rater, verdict)."
        ),
    ] = None,
    sample: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="List at most N pairs, drawn at random; figures are about all."
        ),
    ] = 20_000,
) -> None:
    """Write a page with all pairs, verdicts, reasons and decisions, to look through in a browser.

    Pairs can be filtered by what the judge did (orders disagree, no decision, against the raters' majority),
    by task, models and text, and ordered by margin. The page needs neither server nor network.

    Example: `pfgen-rs judge page verdicts --humans humans.jsonl --out verdicts.html`
    """
    from pfgen_rs.judge.pages import write_verdict_page

    with output.busy("writing the page"):
        view = write_verdict_page(verdicts, out, humans=humans, sample=sample)
    listed = len(view.pairs)
    said = f", {listed:,} of them listed, drawn at random" if listed < view.total else ""
    output.emit(f"{visible(str(out))}: {counted(view.total, 'pair')}{said}\n")
    for judge in view.judges:
        place = f"{judge.name}: " if len(view.judges) > 1 else ""
        for note in judge.coverage.notes():
            output.warn(f"{place}{note}")
