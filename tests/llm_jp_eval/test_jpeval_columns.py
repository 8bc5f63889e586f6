"""Columns, expressions and native code of llm-jp-eval's metrics against the oracle."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

import jpeval_oracle as oracle
from jpeval_oracle import TEXTS, WILD_TEXTS
from pfgen_rs import _native
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.llm_jp_eval import metric, metrics
from pfgen_rs.llm_jp_eval.measures import sample_metrics

VARIANTS = ("upstream", "swallow")
FRAME = pl.DataFrame(
    {
        "output": ["Ａあ\n\n", None, " か\u3099 ", "b a\n", "ΑΣ"],
        "gold": ["Aあ", "x", "が", None, "ας"],
    }
)


@given(st.lists(TEXTS, max_size=6), st.sampled_from(VARIANTS))
@example(["\u3000か\u3099 ", "ﾊﾟ", "´", "\x85a\x1c", "\u1100\u1161\u11a8", "각"], "swallow")
@example(["\U0001d165\U0001d15e", "\u0f73\u0344", "ﾡ", "ⅷ㍿ﷺ", "\u0374\u037e\u212b"], "upstream")
def test_predictions_of_columns_equal_the_oracle(texts: list[str], variant: str) -> None:
    expected = [oracle.prediction(text, variant) for text in texts]
    assert metrics.prediction_column(texts, variant).to_list() == expected
    assert (
        metrics.prediction_column(pl.Series(texts, dtype=pl.String), variant).to_list() == expected
    )
    golds = [unicodedata.normalize("NFKC", text) for text in texts]
    assert metrics.gold_column(texts).to_list() == golds


@given(
    st.sampled_from(list(sample_metrics())),
    st.lists(st.tuples(TEXTS, TEXTS), max_size=6),
    st.sampled_from(VARIANTS),
)
@example("char_f1", [("ΑΣ", "ας"), ("İ", "i̇"), ("ß", "ẞ"), ("Å", "å"), ("é", "e\u0301")], "swallow")
@example("char_f1", [("か゛", "が"), ("b\x1ca _", "_ a b"), ("ＡＢ Ⅳ", "iv ab")], "upstream")
@example("char_f1", [("𠮷" * 70, "𠮷"), ("Ａか\u3099Σ\n\nx", "aが")], "swallow")
@example("char_f1", [("\u3000ﾊﾟ b\n\n", "B パ"), ("ẞ㌔ _", "_ キロ ß")], "swallow")
@example("set_f1", [("a\u2028\n\x85b", "b\na"), ("ｶﾞ\nx", "ガ"), ("\n\n", "\n")], "upstream")
@example("set_f1", [("b\n\nc", "b"), (" a\x85", "a")], "upstream")
@example("exact_match", [("7\0\0", "７\0"), ("が", "か\u3099"), ("\0", "")], "upstream")
@example("exact_match", [(" ５\0", "5"), ("゛", "゛")], "swallow")
def test_values_of_columns_equal_the_oracle(
    name: str, pairs: list[tuple[str, str]], variant: str
) -> None:
    texts, golds = ([pair[side] for pair in pairs] for side in (0, 1))
    expected = [oracle.value(name, *pair) for pair in pairs]
    assert metrics.metric_column(name, texts, golds).tolist() == expected
    both = pl.Series(texts, dtype=pl.String), pl.Series(golds, dtype=pl.String)
    assert metrics.metric_column(name, *both).tolist() == expected
    expected = [oracle.value(name, oracle.prediction(o, variant), g) for o, g in pairs]
    assert metrics.output_metric_column(name, texts, golds, variant).tolist() == expected


@given(st.lists(st.tuples(WILD_TEXTS, WILD_TEXTS), min_size=1, max_size=4))
@example([("\ud800", "\ud800"), ("a\udfffb", "a b"), ("x", "x")])
def test_long_lists_may_have_surrogates(pairs: list[tuple[str, str]]) -> None:
    times = metrics._FEW
    preds, golds = ([pair[side] for pair in pairs] * times for side in (0, 1))
    for name in sample_metrics():
        expected = [oracle.value(name, *pair) for pair in pairs]
        assert metric(name, preds, golds) == expected * times


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
    flags, nfkc, lower = metrics.page(number)
    normal, small = dict(nfkc), dict(lower)
    for place, flag in enumerate(flags):
        c = chr(256 * number + place)
        assert bool(flag & metrics.WORD) == (c.isalnum() or c == "_")
        assert bool(flag & metrics.SPACE) == c.isspace()
        if flag & metrics.NFKC_IN_CONTEXT:
            yield c
        else:
            assert normal.get(place, c) == unicodedata.normalize("NFKC", c)
        if not flag & metrics.LOWER_IN_CONTEXT:
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
    for column in (
        pa.chunked_array([texts[:1], texts[1:]]),
        pl.Series(texts, dtype=pl.Categorical),
    ):
        assert metrics.gold_column(column).to_list() == ["あ", "A", ""]
        assert metrics.metric_column("exact_match", column, texts).tolist() == [1.0, 0.0, 1.0]
    assert metrics.gold_column(np.array(texts)).to_list() == ["あ", "A", ""]
    assert (
        metrics.gold_column([]).dtype
        == metrics.prediction_column(pl.Series([], dtype=pl.Null)).dtype
    )
    assert metrics.metric_column("set_f1", [], []).shape == (0,)


def test_expressions_keep_what_is_missing() -> None:
    frame = FRAME.select(
        metrics.prediction_expression("output", "swallow").alias("pred"),
        metrics.gold_expression(pl.col("gold")).alias("gold"),
        metrics.metric_expression("char_f1", metrics.prediction_expression("output"), "gold").alias(
            "value"
        ),
    )
    assert frame["pred"].to_list() == ["Aあ", None, "が", "b a", "ΑΣ"]
    assert frame["gold"].to_list() == ["Aあ", "x", "が", None, "ας"]
    assert frame["value"].to_list() == [1.0, None, 1.0, None, 1.0]


def test_expressions_stream_and_group(tmp_path: Path) -> None:
    path = tmp_path / "outputs.parquet"
    pl.concat([FRAME] * 300).with_row_index("task").write_parquet(path, row_group_size=100)
    value = metrics.metric_expression(
        "exact_match", metrics.prediction_expression("output"), "gold"
    )
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
    with pytest.raises(SettingsError, match="unknown variant"):
        metrics.prediction_expression("output", "x")
    with pytest.raises(SettingsError, match="unknown metric"):
        metrics.metric_expression("x", "output", "gold")


def test_native_code_refuses_pages_that_do_not_fit() -> None:
    texts = _native.Texts(["あ"])
    pages: list[metrics.Page] = [(b"", [], []), (bytes(256), [(0, "a")], [])]
    for page in pages:
        points = _native.CodePoints({0x30: page}.__getitem__)
        with pytest.raises(InputError, match="page 48: expected flags of 256 code points"):
            points.normalized(texts, str, cut=False, strip=False)

    def interrupted(number: int) -> metrics.Page:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _native.CodePoints(interrupted).normalized(texts, str, cut=False, strip=False)
    known = metrics.code_points()
    with pytest.raises(InputError, match="1 predictions but 2 golds"):
        known.values("set_f1", texts, _native.Texts(["a", "b"]), sample_metrics()["set_f1"].value)
    with pytest.raises(InputError, match="unknown metric"):
        known.values("f1", texts, texts, sample_metrics()["set_f1"].value)
