"""Item analysis against other packages and plain Python, and on data of which the truth is known."""

import math
import statistics
from itertools import combinations
from typing import Any

import numpy as np
import pingouin  # type: ignore[import-untyped]
import polars as pl
import pytest
import statsmodels.api as sm  # type: ignore[import-untyped]
import statsmodels.formula.api as smf  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy import stats as scipy_stats  # type: ignore[import-untyped]
from sklearn.decomposition import FactorAnalysis  # type: ignore[import-untyped]

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.stats import items, subsets

Scores = NDArray[np.float64]


def made(models: int = 40, questions: int = 12, seed: int = 0, noise: float = 0.1) -> Scores:
    """Scores of the congeneric model: slopes from 0.1 to 0.3."""
    random = np.random.default_rng(seed)
    ability, slopes = random.normal(size=(models, 1)), np.linspace(0.1, 0.3, questions)
    errors = random.normal(scale=noise, size=(models, questions))
    return np.asarray(np.linspace(0.3, 0.7, questions) + ability * slopes + errors)


def analysed(scores: Scores, **options: Any) -> dict[str, Any]:
    models, questions = scores.shape
    ids = [f"Q{i}" for i in range(questions)]
    return items.item_analysis(scores, ids, [f"m{i}" for i in range(models)], **options)


def column(found: dict[str, Any], name: str) -> list[Any]:
    return [item[name] for item in found["items"]]


def alpha_of(scores: Scores) -> float:
    """Cronbach's α as it is written, in plain Python."""
    columns, k = scores.T.tolist(), scores.shape[1]
    whole = statistics.variance([sum(row) for row in scores.tolist()])
    own = sum(statistics.variance(values) for values in columns)
    return float(k / (k - 1) * (1 - own / whole))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_figures_of_questions_equal_those_of_others(seed: int) -> None:
    scores = made(seed=seed).round(2)  # with ties
    found = analysed(scores, splits=10)
    for place, item in enumerate(found["items"]):
        own, others = scores[:, place], np.delete(scores, place, axis=1)
        wanted = scipy_stats.pearsonr(own, others.sum(axis=1))
        bounds = wanted.confidence_interval()
        changes = (others.mean(axis=1) - scores.mean(axis=1)).tolist()
        assert item == {
            "id": f"Q{place}",
            "difficulty": pytest.approx(statistics.fmean(own), abs=1e-6),
            "spread": pytest.approx(statistics.stdev(own), abs=1e-6),
            "discrimination": pytest.approx(wanted.statistic, abs=1e-6),
            "discrimination_low": pytest.approx(bounds.low, abs=1e-6),
            "discrimination_high": pytest.approx(bounds.high, abs=1e-6),
            "alpha_without": pytest.approx(alpha_of(others), abs=1e-6),
            "tau_without": pytest.approx(
                scipy_stats.kendalltau(
                    others.mean(axis=1).round(9), scores.mean(axis=1).round(9)
                ).statistic,
                abs=1e-6,
            ),
            "change": pytest.approx(max(changes, key=abs), abs=1e-6),
            "slope": item["slope"],
            "loading": item["loading"],
            "misjudged": item["misjudged"],
        }


def test_the_model_is_scikit_learns_and_finds_the_slopes_again() -> None:
    scores = made(models=3000)
    found = items.two_parameters(scores)
    other = FactorAnalysis(1, tol=1e-10, max_iter=10_000, svd_method="lapack").fit(
        (scores - scores.mean(axis=0)) / scores.std(axis=0)
    )
    assert found["loading"] == pytest.approx(np.abs(other.components_[0]), abs=2e-4)
    assert found["slope"] == pytest.approx(np.linspace(0.1, 0.3, 12), abs=0.015)
    total = np.linspace(0.1, 0.3, 12).sum() ** 2
    assert found["omega"] == pytest.approx(total / (total + 12 * 0.01), abs=0.005)


def test_the_model_of_few_questions_is_fitted_or_has_no_proper_fit() -> None:
    """Now and then the likelihood grows until a question has no error; there is nothing then."""
    fits = [items.two_parameters(made(models=14, questions=6, seed=seed)) for seed in range(60)]
    assert sum(not fit for fit in fits) < 12
    for fit in filter(None, fits):
        assert (np.abs(fit["loading"]) < 1).all()
        assert 0.5 < fit["omega"] < 1


def test_reliability_and_variances_equal_those_of_others() -> None:
    scores = made(models=30, questions=9)
    found = analysed(scores, noise=[0.002, *[0.004] * 28, math.nan], splits=10)
    whole = found["whole"]
    alpha, n, k = alpha_of(scores), *scores.shape
    freedom = n - 1, (n - 1) * (k - 1)
    bounds = [1 - (1 - alpha) * scipy_stats.f.ppf(p, *freedom) for p in (0.975, 0.025)]
    assert [whole["alpha"], whole["alpha_low"], whole["alpha_high"]] == pytest.approx(
        [alpha, *bounds], abs=1e-6
    )
    assert whole["alpha"] == pytest.approx(
        pingouin.cronbach_alpha(pl.DataFrame(scores).to_pandas())[0], abs=1e-6
    )
    halves = []
    for left in range(k):  # every half, of the questions but one
        rest = [q for q in range(k) if q != left]
        for one in combinations(rest, 4):
            other = [q for q in rest if q not in one]
            r = np.corrcoef(scores[:, one].sum(axis=1), scores[:, other].sum(axis=1))[0, 1]
            halves.append(2 * r / (1 + r))
    assert whole["split_half"] == pytest.approx(statistics.fmean(halves), abs=0.002)
    assert whole["split_half_low"] == pytest.approx(np.quantile(halves, 0.025), abs=0.005)

    rows = [(f"m{m}", f"q{q}", scores[m, q]) for m in range(n) for q in range(k)]
    table = pl.DataFrame(rows, schema=["m", "q", "y"], orient="row").to_pandas()
    squares = sm.stats.anova_lm(smf.ols("y ~ C(m) + C(q)", table).fit())
    by_model, by_question, rest_square = squares["sum_sq"] / squares["df"]
    trials = (0.002 + 28 * 0.004) / 29
    wanted = {
        "model": (by_model - rest_square) / k,
        "question": (by_question - rest_square) / n,
        "interaction": rest_square - trials,
        "trials": trials,
    }
    assert found["components"] == pytest.approx(wanted, abs=1e-6)
    errors = {row["questions"]: row for row in found["errors"]}
    assert list(errors) == [5, 9, 10, 20, 50, 100, 200]
    assert errors[9]["reliability"] == whole["alpha"]
    assert errors[50]["relative"] == pytest.approx(math.sqrt(rest_square / 50), abs=1e-6)
    absolute = math.sqrt((rest_square + wanted["question"]) / 50)
    assert errors[50]["absolute"] == pytest.approx(absolute, abs=1e-6)
    assert errors[50]["trials"] == pytest.approx(math.sqrt(trials / 50), abs=1e-6)


def test_a_question_of_noise_is_the_worst() -> None:
    scores = made()
    scores[:, 4] = np.random.default_rng(9).uniform(size=40)
    found = analysed(scores, splits=20)
    for name, pick in (("discrimination", min), ("loading", min), ("alpha_without", max)):
        values = column(found, name)
        assert values.index(pick(values)) == 4, name
    assert "Q4" not in found["subset"]["order"][:4]


def test_a_duplicate_adds_nothing_to_a_subset() -> None:
    scores = made(questions=6, noise=0.3)
    doubled = np.concatenate([scores, scores[:, 5:]], axis=1)
    found = analysed(doubled, splits=10)
    assert column(found, "discrimination")[5:] == [column(found, "discrimination")[5]] * 2
    order = found["subset"]["order"]
    assert order.index("Q5") < order.index("Q6") - 1  # equal ones: the first, and the other later


def test_constant_questions_are_undefined_and_chosen_last() -> None:
    scores = made()
    scores[:, [2, 3]] = 0.5, 1.0
    found = analysed(scores, splits=10)
    for place in (2, 3):
        item = found["items"][place]
        assert (item["discrimination"], item["discrimination_low"], item["loading"]) == (None,) * 3
        assert (item["slope"], item["spread"], item["tau_without"]) == (0.0, 0.0, 1.0)
    assert found["subset"]["order"][-2:] == ["Q2", "Q3"]
    assert found["whole"]["omega"] > 0.9


@pytest.mark.filterwarnings("error")
def test_questions_that_are_all_the_same() -> None:
    found = analysed(np.tile(np.arange(10.0)[:, None] / 10, (1, 4)), splits=10)
    assert found["whole"]["alpha"] == found["whole"]["split_half"] == 1.0
    assert column(found, "discrimination") == [1.0] * 4
    assert [judged[0]["z"] for judged in column(found, "misjudged")] == pytest.approx([0.0] * 4)
    assert found["subset"]["enough"] == 1


def test_misjudged_models_are_found_and_measured() -> None:
    scores = made(noise=0.001, questions=8)
    scores = np.repeat(scores.mean(axis=1, keepdims=True), 8, axis=1) + np.linspace(0, 0.2, 8)
    scores[7, 3] += 0.4
    found = analysed(scores, splits=10)
    first = found["items"][3]["misjudged"][0]
    residual = 0.4 * (1 - 1 / 40) * (1 - 1 / 8)
    # One cell makes all residuals, so its own share of their squares is what the effects leave of it.
    z = math.sqrt(40 * 8 * (1 - 1 / 40) * (1 - 1 / 8))
    assert first == {
        "model": "m7",
        "residual": pytest.approx(residual, abs=1e-6),
        "z": pytest.approx(z, abs=1e-4),
    }


def test_subsets_are_tested_on_models_that_did_not_choose_them() -> None:
    """Two halves of models, each of which fails all questions of the other."""
    scores = made(models=40, questions=12)
    scores[:20, 6:] = scores[20:, :6] = 0.0
    alone = analysed(scores, families=["a"] * 20 + ["b"] * 20, splits=10)["subset"]
    mixed = analysed(scores, splits=10)["subset"]
    assert alone["splits"] == 10
    assert alone["curve"][5]["tau_high"] == 0.0
    assert mixed["curve"][5]["tau"] > 0.5
    assert alone["curve"][-1]["tau_low"] == 1.0
    assert analysed(scores, families=["a"] * 40, splits=10)["subset"]["curve"] == []


def test_chosen_subsets_beat_random_ones_where_questions_differ() -> None:
    random = np.random.default_rng(5)
    ability = random.normal(size=(60, 1))
    spoiled = np.where(np.arange(30) < 10, 0.3, 3.0)
    scores = ability + random.normal(size=(60, 30)) * spoiled
    curve = analysed(scores, splits=40)["subset"]["curve"]
    assert [row["questions"] for row in curve[8:]] == [9, 10, 15, 20, 25, 30]
    assert all(row["tau"] > row["random"] + 0.1 for row in curve[:4])
    again = analysed(scores, splits=40)["subset"]["curve"]
    assert again == curve
    assert analysed(scores, splits=40, seed=1)["subset"]["curve"] != curve


@pytest.mark.parametrize("seed", range(5))
def test_kendalls_tau_is_scipys(seed: int) -> None:
    random = np.random.default_rng(seed)
    columns, whole = random.integers(0, 6, (25, 4)) / 10, random.integers(0, 9, 25) / 10
    wanted = [scipy_stats.kendalltau(column, whole).statistic for column in columns.T]
    assert subsets.kendall(columns, whole) == pytest.approx(wanted, abs=1e-12)
    assert np.isnan(subsets.kendall(columns * 0, whole)).all()
    assert subsets.kendall(whole[:, None] + 1e-12 * columns[:, :1], whole).tolist() == [1.0]


def test_without_the_extra_all_else_is_the_same() -> None:
    scores = made()
    with_model, found = analysed(scores, splits=10), analysed(scores, splits=10, fitted=False)
    assert column(found, "loading") == column(found, "slope") == [None] * 12
    assert found["whole"]["omega"] is found["whole"]["alpha_low"] is None
    assert found["subset"] == with_model["subset"]
    assert found["whole"]["alpha"] == with_model["whole"]["alpha"]


GAP = made()
GAP[3, 4] = math.nan


@pytest.mark.parametrize(
    ("scores", "options", "kind", "said"),
    [
        (
            made(models=9),
            {},
            InputError,
            "9 models answer the same 12 questions: expected at least 10",
        ),
        (made(questions=2), {}, InputError, "expected at least 10 models and 3 questions"),
        (GAP, {}, InputError, r"means\[3, 4\] is nan"),
        (np.full((12, 4), 0.5), {}, InputError, "all models have the same score"),
        (made(), {"splits": 3}, SettingsError, "number of splits 3: expected at least 10"),
        (made(), {"agreement": 1.5}, SettingsError, "agreement 1.5"),
        (made(), {"level": 2}, SettingsError, "level 2"),
        (made(), {"seed": -1}, SettingsError, "seed -1"),
    ],
)
def test_errors(scores: Scores, options: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        analysed(scores, **options)
    with pytest.raises(InputError, match="means has shape"):
        items.item_analysis(made(), ["Q1"], ["m"])
