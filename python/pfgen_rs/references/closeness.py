"""How close answers are to given ones: as a set of these would score them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pfgen_rs import Settings
from pfgen_rs.lazy import Floats
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.references.steps import Context
from pfgen_rs.scoring.answer_scorer import AnswerScorer


def closeness(
    references: Mapping[str, Sequence[Any]],
    answers: Any,
    context: Context,
) -> Floats:
    """Returns the mean of Fluency and Truthfulness of answers, scored with references by source.

    `answers`: a list or a column, of texts or lists of ids. float64, shape (answers,). Raises
    `BenchmarkError` for references that are all empty.
    """
    settings = replace(
        Settings.for_length(context.target, context.unit),
        skipped=context.skipped,
        helpfulness=False,
    )
    question = Question("Q1", "?", "", "", [], references, ())
    scorer = AnswerScorer(QuestionSet([question], "", settings), threads=context.threads)
    return scorer(question.id, answers)
