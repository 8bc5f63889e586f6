"""JSON lines in chunks: what each line alone is for Python, wherever the text is cut."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from pfgen_rs import InputError
from pfgen_rs.io import compression
from pfgen_rs.io import lines as line_reader
from pfgen_rs.io.arrays import is_array
from pfgen_rs.io.chunk import Options
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
        assert chunk.starts is not None
        starts += chunk.starts.tolist()
        problems += [(problem.line, problem.problem) for problem in chunk.problems]
    assert (found, problems) == one_by_one(start + content)
    records = line_reader.line_records(source, pl.Series(starts, dtype=pl.Int64).to_numpy())
    assert [(record["question"], record["answer"]) for record in records] == [f[:2] for f in found]
