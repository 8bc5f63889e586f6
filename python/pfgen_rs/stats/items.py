"""Item analysis: what each question of a benchmark tells about models, and how reliable the whole is.

Scores are continuous, of models and questions. Models are taken for independent, so each should be there
once. Correlations and reliability depend on how different the models are: among models of like ability both
are lower.
"""

import math
from collections.abc import Sequence
from typing import Any

from pfgen_rs import extras
from pfgen_rs.errors import InputError
from pfgen_rs.lazy import ArrayLike, Floats, np
from pfgen_rs.stats import checks, subsets
from pfgen_rs.stats.correlation import fisher_interval

FEWEST_MODELS, FEWEST_QUESTIONS = 10, 3
HALVES = 1000
"""Number of random halves for the split-half reliability."""
MISJUDGED = 3
"""Number of models named for each question."""
_SIZES = (5, 10, 20, 50, 100, 200)  # numbers of questions to tell the error of a score with
_STEEPEST = (
    1e-4  # slope of the likelihood, of about the size of the questions' number, at its maximum
)
_LEAST_ERROR = 1e-4  # of a question, as a share of its variance
_FLAT = 1e-9  # of a standard deviation: what rounding leaves of a constant


def item_analysis(
    means: ArrayLike,
    ids: Sequence[str],
    models: Sequence[str],
    *,
    noise: ArrayLike = (),
    families: Sequence[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
    fitted: bool = True,
    **subset: Any,
) -> dict[str, Any]:
    """Analyse the questions of a benchmark by the scores of models. Returns JSON types, to six decimals.

    `means`: shape (models, questions), the mean of each model's answers to each question. `noise`: of each
    model, the variance of such a mean from trials, averaged over questions, NaN where unknown. `families`: of
    each model (default: all are unrelated); with them, `level` and `seed` go the options `subset` to
    `subsets.subset_curve`. `fitted`: whether to fit the two-parameter model and to give α an interval, which
    needs the extra `study`; without it they are `None`, as is all that is undefined.

    `models`: names. `items`: a mapping for each question, with its `id`, what `question_figures` and
    `two_parameters` tell, and `misjudged`. `whole`: `reliability`, and ω. `components`, `errors`:
    `variance_components`, and what follows for a score over some questions (`_error_of`). `subset`:
    `subset_curve`, with ids in `order`.

    Time O(questions · models²). Raises `InputError` for fewer than 10 models or 3 questions, for other
    shapes, for missing scores, and where all models have the same score.
    """
    scores = checks.numbers(means, "means", dimensions=2)
    n, k = scores.shape
    if (n, k) != (len(models), len(ids)):
        raise InputError(f"means has shape {n, k}: expected {len(models), len(ids)}")
    if n < FEWEST_MODELS or k < FEWEST_QUESTIONS:
        wanted = f"at least {FEWEST_MODELS} models and {FEWEST_QUESTIONS} questions"
        raise InputError(f"{n} models answer the same {k} questions: expected {wanted}")
    if np.ptp(scores.sum(axis=1)) <= _FLAT:
        raise InputError("all models have the same score: no question can be analysed")
    model = {"slope": [None] * k, "loading": [None] * k, "omega": None}
    model |= two_parameters(scores) if fitted else {}
    omega, judged = model.pop("omega"), _misjudged(scores, models)
    items = {"id": ids, **question_figures(scores, level), **model, "misjudged": judged}
    components = variance_components(scores, np.asarray(noise, dtype=np.float64))
    related = families or [*map(str, range(n))]
    curve = subsets.subset_curve(scores, related, level=level, seed=seed, **subset)
    curve["order"] = [ids[place] for place in curve["order"]]
    found = {
        "models": list(models),
        "level": level,
        "items": [dict(zip(items, row, strict=True)) for row in zip(*items.values(), strict=True)],
        "whole": reliability(scores, level, seed, fitted) | {"omega": omega},
        "components": components,
        "errors": [_error_of(components, size) for size in sorted({*_SIZES, k})],
        "subset": curve,
    }
    plain: dict[str, Any] = _json(found)
    return plain


def _json(value: Any) -> Any:
    """Returns numbers rounded: their last digits depend on the number of threads."""
    if isinstance(value, dict):
        return {key: _json(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_json(each) for each in value]
    if isinstance(value, float):
        return round(float(value), 6) + 0.0 if math.isfinite(value) else None
    return value


def question_figures(scores: Floats, level: float = 0.95) -> dict[str, Any]:
    """Returns of each question how hard it is, how well it tells models apart, and what goes without it.

    `difficulty`: mean over models, high for an easy question. `spread`: standard deviation over models.
    `discrimination`: Pearson's correlation of the question with the sum of all others over models (corrected
    item–total correlation), with Fisher's interval, `discrimination_low` and `_high`; NaN if undefined.
    `alpha_without`: Cronbach's α of the others. `tau_without`: Kendall's τ-b of the models' scores with and
    without the question. `change`: the largest change of a model's score without it, with its sign.
    """
    n, k = scores.shape
    covariance, whole = np.cov(scores, rowvar=False), scores.mean(axis=1)
    own, shared = covariance.diagonal(), covariance.sum(axis=0) - covariance.diagonal()
    rest = covariance.sum() - 2 * shared - own
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.clip(shared / np.sqrt(own * rest), -1, 1)
        alpha = (k - 1) / (k - 2) * (1 - (own.sum() - own) / rest)
    found[(own <= _FLAT**2) | (rest <= _FLAT**2)] = np.nan
    bounds = [fisher_interval(None if math.isnan(r) else r, n, level) for r in found.tolist()]
    without = (k * whole[:, None] - scores) / (k - 1)
    changes = without - whole[:, None]
    return {
        "difficulty": scores.mean(axis=0),
        "spread": np.sqrt(own),
        "discrimination": found,
        "discrimination_low": [low for low, _ in bounds],
        "discrimination_high": [high for _, high in bounds],
        "alpha_without": np.where(rest > _FLAT**2, alpha, np.nan),
        "tau_without": subsets.kendall(without, whole),
        "change": changes[np.abs(changes).argmax(axis=0), np.arange(k)],
    }


def two_parameters(scores: Floats) -> dict[str, Any]:
    """Fit score = difficulty + slope · ability + error to each question, by maximum likelihood.

    This is the congeneric model, a factor analysis with one factor (K. G. Jöreskog, "Statistical analysis of
    sets of congeneric tests", Psychometrika 36 (1971)): what the two-parameter logistic model is to answers
    that are right or wrong, it is to continuous scores, without cutting them in two. Ability has mean 0 and
    variance 1 over models. `slope`: in units of scores; `loading`: the correlation of question and ability.
    `omega`: McDonald's ω, (Σ slope)² over that and the variances of errors. Constant questions have slope 0.
    Nothing where there is no such fit: of questions that are all the same, or where one would have no error
    at all (a Heywood case, of few questions and models).

    To four decimals. Needs scipy (extra `study`).
    """
    optimize = extras.needed("scipy.optimize", "study")
    spread = scores.std(axis=0, ddof=1)
    varied, loading = spread > _FLAT, np.full(len(spread), np.nan)
    if varied.sum() < FEWEST_QUESTIONS:
        return {}
    own = np.atleast_2d(np.corrcoef(scores[:, varied], rowvar=False))
    fit = optimize.minimize(
        _unlikelihood,
        np.full(len(own), math.log(0.5)),
        own,
        jac=True,
        bounds=[(math.log(_LEAST_ERROR), 0.0)] * len(own),
        options={"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-6},
    )
    if fit.x.min() < math.log(2 * _LEAST_ERROR) or np.abs(fit.jac).max() > _STEEPEST:
        return {}
    factor = _factor(fit.x, own)[1]
    loading[varied] = factor * np.copysign(1.0, factor.sum())
    slope = np.where(varied, loading * spread, 0.0)
    common, errors = slope.sum() ** 2, (spread**2 - slope**2)[varied].sum()
    return {
        "slope": slope.round(4),
        "loading": loading.round(4),
        "omega": round(common / (common + errors), 4),
    }


def _factor(log_errors: Floats, own: Floats) -> tuple[float, Floats]:
    """Returns the largest eigenvalue of correlations over errors, and the likeliest loadings."""
    scale = np.exp(log_errors / 2)
    values, vectors = np.linalg.eigh(own / np.outer(scale, scale))
    return float(values[-1]), scale * vectors[:, -1] * math.sqrt(max(values[-1] - 1, 0.0))


def _unlikelihood(log_errors: Floats, own: Floats) -> tuple[float, Floats]:
    """Returns log |C| + tr(C⁻¹ own) for C = diag(errors) + loadings · loadingsᵀ, and its gradient.

    Minimal where the likelihood is greatest. Source: K. G. Jöreskog, "Some contributions to maximum
    likelihood factor analysis", Psychometrika 32 (1967).
    """
    largest, loadings = _factor(log_errors, own)
    errors, common = np.exp(log_errors), max(largest, 1.0)
    value = log_errors.sum() + math.log(common) + (1 / errors).sum() - largest + largest / common
    return value, (loadings**2 + errors - 1) / errors


def _misjudged(scores: Floats, models: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Returns of each question the models that it judges otherwise than the whole, the furthest first.

    `residual`: score minus the effects of model and question. `z`: that over its standard error under the
    additive model, s·√((1 - 1/models)(1 - 1/questions)), with the residual variance s² of all.
    """
    residuals = _residuals(scores)
    spread = max(float(residuals.std()), _FLAT)  # = s times that root
    furthest = np.argsort(-np.abs(residuals).round(9), axis=0, kind="stable")[:MISJUDGED]
    return [
        [{"model": models[m], "residual": own[m], "z": own[m] / spread} for m in places]
        for own, places in zip(residuals.T, furthest.T, strict=True)
    ]


# How reliable the whole is.


def reliability(
    scores: Floats, level: float = 0.95, seed: int = 0, fitted: bool = True
) -> dict[str, Any]:
    """Returns how well the whole tells models apart, 0 to 1, with bounds (`_low`, `_high`).

    `alpha`: Cronbach's α, with the interval of L. S. Feldt ("The approximate sampling distribution of
    Kuder–Richardson reliability coefficient twenty", Psychometrika 30 (1965)), whose quantiles of F need
    scipy; `None` unless `fitted`. `split_half`: 2r/(1 + r) (Spearman, Brown) with the correlation r of two
    halves, mean over 1,000 random ones, and between which that share of them lies, at `level`. Of an odd
    number of questions one is left out each time.
    """
    n, k = scores.shape
    covariance = np.cov(scores, rowvar=False)
    alpha = k / (k - 1) * (1 - covariance.trace() / covariance.sum())
    low, high = None, None
    if fitted:
        quantile = extras.needed("scipy.special", "study").fdtri
        tails = np.array([(1 + level) / 2, (1 - level) / 2])
        low, high = 1 - (1 - alpha) * quantile(n - 1, (n - 1) * (k - 1), tails)
    order = np.tile(np.arange(k), (HALVES, 1))
    order = np.random.default_rng(seed).permuted(order, axis=1) // (k // 2)
    one, other = (order == 0) * 1.0, (order == 1) * 1.0
    shared = (one @ covariance * other).sum(axis=1)
    squares = (one @ covariance * one).sum(axis=1) * (other @ covariance * other).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = shared / np.sqrt(squares)
        halves = subsets.mean_and_bounds("split_half", 2 * r / (1 + r), level)
    return {"alpha": alpha, "alpha_low": low, "alpha_high": high, **halves}


def variance_components(scores: Floats, noise: Floats) -> dict[str, Any]:
    """Returns the variances that make up a score, of models × questions, both random.

    `model`, `question`: of their effects; `interaction`: of what a model does on a question beyond both;
    `trials`: of the means from trials (`None`, and part of the interaction, if no `noise` is known). From
    mean squares, at least 0. Source: R. L. Brennan, *Generalizability Theory* (2001), chapter 3.
    """
    n, k = scores.shape
    residual = float((_residuals(scores) ** 2).sum()) / ((n - 1) * (k - 1))
    known = noise[np.isfinite(noise)]
    trials = min(float(known.mean()), residual) if len(known) else None
    return {
        "model": max(scores.mean(axis=1).var(ddof=1) - residual / k, 0.0),
        "question": max(scores.mean(axis=0).var(ddof=1) - residual / n, 0.0),
        "interaction": residual - (trials or 0.0),
        "trials": trials,
    }


def _error_of(components: dict[str, Any], questions: int) -> dict[str, Any]:
    """Returns the standard errors of a model's score over this many questions of the kind.

    `relative`: for comparing models that answer the same questions; `absolute`: for the score as it stands;
    `trials`: with these very questions, from trials alone. `reliability`: share of the variance between
    models; with as many questions as there are, it is Cronbach's α.
    """
    trials = components["trials"]
    relative = (components["interaction"] + (trials or 0.0)) / questions
    spread = components["model"] + relative
    return {
        "questions": questions,
        "relative": math.sqrt(relative),
        "absolute": math.sqrt(relative + components["question"] / questions),
        "trials": None if trials is None else math.sqrt(trials / questions),
        "reliability": components["model"] / spread if spread else None,
    }


def _residuals(scores: Floats) -> Floats:
    by_model, by_question = scores.mean(axis=1, keepdims=True), scores.mean(axis=0)
    return np.asarray(scores - by_model - by_question + scores.mean())
