"""Measures of agreement and rankings: equal to other libraries, to plain Python, and to what is published."""

import itertools
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest  # type: ignore[import-untyped]
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]
from statsmodels.stats import inter_rater  # type: ignore[import-untyped]

import agreement_oracle as oracle
from pfgen_rs.errors import InputError, PfgenError, SettingsError
from pfgen_rs.judge import (
    Verdict,
    agree,
    cohen_kappa,
    concordance,
    decide,
    fleiss_kappa,
    position_bias,
    rank,
    robustness,
)
from pfgen_rs.judge.agreement import bradley_terry as fits, measures
from pfgen_rs.judge.decisions import RULES, letter_codes, swapped_back
from pfgen_rs.judge.dialogues.association import model_means
from pfgen_rs.judge.dialogues.fastchat_files import read_questions, read_ratings
from pfgen_rs.judge.verdicts import Letter
from pfgen_rs.stats import resampling
from pfgen_rs.stats.resampling import clopper_pearson, share_of

LETTER = st.sampled_from("ABC")
PERHAPS = st.sampled_from(["A", "B", "C", None])
EXACT = 1e-12


def same(found: float, expected: float) -> bool:
    return found == pytest.approx(expected, abs=EXACT, nan_ok=True)


@given(st.lists(st.tuples(PERHAPS, PERHAPS), min_size=1))
def test_concordance_robustness_and_position_equal_plain_python(
    rows: list[tuple[str | None, str | None]],
) -> None:
    first, second = map(list, zip(*rows, strict=True))
    assert same(concordance(first, second), oracle.concordance(first, second))
    assert robustness(first, second) == oracle.robustness(first, second)
    bias = position_bias(first, second)
    assert (bias.count, bias.n) == oracle.towards_first(first, second)


@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.tuples(*[LETTER] * n), min_size=1)))
def test_fleiss_equals_plain_python_and_statsmodels(rows: list[tuple[str, ...]]) -> None:
    found = fleiss_kappa(rows)
    assert same(found, oracle.fleiss(rows))
    counts = np.array([[row.count(letter) for letter in "ABC"] for row in rows])
    if not math.isnan(found):
        assert same(found, float(inter_rater.fleiss_kappa(counts)))


@given(st.lists(st.tuples(PERHAPS, PERHAPS, PERHAPS), min_size=1))
def test_alpha_equals_krippendorff(rows: list[tuple[str | None, ...]]) -> None:
    counts = np.array([[row.count(letter) for letter in "ABC"] for row in rows])
    paired = counts[counts.sum(axis=1) > 1]
    found = measures.alpha_from_counts(counts)
    if np.count_nonzero(paired.sum(axis=0)) < 2:
        assert math.isnan(found)
    else:
        codes = [[np.nan if x is None else "ABC".index(x) for x in row] for row in rows]
        data = np.array(codes, dtype=float).T
        assert same(found, krippendorff.alpha(data, level_of_measurement="nominal"))
    if not (counts.sum(axis=1) == 3).all():
        assert same(fleiss_kappa(rows, allow_missing=True), found)
        with pytest.raises(InputError, match=r"raters are missing in \d+ of"):
            fleiss_kappa(rows)
    disagreements, values, scale = measures.alpha_unit_sums(counts)
    sums = np.array(disagreements.sum() / scale), values.sum(axis=0).astype(float)
    assert same(float(measures.alpha_of_sums(*sums)), found)


@given(st.lists(st.tuples(PERHAPS, LETTER), min_size=1))
def test_cohen_of_letters_equals_scikit_learn(rows: list[tuple[str | None, str]]) -> None:
    first, second = map(list, zip(*rows, strict=True))
    found = cohen_kappa(first, second)
    assert same(found, oracle.cohen(first, second))
    if not math.isnan(found):
        assert same(found, cohen_kappa_score([x or "none" for x in first], second))


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@given(rows=st.lists(st.tuples(st.integers(1, 10), st.integers(1, 10)), min_size=1))
def test_cohen_of_ratings_equals_scikit_learn(weights: Any, rows: list[tuple[int, int]]) -> None:
    first, second = map(list, zip(*rows, strict=True))
    found = cohen_kappa(first, second, weights=weights)
    if len({*first, *second}) == 1:
        assert math.isnan(found)
    else:
        theirs = cohen_kappa_score(first, second, labels=range(1, 11), weights=weights)
        assert same(found, theirs)


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0.8, 0.95, 0.99]))
def test_clopper_pearson_equals_scipy(count: int, more: int, level: float) -> None:
    if not count + more:
        assert clopper_pearson(0, 0, level).high == 1
        return
    theirs = binomtest(count, count + more).proportion_ci(level, "exact")
    found = clopper_pearson(count, count + more, level)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_majority_equals_plain_python() -> None:
    for number in (1, 2, 3, 4):
        rows = [*itertools.product("ABC", repeat=number), (None,) * number]
        codes = np.stack([letter_codes(rater) for rater in zip(*rows, strict=True)])
        wanted = letter_codes(map(oracle.majority, rows))
        assert measures.majority(codes).tolist() == wanted.tolist()


def test_one_letter_alone_is_undefined() -> None:
    assert math.isnan(fleiss_kappa(["AAA", "AAA"]))
    assert math.isnan(fleiss_kappa([["A", "A", None], ["A", "A", "A"]], allow_missing=True))
    assert math.isnan(cohen_kappa(["A", "A"], ["A", "A"]))
    assert math.isnan(concordance([None, "A"], [None, None]))
    assert math.isnan(robustness([], []))
    assert share_of(0, 0).to_dict()["share"] is None


CUBIC: Any = "cubic"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: concordance(["A"], ["A", "B"]), "1 and 2 letters: expected the same number"),
        (lambda: concordance(["A"], ["D"]), "unknown letter 'D': expected 'A', 'B', 'C' or None"),
        (lambda: concordance(["A"], [["A"]]), r"unknown letter \['A'\]"),  # type: ignore[list-item]
        (lambda: robustness(["A"], []), "1 and 0 letters"),
        (lambda: position_bias(["A"], []), "1 and 0 letters"),
        (lambda: fleiss_kappa([]), "fewer than two raters, or no pairs"),
        (lambda: fleiss_kappa(["A", "B"]), "fewer than two raters"),
        (lambda: fleiss_kappa(["AB", "A"]), r"1 of 2 rows; the first is row 2, with 1 of 2"),
        (lambda: fleiss_kappa(["Ab"]), "unknown letter 'b'"),
        (lambda: fleiss_kappa([[1, 2]]), "unknown letter 1"),  # type: ignore[list-item]
        (lambda: cohen_kappa(["A"], []), "1 and 0 values"),
        (lambda: cohen_kappa([], []), "no values"),
        (lambda: cohen_kappa([1, None], [1, 2]), "leave these pairs out"),
        (lambda: cohen_kappa(["A"], ["B"], weights="linear"), "letters have no distance"),
        (lambda: clopper_pearson(3, 2), "invalid count 3 of 2"),
        (lambda: cohen_kappa([1], [1], weights=CUBIC), "unknown weights 'cubic'"),
        (lambda: clopper_pearson(1, 2, 95), "invalid confidence level 95"),
    ],
)
def test_errors(call: Callable[[], object], message: str) -> None:
    with pytest.raises((InputError, SettingsError), match=message):
        call()


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain agreement needs numpy alone; what needs a library says which extra has it."""
    for module in ("scipy", "scipy.special", "krippendorff"):
        monkeypatch.setitem(sys.modules, module, None)
    assert concordance(["A"], ["A"]) == robustness(["A"], ["A"]) == 1
    assert cohen_kappa(["A", "B"], ["A", "B"]) == fleiss_kappa(["AA", "BB"]) == 1
    with pytest.raises(PfgenError, match=r"scipy cannot be imported .*'pfgen_rs\[judge\]'"):
        clopper_pearson(1, 2)
    with pytest.raises(PfgenError, match=r"krippendorff cannot be imported"):
        fleiss_kappa(["AB", "A"], allow_missing=True)


# Real data, beside what is published


PANDALM: dict[int, Letter] = {0: "C", 1: "A", 2: "B"}
GPT: dict[str, Letter] = {"1": "A", "2": "B", "Tie": "C"}
VICUNA: dict[str, Letter] = {"model_1": "A", "model_2": "B", "tie": "C"}
FLEISS = 0.8641753649975507


@pytest.fixture
def golden(judging_dir: Path) -> Any:
    return json.loads((judging_dir / "vectors" / "agreement.json").read_bytes())


def pandalm(folder: Path) -> tuple[list[list[Letter]], dict[str, list[Letter | None]]]:
    """999 pairs: verdicts of three raters (a list each), and of two judges."""
    place = folder / "data" / "pandalm"
    names = ("testset-v1", "pandalm-7b-testset-v1", "gpt-3.5-turbo-testset-v1")
    pairs, own, gpt = (json.loads((place / f"{name}.json").read_bytes()) for name in names)
    raters = [[PANDALM[pair[f"annotator{i}"]] for pair in pairs] for i in (1, 2, 3)]
    assert [p["idx"] for p in pairs] == [p["idx"] for p in own] == [p["idx"] for p in gpt]
    judges = {
        "pandalm-7b": [PANDALM.get(row["pandalm_result"]) for row in own],
        "gpt-3.5-turbo": [GPT.get(row["gpt_result"]) for row in gpt],
    }
    return raters, judges


def vicuna_verdicts(rows: list[dict[str, Any]]) -> tuple[list[Letter | None], list[Letter | None]]:
    """Letters of order 1 and of order 2; winners already speak of models."""
    first = [VICUNA.get(row["g1_winner"]) for row in rows]
    return first, [VICUNA.get(row["g2_winner"]) for row in rows]


def frame_of(first: Sequence[Letter | None], second: Sequence[Letter | None]) -> pl.DataFrame:
    decided = [
        decide(Verdict(a), swapped_back(Verdict(b))) for a, b in zip(first, second, strict=True)
    ]
    ids = [str(i) for i in range(len(decided))]
    letters: dict[str, Sequence[Letter | None]] = {"v1": first, "v2": second}
    letters |= {rule: [getattr(each, rule) for each in decided] for rule in RULES}
    columns = {name: pl.Series(each, dtype=pl.String) for name, each in letters.items()}
    return pl.DataFrame({"pair": ids, "question_id": ids, **columns})


def test_pandalm(judging_dir: Path, golden: Any) -> None:
    """As it is published, from lists and through frames of a judge whose orders agree."""
    known, (raters, judges) = golden["pandalm"], pandalm(judging_dir)
    rows = list(zip(*raters, strict=True))
    assert len(rows) == known["pairs"]
    assert fleiss_kappa(rows) == pytest.approx(known["fleiss_kappa"], abs=EXACT)
    assert fleiss_kappa(rows) == pytest.approx(FLEISS, abs=EXACT)
    humans = pl.concat(
        pl.DataFrame({"pair": map(str, range(999)), "rater": f"r{i}", "verdict": verdicts})
        for i, verdicts in enumerate(raters)
    )
    for name, decisions in judges.items():
        expected = [*known[name]["concordance"], known[name]["mean"]]
        found = [concordance(decisions, verdicts) for verdicts in raters]
        assert [*found, sum(found) / 3] == pytest.approx(expected, abs=EXACT)
        assert decisions.count(None) == known[name]["invalid"]
        agreed = agree(frame_of(decisions, decisions), humans, rule="strict", resamples=100)
        by_rule = agreed.concordance.filter(pl.col("rule") == "strict")["concordance"]
        assert by_rule.to_list() == pytest.approx(expected, abs=EXACT)
        assert agreed.rater_agreement is not None
        assert agreed.rater_agreement.value == pytest.approx(FLEISS, abs=EXACT)
        assert agreed.decisions.row(1, named=True)["invalid"] == known[name]["invalid"]
        mean, within = {"pandalm-7b": (0.6603270, 5e-8), "gpt-3.5-turbo": (0.6887, 5e-5)}[name]
        assert sum(found) / 3 == pytest.approx(mean, abs=within)
        if name == "pandalm-7b":
            assert found == pytest.approx([0.6596597, 0.6516517, 0.6696697], abs=5e-8)


def test_vicuna(judging_dir: Path, golden: Any) -> None:
    known, everything = golden["ja-vicuna-qa"], list[dict[str, Any]]()
    for path in sorted((judging_dir / "data/ja-vicuna-qa/pairwise-gpt-4").glob("*.jsonl")):
        rows = [json.loads(row) for row in path.read_bytes().splitlines()]
        share = robustness(*vicuna_verdicts(rows))
        assert [round(share * len(rows)), len(rows)] == known["by_file"][path.name]
        everything += rows
    first, second = vicuna_verdicts(everything)
    assert len(first) == known["pairs"]
    assert robustness(first, second) == known["consistent"] / known["pairs"] == 0.9
    bias = position_bias(first, second)
    assert (bias.count, bias.n) == (4, 27)
    assert (bias.count, bias.n) == (known["flipped_towards_first_shown"], known["flipped"])
    frame = frame_of(first, second)
    assert Counter(frame["tie"]) == known["tie_decisions"]
    vicuna = agree(frame, rule="tie", resamples=100)
    assert vicuna.robustness["robustness"].to_list() == [0.9]
    assert (vicuna.position.count, vicuna.position.n) == (4, 27)
    assert vicuna.decisions.row(2)[1:4] == (245, 181, 54)


MEANS = (2.6, 3.1, 3.975, 4.0875, 4.209877, 4.402439, 4.753086)  # Japanese MT-bench, gpt-4


def test_japanese_mt_bench(judging_dir: Path) -> None:
    place = judging_dir / "data" / "japanese-mt-bench"
    questions = {each.id: each.category for each in read_questions(place / "question.jsonl")}
    means = model_means(read_ratings([place / "gpt-4_single.jsonl"]), questions)
    of_all = means.filter(pl.col("category") == "mean")["mean"].sort()
    assert of_all.to_list() == pytest.approx(MEANS, abs=5e-7)


PAIRS = (69, 63, 75)  # of the tasks of Morita et al.: writing, proofreading, summaries
ODD = ("proposed (no criteria; reason first)", 71.97, 70.5)
PRINTED = {
    # Paper 002, table 2
    "BS1 (no criteria; result only)": (53.1, 54.0, 56.9, 54.8),
    "BS2 (no criteria; result only)": (57.0, 57.7, 68.4, 61.4),
    "proposed (no criteria; result only)": (71.0, 61.4, 68.4, 67.2),
    "BS1 (criteria; result only)": (56.0, 51.3, 46.7, 51.2),
    "BS2 (criteria; result only)": (58.5, 56.6, 50.2, 54.9),
    "proposed (criteria; result only)": (72.0, 63.5, 59.6, 64.9),
    "BS1 (no criteria; reason first)": (69.6, 60.3, 67.1, 65.9),
    "BS2 (no criteria; reason first)": (70.5, 65.1, 68.4, 68.1),
    ODD[0]: (74.9, 69.8, 71.1, ODD[2]),
    "BS1 (criteria; reason first)": (73.9, 59.3, 65.3, 66.3),
    "BS2 (criteria; reason first)": (74.9, 63.0, 68.0, 68.8),
    "proposed (criteria; reason first)": (77.3, 65.1, 70.7, 71.2),
    # Paper 002, table 3
    "robustness (no criteria; result only)": (63.8, 77.8, 76.0, 72.5),
    "robustness (criteria; result only)": (69.6, 73.0, 73.3, 72.0),
    "robustness (no criteria; reason first)": (85.5, 82.5, 88.0, 85.5),
    "robustness (criteria; reason first)": (94.2, 82.5, 85.3, 87.4),
}


def pooled(tasks: tuple[float, ...]) -> float:
    """Our value for all pairs, from pairs that have the printed shares of the tasks.

    A share of the paper is a mean over three raters of whole pairs: the pairs are laid out three times.
    """
    decisions, verdicts = [], []
    for share, pairs in zip(tasks, PAIRS, strict=True):
        right = round(share / 100 * 3 * pairs)
        decisions += ["A"] * (3 * pairs)
        verdicts += ["A"] * right + ["B"] * (3 * pairs - right)
    return 100 * concordance(decisions, verdicts)


def test_all_pairs_follow_from_the_tasks_in_all_rows_but_one() -> None:
    """The paper's "All" is weighted by pairs: 69, 63 and 75 of 207."""
    apart = {name: abs(pooled(row[:3]) - row[3]) for name, row in PRINTED.items()}
    assert [name for name, by in apart.items() if by > 0.1] == [ODD[0]]
    assert pooled(PRINTED[ODD[0]][:3]) == pytest.approx(ODD[1], abs=0.05)


# Rankings: equal to plain Python, libraries and refits; errors name the models that are apart.


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


def simple(*games: tuple[str, str, str | None]) -> pl.DataFrame:
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
    names = {"model_a": "model_b", "model_b": "model_a", "p_a": "p_b", "p_b": "p_a"}
    tie = pl.col("tie").replace({"A": "B", "B": "A"})
    turned = frame.select("question_id", "p_c", tie=tie, **names)
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
    monkeypatch.setattr(resampling, "_LARGE", 0)
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
        (simple(("a", "a", "A")), "no pair has a decision by first"),
        (frame.with_columns(model_b=pl.lit(None, dtype=pl.String)), "a pair without models"),
        (simple(("a", "b", "X")), "unknown letter 'X'"),
    ):
        with pytest.raises(InputError, match=message):
            rank(games, rule="first")
    for changes in ({"rule": "second"}, {"resamples": 1}, {"seed": -1}, {"level": 2}):
        with pytest.raises(SettingsError):
            rank(frame, **{"rule": "first", **changes})  # type: ignore[arg-type]


def test_a_baseline_against_itself_is_left_out() -> None:
    frame = simple(("a", "b", "A"), ("b", "a", "A"), ("a", "b", "B"))
    found = rank(pl.concat([frame, simple(("a", "a", "C"), ("b", "b", None))]), rule="first")
    assert (found.games, found.left_out, found.alone) == (3, 0, 2)
    assert found.models.equals(rank(frame, rule="first").models)
    assert "left out 2 pairs of a model with itself" in found.notes


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
