"""Bradley–Terry with covariates: an independent fit, planted effects, and what has no coefficient."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]

from helpers import pfgen
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.judge import Pair, rank, sample_path
from pfgen_rs.judge.agreement.style import Controlled, pair_styles, rank_controlled
from pfgen_rs.judge.verdict_folder import VerdictFolder
from pfgen_rs.stats.resampling import fewest_questions

LENGTH, ORDER = 0.6, 0.4  # planted: log-odds per unit


def pair(name: object, a: str, b: str, models: tuple[str, str] = ("a", "b")) -> Pair:
    return Pair(str(name), "?", models, (a, b))


MARKDOWN = """# 見出し

- 一
* 二
  1. 三
・四
**太字** と __太字__ と 2 * 3 * 4
```python
# no heading
- no item **no bold**
```
#タグ
~~~
never closed
"""


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("あ" * 30, "い" * 10, (0.5, 0.0, 0.0, 0.0, 0.0)),
        ("", "", (0.0, 0.0, 0.0, 0.0, 0.0)),
        (MARKDOWN, "", (1.0, 1.0, 1.0, 1.0, 1.0)),
        ("", "x", (-1.0, 0.0, 0.0, 0.0, 0.0)),
        (MARKDOWN, MARKDOWN, (0.0, 0.0, 0.0, 0.0, 0.0)),
        # One heading of two, two items of six, one bold span of three, one block of three.
        (
            "## a\n- x\n+ y\n**b**\n```\n```\n" + " " * (len(MARKDOWN) - 27),
            MARKDOWN,
            (0.0, 0.0, -1 / 3, -1 / 3, -1 / 3),
        ),
    ],
)
def test_styles_of_answers(a: str, b: str, expected: tuple[float, ...]) -> None:
    found = pair_styles([pair("1", a, b)])
    names = ("length", "headings", "list items", "bold", "code blocks")
    row = found.row(0, named=True)
    assert [row[name] for name in names] == pytest.approx(expected, abs=0.02)
    turned = pair_styles([pair("1", b, a)]).row(0, named=True)
    assert [turned[name] for name in names] == pytest.approx([-row[name] for name in names])


def world(
    random: np.random.Generator, pairs: int, models: int, a_question: int = 2
) -> tuple[NDArray[np.float64], pl.DataFrame, list[Pair]]:
    """Strengths, decisions by a judge that likes length and what is shown first, and the pairs."""
    strengths = np.linspace(0.8, -0.8, models)
    a = random.integers(0, models, pairs)
    b = (a + random.integers(1, models, pairs)) % models
    wordy = np.linspace(1.3, 0.7, models)
    sizes = [
        (100 * wordy[side] * random.lognormal(0, 0.5, pairs)).astype(int) + 5 for side in (a, b)
    ]
    difference = (sizes[0] - sizes[1]) / (sizes[0] + sizes[1])
    odds = strengths[a] - strengths[b] + LENGTH * difference / np.sqrt((difference**2).mean())
    frame: dict[str, Any] = {
        "pair": [str(i) for i in range(pairs)],
        "question_id": np.arange(pairs) // a_question,
        "model_a": [f"m{i:02}" for i in a],
        "model_b": [f"m{i:02}" for i in b],
    }
    for name, order in (("v1", ORDER), ("v2", -ORDER)):
        wins = 1 / (1 + np.exp(-odds - order))
        frame[name] = np.where(random.random(pairs) < wins, "A", "B")
    frame["tie"] = np.where(frame["v1"] == frame["v2"], frame["v1"], "C")
    texts = [
        pair(i, "x" * n, "x" * m, (frame["model_a"][i], frame["model_b"][i]))
        for i, (n, m) in enumerate(zip(*sizes, strict=True))
    ]
    return strengths, pl.DataFrame(frame), texts


def coefficients(found: Controlled) -> dict[str, dict[str, Any]]:
    return {row["covariate"]: row for row in found.coefficients.iter_rows(named=True)}


def likelihood(games: Sequence[tuple[int, int, float, float]], x: NDArray[np.float64]) -> Any:
    """The negative log-likelihood of strengths (the last one 0) and coefficients, a game at a time."""
    models = 1 + max(max(first, second) for first, second, *_ in games)

    def loss(values: NDArray[np.float64]) -> float:
        s, total = [*values[: models - 1], 0.0], 0.0
        for (first, second, outcome, weight), row in zip(games, x, strict=True):
            odds = s[first] - s[second] + float(row @ values[models - 1 :])
            total += weight * (np.log1p(np.exp(odds)) - outcome * odds)
        return total

    return minimize(loss, np.zeros(models - 1 + x.shape[1]), tol=1e-12).x


def test_fits_are_those_of_a_general_optimiser() -> None:
    _, decisions, texts = world(np.random.default_rng(3), 60, 3)
    letter = pl.when(pl.col("pair").is_in(["3", "5", "8"])).then(pl.lit("C"))
    missing = letter.when(pl.col("pair") == "7").then(None).otherwise("v2")
    decisions = decisions.with_columns(v1=letter.otherwise("v1"), v2=missing)
    found = rank_controlled(decisions, texts, ("length", "order"), resamples=100)
    games, rows = [], []
    styles = dict(pair_styles(texts).select("pair", "length").iter_rows())
    for row in decisions.iter_rows(named=True):
        for name, order in (("v1", 1.0), ("v2", -1.0)):
            if row[name] is not None:
                outcome = {"A": 1.0, "B": 0.0, "C": 0.5}[row[name]]
                games.append((int(row["model_a"][1:]), int(row["model_b"][1:]), outcome, 0.5))
                rows.append((styles[row["pair"]], order))
    assert found.judgments == len(games) == 119
    x = np.array(rows)
    unit = np.sqrt((x[:, 0] ** 2).mean())
    expected = likelihood(games, x / [unit, 1])
    strengths = np.append(expected[:2], 0) - expected[:2].sum() / 3
    assert found.models.sort("model")["strength"].to_list() == pytest.approx(strengths, abs=1e-4)
    named = coefficients(found)
    assert named["length"]["unit"] == pytest.approx(unit)
    assert [named[n]["coefficient"] for n in ("length", "order")] == pytest.approx(
        expected[2:], abs=1e-4
    )


def test_which_answer_is_a_does_not_matter() -> None:
    _, decisions, texts = world(np.random.default_rng(4), 200, 4)
    swap = {"A": "B", "B": "A"}
    turned = decisions.select(
        "pair", "question_id", model_a="model_b", model_b="model_a",
        v1=pl.col("v2").replace(swap), v2=pl.col("v1").replace(swap),
    )  # fmt: skip
    others = [Pair(p.id, "?", p.models[::-1], p.answers[::-1]) for p in texts]
    one = rank_controlled(decisions, texts, ("length", "order"))
    other = rank_controlled(turned, others, ("length", "order"))
    for table in ("models", "coefficients"):
        for mine, theirs in zip(getattr(one, table), getattr(other, table), strict=True):
            assert mine.to_list() == pytest.approx(theirs.to_list(), abs=1e-9)


def test_without_order_pairs_are_decided_by_a_rule() -> None:
    _, decisions, texts = world(np.random.default_rng(5), 200, 3)
    found = rank_controlled(decisions, texts, ["length"], rule="tie")
    assert found.judgments == 200
    assert list(coefficients(found)) == ["length"]


@pytest.mark.parametrize("pairs", [120, 1000])
def test_planted_effects_are_recovered_and_intervals_hold(pairs: int) -> None:
    """A longer model's plain strength is too high; the controlled one is right."""
    random, repeats = np.random.default_rng(pairs), 200
    held, found, plain = [], [], []
    for _ in range(repeats):
        strengths, decisions, texts = world(random, pairs, 3)
        each = rank_controlled(decisions, texts, ("length", "order"), resamples=300)
        named = coefficients(each)
        rows = [(named["length"], "coefficient", LENGTH), (named["order"], "coefficient", ORDER)]
        models = each.models.sort("model").iter_rows(named=True)
        rows += [(row, "strength", s) for row, s in zip(models, strengths, strict=True)]
        held.append([row[f"{n}_low"] <= true <= row[f"{n}_high"] for row, n, true in rows])
        found.append([row[name] - true for row, name, true in rows])
        usual = rank(decisions, rule="tie", resamples=100).models.sort("model")["strength"]
        plain.append(usual[0] - usual[2] - strengths[0] + strengths[2])
    assert (np.mean(held, axis=0) >= 0.915).all()  # 200 of each, with a standard error of 0.015
    assert np.mean(held) >= 0.94
    errors = np.std(found, axis=0) / repeats**0.5
    assert (abs(np.mean(found, axis=0)) < 4 * errors + 0.04 * (pairs == 120)).all()
    assert np.mean(plain) > 0.2


@pytest.mark.parametrize("pairs", [12, 30])
def test_two_equal_models_are_seldom_told_apart(pairs: int) -> None:
    """In at most 7 % of cases, however few pairs there are; some of these fits have no solution."""
    random, repeats, wrong = np.random.default_rng(pairs), 200, 0
    for seed in range(repeats):
        sizes = random.integers(20, 400, (pairs, 2))
        odds = LENGTH * 2.5 * (sizes[:, 0] - sizes[:, 1]) / sizes.sum(axis=1)
        first = random.random(pairs) < 0.5
        frame: dict[str, Any] = {
            "pair": [str(i) for i in range(pairs)],
            "question_id": range(pairs),
            "model_a": np.where(first, "a", "b"),
            "model_b": np.where(first, "b", "a"),
            "tie": np.where(random.random(pairs) < 1 / (1 + np.exp(-odds)), "A", "B"),
        }
        texts = [pair(i, "x" * n, "x" * m) for i, (n, m) in enumerate(sizes.tolist())]
        try:
            found = rank_controlled(
                pl.DataFrame(frame), texts, ["length"], rule="tie", resamples=200, seed=seed
            )
        except InputError:
            continue
        wrong += found.models["worst_rank"][0] == 1
    assert wrong / repeats <= 0.07


def test_a_large_table_is_fast() -> None:
    _, decisions, texts = world(np.random.default_rng(6), 100_000, 20)
    start = time.monotonic()
    found = rank_controlled(decisions, texts)
    assert time.monotonic() - start < 30
    assert coefficients(found)["length"]["coefficient"] == pytest.approx(LENGTH, abs=0.03)


def test_covariates_without_a_coefficient_are_left_out_and_named() -> None:
    _, decisions, texts = world(np.random.default_rng(7), 200, 3)
    bold = {"m00": "**x**", "m01": "**x** **x**", "m02": ""}  # determined by the models
    winners = dict(decisions.select("pair", "v1").iter_rows())

    def styled(each: Pair, side: int) -> str:
        item = "\n- x" if "AB"[side] == winners[each.id] else ""
        return each.answers[side] + bold[each.models[side]] + item + "\n```\n```"

    frame = decisions.with_columns(v2="v1")
    two = frame.filter(pl.col("model_a") != "m02", pl.col("model_b") != "m02")
    changed = [Pair(p.id, "?", p.models, (styled(p, 0), styled(p, 1))) for p in texts]
    found = rank_controlled(two, changed)
    assert list(coefficients(found)) == ["length", "order"]
    assert found.notes == [
        "headings: left out, since no two answers differ in it",
        "bold: left out, since models and other covariates determine it",
        "code blocks: left out, since no two answers differ in it",
        "list items: left out, since the answer with more (nearly) always wins, or always loses",
    ]


def test_models_with_few_questions_have_no_interval() -> None:
    _, decisions, texts = world(np.random.default_rng(8), 200, 3)
    few = fewest_questions(0.95) - 1
    rare = decisions.filter((pl.col("model_a") == "m02") | (pl.col("model_b") == "m02")).head(few)
    often = decisions.filter((pl.col("model_a") != "m02") & (pl.col("model_b") != "m02"))
    found = rank_controlled(pl.concat([often, rare]), texts, ["length", "order"])
    low = dict(found.models.select("model", "strength_low").iter_rows())
    assert (low["m02"], low["m00"] is None) == (None, False)
    assert found.models.filter(model="m02").select("best_rank", "worst_rank").row(0) == (1, 3)
    assert "1 of 3 models have too few questions for an interval" in found.notes
    alone = rank_controlled(decisions.head(2 * few), texts, ["length", "order"])
    assert alone.coefficients["coefficient_low"].null_count() == 2


def test_what_cannot_be_ranked() -> None:
    _, decisions, texts = world(np.random.default_rng(9), 40, 3)
    same = [Pair(p.id, "?", p.models, ("x", "y")) for p in texts]
    none = decisions.with_columns(tie=pl.lit(None, pl.String))
    always = decisions.with_columns(
        tie=pl.when(pl.col("model_a") < pl.col("model_b")).then(pl.lit("A")).otherwise(pl.lit("B"))
    )
    for frame, pairs, names, message in (
        (
            decisions,
            same,
            ["length"],
            "no covariate has a coefficient: length: left out, since no two",
        ),
        (none, texts, ["length"], "no pair has a decision"),
        (decisions.drop("v2"), texts, ["order"], "columns missing in the frame of decisions: v2"),
        (decisions, texts[1:], ["length"], "1 pair with decisions and without texts"),
        (always, texts, ["length"], "never (won|lost) or tied against"),
    ):
        with pytest.raises(InputError, match=message):
            rank_controlled(frame, pairs, names, rule="tie")
    for names, message in ((["size"], "unknown covariate 'size'"), ([], "no covariates: expected")):
        with pytest.raises(SettingsError, match=message):
            rank_controlled(decisions, texts, names)


def test_the_command_shows_what_the_library_computes(tmp_path: Path) -> None:
    folder = VerdictFolder(sample_path() / "verdicts" / "careful")
    expected = rank_controlled(folder.decisions(), folder.pairs(), ("length", "order"))
    words = ("judge", "rank", folder.path, "--covariates", "length,order")
    found = json.loads(pfgen(*words, "--format", "json").stdout)
    assert found["controlled"] == json.loads(json.dumps(expected.to_dict()))
    shown = pfgen(*words).stdout
    assert "Bradley–Terry controlled for length, order" in shown
    assert "shown first: +1" in shown
    done = pfgen("judge", "rank", folder.path, "--covariates", "all")
    assert done.returncode == 0
    assert "headings: left out, since no two answers differ in it" in done.stderr
    done = pfgen("judge", "rank", folder.path, "--covariates", "length,size")
    assert done.returncode == 2
    assert (
        "unknown covariate 'size': expected one or more of length, markdown, order" in done.stderr
    )
