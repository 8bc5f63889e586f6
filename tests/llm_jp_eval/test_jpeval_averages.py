"""Averages of llm-jp-eval: golden texts, and Table 2 of the paper from its categories."""

from __future__ import annotations

import csv
import json
import statistics
from pathlib import Path

import pytest

from pfgen_rs.llm_jp_eval.catalog import averages, score_texts

SEVEN = ("NLI", "QA", "RC", "MC", "EL", "FA", "MR")
MAIN = {
    "NLI": ["jamp_exact_match", "janli_exact_match", "jsick_exact_match"],
    "QA": ["jemhopqa_char_f1", "niilc_char_f1"],
    "RC": ["jsquad_char_f1"],
    "MC": ["jcommonsenseqa_exact_match"],
    "EL": ["chabsa_set_f1"],
    "FA": ["wiki_reading_char_f1", "wiki_ner_set_f1"],
    "MR": ["mawps_exact_match"],
}


def test_golden_texts(jpeval_dir: Path) -> None:
    rows = (jpeval_dir / "golden" / "categories.jsonl").read_text("utf-8").splitlines()
    assert len(rows) == 20
    for row in map(json.loads, rows):
        for ours, published in (
            (score_texts(row["scores"], with_averages=True), row["with_average"]),
            (score_texts(row["scores"]), row["without_average"]),
        ):
            assert list(ours.items()) == list(published.items()), row["id"]


def test_table_2_follows_from_its_categories(
    jpeval_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (jpeval_dir / "golden" / "table2.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 11
    for row in rows:
        scores = {task: float(row[name]) for name, parts in MAIN.items() for task in parts}
        found = averages(scores)
        assert {name: f"{found[name]:.3f}" for name in SEVEN} == {name: row[name] for name in SEVEN}
        apart = found["AVR"] - float(row["AVR"])
        with capsys.disabled():
            print(
                f"\n{row['model']:45} AVR {row['AVR']}, here {found['AVR']:.6f} ({apart:+.6f})",
                end="",
            )
        assert abs(apart) < 0.0006, row["model"]
        assert found["AVG"] == pytest.approx(found["AVR"] * 7 / 9)


def test_categories_that_were_not_run_count_as_0() -> None:
    found = averages({"jamp_exact_match": 0.5, "janli_exact_match": 0.25, "jsts_pearson": 0.9})
    assert list(found) == [*SEVEN, "HE", "MT", "AVG", "AVR"]
    assert found["NLI"] == 0.375
    assert found["QA"] == found["HE"] == 0.0
    assert found["AVR"] == statistics.mean([0.375, *[0.0] * 6])
    assert found["AVG"] == statistics.mean([0.375, *[0.0] * 8])


def test_texts_are_rounded_half_to_even_and_sorted_by_code_point() -> None:
    scores = {"jsts_pearson": -0.00001, "b_x": 0.03125, "a-b_x": 1.0, "B_x": 0.5}
    assert list(score_texts(scores).items()) == [
        ("B_x", "0.5000"),
        ("a-b_x", "1.0000"),
        ("b_x", "0.0312"),
        ("jsts_pearson", "-0.0000"),
    ]
    shown = score_texts(scores, with_averages=True)
    assert list(shown)[:2] == ["AVG", "B_x"]
    assert "AVR" not in shown
