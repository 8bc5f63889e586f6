"""Bradley–Terry with covariates: strengths of models apart from length, Markdown and order (judging 11).

Length, headings, list items, bold spans and code blocks of both answers are compared as (a − b)/(a + b), as
Arena's style control does: T. Li, A. N. Angelopoulos, W.-L. Chiang, "Does style matter? Disentangling style
and substance in Chatbot Arena" (LMSYS, 2024). Intervals: the bootstrap over questions with one Newton step a
resample from the fit (R. Davidson & J. G. MacKinnon, "Bootstrap testing in nonlinear models", International
Economic Review 40 (1999)), whose variance is that of the sandwich clustered by question.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.text import counted
from pfgen_rs.judge import Pair, decisions as columns
from pfgen_rs.judge.agreement import bradley_terry, intervals
from pfgen_rs.judge.decisions import NONE, Indices, Rule
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.stats import checks

_MARKDOWN = ("headings", "list items", "bold", "code blocks")
_NAMES = {"length": ("length",), "markdown": _MARKDOWN, "order": ("order",)}
COVARIATES = tuple(_NAMES)
"""What strengths can be controlled for."""
_CODE = r"(?ms)^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)|\z)"
_PATTERNS = {
    "headings": r"(?m)^ {0,3}#{1,6}[ \t]",
    "list items": r"(?m)^[ \t]*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]|・)",
    "bold": r"\*\*[^*\n]+\*\*|__[^_\n]+__",
}
_STEPS = 50
_LONGEST_STEP = 2.0
_CONVERGED = 1e-9
_SMALL = 1e-12  # keeps the matrix regular on the way to an infinite solution
_FAR = 20.0  # log-odds that no data tell from infinite ones
_DEPENDENT = 1e-9  # part of a covariate that models and other covariates leave unexplained


class Controlled(NamedTuple):
    """Strengths of models apart from covariates, and what the covariates do.

    `models`: one row per model, the best first: `model`, `strength` (log-odds with mean 0) with its interval
    `strength_low`, `strength_high`, `rank`, `best_rank`, `worst_rank`, as in `Ranking`. `coefficients`: one
    row per covariate: `covariate`, `coefficient` (log-odds of winning per unit), its interval, and
    `unit`: for text, the spread (root mean square) of (a − b)/(a + b) over the judgments; for `order`, 1: an
    answer that is shown first has +1, one that is shown second −1. `judgments`: those that count, which are
    half a game each if order is among the covariates. `notes`: remarks for the reader.
    """

    models: pl.DataFrame
    coefficients: pl.DataFrame
    judgments: int
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        tables = {name: getattr(self, name).to_dicts() for name in ("models", "coefficients")}
        return {**tables, "judgments": self.judgments, "notes": self.notes}


def pair_styles(pairs: Iterable[Pair]) -> pl.DataFrame:
    """Returns how the answers of each pair differ: (a − b)/(a + b), 0 if neither has any.

    Columns: `pair`, `length` (characters), `headings`, `list items` (also `・`), `bold`, `code blocks`
    (fenced; what is in them counts as length only). Linear in the text.
    """
    rows = [(pair.id, *pair.answers) for pair in pairs]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("pair", "a", "b"), pl.String), orient="row")
    counts = []
    for texts in (pl.col("a"), pl.col("b")):
        prose = texts.str.replace_all(_CODE, "\n")
        found = {name: prose.str.count_matches(pattern) for name, pattern in _PATTERNS.items()}
        found |= {"length": texts.str.len_chars(), "code blocks": texts.str.count_matches(_CODE)}
        counts.append(frame.select(each.cast(pl.Float64).alias(n) for n, each in found.items()))
    a, b = counts
    differences = [(a[name] - b[name]) / (a[name] + b[name]) for name in a.columns]
    return frame.select("pair").with_columns(differences).fill_nan(0.0)


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
    of that, those of both orders, `v1` and `v2`, which are half a game each; pairs of a model with itself do
    not count. `pairs`: those pairs, for their answers. `covariates`: of `COVARIATES`. Models with few
    questions have no interval, as in `rank`. 100,000 pairs of 20 models take a few seconds.

    Covariates without a coefficient are left out with a note: all answers are alike, the models determine
    them, or they determine who wins. Raises `InputError` for frames that lack columns, if no pair is decided,
    if models are not connected by wins and ties, and if no covariate is left; `SettingsError` for invalid
    settings.
    """
    checks.check_level(level)
    checks.check_resampling(resamples, seed)
    columns.check_rule(rule)
    unknown = next((name for name in covariates if name not in COVARIATES), None)
    if unknown is not None or not covariates:
        what = "no covariates" if unknown is None else f"unknown covariate {unknown!r:.60}"
        raise SettingsError(f"{what}: expected one or more of {', '.join(COVARIATES)}")
    names = [name for group in COVARIATES if group in covariates for name in _NAMES[group]]
    letters = ("v1", "v2") if "order" in names else (rule,)
    needed = ("pair", "question_id", "model_a", "model_b", *letters)
    columns.needed_columns(decisions, needed, "decisions")
    notes: list[str] = []
    of_two = bradley_terry.two_models(decisions)
    rows = of_two.join(pair_styles(pairs), on="pair", how="left", maintain_order="left")
    if untold := rows["length"].null_count():
        raise InputError(f"{counted(untold, 'pair')} with decisions and without texts")
    rows = pl.concat(
        rows.with_columns(letter=pl.col(name), order=pl.lit(order))
        for name, order in zip(letters, (1.0, -1.0), strict=False)
    )
    codes = columns.column_codes(rows["letter"])
    played = rows.filter(pl.Series(codes != NONE, dtype=pl.Boolean))
    if played.is_empty():
        raise InputError("no pair has a decision: nothing to rank")
    models, first, second = bradley_terry.model_codes(played)
    outcome = np.array([1.0, 0.0, 0.5])[codes[codes != NONE]]
    games = _Games(
        len(models),
        first,
        second,
        columns.question_codes(played["question_id"]),
        outcome,
        1 / len(letters),
        played.select(names).to_numpy(),
    )
    games.check_linked(models)
    units = np.sqrt((games.x**2).mean(axis=0))
    chosen, fit = _fit_unique(
        games._replace(x=games.x / np.where(units > 0, units, 1.0)), names, notes
    )
    drawn = fit.values + intervals.resampled_values(fit.influence, resamples, seed)
    size, of_models = len(models), games.questions_of_models()
    every = np.append(of_models, np.full(len(chosen), int(games.questions.max()) + 1))
    low, high = bradley_terry.strength_bounds(fit.values, drawn, level, every)
    if few := np.count_nonzero(np.isnan(low[:size])):
        notes.append(f"{few} of {counted(size, 'model')} have too few questions for an interval")
    bounded = bradley_terry.with_bounds
    strengths = bounded("strength", fit.values[:size], low[:size], high[:size])
    ranks = bradley_terry.rank_columns(fit.values[:size], drawn[:, :size], level, of_models)
    coefficients = bounded("coefficient", fit.values[size:], low[size:], high[size:])
    spread = [float(units[names.index(name)]) for name in chosen]
    table = pl.DataFrame({"model": models, **strengths, **ranks})
    return Controlled(
        table.fill_nan(None).sort("rank"),
        pl.DataFrame({"covariate": chosen, **coefficients, "unit": spread}).fill_nan(None),
        len(played),
        notes,
    )


class _Fit(NamedTuple):
    """Strengths (mean 0) and coefficients, and what each question moves them by: (questions, parameters).

    `converged`: whether they are finite.
    """

    values: Floats
    influence: Floats
    converged: bool


class _Games(NamedTuple):
    """Games: a's and b's models, questions, a's outcome (1, ½, 0), weight of each, and covariates."""

    models: int
    first: Indices
    second: Indices
    questions: Indices
    outcome: Floats
    weight: float
    x: Floats

    def check_linked(self, names: Sequence[str]) -> None:
        wins = np.zeros((self.models, self.models))
        np.add.at(wins, (self.first, self.second), self.outcome)
        np.add.at(wins, (self.second, self.first), 1 - self.outcome)
        bradley_terry.check_linked(wins, names)

    def questions_of_models(self) -> Indices:
        met = [self.questions * self.models + each for each in (self.first, self.second)]
        return np.bincount(np.unique(np.concatenate(met)) % self.models, minlength=self.models)

    def sums(self, each: Floats) -> Floats:
        """Returns Σ each · z, where z has 1 for a, −1 for b, and the covariates."""
        won, lost = (np.bincount(side, each, self.models) for side in (self.first, self.second))
        return np.concatenate([won - lost, self.x.T @ each])

    def information(self, weights: Floats) -> Floats:
        """Returns Σ weight · z zᵀ."""
        size = self.models
        pairings = np.bincount(self.first * size + self.second, weights, size * size)
        met = pairings.reshape(size, size) + pairings.reshape(size, size).T
        found = np.zeros((size + self.x.shape[1],) * 2)
        found[:size, :size] = np.diag(met.sum(axis=0)) - met
        for place, column in enumerate(self.x.T, size):
            found[:, place] = found[place] = self.sums(weights * column)
        return found

    def undetermined(self) -> int | None:
        """Returns the first covariate that models and the covariates before it determine."""
        information = self.information(np.ones(len(self.x)))
        for last in range(self.models, len(information)):
            own, column = information[last, last], information[:last, last]
            explained = np.linalg.lstsq(information[:last, :last], column, rcond=None)[0]
            if own - column @ explained <= _DEPENDENT * own:
                return last - self.models
        return None

    def fit(self) -> _Fit:
        """Fit by Newton's method."""
        values = np.zeros(self.models + self.x.shape[1])
        for _ in range(_STEPS):
            odds = values[self.first] - values[self.second] + self.x @ values[self.models :]
            won = 1 / (1 + np.exp(-odds))
            error = self.weight * (self.outcome - won)
            hessian = self.information(self.weight * won * (1 - won))
            hessian[: self.models, : self.models] += 1.0  # strengths are known up to a constant
            hessian += _SMALL * np.eye(len(values))
            step = np.linalg.solve(hessian, self.sums(error))
            largest = float(np.abs(step).max())
            values = values + step * min(1.0, _LONGEST_STEP / max(largest, _LONGEST_STEP))
            if largest < _CONVERGED or np.abs(values).max() > _FAR:
                break
        scores = np.zeros((int(self.questions.max()) + 1, len(values)))
        np.add.at(scores, (self.questions, self.first), error)
        np.add.at(scores, (self.questions, self.second), -error)
        for place, column in enumerate(self.x.T, self.models):
            scores[:, place] = np.bincount(self.questions, error * column, len(scores))
        influence = np.asarray(np.linalg.solve(hessian, scores.T).T, dtype=np.float64)
        return _Fit(values, influence, largest < _CONVERGED)


def _fit_unique(games: _Games, names: Sequence[str], notes: list[str]) -> tuple[list[str], _Fit]:
    """Fit with those covariates that have a coefficient, and note the others.

    Raises `InputError` if none has one.
    """
    kept = list(range(len(names)))
    while kept:
        part = games._replace(x=games.x[:, kept])
        place, why = part.undetermined(), "the models or other covariates say as much"
        if place is None:
            fit = part.fit()
            if fit.converged:
                return [names[i] for i in kept], fit
            place = int(np.abs(fit.values[games.models :]).argmax())
            why = "the answer with more (nearly) always wins, or always loses"
        dropped = kept.pop(place)
        if not games.x[:, dropped].any():
            why = "no two answers differ in it"
        notes.append(f"{names[dropped]}: left out, since {why}")
    raise InputError(f"no covariate has a coefficient: {'; '.join(notes)}")
