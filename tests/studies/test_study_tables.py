"""Tables of other benchmarks, in every format, and files that are none."""

from __future__ import annotations

import json
import sys
import tracemalloc
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs.errors import InputError
from pfgen_rs.studies import BenchmarkTable, read_benchmark_table
from pfgen_rs.studies.tables import KEYS

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
        content = json.dumps(content) if name.endswith(".json") else yaml.safe_dump(content)
    path.write_text(content, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("name", ["t.json", "t.yml", "t.yaml", "t.YML"])
def test_nested_rows(name: str, tmp_path: Path) -> None:
    table = read_benchmark_table(write(tmp_path, name, ROWS))
    assert sorted(table.columns) == sorted(COLUMNS)
    figures = table.figures("name", table.find("ja.avg"), {})
    assert figures.values == {"a": 0.5, "モデル": 0.75}
    assert figures.missing == 1
    with pytest.raises(InputError, match="column 'avg' is ambiguous: it may be any of"):
        table.find("avg")
    with pytest.raises(InputError, match=r"no column 'ja\.agv': did you mean 'ja\.avg'\?"):
        table.find("ja.agv")


def test_parquet_with_structs(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"m": ["a", "b"], "r": [{"x": 1.5, "y": 2}, {"x": None, "y": 3}]}).write_parquet(
        path
    )
    table = read_benchmark_table(path)
    assert table.columns == ("m", "r.x", "r.y")
    assert table.figures("m", "r.y", {}).values == {"a": 2.0, "b": 3.0}
    assert table.figures("m", "r.x", {}).missing == 1


def test_parquet_columns_without_single_values_are_none(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rows = {
        "m": ["a", "b"],
        "tags": [["x"], []],
        "raw": [b"1", b"2"],
        "r": [{"deep": {"x": Decimal("0.5"), "l": [1]}}, None],
        "kind": pl.Series(["p", "q"], dtype=pl.Categorical),
    }
    pl.DataFrame(rows).write_parquet(path)
    table = read_benchmark_table(path)
    assert table.columns == ("m", "r.deep.x", "kind")
    assert table.figures("m", "r.deep.x", {}).values == {"a": 0.5}


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
def test_parquet_with_one_text_for_all_rows(kind: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    text = pl.Series(["x" * 100_000]).cast(kind)
    pl.DataFrame({"m": text}).select(pl.col("m").repeat_by(200).explode()).write_parquet(path)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InputError, match="has more than 16 MiB of text"):
        read_benchmark_table(path)


def test_parquet_with_unusable_names(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"k" * 600: [{"l" * 600: 1}]}).write_parquet(path)
    with pytest.raises(InputError, match=r"t.parquet: the name of a column is longer than 1,000"):
        read_benchmark_table(path)
    pl.DataFrame({"a.b": [1], "a": [{"b": 2}]}).write_parquet(path)
    with pytest.raises(InputError, match=r"t.parquet: two columns are called 'a.b'"):
        read_benchmark_table(path)


def test_cells_of_yaml_are_texts(tmp_path: Path) -> None:
    text = "- n: 7\n  sexagesimal: 1:1\n  hex: 0x" + "f" * 4000 + "\n  x: !!float 1e-1\n  none: ~\n"
    table = read_benchmark_table(write(tmp_path, "t.yml", text))
    assert table.figures("n", "x", {}).values == {"7": 0.1}
    assert table.figures("n", "none", {}).missing == 1
    for column in ("sexagesimal", "hex"):
        assert not table.is_numeric(column)


def test_csv_with_blank_lines_and_spaces_before(tmp_path: Path) -> None:
    text = "\n  \n,,\n name , x\na,1\n"
    table = read_benchmark_table(write(tmp_path, "t.csv", text))
    assert table.columns == ("name", "x")
    assert table.figures("name", "x", {}).values == {"a": 1.0}


def test_a_near_name_is_told_once(tmp_path: Path) -> None:
    table = read_benchmark_table(write(tmp_path, "t.json", {"a": 1}))
    with pytest.raises(InputError, match=r"did you mean 'value'\?$"):
        table.find("valeu")


@pytest.mark.parametrize("name", ["t.json", "t.yml"])
def test_mappings_of_names(name: str, tmp_path: Path) -> None:
    values = read_benchmark_table(write(tmp_path, name, {"a": 1, "b": 2.5, "c": None}))
    assert values.columns == (KEYS, "value")
    assert values.figures(KEYS, "value", {}).values == {"a": 1.0, "b": 2.5}
    rows = read_benchmark_table(write(tmp_path, name, {"a": {"x": {"y": 1}}, "b": {"x": {"y": 2}}}))
    assert rows.figures(KEYS, rows.find("y"), {}).values == {"a": 1.0, "b": 2.0}


def test_csv(tmp_path: Path) -> None:
    text = '\ufeffname,"a, b",,a.b\r\n"x ""1""",1,9,2\r\n\r\n日本,,9,-.5e1\r\n'
    table = read_benchmark_table(write(tmp_path, "t.csv", text))
    assert table.columns == ("name", "a, b", "a.b")  # a column without a name is none
    assert table.figures("name", "a, b", {}).values == {"x-1": 1.0}
    assert table.figures("name", "a.b", {}).values == {"x-1": 2.0, "日本": -5.0}


def test_missing_cells(tmp_path: Path) -> None:
    cells = ["", " ", "-", "–", "—", "N/A", "na", "NaN", "None", "null", "0"]
    text = "name,x\n" + "".join(f"m{i},{cell}\n" for i, cell in enumerate(cells))
    figures = read_benchmark_table(write(tmp_path, "t.csv", text)).figures("name", "x", {})
    assert (figures.values, figures.missing) == ({"m10": 0.0}, 10)
    rows = [{"n": "a", "x": float("nan")}, {"n": "b"}, {"n": None, "x": 1}, {"n": "c", "x": -0.0}]
    found = read_benchmark_table(write(tmp_path, "t.json", rows)).figures("n", "x", {})
    assert (found.values, found.missing) == ({"c": 0.0}, 3)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "True"),
        ([1], "list"),
        ("1,5", "'1,5'"),
        ("１", None),
        (10**400, "1000"),
        pytest.param(10**5000, "a whole number that is too long to show: expected", id="huge"),
        (Decimal("1e300"), "1E+300: expected a number from -1e+70 to 1e+70"),
        (-1e300, "-1e+300: expected a number from -1e+70 to 1e+70"),
        (Decimal("Infinity"), "Infinity: expected a number"),
        (float("inf"), "inf"),
        ("=SUM(A1)", "'=SUM(A1)'"),
        ("0x10", "'0x10'"),
        ("\x1b[31m", "'\\x1b[31m'"),
    ],
)
def test_cells_that_are_no_numbers(value: Any, shown: str | None) -> None:
    table = BenchmarkTable("t.json", ("n", "x"), ({"n": "a", "x": 1}, {"n": "b", "x": value}))
    if shown is None:  # digits of any script are digits
        assert table.figures("n", "x", {}).values["b"] == 1.0
        return
    with pytest.raises(InputError) as caught:
        table.figures("n", "x", {})
    assert str(caught.value).startswith(f"t.json, row 2: 'x' is {shown}")
    assert not table.is_numeric("x")


@pytest.mark.parametrize("name", [1, 1.5, True, ["a"], {"a": 1}])
def test_names_that_are_no_text(name: Any) -> None:
    table = BenchmarkTable("t.yml", ("n", "x"), ({"n": name, "x": 1},))
    with pytest.raises(InputError, match=r"t.yml, row 1: 'n' is .*expected a model's name as text"):
        table.figures("n", "x", {})


BAD: dict[str, tuple[str, object, str]] = {
    "no rows": ("t.csv", "name,x\n", "the table has no rows"),
    "an empty file": ("t.csv", b"", "the table has no rows"),
    "an empty list": ("t.json", [], "the table has no rows"),
    "an empty mapping": ("t.yml", {}, "the table has no rows"),
    "an empty document": ("t.yml", "", "expected a list of rows"),
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
    "no YAML": ("t.yml", "a: [1\nb: 2", "invalid YAML"),
    "a tab in YAML": ("t.yml", "a:\n\t- 1", "invalid YAML"),
    "Python in YAML": ("t.yml", "- !!python/object/apply:os.system [ls]", "expected an object"),
    "a key twice in YAML": ("t.yml", "- a: 1\n  b: 2\n  a: 3", "the key 'a' occurs twice"),
    "two documents": ("t.yml", "- a: 1\n---\n- a: 2", "invalid YAML"),
    "an endless alias": ("t.yml", "&a [*a]", "line 1: has an alias"),
    "no anchor": ("t.yml", "- *a", "line 1: has an alias"),
    "a list as a key": ("t.yml", "- {[1]: 2}", "invalid YAML"),
    "deep YAML": ("t.yml", "[" * 5000, "nested too deeply"),
    "control characters": ("t.yml", "a: \x00", "invalid YAML"),
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
    "no Parquet": ("t.parquet", b"PAR1" + bytes(50), "cannot be read as .parquet"),
    "an empty Parquet file": ("t.parquet", b"", "cannot be read as .parquet"),
    "another format": (
        "t.xlsx",
        b"",
        "unknown format: expected a name ending in one of .csv, .json",
    ),
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


@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.yml", "t.parquet"])
def test_files_that_are_not_there(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_benchmark_table(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_benchmark_table(tmp_path / name)


def test_large_files_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with path.open("wb") as file:
        file.truncate((16 << 20) + 1)  # without taking room on the disk
    with pytest.raises(InputError, match="is larger than 16 MiB"):
        read_benchmark_table(path)


@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.parquet"])
@pytest.mark.parametrize("shape", [(100_001, 1), (2_100, 1_000)])
def test_tables_with_too_many_cells(name: str, shape: tuple[int, int], tmp_path: Path) -> None:
    rows, columns = shape
    path = tmp_path / name
    if name == "t.csv":
        line = ",".join(["1"] * columns)
        header = ",".join(f"c{i}" for i in range(columns))
        path.write_text(f"{header}\n" + f"{line}\n" * rows, encoding="utf-8")
    elif name == "t.json":
        row = json.dumps({f"{i:x}": 1 for i in range(columns)}, separators=(",", ":"))
        path.write_text(f"[{','.join([row] * rows)}]", encoding="utf-8")
    else:
        frame = pl.DataFrame({f"c{i}": pl.Series([0], dtype=pl.Int8) for i in range(columns)})
        pl.concat([frame] * 100).select(
            pl.all().repeat_by(rows // 100 + 1).explode()
        ).write_parquet(path)
    with pytest.raises(
        InputError, match=r"more than 100,000 rows or 2,000,000 cells|larger than 16 MiB"
    ):
        read_benchmark_table(path)


BOMBS = {
    "lists": "- &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"- &{b} [{', '.join([f'*{a}'] * 9)}]\n"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "merges": "- &a {x: 1}\n"
    + "".join(
        f"- &{b} {{<<: [{', '.join([f'*{a}'] * 9)}]}}\n"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "mappings": "- &a {x: 1}\n"
    + "".join(
        f"- &{b} {{{', '.join(f'k{i}: *{a}' for i in range(9))}}}\n"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_aliases_that_would_fill_memory(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, "t.yml", BOMBS[kind])
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"line \d: has an alias"):
            read_benchmark_table(path)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_without_pyyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InputError, match=r"pip install 'pfgen_rs\[studies\]'"):
        read_benchmark_table(write(tmp_path, "t.yml", "- a: 1"))
    assert read_benchmark_table(write(tmp_path, "t.csv", "a\n1\n")).columns == ("a",)


@given(st.binary(max_size=200), st.sampled_from([".csv", ".json", ".yml", ".parquet"]))
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
    assert table.find_all("ja.*") == ["r.ja.x", "r.ja.xy"]
    assert table.find_all("*x") == ["r.ja.x", "r.en.x", "x"]
    assert [table.short_name(name, "*.x") for name in ("r.ja.x", "r.en.x")] == ["ja.x", "en.x"]
    assert table.short_name("r.ja.xy", "x*") == "xy"
    assert table.short_name("r.ja.x", "x*") == "r.ja.x"  # x alone is another
    many = BenchmarkTable("t", tuple(f"c{i}" for i in range(99)), ())
    with pytest.raises(InputError, match=r"'c11' and 87 more$"):
        many.find("nothing like it")
