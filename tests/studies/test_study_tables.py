"""Tables of other benchmarks, the rule by which models of both are the same, and figures of studies."""

import json
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from matplotlib.figure import Figure

from figures import HOSTILE, check_names_are_inert, check_words_are_japanese
from pfgen_rs.errors import ConfigError, InputError, PlotError
from pfgen_rs.studies import (
    AgainstStudy,
    BenchmarkTable,
    Leaderboard,
    model_key,
    read_aliases,
    read_benchmark_table,
    study_against,
)
from pfgen_rs.studies.metrics import correlations
from pfgen_rs.studies.plots import against_figure, against_scatter, correlation_map
from pfgen_rs.studies.tables import KEYS, near_misses
from study_tables import key_of

ROWS = [
    {"name": "a", "results": {"ja": {"avg": 0.5, "NIILC": 0.25}, "en": {"avg": 1}}},
    {"name": "b", "results": {"ja": {"avg": None}}},
    {"name": "モデル", "results": {"ja": {"avg": 0.75}}, "date": "2026-01-01"},
]
COLUMNS = ("name", "results.ja.avg", "results.ja.NIILC", "results.en.avg", "date")


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
        return path
    if not isinstance(content, str):
        content = json.dumps(content)
    path.write_text(content, encoding="utf-8", newline="")
    return path


def figures(table: BenchmarkTable, names: str, column: str) -> dict[str, float]:
    return dict(table.figures(names, column, {})[0].select("key", "value").iter_rows())


def test_nested_rows(tmp_path: Path) -> None:
    table = read_benchmark_table(write(tmp_path, "t.JSON", ROWS))
    assert sorted(table.columns) == sorted(COLUMNS)
    assert figures(table, "name", table.find("ja.avg")) == {"a": 0.5, "モデル": 0.75}
    assert table.figures("name", table.find("ja.avg"), {})[1] == 1
    with pytest.raises(InputError, match="column 'avg' is ambiguous: it may be any of"):
        table.find("avg")
    with pytest.raises(InputError, match=r"no column 'namez': did you mean 'name'\?$"):
        table.find("namez")


def test_mappings_of_names(tmp_path: Path) -> None:
    values = read_benchmark_table(write(tmp_path, "t.json", {"a": 1, "b": 2.5, "c": None}))
    assert values.columns == (KEYS, "value")
    assert figures(values, KEYS, "value") == {"a": 1.0, "b": 2.5}
    rows = read_benchmark_table(
        write(tmp_path, "t.json", {"a": {"x": {"y": 1}}, "b": {"x": {"y": 2}}})
    )
    assert figures(rows, KEYS, rows.find("y")) == {"a": 1.0, "b": 2.0}


def test_csv(tmp_path: Path) -> None:
    text = '\ufeffname,"a, b",,a.b\r\n"x ""1""",1,9,2\r\n\r\n日本,,9,-.5e1\r\n'
    table = read_benchmark_table(write(tmp_path, "t.csv", text))
    assert table.columns == ("name", "a, b", "a.b")  # a column without a name is none
    assert figures(table, "name", "a, b") == {"x-1": 1.0}
    assert figures(table, "name", "a.b") == {"x-1": 2.0, "日本": -5.0}
    table = read_benchmark_table(write(tmp_path, "t.csv", "\n  \n,,\n name , x\na,1\n"))
    assert table.columns == ("name", "x")  # after blank lines, without spaces
    assert figures(table, "name", "x") == {"a": 1.0}


def test_missing_cells(tmp_path: Path) -> None:
    cells = ["", " ", "-", "–", "—", "N/A", "na", "NaN", "None", "null", "0"]
    text = "name,x\n" + "".join(f"m{i},{cell}\n" for i, cell in enumerate(cells))
    table = read_benchmark_table(write(tmp_path, "t.csv", text))
    assert (figures(table, "name", "x"), table.figures("name", "x", {})[1]) == ({"m10": 0.0}, 10)
    rows = [{"n": "a", "x": float("nan")}, {"n": "b"}, {"n": None, "x": 1}, {"n": "c", "x": -0.0}]
    table = read_benchmark_table(write(tmp_path, "t.json", rows))
    assert (figures(table, "n", "x"), table.figures("n", "x", {})[1]) == ({"c": 0.0}, 3)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *((True, "True"), ([1], "[1]"), ("1,5", "'1,5'"), ("１", None), (10**400, "1000")),
        pytest.param(10**5000, "of type int, too long to show: expected", id="huge"),
        (-1e300, "-1e+300: expected a number from -1e+70 to 1e+70"),
        *((float("inf"), "inf"), ("=SUM(A1)", "'=SUM(A1)'"), ("0x10", "'0x10'")),
        ("\x1b[31m", "'\\x1b[31m'"),
    ],
)
def test_cells_that_are_no_numbers(value: Any, shown: str | None) -> None:
    table = BenchmarkTable("t.json", ("n", "x"), ({"n": "a", "x": 1}, {"n": "b", "x": value}))
    if shown is None:  # digits of any script are digits
        assert figures(table, "n", "x")["b"] == 1.0
        return
    with pytest.raises(InputError) as caught:
        table.figures("n", "x", {})
    assert str(caught.value).startswith(f"t.json, row 2: 'x' is {shown}")


def test_names_that_are_no_text() -> None:
    for name in (1, 1.5, True, ["a"], {"a": 1}):
        table = BenchmarkTable("t.json", ("n", "x"), ({"n": name, "x": 1},))
        with pytest.raises(InputError, match=r"t.json, row 1: 'n' is .*expected a model's name as"):
            table.figures("n", "x", {})


BAD: dict[str, tuple[str, object, str]] = {
    "no rows": ("t.csv", "name,x\n", "the table has no rows"),
    "an empty file": ("t.csv", b"", "the table has no rows"),
    "an empty list": ("t.json", [], "the table has no rows"),
    "two columns of one name": ("t.csv", "a,b,a\n1,2,3\n", "two columns are called 'a'"),
    "too many cells": ("t.csv", "a,b\n1,2\n1,2,3\n", "row 2: has 3 cells, but the header has 2"),
    "too few cells": ("t.csv", "a,b\n1\n", "row 1: has 1 cell, but the header has 2"),
    "an open quote": ("t.csv", 'a,b\n"1,2\n', "line 2: invalid CSV"),
    "a long cell": ("t.csv", "a,b\n" + "x" * 200_000 + ",1\n", "invalid CSV: field larger"),
    "tabs": ("t.csv", "a\tb\n1\t2\n", "columns are separated by tabs"),
    "semicolons": ("t.csv", "a;b\n1,5;2,5\n", "columns are separated by semicolons"),
    "Shift-JIS": ("t.csv", "名前,点\nモデル,1\n".encode("cp932"), "it looks like Shift-JIS"),
    "UTF-16": ("t.csv", "name,x\na,1\n".encode("utf-16"), "is UTF-16 text"),
    "a workbook": ("t.csv", b"PK\x03\x04[Content_Types].xml" + bytes(99), "is an Excel workbook"),
    "bytes": ("t.json", b"\x80\x81", "is not UTF-8"),
    "no JSON": ("t.json", "[1,", "invalid JSON"),
    "deep JSON": ("t.json", "[" * 100_000, "invalid JSON"),
    "a key twice in JSON": ("t.json", '[{"a": 1, "a": 2}]', "the key 'a' occurs twice"),
    "a number": ("t.json", "1", "expected a list of rows"),
    "rows of numbers": ("t.json", [1], "row 1: expected an object with columns, not int"),
    "a list in a mapping": ("t.json", {"models": [{"a": 1}]}, "'models' is a list"),
    "a name twice by nesting": ("t.json", [{"a.b": 1, "a": {"b": 2}}], "'a.b' occurs twice"),
    "deep rows": (
        "t.json",
        '[{"a":' * 1 + '{"a":' * 30 + "1" + "}" * 31 + "]",
        "nested too deeply",
    ),
    "a long name": (
        "t.json",
        [{"k" * 600: {"l" * 600: 1}}],
        "row 1: the name of a column is longer",
    ),
    "half a pair in a name": (
        "t.json",
        '[{"a": 1}, {"x\\ud800": 1}]',
        "row 2: the name of a column is no",
    ),
    "half a pair in a cell": (
        "t.json",
        '[{"a": "\\udfff"}]',
        "row 1: 'a' is no Unicode text: '\\udfff'",
    ),
    "half a pair in a key": ("t.json", '{"\\ud83d": 1}', "row 1: '(names)' is no Unicode text"),
    "another format": ("t.xlsx", b"", "unknown format: expected a name ending in .csv or .json"),
}


@pytest.mark.parametrize("case", BAD)
def test_files_that_are_no_tables(case: str, tmp_path: Path) -> None:
    name, content, problem = BAD[case]
    path = write(tmp_path, name, content)
    with pytest.raises(InputError) as caught:
        read_benchmark_table(path)
    assert problem in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("name", ["t.csv", "t.json"])
def test_files_that_are_not_there_or_too_large(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_benchmark_table(path)
    with path.open("wb") as file:
        file.truncate((4 << 20) + 1)  # without taking room on the disk
    with pytest.raises(InputError, match="is larger than 4 MiB"):
        read_benchmark_table(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_benchmark_table(path)


@given(st.binary(max_size=200), st.sampled_from([".csv", ".json"]))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes, suffix: str) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(content)
    with suppress(InputError):  # and nothing else
        assert read_benchmark_table(path).rows


def test_names_of_columns(tmp_path: Path) -> None:
    rows = [{"m": "a", "r": {"ja": {"x": 1, "xy": 2}, "en": {"x": 3}}, "x": 4}]
    table = read_benchmark_table(write(tmp_path, "t.json", rows))
    assert table.find("x") == "x"
    assert table.find("ja.x") == "r.ja.x"
    assert table.matching("ja.*") == {"ja.x": "r.ja.x", "ja.xy": "r.ja.xy"}
    assert table.matching("*.x") == {"ja.x": "r.ja.x", "en.x": "r.en.x"}
    assert table.matching("x*") == {
        "r.ja.x": "r.ja.x",
        "xy": "r.ja.xy",
        "r.en.x": "r.en.x",
        "x": "x",
    }
    many = BenchmarkTable("t", tuple(f"c{i}" for i in range(99)), ())
    with pytest.raises(InputError, match=r"'c11' and 87 more$"):
        many.find("nothing like it")


NAMES = [
    ("meta-llama/Meta-Llama-3.1_8B", "meta-llama-3-1-8b"),
    *(("Ｌｌａｍａ－３", "llama-3"), ("ガンマ／モデル３", "モデル3"), ("ﾓﾃﾞﾙ", "モデル")),
    *(("モデル（改）v２", "モデル-改-v2"), ("Straße", "strasse"), ("ΣΊΣΥΦΟΣ", "σίσυφοσ")),
    *(("a/b/C", "c"), ("__x__", "x"), ("x²", "x2"), ("org/", ""), ("", ""), ("--/--", "")),
    ("a\u202eb", "a-b"),
    ("GPT‑4o mini", "gpt-4o-mini"),  # a hyphen that does not break
]


@pytest.mark.parametrize(("name", "key"), NAMES)
def test_keys(name: str, key: str) -> None:
    assert model_key(name) == key == key_of(name)


@given(st.text(max_size=40))
def test_any_name(name: str) -> None:
    key = model_key(name)
    assert key == key_of(name)
    assert not set(key) & set("/_ ")
    assert "--" not in key
    assert key == key.strip("-")
    assert all(c == "-" or c.isalnum() for c in key)
    assert model_key(unicodedata.normalize("NFKC", name)) == key
    assert model_key(f"organisation/{name}") == key


@pytest.mark.parametrize(
    "text",
    [
        '"openai/gpt-4" = ["gpt-4-0613", "OpenAI: GPT-4"]\n"それ" = ["これ"]',
        '"gpt-4-0613" = "openai/gpt-4"\n"OpenAI: GPT-4" = "openai/gpt-4"\n"これ" = "それ"',
    ],
)
def test_aliases(tmp_path: Path, text: str) -> None:
    elsewhere = {"gpt-4-0613": "openai/gpt-4", "OpenAI: GPT-4": "openai/gpt-4", "これ": "それ"}
    found = read_aliases(write(tmp_path, "aliases.toml", text))
    assert found == {**elsewhere, **{model: model for model in elsewhere.values()}}
    assert read_aliases(write(tmp_path, "aliases.toml", "")) == {}


def test_aliases_that_are_none(tmp_path: Path) -> None:
    for text, problem in (
        ("a = 1", "'a': expected a list of names"),
        ("a = [1]", "'a': expected a list of names"),
        ('gpt-3.5 = "gpt"', "'gpt-3': expected a list of names"),  # a table in TOML
        ('"m" = ["x"]\n"n" = ["o/X"]', "'o/X' means two models, 'm' and 'n'"),
        ("a =", "invalid TOML"),
        ('"--" = "b"', "'--': expected a list of names"),
        ('a = "/"', "'a': expected a list of names"),
        ('a = "b"\na = "c"', "invalid TOML"),
        (b"\xff\xfe", "invalid TOML"),
    ):
        path = write(tmp_path, "aliases.toml", text)
        with pytest.raises(ConfigError) as caught:
            read_aliases(path)
        assert str(caught.value).startswith(f"{path}: {problem}")
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_aliases(tmp_path / "none.toml")


def test_near_misses() -> None:
    ours = ["llama-3-8b", "llama-3-70b", "qwen2-5-7b-instruct", "mistral-7b"]
    assert near_misses(["llama3-8b", "llama-38b"], ours) == {"llama3-8b": "llama-3-8b"}
    assert near_misses(["llamas-3-8b", "qwen-2-5-7b-instruct"], ours) == {
        "llamas-3-8b": "llama-3-8b",
        "qwen-2-5-7b-instruct": "qwen2-5-7b-instruct",
    }
    assert near_misses(["llama-3-8b-instruct-gguf", "m" * 10_000], ours) == {}


# Figures of studies hold what they were given, whatever the names, and names never overlap.


def board(names: list[str]) -> Leaderboard:
    modes = [("completion", "chat", "qa", None)[i % 4] for i in range(len(names))]
    scores = np.random.default_rng(len(names)).uniform(0, 1, len(names))
    return Leaderboard(pl.DataFrame({"model": names, "mode": modes, "score": scores}))


def against(names: list[str], column: str = "b", columns: int = 1) -> AgainstStudy:
    random = np.random.default_rng(7)
    labels = [f"{column}{i}" for i in range(columns)]
    rows = tuple(
        {"name": name, **{label: float(random.uniform(0, 9)) for label in labels}} for name in names
    )
    table = BenchmarkTable("t", ("name", *labels), rows)
    return study_against(table, board(names), labels, name="name")


FIGURES: dict[str, Callable[..., Figure]] = {
    "scatter": lambda names, **look: against_figure(against(names, names[0]), **look),
    "map": lambda names, **look: against_figure(against(names, names[0], 3), **look),
}
LABELS = [f"org/Model-{i}B" for i in range(12)]
pytestmark = pytest.mark.usefixtures("settings_stay")
each_figure = pytest.mark.parametrize("kind", FIGURES)


def numbered(figure: Figure) -> dict[str, str]:
    """The names beside the figure, by number; each number stands once on the chart."""
    [legend] = figure.legends
    names = dict(text.get_text().split("  ", 1) for text in legend.get_texts())
    marks = [text.get_text() for text in figure.axes[0].texts if text.get_text()]
    assert sorted(marks) == sorted(names)
    return names


@pytest.mark.parametrize("count", [3, 4, 30, 300])
def test_outliers_and_extremes_are_numbered(count: int) -> None:
    study = against([f"organisation/model-{i}" for i in range(count)])
    [found] = study.columns
    shown = list(numbered(against_figure(study)).values())
    outliers = [name.rpartition("/")[2] for name in found.outliers()["model"]]
    assert shown[:3] == outliers[:3]
    for column in ("figure", "value"):
        for end in (found.points[column].max(), found.points[column].min()):
            [model] = found.points.filter(pl.col(column) == end)["model"]
            assert model.rpartition("/")[2] in shown


def test_points_and_the_line_are_drawn() -> None:
    study = against(LABELS)
    [found] = study.columns
    [axes] = against_scatter(found).axes
    drawn = {
        (x, y)
        for line in axes.lines
        if line.get_linestyle() == "None"
        for x, y in np.asarray(line.get_xydata()).tolist()
    }
    assert drawn == set(found.points.select("figure", "value").iter_rows())
    [line] = [line for line in axes.lines if line.get_linestyle() == "-"]
    for x, y in np.asarray(line.get_xydata()).tolist():
        assert y == pytest.approx(found.intercept + found.slope * x)
    assert f"n = {len(LABELS)}" in axes.get_title(loc="right")


def test_a_map_is_symmetrical() -> None:
    matrix = correlations({"x": [1, 2, 3, 4], "y": [1, 2, 4, 3], "z": [4, 3, 2, float("nan")]})
    axes = correlation_map(matrix).axes[0]
    cells = np.asarray(axes.images[0].get_array(), dtype=float)
    r = -(27**0.5) / 28**0.5
    np.testing.assert_allclose(cells, [[1.0, 0.8, -1.0], [0.8, 1.0, r], [-1.0, r, 1.0]])
    shown = sorted(text.get_text() for text in axes.texts)
    assert shown == ["0.80", "0.80", "1", "1", "1", "−0.98", "−0.98", "−1.00", "−1.00"]


def test_close_correlations_have_more_digits() -> None:
    x = np.arange(20.0)
    matrix = correlations({"x": x, "y": x + 0.01 * np.sin(x)})
    shown = {text.get_text() for text in correlation_map(matrix).axes[0].texts}
    assert "1" in shown
    assert all(text == "1" or text.startswith("0.9999") for text in shown)


@each_figure
def test_hostile_names(kind: str) -> None:
    figure = FIGURES[kind]([f"{HOSTILE}{i}" for i in range(5)], title=HOSTILE, language="ja")
    check_names_are_inert(figure)


@each_figure
def test_japanese_figures(kind: str) -> None:
    check_words_are_japanese(FIGURES[kind](LABELS, language="ja"))


def test_nothing_to_draw() -> None:
    with pytest.raises(PlotError, match="nothing to draw"):
        correlation_map(correlations({"x": [1, 1, 1], "y": [1, 2, 3]}))
    many = correlations({f"c{i}": np.random.default_rng(i).uniform(size=5) for i in range(41)})
    with pytest.raises(PlotError, match="too many names for one figure: 41, at most 40"):
        correlation_map(many)
