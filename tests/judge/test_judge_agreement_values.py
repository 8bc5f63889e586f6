"""Statistics of agreement on real data, beside what is published."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import judging_data
from pfgen_rs.judge import (
    Verdict,
    agree,
    concordance,
    decide,
    fleiss_kappa,
    position_bias,
    robustness,
)
from pfgen_rs.judge.decisions import RULES, swapped_back
from pfgen_rs.judge.dialogues.association import model_means
from pfgen_rs.judge.dialogues.mt_bench import read_questions, read_ratings
from pfgen_rs.judge.tokens import Letter

EXACT = 1e-12
MEANS = (2.6, 3.1, 3.975, 4.0875, 4.209877, 4.402439, 4.753086)  # Japanese MT-bench, gpt-4
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


def mt_bench_means(folder: Path) -> list[tuple[str, float]]:
    """Models and their mean ratings, in ascending order."""
    place = folder / "data" / "japanese-mt-bench"
    questions = {each.id: each.category for each in read_questions(place / "question.jsonl")}
    means = model_means(read_ratings([place / "gpt-4_single.jsonl"]), questions)
    of_all = means.filter(pl.col("category") == "mean").sort("mean")
    return list(of_all.select("model", "mean").iter_rows())


def test_golden_pandalm(judging_dir: Path) -> None:
    golden, data = judging_data.golden(judging_dir)["pandalm"], judging_data.pandalm(judging_dir)
    rows = list(zip(*data.raters, strict=True))
    assert len(rows) == golden["pairs"]
    assert fleiss_kappa(rows) == pytest.approx(golden["fleiss_kappa"], abs=EXACT)
    counts = [[row.count(letter) for letter in "ABC"] for row in rows]
    assert fleiss_kappa(counts) == fleiss_kappa(rows)
    for name, decisions in data.judges.items():
        found = [concordance(decisions, verdicts) for verdicts in data.raters]
        assert found == pytest.approx(golden[name]["concordance"], abs=EXACT)
        assert sum(found) / 3 == pytest.approx(golden[name]["mean"], abs=EXACT)
        assert decisions.count(None) == golden[name]["invalid"]


def test_golden_vicuna(judging_dir: Path) -> None:
    golden, files = (
        judging_data.golden(judging_dir)["ja-vicuna-qa"],
        judging_data.vicuna_files(judging_dir),
    )
    for name, rows in files.items():
        share = robustness(*judging_data.vicuna_verdicts(rows))
        assert [round(share * len(rows)), len(rows)] == golden["by_file"][name]
    first, second = judging_data.vicuna_verdicts(list(itertools.chain(*files.values())))
    assert len(first) == golden["pairs"]
    assert robustness(first, second) == golden["consistent"] / golden["pairs"] == 0.9
    bias = position_bias(first, second)
    assert (bias.count, bias.n) == (golden["flipped_towards_first_shown"], golden["flipped"])
    as_shown = [swapped_back(Verdict(letter)) for letter in second]
    decided = (decide(Verdict(a), b) for a, b in zip(first, as_shown, strict=True))
    assert Counter(decision.tie for decision in decided) == golden["tie_decisions"]


def test_all_pairs_follow_from_the_tasks_in_all_rows_but_one() -> None:
    """The paper's "All" is weighted by pairs: 69, 63 and 75 of 207."""
    apart = {name: abs(pooled(row[:3]) - row[3]) for name, row in PRINTED.items()}
    assert [name for name, by in apart.items() if by > 0.1] == [ODD[0]]
    assert pooled(PRINTED[ODD[0]][:3]) == pytest.approx(ODD[1], abs=0.05)


def test_published_values(judging_dir: Path) -> None:
    data, files = judging_data.pandalm(judging_dir), judging_data.vicuna_files(judging_dir)
    first, second = judging_data.vicuna_verdicts(list(itertools.chain(*files.values())))
    gpt, own = (
        [concordance(data.judges[name], rater) for rater in data.raters]
        for name in ("gpt-3.5-turbo", "pandalm-7b")
    )
    assert own == pytest.approx([0.6596597, 0.6516517, 0.6696697], abs=5e-8)
    assert sum(own) / 3 == pytest.approx(0.6603270, abs=5e-8)
    assert sum(gpt) / 3 == pytest.approx(0.6887, abs=5e-5)
    kappa = fleiss_kappa(list(zip(*data.raters, strict=True)))
    assert kappa == pytest.approx(0.8641753649975507, abs=EXACT)
    bias = position_bias(first, second)
    assert (robustness(first, second), bias.n, bias.count) == (0.9, 27, 4)
    assert [mean for _, mean in mt_bench_means(judging_dir)] == pytest.approx(MEANS, abs=5e-7)


def test_agree_has_the_golden_values(judging_dir: Path) -> None:
    """The same through frames: a judge of PandaLM's pairs whose orders agree, and one of Vicuna's."""
    golden, data = judging_data.golden(judging_dir), judging_data.pandalm(judging_dir)
    ids = [str(i) for i in range(999)]
    humans = pl.concat(
        pl.DataFrame({"pair": ids, "rater": f"r{i}", "verdict": verdicts})
        for i, verdicts in enumerate(data.raters)
    )
    for name, letters in data.judges.items():
        found = agree(frame_of(letters, letters), humans, rule="strict", resamples=100)
        expected = golden["pandalm"][name]
        concordances = found.concordance.filter(pl.col("rule") == "strict")["concordance"].to_list()
        assert concordances == pytest.approx(
            [*expected["concordance"], expected["mean"]], abs=EXACT
        )
        assert found.rater_agreement is not None
        assert found.rater_agreement.value == pytest.approx(0.8641753649975507, abs=EXACT)
        assert found.decisions.row(1, named=True)["invalid"] == expected["invalid"]
    files = judging_data.vicuna_files(judging_dir)
    verdicts = judging_data.vicuna_verdicts(list(itertools.chain(*files.values())))
    vicuna = agree(frame_of(*verdicts), rule="tie", resamples=100)
    assert vicuna.robustness["robustness"].to_list() == [0.9]
    assert (vicuna.position.count, vicuna.position.n) == (4, 27)
    assert vicuna.decisions.row(2)[1:4] == (245, 181, 54)


def frame_of(first: Sequence[Letter | None], second: Sequence[Letter | None]) -> pl.DataFrame:
    decided = [
        decide(Verdict(a), swapped_back(Verdict(b))) for a, b in zip(first, second, strict=True)
    ]
    ids = [str(i) for i in range(len(decided))]
    letters: dict[str, Sequence[Letter | None]] = {"v1": first, "v2": second}
    letters |= {rule: [getattr(each, rule) for each in decided] for rule in RULES}
    columns = {name: pl.Series(each, dtype=pl.String) for name, each in letters.items()}
    return pl.DataFrame({"pair": ids, "question_id": ids, **columns})
