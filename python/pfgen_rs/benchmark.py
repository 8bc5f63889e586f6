"""Benchmarks that score answers, and finding one: what users call first."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from pfgen_rs.errors import InputError
from pfgen_rs.io.atomic import refuse_url
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.cleaning import Clean, Think
from pfgen_rs.io.reading import with_runs
from pfgen_rs.io.run_files import Paths, expand_runs
from pfgen_rs.io.source import opened_sources, storage_for
from pfgen_rs.lazy import pl
from pfgen_rs.metrics.settings import Chosen, Metric
from pfgen_rs.metrics.units import Answer, Unit
from pfgen_rs.questions import made
from pfgen_rs.questions.folder import KnownQuestions, settings_of_folder
from pfgen_rs.questions.left_out import LeaveOut
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.questions.question import Question, read_folder
from pfgen_rs.questions.question_set import QuestionSet, stated_by
from pfgen_rs.runs import in_memory, streaming
from pfgen_rs.runs.outputs import (
    left_out_note,
    overlap_note,
    reasoning_note,
    unclean_note,
    worthless_note,
)
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.streaming import ScoringProgress
from pfgen_rs.scoring import batch, explain, left_out
from pfgen_rs.scoring.answer_scorer import AnswerScorer
from pfgen_rs.scoring.batch import Score
from pfgen_rs.scoring.explain import Explanation
from pfgen_rs.scoring.inputs import AnswerColumn, QuestionColumn, Table, as_paths, rows, split_table

if TYPE_CHECKING:
    from pfgen_rs.io.remote.storage import Storage
    from pfgen_rs.questions.left_out import LeaveOut
    from pfgen_rs.references.check import Check

_LOG = logging.getLogger(__name__)


class Benchmark(QuestionSet):
    """Questions that score answers, for one choice of settings. Safe to share between threads.

    `bench["Q14"]` is a question, `"Q14" in bench` says whether there is one, and iteration yields all of them
    by id. A question is named by its text, its id, or its `Question`. Scorers are built when first needed.

    Can be pickled (without its scorers, which the other process takes from the cache). `scorer()` works in
    processes made by `os.fork`, too. Methods that take or return polars frames may hang there, since polars'
    own threads are not copied: use the `multiprocessing` start method `spawn` or `forkserver` for those.

    >>> bench = load_benchmark("mini")
    >>> bench.evaluate(["Q02", "Q14"], ["光合成です。", "風呂敷です。"]).score
    0.3561
    """

    @classmethod
    def from_references(
        cls,
        references: Mapping[str, Any] | Table,
        *,
        rules: Mapping[str, Sequence[Any]] | None = None,
        source: str = "X",
        unit: Unit | None = None,
        n: str | tuple[int, int] | None = None,
        length: int | None = None,
        skipped: str | None = None,
        language: str = "",
        name: str = "",
        made_by: str = "",
        licence: str = "",
        citation: str = "",
    ) -> Self:
        """Make a benchmark of reference answers in memory.

        `references`: a mapping of questions to lists of answers or, for several sources, to mappings of
        sources to such lists. Or a table or list of dicts, as for `score_batch`, whose rows have a `question`
        and an `answer`, or a list of `answers`, and perhaps `source`, `model` (who wrote them), `question_id`
        (else made: Q01, Q02, …), and what question files have: `category`, `note`, `keywords`.

        `rules`: the keyword rules of questions (text or id): lists of `"text"`, `{"t": "expression"}`, and
        `{"and": [...]}` or `{"or": [...]}` of such, perhaps with `name` and `importance`. Without any,
        Helpfulness is not part of the average. `source`: of answers that name none. `n`: lengths of n-grams,
        `(1, 10)` or `"1-10"`. `length`: how long answers should be, in units; by default 100 or, if that
        is more than a tenth off, the references' mean length. `skipped`: what Truthfulness skips.
        `language`: `ja`, `en`, `zh` or `ko`, whose preset decides `unit`, `length` and `skipped` where they
        are not given (by default that of Japanese); for another language, give them. What is not as published
        is in the signature. The set states `language`, `name`, `made_by`, `licence` and `citation`.

        Scorers are not cached on disk, unlike those of the folder that `save` writes; pickles have all
        answers. Raises `InputError` with question and row, counted from 0, and `SettingsError`.

        >>> sky = {"Why is the sky blue?": ["Air scatters blue light.", "Blue light is scattered by air."]}
        >>> bench = Benchmark.from_references(sky, rules={"Q01": ["scatter"]}, unit="word")
        >>> bench.score("Q01", "Air scatters blue light.").helpfulness
        1.0
        >>> bench.signature.partition("|v:")[0]
        'pfgen|set:37f5b7af|variant:pfgen-bench|n:1-10|t:3|unit:word|length:6-9-12'
        """
        by_question = isinstance(references, Mapping) and "question" not in references
        found = cast("Mapping[str, Any]", references) if by_question else rows(references)
        said = {
            "name": name,
            "language": language,
            "made_by": made_by,
            "licence": licence,
            "citation": citation,
        }
        how = source, unit, n, length, skipped
        return cls(*made.made_questions(found, rules or {}, *how, said))

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the questions as files; `load_benchmark(folder)` is then a benchmark of the same signature.

        A new folder appears whole. If it has the same set, nothing happens. Returns its path. Raises
        `OutputError` for a folder with another set, and `SettingsError` for settings, chosen afterwards, that
        the questions do not state.
        """
        refuse_url(folder)
        return made.save_questions(self, Path(folder))

    def check(
        self,
        runs: Iterable[str | os.PathLike[str]] = (),
        *,
        against: Benchmark | str | os.PathLike[str] | None = None,
        influence: LeaveOut | None = None,
    ) -> Check:
        """Diagnose the reference answers, on their own and by the scores they give to runs.

        What `pfgen-rs build check` says, as `pfgen_rs.references.check.check`; print it. `runs`: files, run
        folders or globs. `against`: another set to correlate their scores with. `influence`: whether to
        measure how much a `model` that wrote reference answers, or its `family`, lifts its own scores.
        """
        from pfgen_rs.references.check import check  # it needs this module

        return check(self, runs, against=against, influence=influence)

    def without_models(self, models: Iterable[str]) -> Self:
        """Return the benchmark without the reference answers that these models wrote.

        For scores of a model that wrote some, which lift its own score. Scores of other models' answers stay
        what they were in the mean (scoring 11), and the signature says what is left out. Takes about as long
        as to build the scorers of ten such sets.

        `models`: names in `models`; for a run's own model, those that
        `pfgen_rs.questions.left_out.own_models` finds. Raises `BenchmarkError` if the set does not say who
        wrote its reference answers, for a model that it does not name, if answers have been left out before,
        and if a question would have none of a source left. If the models wrote none, nothing is left out.
        """
        return left_out.without_models(self, tuple(models))

    def score(self, question: str | Question, answer: Answer) -> Score:
        """Score one answer to a question; `score_batch` is faster for many.

        Raises `UnknownQuestionError`, `InputError` for an answer that is not text (or not a list of ids), and
        `BenchmarkError` if the question's reference answers cannot be scored against.
        """
        return batch.score(self, question, answer)

    def score_batch(
        self,
        data: Table | QuestionColumn,
        answers: AnswerColumn | None = None,
        *,
        question_field: str | None = None,
        answer_field: str | None = None,
        layout: str | None = None,
        think: Think | None = None,
        clean: Clean = False,
        threads: int | None = None,
        chunk_size: int = batch.CHUNK,
    ) -> pl.DataFrame:
        """Score many answers: a row for each, in the order given.

        `data`: a table with the columns `question` (text or id) and `answer`: a polars DataFrame or
        LazyFrame, anything with Arrow's PyCapsule interface (pyarrow, pandas, DuckDB), or a mapping of
        columns; a Hugging Face Dataset; or a list of dicts. Other names and layouts are recognised as in
        files (see `score_file`), or chosen with `question_field`, `answer_field` and `layout`. Or pass two
        columns, the questions as `data` and the answers as `answers`: lists, Arrow columns or numpy arrays.
        An answer is a text or, if the unit is `token`, a list of ids.

        `clean`: score answers as pfgen-bench stores them, as for `score_file`; `True` is `completion`.

        Returns the columns `question_id`, `length` (in code points or other units), `fluency`,
        `truthfulness`, `helpfulness`, `average`, and for every source S of the benchmark `fluency_S` and
        `truthfulness_S` (null if the question has no such source). Values depend neither on `threads`
        (default: all cores) nor on `chunk_size` (responses between checks for Ctrl-C).

        Raises `InputError`, and `UnknownQuestionError`, with the row, counted from 0.
        """
        return batch.score_batch(
            self,
            data,
            answers,
            self._options(question_field, answer_field, layout, think, clean),
            threads=threads,
            chunk_size=chunk_size,
        )

    def evaluate(
        self,
        data: Table | QuestionColumn,
        answers: AnswerColumn | None = None,
        *,
        question_field: str | None = None,
        answer_field: str | None = None,
        layout: str | None = None,
        think: Think | None = None,
        clean: Clean = False,
        name: str | None = None,
        model: str | None = None,
        leave_out: LeaveOut | None = None,
        threads: int | None = None,
    ) -> Result:
        """Score many answers and summarise them as a run: its score, metrics, and `result.json`.

        `data` and `answers`: a table with the columns `question` and `answer`, or two columns, as for
        `score_batch`, which has the same options. Several answers to a question are trials, in the order
        given. `name`: that of the run, in tables and comparisons. `model`, `leave_out`: as for `score_file`.
        Raises what `score_batch` raises, and
        `InputError` for no answers at all.
        """
        options = self._options(question_field, answer_field, layout, think, clean)
        return in_memory.evaluate(
            self,
            data,
            answers,
            replace(options, model=model, leave_out=leave_out),
            name=name,
            threads=threads,
        )

    def _options(
        self,
        question_field: str | None,
        answer_field: str | None,
        layout: str | None,
        think: Think | None,
        clean: Clean,
    ) -> Options:
        fields = question_field, answer_field
        tokens = self.settings.unit == "token"
        return Options(*fields, layout=layout, think=think, clean=clean, tokens=tokens)

    def scorer(self, metric: Metric = "average", *, threads: int | None = 1) -> AnswerScorer:
        """Return a function of questions and answers for calls by the thousand, as in reinforcement learning.

        All questions are prepared now, so that calls have no set-up; see `AnswerScorer`. Raises
        `SettingsError` for an unknown metric.
        """
        return AnswerScorer(self, metric, threads=threads)

    def explain(self, question: str | Question, answer: Answer) -> Explanation:
        """Show where an answer's score comes from, character by character.

        Raises what `score` raises, and `SettingsError` for the variant `paper`.
        """
        return explain.explain(self, question, answer)


def score_file(
    path: str | os.PathLike[str] | Table,
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    settings: Chosen = None,
    question_field: str | None = None,
    answer_field: str | None = None,
    layout: str | None = None,
    requests: str | os.PathLike[str] | None = None,
    think: Think | None = None,
    skip_bad_lines: bool = False,
    strict: bool = False,
    replace_invalid: bool = False,
    clean: Clean = False,
    model: str | None = None,
    leave_out: LeaveOut | None = None,
    threads: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Result:
    """Score a file of responses as a run.

    `path`: JSON lines, a JSON array of objects, CSV or TSV (all of them plain or `.gz`, `.xz`, `.zst`),
    Parquet or Arrow IPC; a run's folder (its `trials.jsonl[.xz]`); or `-` for standard input. What
    `score_batch` takes (a DataFrame, a list of dicts) is scored as by `Benchmark.evaluate`. `score_runs`
    takes several paths.

    Other layouts are recognised by their keys: prompt/response, instruction/output and the like, chats
    (`messages`, `conversations`), samples of lm-evaluation-harness, logs of inspect_ai, outputs of the batch
    APIs of OpenAI (and vLLM) and Anthropic, and Hugging Face datasets on disk; `result.read_as` says what
    was found. `layout` chooses one by its name, `question_field` and `answer_field` fields, also nested ones
    (`choices.0.message.content`). A prompt that is not a question may contain one: the last known one counts.
    Batches are joined by `custom_id` with their `requests`, which are found beside the file. What could be
    read in several ways raises `InputError`. `think`: whether reasoning (`<think>`) is to `"keep"` or
    `"strip"`; by default it stays in pfgen-bench's own files alone.

    `path` may also be a URL: of object storage (`s3://`, `gs://`, `az://`), of a dataset on the Hugging Face
    hub (`hf://datasets/USER/NAME/PATH`), or of a web server (`https://`). Credentials are those of the
    environment, or `storage_options`: options of obstore's stores and connections, such as
    `{"endpoint": "https://…", "skip_signature": "true"}`. Requires `pip install 'pfgen_rs[remote]'`.

    Every response has a question (its text or id) and an answer; several answers to a question are trials. A
    `config.json` beside the file becomes part of the result. `benchmark`: one, or its name or folder, as for
    `load_benchmark`. The file may be larger than memory: it is read, and scored, a bounded number of
    responses at a time. Only the largest row group of a Parquet file, and the largest record batch of an
    Arrow file, must fit into memory, up to four times: write large files with more of them.

    Answers are scored as they are; `result.unclean` counts those with something that pfgen-bench removes
    when it generates (white space around them, a following question), and a warning is logged. `clean`
    removes it first, as for a run generated in the mode `completion`, `chat` or `qa`; `True` is the mode
    that `config.json` names, or `completion`. The signature then has a part `clean:MODE`.

    `model`: who wrote the answers (default: the `model` of `config.json`). If it wrote reference answers,
    too, they lift its score, and a warning is logged. `leave_out="model"` scores without them, `"family"`
    without those of all models of its organisation; see `Benchmark.without_models`. The signature then has a
    part `without:`.

    Raises `InputError` with file, line (or row, or element) and question. With `skip_bad_lines` such lines
    (and unknown questions) are left out and listed in the result's `problems`. With `replace_invalid`, what
    is not valid Unicode in a text file, such as half a surrogate pair, is read as U+FFFD.

    A text file whose last record has no newline, although others have one, may have been cut short: a warning
    with file and line is logged and is the result's `cut_short`, or raised as `InputError` if `strict`.

    >>> import pfgen_rs
    >>> result = score_file(pfgen_rs.sample_runs()["faithful"], "mini")
    >>> result.name, result.score, result.missing
    ('mini/faithful', 0.8256, [])
    """
    benchmark = resolve(benchmark, settings)
    options = Options(
        question_field,
        answer_field,
        skip_bad_lines,
        layout=layout,
        requests=None if requests is None else os.fspath(requests),
        think=think,
        tokens=benchmark.settings.unit == "token",
        clean=clean,
        strict=strict,
        replace_invalid=replace_invalid,
        model=model,
        leave_out=leave_out,
    )
    paths = as_paths(path)
    if paths is None:
        result = in_memory.evaluate(benchmark, path, None, options, threads=threads)
        log_notes(result)
        return result
    if isinstance(path, list | tuple):
        raise InputError("several paths are several runs: score them with score_runs")
    storage = storage_for(paths, storage_options)
    how: dict[str, Any] = {"threads": threads, "keep": streaming.KEPT}
    [result] = _score_runs(benchmark, paths, options, storage, **how)
    return result


def score_runs(
    source: Paths | Table,
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    settings: Chosen = None,
    question_field: str | None = None,
    answer_field: str | None = None,
    layout: str | None = None,
    requests: str | os.PathLike[str] | None = None,
    think: Think | None = None,
    skip_bad_lines: bool = False,
    strict: bool = False,
    replace_invalid: bool = False,
    clean: Clean = False,
    run_field: str | None = None,
    model: str | None = None,
    leave_out: LeaveOut | None = None,
    threads: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: ScoringProgress | None = None,
) -> list[Result]:
    """Score several runs; each file, or run's folder, is one, unless `run_field` tells several apart.

    `source`: a path, a folder with runs in folders below it, a glob, or a list of them, as for
    `pfgen-rs score`, or URLs, which may be globs in object storage and on the hub; the results have their
    order. Otherwise as `score_file`, which holds more in memory.

    `run_field`: the key or column that names the run of each response, such as `model`. Each of its values
    is a run, in the order in which they first occur, called so (`Result.run`, `Result.name`, and in the
    result's `config`). What is wrong with lines is in `problems` of a file's first run. A table in memory
    can be split likewise. Raises `InputError` for responses without a value, and for more than 1,000 values.

    >>> import pfgen_rs
    >>> [result.score for result in score_runs(list(pfgen_rs.sample_runs().values()), "mini")]
    [0.1063, 0.4594, 0.8256]
    """
    benchmark = resolve(benchmark, settings)
    options = Options(
        question_field,
        answer_field,
        skip_bad_lines,
        layout=layout,
        requests=None if requests is None else os.fspath(requests),
        think=think,
        tokens=benchmark.settings.unit == "token",
        clean=clean,
        strict=strict,
        replace_invalid=replace_invalid,
        model=model,
        leave_out=leave_out,
    )
    paths = as_paths(source)
    if paths is None:
        results = _score_table(benchmark, source, run_field, options, threads=threads)
        for result in results:
            log_notes(result)
        return results
    storage = storage_for(paths, storage_options)
    found = expand_runs(paths, storage)
    options = with_runs(options, run_field)
    return _score_runs(benchmark, found, options, storage, threads=threads, progress=progress)


def _score_table(
    benchmark: Benchmark, data: Any, run_field: str | None, options: Options, **how: Any
) -> list[Result]:
    if run_field is None:
        return [in_memory.evaluate(benchmark, data, None, options, **how)]
    return [
        replace(
            in_memory.evaluate(benchmark, rows, None, options, **how),
            run=name,
            config={run_field: name},
        )
        for name, rows in split_table(data, run_field).items()
    ]


def _score_runs(
    benchmark: Benchmark,
    paths: Sequence[str],
    options: Options,
    storage: Storage | None,
    **how: Any,
) -> list[Result]:
    sources = opened_sources(paths, storage)
    store = streaming.new_store(benchmark)
    results = streaming.score_sources(benchmark, sources, options, store, **how)
    for result in results:
        log_notes(result)
    return results


def log_notes(result: Result) -> None:
    """Log what a run was read as, what is wrong with its answers, and that it may have been cut short."""
    if result.read_as.is_told:
        _LOG.info("%s: %s", result._place, result.read_as)
    if told := left_out_note(result):
        _LOG.info("%s", told)
    note = unclean_note(result, "clean=True (on the command line, --clean)")
    if note is not None:
        _LOG.warning(note)
    thoughts = reasoning_note(result, 'think="strip" (on the command line, --think strip)')
    overlap = overlap_note(
        result, 'leave_out="model" (on the command line, score --leave-out model)'
    )
    for said in filter(None, (worthless_note(result), thoughts, result.cut_short, overlap)):
        _LOG.warning("%s", said)


def resolve(benchmark: Benchmark | str | os.PathLike[str] | None, settings: Chosen) -> Benchmark:
    """Return a benchmark, or load what `load_benchmark` takes, with these settings (default: its own)."""
    if not isinstance(benchmark, Benchmark):
        return load_benchmark(benchmark, settings=settings)
    return benchmark if settings is None else benchmark.with_settings(settings)


def load_benchmark(
    name: str | os.PathLike[str] | None = None, *, settings: Chosen = None
) -> Benchmark:
    """Load a benchmark.

    `name`: a folder of question files, the name of an installed benchmark (`pfgen-rs data install`), or
    `mini`, the bundled one. Default: the environment variable PFGEN_RS_BENCHMARK, or else `mini`.
    `settings`: by default those that the set states in its question files or, if it states none, the
    published ones; a mapping such as `{"variant": "paper"}` chooses some and leaves the others to the set.

    Question files are JSON, perhaps compressed (`.gz`, `.xz`, `.zst`). Raises `BenchmarkNotFoundError`,
    `SettingsError` for settings that contradict the set's or, naming the file, `BenchmarkError`.

    >>> bench = load_benchmark("mini")
    >>> len(bench), bench["Q02"].text
    (14, '光合成とは何ですか？')
    >>> bench.score_batch(["Q02", "Q14"], ["光合成", "風呂敷"])["average"].to_list()
    [0.34292, 0.34693]
    """
    folder = benchmark_path(name)
    questions, metadata_hash = read_folder(folder)
    settings = settings_of_folder(folder, settings, stated_by(questions))
    return Benchmark(questions, metadata_hash, settings, folder.absolute())


def load_for_scores(name: str | os.PathLike[str] | None, settings: Chosen = None) -> Benchmark:
    """Load a benchmark like `load_benchmark`, but read no question files that are known to be unchanged.

    Faster, and in less memory: the index has all that scores need of reference answers, which are read when
    they are asked for. Questions that had to be read are remembered.
    """
    folder = benchmark_path(name)
    remembered = KnownQuestions(folder)
    known = remembered.found(settings)
    if known is not None:
        return Benchmark(*known, folder.absolute())
    loaded = load_benchmark(folder, settings=settings)
    remembered.keep(loaded)
    return loaded
