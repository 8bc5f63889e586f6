"""Reference answers scored against the other answers of their question.

An answer scored against a set it belongs to matches itself, so all of its n-grams are known. This module
removes that contribution exactly. If an n-gram of the answer has the document frequency `df` among the `N`
answers of its source, it has `df - 1` among the other `N - 1`; nothing else changes, so no index needs to be
rebuilt. The baseline (Fluency's divisor) remains that of the whole set, since it only scales the scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.benchmark import Benchmark
from pfgen_rs.errors import SettingsError
from pfgen_rs.metrics.names import BY_SOURCE, share_name
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.question import Question
from pfgen_rs.references.check.shared import Characters, Shared, characters, shared_ngrams
from pfgen_rs.references.check.steps import CheckProgress, coded_answers, tracked
from pfgen_rs.stats.sums import left_sum

__all__ = ["leave_one_out", "self_scores"]

Floats = NDArray[np.float64]
_MARKERS = ("^", "$")
_NOTHING = -1  # beyond the end of a text


def self_scores(
    benchmark: Benchmark, *, threads: int | None = None, progress: CheckProgress | None = None
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
        raise SettingsError(
            "answers can be scored against the rest of their set only with the variant 'pfgen-bench'"
        )
    rows = [
        _self_scores_of_question(benchmark, question, threads)
        for question in tracked(list(benchmark), "self-scores", progress)
    ]
    return pl.concat(rows)


def _self_scores_of_question(
    benchmark: Benchmark, question: Question, threads: int | None
) -> pl.DataFrame:
    """Score a question's answers against the whole set, and replace the shares of their own sources."""
    places = [
        (source, number)
        for source, answers in question.answers.items()
        for number in range(len(answers))
    ]
    texts = [question.answers[source][number] for source, number in places]
    scores = benchmark.score_batch([question.id] * len(texts), texts, threads=threads)
    shares = {name: scores.get_column(name).to_numpy().copy() for name in scores.columns[6:]}
    first = 0
    for source, answers in coded_answers(benchmark, question).items():
        rows = slice(first, first + len(answers))
        baseline = benchmark.baselines(question)[source]
        values = leave_one_out(answers, baseline, benchmark.settings)
        for metric, value in zip(BY_SOURCE, values, strict=True):
            shares[share_name(metric, source)][rows] = _rounded_self_scores(
                value / len(question.sources), 6
            )
        first += len(answers)
    sources = pl.Series("source", [source for source, _ in places], dtype=pl.String)
    place = [sources, pl.Series("answer", [number for _, number in places], dtype=pl.Int64)]
    return _self_score_table(question, scores, shares).select(
        "question_id", *place, pl.exclude("question_id")
    )


def _self_score_table(
    question: Question, scores: pl.DataFrame, shares: dict[str, Floats]
) -> pl.DataFrame:
    """Returns `scores` with these shares and the values derived from them."""
    fluency, truthfulness = (
        left_sum(shares[share_name(metric, source)] for source in question.sources)
        for metric in BY_SOURCE
    )
    total = fluency + truthfulness + scores.get_column("helpfulness").to_numpy()
    columns = {
        "fluency": fluency,
        "truthfulness": truthfulness,
        "average": _rounded_self_scores(total / 3, 5),
        **shares,
    }
    changed = [pl.Series(name, values, nan_to_null=True) for name, values in columns.items()]
    whole = scores.get_column("average").alias("with_itself")
    table = scores.with_columns(changed)
    return table.insert_column(table.columns.index("average") + 1, whole)


def _rounded_self_scores(values: Floats, digits: int) -> Floats:
    return _native.round_half_even(values, digits)


def leave_one_out(
    answers: Sequence[str], baseline: float, settings: Settings
) -> tuple[Floats, Floats]:
    """Returns Fluency and Truthfulness of each answer against the others of its source, not rounded.

    float64, shape (answers,); NaN if there are no others. Values are identical to those of a scorer built
    from the others with `baseline` as the divisor.
    """
    if len(answers) < 2:
        nothing = np.full(len(answers), np.nan)
        return nothing, nothing
    found = characters(answers)
    gains = np.zeros(len(found.codes), np.int64)
    windows = Shared(0, *(np.zeros(0, np.int64),) * 2, np.zeros(0, np.bool_))
    for ngrams in shared_ngrams(found, max(settings.max_n, settings.truthfulness_n)):
        if settings.min_n <= ngrams.n <= settings.max_n:
            # Only the first occurrence in a text counts, at the n-gram's last character.
            ends = ngrams.start[ngrams.first] + ngrams.n - 1
            gains[ends] += ngrams.others[ngrams.first]
        if ngrams.n == settings.truthfulness_n:
            windows = ngrams
    fluency = _self_fluency(found, gains, baseline, settings)
    return fluency, _self_truthfulness(answers, found, windows, settings)


def _self_score_matrix(
    found: Characters,
    at: NDArray[np.int64],
    values: NDArray[np.int64],
    shape: tuple[int, int],
    shift: int,
) -> NDArray[np.int64]:
    """Place the `values` of characters `at` in rows by text, `shift` columns to the right; zero elsewhere."""
    matrix = np.zeros(shape, np.int64)
    columns = found.offset[at] + shift
    fits = columns < shape[1]
    matrix[found.text[at][fits], columns[fits]] = values[fits]
    return matrix


def _self_fluency(
    found: Characters, gains: NDArray[np.int64], baseline: float, settings: Settings
) -> Floats:
    """Returns the best cut's sum, discounted and divided by the baseline in the published order."""
    width = min(int(found.lengths.max(initial=0)), settings.max_length)
    everywhere = np.arange(len(gains))
    raw = np.cumsum(
        _self_score_matrix(found, everywhere, gains, (len(found.lengths), width), 0), axis=1
    )
    # Beyond a text's end the sum is constant and the discount decreases: no such cut exceeds the best.
    discounts = np.array([settings.discount(cut) for cut in range(1, width + 1)])
    best: Floats = np.max(raw * discounts / baseline, axis=1, initial=0.0)
    return best


def _self_truthfulness(
    answers: Sequence[str], found: Characters, windows: Shared, settings: Settings
) -> Floats:
    """Read all answers with their markers from the left, in parallel."""
    width = settings.max_length + 2
    covering = _self_covering_counts(answers, found, windows, width)
    text = _self_scored_texts(found, width)
    skipped = np.array([ord(character) for character in settings.skipped] + [_NOTHING])
    counted = ~np.isin(text, skipped)
    shares = covering / (len(answers) - 1) * (1.0 / settings.threshold)
    # Adding 0.0 for skipped characters changes no sum, and accumulate adds from the left.
    total = np.add.accumulate(np.where(counted, np.minimum(1.0, shares), 0.0), axis=1)
    count = np.cumsum(counted, axis=1)
    discounts = np.array([settings.discount(i) for i in range(width)])
    scores = total / np.maximum(count, 1) * discounts
    target = settings.target_length
    best = np.max(scores[:, target:], axis=1, where=counted[:, target:], initial=0.0)
    last = width - 1 - np.argmax(counted[:, ::-1], axis=1)
    final = np.where(counted.any(axis=1), scores[np.arange(len(answers)), last], 0.0)
    result: Floats = np.maximum(best, final)
    return result


def _self_scored_texts(found: Characters, width: int) -> NDArray[np.int64]:
    """Returns the code points of every text with its markers, as far as they are read."""
    rows = len(found.lengths)
    everywhere = np.arange(len(found.codes))
    begin, end = (ord(marker) for marker in _MARKERS)
    text = (
        _self_score_matrix(found, everywhere, found.codes - _NOTHING, (rows, width), 1) + _NOTHING
    )
    text[:, 0] = begin
    ended = found.lengths + 1 < width
    text[ended, found.lengths[ended] + 1] = end
    return text


def _self_covering_counts(
    answers: Sequence[str], found: Characters, windows: Shared, width: int
) -> NDArray[np.int64]:
    """Returns for every character the largest number of other answers that contain a window covering it."""
    n = windows.n
    # Windows are indexed by their first character, and must lie entirely in what is read.
    known = _self_score_matrix(found, windows.start, windows.others, (len(answers), width), 1)
    known[:, width - n + 1 :] = 0
    for row, start, others in _self_score_windows(answers, n, width):
        known[row, start] = others
    covering = known.copy()
    for shift in range(1, n):
        covering[:, shift:] = np.maximum(covering[:, shift:], known[:, : width - shift])
    return covering


def _self_score_windows(answers: Sequence[str], n: int, width: int) -> list[tuple[int, int, int]]:
    """Returns windows with an added marker: row, first character, and number of other answers with it.

    Other answers contain such a window only if they contain the marker's character, which is rare.
    """
    holding = [
        (row, answer)
        for row, answer in enumerate(answers)
        if any(marker in answer for marker in _MARKERS)
    ]
    if not holding:
        return []
    found = []
    for row, answer in enumerate(answers):
        text = f"^{answer}$"[:width]
        starts = {0, len(text) - n} if len(answer) + 2 <= width else {0}
        for start in starts:
            window = text[start : start + n] if start >= 0 else ""
            if len(window) == n:
                others = sum(window in other for place, other in holding if place != row)
                found.append((row, start, others))
    return found
