"""Win rates by people and a judge together: unbiased as people's, with shorter intervals (judging 11).

Sources: A. N. Angelopoulos, S. Bates, C. Fannjiang, M. I. Jordan, T. Zrnic, "Prediction-powered inference",
Science 382 (2023); for λ A. N. Angelopoulos, J. C. Duchi, T. Zrnic, "PPI++: efficient prediction-powered
inference" (2023).
"""

from dataclasses import dataclass, field
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted
from pfgen_rs.judge import decisions as columns
from pfgen_rs.judge.agreement import bradley_terry, intervals
from pfgen_rs.judge.decisions import Indices, Rule
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.stats import checks

_OUTCOMES = {"A": 1.0, "B": 0.0, "C": 0.5}
_RATES = ("people", "judge", "together")
_NO_SPREAD = 1e-18


@dataclass(frozen=True, eq=False)
class PeopleAndJudge:
    """Win rates by people alone, by the judge alone, and by both together.

    `models`: one row per model, the best first (by `together`): `model`; `people_games` and
    `people_questions`: what people judged; `judge_games`: what the judge decided; `people`, `judge` and
    `together`: win rates with a tie as half a win, each with its interval `…_low`, `…_high` at `level`;
    `weight`: λ, how much of the judge is used, 0 to 1; `worth`: how many games judged by people alone would
    give an interval as short as that of `together`. Null where nothing is known. `notes`: remarks for the
    reader.
    """

    rule: Rule
    models: pl.DataFrame = field(repr=False)
    level: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        return {
            "rule": self.rule,
            "level": self.level,
            "models": self.models.to_dicts(),
            "notes": list(self.notes),
        }


def people_and_judge(
    decisions: pl.DataFrame,
    humans: pl.DataFrame,
    *,
    rule: Rule = "probability",
    level: float = 0.95,
) -> PeopleAndJudge:
    """Returns win rates by people, by a judge, and by both, if people judged a random part of the pairs.

    `decisions`: one row per pair, with `pair`, `question_id`, `model_a`, `model_b` and the letter of the
    rule, null where the judge has none. `humans`: `pair`, `rater`, `verdict`; the outcome of a pair is the
    mean over its raters. People's pairs (or questions) must be a random choice. With y people's and f the
    judge's outcomes, a model's rate is ȳ − λ(f̄ over people's games − f̄ over all games): unbiased for every λ.
    Variances are those of sums over questions; λ makes them smallest, and is 0 with few questions judged by
    people. Intervals are Student's, and contain Wilson's (`intervals.widened_bounds`). Linear time.

    Raises `InputError` for frames that lack columns, and if people judged no pair of two models;
    `SettingsError` for invalid settings.
    """
    checks.check_level(level)
    columns.check_rule(rule)
    needed = ("pair", "question_id", "model_a", "model_b", rule)
    columns.needed_columns(decisions, needed, "decisions")
    columns.needed_columns(humans, ("pair", "rater", "verdict"), "human verdicts")
    pairs, alone = bradley_terry.two_models(decisions)
    games = _Games(_with_people(pairs, humans, rule))
    rows = [games.rates(model, level) for model in range(len(games.models))]
    table = pl.DataFrame(rows, infer_schema_length=None).fill_nan(None)
    notes = _notes(games, alone, level)
    order = ["together", "people", "judge"]
    return PeopleAndJudge(
        rule, table.sort(order, descending=True, nulls_last=True), level, tuple(notes)
    )


def _with_people(pairs: pl.DataFrame, humans: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Returns the pairs with the outcomes for a by people (mean of the raters) and by the judge."""
    columns.column_codes(humans["verdict"])  # unknown letters are an error
    outcome = pl.col("verdict").replace_strict(_OUTCOMES, return_dtype=pl.Float64)
    means = humans.drop_nulls("verdict").group_by("pair").agg(people=outcome.mean())
    columns.column_codes(pairs[rule])
    judge = pl.col(rule).replace_strict(_OUTCOMES, return_dtype=pl.Float64)
    found = pairs.with_columns(judge=judge).join(means, on="pair", how="left")
    if found["people"].null_count() == len(found):
        raise InputError("people judged none of the pairs")
    return found.filter(pl.col("people").is_not_null() | pl.col("judge").is_not_null())


class _Games:
    """The games of each model, from its side: every pair is one of each of its two models."""

    def __init__(self, pairs: pl.DataFrame) -> None:
        self.models, first, second = bradley_terry.model_codes(pairs)
        people, judge = (
            pairs[name].fill_null(float("nan")).to_numpy() for name in ("people", "judge")
        )
        self._model = np.concatenate([first, second])
        self._people = np.concatenate([people, 1 - people])
        self._judge = np.concatenate([judge, 1 - judge])
        self._questions = np.tile(columns.question_codes(pairs["question_id"]), 2)
        self.only_people = int(np.count_nonzero(np.isnan(judge)))
        self.of_people = np.bincount(
            self._model[~np.isnan(self._people)], minlength=len(self.models)
        )
        self.few = 0

    def rates(self, model: int, level: float) -> dict[str, Any]:
        """Returns the row of a model."""
        mine = self._model == model
        y, f = self._people[mine], self._judge[mine]
        _, questions = np.unique(self._questions[mine], return_inverse=True)
        seen, decided = ~np.isnan(y), ~np.isnan(f)
        people, by_people = _mean(y, seen, questions)
        judge, by_judge = _mean(f, decided, questions)
        of_seen, by_seen = _mean(f, seen & decided, questions)
        ours, theirs = (len(np.unique(questions[each])) for each in (seen, decided))
        # What the judge says of people's games more than of all.
        apart, by_apart = of_seen - judge, by_seen - by_judge
        weight = 0.0
        if ours >= intervals.fewest_questions(level):
            weight = _least_variance(by_people, by_apart)
        else:
            self.few += 1
        together, by_both = people, by_people
        if weight:
            together, by_both = people - weight * apart, by_people - weight * by_apart
        numbers = np.array([ours, theirs, ours])
        freedom = numbers - [1, 1, 2 if weight else 1]
        squares = np.array([each @ each for each in (by_people, by_judge, by_both)])
        variances = squares * numbers / np.maximum(freedom, 1)
        gain = variances[0] / variances[2] if variances[2] > _NO_SPREAD else 1.0
        found: dict[str, Any] = {
            "model": self.models[model],
            "people_games": int(np.count_nonzero(seen)),
            "people_questions": ours,
            "judge_games": int(np.count_nonzero(decided)),
        }
        values = np.clip([people, judge, together], 0.0, 1.0)
        reach = [
            checks.two_sided_quantile(level, each)
            for each in freedom.clip(1, checks.MOST_FREEDOM).tolist()
        ]
        apart_by = np.where(freedom > 0, reach * np.sqrt(variances), 0.0)
        bounds = values - apart_by, values + apart_by
        low, high = intervals.widened_bounds(values, bounds, variances, level, numbers)
        for i, name in enumerate(_RATES):
            found |= {name: values[i], f"{name}_low": low[i], f"{name}_high": high[i]}
        known = bool(seen.any())
        return found | {
            "weight": weight if known else None,
            "worth": found["people_games"] * gain if known else None,
        }


def _mean(values: Floats, known: Any, questions: Indices) -> tuple[float, Floats]:
    """Returns the mean of the known values, and how each question moves it: the sums of these are 0."""
    number, size = int(np.count_nonzero(known)), int(questions.max(initial=-1)) + 1
    if not number:
        return float("nan"), np.zeros(size)
    mean = float(values[known].mean())
    moved = np.bincount(questions[known], values[known] - mean, minlength=size)
    return mean, moved / number


def _least_variance(moved: Floats, control: Floats) -> float:
    """Returns the λ from 0 to 1 for which Σ(moved − λ·control)² is smallest."""
    squares = float(control @ control)
    return min(max(float(moved @ control) / squares, 0.0), 1.0) if squares > _NO_SPREAD else 0.0


def _notes(games: _Games, alone: int, level: float) -> list[str]:
    notes = []
    if alone:
        notes.append(f"left out {counted(alone, 'pair')} of a model with itself")
    if games.only_people:
        notes.append(
            f"{counted(games.only_people, 'pair')} that people judged and the judge did not decide: they "
            "count for people alone"
        )
    if games.few:
        notes.append(
            f"{games.few} of {counted(len(games.models), 'model')} with fewer than "
            f"{intervals.fewest_questions(level)} questions judged by people: the judge does not count there"
        )
    return notes
