"""`pfgen-rs judge agree`: how far a judge agrees with people and with itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import judge_agree_view, options, output
from pfgen_rs.cli.judge_decide import RuleName, read_decisions

if TYPE_CHECKING:
    import polars as pl


__all__ = ["agree"]


def agree(
    verdicts: Annotated[
        list[Path],
        typer.Argument(
            metavar="VERDICTS…",
            help="Folder of verdicts, or two to compare judges or prompts.",
            show_default=False,
        ),
    ],
    humans: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Verdicts of people: JSON lines or CSV with id, rater and verdict (A, B or C).",
        ),
    ] = None,
    by: Annotated[
        RuleName, typer.Option(help="How pairs are decided; see `judge decide`.")
    ] = RuleName.PROBABILITY,
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Raters may lack pairs: Krippendorff's α instead of Fleiss' κ."
        ),
    ] = False,
    families: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your own table of model families (TOML), for self-preference."
        ),
    ] = None,
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
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of bootstrap and permutations.")] = 0,
    level: options.Level = 0.95,
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Compare a judge's decisions with verdicts of people, and its two orders with each other.

    Concordance by rater, task and rule (Morita 2025), robustness, position bias, κ, what each person would
    get as judge, biases, and calibration. Intervals resample questions. Without --humans: what the verdicts
    say of themselves.

    Example: `pfgen-rs judge agree verdicts --humans humans.jsonl`
    """
    from pfgen_rs.judge.agreement.agreed import agree as agreed
    from pfgen_rs.judge.agreement.between import compare_judges
    from pfgen_rs.judge.agreement.families import read_families
    from pfgen_rs.judge.pairs import read_humans
    from pfgen_rs.judge.tables import write_tables
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
    table = None if families is None else read_families(families)
    found = [
        agreed(
            frame,
            _humans_of_pairs(people, frame),
            rule=by.value,
            judge=folder.judge_model,
            families=table,
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
            rules=(by.value, by.value),
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
        output.emit_json(
            {"judges": rows, "comparison": between and between.to_dict(), "coverage": coverage}
        )
        return
    for name, each in zip(names, found, strict=True):
        judge_agree_view.show_agreement(name, each)
    if between is not None:
        judge_agree_view.show_comparison(names, between)


def _humans_of_pairs(humans: pl.DataFrame | None, frame: pl.DataFrame) -> pl.DataFrame | None:
    return None if humans is None else humans.filter(humans["pair"].is_in(frame["pair"].to_list()))
