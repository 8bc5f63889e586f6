"""JSON lines and arrays are cut anywhere; indented JSON is what `json` writes."""

from __future__ import annotations

import datetime
import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings as examples, strategies as st

from helpers import CATS, GOOD, SEAS
from pfgen_rs import InputError, PfgenError, score_file
from pfgen_rs.io import compression, lines as line_reader
from pfgen_rs.io.arrays import is_array
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.json_lines import indented
from pfgen_rs.io.lines import parse_line, text_field
from pfgen_rs.io.reading import Reading
from pfgen_rs.io.source import Source

LINES = st.one_of(
    st.builds(
        lambda q, a, plain: json.dumps({"question": q, "x": [a], "answer": a}, ensure_ascii=plain),
        st.text(max_size=5),
        st.text(),
        st.booleans(),
    ).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=30),
    st.sampled_from(
        [
            b"",
            b" \x0b\r",
            b'{"question": "q", "answer": "a"}\r',
            b'{"question": "q", "answer": 1, "answer": "2"}',
            b'{"question": "q", "answer": "a", "x": NaN}',
            b'{"question": "q", "answer": "a", "x": 1e999}',
            b'{"question": "q", "answer": "a", "x": "\\ud800"}',
            b'{"question": "\\ud83d\\ude00", "answer": "\\/", "x": {"y": {}}}',
            b'{"question": "q", "answer": "a", "x": ' + b"[" * 200 + b"]" * 200 + b"}",
            b'{"question": "q", "answer": "a", "x": ' + b"9" * 5000 + b"}",
            b"[" * 5000,
        ]
    ),
)


PACKED = (b"\xfd7zXZ\x00", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # such files are unpacked first


# such files are refused
OTHER = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR1", b"ARROW1", b"\xff\xfe", b"\xfe\xff")


def one_by_one(content: bytes) -> tuple[list[tuple[str, str, int]], list[tuple[int, str]]]:
    """What each line alone is for Python."""
    found, problems = [], []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = parse_line(line, replace_invalid=False)
            found.append((text_field(record, "question"), text_field(record, "answer"), number))
        except InputError as error:
            problems.append((number, error.problem))
    return found, problems


@examples(max_examples=150)
@given(
    content=st.lists(LINES, max_size=12).map(b"\n".join),
    start=st.sampled_from([b"", b"\xef\xbb\xbf", b"\n"]),
    size=st.integers(1, 200),
    part=st.integers(1, 200),
    rows=st.integers(1, 5),
)
def test_lines_are_cut_anywhere(
    content: bytes,
    start: bytes,
    size: int,
    part: int,
    rows: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Blocks are read in parts, and may end, like lines, in any of them."""
    assume(not (start + content).startswith((*PACKED, *OTHER)))
    assume(not is_array(content))
    path = tmp_path_factory.mktemp("cut") / "a.jsonl"
    path.write_bytes(start + content)
    source = Source(path)
    options = Options(skip_bad_lines=True, text_size=size, rows=rows)
    found, problems, starts = [], [], []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compression, "_CHUNK", part)
        chunks = list(Reading(source, options).chunks())
    for chunk in chunks:
        assert len(chunk) <= rows
        texts = zip(chunk.questions, chunk.answers, chunk.lines.tolist(), strict=True)
        found += list(texts)
        assert chunk.places.starts is not None
        starts += chunk.places.starts.tolist()
        problems += [(problem.line, problem.problem) for problem in chunk.problems]
    assert (found, problems) == one_by_one(start + content)
    records = line_reader.line_records(source, starts)
    assert [(record["question"], record["answer"]) for record in records] == [f[:2] for f in found]


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
        assert chunk.places.starts is not None
        starts.append(chunk.places.starts)
    places = np.concatenate(starts)
    records = list(line_reader.line_records(source, places.tolist()))
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
def test_a_bad_element_is_named_or_skipped(name: str, bench: Path, tmp_path: Path) -> None:
    text, number, problem, used = BAD[name]
    parts = text.split("{}")
    records = (json.dumps(record, ensure_ascii=False) for record in RECORDS)
    path = tmp_path / "bad.json"
    path.write_text(parts[0] + "".join(next(records) + part for part in parts[1:]))
    with pytest.raises(InputError) as caught:
        score_file(path, bench)
    assert (caught.value.line, caught.value.item) == (number, "element")
    assert f"bad.json, element {number}: " in str(caught.value)
    assert problem in str(caught.value)
    assert problem in str(score_file(path, bench, skip_bad_lines=True).problems[0])
    assert score_file(path, bench, skip_bad_lines=True).height == used


UNKNOWN = json.dumps([*RECORDS, {"question": "x", "answer": ""}])
INDENTED = json.dumps({"question": CATS, "answer": SEAS}, indent=2)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (UNKNOWN, r"a\.json, element 5, question 'x': "),
        (" [ ]\n", "no responses"),
        (INDENTED, "each object must be on a single line"),
    ],
)
def test_arrays_of_something_else(content: str, words: str, bench: Path, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(PfgenError, match=words):
        score_file(tmp_path / "a.json", bench)


def test_a_damaged_archive_keeps_whole_elements(bench: Path, tmp_path: Path) -> None:
    text = json.dumps(RECORDS * 500).encode()
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(text)[:-300])
    result = score_file(tmp_path / "a.json.gz", bench, skip_bad_lines=True)
    assert 100 < result.height < len(RECORDS) * 500
    assert "cut short" in str(result.problems[0])


def test_an_element_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "LONGEST_LINE", 1000)
    (tmp_path / "a.json").write_text('[{"question": "' + "x" * 5000)
    with pytest.raises(InputError, match="array element is longer than"):
        read(tmp_path / "a.json", text_size=100)


ATOMS = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.datetimes(), st.dates())
)
KEYS = st.text() | st.integers() | st.booleans() | st.none() | st.floats()
JSON = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner) | st.tuples(inner, inner),
    max_leaves=20,
)


def as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str).encode()


@given(JSON)
@example({})
@example({"a": {}, "b": [], "c": [[], {}]})
@example({"numbers": [math.nan, math.inf, -math.inf, -0.0, 1e22, 5e-324, 10**30]})
@example({'a\nb\u2028\x00"\\': 'a\nb\u2028\x00"\\'})
@example({True: [(1, {"a": (2,)})], 1.5: {None: datetime.time(1)}})
def test_it_is_what_json_writes(value: Any) -> None:
    assert indented(value) == as_json(value)


def test_values_nested_as_deeply_as_json_can() -> None:
    value: Any = 1.5
    for _ in range(300):
        value = [{"a": value}]
    assert indented(value) == as_json(value)


@pytest.mark.parametrize("value", [{(1, 2): 3}, "\ud800", {"\ud800": 1}, [("\ud800",)]])
def test_what_json_refuses_is_refused(value: Any) -> None:
    for write in (as_json, indented):
        with pytest.raises((TypeError, UnicodeEncodeError), match=r"keys must be|surrogates"):
            write(value)


def test_numbers_are_written_as_by_python() -> None:
    random = np.random.default_rng(1)
    shares = random.integers(-(10**7), 10**7, 100_000)
    numbers = [
        *(shares / 1e5).tolist(),
        *np.nextafter(shares / 1e5, random.choice([-1e9, 1e9], len(shares))).tolist(),
        *(shares / 10 ** random.integers(1, 25, len(shares))).tolist(),
        *(random.integers(1, 10**18, 100_000) / 10.0 ** random.integers(-20, 30, 100_000)).tolist(),
        *random.integers(-(2**62), 2**62, 200_000).view(np.float64).tolist(),
        *(2.0 ** np.arange(-1074, 1024)).tolist(),
    ]
    assert indented(numbers) == as_json(numbers)
