"""Bradley–Terry with covariates: strengths of models apart from length, Markdown and order (judging 11).

Length, headings, list items, bold spans and code blocks of both answers are compared as (a − b)/(a + b), as
Arena's style control does: T. Li, A. N. Angelopoulos, W.-L. Chiang, "Does style matter? Disentangling style
and substance in Chatbot Arena" (LMSYS, 2024). Intervals: the bootstrap over questions with one Newton step a
resample from the fit (R. Davidson & J. G. MacKinnon, "Bootstrap testing in nonlinear models", International
Economic Review 40 (1999)), whose variance is that of the sandwich clustered by question.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.text import counted
from pfgen_rs.judge import Pair, decisions as columns
from pfgen_rs.judge.agreement import bradley_terry, intervals
from pfgen_rs.judge.decisions import NONE, Indices, Rule
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.stats import checks

COVARIATES = ("length", "markdown", "order")
"""What strengths can be controlled for."""
_MARKDOWN = ("headings", "list items", "bold", "code blocks")
_CODE = r"(?ms)^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)|\z)"
_PATTERNS = {
    "headings": r"(?m)^ {0,3}#{1,6}[ \t]",
    "list items": r"(?m)^[ \t]*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]|・)",
    "bold": r"\*\*[^*\n]+\*\*|__[^_\n]+__",
}
_STEPS = 50
_LONGEST_STEP = 2.0
_CONVERGED = 1e-9
_FAR = 20.0  # log-odds that no data tell from infinite ones
_DEPENDENT = (
    1e-9  # share of a covariate's spread that models and other covariates leave unexplained
)


@dataclass(frozen=True, eq=False)
class Controlled:
    """Strengths of models apart from covariates, and what the covariates do.

    `models`: one row per model, the best first: `model`, `strength` (log-odds with mean 0) with its interval
    `strength_low`, `strength_high`, `rank`, `best_rank`, `worst_rank`, as in `Ranking`. `coefficients`: one
    row per covariate: `covariate`, `coefficient` (log-odds of winning per unit) with `low` and `high`, and
    `unit`: for text, the spread (root mean square) of (a − b)/(a + b) over the pairs; for `order`, 1: an
    answer that is shown first has +1, one that is shown second −1. `judgments`: those that count, which are
    half a game each if order is among the covariates; `left_out`: pairs without any. `notes`: remarks.
    """

    covariates: tuple[str, ...]
    models: pl.DataFrame = field(repr=False)
    coefficients: pl.DataFrame = field(repr=False)
    judgments: int
    left_out: int
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        tables = {name: getattr(self, name).to_dicts() for name in ("models", "coefficients")}
        counts = ("judgments", "left_out", "level", "resamples", "seed")
        single = {name: getattr(self, name) for name in counts}
        return {"covariates": list(self.covariates), **tables, **single, "notes": list(self.notes)}


def pair_styles(pairs: Iterable[Pair]) -> pl.DataFrame:
    """Returns how the answers of each pair differ: (a − b)/(a + b), 0 if neither has any.

    Columns: `pair`, `length` (characters), `headings`, `list items` (also `・`), `bold`, `code blocks`
    (fenced; what is in them counts as length only). Linear in the text.
    """
    rows = [(pair.id, *pair.answers) for pair in pairs]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("pair", "a", "b"), pl.String), orient="row")
    counts = {side: _style_counts(frame[side]) for side in ("a", "b")}
    names = ("length", *_MARKDOWN)
    differences = [
        ((one - other) / (one + other).clip(lower_bound=1)).alias(name)
        for name, one, other in ((n, counts["a"][n], counts["b"][n]) for n in names)
    ]
    return frame.select("pair").with_columns(differences)


def _style_counts(texts: pl.Series) -> pl.DataFrame:
    prose = texts.str.replace_all(_CODE, "\n")
    return pl.DataFrame(
        {
            "length": texts.str.len_chars().cast(pl.Int64),
            "code blocks": texts.str.count_matches(_CODE).cast(pl.Int64),
            **{
                name: prose.str.count_matches(pattern).cast(pl.Int64)
                for name, pattern in _PATTERNS.items()
            },
        }
    )


def rank_controlled(
    decisions: pl.DataFrame,
    pairs: Iterable[Pair],
    covariates: Collection[str] = COVARIATES,
    *,
    rule: Rule = "probability",
    level: float = 0.95,
    resamples: int = intervals.RESAMPLES,
    seed: int = 0,
) -> Controlled:
    """Returns models ranked by Bradley–Terry with covariates: maximum likelihood, without a penalty.

    The log-odds that a wins are s_a − s_b + Σ β_k x_k; a tie is half a win each way. `decisions`: one row per
    pair, with `pair`, `question_id`, `model_a`, `model_b`, and the letter of the rule; with `order`, instead
    of that, those of both orders, `v1` and `v2`, which are half a game each. `pairs`: those pairs, for their
    answers. `covariates`: of `COVARIATES`. Strengths of models with few questions have no interval, as in
    `rank`. 100,000 pairs of 20 models take a few seconds.

    Covariates without a coefficient are left out with a note: all answers are alike, the models determine
    them, or they determine who wins. Raises `InputError` for frames that lack columns, if no pair is decided,
    if models are not connected by wins and ties, and if no covariate is left; `SettingsError` for invalid
    settings.
    """
    checks.check_level(level)
    checks.check_resampling(resamples, seed)
    columns.check_rule(rule)
    chosen = tuple(name for name in COVARIATES if name in covariates)
    unknown = next((name for name in covariates if name not in COVARIATES), None)
    if unknown is not None or not chosen:
        what = "no covariates" if unknown is None else f"unknown covariate {unknown!r:.60}"
        raise SettingsError(f"{what}: expected one or more of {', '.join(COVARIATES)}")
    games = _games(decisions, pair_styles(pairs), chosen, rule)
    _check_models(games)
    fit = _fit_unique(games)
    return _controlled(games, fit, chosen, level, resamples, seed)


class _Played(NamedTuple):
    """Judgments: a's outcome, models, question, weight, and covariates, shape (judgments, covariates)."""

    models: tuple[str, ...]
    first: Indices
    second: Indices
    questions: Indices
    outcome: Floats
    weight: Floats
    names: tuple[str, ...]
    units: Floats
    x: Floats
    left_out: int
    notes: list[str]


def _games(
    decisions: pl.DataFrame, styles: pl.DataFrame, chosen: Sequence[str], rule: Rule
) -> _Played:
    letters = ("v1", "v2") if "order" in chosen else (rule,)
    needed = ("pair", "question_id", "model_a", "model_b", *letters)
    columns.needed_columns(decisions, needed, "decisions")
    of_two, alone = bradley_terry.two_models(decisions)
    joined = of_two.join(styles, on="pair", how="left", maintain_order="left")
    if joined["length"].null_count():
        lacking = joined.filter(pl.col("length").is_null())["pair"][0]
        raise InputError(f"pair {lacking!r:.80} has decisions but no texts")
    parts = [
        joined.with_columns(letter=pl.col(name), order=pl.lit(order, pl.Float64))
        for name, order in zip(letters, (1.0, -1.0), strict=False)
    ]
    rows = pl.concat(parts)
    codes = columns.column_codes(rows["letter"])
    played = rows.filter(pl.Series(codes != NONE, dtype=pl.Boolean))
    if played.is_empty():
        raise InputError("no pair has a decision: nothing to rank")
    models, first, second = bradley_terry.model_codes(played)
    texts = {"length": ("length",), "markdown": _MARKDOWN, "order": ("order",)}
    names = tuple(name for group in chosen for name in texts[group])
    x = played.select(names).to_numpy().astype(np.float64)
    units = np.where([name == "order" for name in names], 1.0, np.sqrt((x**2).mean(axis=0)))
    notes = [f"left out {counted(alone, 'pair')} of a model with itself"] if alone else []
    return _Played(
        models=models,
        first=first,
        second=second,
        questions=columns.question_codes(played["question_id"]),
        outcome=np.array([1.0, 0.0, 0.5])[codes[codes != NONE]],
        weight=np.full(len(played), 1 / len(letters)),
        names=names,
        units=units,
        x=x / np.where(units > 0, units, 1.0),
        left_out=len(of_two) - played["pair"].n_unique(),
        notes=notes,
    )


def _check_models(games: _Played) -> None:
    """Raise `InputError` for models that are not connected by wins or ties."""
    wins = np.zeros((len(games.models),) * 2)
    np.add.at(wins, (games.first, games.second), games.weight * games.outcome)
    np.add.at(wins, (games.second, games.first), games.weight * (1 - games.outcome))
    bradley_terry.check_linked(wins, games.models)


def _fit_unique(games: _Played) -> "_Fit":
    """Fit with the covariates that have a coefficient; the others are noted.

    Raises `InputError` if none is left.
    """
    kept = list(range(len(games.names)))
    while kept:
        x = games.x[:, kept]
        place = _undetermined(games, x)
        why = "the models, or the other covariates, say as much"
        if place is None:
            fit = _fit(games, tuple(games.names[i] for i in kept), x)
            if fit.converged:
                return fit
            place = int(np.abs(fit.values[len(games.models) :]).argmax())
            why = "who has more (nearly) always wins, or always loses"
        name = games.names[kept.pop(place)]
        games.notes.append(
            f"{name}: left out, since "
            + (why if games.units[games.names.index(name)] else "no two answers differ in it")
        )
    raise InputError(f"no covariate has a coefficient: {'; '.join(games.notes)}")


def _undetermined(games: _Played, x: Floats) -> int | None:
    """Returns the first covariate that models and the covariates before it determine."""
    size = len(games.models)
    information = _information(games, x, games.weight)
    for last in range(size, len(information)):
        own, column = information[last, last], information[:last, last]
        explained = np.linalg.lstsq(information[:last, :last], column, rcond=None)[0]
        if own - column @ explained <= _DEPENDENT * own:
            return last - size
    return None


class _Fit(NamedTuple):
    """Strengths (mean 0) and coefficients, and what each question moves them by: (questions, parameters).

    `converged`: whether they are finite.
    """

    names: tuple[str, ...]
    values: Floats
    influence: Floats
    converged: bool


def _fit(games: _Played, names: tuple[str, ...], x: Floats) -> _Fit:
    """Fit by Newton's method."""
    size = len(games.models)
    values = np.zeros(size + x.shape[1])
    for _ in range(_STEPS):
        odds = values[games.first] - values[games.second] + x @ values[size:]
        won = 1 / (1 + np.exp(-odds))
        error = games.weight * (games.outcome - won)
        hessian = _information(games, x, games.weight * won * (1 - won))
        hessian[:size, :size] += 1.0  # strengths are known up to a constant
        step = np.linalg.solve(hessian, _sums(games, x, error))
        largest = float(np.abs(step).max())
        values = values + step * min(1.0, _LONGEST_STEP / max(largest, _LONGEST_STEP))
        if largest < _CONVERGED or np.abs(values).max() > _FAR:
            break
    scores = np.zeros((int(games.questions.max()) + 1, len(values)))
    np.add.at(scores, (games.questions, games.first), error)
    np.add.at(scores, (games.questions, games.second), -error)
    for i in range(x.shape[1]):
        scores[:, size + i] = np.bincount(games.questions, error * x[:, i], len(scores))
    influence: Floats = np.asarray(np.linalg.solve(hessian, scores.T).T, dtype=np.float64)
    return _Fit(names, values, influence, converged=largest < _CONVERGED)


def _sums(games: _Played, x: Floats, each: Floats) -> Floats:
    size = len(games.models)
    of_models = np.bincount(games.first, each, size) - np.bincount(games.second, each, size)
    return np.concatenate([of_models, x.T @ each])


def _information(games: _Played, x: Floats, weight: Floats) -> Floats:
    """Returns Σ w z zᵀ, where z has 1 for a, −1 for b, and the covariates."""
    size = len(games.models)
    found = np.zeros((size + x.shape[1],) * 2)
    met = np.bincount(games.first * size + games.second, weight, size * size).reshape(size, size)
    met = met + met.T
    found[:size, :size] = np.diag(met.sum(axis=0)) - met
    for i, column in enumerate(x.T):
        found[:, size + i] = found[size + i, :] = _sums(games, x, weight * column)
    return found


def _controlled(
    games: _Played, fit: _Fit, chosen: tuple[str, ...], level: float, resamples: int, seed: int
) -> Controlled:
    size = len(games.models)
    drawn = fit.values + intervals.resampled_values(fit.influence, resamples, seed)
    met = [games.questions * size + each for each in (games.first, games.second)]
    questions = np.bincount(np.unique(np.concatenate(met)) % size, minlength=size)
    every = np.concatenate([questions, np.full(len(fit.names), int(games.questions.max()) + 1)])
    low, high = intervals.bootstrap_bounds(fit.values, drawn, level, every)
    few = every < intervals.fewest_questions(level)
    low[few] = high[few] = np.nan
    strengths = fit.values[:size]
    ranges = bradley_terry.rank_ranges_of_resamples(strengths, drawn[:, :size], level, questions)
    best, worst = zip(*ranges, strict=True)
    models = pl.DataFrame(
        {
            "model": games.models,
            "strength": strengths,
            "strength_low": low[:size],
            "strength_high": high[:size],
            "rank": (-strengths).argsort(kind="stable").argsort(kind="stable") + 1,
            "best_rank": list(best),
            "worst_rank": list(worst),
        }
    )
    coefficients = pl.DataFrame(
        {
            "covariate": fit.names,
            "coefficient": fit.values[size:],
            "low": low[size:],
            "high": high[size:],
            "unit": [float(games.units[games.names.index(name)]) for name in fit.names],
        }
    )
    if few.any():
        games.notes.append(
            f"{np.count_nonzero(few[:size])} of {counted(size, 'model')} have too few pairs for an interval"
        )
    return Controlled(
        covariates=chosen,
        models=models.fill_nan(None).sort("rank"),
        coefficients=coefficients.fill_nan(None),
        judgments=len(games.outcome),
        left_out=games.left_out,
        level=level,
        resamples=resamples,
        seed=seed,
        notes=tuple(games.notes),
    )
