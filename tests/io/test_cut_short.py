"""Files whose end is missing are told of; those rewritten while they are read get no score."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pfgen_rs
from helpers import CATS, GOOD, SEAS, lines, pfgen, write_benchmark
from pfgen_rs import Benchmark, InputError, load_benchmark, scan, score_runs
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.source import Source
from pfgen_rs.runs import streaming

PLAIN = f"question,answer\n{CATS},猫は眠ります。\n{SEAS},海は青いです。\n"
QUOTED = f'question,answer\n{CATS},"猫は、\n眠ります。"\n"{SEAS}","海は""青い""です。"\n'


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path_factory.mktemp("tiny"))).prepare()


Said = Callable[..., str | None]


@pytest.fixture
def said(benchmark: Benchmark, tmp_path: Path) -> Said:
    """What is said of a file with this name and content, read whole and in tiny chunks."""

    def found(name: str, content: str | bytes, **how: Any) -> str | None:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        whole = pfgen_rs.score_file(path, benchmark, **how).cut_short
        options, store = Options(text_size=90, rows=1, **how), streaming.new_store(benchmark)
        [parts] = streaming.score_sources(benchmark, [Source(path)], options, store)
        assert repr(parts.cut_short) == repr(whole)
        return None if whole is None else str(whole)

    return found


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.csv", PLAIN[:-1], "row 2"),
        ("a.csv", PLAIN[:-3], "row 2"),
        ("a.csv", PLAIN[: PLAIN.index(SEAS) - 1], "row 1"),
        ("a.csv", f"question,answer\n{CATS}", "row 1"),
        ("a.csv", QUOTED[:-1], "row 2"),
        ("a.csv", QUOTED[: QUOTED.index('青い""')], "row 2"),
        ("a.csv", PLAIN.replace("\n", "\r\n")[:-1], "row 2"),
        ("a.csv", PLAIN.replace("\n", "\r\n")[:-2], "row 2"),
        ("a.tsv", PLAIN.replace(",", "\t")[:-2], "row 2"),
        ("a.csv.gz", gzip.compress(PLAIN[:-2].encode()), "row 2"),
        ("a.jsonl", lines()[:-1], "line 4"),
        ("a.jsonl", lines().replace(b"\n", b"\r\n")[:-1], "line 4"),
        ("a.jsonl", b"\n\n" + lines(GOOD[:1])[:-1], "line 3"),
        ("a.jsonl", b"\xef\xbb\xbf" + lines()[:-1], "line 4"),
        ("a.jsonl.xz", lzma.compress(lines()[:-1]), "line 4"),
        ("a.jsonl.gz", gzip.compress(lines()[:-1]), "line 4"),
    ],
)
def test_a_last_record_without_a_newline(
    said: Said, tmp_path: Path, name: str, content: str | bytes, place: str
) -> None:
    words = f"{place}: the last {place.split()[0]} has no newline .*cut short"
    assert re.match(f"{tmp_path / name}, {words}", said(name, content) or "")
    with pytest.raises(InputError, match=words):
        said(name, content, strict=True)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", PLAIN),
        ("a.csv", QUOTED),
        ("a.csv", PLAIN.replace("\n", "\r\n")),
        ("a.jsonl", lines()),
        ("a.jsonl", lines() + b"  "),
        ("a.jsonl", lines(GOOD[:1])[:-1]),
        ("a.jsonl", b"\xef\xbb\xbf" + lines(GOOD[:1])[:-1]),
        ("a.json", json.dumps([{"question": q, "answer": a} for q, a in GOOD], indent=1)),
    ],
)
def test_files_that_end_as_they_should(said: Said, name: str, content: str | bytes) -> None:
    assert said(name, content, strict=True) is None


def test_a_broken_tail_is_skipped_as_before(
    said: Said, benchmark: Benchmark, tmp_path: Path
) -> None:
    assert said("a.jsonl", lines()[:-5], skip_bad_lines=True) is None
    result = pfgen_rs.score_file(tmp_path / "a.jsonl", benchmark, skip_bad_lines=True)
    assert [each.line for each in result.problems] == [4]


@pytest.mark.parametrize("text", [PLAIN, QUOTED])
def test_no_cut_of_a_csv_is_accepted_silently(said: Said, text: str) -> None:
    whole = text.encode()
    ends = {i + 1 for i, byte in enumerate(whole) if byte == ord("\n")}
    cuts = [i for i in range(len("question,answer\n") + 1, len(whole)) if i not in ends]
    for cut in random.Random(1).sample(cuts, 40):
        with pytest.raises(InputError):
            said("a.csv", whole[:cut], strict=True)


def test_the_first_run_of_a_file_says_it(benchmark: Benchmark, tmp_path: Path) -> None:
    rows = [f"{CATS},猫は眠ります。,{model}" for model in ("a", "b", "a")]
    (tmp_path / "a.csv").write_text("\n".join(["question,answer,model", *rows]), encoding="utf-8")
    results = pfgen_rs.score_runs(tmp_path / "a.csv", benchmark, run_field="model")
    assert [result.cut_short is not None for result in results] == [True, False]


SAYING: dict[str, Callable[..., object]] = {
    "score_file": pfgen_rs.score_file,
    "score_runs": pfgen_rs.score_runs,
    "scan": lambda *what, **how: pfgen_rs.scan(*what, **how).collect(),
}


@pytest.mark.parametrize("name", SAYING)
def test_the_library_logs_it_once_or_is_strict(
    benchmark: Benchmark, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    (tmp_path / "a.csv").write_text(PLAIN[:-2], encoding="utf-8")
    SAYING[name](tmp_path / "a.csv", benchmark)
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert "row 2" in record.getMessage()
    with pytest.raises(Exception, match="cut short"):
        SAYING[name](tmp_path / "a.csv", benchmark, strict=True)


def test_the_command_warns_or_stops(bench: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out"
    path.write_text(PLAIN[:-2], encoding="utf-8")
    arguments = ("score", path, "-b", bench, "--out", out)
    strict = pfgen(*arguments, "--strict")
    assert (strict.returncode, strict.stdout, out.exists()) == (2, "", False)
    assert re.fullmatch(f"error: {path}, row 2: .*\n", strict.stderr)
    warned = pfgen(*arguments)
    assert warned.returncode == 0
    assert re.fullmatch(f"warning: {path}, row 2: .*--strict.*\n", warned.stderr)
    assert (out / "result.json").exists()


def frame(name: str, text: str) -> pl.DataFrame:
    """So many rows or bytes that not all are read before the first are scored."""
    rows, times = (100_000, 5) if name in ("x.parquet", "x.arrow") else (12_000, 1_000)
    answers = [f"{text * times}{row}" for row in range(rows)]
    return pl.DataFrame({"question": [CATS, SEAS] * (rows // 2), "answer": answers})


def binary(write: Callable[..., object], **how: Any) -> bytes:
    file = io.BytesIO()
    write(file, **how)
    return file.getvalue()


FORMATS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    "x.jsonl": lambda rows: rows.write_ndjson().encode(),
    "x.jsonl.gz": lambda rows: gzip.compress(rows.write_ndjson().encode(), 0),
    "x.json": lambda rows: json.dumps(rows.to_dicts(), ensure_ascii=False).encode(),
    "x.csv": lambda rows: rows.write_csv().encode(),
    "x.parquet": lambda rows: binary(
        rows.write_parquet, compression="uncompressed", row_group_size=1_000
    ),
    "x.arrow": lambda rows: binary(rows.write_ipc),
}


def rewrite(path: Path, content: bytes) -> None:
    with path.open("r+b") as file:
        file.write(content)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_rewritten_in_use_gets_no_score(name: str, bench: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    before, after = (FORMATS[name](frame(name, text)) for text in ("猫", "海"))
    assert len(before) == len(after)
    path.write_bytes(before)
    begun, seen = list[object](), set[str]()

    def progress(*what: object) -> None:
        if not begun:
            rewrite(path, after)
        begun.append(what)

    with pytest.raises(InputError, match=f"{name}: the file changed while it was in use: score it"):
        score_runs(path, bench, progress=progress)
    assert begun

    def note(found: pl.DataFrame) -> pl.DataFrame:
        rewrite(path, after)
        seen.update(text[:1] for text in found["answer"])
        return found

    path.write_bytes(before)
    query = scan(path, bench).select("answer").map_batches(note, streamable=True)
    with pytest.raises((InputError, pl.exceptions.ComputeError), match="changed while it was in"):
        query.collect(engine="streaming")
    assert seen <= {"猫"}
