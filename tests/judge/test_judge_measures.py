"""Measures of agreement: equal to other libraries, to plain Python, and to what is published."""

import itertools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
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
    robustness,
)
from pfgen_rs.judge.agreement import measures
from pfgen_rs.judge.agreement.intervals import clopper_pearson, share_of
from pfgen_rs.judge.decisions import RULES, letter_codes, swapped_back
from pfgen_rs.judge.dialogues.association import model_means
from pfgen_rs.judge.dialogues.fastchat_files import read_questions, read_ratings
from pfgen_rs.judge.verdicts import Letter

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
