"""`pfgen-rs judge decide`, `rank`, `against-scores`, `import` and `export`: what verdicts say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import judge_options as shared
from pfgen_rs.cli import options, output, streams
from pfgen_rs.cli.judge_options import number, percent, range_text, rows_table
from pfgen_rs.cli.options import JsonFormat, ReadingOptions, RowsFormat, reading_options
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.judge.formats import format_names

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from pfgen_rs.judge.against_scores import RunCorrelation
    from pfgen_rs.judge.agreement.ranking import Ranking

_SHOWN = 80  # characters of an output


def decide(
    verdicts: shared.Verdicts,
    by: shared.By = "probability",
    out: Annotated[
        Path | None,
        shared.out_option("FILE", "Write all columns to a .jsonl, .csv or .parquet file."),
    ] = None,
    doubtful: Annotated[
        bool,
        typer.Option(
            "--doubtful",
            help="Show the verdicts instead whose output begins with a refusal or has several letters.",
        ),
    ] = False,
    output_format: options.Rows = RowsFormat.TABLE,
) -> None:
    """Decide each pair, and count the decisions.

    Decisions are by probability (the largest mean probability of both orders), strict (what both orders say,
    else undecided), tie (the same, else a tie) or first (the first order alone).

    A: the pair's first model wins, B: its second one, C: a tie. A pair that lacks a judgment of its present
    texts is missing; judgments of other texts are never used. `--format json` or `csv` and `--out` have a row
    a pair.

    Example: `pfgen-rs judge decide verdicts --by probability`
    """
    from pfgen_rs.io.table_writer import csv_text
    from pfgen_rs.judge import decision_columns as tables
    from pfgen_rs.judge.verdict_folder import VerdictFolder

    folder = VerdictFolder(verdicts)
    [(found, _)] = shared.read_decisions([folder])
    if doubtful:
        rows = wide = folder.doubts().drop_nulls("doubt")
    else:
        rows = tables.decision_rows(found, by)
        wide = found.with_columns(decision=rows["decision"], state=rows["state"])
    if out is not None:
        tables.write_frame(wide, out)
    if output_format is RowsFormat.JSON:
        streams.emit_json(rows.to_dicts())
    elif output_format is RowsFormat.CSV:
        streams.emit(csv_text(rows))
    elif doubtful:
        _show_doubts(rows)
    else:
        counts = tables.decision_counts(found, by)
        title = f"decisions by {by}"
        names = ["model a", "model b", *counts.columns[2:]]
        output.show(rows_table(*names, rows=counts.iter_rows(), words=2, title=title))
        shared.warn_of_doubts(folder)


def _show_doubts(doubts: pl.DataFrame) -> None:
    if doubts.is_empty():
        streams.remark("no verdict is doubtful")
        return
    rows = ((*cells, shortened(text, _SHOWN)) for *cells, text in doubts.iter_rows())
    output.show(rows_table("pair", "order", "verdict", "doubt", "output", rows=rows, words=5))


def rank(
    verdicts: shared.Verdicts,
    by: shared.By = "probability",
    win_rates_only: Annotated[
        bool,
        typer.Option(
            "--win-rates-only",
            help="Do not fit Bradley–Terry, which needs models that are connected by wins.",
        ),
    ] = False,
    out: shared.TablesFolder = None,
    resamples: shared.Resamples = 1000,
    seed: shared.Seed = 0,
    level: options.Level = 0.95,
    output_format: options.Format = JsonFormat.TABLE,
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
    [(decisions, coverage)] = shared.read_decisions([folder])
    found = ranked(
        decisions,
        rule=by,
        with_strengths=not win_rates_only,
        level=level,
        resamples=resamples,
        seed=seed,
    )
    if out is not None:
        write_tables(found.tables(), found.to_dict(), out)
    if output_format is JsonFormat.JSON:
        values = {"name": folder.judge_name, **found.to_dict(), "coverage": coverage.to_dict()}
        streams.emit_json(values)
        return
    _show_ranking(folder.judge_name, found)


def _show_ranking(name: str, found: Ranking) -> None:
    left_out = (
        f", {counted(found.left_out, 'pair')} without a decision left out" if found.left_out else ""
    )
    streams.remark(
        f"{name}: {counted(found.games, 'pair')} of {counted(found.questions, 'question')}{left_out}; "
        f"intervals {100 * found.level:g} % ({found.resamples} resamples of questions, seed {found.seed})"
    )
    known = [name for name in _SCORES if found.models[name].is_not_null().any()]
    choices = [_ranking_table(found, known[:count]) for count in range(len(known), 0, -1)]
    output.show(output.first_that_fits(*choices))
    shared.warn_all(found.notes)


_SCORES = {
    "strength": ("Bradley–Terry", 1.0, 2),
    "win_rate": ("win rate, %", 100.0, 1),
    "soft_win_rate": ("soft, %", 100.0, 1),
}


def _ranking_table(found: Ranking, known: Sequence[str]) -> Table:
    names = ["rank", "ranks", "model", "games", "W/T/L"]
    for place, name in enumerate(known):
        names += [_SCORES[name][0], "interval" + " " * place]
    table = output.new_table(*names, numbers=[name for name in names if name != "model"])
    for row in found.models.iter_rows(named=True):
        ranks = f"{row['best_rank']}–{row['worst_rank']}"
        results = f"{row['wins']}/{row['ties']}/{row['losses']}"
        cells = [row["rank"], ranks, row["model"], row["games"], results]
        for name in known:
            _, scale, digits = _SCORES[name]
            cells.append(number(row[name], digits, scale))
            cells.append(range_text(row[f"{name}_low"], row[f"{name}_high"], scale, digits))
        table.add_row(*map(output.cell, cells))
    return table


@reading_options
def against_scores(
    verdicts: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[VERDICTS…]",
            help="Folders of verdicts on answers to the benchmark's questions.",
            show_default=False,
        ),
    ] = None,
    *,
    reading: ReadingOptions,
    benchmark: options.BenchmarkName = None,
    humans: shared.Humans = None,
    by: shared.By = "probability",
    ratings: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of ratings (made by `judge grade`) of --run."),
    ] = None,
    runs: shared.RatedRuns = None,
    output_format: options.Format = JsonFormat.TABLE,
) -> None:
    """Tell how often the answer with the higher score is the one that a judge or people prefer, by margin.

    With --ratings and --run, correlate mean ratings with the scores of runs as well (judging 6.5).

    Example: `pfgen-rs judge against-scores verdicts -b pfgen-bench --humans humans.jsonl`
    """
    from pfgen_rs.judge import against_scores as library
    from pfgen_rs.judge.verdict_folder import VerdictFolder, distinct_judge_names
    from pfgen_rs.runs.naming import named_results

    if not verdicts and ratings is None:
        raise typer.BadParameter("expected folders of verdicts, or --ratings")
    found: dict[str, Any] = {}
    table = None
    if verdicts:
        opened = [VerdictFolder(path) for path in verdicts]
        read = shared.read_decisions(opened)
        pairs = list({pair.id: pair for folder in opened for pair in folder.pairs()}.values())
        scores = library.scored_pairs(pairs, reading.load(benchmark), clean=reading.clean)
        frames = dict(zip(distinct_judge_names(opened), (frame for frame, _ in read), strict=True))
        letters = library.verdicts_by_name(frames, by, humans)
        table = library.agreement_by_margin(scores, letters)
        found["pairs"] = table.to_dicts()
        found["coverage"] = [coverage.to_dict() for _, coverage in read]
    correlation = None
    if ratings is not None:
        if not runs:
            problem = "--ratings requires the rated runs: --run RUN"
            raise typer.BadParameter(problem, param_hint="--run")
        results = named_results(reading.score_with(runs, benchmark))
        rated = library.rated_runs(ratings, results, benchmark)
        shared.warn_all(rated.ratings.notes())
        correlation = rated.correlation
        missing = {"missing": dict(rated.ratings.missing), "stale": rated.ratings.others}
        found["runs"] = {**correlation.to_dict(), **missing}
    if output_format is JsonFormat.JSON:
        streams.emit_json(found)
        return
    if table is not None:
        _show_margins(table)
    if correlation is not None:
        show_correlation(correlation)


def _show_margins(table: pl.DataFrame) -> None:
    names = ["who", "margin", "share", "exact interval", "pairs", "ties", "missing"]
    rows = (
        (
            *(row["who"], row["margin"], percent(row["share"])),
            range_text(row["low"], row["high"]),
            *(row["pairs"], row["ties"], row["missing"]),
        )
        for row in table.iter_rows(named=True)
    )
    title = "the answer with the higher score is preferred, %"
    output.show(rows_table(*names, rows=rows, title=title))


def show_correlation(found: RunCorrelation) -> None:
    """Print the correlation of ratings with scores over runs."""
    runs = counted(len(found.runs), "run")
    for name, value, interval in (
        ("Pearson's r", found.pearson, found.pearson_interval),
        ("Spearman's ρ", found.spearman, found.spearman_interval),
    ):
        said = f"undefined for {runs}"
        if value is not None:
            said = f"{value:.4f} (95 % interval {range_text(*interval, 1, 4)}), {runs}"
        streams.emit(f"{name} of ratings and scores: {said}\n")


def import_verdicts(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…",
            help="Judgments, and files of questions, answers or pairs that belong to them; a folder stands "
            "for the .json and .jsonl files in it.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, shared.out_option("FOLDER", "New folder of verdicts to write.")],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            autocompletion=format_names,
            help=f"Format of the files: one of {', '.join(format_names())} (default: recognised).",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Judge to import, if the files have several."),
    ] = None,
) -> None:
    """Import judgments of another tool as a folder of verdicts.

    Verdicts of people go to humans.jsonl in that folder.

    Example: `pfgen-rs judge import gpt-4_pair.jsonl question.jsonl model_answer/ --out verdicts`
    """
    from pfgen_rs.judge.formats import read_format
    from pfgen_rs.judge.imported import HUMANS, write_folder

    found = read_format(files, source).of_judge(judge)
    write_folder(out, found)
    shared.warn_all(found.notes)
    judgments = counted(len(found.judgments), "judgment")
    streams.emit(f"wrote {counted(len(found.pairs), 'pair')} and {judgments} to {out}\n")
    if found.humans:
        raters = len({rater for _, rater, _ in found.humans})
        written = counted(len(found.humans), "verdict")
        streams.emit(f"wrote {written} of {counted(raters, 'rater')} to {out / HUMANS}\n")


def export_verdicts(
    verdicts: shared.Verdicts,
    target: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORMAT",
            autocompletion=format_names,
            help=f"Format to write: one of {', '.join(format_names())}, unless it is imported only.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, shared.out_option("FILE", "File to write.")],
) -> None:
    """Export a folder of verdicts for another tool.

    Only alpaca-eval keeps probabilities, as soft preferences.

    Example: `pfgen-rs judge export verdicts --to alpaca-eval --out annotations.json`
    """
    from pfgen_rs.judge.formats import write_format
    from pfgen_rs.judge.imported import read_folder

    found = read_folder(verdicts)
    written = write_format(out, found, target)
    shared.warn_all(found.notes)
    if written < len(found.pairs):
        left_out = counted(len(found.pairs) - written, "pair")
        streams.warn(f"{left_out} left out: no judgment, or none that {target} can express")
    streams.emit(f"wrote {counted(written, 'pair')} to {out}\n")
