"""Predictions and metrics of llm-jp-eval against golden files and the oracle."""

from __future__ import annotations

import json
import math
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st

import jpeval_oracle as oracle
from jpeval_oracle import TEXTS
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.llm_jp_eval import correlation, mean, measures, metric, prediction

VARIANTS = {"upstream": "", "swallow": "_stripped"}


def golden(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    with (folder / "golden" / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@pytest.mark.parametrize("variant", VARIANTS)
def test_golden_samples_bit_for_bit(jpeval_dir: Path, variant: str) -> None:
    rows = list(golden(jpeval_dir, "metrics.jsonl"))
    assert len(rows) == 386
    for row in rows:
        pred = prediction(row["output"], variant)
        assert pred == row[f"pred{VARIANTS[variant]}"], row
        assert measures.normalized_gold(row["gold"]) == row["gold_normalized"], row
        expected = row[f"value{VARIANTS[variant]}"]
        for times in (1, 300):  # one by one, and as columns
            value = metric(row["metric"], [pred] * times, [row["gold"]] * times)
            assert value == [expected] * times, row


@pytest.mark.parametrize("variant", VARIANTS)
def test_golden_correlations(jpeval_dir: Path, variant: str) -> None:
    end = VARIANTS[variant]
    rows = list(golden(jpeval_dir, "sts_groups.jsonl"))
    assert len(rows) == 10
    for row in rows:
        preds = [prediction(output, variant) for output in row["output"]]
        assert preds == row[f"pred{end}"]
        assert [measures.parse_float(pred) for pred in preds] == row[f"parsed{end}"]
        for name in ("pearson", "spearman"):
            found = correlation(name, preds, row["gold"])
            assert found == pytest.approx(row[f"{name}{end}"], abs=1e-12), row["id"]


@given(TEXTS, st.sampled_from(list(VARIANTS)))
@example("\n\nyes", "upstream")
@example("yes\r\n\r\nno \n\u3000\n", "swallow")
@example(" \N{KATAKANA-HIRAGANA VOICED SOUND MARK}", "swallow")
def test_predictions_equal_the_oracle(output: str, variant: str) -> None:
    assert prediction(output, variant) == oracle.prediction(output, variant)


@given(
    st.sampled_from(list(measures.sample_metrics())),
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5),
)
@example("char_f1", [("ΑΣ ΑΣΑ", "ας ασα"), ("İstanbul I", "i̇stanbul ı"), ("ẞ ß", "ß")])
@example("char_f1", [("b\x1ca\u2028c", "a b c"), ("が", "か\u3099"), ("é", "")])
@example("exact_match", [("7\0", "7"), ("\0", ""), ("\x007", "7")])
@example("set_f1", [("a\n", "a"), ("", ""), ("a\x1c", "a\na"), ("a\u3000\nb", "b\na\n")])
def test_metrics_equal_the_oracle(name: str, samples: list[tuple[str, str]]) -> None:
    preds, golds = ([sample[side] for sample in samples] for side in (0, 1))
    expected = [oracle.value(name, *sample) for sample in samples]
    assert metric(name, preds, golds) == expected
    plain = [
        measures.sample_metrics()[name].value(p, measures.normalized_gold(g)) for p, g in samples
    ]
    assert plain == expected


@given(st.text("abあ𠮷", max_size=90), st.text("abあ𠮷", max_size=90))
def test_indel_distance_follows_from_the_longest_common_subsequence(one: str, other: str) -> None:
    common = oracle.longest_common_subsequence(one, other)
    assert measures.indel_distance(one, other) == len(one) + len(other) - 2 * common


def test_ratios_are_rounded_as_doubles_in_the_order_of_the_reference() -> None:
    """With m = 80 and d = 34, 100 * (1 - d / m) is just below 57.5."""
    assert metric("char_f1", ["a" * 23 + "b" * 17], ["a" * 23 + "c" * 17]) == [0.57]


def test_values_of_what_nobody_expects() -> None:
    assert metric("char_f1", ["、。", "", "x"], ["", "！", "。"]) == [1.0, 1.0, 0.0]
    assert metric("char_f1", ["B a", "caf\xe9"], ["a b", "caf"]) == [1.0, 1.0]
    assert metric("set_f1", ["a", "a\nb\n"], ["a\na", "a\nb"]) == [2 * 0.5 / 1.5, 0.8]
    assert metric("exact_match", ["５"], ["５"]) == [0.0]  # predictions are NFKC already


def test_lone_surrogates_are_characters_like_others() -> None:
    assert prediction("\ud800Ａ\n\n") == "\ud800A"
    assert metric("exact_match", ["\ud800", "\ud800"], ["\ud800", "\ud801"]) == [1.0, 0.0]
    assert metric("char_f1", ["a\ud800b", "\ud800"], ["a b", ""]) == [1.0, 1.0]
    assert metric("set_f1", ["\ud800\n b"], ["b\n\ud800"]) == [1.0]


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="unknown metric 'f1': expected one of exact_match, "):
        metric("f1", [], [])
    with pytest.raises(SettingsError, match=r"pearson is a figure of all samples.*correlation\(\)"):
        metric("pearson", ["1"], ["1"])
    with pytest.raises(SettingsError, match="unknown correlation 'r': expected one of pearson, sp"):
        correlation("r", ["1"], ["1"])
    with pytest.raises(SettingsError, match="unknown variant 'x': expected one of upstream, swall"):
        prediction("yes", "x")


@pytest.mark.parametrize("call", [metric, correlation])
def test_lists_that_do_not_fit_are_errors(call: Any) -> None:
    name = "char_f1" if call is metric else "pearson"
    with pytest.raises(InputError, match="2 predictions but 1 golds"):
        call(name, ["1", "2"], ["1"])
    with pytest.raises(InputError, match="invalid golds: expected text in row 1, found NoneType"):
        call(name, ["1", "2"], ["1", None])
    with pytest.raises(InputError, match="invalid predictions: expected a list of texts"):
        call(name, "12", ["1", "2"])


def test_no_samples() -> None:
    assert metric("char_f1", [], []) == []
    with pytest.raises(InputError, match="no values"):
        mean([])


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_correlations_that_do_not_exist_are_0(name: str) -> None:
    assert correlation(name, ["3", "3", "3"], ["1", "2", "3"]) == 0.0
    assert correlation(name, ["1", "2", "3"], ["3.0", "3.0", "3"]) == 0.0
    assert correlation(name, ["3"], ["3"]) == correlation(name, [], []) == 0.0
    assert correlation(name, ["1", "2"], ["1", "2"]) == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(InputError, match="gold 1: expected a number, found 'x'"):
        correlation(name, ["1", "2"], ["1", "x"])


def test_a_number_beyond_floating_point() -> None:
    """It is infinite, so that the mean does not exist, but ranks do."""
    preds = ["9" * 400, "1", "2"]
    assert correlation("pearson", preds, ["3", "1", "2"]) == 0.0
    assert correlation("spearman", preds, ["3", "1", "2"]) == pytest.approx(1.0, abs=1e-12)
    big = ["1" + "0" * 300, "1", "2"]
    assert correlation("pearson", big, ["3", "1", "2"]) == pytest.approx(
        math.sqrt(3) / 2, abs=1e-12
    )


@given(st.lists(st.tuples(st.integers(-2, 60), st.integers(0, 50)), min_size=3, max_size=60))
def test_correlations_equal_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    x = [-2.0 if a < 0 else a / 10 for a, _ in pairs]
    y = [b / 10 for _, b in pairs]
    preds, golds = ["none" if a < 0 else str(a) for a in x], [str(b) for b in y]
    for name, call in (("pearson", scipy.stats.pearsonr), ("spearman", scipy.stats.spearmanr)):
        constant = len(set(x)) == 1 or len(set(y)) == 1
        expected = 0.0 if constant else call(x, y).statistic
        assert correlation(name, preds, golds) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=200))
@example([0.1] * 1000)
@example([5e-324] * 99 + [-5e-324])
@example([1.7976931348623157e308] * 100)
@example([1e308, -1e308, 1e-308] * 40)
def test_means_are_rounded_once(values: list[float]) -> None:
    expected = oracle.mean(values)
    assert mean(values) == mean(np.array(values)) == expected == statistics.mean(values)


def test_means_of_many_values() -> None:
    generator = random.Random(1)
    ratios = [generator.randrange(101) / 100 for _ in range(10_000)]
    others = [generator.random() ** generator.randrange(1, 9) for _ in range(10_000)]
    for values in (ratios, others, [*others, *(-value for value in others[1:])]):
        assert mean(values) == statistics.mean(values)
    assert math.isnan(mean([*others, math.nan]))
    assert mean([*others, math.inf]) == math.inf


OWN = """
from pfgen_rs.llm_jp_eval.metrics import sample_metric


@sample_metric("starts_alike", column=lambda found, golds: [f[:1] == g[:1] for f, g in zip(found, golds)])
def starts_alike(prediction, gold):
    return float(prediction[:1] == gold[:1])
"""
USE = """
from pfgen_rs.llm_jp_eval import mean, metric
from pfgen_rs.llm_jp_eval.metrics import metric_expression, output_metric_column
import polars as pl

assert metric("starts_alike", ["abc", "x"], ["Ａ", "ｘ"]) == [0.0, 1.0]
found = metric("starts_alike", ["abc", "x", "\\ud800"] * 200, ["Ａ", "ｘ", "a"] * 200)
assert (len(found), mean(found)) == (600, 1 / 3)
assert output_metric_column("starts_alike", [" x\\n\\n"], ["x"], "swallow").tolist() == [1.0]
frame = pl.DataFrame({"p": ["x", None], "g": ["x", "x"]})
values = frame.select(metric_expression("starts_alike", "p", "g")).to_series()
assert values.to_list() == [1.0, None]
"""


def test_packages_contribute_metrics(tmp_path: Path) -> None:
    (tmp_path / "own_metrics.py").write_text(OWN, "utf-8")
    about = tmp_path / "own-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[pfgen_rs.llm_jp_eval_metrics]\nown = own_metrics\n")
    program = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{USE}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["Char F1", "", "pearson", "char_f1"])
def test_names_of_metrics_are_plain_and_not_taken(name: str) -> None:
    with pytest.raises(SettingsError, match=r"invalid name|already that of"):
        measures.sample_metric(name)(lambda *_: 0.0)


@given(st.sampled_from(list(measures.sample_metrics())), TEXTS, TEXTS)
def test_every_metric_is_a_share_and_full_for_equal_texts(name: str, one: str, other: str) -> None:
    value = measures.sample_metrics()[name].value
    assert 0.0 <= value(one, other) <= 1.0
    assert measures.sample_metrics()[name].summary
    if "\n" not in one:
        assert value(one, one) == 1.0
