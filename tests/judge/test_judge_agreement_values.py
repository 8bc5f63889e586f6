"""Statistics of agreement on real data, beside what is published."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pfgen_rs.judge import (
    Verdict,
    agree,
    concordance,
    decide,
    fleiss_kappa,
    position_bias,
    robustness,
)
from pfgen_rs.judge.dialogues.association import model_means
from pfgen_rs.judge.dialogues.fastchat_files import read_questions, read_ratings
from pfgen_rs.judge.tokens import Letter
from pfgen_rs.judge.verdicts import RULES, swapped_back

PANDALM: dict[int, Letter] = {0: "C", 1: "A", 2: "B"}
GPT: dict[str, Letter] = {"1": "A", "2": "B", "Tie": "C"}
VICUNA: dict[str, Letter] = {"model_1": "A", "model_2": "B", "tie": "C"}


def golden(folder: Path) -> Any:
    return json.loads((folder / "vectors" / "agreement.json").read_bytes())


def pandalm(folder: Path) -> tuple[list[list[Letter]], dict[str, list[Letter | None]]]:
    """999 pairs: verdicts of three raters (a list each), and of two judges."""
    place = folder / "data" / "pandalm"
    pairs = json.loads((place / "testset-v1.json").read_bytes())
    raters = [[PANDALM[pair[f"annotator{i}"]] for pair in pairs] for i in (1, 2, 3)]
    own = json.loads((place / "pandalm-7b-testset-v1.json").read_bytes())
    gpt = json.loads((place / "gpt-3.5-turbo-testset-v1.json").read_bytes())
    assert [p["idx"] for p in pairs] == [p["idx"] for p in own] == [p["idx"] for p in gpt]
    judges = {
        "pandalm-7b": [PANDALM.get(row["pandalm_result"]) for row in own],
        "gpt-3.5-turbo": [GPT.get(row["gpt_result"]) for row in gpt],
    }
    return raters, judges


def vicuna_files(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Rows of the six files of pairs of models, by file name."""
    paths = sorted((folder / "data" / "ja-vicuna-qa" / "pairwise-gpt-4").glob("*.jsonl"))
    return {
        path.name: [json.loads(row) for row in path.read_bytes().splitlines()] for path in paths
    }


def vicuna_verdicts(rows: list[dict[str, Any]]) -> tuple[list[Letter | None], list[Letter | None]]:
    """Letters of order 1 and of order 2; winners already speak of models."""
    first = [VICUNA.get(row["g1_winner"]) for row in rows]
    return first, [VICUNA.get(row["g2_winner"]) for row in rows]


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


def test_pandalm(judging_dir: Path) -> None:
    """As it is published, from lists and through frames of a judge whose orders agree."""
    known, (raters, judges) = golden(judging_dir)["pandalm"], pandalm(judging_dir)
    rows = list(zip(*raters, strict=True))
    assert len(rows) == known["pairs"]
    assert fleiss_kappa(rows) == pytest.approx(known["fleiss_kappa"], abs=EXACT)
    assert fleiss_kappa(rows) == pytest.approx(0.8641753649975507, abs=EXACT)
    counts = [[row.count(letter) for letter in "ABC"] for row in rows]
    assert fleiss_kappa(counts) == fleiss_kappa(rows)
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
        assert agreed.rater_agreement.value == pytest.approx(0.8641753649975507, abs=EXACT)
        assert agreed.decisions.row(1, named=True)["invalid"] == known[name]["invalid"]
        mean, within = {"pandalm-7b": (0.6603270, 5e-8), "gpt-3.5-turbo": (0.6887, 5e-5)}[name]
        assert sum(found) / 3 == pytest.approx(mean, abs=within)
        if name == "pandalm-7b":
            assert found == pytest.approx([0.6596597, 0.6516517, 0.6696697], abs=5e-8)


def test_vicuna(judging_dir: Path) -> None:
    known, files = golden(judging_dir)["ja-vicuna-qa"], vicuna_files(judging_dir)
    for name, rows in files.items():
        share = robustness(*vicuna_verdicts(rows))
        assert [round(share * len(rows)), len(rows)] == known["by_file"][name]
    first, second = vicuna_verdicts(list(itertools.chain(*files.values())))
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


def test_japanese_mt_bench(judging_dir: Path) -> None:
    place = judging_dir / "data" / "japanese-mt-bench"
    questions = {each.id: each.category for each in read_questions(place / "question.jsonl")}
    means = model_means(read_ratings([place / "gpt-4_single.jsonl"]), questions)
    of_all = means.filter(pl.col("category") == "mean")["mean"].sort()
    assert of_all.to_list() == pytest.approx(MEANS, abs=5e-7)


def test_all_pairs_follow_from_the_tasks_in_all_rows_but_one() -> None:
    """The paper's "All" is weighted by pairs: 69, 63 and 75 of 207."""
    apart = {name: abs(pooled(row[:3]) - row[3]) for name, row in PRINTED.items()}
    assert [name for name, by in apart.items() if by > 0.1] == [ODD[0]]
    assert pooled(PRINTED[ODD[0]][:3]) == pytest.approx(ODD[1], abs=0.05)


def frame_of(first: Sequence[Letter | None], second: Sequence[Letter | None]) -> pl.DataFrame:
    decided = [
        decide(Verdict(a), swapped_back(Verdict(b))) for a, b in zip(first, second, strict=True)
    ]
    ids = [str(i) for i in range(len(decided))]
    letters: dict[str, Sequence[Letter | None]] = {"v1": first, "v2": second}
    letters |= {rule: [getattr(each, rule) for each in decided] for rule in RULES}
    columns = {name: pl.Series(each, dtype=pl.String) for name, each in letters.items()}
    return pl.DataFrame({"pair": ids, "question_id": ids, **columns})
