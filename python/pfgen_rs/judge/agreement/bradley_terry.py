"""Models ranked by decided pairs: win rates and Bradley–Terry, with intervals and the ranks left open.

A tie counts as half a win each way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from pfgen_rs import InputError, PfgenError, extras
from pfgen_rs.io.text import counted
from pfgen_rs.judge import decisions as columns
from pfgen_rs.judge.decisions import NONE, Codes, Indices, Rule
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.stats import checks, ranking, resampling

_OUTCOMES = 3
_TIE = 2
_CONSTANT = 1e-12


@dataclass(frozen=True, eq=False)
class Ranking:
    """Models, the best first (by Bradley–Terry; by win rate without it).

    `models`: one row per model: `model`; `games`, `wins`, `ties`, `losses`; `win_rate` with a tie as half a
    win, pooled over games; `strength` (Bradley–Terry): log-odds with mean 0; `soft_win_rate`: mean of the
    judge's normalised p(win) + p(tie)/2. Each has an interval `…_low`, `…_high` (bootstrap over questions),
    and is null where it is unknown. `rank`, `best_rank`, `worst_rank`: by strength (by win rate
    without it), with the ranks that the bootstrap leaves open: with probability `level` they all contain the
    true ranks.
    `head_to_head`: one row per two models that met: `model`, `opponent`, `games`, `wins`, `ties`, `losses`.
    `games`, `questions`: what counts; `left_out`: pairs without a decision; `alone`: pairs of a model with
    itself, left out, too. `unsolved`: resamples without a solution of Bradley–Terry, which its intervals
    leave out. `notes`: remarks for the reader.
    """

    rule: Rule
    models: "pl.DataFrame" = field(repr=False)
    head_to_head: "pl.DataFrame" = field(repr=False)
    games: int
    left_out: int
    alone: int
    questions: int
    level: float
    resamples: int
    unsolved: int
    seed: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        tables = {name: values[name].to_dicts() for name in ("models", "head_to_head")}
        single = {n: value for n, value in values.items() if isinstance(value, str | int | float)}
        return {**single, **tables, "notes": list(self.notes)}


def rank(
    decisions: "pl.DataFrame",
    *,
    rule: Rule = "probability",
    with_strengths: bool = True,
    level: float = 0.95,
    resamples: int = resampling.RESAMPLES,
    seed: int = 0,
) -> Ranking:
    """Returns models ranked by the decisions about their pairs.

    `decisions`: one row per pair, with `question_id`, `model_a`, `model_b` and the letter of the rule;
    optionally mean probabilities `p_a`, `p_b`, `p_c`. Pairs without a decision, and pairs of a model with
    itself, are left out and counted.
    `with_strengths`: whether to fit Bradley–Terry (by evalica, extra `judge`), which needs models that are
    connected.

    Raises `InputError` for frames that lack columns, if no pair is decided, and if Bradley–Terry has no
    solution, naming the models that are apart; `SettingsError` for invalid settings.
    """
    checks.check_level(level)
    checks.check_resampling(resamples, seed)
    columns.check_rule(rule)
    games = games_of(decisions, rule)
    scores = _Scores(games, with_strengths, resamples, seed)
    head_to_head = _head_to_head(games, scores.pairings)
    counts = head_to_head.drop("opponent").group_by("model").sum().sort("model")
    found: dict[str, Any] = counts.to_dict()
    for name, score in scores.by_name.items():
        found |= with_bounds(name, *_bounds_of_score(name, score, scores.questions, level))
    values, resampled = scores.by_name["strength"] or scores.win_rates
    found |= rank_columns(values, resampled, level, scores.questions)
    table = pl.DataFrame(found).fill_nan(None).sort("rank")
    questions = int(games.questions.max()) + 1
    return Ranking(
        rule=rule,
        models=table,
        head_to_head=head_to_head,
        games=len(games.outcomes),
        left_out=games.left_out,
        alone=games.alone,
        questions=questions,
        level=level,
        resamples=resamples,
        unsolved=scores.unsolved,
        seed=seed,
        notes=tuple(_ranking_notes(games, scores, questions, resamples, level)),
    )


def with_bounds(name: str, values: Any, low: Any, high: Any) -> dict[str, Any]:
    """Returns columns of values and their intervals."""
    return {name: values, f"{name}_low": low, f"{name}_high": high}


def rank_columns(
    values: Floats, resampled: Floats, level: float, questions: Indices
) -> dict[str, Any]:
    """Returns `rank`, `best_rank` and `worst_rank` of models: see `rank_ranges_of_resamples`."""
    ranges = rank_ranges_of_resamples(values, resampled, level, questions)
    order = (-values).argsort(kind="stable").argsort(kind="stable") + 1
    return {
        "rank": order,
        **dict(zip(("best_rank", "worst_rank"), zip(*ranges, strict=True), strict=True)),
    }


def rank_ranges_of_resamples(
    values: Floats, resampled: Floats, level: float, questions: Indices
) -> list[tuple[int, int]]:
    """Returns for each model the best and the worst rank that the resamples leave open.

    `values`: shape (models,), `resampled`: (resamples, models), NaN where a resample has none. `questions`:
    how many each model's games are about, shape (models,). One model ranks above another if their difference
    exceeds c standard errors, c being the `level` quantile over resamples of the largest error of any
    difference, so that with this probability all ranges together contain the true ranks (M. Mogstad, J. P.
    Romano, A. M. Shaikh, D. Wilhelm, "Inference for ranks", Review of Economic Studies 91 (2024)). With few
    questions the quantile is further out, as in `bootstrap_bounds`, and a model with fewer than
    `fewest_questions` is told apart from none. Without two resamples, no rank is excluded.
    """
    kept = resampled[~np.isnan(resampled).any(axis=1)]
    models = len(values)
    if len(kept) < 2:
        return [(1, models)] * models
    errors = kept - values
    largest, widths = np.zeros(len(kept)), np.zeros((models, models))
    for i in range(models - 1):
        apart = errors[:, [i]] - errors[:, i + 1 :]
        spread = apart.std(axis=0, ddof=1)
        widths[i, i + 1 :] = widths[i + 1 :, i] = spread
        moving = spread > _CONSTANT
        if moving.any():
            relative = np.abs(apart[:, moving]) / spread[moving]
            largest = np.maximum(largest, relative.max(axis=1))
    tail = resampling.expanded_tail(level, int(questions.max()))
    reach = float(np.quantile(largest, 1 - 2 * tail))
    known = questions >= resampling.fewest_questions(level)
    above = values[:, None] - values > np.maximum(reach * widths, _CONSTANT)
    return ranking.ranges(above & known & known[:, None])


class _Scores:
    """Values and resampled values of every score, `None` where one is unknown."""

    def __init__(self, games: "Games", with_strengths: bool, resamples: int, seed: int) -> None:
        self._games, self._resamples, self._seed = games, resamples, seed
        models = len(games.models)
        pairing = games.first * models + games.second
        pairings, classes = np.unique(pairing, return_inverse=True)
        classes = classes * _OUTCOMES + games.outcomes
        size = len(pairings) * _OUTCOMES
        first, second = pairings // models, pairings % models
        observed = np.bincount(classes, minlength=size).reshape(1, -1, _OUTCOMES)
        questions = resampling.Questions(games.questions, classes)
        drawn = resampling.resampled_counts(questions, size, resamples, seed)
        self.pairings = first, second, observed[0]
        self.unsolved = 0
        wins, resampled = (
            win_matrix(first, second, each.astype(np.float64), models)
            for each in (observed, drawn.reshape(resamples, -1, _OUTCOMES))
        )
        met = [games.questions * models + each for each in (games.first, games.second)]
        self.questions = np.bincount(np.unique(np.concatenate(met)) % models, minlength=models)
        self.win_rates = _win_rates(wins)[0], _win_rates(resampled)
        self.by_name: dict[str, tuple[Floats, Floats] | None] = {
            "win_rate": self.win_rates,
            "strength": self._strengths(wins[0], resampled) if with_strengths else None,
            "soft_win_rate": self._soft(models),
        }

    def _strengths(self, wins: Floats, resampled: Floats) -> tuple[Floats, Floats]:
        value = bradley_terry(wins, self._games.models)
        found = resampled_strengths(resampled, value)
        self.unsolved = int(np.isnan(found).any(axis=1).sum())
        return value, found

    def _soft(self, models: int) -> tuple[Floats, Floats] | None:
        games = self._games
        known = ~np.isnan(games.preferences)
        if not known.any():
            return None
        won = np.where(known, games.preferences, 0.0)
        lost = np.where(known, 1 - games.preferences, 0.0)
        played = known.astype(np.float64)
        sums = [sums_by_model(games, won, lost), sums_by_model(games, played, played)]
        values = np.concatenate(sums, axis=1)
        drawn = resampling.resampled_values(values, self._resamples, self._seed)
        observed = values.sum(axis=0)[None]
        rates = [_ratios(each[:, :models], each[:, models:]) for each in (observed, drawn)]
        return rates[0][0], rates[1]


def _win_rates(wins: Floats) -> Floats:
    won, lost = wins.sum(axis=-1), wins.sum(axis=-2)
    return _ratios(won, won + lost)


def _ratios(above: Floats, below: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below, dtype=np.float64)


def _bounds_of_score(
    name: str, score: tuple[Floats, Floats] | None, questions: Indices, level: float
) -> tuple[Floats, Floats, Floats]:
    """Returns values and their bounds, NaN where they are unknown."""
    if score is None:
        none = np.full(len(questions), np.nan)
        return none, none, none
    values, resampled = score
    if name != "strength":
        return values, *resampling.share_bounds(values, resampled, level, questions)
    return values, *strength_bounds(values, resampled, level, questions)


def strength_bounds(
    values: Floats, resampled: Floats, level: float, questions: Indices
) -> tuple[Floats, Floats]:
    """Returns bounds of log-odds (`resampling.bootstrap_bounds`), NaN for those about few questions."""
    low, high = resampling.bootstrap_bounds(values, resampled, level, questions)
    few = questions < resampling.fewest_questions(level)
    low[few] = high[few] = np.nan
    return low, high


def _head_to_head(games: "Games", pairings: tuple[Indices, Indices, Indices]) -> "pl.DataFrame":
    rows = []
    for i, j, (wins, losses, ties) in zip(*(each.tolist() for each in pairings), strict=True):
        total = wins + losses + ties
        rows.append((games.models[i], games.models[j], total, wins, ties, losses))
        rows.append((games.models[j], games.models[i], total, losses, ties, wins))
    names = ("games", "wins", "ties", "losses")
    schema = {"model": pl.String, "opponent": pl.String, **dict.fromkeys(names, pl.Int64)}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("model", "opponent")


def _ranking_notes(
    games: "Games", scores: _Scores, questions: int, resamples: int, level: float
) -> list[str]:
    notes = []
    if games.left_out:
        notes.append(f"left out {counted(games.left_out, 'pair')} without a decision")
    if games.alone:
        notes.append(f"left out {counted(games.alone, 'pair')} of a model with itself")
    if questions == 1:
        notes.append(
            "a single question: intervals and rank ranges say nothing about other questions"
        )
    fewest = resampling.fewest_questions(level)
    few = int((scores.questions < fewest).sum())
    if few:
        notes.append(
            f"{few} of {counted(len(games.models), 'model')} with too few pairs to be told apart from "
            f"others: that takes {fewest} questions each at {100 * level:g} %"
        )
    if scores.unsolved:
        notes.append(
            f"{scores.unsolved} of {resamples} resamples have no Bradley–Terry solution and are left out of "
            "its intervals: models are connected by few games"
        )
    return notes


# Games


@dataclass(frozen=True)
class Games:
    """Games of `models[first]` against `models[second]`, with first < second; arrays of shape (games,).

    `outcomes`: 0 the first one won, 1 the second one, 2 a tie. `preferences`: normalised mean probability
    that the first one wins, plus half that of a tie; NaN without probabilities. `questions`: codes of
    questions. `left_out`: pairs without a decision; `alone`: pairs of a model with itself.
    """

    models: tuple[str, ...]
    first: Indices
    second: Indices
    outcomes: Codes
    preferences: Floats
    questions: Indices
    left_out: int
    alone: int


def games_of(decisions: "pl.DataFrame", rule: Rule) -> Games:
    """Returns the games of a frame of decisions; models in alphabetical order.

    Pairs of a model with itself are no games. Raises `InputError` for missing columns, unknown letters, and
    no decided pair.
    """
    columns.needed_columns(decisions, ("question_id", "model_a", "model_b", rule), "decisions")
    pairs = two_models(decisions)
    outcomes = columns.column_codes(pairs[rule])
    kept = outcomes != NONE
    played = pairs.filter(pl.Series(kept, dtype=pl.Boolean))
    if played.is_empty():
        raise InputError(f"no pair has a decision by {rule}: nothing to rank")
    models, first, second = model_codes(played)
    turned, preferences = first > second, _preferences(played)
    return Games(
        models=models,
        first=np.minimum(first, second),
        second=np.maximum(first, second),
        outcomes=np.where(
            turned, columns.column_codes(played[rule].replace({"A": "B", "B": "A"})), outcomes[kept]
        ),
        preferences=np.where(turned, 1 - preferences, preferences),
        questions=columns.question_codes(played["question_id"]),
        left_out=int(np.count_nonzero(~kept)),
        alone=len(decisions) - len(pairs),
    )


def two_models(decisions: "pl.DataFrame") -> "pl.DataFrame":
    """Returns the pairs of two different models."""
    return decisions.filter(pl.col("model_a").ne_missing(pl.col("model_b")))


def model_codes(pairs: "pl.DataFrame") -> tuple[tuple[str, ...], Indices, Indices]:
    """Returns the models in alphabetical order, and the codes of each pair's a and b.

    Raises `InputError` for a pair without models.
    """
    a, b = (pairs[name].cast(pl.String) for name in ("model_a", "model_b"))
    if a.null_count() or b.null_count():
        raise InputError("a pair without models: ranking needs model_a and model_b")
    models = pl.concat([a, b]).unique().sort()
    first, second = (
        each.cast(pl.Enum(models)).to_physical().cast(pl.Int64).to_numpy() for each in (a, b)
    )
    return tuple(models.to_list()), first, second


def win_matrix(first: Indices, second: Indices, counts: Floats, models: int) -> Floats:
    """Returns wins of each model against each other, a tie as half a win for both.

    `first`, `second`: models of each pairing. `counts`: wins of the first, of the second, and ties of each
    pairing: shape (…, pairings, 3). Returns shape (…, models, models), winners first.
    """
    wins = np.zeros((*counts.shape[:-2], models, models))
    wins[..., first, second] = counts[..., 0] + counts[..., _TIE] / 2
    wins[..., second, first] = counts[..., 1] + counts[..., _TIE] / 2
    return wins


def sums_by_model(games: Games, of_first: Floats, of_second: Floats) -> Floats:
    """Returns sums of values over each question's games of each model: shape (questions, models).

    `of_first`, `of_second`: those of the first and of the second model of each game.
    """
    questions, models = int(games.questions.max()) + 1, len(games.models)
    size = questions * models
    sums = np.bincount(games.questions * models + games.first, of_first, size)
    sums += np.bincount(games.questions * models + games.second, of_second, size)
    return np.asarray(sums, dtype=np.float64).reshape(questions, models)


def _preferences(played: "pl.DataFrame") -> Floats:
    if not {"p_a", "p_b", "p_c"} <= {*played.columns}:
        return np.full(len(played), np.nan)
    a, b, c = (
        played[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for name in ("p_a", "p_b", "p_c")
    )
    total: NDArray[Any] = a + b + c
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, (a + c / 2) / total, np.nan)


# Strengths by Bradley–Terry


_TOLERANCE = 1e-9
_LIMIT = 10_000  # iterations; a few dozen are the rule
_NEWTON_STEPS = 50
_LONGEST_STEP = 2.0  # of a log-strength: beyond, Newton's method may not converge
_CONVERGED = 1e-9
_SMALL = 1e-12  # keeps matrices regular where strengths are far apart; the solution is the same
_AT_ONCE = 1 << 22  # numbers in a block of matrices
_SHOWN = 3  # names of a group in an error


def bradley_terry(wins: Floats, models: Sequence[str]) -> Floats:
    """Returns log-strengths of models, with mean 0: model i beats j with probability 1/(1 + e^(s_j - s_i)).

    `wins`: wins of each model (rows) against each other (columns), ties as half a win each way. Computed by
    evalica (extra `judge`). A solution exists if every model can be reached from every other one along wins
    or ties. Raises `InputError`, which names models, if it does not exist, and if it is not found.

    Sources: R. A. Bradley & M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39 (1952);
    M. E. J. Newman, "Efficient computation of rankings from pairwise comparisons", JMLR 24 (2023).
    """
    check_linked(wins, models)
    try:
        import evalica
    except ImportError as error:
        raise extras.missing("evalica", "judge", error, PfgenError) from error
    winners, losers = np.nonzero(wins)
    result = evalica.bradley_terry(
        winners.tolist(),
        losers.tolist(),
        [evalica.Winner.X] * len(winners),
        weights=wins[winners, losers].tolist(),
        tolerance=_TOLERANCE,
        limit=_LIMIT,
    )
    logs = np.empty(len(wins))
    logs[np.asarray(result.scores.index, dtype=np.int64)] = np.log(result.scores.to_numpy())
    if result.iterations >= _LIMIT or not np.isfinite(logs).all():
        raise InputError(
            f"Bradley–Terry did not converge in {_LIMIT} iterations: win rates do not need it"
        )
    return np.asarray(logs - logs.mean())


def resampled_strengths(wins: Floats, start: Floats) -> Floats:
    """Returns log-strengths of each resample: shape (resamples, models), NaN where there is no solution.

    `wins`: shape (resamples, models, models). `start`: strengths of the data. They solve the same equations
    as `bradley_terry`, by Newton's method for all resamples at once.
    """
    found = np.full(wins.shape[:2], np.nan)
    expected = wins.sum(axis=0) > 0
    sound = np.array(
        [(each > 0)[expected].all() or len(_linked_groups(each, "strong")) == 1 for each in wins],
        dtype=bool,
    )
    rows = max(1, _AT_ONCE // len(start) ** 2)
    places = np.flatnonzero(sound)
    for first in range(0, len(places), rows):
        part = places[first : first + rows]
        found[part] = _newton_strengths(wins[part], start)
    return found


def _newton_strengths(wins: Floats, start: Floats) -> Floats:
    """Returns log-strengths with mean 0, NaN where Newton's method does not converge."""
    games = wins + wins.swapaxes(-1, -2)
    won, logs = wins.sum(axis=-1), np.tile(start, (len(wins), 1))
    open_, diagonal = np.arange(len(wins)), np.arange(len(start))
    for _ in range(_NEWTON_STEPS):
        now = logs[open_]
        beats = 1 / (1 + np.exp(now[:, None, :] - now[:, :, None]))
        gradient = won[open_] - (games[open_] * beats).sum(axis=-1)
        weights = games[open_] * beats * (1 - beats)
        # Strengths are known up to a constant, whose direction is made regular.
        information = 1.0 - weights
        information[:, diagonal, diagonal] += weights.sum(axis=-1) + _SMALL
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        largest = np.abs(step).max(axis=-1)
        damping = _LONGEST_STEP / np.maximum(largest, _LONGEST_STEP)
        logs[open_] = now + step * damping[:, None]
        open_ = open_[largest > _CONVERGED]
        if not len(open_):
            break
    logs[open_] = np.nan
    return np.asarray(logs - logs.mean(axis=-1, keepdims=True))


def check_linked(wins: Floats, models: Sequence[str]) -> None:
    """Raise `InputError` unless wins or ties connect all models in both directions."""
    groups = _linked_groups(wins, "weak")
    if len(groups) > 1:
        apart = " | ".join(_names_of_group(group, models) for group in groups)
        raise InputError(
            f"models are not connected by games, so they cannot be ranked together: {apart}"
        )
    groups = _linked_groups(wins, "strong")
    for group in groups if len(groups) > 1 else ():
        outside = np.setdiff1d(np.arange(len(wins)), group)
        always, never = wins[outside][:, group].sum(), wins[group][:, outside].sum()
        if not always or not never:
            did = "never lost or tied" if not always else "never won or tied"
            raise InputError(
                f"Bradley–Terry has no solution: {_names_of_group(group, models)} {did} against "
                f"{_names_of_group(outside.tolist(), models)}: leave models out, or use win rates"
            )


def _linked_groups(wins: Floats, connection: str) -> list[list[int]]:
    try:
        from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]
    except ImportError as error:
        raise extras.missing("scipy", "judge", error, PfgenError) from error
    number, labels = connected_components(wins > 0, directed=True, connection=connection)
    return [np.flatnonzero(labels == group).tolist() for group in range(number)]


def _names_of_group(group: Sequence[int], models: Sequence[str]) -> str:
    shown = ", ".join(repr(models[i]) for i in group[:_SHOWN])
    return f"{shown} and {len(group) - _SHOWN} more" if len(group) > _SHOWN else shown
