"""JSON arrays: cut anywhere, each element is what it is as a line; bad ones are named or skipped."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from helpers import CATS, GOOD, SEAS, pfgen, write_benchmark
from pfgen_rs import InputError, score_file
from pfgen_rs.io import lines as line_reader
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.reading import Reading
from pfgen_rs.io.source import Source

RECORDS = [{"question": question, "answer": answer} for question, answer in GOOD]
ODD = st.text(st.sampled_from('"\\[]{},: 猫\u2028\n\t'), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3),
    max_leaves=6,
)
ELEMENTS = st.lists(
    st.builds(lambda q, a, x: {"question": q, "x": x, "answer": a}, ODD, ODD, VALUES) | VALUES,
    max_size=8,
)


def read(path: Path, **options: Any) -> tuple[list[tuple[str, str, int]], list[str]]:
    """Responses with their numbers, and problems."""
    found, problems = [], []
    for chunk in Reading(Source(path), Options(skip_bad_lines=True, **options)).chunks():
        found += list(zip(chunk.questions, chunk.answers, chunk.lines.tolist(), strict=True))
        problems += [str(problem).removeprefix(f"{path}, ") for problem in chunk.problems]
    return found, problems


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    return write_benchmark(tmp_path / "tiny")


@examples(max_examples=150)
@given(
    elements=ELEMENTS,
    indent=st.sampled_from([None, 0, 2]),
    ascii_only=st.booleans(),
    around=st.sampled_from(["", " \n", "\ufeff"]),
    size=st.integers(1, 200),
    rows=st.integers(1, 5),
)
def test_arrays_are_cut_anywhere(
    elements: list[Any],
    indent: int | None,
    ascii_only: bool,
    around: str,
    size: int,
    rows: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    elements = [{"first": True}, *elements]  # whatever else begins so is lines to be refused
    folder = tmp_path_factory.mktemp("cut")
    text = json.dumps(elements, ensure_ascii=ascii_only, indent=indent)
    (folder / "a.json").write_bytes((around + text + around.strip("\ufeff")).encode())
    lines = "".join(json.dumps(element) + "\n" for element in elements)
    (folder / "a.jsonl").write_text(lines)
    found, problems = read(folder / "a.json", text_size=size, rows=rows)
    expected = read(folder / "a.jsonl")
    assert found == expected[0]
    numbers = [problem.split(":")[0] for problem in problems]
    assert numbers == [problem.split(":")[0].replace("line", "element") for problem in expected[1]]
    source, starts = Source(folder / "a.json"), []
    for chunk in Reading(source, Options(skip_bad_lines=True, text_size=size)).chunks():
        assert chunk.starts is not None
        starts.append(chunk.starts)
    places = np.concatenate(starts)
    records = list(line_reader.line_records(source, places))
    assert records == [elements[number - 1] for _, _, number in found]


BAD: dict[str, tuple[str, int, str, int]] = {
    # Name: text, the element that is named, the problem, and how many can be used.
    "a number": ("[{}, 3, {}, {}]", 2, "expected an object, found '3'", 3),
    "no answer": ('[{}, {"question": "Q01"}, {}]', 2, "missing key 'answer'", 2),
    "broken": ('[{}, {"question": "Q01" "answer": ""}, {}]', 2, "is not JSON", 2),
    "a line end in a text": ('[{}, {"question": "Q01", "answer": "\n"}, {}]', 2, "control", 2),
    "not closed": ("[{}, {}, ", 3, "the array is not closed", 2),
    "cut short": ('[{}, {}, {"question": "Q0', 3, "the array is not closed", 2),
    "empty element": ("[{}, , {}]", 2, "extra comma", 1),
    "comma at the end": ("[{}, {},\n]", 3, "extra comma", 2),
    "text behind": ("[{}, {}]\n{}\n", 3, "unexpected text after the end of the array", 2),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_element_is_named_or_skipped(name: str, benchmark: Path, tmp_path: Path) -> None:
    text, number, problem, used = BAD[name]
    parts = text.split("{}")
    records = (json.dumps(record, ensure_ascii=False) for record in RECORDS)
    path = tmp_path / "bad.json"
    path.write_text(parts[0] + "".join(next(records) + part for part in parts[1:]))
    with pytest.raises(InputError) as caught:
        score_file(path, benchmark)
    assert (caught.value.line, caught.value.item) == (number, "element")
    assert f"bad.json, element {number}: " in str(caught.value)
    assert problem in str(caught.value)
    assert problem in str(score_file(path, benchmark, skip_bad_lines=True).problems[0])
    assert score_file(path, benchmark, skip_bad_lines=True).height == used


def test_an_unknown_question_is_named_by_its_element(benchmark: Path, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([*RECORDS, {"question": "x", "answer": ""}]))
    with pytest.raises(InputError, match=r"a\.json, element 5, question 'x': "):
        score_file(tmp_path / "a.json", benchmark)


def test_an_empty_array_has_no_responses(benchmark: Path, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(" [ ]\n")
    with pytest.raises(InputError, match="no responses"):
        score_file(tmp_path / "a.json", benchmark)


def test_a_damaged_archive_keeps_whole_elements(benchmark: Path, tmp_path: Path) -> None:
    text = json.dumps(RECORDS * 500).encode()
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(text)[:-300])
    result = score_file(tmp_path / "a.json.gz", benchmark, skip_bad_lines=True)
    assert 100 < result.height < len(RECORDS) * 500
    assert "cut short" in str(result.problems[0])


def test_an_element_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "LONGEST_LINE", 1000)
    (tmp_path / "a.json").write_text('[{"question": "' + "x" * 5000)
    with pytest.raises(InputError, match="array element is longer than"):
        read(tmp_path / "a.json", text_size=100)


def test_arrays_through_the_command(benchmark: Path, tmp_path: Path) -> None:
    """From standard input, compressed, with all outputs."""
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in RECORDS))
    packed = lzma.compress(json.dumps(RECORDS, indent=1).encode())
    tables, results = [], []
    for source in (tmp_path / "a.jsonl", "-"):
        table, out = tmp_path / "t.csv", tmp_path / "out"
        done = pfgen(
            *("score", source, "-b", benchmark, "--per-response", table, "--out", out),
            stdin=packed,
        )
        assert done.returncode == 0, done.stderr
        tables.append(table.read_text().replace(str(source), "-"))
        results.append({**json.loads((out / "result.json").read_bytes()), "input_hash": ""})
    assert tables[0] == tables[1]
    assert results[0] == results[1]


def test_questions_may_be_texts(benchmark: Path, tmp_path: Path) -> None:
    pretty = json.dumps({"question": CATS, "answer": SEAS}, indent=2)
    (tmp_path / "one.json").write_text(pretty)
    with pytest.raises(InputError, match="each object must be on a single line"):
        score_file(tmp_path / "one.json", benchmark)
