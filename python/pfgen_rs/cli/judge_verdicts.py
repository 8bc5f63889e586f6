"""`pfgen-rs judge decide`, `rank`, `panel`, `against-scores`, `plot`, `page`, `import` and `export`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from pfgen_rs.cli import judge_options, options, process, terminal
from pfgen_rs.cli.judge_options import number, percent, range_text, rows_table
from pfgen_rs.cli.plot import Font, Language, PlotOut
from pfgen_rs.io.text import counted, visible
from pfgen_rs.lazy import pl

if TYPE_CHECKING:
    from pfgen_rs.judge.agreement.bradley_terry import Ranking
    from pfgen_rs.judge.agreement.prediction_powered import PeopleAndJudge
    from pfgen_rs.judge.agreement.style import Controlled
    from pfgen_rs.judge.panel import Panel


def decide(
    verdicts: judge_options.Verdicts,
    by: judge_options.By = None,
    output_format: options.Rows = "table",
) -> None:
    """Decide each pair, and count the decisions.

    Decisions are by probability (the largest mean probability of both orders), strict (what both orders say,
    else undecided), tie (the same, else a tie) or first (the first order alone).

    A: the pair's first model wins, B: its second one, C: a tie. A pair that lacks a judgment of its present
    texts is missing; judgments of other texts are never used. `--format json` or `csv` has one row per pair.

    Example: `pfgen-rs judge decide verdicts --by probability`
    """
    from pfgen_rs.io.table_writer import csv_text
    from pfgen_rs.judge.decisions import decision_counts, decision_rows

    [read] = judge_options.read_decisions([verdicts], by)
    by, found = judge_options.chosen_rule([read], by), read.decisions
    if output_format == "json":
        process.emit_json(decision_rows(found, by).to_dicts())
    elif output_format == "csv":
        process.emit(csv_text(decision_rows(found, by)))
    else:
        counts = decision_counts(found, by)
        names = ["model a", "model b", *counts.columns[2:]]
        title = f"decisions by {by}"
        terminal.show(rows_table(names, counts.iter_rows(), words=2, title=title))
        judge_options.warn_of_doubts(read.folder)


def rank(
    verdicts: judge_options.Verdicts,
    by: judge_options.By = None,
    win_rates_only: Annotated[
        bool,
        typer.Option(
            "--win-rates-only",
            help="Do not fit Bradley–Terry, which needs models that are connected by wins.",
        ),
    ] = False,
    humans: judge_options.Humans = None,
    covariates: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Also rank models apart from covariates: length, markdown, order, separated by commas, or "
            "all.",
        ),
    ] = None,
    output_format: options.Format = "table",
) -> None:
    """Rank models by Bradley–Terry and by win rates, with intervals and the ranks that they leave open.

    A tie counts as half a win each way. Soft win rates use the judge's probabilities. Intervals resample
    questions. Pairs without a decision, and pairs of a model with itself, are left out and counted.

    --humans: people's verdicts on a random part of the pairs give win rates by people alone, by the judge
    alone, and by both together, unbiased and mostly with shorter intervals (prediction-powered inference).

    --covariates: a regression of who won on the models, the difference in length, in Markdown (headings, list
    items, bold, code blocks), and the order, in which each judgment is half a game.

    For example:

    - `pfgen-rs judge rank verdicts --humans humans.jsonl`

    - `pfgen-rs judge rank verdicts --covariates length,markdown`
    """
    from pfgen_rs.judge import read_humans
    from pfgen_rs.judge.agreement import prediction_powered, style
    from pfgen_rs.judge.agreement.bradley_terry import rank as ranked

    [read] = judge_options.read_decisions([verdicts], by)
    by = judge_options.chosen_rule([read], by)
    people = None if humans is None else read_humans(humans, read.decisions["pair"])
    found = ranked(read.decisions, rule=by, with_strengths=not win_rates_only)
    both = controlled = None
    if people is not None:
        both = prediction_powered.people_and_judge(read.decisions, people, rule=by)
    if covariates is not None:
        names = [each.strip() for each in covariates.split(",")]
        names = [*style.COVARIATES] if names == ["all"] else names
        pairs = read.folder.each_pair()
        controlled = style.rank_controlled(read.decisions, pairs, names, rule=by)
    if output_format == "json":
        values = {"name": read.name, **found.to_dict(), "coverage": read.coverage.to_dict()}
        more = {"people_and_judge": both, "controlled": controlled}
        values |= {name: each.to_dict() for name, each in more.items() if each is not None}
        process.emit_json(values)
        return
    _show_ranking(read.name, found)
    if both is not None:
        _show_people(both)
    if controlled is not None:
        _show_controlled(controlled, found)


def _show_ranking(name: str, found: "Ranking") -> None:
    left_out = (
        f", {counted(found.left_out, 'pair')} without a decision left out" if found.left_out else ""
    )
    process.remark(
        f"{name}: {counted(found.games, 'pair')} of {counted(found.questions, 'question')}{left_out}; "
        f"intervals {100 * found.level:g} % ({found.resamples} resamples of questions, seed {found.seed})"
    )
    known = [name for name in _SCORES if found.models[name].is_not_null().any()]
    choices = [_ranking_table(found, known[:count]) for count in range(len(known), 0, -1)]
    terminal.show(terminal.first_that_fits(*choices))
    judge_options.warn_all(found.notes)


def _bounded(
    row: Mapping[str, Any], name: str, scale: float = 100, digits: int = 1
) -> tuple[str, str]:
    """Returns a value and its interval as texts."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return number(row[name], digits, scale), range_text(low, high, scale, digits)


def _show_people(found: "PeopleAndJudge") -> None:
    names = ["model", "people", "interval", "judge", "interval ", "together", "interval  "]
    rates = ("people", "judge", "together")
    rows = [
        (
            row["model"],
            *(cell for name in rates for cell in _bounded(row, name)),
            *(row["people_games"], number(row["worth"], 0)),
        )
        for row in found.models.iter_rows(named=True)
    ]
    title = "win rates by people, by the judge, and by both together, %"
    said = "games: judged by people; worth: how many such games would give people alone an interval as short"
    terminal.show(rows_table([*names, "games", "worth"], rows, title=title), said)
    judge_options.warn_all(found.notes)


def _show_controlled(found: "Controlled", plain: "Ranking") -> None:
    known = dict(plain.models.select("model", "strength").iter_rows())
    names = ["rank", "ranks", "model", "controlled", "interval", "plain"]
    rows: list[tuple[object, ...]] = [
        (
            *(row["rank"], f"{row['best_rank']}–{row['worst_rank']}", row["model"]),
            *_bounded(row, "strength", 1, 2),
            number(known.get(row["model"]), 2),
        )
        for row in found.models.iter_rows(named=True)
    ]
    title = f"Bradley–Terry controlled for {', '.join(found.coefficients['covariate'])}"
    numbers = {*names} - {"model"}
    models = terminal.new_table(*names, numbers=numbers, names=["model"], title=title, rows=rows)
    names = ["covariate", "log-odds per unit", "interval", "unit"]
    units = {"order": "shown first: +1, second: −1"}
    rows = [
        (
            row["covariate"],
            *_bounded(row, "coefficient", 1, 3),
            units.get(row["covariate"], f"{row['unit']:.3f} of (a − b)/(a + b)"),
        )
        for row in found.coefficients.iter_rows(named=True)
    ]
    terminal.show(models, rows_table(names, rows, title="what an answer gains"))
    judge_options.warn_all(found.notes)


_SCORES = {
    "strength": ("Bradley–Terry", 1.0, 2),
    "win_rate": ("win rate, %", 100.0, 1),
    "soft_win_rate": ("soft, %", 100.0, 1),
}


def _ranking_table(found: "Ranking", known: Sequence[str]) -> Table:
    names = ["rank", "ranks", "model", "games", "W/T/L"]
    for place, name in enumerate(known):
        names += [_SCORES[name][0], "interval" + " " * place]
    rows = []
    for row in found.models.iter_rows(named=True):
        ranks = f"{row['best_rank']}–{row['worst_rank']}"
        results = f"{row['wins']}/{row['ties']}/{row['losses']}"
        cells = [row["rank"], ranks, row["model"], row["games"], results]
        for name in known:
            cells += _bounded(row, name, *_SCORES[name][1:])
        rows.append(cells)
    return terminal.new_table(*names, numbers={*names} - {"model"}, names=["model"], rows=rows)


def panel(
    verdicts: judge_options.Folders,
    out: Annotated[Path, options.out_option("FOLDER", "New folder of verdicts to write.")],
    by: Annotated[
        Literal["majority", "probability"],
        typer.Option(
            help="What decides: the members' letters (an equal lead is a tie), or the mean of their "
            "probabilities."
        ),
    ] = "majority",
    output_format: options.Format = "table",
) -> None:
    """Decide pairs by several judges together: a folder of verdicts of the judge `panel`.

    Each order is decided by the judges that have a verdict in it. Prints how often each judge agrees with the
    panel, and with the other judges together, and Fleiss' κ (Krippendorff's α where verdicts are missing).

    Example: `pfgen-rs judge panel verdicts-a verdicts-b --out verdicts-panel`
    """
    from pfgen_rs.judge.panel import write_panel

    found = write_panel(verdicts, out, by=by)
    if output_format == "json":
        process.emit_json(found.to_dict())
        return
    _show_panel(found)
    process.emit(f"wrote {counted(found.pairs, 'pair')} to {out}\n")


def _show_panel(found: "Panel") -> None:
    rows = (
        (
            *(row["judge"], row["judgments"]),
            *(cell for name in ("panel", "others") for cell in _bounded(row, name)),
        )
        for row in found.judges.iter_rows(named=True)
    )
    names = ["judge", "judgments", "panel", "interval", "others", "interval "]
    name = {"fleiss_kappa": "Fleiss' κ", "krippendorff_alpha": "Krippendorff's α"}[found.statistic]
    terminal.show(
        rows_table(names, rows, title="agreement with the panel and with the other judges, %"),
        f"agreement of the judges: {name} {number(found.value, 3)}",
    )
    judge_options.warn_all(found.notes)


def against_scores(
    verdicts: judge_options.Folders,
    benchmark: options.BenchmarkName = None,
    humans: judge_options.Humans = None,
    by: judge_options.By = None,
    output_format: options.Format = "table",
) -> None:
    """Show how often a judge or people prefer the answer with the higher score, by margin.

    Example: `pfgen-rs judge against-scores verdicts -b pfgen-bench --humans humans.jsonl`
    """
    from pfgen_rs.judge.agreement import agree as library

    read = judge_options.read_decisions(verdicts, by)
    by = judge_options.chosen_rule(read, by)
    pairs = list({pair.id: pair for each in read for pair in each.folder.pairs()}.values())
    scores = library.scored_pairs(pairs, options.load(benchmark, None))
    frames = {each.name: each.decisions for each in read}
    table = library.agreement_by_margin(scores, library.verdicts_by_name(frames, by, humans))
    if output_format == "json":
        coverage = [each.coverage.to_dict() for each in read]
        process.emit_json({"pairs": table.to_dicts(), "coverage": coverage})
    else:
        _show_margins(table)


def _show_margins(table: "pl.DataFrame") -> None:
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
    terminal.show(rows_table(names, rows, title=title))


@options.reading_options
def plot(
    kind: Annotated[
        Literal["agreement", "position", "ranks", "reliability", "scores"],
        typer.Argument(metavar="KIND", help="One of the figures above."),
    ],
    verdicts: judge_options.Folders,
    out: PlotOut,
    reading: options.ReadingOptions,
    humans: judge_options.Humans = None,
    by: judge_options.By = None,
    runs: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="RUN", help="A rated run, for `scores`; repeatable."),
    ] = None,
    benchmark: options.BenchmarkName = None,
    language: Language = "en",
    font: Font = None,
) -> None:
    """Plot what judges did. Requires matplotlib and scipy (`pip install 'pfgen_rs[plots,judge]'`).

    The figures, by KIND:

    - `agreement`: a matrix of judges and raters, with Cohen's κ

    - `position`: which answer wins in pairs that flip with the order

    - `ranks`: models with intervals and the ranks that are left open

    - `reliability`: how often decisions by probability are the raters' majority, in ten bins of probability

    - `scores`: a folder of ratings: mean ratings of runs against their scores, with Pearson's r (judging 6.5)

    For example:

    - `pfgen-rs judge plot reliability verdicts --humans humans.jsonl --out reliability.svg`

    - `pfgen-rs judge plot scores ratings --run runs/a --run runs/b -b pfgen-bench --out scores.svg`
    """
    from pfgen_rs.io.run_files import named_results
    from pfgen_rs.judge import plots

    look: dict[str, Any] = {"language": language, "font": font}
    if kind == "scores":
        if len(verdicts) != 1 or not runs:
            raise typer.BadParameter(
                "scores requires one folder of ratings, and its runs: --run RUN"
            )
        results = named_results(reading.score(runs, options.load(benchmark, None)))
        drawn = plots.figure_of_ratings(verdicts[0], results, benchmark, **look)
    else:
        drawn = plots.figure_of_verdicts(kind, verdicts, humans=humans, rule=by, **look)
    plots.save(drawn.figure, out)
    judge_options.warn_all(drawn.notes)


def page(
    verdicts: judge_options.Folders,
    out: Annotated[
        Path,
        options.out_option(
            "DIR|FILE.html",
            "Folder or file to write. A folder suits many pairs: texts are loaded on demand.",
        ),
    ],
    humans: judge_options.Humans = None,
) -> None:
    """Write a page with all pairs, verdicts, reasons and decisions, to look through in a browser.

    Pairs can be filtered by who disagrees (orders, samples, judges, raters), by task, models and text, and
    ordered by margin or disagreement. People can judge the same pairs in it, blind. The page needs neither
    server nor network. Of many pairs, it lists a random choice; a folder holds more than a single file.

    Example: `pfgen-rs judge page verdicts --humans humans.jsonl --out verdicts.html`
    """
    from pfgen_rs.judge import pages, verdict_folder

    with terminal.busy("writing the page"):
        view = pages.write_verdict_page(verdicts, out, humans=humans)
    listed = len(view.pairs)
    said = f", {listed:,} of them listed, drawn at random" if listed < view.total else ""
    process.emit(f"{visible(str(out))}: {counted(view.total, 'pair')}{said}\n")
    judge_options.warn_all(verdict_folder.coverage_notes([judge.read for judge in view.judges]))


def import_verdicts(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…",
            help="Judgments or pairs, and files of questions and answers that belong to them; a folder "
            "stands for the files in it.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        options.out_option(
            "FOLDER", "New folder of verdicts to write; without judgments, a new file of pairs."
        ),
    ],
    judge: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Judge to import, if the files have several."),
    ] = None,
) -> None:
    """Import judgments of another tool as a folder of verdicts. Their format is recognised.

    A data set without judgments becomes a file of pairs, for `compare`.

    Example: `pfgen-rs judge import gpt-4_pair.jsonl question.jsonl model_answer/ --out verdicts`
    """
    from pfgen_rs.judge.formats import read_format
    from pfgen_rs.judge.imported import import_to

    found = read_format(files).of_judge(judge)
    _, *people = import_to(out, found)
    judge_options.warn_all(found.notes)
    pairs, judgments = counted(len(found.pairs), "pair"), counted(len(found.judgments), "judgment")
    process.emit(f"wrote {pairs}{f' and {judgments}' if found.judgments else ''} to {out}\n")
    if people:
        process.emit(f"wrote {counted(len(found.humans), 'verdict')} of people to {people[0]}\n")
    if not found.judgments:
        process.remark(
            f"next: pfgen-rs judge compare {out} --out FOLDER …, pfgen-rs judge meta FOLDER"
        )


def _format_names() -> list[str]:
    from pfgen_rs.judge.formats import format_names

    return format_names()


def export_verdicts(
    verdicts: judge_options.Verdicts,
    target: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORMAT",
            autocompletion=_format_names,
            help="Format to write, such as alpaca-eval or json-lines.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, options.out_option("FILE", "File to write.")],
) -> None:
    """Export a folder of verdicts for another tool.

    Only alpaca-eval keeps probabilities, as soft preferences.

    Example: `pfgen-rs judge export verdicts --to alpaca-eval --out annotations.json`
    """
    from pfgen_rs.judge.formats import write_format
    from pfgen_rs.judge.imported import read_folder

    found = read_folder(verdicts)
    written = write_format(out, found, target)
    judge_options.warn_all(found.notes)
    if written < len(found.pairs):
        left_out = counted(len(found.pairs) - written, "pair")
        process.warn(f"{left_out} left out: no judgment, or none that {target} can express")
    process.emit(f"wrote {counted(written, 'pair')} to {out}\n")
