"""Scores of answers against the others of their question, of sources against each other, and of runs.

An answer scored against a set it belongs to matches itself, so all of its n-grams are known; self-scores
leave that out exactly (see `leave_one_out`). The baseline (Fluency's divisor) remains that of the whole set,
since it only scales the scores.

The paper examines whether scores depend on the model that wrote the references (Imajo et al. 2025, section
4.1, "stability of reference answer sets", and figure 3) by scoring with each source on its own.
"""

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

from pfgen_rs import Benchmark, Question, Result, _native, errors, score_file
from pfgen_rs.io import run_files
from pfgen_rs.lazy import pl
from pfgen_rs.metrics.settings import BY_SOURCE, COLUMNS, share_name, share_names
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.references.check import answers
from pfgen_rs.references.consensus import leave_one_out
from pfgen_rs.stats.correlation import pearson, spearman

# Self-scores.


def self_scores(
    benchmark: Benchmark,
    *,
    threads: int | None = None,
    progress: answers.CheckProgress | None = None,
) -> pl.DataFrame:
    """Score every reference answer against all others of its question; one row per answer.

    Columns: `question_id`, `source`, `answer` (from 0 within its source), `length`, `fluency`,
    `truthfulness`, `helpfulness`, `average`, `with_itself` (the average against the whole set), and the
    sources' shares `fluency_S` and `truthfulness_S`, rounded as published. Other sources are used in full. If
    a source has only one answer, all values that depend on its other answers are null.

    Takes about 0.1 s per source of 1,000 answers. Raises `SettingsError` for any variant but the published
    one.
    """
    if benchmark.settings.variant != "pfgen-bench":
        raise errors.SettingsError(
            "answers can be scored against the rest of their set only with the variant 'pfgen-bench'"
        )
    rows = [
        _of_question(benchmark, question, threads)
        for question in answers.tracked(list(benchmark), "self-scores", progress)
    ]
    return pl.concat(rows)


def _of_question(benchmark: Benchmark, question: Question, threads: int | None) -> pl.DataFrame:
    """Score a question's answers against the whole set, and replace the shares of their own sources."""
    places = [
        (source, number, text)
        for source, own in question.answers.items()
        for number, text in enumerate(own)
    ]
    sources, numbers, texts = (list(column) for column in zip(*places, strict=True))
    scores = benchmark.score_batch([question.id] * len(texts), texts, threads=threads)
    shares = {name: scores.get_column(name).to_numpy().copy() for name in scores.columns[6:]}
    first = 0
    for source, own in answers.coded_answers(benchmark, question).items():
        rows = slice(first, first + len(own))
        baseline = benchmark._baselines(question)[source]
        values = leave_one_out(own, baseline, benchmark.settings)
        for metric, value in zip(BY_SOURCE, values, strict=True):
            shares[share_name(metric, source)][rows] = _native.round_half_even(
                value / len(question.sources), 6
            )
        first += len(own)
    fluency, truthfulness = (
        left_sum(shares[share_name(metric, source)] for source in question.sources)
        for metric in BY_SOURCE
    )
    helpfulness = scores.get_column("helpfulness").to_numpy()
    average = _native.round_half_even(
        benchmark.settings.average(fluency, truthfulness, helpfulness), 5
    )
    changed = {"fluency": fluency, "truthfulness": truthfulness, "average": average, **shares}
    result = scores.select(
        "question_id",
        pl.Series("source", sources, dtype=pl.String),
        pl.Series("answer", numbers, dtype=pl.Int64),
        *scores.columns[1:6],
        pl.col("average").alias("with_itself"),
        *shares,
    )
    return result.with_columns(
        pl.Series(name, values, nan_to_null=True) for name, values in changed.items()
    )


# Other reference answers.


PARTS = 3


def reference_spread(
    benchmark: Benchmark,
    *,
    threads: int | None = None,
    progress: answers.CheckProgress | None = None,
) -> pl.DataFrame:
    """Measure how an answer's score varies with the choice of as many reference answers; a row per question.

    Columns: `question_id`, and `spread`, the standard deviation. The answers of each source are dealt to
    three parts, and those of each part scored against the two others. The difference of two scores that use
    m/3 answers has the variance 2 · 3 · spread², as variances of means fall with m. There is no row for a
    question with fewer than 6 distinct answers of a source; parts that cannot be scored against do not count.
    """
    parts = [_part(benchmark, number) for number in range(PARTS)]
    found = [answers.table([], question_id=str, spread=float)]
    with suppress(errors.BenchmarkError):
        for part in answers.tracked(parts, "other reference answers", progress):
            places = [(q.id, text) for q in part for own in q.answers.values() for text in own]
            asked = answers.table(places, question=str, answer=str)
            one, other = (
                each.score_batch(asked, threads=threads) for each in parts if each != part
            )
            squares = (one["average"] - other["average"]) ** 2 / (2 * PARTS)
            found.append(asked.select(question_id="question", spread=squares))
    variances = answers.means(pl.concat(found), ["question_id"], ["spread"])
    return variances.with_columns(pl.col("spread").sqrt())


def _part(benchmark: Benchmark, number: int) -> Benchmark:
    """Returns a set of every third distinct answer, beginning with this one."""
    questions = [
        replace(q, answers={s: [*dict.fromkeys(a)][number::PARTS] for s, a in q.answers.items()})
        for q in benchmark
        if min(len(set(own)) for own in q.answers.values()) >= 2 * PARTS
    ]
    return Benchmark(questions, "", benchmark.settings)


# Sources.


_PREFIXES = tuple(share_name(metric, "") for metric in BY_SOURCE)
_KEYS = ["question_id", "source", "against"]


def sources_compared(benchmark: Benchmark, self_scores: pl.DataFrame) -> pl.DataFrame:
    """Returns the mean scores of each source's answers against each single source, by question.

    Columns: `question_id`, `source` (of the answers), `against` (the source of the references), `fluency`,
    `truthfulness`, and `both`, the mean of the two. A source's own answers are scored against its other
    answers. Derived from the sources' shares in `self_scores`, which are rounded to 6 decimals, so accurate
    to about 5.
    """
    named = [name for name in self_scores.columns if name.startswith(_PREFIXES)]
    averages = answers.means(self_scores, ["question_id", "source"], named)
    rows = []
    for row in averages.to_dicts():
        against = benchmark[row["question_id"]].sources
        for other in against:
            values = [row[share_name(metric, other)] for metric in BY_SOURCE]
            whole = [None if value is None else value * len(against) for value in values]
            rows.append(
                (row["question_id"], row["source"], other, *whole, answers.mean_of_known(whole))
            )
    numbers = dict.fromkeys([*BY_SOURCE, "both"], pl.Float64)
    schema = {**dict.fromkeys(_KEYS, pl.String), **numbers}
    return pl.DataFrame(rows, schema=schema, orient="row")


def sources_overall(compared: pl.DataFrame) -> pl.DataFrame:
    """Average `sources_compared`: `source`, `against`, number of `questions` with both, and the means."""
    return _with_questions(compared, _KEYS[1:], [*BY_SOURCE, "both"])


def _with_questions(frame: pl.DataFrame, keys: list[str], columns: Sequence[str]) -> pl.DataFrame:
    """Returns the number of `questions` (rows) of each combination of keys, and the means of columns."""
    counts = frame.group_by(keys, maintain_order=True).agg(questions=pl.len().cast(pl.Int64))
    return counts.join(answers.means(frame, keys, columns), on=keys, maintain_order="left")


def sources_by_runs(benchmark: Benchmark, responses: pl.DataFrame) -> pl.DataFrame:
    """Correlate the scores of runs with one source and with another, or with all sources.

    Columns: `source`, `other` (null: all sources together), number of `questions` with both, `runs`,
    `pearson` and `spearman` of the runs' means of Fluency and Truthfulness (null for fewer than three runs).
    `responses` as returned by `scored_runs`.
    """
    values = by_source(benchmark, responses)
    rows = []
    for pair in combinations(values, 2):
        common = sorted(values[pair[0]].keys() & values[pair[1]].keys())
        one, two = (_by_run(values[name], common) for name in pair)
        questions = len({question for _, question in common})
        rows.append((*pair, questions, len(one), pearson(one, two), spearman(one, two)))
    return answers.table(
        rows, source=str, other=str, questions=int, runs=int, pearson=float, spearman=float
    )


def by_source(
    benchmark: Benchmark, responses: pl.DataFrame
) -> dict[str | None, dict[tuple[str, str], float]]:
    """Returns means of Fluency and Truthfulness by run and question: of each source, and of all (`None`)."""
    names = benchmark.sources
    averages = answers.means(responses, ["run", "question_id"], [*BY_SOURCE, *share_names(names)])
    values: dict[str | None, dict[tuple[str, str], float]] = {each: {} for each in (*names, None)}
    for row in averages.to_dicts():
        place = row["run"], row["question_id"]
        values[None][place] = (row["fluency"] + row["truthfulness"]) / 2
        own = benchmark[row["question_id"]].sources
        for source in own:
            both = [row[share_name(metric, source)] for metric in BY_SOURCE]
            values[source][place] = sum(both) / 2 * len(own)
    return values


def _by_run(values: dict[tuple[str, str], float], common: list[tuple[str, str]]) -> list[float]:
    """Returns the mean over questions for each run."""
    runs: dict[str, list[float]] = {}
    for run, question in common:
        runs.setdefault(run, []).append(values[run, question])
    return [math.fsum(own) / len(own) for own in runs.values()]


# Runs.


def scored_runs(
    benchmark: Benchmark,
    files: Iterable[str | os.PathLike[str]],
    *,
    threads: int | None = None,
    progress: answers.CheckProgress | None = None,
    **reading: Any,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Score runs; returns one row per response: `run`, and the columns of `Result.frame`.

    `files`: files, run folders or globs, as for `pfgen-rs score`. A run is named after its model (or its
    folder), followed by its path if the name is not unique. Responses to questions that the benchmark does
    not have are left out: also returned is their number, `answers`, by `run` and `question`. `reading`:
    options of `score_file`. Raises the same errors as `score_file`, also for a run that answers none of the
    questions.
    """
    paths = run_files.expand([os.fspath(path) for path in files])
    results = [
        score_file(path, benchmark, threads=threads, **{**reading, "skip_bad_lines": True})
        for path in answers.tracked(paths, "scoring runs", progress)
    ]
    names = [result.name for result in results]
    named = {
        f"{name} ({result.path})" if names.count(name) > 1 else name: result
        for name, result in zip(names, results, strict=True)
    }
    responses = pl.concat(
        result.frame.select(pl.lit(name, dtype=pl.String).alias("run"), pl.all())
        for name, result in named.items()
    )
    left_out = [
        (name, question, count)
        for name, result in named.items()
        for question, count in _unknown_questions(result).items()
    ]
    return responses, answers.table(left_out, run=str, question=str, answers=int)


def model_of(run: str) -> str:
    """Returns the model of a run that is named as by `scored_runs`."""
    return run.partition(" (")[0]


def _unknown_questions(result: Result) -> Counter[str]:
    """Count the responses that were left out, by question; raises the first error of any other kind."""
    for problem in result.problems:
        if not isinstance(problem, errors.UnknownQuestionError):
            raise problem
    return Counter(str(problem.question) for problem in result.problems)


def run_means(responses: pl.DataFrame) -> pl.DataFrame:
    """Returns the means of each run over its questions, whose values are means over their responses.

    Columns: `run`, `questions`, `fluency`, `truthfulness`, `helpfulness`, `average`, and `both`, the mean of
    `fluency` and `truthfulness`.
    """
    by_question = answers.means(responses, ["run", "question_id"], COLUMNS)
    both = ((pl.col("fluency") + pl.col("truthfulness")) / 2).alias("both")
    return _with_questions(by_question.with_columns(both), ["run"], (*COLUMNS, "both"))


# Answers of runs that are in the set: a sign that a model was trained on it, or wrote it.


STRETCH = 50
"""Consecutive characters that an answer must share with the set to be counted."""
_EXAMPLES = 3  # by run and question


def contamination(
    benchmark: Benchmark,
    responses: pl.DataFrame,
    *,
    stretch: int = STRETCH,
    progress: answers.CheckProgress | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Count answers of runs that occur in the set, by run and question, and collect examples.

    Leading and trailing white space is ignored. Columns of the first table: `run`, `question_id`, `answers`,
    `verbatim` (answers equal to a reference answer of the question), `stretch` (answers that share `stretch`
    consecutive characters with one, including verbatim ones of at least that length), and their shares. The
    second table has up to 3 verbatim answers per run and question: `run`, `question_id`, the `source` and the
    number `answer` (from 0) of the matching reference answer, and `text`. `responses` as returned by
    `scored_runs`.
    """
    counts, examples = [], []
    asked = {q: part for (q,), part in responses.group_by(["question_id"], maintain_order=True)}
    present = [question for question in benchmark if question.id in asked]
    for question in answers.tracked(present, "contamination", progress):
        places = answers.first_places(question, str.strip)
        places.pop("", None)  # empty answers are not copied
        texts = chain.from_iterable(question.answers.values())
        stretches = frozenset(chain.from_iterable(_stretches(text, stretch) for text in texts))
        runs = asked[question.id].group_by(["run"], maintain_order=True)
        for (run,), part in runs:
            given = [answer.strip() for answer in part.get_column("answer")]
            verbatim = [answer for answer in given if answer in places]
            copied = sum(not stretches.isdisjoint(_stretches(each, stretch)) for each in given)
            both = (len(verbatim) / len(given), copied / len(given))
            counts.append((run, question.id, len(given), len(verbatim), copied, *both))
            distinct = list(dict.fromkeys(verbatim))
            examples += [(run, question.id, *places[text], text) for text in distinct[:_EXAMPLES]]
    numbers = {"answers": int, "verbatim": int, "stretch": int}
    shares = {"share_verbatim": float, "share_stretch": float}
    return (
        answers.table(counts, run=str, question_id=str, **numbers, **shares),
        answers.table(examples, run=str, question_id=str, source=str, answer=int, text=str),
    )


def _stretches(text: str, length: int) -> Iterator[str]:
    return (text[i : i + length] for i in range(len(text) - length + 1))
