"""Inputs of figures: checkouts, leaderboards and runs, which are scored if they have no result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pfgen_rs import InputError, PfgenError, PlotError, Result, Settings, errors, score_runs
from pfgen_rs.checkout import checkout, leaderboard
from pfgen_rs.checkout.entries import Entry, entries, entries_frame, read_results
from pfgen_rs.checkout.published import Published, published, read_published
from pfgen_rs.io.run_files import RESULT, expand
from pfgen_rs.io.tables import table_errors
from pfgen_rs.lazy import pl
from pfgen_rs.metrics.settings import BY_SOURCE
from pfgen_rs.metrics.signature import has_helpfulness
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.questions.question import Question, read_folder
from pfgen_rs.report.site.board import facts_of, run_cost
from pfgen_rs.report.site.model_facts import FILE, bundled_facts, read_facts
from pfgen_rs.runs.generation import output_tokens

Score = Callable[[Sequence[str], str | None], list[Result]]
"""Scores runs with a benchmark, like `score_runs`."""
_COLUMNS = {"run", "model", "mode", "score", "score_low", "score_high"}  # of a leaderboard


@dataclass(frozen=True)
class Inputs:
    """Runs to draw.

    `runs`: rows as in `entries_frame`, each with a unique `name`. `results`: their published results by that
    name; none for runs of a leaderboard file. `problems`: the errors of runs that were left out. `entries`:
    the runs with results, best first.
    """

    runs: pl.DataFrame
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: list[PfgenError] = field(default_factory=list)
    entries: Sequence[Entry] = ()

    @property
    def notes(self) -> list[str]:
        """What is said of the runs that were left out."""
        return [f"left out: {problem}" for problem in self.problems]


class CategoryScores(NamedTuple):
    """Scores of runs by question, categories by id of the question, and scores of runs by name."""

    scores: pl.DataFrame
    categories: dict[str, str | None]
    overall: dict[str, float]


@dataclass(frozen=True)
class PlotRequest:
    """What to draw: runs and `score` as for `read_inputs`, options, and `look`, what every figure takes.

    A figure ignores options that it does not need. Runs are read, or scored, when a figure asks for them.
    """

    paths: Sequence[str]
    benchmark: str | None = None
    metric: str = "average"
    top: int | None = None
    x: str | None = None
    y: str | None = None
    log: Literal["x", "y", "xy", "none"] | None = None
    join: str | None = None
    look: Mapping[str, Any] = field(default_factory=dict)
    score: Score = score_runs

    @cached_property
    def inputs(self) -> Inputs:
        """The runs with their published results."""
        return read_inputs(self.paths, self.benchmark, self.score)

    @cached_property
    def known(self) -> Mapping[str, Mapping[str, Any]]:
        """What is known of each run and its model: facts of the first checkout and of the package."""
        places = [Path(path) for path in expand(self.paths) if checkout.is_checkout(Path(path))]
        facts = read_facts(places[0] / FILE) if places else bundled_facts()
        rows = self.inputs.runs.select("run", "model", "organisation").rows()
        names = {run: (f"{by}/{model.rpartition('/')[2]}", model) for run, model, by in rows}
        known = {run: facts_of(facts, own) for run, own in names.items()}
        for run, own in known.items() if places else ():
            own["cost"] = run_cost(output_tokens(places[0] / run), own)
        return known

    @property
    def by_question(self) -> Inputs:
        """The same; raises `PlotError` for a leaderboard file, which has no questions."""
        if not self.inputs.entries:
            raise PlotError("a leaderboard file has no questions: pass a checkout or runs")
        return self.inputs

    @cached_property
    def questions(self) -> tuple[Sequence[Question], str]:
        """The questions of the runs, and their metadata hash."""
        return read_folder(benchmark_path(question_folder(self.paths, self.benchmark)))

    @cached_property
    def category_scores(self) -> CategoryScores:
        """The arguments of `category_means`, of runs with these questions; raises `PlotError` if none has."""
        names = dict(self.by_question.runs.select("run", "name").iter_rows())
        questions, metadata_hash = self.questions
        same = [entry for entry in self.inputs.entries if entry.metadata_hash == metadata_hash]
        if not same:
            raise PlotError("nothing to draw: no run has these questions: pass its benchmark")
        rows = [(names[e.run], key, mean) for e in same for key, mean in e.questions.items()]
        return CategoryScores(
            pl.DataFrame(rows, schema=["name", "question_id", "score"], orient="row"),
            {question.id: question.category or None for question in questions},
            {names[entry.run]: entry.score for entry in same},
        )

    @property
    def category_notes(self) -> list[str]:
        """What is said of runs that `category_scores` lacks."""
        left = len(self.inputs.runs) - len(self.category_scores.overall)
        more = [f"left out: runs with other questions than the benchmark's: {left}"] * (left > 0)
        return [*self.inputs.notes, *more]

    @cached_property
    def responses(self) -> list[Result]:
        """The runs (of a checkout: all that have responses), scored again, with every response."""
        paths = expand(self.paths)
        return self.score(answered_runs(paths)[0], question_folder(paths, self.benchmark))


RUN = ("name", "run", "model", "mode", "score")
BOUNDS = ("score_low", "score_high")


def run_columns(runs: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Returns runs by descending score, with what names them and these columns, as far as they are there."""
    there = [name for name in dict.fromkeys([*RUN, *columns]) if name in runs.columns]
    return runs.select(there).sort("score", descending=True, maintain_order=True)


def read_inputs(
    patterns: Sequence[str], benchmark: str | None = None, score: Score = score_runs
) -> Inputs:
    """Read runs from paths.

    A path may be a checkout, a leaderboard (`.json`, `.parquet`), a run's folder, a `result.json`, a file of
    responses, or a glob. Runs without `result.json` are scored by `score` with `benchmark` (default: the
    questions of the first checkout). Raises `InputError`, `PlotError` if no runs are found, and the errors of
    scoring.
    """
    paths = expand(patterns)
    runs, tables, unscored = [], [], []
    problems: list[PfgenError] = []
    for path in paths:
        place = Path(path)
        if checkout.is_checkout(place):
            found, unusable = read_results(place, "" if len(paths) == 1 else path)
            runs += found
            problems += unusable
        elif (place / RESULT).is_file():
            runs.append(read_published(place, place.as_posix()))
        elif (table := _leaderboard_rows(place)) is not None:
            tables.append(table)
        elif place.suffix == ".json":
            runs.append(published(_bytes(place), place, place.parent.as_posix()))
        else:
            unscored.append(path)
    if unscored:
        runs += map(_published, score(unscored, question_folder(paths, benchmark)))
    ranked = entries({run.run: run for run in runs}.values())
    every = pl.concat([entries_frame(ranked), *tables], how="diagonal_relaxed")
    if every.is_empty():
        raise PlotError("; ".join(map(str, [f"no run found in {', '.join(patterns)}", *problems])))
    named = named_runs(every)
    results = {run.run: run.result for run in runs}
    names = named.select("name", "run").rows()
    by_name = {name: results[run] for name, run in names if run in results}
    return Inputs(named, by_name, problems, ranked)


def sample_names(results: Sequence[Result]) -> list[str]:
    """Returns the labels of scored runs (`leaderboard.run_labels`), in their order."""
    runs = []
    for number, result in enumerate(results):
        place, by = _run(result) or str(number), result.name.rpartition("/")[0] or None
        mode = (result.config or {}).get("mode")
        mode = mode if isinstance(mode, str) else None
        runs.append(leaderboard.RunName(place, result.name, by, mode))
    found = leaderboard.run_labels(runs)
    return [found[run.run] for run in runs]


def _run(result: Result) -> str:
    """Returns what tells a scored run from others: its file, and its name there if the file has several."""
    return result._place if result.run is not None else result.path or ""


def question_folder(paths: Sequence[str], benchmark: str | None) -> str | None:
    """Returns the given benchmark or, without one, the questions of the first checkout."""
    checkouts = [path for path in paths if checkout.is_checkout(Path(path))]
    return benchmark or (str(Path(checkouts[0], "data")) if checkouts else None)


def answered_runs(paths: Sequence[str]) -> tuple[list[str], int]:
    """Returns paths, in place of checkouts those of their runs with answers; and how many have none."""
    found: list[str] = []
    lacking = 0
    for path in paths:
        if not checkout.is_checkout(Path(path)):
            found.append(path)
            continue
        runs = [r for r in checkout.find_runs(path) if r.name.partition("/")[0] != "data"]
        found += [str(run.folder) for run in runs if run.responses]
        lacking += sum(not run.responses for run in runs)
    return found, lacking


def _leaderboard_rows(path: Path) -> pl.DataFrame | None:
    """Returns the rows of a leaderboard file; `None` for other files."""
    if path.suffix == ".json" and b'"runs"' in _bytes(path)[:1000]:
        return pl.DataFrame(leaderboard.read_rows_file(path), infer_schema_length=None)
    if path.suffix == ".parquet" and set((table := read_table(path)).columns) >= _COLUMNS:
        return table
    return None


def read_table(path: Path) -> pl.DataFrame:
    """Read a Parquet file, such as a learning curve or a leaderboard; raises `InputError`."""
    content = _bytes(path)
    try:
        return pl.read_parquet(content)
    except table_errors():
        raise InputError("expected a table such as curve.parquet", path=path) from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(errors.unreadable(error), path=path) from error


def _published(result: Result) -> Published:
    config = {**(result.config or {}), "model": result.name}
    content = {**result.to_dict(allow_partial=True), "config": config}
    return Published(_run(result), content, "")


def named_runs(runs: pl.DataFrame) -> pl.DataFrame:
    """Add `name`, a label (`leaderboard.run_labels`), to rows as of `entries_frame`; drop repeated runs."""
    once = runs.unique("run", keep="first", maintain_order=True)
    if "organisation" not in once.columns:
        once = once.with_columns(organisation=pl.lit(None, pl.String))
    names = once.select("run", "model", "organisation", "mode").rows()
    found = leaderboard.run_labels([leaderboard.RunName(*row) for row in names])
    return once.with_columns(
        pl.Series("name", [found[run] for run in once["run"]], dtype=pl.String)
    )


# Tables for figures: checks, and tables from published results and scored runs.


def drawable(frame: pl.DataFrame, text: Sequence[str], numbers: Sequence[str]) -> pl.DataFrame:
    """Returns the rows whose `numbers` are all finite; these become float64, `text` strings.

    Raises `PlotError` if a column is missing or has the wrong type, and if no rows are left.
    """
    numbers = [*dict.fromkeys(numbers)]
    missing = [name for name in (*text, *numbers) if name not in frame.columns]
    if missing:
        raise PlotError(f"missing columns in the table to draw: {', '.join(map(repr, missing))}")
    try:
        cast = frame.with_columns(pl.col(numbers).cast(pl.Float64), pl.col(text).cast(pl.String))
    except pl.exceptions.PolarsError as error:
        raise PlotError(f"a column of the table to draw has the wrong type: {error}") from None
    found = cast.filter(pl.all_horizontal(pl.lit(True), pl.col(numbers).is_finite()))
    if found.is_empty():
        raise PlotError(f"nothing to draw: no run has {', '.join(numbers or text)}")
    return found


def source_scores(results: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """Returns the score of each run with the reference answers of one source alone, by question.

    `results`: published results (`result.json`) by name. Columns `name`, `question_id`, `source`, `fluency`,
    `truthfulness`, `average`. A question's published Fluency is the mean over its sources, given as each
    source's share; the share times the number of sources is the Fluency with this source alone. Exact to
    about 1e-5 times the number of sources, since shares are rounded.
    """
    rows = []
    for name, result in results.items():
        settings = Settings(helpfulness=has_helpfulness(result))
        for question_id, entry in result["questions"].items():
            scores = entry["scores"]
            number = len(scores["fluency"])
            for source, share in scores["fluency"].items():
                values = share * number, scores["truthfulness"].get(source, 0.0) * number
                average = settings.average(*values, scores["helpfulness"])
                rows.append((name, question_id, source, *values, average))
    text, numbers = ("name", "question_id", "source"), (*BY_SOURCE, "average")
    schema = {**dict.fromkeys(text, pl.String), **dict.fromkeys(numbers, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def responses(result: Result) -> pl.DataFrame:
    """Returns a scored run's responses without texts: `question_id`, `length`, metrics and `average`."""
    names = ["question_id", "length", "average", "fluency", "truthfulness", "helpfulness"]
    scores = result.response_scores
    return pl.concat([scores.frame(part).select(names) for part in scores.parts], rechunk=True)
