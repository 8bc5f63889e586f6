"""The face of the package: benchmarks that score, and finding one."""

from __future__ import annotations

import os
from typing import Any

import polars as pl

from pfgen_rs.io import Options, Source
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.metrics.units import Answer
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.questions.question import Question, read_folder, stated_unit
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs import streaming
from pfgen_rs.runs.result import Result
from pfgen_rs.scoring import batch, explain
from pfgen_rs.scoring.answer_scorer import AnswerScorer
from pfgen_rs.scoring.batch import Score
from pfgen_rs.scoring.explain import Explanation

__all__ = [
    "Benchmark",
    "Question",
    "load_benchmark",
    "resolve",
    "score_file",
]


class Benchmark(QuestionSet):
    """Questions that score answers, for one choice of settings. Safe to share between threads.

    `bench["Q14"]` is a question; iteration gives all of them by id. Scorers are built when first needed.

    Can be pickled (without its scorers, which the other process takes from the cache). `scorer()` works in
    processes made by `os.fork`, too. Methods that give or take polars frames may hang there, since polars'
    own threads are not copied: give `multiprocessing` the start method `spawn` or `forkserver` for those.
    """

    def score(self, question: str, answer: Answer) -> Score:
        """Score one answer to a question, given by its text or id; `score_batch` is faster for many.

        Raises `UnknownQuestionError`, `InputError` where the answer is no text (or no list of ids), and
        `BenchmarkError` where the question's reference answers cannot be scored against.
        """
        return batch.score(self, question, answer)

    def score_batch(
        self,
        data: Any,
        answers: Any = None,
        *,
        threads: int | None = None,
        chunk_size: int = batch.CHUNK,
    ) -> pl.DataFrame:
        """Score many answers; see `pfgen_rs.scoring.batch.score_batch`."""
        return batch.score_batch(self, data, answers, threads=threads, chunk_size=chunk_size)

    def evaluate(self, data: Any, answers: Any = None, *, threads: int | None = None) -> Result:
        """Score many answers, as `score_batch`, and summarise them as a run."""
        return streaming.evaluate(self, data, answers, threads=threads)

    def scorer(self, metric: str = "average", *, threads: int | None = 1) -> AnswerScorer:
        """A function of questions and answers for calls by the thousand, as in reinforcement learning.

        See `pfgen_rs.scoring.answer_scorer.AnswerScorer`. All questions are made ready now.
        """
        return AnswerScorer(self, metric, threads=threads)

    def explain(self, question: str, answer: Answer) -> Explanation:
        """Where an answer's score comes from, character by character."""
        return explain.explain(self, question, answer)


def score_file(
    path: str | os.PathLike[str],
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    settings: Settings | None = None,
    question_field: str = "question",
    answer_field: str = "answer",
    skip_bad_lines: bool = False,
    threads: int | None = None,
) -> Result:
    """Score a file of responses: JSON lines (`.gz`, `.xz`, `.zst` too), Parquet, Arrow IPC or CSV.

    `path` may be a run's folder, too (its `trials.jsonl[.xz]`), or `-` for standard input. A neighbouring
    `config.json` becomes part of the result. `benchmark`: one, or what `load_benchmark` takes. The file may
    be larger than memory: it is read, and scored, a bounded number of responses at a time.

    Raises `InputError` with file, line and question. With `skip_bad_lines` such
    lines (and unknown questions) are left out and listed in the result's `problems`.
    """
    benchmark = resolve(benchmark, settings)
    tokens = benchmark.settings.unit == "token"
    options = Options(question_field, answer_field, skip_bad_lines, tokens=tokens)
    [result] = streaming.score_sources(
        benchmark,
        [Source(path)],
        options,
        streaming.new_store(benchmark),
        threads=threads,
        keep=streaming.KEPT,
    )
    return result


def resolve(
    benchmark: Benchmark | str | os.PathLike[str] | None, settings: Settings | None
) -> Benchmark:
    """A benchmark, or what `load_benchmark` takes, with these settings (its own where there are none)."""
    if not isinstance(benchmark, Benchmark):
        return load_benchmark(benchmark, settings=settings)
    return benchmark if settings is None else benchmark.with_settings(settings)


def load_benchmark(
    name: str | os.PathLike[str] | None = None, *, settings: Settings | None = None
) -> Benchmark:
    """Load a benchmark.

    `name`: a folder of question files, the name of an installed benchmark (`pfgen-rs data install`), or
    `mini`, the bundled one. Without a name the environment variable PFGEN_RS_BENCHMARK decides, then `mini`.
    `settings`: the published ones by default, with the unit that the set was built with.

    Question files are `Q*.json`, plain or compressed (`.gz`, `.xz`, `.zst`). Raises `BenchmarkNotFoundError`
    or, naming the file, `BenchmarkError`.

    >>> bench = load_benchmark("mini")
    >>> len(bench), bench["Q02"].text
    (14, '光合成とは何ですか？')
    >>> bench.score_batch(["Q02", "Q14"], ["光合成", "風呂敷"])["average"].to_list()
    [0.34292, 0.34693]
    """
    folder = benchmark_path(name)
    questions, metadata_hash = read_folder(folder)
    settings = settings or Settings(unit=stated_unit(folder))
    return Benchmark(questions, metadata_hash, settings, folder.absolute())
