"""Scores by the reference answers of one source, or of some, alone (experiment 1 of the papers)."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from pfgen_rs import Benchmark, InputError, Result, SettingsError
from pfgen_rs.io import chunk, run_files, source, text
from pfgen_rs.io.reading import with_runs
from pfgen_rs.lazy import pl
from pfgen_rs.metrics.settings import BY_SOURCE, METRICS
from pfgen_rs.questions.unknown import order
from pfgen_rs.report.plots.inputs import answered_runs
from pfgen_rs.runs import streaming
from pfgen_rs.studies.metrics import FEWEST, CorrelationMatrix, correlations

Questions = Literal["common", "all"]
Track = Callable[[Sequence[str]], Iterable[str]]
SOURCE_METRICS = (METRICS[0], *BY_SOURCE)
"""The metrics that depend on the sources."""
_AT_ONCE = 16  # runs in memory
_SCHEMA = {
    **dict.fromkeys(("run", "model", "mode", "sources"), pl.String),
    "questions": pl.String,
    **dict.fromkeys(SOURCE_METRICS, pl.Float64),
}


@dataclass(frozen=True, eq=False)
class SourceStudy:
    """Runs scored with the reference answers of each source, and of all of them.

    `scores`: columns `run`, `model`, `mode`, `sources` (such as `P` or `P+T`), `questions` and the metrics
    `average`, `fluency`, `truthfulness`: means over questions. `questions` is `common` for the questions that
    have all of the sources, and `all` for every question of the benchmark, of which those that have none of a
    combination's sources keep their own. `sources`, `common`: names of sources, and ids of questions.
    """

    scores: pl.DataFrame
    sources: tuple[str, ...]
    common: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def matrix(
        self, metric: str = METRICS[0], questions: Questions = "common"
    ) -> CorrelationMatrix:
        """Returns the correlations of the combinations with each other, over runs. Raises `SettingsError`."""
        if metric not in SOURCE_METRICS:
            raise SettingsError(
                f"{metric!r} does not depend on sources: expected one of {', '.join(SOURCE_METRICS)}"
            )
        found = self.scores.filter(pl.col("questions") == questions)
        return correlations(
            {
                name: found.filter(pl.col("sources") == name)[metric].to_numpy()
                for name in found["sources"].unique(maintain_order=True)
            }
        )

    def frame(self) -> pl.DataFrame:
        """Returns the pairs of all matrices, with `metric` and `questions` before the fields of each."""
        return pl.concat(
            self.matrix(metric, questions)
            .frame()
            .select(pl.lit(metric).alias("metric"), pl.lit(questions).alias("questions"), pl.all())
            for questions in get_args(Questions)
            for metric in SOURCE_METRICS
        )

    def told(self, questions: Questions) -> str:
        """Returns which questions the scores are means over."""
        if questions == "common":
            return f"{text.counted(len(self.common), 'question')} with all of {', '.join(self.sources)}"
        return "all questions"

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON."""
        return {
            "sources": list(self.sources),
            "common_questions": list(self.common),
            "correlations": self.frame().to_dicts(),
            "scores": self.scores.to_dicts(),
            "notes": list(self.notes),
        }


def study_sources(
    runs: str | Sequence[str],
    benchmark: Benchmark,
    *,
    options: chunk.Options | None = None,
    run_field: str | None = None,
    track: Track = iter,
) -> SourceStudy:
    """Score runs with the reference answers of each source alone, and of all together, and correlate.

    `runs`: checkouts of pfgen-bench, all of whose runs with answers are scored, or runs as for `score_runs`;
    system runs are left out. Sources are those that share a question with another.
    `options`, `run_field`: how the runs are read, if not as usual. `track`: wraps the names of the sources
    while they are scored, such as `tqdm.tqdm`.

    Raises `InputError` for fewer than three runs, for sources that share no question, and what `score_runs`
    raises.
    """
    chosen = _shared_sources(benchmark)
    common = tuple(q.id for q in benchmark if set(chosen) <= set(q.sources))
    if not common:
        raise InputError(f"no question has reference answers of all of {', '.join(chosen)}")
    given = run_files.expand([runs] if isinstance(runs, str) else runs)
    paths, lacking = answered_runs(given)
    notes = [f"left out: {text.counted(lacking, 'run')} without answers"] if lacking else []
    reading = with_runs(options or chunk.Options(), run_field)
    combined = {"+".join(names): names for names in (*zip(chosen, strict=True), chosen)}
    rows: list[dict[str, Any]] = []
    for name in track(list(combined)):
        for result in _scored(paths, restricted(benchmark, combined[name]), reading):
            if result.cut_short is not None:
                notes.append(str(result.cut_short))
            if not run_files.is_system(result.config or {}):
                rows += _rows_of_result(result, name, common)
    told = tuple(dict.fromkeys(notes))  # each run was scored several times
    study = SourceStudy(pl.DataFrame(rows, schema=_SCHEMA), chosen, common, told)
    count = study.scores["run"].n_unique()
    if count < FEWEST:
        raise InputError(f"{text.counted(count, 'run')} to correlate: expected at least {FEWEST}")
    if not study.matrix().pairs:
        raise InputError(f"all {count} runs have the same score: the correlation is undefined")
    return study


def _scored(paths: Sequence[str], benchmark: Benchmark, options: chunk.Options) -> Iterator[Result]:
    """Yield the results of all runs, of which few are in memory at once."""
    storage = source.storage_for(paths)
    files = run_files.expand_runs(paths, storage)
    options = replace(options, tokens=benchmark.settings.unit == "token")
    for start in range(0, len(files), _AT_ONCE):
        sources = source.opened_sources(files[start : start + _AT_ONCE], storage)
        store = streaming.new_store(benchmark)
        yield from streaming.score_sources(benchmark, sources, options, store)


def _rows_of_result(result: Result, name: str, common: Sequence[str]) -> list[dict[str, Any]]:
    """Returns a row for the common questions, and one for all."""
    if result.missing:
        raise InputError(result._missing_note, path=result.path)
    mode = (result.config or {}).get("mode")
    about = {
        "run": result._place,
        "model": result.name,
        "mode": mode if isinstance(mode, str) else None,
        "sources": name,
    }
    by_question = result.by_question
    shared = by_question.filter(pl.col("question_id").is_in(list(common)))
    return [
        {**about, "questions": kind, **frame.select(SOURCE_METRICS).mean().row(0, named=True)}
        for kind, frame in (("common", shared), ("all", by_question))
    ]


def restricted(benchmark: Benchmark, sources: Sequence[str]) -> Benchmark:
    """Returns a benchmark whose questions have the reference answers of some sources alone.

    Questions that have none of them keep their own.
    """
    questions = []
    for question in benchmark:
        kept = {name: found for name, found in question.answers.items() if name in sources}
        questions.append(replace(question, answers=kept or question.answers))
    about = f"{benchmark.metadata_hash}:{'+'.join(sources)}".encode()
    digest = hashlib.sha1(about, usedforsecurity=False).hexdigest()
    return Benchmark(questions, digest, benchmark.settings)


def _shared_sources(benchmark: Benchmark) -> tuple[str, ...]:
    shared = {name for q in benchmark if len(q.sources) > 1 for name in q.sources}
    found = [name for name in benchmark.sources if name in shared]
    if not found:
        raise InputError("no question has reference answers of two sources to compare")
    return tuple(found[place] for place in order(found))
