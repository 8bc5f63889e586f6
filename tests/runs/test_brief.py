"""Runs that are scored without numpy and polars have the same values, or are left to the general way."""

from __future__ import annotations

import gzip
import json
import logging
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import CATS, GOOD, SEAS, lines, write_benchmark, write_run
from pfgen_rs import Benchmark, Settings, load_benchmark, score_file
from pfgen_rs.io import known_files
from pfgen_rs.questions.known_questions import KnownQuestions, KnownSet
from pfgen_rs.runs.brief import BriefRun, scored_briefly
from pfgen_rs.runs.summary_row import summary_row, unclean_note
from public_data import needed, published_runs


class Known:
    """A benchmark that was read, with its scorers in the cache, and what is known of it."""

    def __init__(self, folder: Path) -> None:
        known = KnownQuestions(folder)
        self.read: Benchmark = load_benchmark(folder).prepare()
        self.read.batches(list(self.read))
        known.keep(self.read)
        self.known = KnownQuestions(folder).found(Settings())
        self._cache = os.environ["PFGEN_RS_CACHE"]

    def brief(self, path: Path) -> BriefRun | None:
        assert isinstance(self.known, KnownSet)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PFGEN_RS_CACHE", self._cache)
            return scored_briefly(str(path), self.known)


@pytest.fixture(scope="module")
def patch() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_files, "_TICK", -(10**12))  # files may have just changed
        yield patch


@pytest.fixture(scope="module")
def tiny(patch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Known:
    return Known(write_benchmark(tmp_path_factory.mktemp("tiny") / "questions"))


def same(brief: BriefRun | None, path: Path, benchmark: Benchmark) -> None:
    result = score_file(path, benchmark)
    assert brief is not None
    assert summary_row(brief) == summary_row(result)
    assert json.dumps(summary_row(brief)) == json.dumps(summary_row(result))
    assert brief.moments == result.moments
    assert unclean_note(brief, "--clean") == unclean_note(result, "--clean")
    for name in ("config", "input_hash", "unclean", "missing", "place", "is_partial", "height"):
        assert getattr(brief, name) == getattr(result, name), name


ANSWERS = st.text("猫海青赤は狩りのために体力を残して眠ります。水吸光 \nQ:A𠮷", max_size=60)
RUNS = st.lists(st.tuples(st.sampled_from([CATS, SEAS, "Q01", "Q02"]), ANSWERS), min_size=1)


@given(RUNS, st.sampled_from([None, "model"]), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_values_are_the_same(
    tiny: Known, tmp_path: Path, answers: Any, model: str | None, packed: bool
) -> None:
    run = write_run(tmp_path / "run", answers, model)
    (run / "trials.jsonl.xz").unlink(missing_ok=True)
    if packed:
        (run / "trials.jsonl.xz").write_bytes(lzma.compress(lines(answers)))
    same(tiny.brief(run), run, tiny.read)


def test_a_file_with_any_name_is_the_same(tiny: Known, tmp_path: Path) -> None:
    path = tmp_path / "一 a.jsonl"
    path.write_bytes(lines())
    same(tiny.brief(path), path, tiny.read)


def test_escapes_and_other_keys_are_the_same(tiny: Known, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records = [{"question": q, "answer": a, "more": [1, None]} for q, a in GOOD]
    path.write_text("".join(f"\n{json.dumps(r)}\r\n" for r in records)[1:], encoding="ascii")
    same(tiny.brief(path), path, tiny.read)


@pytest.mark.parametrize("mode", ["chat", "completion", "qa", "other"])
def test_what_is_not_clean_depends_on_the_mode(tiny: Known, tmp_path: Path, mode: str) -> None:
    odd = ["A: 猫", " 猫", "猫\x1f", "猫\n\n猫", "Q: 猫", "\x85猫"]
    run = write_run(tmp_path / "run", [*GOOD, *((CATS, text) for text in odd)])
    (run / "config.json").write_text(json.dumps({"model": "a", "mode": mode}), encoding="utf-8")
    same(tiny.brief(run), run, tiny.read)


UNUSUAL: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "blank": lambda _: b"\n\n",
    "no newline at the end": lambda text: text.removesuffix(b"\n"),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "an array": lambda text: b"[" + text.replace(b"\n", b",")[:-1] + b"]",
    "a bad line": lambda text: text + b"{}\n",
    "an unknown question": lambda text: text + b'{"question": "?", "answer": "a"}\n',
    "a number for an answer": lambda text: text + b'{"question": "Q01", "answer": 1}\n',
    "a lone surrogate": lambda text: text + rb'{"question": "Q01", "answer": "\ud800"}' + b"\n",
    "not UTF-8": lambda text: text + b'{"question": "Q01", "answer": "\xff"}\n',
    "gzip": gzip.compress,
    "xz, cut short": lambda text: lzma.compress(text)[:-8],
    "xz, damaged": lambda text: lzma.compress(text)[:40] + b"!" + lzma.compress(text)[41:],
    "xz, two streams": lambda text: lzma.compress(text) * 2,
    "xz, more behind it": lambda text: lzma.compress(text) + b"\0",
    "xz, much text": lambda _: lzma.compress(lines([(CATS, "猫" * 6_000_000)])),
    "large": lambda text: text * 10_000,
}


@pytest.mark.parametrize("change", UNUSUAL.values(), ids=UNUSUAL)
def test_what_is_unusual_is_left_to_the_general_way(
    tiny: Known, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(change(lines()))
    assert tiny.brief(path) is None


def test_other_files_are_left_to_the_general_way(tiny: Known, tmp_path: Path) -> None:
    for name in ("a.csv", "a.csv.xz", "a.parquet", "a.json", "a", "a[1].jsonl"):
        (tmp_path / name).write_bytes(lines())
        assert tiny.brief(tmp_path / name) is None, name
    (tmp_path / "folder").mkdir()
    write_run(tmp_path / "below" / "run")
    for name in ("folder", "below", "missing.jsonl", "*.jsonl", "a\0b.jsonl"):
        assert tiny.brief(tmp_path / name) is None, name
    assert tiny.brief(Path("-")) is None
    run = write_run(tmp_path / "run")
    (run / "config.json").write_bytes(b"{")
    assert tiny.brief(run) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tiny: Known, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    assert tiny.brief(tmp_path / "a.jsonl") is None


@pytest.mark.usefixtures("patch")
def test_regular_expressions_are_left_to_the_general_way(tmp_path: Path) -> None:
    changes = {"Q02": {"keywords": [{"t": "赤.*光"}]}}
    bench = Known(write_benchmark(tmp_path / "questions", changes))
    assert bench.brief(write_run(tmp_path / "run")) is None
    only = write_run(tmp_path / "other", [(CATS, "猫")])
    same(bench.brief(only), only, bench.read)


@pytest.mark.usefixtures("patch")
def test_without_a_sound_index_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PFGEN_RS_CACHE", str(tmp_path / "cache"))
    bench, run = Known(write_benchmark(tmp_path / "questions")), write_run(tmp_path / "run")
    same(bench.brief(run), run, bench.read)
    path = bench.read.index_path
    assert path is not None
    content = path.read_bytes()
    other = content[:-9] + bytes(255 - byte for byte in content[-9:])
    with caplog.at_level(logging.DEBUG):
        for damaged in (content[:-1], other, b"", b"x" * len(content)):
            path.write_bytes(damaged)
            assert bench.brief(run) is None
        path.unlink()
        assert bench.brief(run) is None
        path.mkdir()
        assert bench.brief(run) is None
    assert not caplog.messages


@pytest.mark.usefixtures("patch")
@pytest.mark.parametrize("folder", published_runs())
def test_published_runs_are_the_same(folder: str, published: Known) -> None:
    path = needed("pfgen-bench") / folder
    if not list(path.glob("trials.jsonl*")):
        pytest.skip("without answers")
    same(published.brief(path), path, published.read)


@pytest.fixture(scope="module")
def published(patch: pytest.MonkeyPatch) -> Known:
    return Known(needed("pfgen-bench"))
