"""Explains an answer's score character by character (or word by word, or token by token)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import NamedTuple, TypeAlias

from pfgen_rs import _native
from pfgen_rs.errors import SettingsError
from pfgen_rs.io import notebook
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.metrics.units import Answer
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.scoring import batch
from pfgen_rs.scoring.batch import Score

COMMON, RARE = 0.1, 0.005
"""Shares of a source's reference answers: see `Explanation.levels`."""

# Font weight and lines distinguish the levels where colours are not visible.
_STYLES = {
    "common": "font-weight: bold; color: #18794e",
    "known": "",
    "rare": "text-decoration: underline; color: #ce2c31",
    "skipped": "opacity: 0.6",
    "unread": "opacity: 0.6; text-decoration: line-through",
}
_UNREAD = 100  # number of pieces shown after `max_length`


class RuleReport(NamedTuple):
    """A keyword rule: label, importance, position (`None`: not found), and whether it is met at the cut."""

    label: str
    importance: float
    position: int | None
    met: bool


@dataclass(frozen=True, eq=False)
class Explanation:
    """An answer's score and where it comes from.

    `pieces` are the answer's characters or other units, for display; joined, they are the answer.
    `characters` has one row per piece, up to `max_length`: `character`, the piece; for every source S,
    `df_S`, the number of S's answers that contain the Truthfulness window starting there, `covering_df_S`,
    the largest such number among the windows that cover the piece, and `gain_S`, what the piece adds to
    Fluency's raw sum of document frequencies; and `skipped`, whether Truthfulness skips it. `references`:
    number of reference answers by source. `score.details` has the best cuts.

    >>> import pfgen_rs
    >>> found = pfgen_rs.load_benchmark("mini").explain("Q02", "光合成は鯨です。")
    >>> found.levels[0], found.levels[4], [rule.label for rule in found.rules if not rule.met][0]
    ('common', 'rare', '二酸化炭素')
    """

    question_id: str
    question: str
    answer: Answer
    pieces: list[str]
    score: Score
    characters: pl.DataFrame
    rules: list[RuleReport]
    references: dict[str, int]

    def __repr__(self) -> str:
        """Show the question's id, the beginning of the answer, and its score."""
        answer = shortened("".join(self.pieces[:_UNREAD]))
        score = f"score={self.score.average}, signature={self.score.signature!r}"
        return f"{type(self).__name__}({shortened(self.question_id)!r}, {answer!r}, {score})"

    @cached_property
    def levels(self) -> list[str]:
        """How common the windows over each piece are, in the source where they are most common.

        `common`: in more than `COMMON` of the source's reference answers; `rare`: in less than `RARE`;
        `known`: in between; `skipped`: skipped by Truthfulness; `unread`: after `max_length`.
        """
        shares = [pl.col(f"covering_df_{name}") / count for name, count in self.references.items()]
        share = pl.max_horizontal(shares)
        level = (
            pl.when(pl.col("skipped"))
            .then(pl.lit("skipped"))
            .when(share > COMMON)
            .then(pl.lit("common"))
            .when(share < RARE)
            .then(pl.lit("rare"))
            .otherwise(pl.lit("known"))
        )
        read: list[str] = self.characters.select(level.alias("level")).to_series().to_list()
        return read + ["unread"] * (len(self.pieces) - len(read))

    def _repr_html_(self) -> str:
        """Show the answer with common and rare parts marked, the scores and the rules in notebooks."""
        rules = [
            (rule.label, "met" if rule.met else "missed", rule.importance) for rule in self.rules
        ]
        return notebook.document(
            [
                notebook.heading(f"{self.question_id} {self.question}"),
                self._marked_answer(),
                notebook.table(("metric", "source", "share"), self.score.shares()),
                notebook.table(("rule", "verdict", "importance"), rules) if rules else "",
                notebook.paragraph(self.score.signature),
            ]
        )

    def _marked_answer(self) -> str:
        read = len(self.characters) + _UNREAD
        parts = zip(self.pieces[:read], self.levels[:read], strict=True)
        runs = groupby(parts, key=lambda part: part[1])
        spans = [
            notebook.span("".join(piece for piece, _ in part), _STYLES[level])
            for level, part in runs
        ]
        rest = len(self.pieces) - read
        more = f" … and {rest} more" if rest > 0 else ""
        return f"<div>{''.join(spans)}{more}</div>"


def explain(benchmark: QuestionSet, question: str | Question, answer: Answer) -> Explanation:
    """Explain one answer to a question (variant `pfgen-bench` only)."""
    if benchmark.settings.variant != "pfgen-bench":
        raise SettingsError(
            f"cannot explain scores of variant {benchmark.settings.variant!r}: use variant 'pfgen-bench'"
        )
    found = benchmark.find(question)
    score = batch.score(benchmark, found.id, answer)
    windows, coverage, gains, skipped = _native.explain(
        benchmark._columns(found), benchmark.settings.native, benchmark._coder.one(answer)
    )
    pieces = benchmark._coder.pieces(answer)
    columns = [pl.Series("character", pieces[: len(skipped)], dtype=pl.String)]
    for i, source in enumerate(found.sources):
        columns.append(pl.Series(f"df_{source}", windows[:, i]))
        columns.append(pl.Series(f"covering_df_{source}", coverage[:, i]))
        columns.append(pl.Series(f"gain_{source}", gains[:, i]))
    columns.append(pl.Series("skipped", skipped))
    return Explanation(
        question_id=found.id,
        question=found.text,
        answer=answer,
        pieces=pieces,
        score=score,
        characters=pl.DataFrame(columns),
        rules=_explained_rules(benchmark, found, answer, score.details.helpfulness_cut),
        references={source: len(answers) for source, answers in found.answers.items()},
    )


def _explained_rules(
    benchmark: QuestionSet, question: Question, answer: Answer, cut: int
) -> list[RuleReport]:
    helpfulness = benchmark._helpfulness(question)
    ends = helpfulness.ends(answer) if isinstance(answer, str) else {}
    return [
        RuleReport(
            label=label,
            importance=rule.importance,
            position=None if position == _native.NOT_FOUND else position,
            met=position <= cut,
        )
        for rule, label, position in helpfulness.positions(ends)
    ]


# Computes how common an answer's characters are among the reference answers.


WINDOW = 3
Counts: TypeAlias = "NDArray[np.uint32]"


def window_counts(
    benchmark: QuestionSet,
    question_id: str,
    answers: Sequence[Answer],
    threads: int | None = None,
) -> tuple[Counts, NDArray[np.int64]]:
    """Count, for every character of every answer, the reference answers that contain the 3 around it.

    The windows are those of the text `^answer$`, as published, so there is one per character; `^` and `$` are
    treated as ordinary characters, which references hardly ever contain. Returns counts by source (uint32,
    shape (characters of all answers, sources)) and where each answer begins (int64, shape (answers + 1,)).
    Other units are counted as they are scored. Takes time linear in the text.
    """
    coded = [f"^{text}$" for text in benchmark._coder.encode(answers).to_list()]
    scorer = _shading_scorer(benchmark, question_id)
    return scorer.windows(_native.Texts(coded, threads), threads)


def marks(
    benchmark: QuestionSet,
    question_id: str,
    answers: Sequence[Answer],
    *,
    above: int,
    below: int,
    threads: int | None = None,
) -> list[bytes]:
    """Returns the marks of each answer, a byte for each character, by the windows of `window_counts`.

    1 if more than `above` reference answers of all sources contain one of the up to 3 windows that cover the
    character, 2 if fewer than `below` contain each of them, otherwise 0.
    """
    coded = benchmark._coder.column(answers, threads).coded
    return _shading_scorer(benchmark, question_id).marks(coded, above, below, threads)


def _shading_scorer(benchmark: QuestionSet, question_id: str) -> _native.Scorer:
    question, settings = benchmark[question_id], benchmark.settings
    if settings.truthfulness_n == WINDOW:  # the native scorer counts windows of this length
        return benchmark._native_scorer(question)
    other = replace(settings, truthfulness_n=WINDOW)
    return _native.Scorer(benchmark._columns(question), other.native)
