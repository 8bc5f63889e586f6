"""The answers of a run for pages: ranked, with their cuts and the positions of keyword rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pfgen_rs import InputError, Question, Result, SettingsError, _native
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.metrics.helpfulness import Ends, Rule
from pfgen_rs.metrics.settings import share_names
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.questions.unknown import order
from pfgen_rs.report import PER_QUESTION, QUANTILES
from pfgen_rs.scoring.explain import WINDOW, Counts, window_counts

_SHARE = 10**4  # a metric's share of a source is shown to four decimals,
_AVERAGE = 10**5  # an average as published


@dataclass(frozen=True)
class QuestionAnswers:
    """The answers to one question that are shown, by descending average (ties in the run's order).

    `total` counts all, shown or not. `ranks` (from 0, among all) and `scores` (the columns of `Result.frame`)
    have one row per answer. `cuts`: the best cuts of Fluency by source, of Truthfulness by source, and of
    Helpfulness (int64, shape (answers, 2 sources + 1)). `positions`: where each keyword rule is met, or -1
    (int64, shape (answers, rules)); `labels`: the index in `label_names[rule]` of its label there.
    """

    question: Question
    total: int
    ranks: list[int]
    scores: pl.DataFrame
    cuts: NDArray[np.int64]
    positions: NDArray[np.int64]
    labels: NDArray[np.int64]
    label_names: list[list[str]]

    @property
    def texts(self) -> list[str]:
        """The answers."""
        return self.scores.get_column("answer").to_list()

    def payload(self) -> dict[str, Any]:
        """Returns the data for the page's script: columns of integers, in the order of the answers.

        `averages` are in units of 0.00001, `shares` (of Fluency by source, of Truthfulness by source, and
        Helpfulness) in units of 0.0001. `quantiles`: the rows of the five published samples, including
        repeats. Sources are in the order of `sources.order`.
        """
        places = order(self.question.sources)
        sources = [self.question.sources[i] for i in places]
        cuts = [*places, *(len(places) + i for i in places), 2 * len(places)]
        names = (*share_names(sources), "helpfulness")
        places_of_labels = self.labels.T.tolist(), self.positions.T.tolist()
        rules = zip(self.label_names, self.question.rules, *places_of_labels, strict=True)
        return {
            "total": self.total,
            "sources": sources,
            "ranks": None if len(self.ranks) == self.total else self.ranks,
            "quantiles": [self.ranks.index(rank) for rank in quantile_ranks(self.total)],
            "lines": self.scores.get_column("line").to_list(),
            "texts": self.texts,
            "averages": _as_integers(self.scores, "average", _AVERAGE),
            "shares": [_as_integers(self.scores, name, _SHARE) for name in names],
            "cuts": self.cuts.T[cuts].tolist(),
            "rules": [
                {"labels": names, "importance": rule.importance, "label": at, "position": position}
                for names, rule, at, position in rules
            ],
        }


def _as_integers(scores: pl.DataFrame, name: str, unit: int) -> list[int]:
    return np.rint(scores.get_column(name).to_numpy() * unit).astype(np.int64).tolist()  # type: ignore[no-any-return]


def quantile_ranks(count: int) -> list[int]:
    """Returns the ranks (from 0) of the published samples among `count` answers, including repeats."""
    return [round(x * (count - 1)) for x in QUANTILES]


def run_answers(result: Result, *, limit: int = PER_QUESTION) -> Iterator[QuestionAnswers]:
    """Yields the answers to each question of a run, up to `limit` per question.

    If there are more, the published samples and others at even distances in rank are kept. Raises
    `SettingsError` if the unit is not a character, which pages cannot show, and `InputError` for a limit
    below 5. Time: about 15 us per answer; memory: the kept answers and one chunk of the run.
    """
    if result.benchmark.settings.unit != "character":
        raise SettingsError(
            "pages show answers character by character: score the run with the unit 'character'"
        )
    if limit < len(QUANTILES):
        raise InputError(
            f"invalid number of answers per question {limit}: expected at least {len(QUANTILES)}"
        )
    chosen = {key: _chosen(result, key, limit) for key in result.response_scores.counts()}
    ranks = pl.concat(chosen.values())
    frames = result.responses.frames(result.response_scores)
    # Joined chunk by chunk: a long run is never completely in memory.
    shown = pl.concat(frame.join(ranks, on="line") for frame in frames).sort("rank")
    parts = shown.partition_by("question_id", as_dict=True)
    totals = result.response_scores.counts()
    for key in chosen:
        yield _detailed(result.benchmark, result.benchmark[key], totals[key], parts[key,])


def _chosen(result: Result, question_id: str, limit: int) -> pl.DataFrame:
    """Returns lines and ranks of the answers to show."""
    columns = result.response_scores.of_question(question_id, ["line", "average"])
    order = np.argsort(-columns["average"], kind="stable")
    ranks = _spread_ranks(len(order), limit)
    lines = columns["line"][order[ranks]].astype(np.int64)
    return pl.DataFrame({"line": lines, "rank": ranks})


def _spread_ranks(count: int, limit: int) -> NDArray[np.int64]:
    """Returns up to `limit` of `count` ranks, ascending: published samples, others at even distances."""
    if count <= limit:
        return np.arange(count)
    samples = list(dict.fromkeys(quantile_ranks(count)))
    even = np.rint(np.linspace(0, count - 1, limit - len(samples))).astype(np.int64)
    return np.union1d(samples, even)


def _detailed(
    benchmark: QuestionSet, question: Question, total: int, frame: pl.DataFrame
) -> QuestionAnswers:
    texts = frame.get_column("answer").to_list()
    others = benchmark._helpfulness(question).expression_ends(texts)
    cuts = _cuts(benchmark, question, texts, others)
    found = _keywords(benchmark, question, texts, others)
    return QuestionAnswers(question, total, frame["rank"].to_list(), frame, cuts, *found)


def _cuts(
    benchmark: QuestionSet, question: Question, texts: Sequence[str], others: Ends
) -> NDArray[np.int64]:
    """Returns the cuts of each text; `others`: the ends of regular expressions in it."""
    scorer, rules = benchmark._native_scorer(question), benchmark._helpfulness(question).native
    cuts = np.empty((len(texts), 2 * len(question.sources) + 1), dtype=np.int64)
    for row, text, ends in zip(cuts, texts, others.tolist(), strict=True):
        _, by_source, _, helpfulness = scorer.lone(rules, text, ends, compensated=False)
        _, fluency, _, truthfulness = zip(*by_source, strict=True)
        row[:] = (*fluency, *truthfulness, helpfulness)
    return cuts


def _keywords(
    benchmark: QuestionSet, question: Question, texts: Sequence[str], others: Ends
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[list[str]]]:
    """Returns positions and indices of labels (shape (answers, rules)), and the labels of each rule."""
    ends = benchmark._helpfulness(question).ends_of(texts, others)
    shape = (len(texts), len(question.rules))
    positions, labels = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    names = []
    for j, rule in enumerate(question.rules):
        all_names, positions[:, j], numbers = _located_rule(rule, ends)
        occurring, labels[:, j] = np.unique(numbers, return_inverse=True)
        names.append([all_names[number] for number in occurring])
    positions[positions == _native.NOT_FOUND] = -1
    return positions, labels, names


def _located_rule(
    rule: Rule, ends: Mapping[str, Ends]
) -> tuple[list[str], Ends, NDArray[np.int64]]:
    """Returns labels of a rule, and its position and the number of its label in each answer.

    They are those of the first part that decides it, as `Helpfulness.positions` has them for one answer.
    """
    if rule.kind == "t":
        names, positions = [rule.pattern], ends[rule.pattern]
        labels = np.zeros(len(positions), dtype=np.int64)
    else:
        names, positions, labels = _located_rule(rule.parts[0], ends)
        for part in rule.parts[1:]:
            more, others, numbers = _located_rule(part, ends)
            decides = others > positions if rule.kind == "and" else others < positions
            labels = np.where(decides, numbers + len(names), labels)
            positions = np.where(decides, others, positions)
            names = [*names, *more]
    return (names, positions, labels) if rule.name is None else ([rule.name], positions, labels * 0)


# Tables of windows, with the number of reference answers that contain each: of shown answers, or of all.


SHADED = 1000
"""Number of characters of an answer that pages shade; scoring reads 200."""

_BITS = 21  # of a code point
Windows: TypeAlias = "NDArray[np.uint64]"
"""Windows as integers: three code points of 21 bits each."""


@dataclass(frozen=True)
class WindowTable:
    """The windows of some answers to a question that occur in its reference answers.

    `text`: the three characters of each window, concatenated, in the order of code points. `counts` (uint32,
    shape (windows, sources)): number of reference answers of each source that contain it.
    """

    sources: list[str]
    answers: list[int]
    text: str
    counts: Counts

    def payload(self) -> dict[str, Any]:
        """Returns the data for the page's script; `answers` is the number of reference answers per source.

        Sources are in the order of `sources.order`.
        """
        places = order(self.sources)
        return {
            "sources": [self.sources[i] for i in places],
            "answers": [self.answers[i] for i in places],
            "shaded": SHADED,
            "text": self.text,
            "counts": self.counts.T[places].tolist(),
        }


def distinct_windows(answers: Iterable[str], *, characters: int | None = SHADED) -> Windows:
    """Returns the distinct windows of these answers, or of their first `characters`, ascending.

    Windows are those of `^answer$`, as in `window_counts`. Time and memory are linear in the answers' length.
    """
    # Includes the windows that cover the last shaded character.
    end = None if characters is None else characters + WINDOW
    texts = [f"^{answer}$"[:end] for answer in answers]
    points = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    windows = points[:-2] << np.uint64(2 * _BITS) | points[1:-1] << np.uint64(_BITS) | points[2:]
    own = np.ones(len(windows), dtype=bool)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)[:-1]
    own[ends - 2] = own[ends - 1] = False  # these span two texts
    return np.unique(windows[own])


def window_table(benchmark: QuestionSet, question_id: str, windows: Windows) -> WindowTable:
    """Returns the table of those windows that occur in the reference answers to a question."""
    question = benchmark[question_id]
    counts, _ = window_counts(benchmark, question_id, [_window_text(windows)])
    counts = counts[WINDOW // 2 :: WINDOW]  # around the middle character of each three
    known: NDArray[np.bool_] = np.any(counts, axis=1)
    return WindowTable(
        question.sources,
        [len(references) for references in question.answers.values()],
        _window_text(windows[known]),
        counts[known],
    )


def reference_table(benchmark: QuestionSet, question_id: str) -> WindowTable:
    """Returns the table of all windows that occur in the reference answers to a question.

    It holds for answers of any runs: what it lacks does not occur.
    """
    references = (text for texts in benchmark[question_id].answers.values() for text in texts)
    windows = distinct_windows(references, characters=None)
    return window_table(benchmark, question_id, windows)


def _window_text(windows: Windows) -> str:
    shifts = np.array([2 * _BITS, _BITS, 0], dtype=np.uint64)
    points = windows[:, None] >> shifts & np.uint64((1 << _BITS) - 1)
    return points.astype("<u4").tobytes().decode("utf-32-le")
