"""Which models' answers are kept: those of the models that a first set scores nearly as high as the best.

A build takes two rounds then. The first makes a set of all models' answers, without choosing, and scores
the candidates with it; the second keeps the answers of the models that did well.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pfgen_rs import ConfigError, Settings, _native
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.metrics import units
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.references.steps import Context, Mask, State, Step, StepReport, by_source, owned
from pfgen_rs.scoring.answer_scorer import AnswerScorer

FEWEST = 10
"""Models that are kept however they score: among fewer, leaving out one says more of it than of the set."""
_ANSWERS = 100  # of a model to a question, by which it is judged
_REFERENCES = 1_000  # of a source, in the first set


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


def drawn(state: State, by: str, count: int, context: Context) -> dict[str, list[Any]]:
    """Returns at most `count` answers of each value of the column `by`: `model` or `source`.

    Those with the smallest digests, so that neither the order of the answers nor that of equal ones matters.
    Holds these and one part of the pool.
    """
    coder = units.coder("token" if context.unit == "token" else "character")
    held: list[pl.DataFrame] = []
    for frame in state.frames("answer", by):
        texts = _native.Texts(coder.encode(frame.get_column("answer")), context.threads)
        digests = _native.text_digests(texts, context.seed, context.threads)
        found = frame.with_columns(_0=digests[:, 0], _1=digests[:, 1])
        least = pl.concat([*held, found]).sort(by, "_0", "_1")
        few = least.group_by(by, maintain_order=True).head(count)
        held = [owned(few.select(found.columns))]
    return {
        str(name): rows.get_column("answer").to_list()
        for each in held
        for (name,), rows in each.group_by(by, maintain_order=True)
    }


def scores_by_first_set(first: State, candidates: State, context: Context) -> dict[str, float]:
    """Returns the mean score of each model's candidates, scored with what is left of them after all steps.

    Empty if nothing is left. At most 100 candidates of a model and 1,000 references of a source are used.
    """
    answers = drawn(candidates, "model", _ANSWERS, context)
    answers.pop("", None)  # of nobody known
    references = drawn(first, "source", _REFERENCES, context)
    if not answers or not references:
        return {}
    scores = closeness(references, [each for own in answers.values() for each in own], context)
    ends = np.cumsum([len(own) for own in answers.values()])[:-1]
    parts = np.split(scores, ends)
    return {name: math.fsum(own) / len(own) for name, own in zip(answers, parts, strict=True)}


def ranked(questions: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Returns each model's mean score over questions, from high to low, then by name.

    A model without answers to a question counts there as far from the mean of the others as elsewhere.
    """
    scored = [scores for scores in questions if scores]
    means = [math.fsum(scores.values()) / len(scores) for scores in scored]
    above: dict[str, list[float]] = {}
    for scores, mean in zip(scored, means, strict=True):
        for name, score in scores.items():
            above.setdefault(name, []).append(score - mean)
    whole = math.fsum(means) / max(1, len(means))
    found = {name: whole + math.fsum(own) / len(own) for name, own in above.items()}
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


@dataclass(frozen=True)
class Ranking(Step):
    """Keep the answers of models that score at least `least` times as high as the best model.

    Scores are means over all questions, by a first set made without this step (see `scores_by_first_set`).
    The best 10 models are always kept, and of each source as many more as leave the answers that later steps
    need to end with `select.count`.
    """

    breaks_ties: ClassVar[bool] = True
    nearly: ClassVar[str] = "ranking.least is high, or few models have most of the candidates"

    least: float = 0.8

    def __post_init__(self) -> None:
        if not 0 <= self.least <= 1:
            raise ConfigError(f"least must be from 0 to 1, not {self.least}")

    def key(self, context: Context) -> Any:
        """The scores, too, without which nothing else matters."""
        scores = list((context.prepared or {}).items())
        return [super().key(context), scores] if scores else []

    def kept(self, scores: Mapping[str, float]) -> int:
        """Returns how many of the ranked models are kept."""
        best = next(iter(scores.values()), 0.0)
        return max(FEWEST, sum(score >= self.least * best for score in scores.values()))

    def run(self, state: State, context: Context) -> tuple[State, StepReport]:
        """Drop the answers of the other models; nothing without a ranking."""
        scores: Mapping[str, float] = context.prepared or {}
        if not scores:
            reason = (
                f"it leaves out weak models where the candidates name more than {FEWEST} ('model')"
            )
            idle = {"remark": ["ranking does not apply", reason]}
            return state, StepReport(self.name, state.height, state.height, [], idle)
        place = {name: number for number, name in enumerate(scores)}
        least = self.kept(scores)

        def keep(part: State) -> tuple[Mask, dict[str, Any]]:
            columns = [frame.get_column("model") for frame in part.frames("model")]
            names = pl.concat(columns)  # answers of nobody known stay
            ranks = names.replace_strict(place, default=-1, return_dtype=pl.Int64).to_numpy()
            if (needed := min(context.needed, len(ranks))) > np.count_nonzero(ranks < least):
                last = int(np.partition(ranks, needed - 1)[needed - 1])
                return ranks <= last, {"models": last + 1}
            return ranks < least, {"models": least}

        kept, details = by_source(state, keep)
        reason = f"a model that scores below {self.least:g} of the best one"
        return context.narrowed(self.name, state, kept, reason, sources=details)
