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
from pfgen_rs.judge.agreement import bradley_terry
from pfgen_rs.judge.decisions import NONE, Indices, Rule
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.stats import checks, resampling

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
    resamples: int = resampling.RESAMPLES,
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
    models, games = _games_of(decisions, pairs, names, rule)
    chosen, fit, notes = _fit_unique(games, names)
    drawn = fit.values + resampling.resampled_values(fit.influence, resamples, seed)
    size, of_models = len(models), games.questions_of_models()
    every = np.append(of_models, np.full(len(chosen), games.questions.shape[1]))
    low, high = bradley_terry.strength_bounds(fit.values, drawn, level, every)
    if few := np.count_nonzero(np.isnan(low[:size])):
        notes.append(f"{few} of {counted(size, 'model')} have too few questions for an interval")
    bounded = bradley_terry.with_bounds
    strengths = bounded("strength", fit.values[:size], low[:size], high[:size])
    ranks = bradley_terry.rank_columns(fit.values[:size], drawn[:, :size], level, of_models)
    coefficients = bounded("coefficient", fit.values[size:], low[size:], high[size:])
    units = [float(games.units[names.index(name)]) for name in chosen]
    return Controlled(
        pl.DataFrame({"model": models, **strengths, **ranks}).fill_nan(None).sort("rank"),
        pl.DataFrame({"covariate": chosen, **coefficients, "unit": units}).fill_nan(None),
        len(games.outcome),
        notes,
    )


class _Games(NamedTuple):
    """Games: who is a and who is b, and questions, as sparse indicators; a's outcome; weight; covariates.

    `a`, `b`: shape (games, models); `questions`: (games, questions); `x`: (games, covariates), in `units`.
    """

    a: Any
    b: Any
    questions: Any
    outcome: Floats
    weight: float
    x: Floats
    units: Floats

    def wins(self) -> Floats:
        """Returns wins of each model against each other."""
        won = self.a.T @ self.b.multiply(self.outcome[:, None])
        return np.asarray((won + self.b.T @ self.a.multiply(1 - self.outcome[:, None])).todense())

    def questions_of_models(self) -> Indices:
        """Returns how many questions the games of each model are about."""
        met = self.questions.T @ (self.a + self.b)
        return np.asarray((met > 0).sum(axis=0), dtype=np.int64).ravel()


def _games_of(
    decisions: pl.DataFrame, pairs: Iterable[Pair], names: Sequence[str], rule: Rule
) -> tuple[tuple[str, ...], _Games]:
    """Returns the models and their games. Raises `InputError`, also for models that are not connected."""
    letters = ("v1", "v2") if "order" in names else (rule,)
    needed = ("pair", "question_id", "model_a", "model_b", *letters)
    columns.needed_columns(decisions, needed, "decisions")
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
    questions, x = columns.question_codes(played["question_id"]), played.select(names).to_numpy()
    units = np.sqrt((x**2).mean(axis=0))
    games = _Games(
        _indicators(first, len(models)),
        _indicators(second, len(models)),
        _indicators(questions, int(questions.max()) + 1),
        np.array([1.0, 0.0, 0.5])[codes[codes != NONE]],
        1 / len(letters),
        x / np.where(units > 0, units, 1.0),
        units,
    )
    bradley_terry.check_linked(games.wins(), models)
    return models, games


def _indicators(codes: Indices, size: int) -> Any:
    """Returns a sparse matrix of ones, a row each: shape (codes, size)."""
    from scipy.sparse import csr_array  # type: ignore[import-untyped]

    number = len(codes)
    return csr_array((np.ones(number), (np.arange(number), codes)), shape=(number, size))


class _Fit(NamedTuple):
    """Strengths (mean 0) and coefficients, and what each question moves them by: (questions, parameters)."""

    values: Floats
    influence: Floats


def _fit_unique(games: _Games, names: Sequence[str]) -> tuple[list[str], _Fit, list[str]]:
    """Fit with those covariates that have a coefficient; returns their names, too, and notes on others.

    Raises `InputError` if none has one.
    """
    from scipy import sparse  # type: ignore[import-untyped]

    kept, notes, size = list(range(len(names))), list[str](), games.a.shape[1]
    while kept:
        z = sparse.hstack([games.a - games.b, sparse.csr_array(games.x[:, kept])], format="csr")
        place, why = _undetermined(z, size), "models and other covariates determine it"
        if place is None:
            found, fit = _newton(games, z)
            if found:
                return [names[i] for i in kept], fit, notes
            place = int(np.abs(fit.values[size:]).argmax())
            why = "the answer with more (nearly) always wins, or always loses"
        dropped = kept.pop(place)
        if not games.units[dropped]:
            why = "no two answers differ in it"
        notes.append(f"{names[dropped]}: left out, since {why}")
    raise InputError(f"no covariate has a coefficient: {'; '.join(notes)}")


def _undetermined(z: Any, size: int) -> int | None:
    """Returns the first covariate that models and the covariates before it determine."""
    information = (z.T @ z).toarray()
    for last in range(size, len(information)):
        own, column = information[last, last], information[:last, last]
        explained = np.linalg.lstsq(information[:last, :last], column, rcond=None)[0]
        if own - column @ explained <= _DEPENDENT * own:
            return last - size
    return None


def _newton(games: _Games, z: Any) -> tuple[bool, _Fit]:
    """Fit by Newton's method; also returns whether there is a finite solution.

    `z`: 1 for a, −1 for b, and the covariates of each game.
    """
    values, constant = np.zeros(z.shape[1]), np.zeros((z.shape[1],) * 2)
    constant[: games.a.shape[1], : games.a.shape[1]] = 1.0  # strengths are known up to a constant
    constant += _SMALL * np.eye(len(values))
    for _ in range(_STEPS):
        won = (1 + np.tanh(z @ values / 2)) / 2  # the logistic function, without overflow
        error = games.weight * (games.outcome - won)
        weighted = z.multiply((games.weight * won * (1 - won))[:, None])
        hessian = (z.T @ weighted).toarray() + constant
        step = np.linalg.solve(hessian, z.T @ error)
        largest = float(np.abs(step).max())
        values = values + step * min(1.0, _LONGEST_STEP / max(largest, _LONGEST_STEP))
        if largest < _CONVERGED or np.abs(values).max() > _FAR:
            break
    scores = (games.questions.T @ z.multiply(error[:, None])).toarray()
    influence = np.asarray(np.linalg.solve(hessian, scores.T).T, dtype=np.float64)
    return largest < _CONVERGED, _Fit(values, influence)
