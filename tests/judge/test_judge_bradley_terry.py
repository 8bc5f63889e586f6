"""Rankings: equal to plain Python, libraries and refits; errors name the models that are apart."""

import itertools
import json
import math
import sys
from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, PfgenError, SettingsError
from pfgen_rs.judge import rank
from pfgen_rs.judge.agreement import bradley_terry as fits
from pfgen_rs.judge.agreement import intervals

MODELS = ("alpha", "beta", "gamma", "delta", "epsilon")
STRENGTHS = dict(zip(MODELS, (1.0, 0.6, 0.0, -0.4, -1.2), strict=True))
Floats = NDArray[np.float64]


def sample(seed: int = 0, questions: int = 40, *, invalid: float = 0.05) -> pl.DataFrame:
    """Every two models on every question, each pair in either order."""
    random = np.random.default_rng(seed)
    rows = []
    for q in range(questions):
        for pair in itertools.combinations(MODELS, 2):
            a, b = pair if random.random() < 0.5 else pair[::-1]
            odds = STRENGTHS[a] - STRENGTHS[b] + random.normal(0, 0.9)
            win, tie = 1 / (1 + math.exp(-odds)), random.uniform(0.05, 0.3)
            p = (win * (1 - tie) * 0.97, (1 - win) * (1 - tie) * 0.97, tie * 0.97)
            letter = str(random.choice(list("ABC"), p=np.array(p) / 0.97))
            rows.append((f"Q{q}", a, b, None if random.random() < invalid else letter, *p))
    names = ["question_id", "model_a", "model_b", "tie", "p_a", "p_b", "p_c"]
    return pl.DataFrame(rows, schema=names, orient="row")


def simple(*games: tuple[str, str, str]) -> pl.DataFrame:
    """Games of two models and a letter, each on a question of its own."""
    rows = [(str(i), *game) for i, game in enumerate(games)]
    return pl.DataFrame(rows, schema=["question_id", "model_a", "model_b", "first"], orient="row")


def win_counts(frame: pl.DataFrame) -> dict[tuple[str, str], float]:
    """Wins by winner and loser, a tie as half a win for both."""
    wins: dict[tuple[str, str], float] = defaultdict(float)
    for a, b, letter in frame.select("model_a", "model_b", "tie").iter_rows():
        share = {"A": 1.0, "B": 0.0, "C": 0.5}.get(letter)
        if share is not None:
            wins[a, b] += share
            wins[b, a] += 1 - share
    return wins


def minorise_maximise(wins: dict[tuple[str, str], float]) -> dict[str, float]:
    """Bradley–Terry by the algorithm of Zermelo (1929), as log-strengths with mean 0."""
    strength = dict.fromkeys(MODELS, 1.0)
    for _ in range(5000):
        new = {}
        for i in MODELS:
            won = sum(wins[i, j] for j in MODELS)
            played = ((j, wins[i, j] + wins[j, i]) for j in MODELS if j != i)
            new[i] = won / sum(n / (strength[i] + strength[j]) for j, n in played)
        scale = math.exp(sum(map(math.log, new.values())) / len(new))
        strength = {model: value / scale for model, value in new.items()}
    return {model: math.log(value) for model, value in strength.items()}


def test_counts_win_rates_and_strengths_equal_plain_python() -> None:
    frame = sample()
    found = rank(frame, rule="tie")
    wins = win_counts(frame)
    strengths = minorise_maximise(wins)
    counted: Counter[tuple[str, str | None]] = Counter()
    for a, b, letter in frame.select("model_a", "model_b", "tie").iter_rows():
        counted.update({(a, letter): 1, (b, {"A": "B", "B": "A"}.get(letter, letter)): 1})
    for row in found.models.to_dicts():
        name = row["model"]
        assert [row["wins"], row["losses"], row["ties"]] == [counted[name, x] for x in "ABC"]
        assert row["games"] == row["wins"] + row["losses"] + row["ties"]
        won = sum(wins[name, other] for other in MODELS)
        assert row["win_rate"] == won / row["games"]
        assert row["strength"] == pytest.approx(strengths[name], abs=1e-7)
        for score in ("win_rate", "strength", "soft_win_rate"):
            assert row[f"{score}_low"] < row[score] < row[f"{score}_high"]
        assert row["best_rank"] <= row["rank"] <= row["worst_rank"]
    assert found.models["rank"].to_list() == [1, 2, 3, 4, 5]
    assert found.models["strength"].is_sorted(descending=True)
    assert found.left_out == frame["tie"].null_count() > 0
    assert found.games + found.left_out == len(frame)
    assert f"left out {found.left_out} pairs without a decision" in found.notes
    assert len(found.head_to_head) == 20
    for row in found.head_to_head.to_dicts():
        assert row["wins"] + row["ties"] / 2 == wins[row["model"], row["opponent"]]
        assert row["games"] == row["wins"] + row["ties"] + row["losses"]
    shares = defaultdict(list)
    for a, b, letter, *p in frame.drop("question_id").iter_rows():
        if letter is not None:
            preference = (p[0] + p[2] / 2) / sum(p)
            shares[a].append(preference)
            shares[b].append(1 - preference)
    for row in found.models.to_dicts():
        assert row["soft_win_rate"] == pytest.approx(np.mean(shares[row["model"]]), abs=1e-12)


def test_which_answer_came_first_does_not_matter() -> None:
    frame = sample()
    turned = frame.select(
        "question_id",
        model_a="model_b",
        model_b="model_a",
        tie=pl.col("tie").replace({"A": "B", "B": "A"}),
        p_a="p_b",
        p_b="p_a",
        p_c="p_c",
    )
    first, second = (rank(each, rule="tie").models for each in (frame, turned))
    for name in first.columns:
        if first[name].dtype == pl.Float64:
            assert second[name].to_list() == pytest.approx(first[name].to_list(), abs=1e-8)
        else:
            assert second[name].to_list() == first[name].to_list()


@pytest.mark.parametrize(
    ("games", "message"),
    [
        ("abA baA cdC", r"not connected by games.*: 'a', 'b' \| 'c', 'd'"),
        ("abA abA", "no solution: '[ab]' never (won|lost) or tied against '[ab]'"),
        ("abC cdC acA dbB", "'[ac]', '[bd]' never (won|lost) or tied against '[ac]', '[bd]'"),
        ("abA bcA cdA adA", "'[ad]' never (won|lost) or tied against "),
    ],
)
def test_models_that_are_apart_are_named(games: str, message: str) -> None:
    frame = simple(*((g[0], g[1], g[2]) for g in games.split()))
    with pytest.raises(InputError, match=message):
        rank(frame, rule="first")
    found = rank(frame, rule="first", with_strengths=False).models
    assert found["strength"].null_count() == len(found)
    assert found["win_rate"].null_count() == 0


def test_one_tie_connects_in_both_directions() -> None:
    found = rank(simple(*[("a", "b", "A")] * 5, ("a", "b", "C")), rule="first")
    strength = dict(found.models.select("model", "strength").iter_rows())
    # 5.5 wins of 6
    assert strength["a"] - strength["b"] == pytest.approx(math.log(5.5 / 0.5), abs=1e-7)
    assert found.unsolved > 0
    assert any("have no Bradley–Terry solution" in note for note in found.notes)


def test_rank_ranges_contain_the_true_ranks() -> None:
    """As often as they say, all models together; and models that are far apart are told apart."""
    random = np.random.default_rng(0)
    true = np.array([0.5, 0.45, 0.45, 0.2])
    kept, told_apart = [], 0
    many = np.full(4, 5000)
    for _ in range(400):
        observed = true + random.normal(0, 0.05, 4)
        resampled = observed + random.normal(0, 0.05, (400, 4))
        found = fits.rank_ranges_of_resamples(observed, resampled, 0.95, many)
        ranks = [(1, 1), (2, 3), (2, 3), (4, 4)]
        inside = zip(ranks, found, strict=True)
        kept.append(all(low <= high_ and low_ <= high for (low_, high_), (low, high) in inside))
        told_apart += found[3] == (4, 4)
    assert np.mean(kept) >= 0.93
    assert told_apart > 200
    assert fits.rank_ranges_of_resamples(true, np.full((5, 4), np.nan), 0.95, many) == [(1, 4)] * 4
    same = np.tile(true, (10, 1))
    assert fits.rank_ranges_of_resamples(true, same, 0.95, many) == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert fits.rank_ranges_of_resamples(true, same, 0.95, np.full(4, 5)) == [(1, 4)] * 4


def test_intervals_of_win_rates_draw_whole_questions() -> None:
    """Copies of every pair of a question carry no information."""
    frame = sample()
    alone = rank(frame, rule="tie").models.sort("model")
    copies = rank(pl.concat([frame] * 4), rule="tie").models.sort("model")
    for name in ("win_rate", "strength", "soft_win_rate"):
        widths = [
            (each[f"{name}_high"] - each[f"{name}_low"]).to_numpy() for each in (alone, copies)
        ]
        assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_strengths_of_resamples_are_those_of_evalica() -> None:
    random = np.random.default_rng(2)
    wins = random.poisson(1.5, (60, 5, 5)) * (1 - np.eye(5)) + random.integers(0, 2, (60, 5, 5)) / 2
    wins[:, range(5), range(5)] = 0
    wins[:3, 1:, 0] = 0  # the first model never loses
    start = np.zeros(5)
    found = fits.resampled_strengths(wins, start)
    for each, strengths in zip(wins, found, strict=True):
        try:
            expected = fits.bradley_terry(each, MODELS)
        except InputError:
            expected = np.full(5, np.nan)
        assert strengths == pytest.approx(expected, abs=1e-6, nan_ok=True)
    assert np.isnan(found[:3]).all()
    assert not np.isnan(found[3:]).all()
    lopsided = np.array([[[0, 1000, 900], [1, 0, 500], [0.5, 0, 0]]])
    assert fits.resampled_strengths(lopsided, np.zeros(3))[0] == pytest.approx(
        fits.bradley_terry(lopsided[0], "abc"), abs=1e-5
    )


def test_large_tables_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = sample()
    usual = rank(frame, rule="tie").to_dict()
    monkeypatch.setattr(intervals, "_LARGE", 0)
    assert rank(frame, rule="tie").to_dict() == usual
    assert rank(frame, rule="tie", seed=4).to_dict() != usual


def test_what_is_unknown_is_null_and_a_single_question_is_noted() -> None:
    frame = simple(("a", "b", "A"), ("b", "a", "A"), ("a", "b", "B"))
    found = rank(frame, rule="first")
    assert found.models["soft_win_rate"].null_count() == 2
    assert json.dumps(found.to_dict(), allow_nan=False)
    found = rank(frame.with_columns(question_id=pl.lit("Q")), rule="first")
    assert any("a single question" in note for note in found.notes)


def test_invalid_games() -> None:
    frame = simple(("a", "b", "A"))
    for games, message in (
        (frame.drop("model_b"), "columns missing in the frame of decisions: model_b"),
        (
            frame.with_columns(first=pl.lit(None, dtype=pl.String)),
            "no pair has a decision by first",
        ),
        (simple(("a", "a", "A")), "a pair of the model 'a' with itself"),
        (frame.with_columns(model_b=pl.lit(None, dtype=pl.String)), "a pair without models"),
        (simple(("a", "b", "X")), "unknown letter 'X'"),
    ):
        with pytest.raises(InputError, match=message):
            rank(games, rule="first")
    for changes in ({"rule": "second"}, {"resamples": 1}, {"seed": -1}, {"level": 2}):
        with pytest.raises(SettingsError):
            rank(frame, **{"rule": "first", **changes})  # type: ignore[arg-type]


def test_without_evalica(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evalica", None)
    with pytest.raises(
        PfgenError, match=r"evalica cannot be imported .*pip install 'pfgen_rs\[judge\]'"
    ):
        rank(sample(), rule="tie")
    assert rank(sample(), rule="tie", with_strengths=False).models["win_rate"].null_count() == 0


def falsely_apart(models: pl.DataFrame) -> set[str]:
    """In what two models that are equal are told apart: rates off one half, strengths off 0, ranks."""
    row, found = models.row(0, named=True), set()
    for name, equal in (("win_rate", 0.5), ("soft_win_rate", 0.5), ("strength", 0.0)):
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        if low is not None and not low - 1e-9 <= equal <= high + 1e-9:
            found.add(name)
    return found | ({"ranks"} if row["worst_rank"] == 1 else set())


def rank_as_far_as_possible(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    try:
        return rank(frame, rule="first", seed=seed, resamples=400).models
    except InputError:  # one of them always wins
        return rank(frame, rule="first", seed=seed, resamples=400, with_strengths=False).models


@pytest.mark.parametrize("pairs", [3, 5, 10, 50])
def test_two_equal_models_are_seldom_told_apart(pairs: int) -> None:
    """Of all outcomes of so many pairs, each with its probability, and with ties at random: at most 7 %."""
    wrong: Counter[str] = Counter()
    for wins in range(pairs + 1):
        games = [("a", "b", "A")] * wins + [("a", "b", "B")] * (pairs - wins)
        for name in falsely_apart(rank_as_far_as_possible(simple(*games), wins)):
            wrong[name] += math.comb(pairs, wins)
    assert all(count / 2**pairs <= 0.07 for count in wrong.values()), wrong
    random, repeats = np.random.default_rng(7), 400
    wrong.clear()
    for seed in range(repeats):
        win = 1 / (1 + np.exp(-2 * random.normal(0, 1.4, pairs)))
        tie = random.uniform(0, 0.4, pairs)
        letters = np.where(random.random(pairs) < tie, "C", np.where(win > 0.5, "A", "B"))
        frame = simple(*(("a", "b", str(letter)) for letter in letters)).with_columns(
            p_a=win * (1 - tie), p_b=(1 - win) * (1 - tie), p_c=tie
        )
        wrong.update(falsely_apart(rank_as_far_as_possible(frame, seed)))
    assert all(count / repeats <= 0.07 for count in wrong.values()), wrong


def test_five_wins_of_five_are_no_certainty() -> None:
    found = rank(simple(*[("a", "b", "A")] * 5), rule="first", with_strengths=False)
    rows = {row["model"]: row for row in found.models.to_dicts()}
    assert rows["a"]["win_rate_low"] == pytest.approx(0.5655, abs=1e-4)  # Wilson's
    assert (rows["a"]["win_rate_high"], rows["b"]["win_rate_low"]) == (1.0, 0.0)
    assert (rows["a"]["best_rank"], rows["a"]["worst_rank"]) == (1, 2)
    assert any("2 of 2 models with too few pairs" in note for note in found.notes)
    many = rank(simple(*[("a", "b", "A")] * 9), rule="first", with_strengths=False)
    assert many.models["worst_rank"].to_list() == [1, 2]
    assert not many.notes


def test_a_model_of_few_pairs_is_told_apart_from_none_in_a_large_table() -> None:
    games = [("a", "b", "A" if n % 3 else "B") for n in range(90)] + [("c", "b", "A")] * 3
    found = rank(simple(*games), rule="first", with_strengths=False)
    rows = {row["model"]: row for row in found.models.to_dicts()}
    assert (rows["c"]["best_rank"], rows["c"]["worst_rank"]) == (1, 3)
    assert rows["c"]["win_rate_low"] < 0.5
    assert rows["a"]["worst_rank"] < rows["b"]["worst_rank"] == 3
