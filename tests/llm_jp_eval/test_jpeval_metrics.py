"""Predictions and metrics of llm-jp-eval, of samples and columns, against golden files and the oracle."""

import json
import math
import random
import statistics
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import example, given, strategies as st
from rapidfuzz.distance import Indel

import jpeval_oracle as oracle
from jpeval_oracle import TEXTS, WILD_TEXTS
from pfgen_rs import _native
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import code_points
from pfgen_rs.llm_jp_eval import (
    correlation,
    mean,
    measures,
    metric,
    metrics,
    prediction,
    predictions,
)
from pfgen_rs.llm_jp_eval.measures import sample_metrics

PROFILES = {"1.3.0": "", "swallow": "_stripped"}
NATIVE = [name for name, each in measures.sample_metrics().items() if each.native]


def golden(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    with (folder / "golden" / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@pytest.mark.parametrize("profile", PROFILES)
def test_golden_samples_bit_for_bit(jpeval_dir: Path, profile: str) -> None:
    rows = list(golden(jpeval_dir, "metrics.jsonl"))
    assert len(rows) == 386
    for row in rows:
        pred = prediction(row["output"], profile)
        assert pred == row[f"pred{PROFILES[profile]}"], row
        assert measures.normalized_gold(row["gold"]) == row["gold_normalized"], row
        expected = row[f"value{PROFILES[profile]}"]
        for times in (1, 300):  # one by one, and as columns
            value = metric(row["metric"], [pred] * times, [row["gold"]] * times)
            assert value == [expected] * times, row


@pytest.mark.parametrize("profile", PROFILES)
def test_golden_correlations(jpeval_dir: Path, profile: str) -> None:
    end = PROFILES[profile]
    rows = list(golden(jpeval_dir, "sts_groups.jsonl"))
    assert len(rows) == 10
    for row in rows:
        preds = [prediction(output, profile) for output in row["output"]]
        assert preds == row[f"pred{end}"]
        assert [measures.parse_float(pred) for pred in preds] == row[f"parsed{end}"]
        for name in ("pearson", "spearman"):
            found = correlation(name, preds, row["gold"])
            assert found == pytest.approx(row[f"{name}{end}"], abs=1e-12), row["id"]


@given(st.text("abあ𠮷", max_size=90), st.text("abあ𠮷", max_size=90))
def test_indel_distance_follows_from_the_longest_common_subsequence(one: str, other: str) -> None:
    common = oracle.longest_common_subsequence(one, other)
    assert measures.indel_distance(one, other) == len(one) + len(other) - 2 * common


def test_ratios_are_rounded_as_doubles_in_the_order_of_the_reference() -> None:
    """With m = 80 and d = 34, 100 * (1 - d / m) is just below 57.5."""
    assert metric("char_f1", ["a" * 23 + "b" * 17], ["a" * 23 + "c" * 17]) == [0.57]


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
    with pytest.raises(SettingsError, match=r"unknown profile 'x': expected one of 1\.3\.0"):
        prediction("yes", "x")


@pytest.mark.parametrize("call", [metric, correlation])
def test_lists_that_do_not_fit_are_errors(call: Any) -> None:
    name = "char_f1" if call is metric else "pearson"
    with pytest.raises(InputError, match="2 predictions but 1 golds"):
        call(name, ["1", "2"], ["1"])
    with pytest.raises(InputError, match="invalid golds: expected text in row 1, found NoneType"):
        call(name, ["1", "2"], ["1", None])
    with pytest.raises(InputError, match=r"expected a (list|column) of texts"):
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
    assert correlation("pearson", big, ["3", "1", "2"]) == pytest.approx(0.75**0.5, abs=1e-12)


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
    (tmp_path / "own_metrics.py").unlink()
    failed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "SettingsError: metrics 'own' of own_metrics: No module named" in failed.stderr


@pytest.mark.parametrize("name", ["Char F1", "", "pearson", "char_f1"])
def test_names_of_metrics_are_plain_and_not_taken(name: str) -> None:
    with pytest.raises(SettingsError, match=r"invalid name|already that of"):
        measures.sample_metric(name)(lambda *_: 0.0)


@given(st.sampled_from(NATIVE), TEXTS, TEXTS)
def test_every_metric_is_a_share_and_full_for_equal_texts(name: str, one: str, other: str) -> None:
    value = measures.sample_metrics()[name].value
    assert 0.0 <= value(one, other) <= 1.0
    if "\n" not in one:
        assert value(one, one) == 1.0


# Columns, expressions and native code


FRAME = pl.DataFrame(
    {
        "output": ["Ａあ\n\n", None, " か\u3099 ", "b a\n", "ΑΣ"],
        "gold": ["Aあ", "x", "が", None, "ας"],
    }
)


@given(st.lists(TEXTS, max_size=6), st.sampled_from(list(PROFILES)))
@example(["\n\nyes", "yes\r\n\r\nno \n\u3000\n", " \u309b"], "swallow")
@example(["\u3000か\u3099 ", "ﾊﾟ", "´", "\x85a\x1c", "\u1100\u1161\u11a8", "각"], "swallow")
@example(["\U0001d165\U0001d15e", "\u0f73\u0344", "ﾡ", "ⅷ㍿ﷺ", "\u0374\u037e\u212b"], "1.3.0")
def test_predictions_equal_the_oracle(texts: list[str], profile: str) -> None:
    expected = [oracle.prediction(text, profile) for text in texts]
    assert metrics.prediction_column(texts, profile).to_list() == expected
    column = pl.Series(texts, dtype=pl.String)
    assert metrics.prediction_column(column, profile).to_list() == expected
    assert [prediction(text, profile) for text in texts] == expected
    golds = [unicodedata.normalize("NFKC", text) for text in texts]
    assert metrics.gold_column(texts).to_list() == golds


@given(
    st.sampled_from(NATIVE),
    st.lists(st.tuples(TEXTS, TEXTS), max_size=6),
    st.sampled_from(list(PROFILES)),
)
@example("char_f1", [("ΑΣ", "ας"), ("İ", "i̇"), ("ß", "ẞ"), ("Å", "å"), ("é", "e\u0301")], "swallow")
@example("char_f1", [("か゛", "が"), ("b\x1ca _", "_ a b"), ("ＡＢ Ⅳ", "iv ab")], "1.3.0")
@example("char_f1", [("𠮷" * 70, "𠮷"), ("Ａか\u3099Σ\n\nx", "aが")], "swallow")
@example("char_f1", [("\u3000ﾊﾟ b\n\n", "B パ"), ("ẞ㌔ _", "_ キロ ß")], "swallow")
@example("set_f1", [("a\u2028\n\x85b", "b\na"), ("ｶﾞ\nx", "ガ"), ("\n\n", "\n")], "1.3.0")
@example("set_f1", [("b\n\nc", "b"), (" a\x85", "a"), ("a\n", "a"), ("", "")], "1.3.0")
@example("set_f1", [("a\x1c", "a\na"), ("a\u3000\nb", "b\na\n")], "1.3.0")
@example("exact_match", [("7\0\0", "７\0"), ("が", "か\u3099"), ("\0", "")], "1.3.0")
@example("exact_match", [(" ５\0", "5"), ("゛", "゛")], "swallow")
@example("char_f1", [("ΑΣ ΑΣΑ", "ας ασα"), ("İstanbul I", "i̇stanbul ı"), ("é", "")], "1.3.0")
@example("exact_match", [("7\0", "7"), ("\0", ""), ("\x007", "7")], "1.3.0")
def test_values_equal_the_oracle(name: str, pairs: list[tuple[str, str]], profile: str) -> None:
    texts, golds = ([pair[side] for pair in pairs] for side in (0, 1))
    expected = [oracle.value(name, *pair) for pair in pairs]
    assert metric(name, texts, golds) == expected
    value = measures.sample_metrics()[name].value
    assert [value(pred, measures.normalized_gold(gold)) for pred, gold in pairs] == expected
    assert metrics.metric_column(name, texts, golds).tolist() == expected
    both = pl.Series(texts, dtype=pl.String), pl.Series(golds, dtype=pl.String)
    assert metrics.metric_column(name, *both).tolist() == expected
    expected = [oracle.value(name, oracle.prediction(o, profile), g) for o, g in pairs]
    assert metrics.output_metric_column(name, texts, golds, profile).tolist() == expected


@given(st.lists(st.tuples(WILD_TEXTS, WILD_TEXTS), min_size=1, max_size=4))
@example([("\ud800", "\ud800"), ("a\udfffb", "a b"), ("x", "x")])
def test_long_lists_may_have_surrogates(pairs: list[tuple[str, str]]) -> None:
    times = 300
    preds, golds = ([pair[side] for pair in pairs] * times for side in (0, 1))
    for name in NATIVE:
        expected = [oracle.value(name, *pair) for pair in pairs]
        assert metric(name, preds, golds) == expected * times


class Text(str):
    """Says that it is longer than it is."""

    def __len__(self) -> int:
        return 1_000_000


@given(st.lists(WILD_TEXTS, max_size=4), st.sampled_from(list(PROFILES)))
@example(["ab\n\n", " Ａ\ud800\n\nx", "か\u3099\udfff", "😀\n", "\n\n", "é "], "swallow")
@example([Text("aé"), Text("あＡ"), Text("😀\n\n"), "\ud800"], "1.3.0")
def test_predictions_of_lists_are_those_of_each(outputs: list[str], profile: str) -> None:
    expected = [prediction(output, profile) for output in outputs]
    found = predictions(outputs, profile)
    assert found == predictions(tuple(outputs), profile) == expected
    assert metric("exact_match", found, expected) == [1.0] * len(outputs)


@pytest.mark.parametrize("profile", ["1.3.0", "nejumi4"])
def test_a_single_text_is_no_list_of_outputs(profile: str) -> None:
    with pytest.raises(InputError, match="expected a list of texts, found a single text"):
        predictions("abc", profile)


def test_lists_are_copied_in_parts() -> None:
    """Of many rows, and of long texts, beside others whose result depends on neighbours."""
    outputs = ["あ" * 400_000, "か\u3099" * 500_000, *["Ａ\n\n", "か\u3099", "x"] * 9_000, ""]
    golds = ["あ", "が", *["A", "が", "y"] * 9_000, "\ud800"]
    found = predictions(outputs)
    assert found == [prediction(output) for output in outputs]
    for name in ("exact_match", "char_f1", "set_f1"):
        value = sample_metrics()[name].value
        expected = [
            value(p, measures.normalized_gold(g)) for p, g in zip(found, golds, strict=True)
        ]
        assert metric(name, found, golds) == expected
        assert metrics.output_metric_column(name, outputs, golds).tolist() == expected


def test_rows_may_be_a_list_on_one_side_and_a_column_on_the_other() -> None:
    texts, golds = ["a b", "あ\ud800", "Σ"] * 5_000, pl.Series(["b a", "あ", "σ"] * 5_000)
    assert metrics.metric_column("char_f1", texts, golds).tolist() == [1.0, 1.0, 1.0] * 5_000


def test_code_points_are_those_of_the_running_python() -> None:
    """All of them, one by one, and that whatever may combine with something before it is marked."""
    marked = {c for number in range(sys.maxunicode // 256 + 1) for c in checked_page(number)}
    for c in map(chr, range(sys.maxunicode + 1)):
        parts = unicodedata.decomposition(c).split()
        if len(parts) > 1 and not parts[0].startswith("<"):
            assert chr(int(parts[1], 16)) in marked
        if unicodedata.combining(unicodedata.normalize("NFKD", c)[0]):
            assert c in marked


def checked_page(number: int) -> Iterator[str]:
    """Yields the code points of a page whose NFKC is marked as depending on neighbours."""
    flags, nfkc, lower = code_points.page(number)
    normal, small = dict(nfkc), dict(lower)
    for place, flag in enumerate(flags):
        c = chr(256 * number + place)
        assert bool(flag & code_points.WORD) == (c.isalnum() or c == "_")
        assert bool(flag & code_points.SPACE) == c.isspace()
        if flag & code_points.NFKC_IN_CONTEXT:
            yield c
        else:
            assert normal.get(place, c) == unicodedata.normalize("NFKC", c)
        if not flag & code_points.LOWER_IN_CONTEXT:
            assert small.get(place, c) == c.lower()


def test_what_is_not_marked_keeps_its_nfkc_beside_anything() -> None:
    generator = random.Random(7)
    points = [chr(c) for c in range(0x20, 0x33FF)] + [chr(c) for c in range(0xA640, 0xD7A3, 3)]
    points += [chr(c) for c in range(0xF900, 0xFFFE)] + [chr(c) for c in range(0x10000, 0x1FFFF, 5)]
    texts = ["".join(generator.choices(points, k=4)) for _ in range(20_000)]
    expected = [unicodedata.normalize("NFKC", text) for text in texts]
    assert metrics.gold_column(texts).to_list() == expected


def test_the_final_sigma_is_the_only_letter_with_two_small_ones() -> None:
    """Every capital between letters, at the end of a word and alone has the same small letter."""
    for c in map(chr, range(0x250, 0x1FFFF)):
        if c.lower() != c and c != "Σ":
            assert f"a{c}".lower() == f"a{c.lower()}"
            assert f"a{c}a".lower() == f"a{c.lower()}a"


def test_ratios_equal_those_of_rapidfuzz_for_all_lengths() -> None:
    generator = random.Random(3)
    preds, golds, expected = [], [], []
    for length in range(1, 420, 3):
        one = "".join(generator.choices("あいうえおかきabc", k=length))
        other = "".join(generator.choices("あいうえおかきabc", k=generator.randrange(1, 420)))
        preds.append(one)
        golds.append(other)
        expected.append(round(100 * Indel.normalized_similarity(one, other)) / 100)
    assert metrics.metric_column("char_f1", preds, golds).tolist() == expected


@pytest.mark.parametrize("chunk", [1, 3, 1 << 17])
def test_threads_and_chunks_do_not_matter(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "CHUNK", chunk)
    rows = 4 if chunk < 9 else 2_000
    outputs = ["東京　", "Ａ b\n\nc", "か\u3099AΣ", ""] * rows
    golds = ["東京", "b a", "がaς", "x"] * rows
    expected = None
    for threads in (1, 2, None):
        preds = metrics.prediction_column(outputs, "swallow", threads=threads)
        found = metrics.metric_column("char_f1", preds, pl.Series(golds), threads=threads).tolist()
        assert found == (expected := expected or found)
    assert expected == [1.0, 1.0, 1.0, 0.0] * rows


def test_columns_of_other_libraries() -> None:
    texts = ["あ", "Ａ", ""]
    chunked = pa.chunked_array([texts[:1], texts[1:]])
    for column in (chunked, pl.Series(texts, dtype=pl.Categorical)):
        assert metrics.gold_column(column).to_list() == ["あ", "A", ""]
        assert metrics.metric_column("exact_match", column, texts).tolist() == [1.0, 0.0, 1.0]
    assert metrics.gold_column(np.array(texts)).to_list() == ["あ", "A", ""]
    empty = pl.Series([], dtype=pl.Null)
    assert metrics.gold_column([]).dtype == metrics.prediction_column(empty).dtype
    assert metrics.metric_column("set_f1", [], []).shape == (0,)


def test_expressions_keep_what_is_missing() -> None:
    pred = metrics.prediction_expression("output", "swallow")
    value = metrics.metric_expression("char_f1", metrics.prediction_expression("output"), "gold")
    frame = FRAME.select(pred=pred, gold=metrics.gold_expression(pl.col("gold")), value=value)
    assert frame["pred"].to_list() == ["Aあ", None, "が", "b a", "ΑΣ"]
    assert frame["gold"].to_list() == ["Aあ", "x", "が", None, "ας"]
    assert frame["value"].to_list() == [1.0, None, 1.0, None, 1.0]


def test_expressions_stream_and_group(tmp_path: Path) -> None:
    path = tmp_path / "outputs.parquet"
    pl.concat([FRAME] * 300).with_row_index("task").write_parquet(path, row_group_size=100)
    pred = metrics.prediction_expression("output")
    value = metrics.metric_expression("exact_match", pred, "gold")
    query = pl.scan_parquet(path).with_columns(value.alias("value"), task=pl.col("task") % 5)
    for engine in ("streaming", "in-memory"):
        found = query.collect(engine=engine)
        means = found.group_by("task").agg(pl.mean("value")).sort("task")["value"].to_list()
        assert means == [1.0, None, 0.0, None, 0.0]
    grouped = FRAME.with_columns(key=pl.Series([1, 1, 2, 2, 2])).group_by("key").agg(value.sum())
    assert sorted(grouped["output"].to_list()) == [0.0, 1.0]
    assert query.select("value").head(0).collect()["value"].dtype == pl.Float64


BAD: list[tuple[Any, str]] = [
    (["a", "b", "c", "\ud800"], "row 3 contains a lone surrogate"),
    (["a", "b", "c", "d", 1], "expected text in row 4, found int"),
    (pl.Series(["a", "b", None]), "row 2 is null"),
    (pl.Series([1, 2]), "expected a column of text"),
    ("text", "expected a column of texts, found a single text"),
    (object(), "expected a column of texts"),
]


def test_errors_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "CHUNK", 2)
    for column, message in BAD:
        with pytest.raises(InputError, match=message):
            metrics.gold_column(column)
    with pytest.raises(InputError, match="2 predictions but 1 golds"):
        metrics.metric_column("set_f1", ["a", "b"], pl.Series(["a"]))
    with pytest.raises(SettingsError, match="unknown profile"):
        metrics.prediction_expression("output", "x")
    with pytest.raises(SettingsError, match="unknown metric"):
        metrics.metric_expression("x", "output", "gold")


def test_native_code_refuses_pages_that_do_not_fit() -> None:
    texts = _native.Texts(["あ"])
    pages: list[code_points.Page] = [(b"", [], []), (bytes(256), [(0, "a")], [])]
    for page in pages:
        points = _native.CodePoints({0x30: page}.__getitem__)
        with pytest.raises(InputError, match="page 48: expected flags of 256 code points"):
            points.normalized(texts, str, cut=False, strip=False)

    def interrupted(number: int) -> code_points.Page:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _native.CodePoints(interrupted).normalized(texts, str, cut=False, strip=False)
    known = code_points.known()
    with pytest.raises(InputError, match="1 predictions but 2 golds"):
        known.values("set_f1", texts, _native.Texts(["a", "b"]), lambda *pair: pair)
    with pytest.raises(InputError, match="unknown metric"):
        known.values("f1", texts, texts, lambda *pair: pair)
