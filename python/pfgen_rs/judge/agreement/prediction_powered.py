"""Win rates by people and a judge together: unbiased as people's, mostly with shorter intervals (judging 11).

Sources: A. N. Angelopoulos, S. Bates, C. Fannjiang, M. I. Jordan, T. Zrnic, "Prediction-powered inference",
Science 382 (2023); for λ A. N. Angelopoulos, J. C. Duchi, T. Zrnic, "PPI++: efficient prediction-powered
inference" (2023).
"""

from typing import Any, NamedTuple

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted
from pfgen_rs.judge import decisions as columns
from pfgen_rs.judge.agreement import bradley_terry
from pfgen_rs.judge.decisions import Indices, Rule
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.stats import checks, resampling

_OUTCOMES = {"A": 1.0, "B": 0.0, "C": 0.5}
_NO_SPREAD = 1e-18


class PeopleAndJudge(NamedTuple):
    """Win rates by people alone, by the judge alone, and by both together.

    `models`: one row per model, the best first (by `together`): `model`; `people_games` and
    `people_questions`: what people judged; `judge_games`: what the judge decided; `people`, `judge` and
    `together`: win rates with a tie as half a win, each with its interval `…_low`, `…_high`; `weight`: λ, how
    much of the judge is used, 0 to 1; `worth`: how many games judged by people alone would give an interval
    as short as that of `together`. Null where nothing is known. `notes`: remarks for the reader.
    """

    models: pl.DataFrame
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        return {"models": self.models.to_dicts(), "notes": self.notes}


def people_and_judge(
    decisions: pl.DataFrame,
    humans: pl.DataFrame,
    *,
    rule: Rule = "probability",
    level: float = 0.95,
) -> PeopleAndJudge:
    """Returns win rates by people, by a judge, and by both, if people judged a random part of the pairs.

    `decisions`: one row per pair, with `pair`, `question_id`, `model_a`, `model_b` and the letter of the
    rule, null where the judge has none; pairs of a model with itself do not count. `humans`: `pair`, `rater`,
    `verdict`; the outcome of a pair is the mean over its raters. People's pairs (or questions) must be a
    random choice. With y people's and f the judge's outcomes, a model's rate is
    ȳ − λ(f̄ over people's games − f̄ over all games): unbiased for every λ. Variances are those of sums over
    questions; λ makes them smallest, and is 0 with few questions judged by people. Intervals are Student's,
    and contain Wilson's (`resampling.widened_bounds`). Linear time.

    Raises `InputError` for frames that lack columns, and if people judged no pair of two models;
    `SettingsError` for invalid settings.
    """
    checks.check_level(level)
    columns.check_rule(rule)
    needed = ("pair", "question_id", "model_a", "model_b", rule)
    columns.needed_columns(decisions, needed, "decisions")
    columns.needed_columns(humans, ("pair", "rater", "verdict"), "human verdicts")
    pairs = _with_outcomes(bradley_terry.two_models(decisions), humans, rule)
    models, *sides = bradley_terry.model_codes(pairs)
    model, questions = np.concatenate(sides), columns.question_codes(pairs["question_id"])
    games = []  # every pair is a game of a and one of b
    for name in ("people", "judge"):
        of_a = pairs[name].fill_null(float("nan")).to_numpy()
        games.append(np.concatenate([of_a, 1 - of_a]))
    rows = []
    for code, name in enumerate(models):
        mine = model == code
        found = _rates(games[0][mine], games[1][mine], np.tile(questions, 2)[mine], level)
        rows.append({"model": name, **found})
    table = pl.DataFrame(rows, infer_schema_length=None).fill_nan(None)
    table = table.sort(
        "together", "judge", "model", descending=[True, True, False], nulls_last=True
    )
    notes, fewest = [], resampling.fewest_questions(level)
    if number := pairs["judge"].null_count():
        notes.append(
            f"{counted(number, 'pair')} judged by people and not decided by the judge: for people alone"
        )
    if few := table.filter(pl.col("people_questions") < fewest).height:
        notes.append(
            f"{few} of {counted(len(table), 'model')} with fewer than {fewest} questions judged by people: "
            "the judge does not count there"
        )
    return PeopleAndJudge(table, notes)


def _with_outcomes(pairs: pl.DataFrame, humans: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Returns the pairs with the outcomes for a by people (mean of the raters) and by the judge."""
    for letters in (humans["verdict"], pairs[rule]):
        columns.column_codes(letters)  # unknown ones are an error
    people, judge = (
        pl.col(name).replace_strict(_OUTCOMES, return_dtype=pl.Float64)
        for name in ("verdict", rule)
    )
    means = humans.drop_nulls("verdict").group_by("pair").agg(people=people.mean())
    found = pairs.with_columns(judge=judge).join(means, on="pair", how="left")
    if found["people"].null_count() == len(found):
        raise InputError("people judged none of the pairs")
    return found.filter(pl.col("people").is_not_null() | pl.col("judge").is_not_null())


def _rates(y: Floats, f: Floats, questions: Indices, level: float) -> dict[str, Any]:
    """Returns the rates of a model from its outcomes by people and by the judge, NaN where unknown."""
    _, questions = np.unique(questions, return_inverse=True)
    seen, decided = ~np.isnan(y), ~np.isnan(f)
    people, judge, of_seen = (
        _Mean.of(values, known, questions)
        for values, known in ((y, seen), (f, decided), (f, seen & decided))
    )
    # What the judge says of people's games more than of all.
    apart, moved = of_seen.value - judge.value, of_seen.moved - judge.moved
    ours, theirs, both = (
        len(np.unique(questions[each])) for each in (seen, decided, seen & decided)
    )
    weight = 0.0
    if both >= resampling.fewest_questions(level) and moved @ moved > _NO_SPREAD:
        weight = float(np.clip(people.moved @ moved / (moved @ moved), 0.0, 1.0))
    together = people
    if weight:
        together = _Mean(people.value - weight * apart, people.moved - weight * moved)
    found = (people, judge, together)
    numbers = np.array([ours, theirs, ours])
    freedom = numbers - [1, 1, 2 if weight else 1]
    variances = np.array([each.moved @ each.moved for each in found])
    variances *= numbers / np.maximum(freedom, 1)
    values = np.clip([each.value for each in found], 0.0, 1.0)
    clipped = freedom.clip(1, checks.MOST_FREEDOM).tolist()
    reach = [checks.two_sided_quantile(level, each) for each in clipped]
    width = np.where(freedom > 0, reach * np.sqrt(variances), 0.0)
    low, high = resampling.widened_bounds(
        values, (values - width, values + width), variances, level, numbers
    )
    gain = variances[0] / variances[2] if variances[2] > _NO_SPREAD else 1.0
    games = int(np.count_nonzero(seen))
    return {
        "people_games": games,
        "people_questions": ours,
        "judge_games": int(np.count_nonzero(decided)),
        **bradley_terry.with_bounds("people", values[0], low[0], high[0]),
        **bradley_terry.with_bounds("judge", values[1], low[1], high[1]),
        **bradley_terry.with_bounds("together", values[2], low[2], high[2]),
        "weight": weight if games else None,
        "worth": games * float(gain) if games else None,
    }


class _Mean(NamedTuple):
    """A mean, NaN of nothing, and how each question moves it: the sums of these are 0."""

    value: float
    moved: Floats

    @classmethod
    def of(cls, values: Floats, known: NDArray[Any], questions: Indices) -> "_Mean":
        mean = float(values[known].mean()) if known.any() else float("nan")
        size = int(questions.max()) + 1
        moved = np.bincount(questions[known], values[known] - mean, minlength=size)
        return cls(mean, moved / max(int(np.count_nonzero(known)), 1))
