"""What is remembered of question files only ever saves time: whatever has changed is read."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import helpers
from pfgen_rs import Benchmark, BenchmarkError, Settings, load_benchmark
from pfgen_rs.io import known_files
from pfgen_rs.questions.folder import KnownQuestions, KnownSet


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return helpers.write_benchmark(tmp_path / "questions")


@pytest.fixture
def remembered(folder: Path, cache: Path, settled: None) -> Path:
    """A folder of questions that are known."""
    keep(folder)
    assert found(folder) is not None
    return folder


def keep(folder: Path, settings: Settings | None = None) -> None:
    known = KnownQuestions(folder)
    known.keep(load_benchmark(folder, settings=settings))


def found(folder: Path) -> KnownSet | None:
    return KnownQuestions(folder).found(Settings())


def remembered_file(cache: Path) -> Path:
    [path] = (cache / "questions").iterdir()
    return path


def test_known_questions_are_those_of_the_files(remembered: Path) -> None:
    known, read = found(remembered), load_benchmark(remembered)
    assert known is not None
    assert known.metadata_hash == read.metadata_hash
    for unread, question in zip(known.questions, read, strict=True):
        assert repr(unread) == repr(question)
        assert unread.has_tokens is question.has_tokens
        texts = {source: tuple(answers) for source, answers in unread.answers.items()}
        assert dataclasses.replace(unread, answers=texts) == question
        assert unread.answers["A"][0] == question.answers["A"][0]
        assert (unread.digest, unread.file) == (question.digest, question.file)


def test_answers_are_read_only_if_somebody_asks_for_them(
    remembered: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = load_benchmark(remembered)
    expected = whole.score_batch(["Q01", "Q02"], ["桜の花", "青い空"])
    known = found(remembered)
    assert known is not None
    for path in remembered.glob("Q*"):
        path.rename(path.with_suffix(".away"))
    bench = Benchmark(known.questions, known.metadata_hash, Settings(), remembered)
    assert bench.score_batch(["Q01", "Q02"], ["桜の花", "青い空"]).equals(expected)
    with pytest.raises(BenchmarkError, match=r"Q01\.json"):
        bench.explain("Q01", "桜の花")
    for path in remembered.glob("Q*"):
        path.rename(path.with_suffix(".json"))
    assert repr(bench.explain("Q01", "桜")) == repr(whole.explain("Q01", "桜"))
    _overwritten(remembered / "Q02.json")
    with pytest.raises(BenchmarkError, match=r"Q02\.json: changed while it was in use"):
        bench.explain("Q02", "青い空")


def test_a_damaged_index_of_known_questions_is_built_again(remembered: Path, cache: Path) -> None:
    expected = load_benchmark(remembered).score_batch(["Q01", "Q02"], ["桜の花", "青い空"])
    [index] = (cache / "indexes").iterdir()
    content = bytearray(index.read_bytes())
    content[len(content) // 2] ^= 1
    index.write_bytes(content)
    known = found(remembered)
    assert known is not None
    bench = Benchmark(known.questions, known.metadata_hash, Settings(), remembered)
    assert bench.score_batch(["Q01", "Q02"], ["桜の花", "青い空"]).equals(expected)


def test_a_folder_with_the_questions_in_data_is_the_same(tmp_path: Path, remembered: Path) -> None:
    (tmp_path / "checkout").mkdir()
    remembered.rename(tmp_path / "checkout" / "data")
    keep(tmp_path / "checkout")
    assert repr(found(tmp_path / "checkout")) == repr(found(tmp_path / "checkout" / "data"))


def _overwritten(path: Path) -> None:
    time, content = path.stat().st_mtime_ns, path.read_bytes()
    with path.open("r+b") as file:
        file.write(content.replace("赤".encode(), "青".encode()))
    os.utime(path, ns=(time, time))
    assert path.stat().st_size == len(content)


def _replaced(path: Path, age: int) -> None:
    time = path.stat().st_mtime_ns
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().replace("赤".encode(), "青".encode()))
    os.utime(other, ns=(time - age, time - age))
    other.replace(path)


def _made_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


CHANGED: dict[str, Callable[[Path], Any]] = {
    "in place, with the old time": _overwritten,
    "replaced by an older file": lambda path: _replaced(path, age=10**15),
    "replaced by a file of the same time": lambda path: _replaced(path, age=0),
    "touched": lambda path: os.utime(path),
    "gone": lambda path: path.unlink(),
    "another one": lambda path: path.with_name("Q03.json").write_bytes(path.read_bytes()),
    "a folder": lambda path: _made_folder(path),
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_changed_files_are_not_known(remembered: Path, change: Callable[[Path], Any]) -> None:
    change(remembered / "Q02.json")
    assert found(remembered) is None


def test_files_that_have_just_changed_are_not_remembered(folder: Path, cache: Path) -> None:
    assert found(folder) is None
    keep(folder)
    assert not (cache / "questions").exists()


def test_a_change_before_files_are_read_is_seen(folder: Path, cache: Path, settled: None) -> None:
    known = KnownQuestions(folder)
    _overwritten(folder / "Q02.json")
    known.keep(load_benchmark(folder))  # the states are those before the change
    assert found(folder) is None


def test_what_is_known_is_not_written_again(remembered: Path, cache: Path) -> None:
    before = remembered_file(cache).stat()
    keep(remembered)
    assert remembered_file(cache).stat() == before


@pytest.mark.parametrize("unit", ["word", "token"])
def test_other_units_are_forgotten(tmp_path: Path, cache: Path, settled: None, unit: Any) -> None:
    tokens = {"answers": {"A": [[1, 2, 3]]}, "keywords": []}
    changes = dict.fromkeys(helpers.QUESTIONS, tokens) if unit == "token" else None
    folder = helpers.write_benchmark(tmp_path / "other", changes)
    keep(folder, Settings(unit=unit))
    assert found(folder) is None


def _known(content: bytes) -> Any:
    return json.loads(content.partition(b"\n")[2])


def _edited(content: bytes, **more: Any) -> bytes:
    new = json.dumps({**_known(content), **more}).encode()
    return known_files._known_digest(new) + b"\n" + new


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut short": lambda content: content[:-100],
    "a letter": lambda content: content.replace("狩り".encode(), "狩る".encode()),
    "another version": lambda content: _edited(content, version=[0, "0.0.0"]),
    "noise": lambda content: os.urandom(len(content)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_costs_time(remembered: Path, cache: Path, damage: Callable[[bytes], bytes]) -> None:
    good = remembered_file(cache).read_bytes()
    remembered_file(cache).write_bytes(damage(good))
    assert found(remembered) is None
    keep(remembered)
    assert remembered_file(cache).read_bytes() == good


def test_a_cache_that_cannot_be_written_costs_only_time(
    tmp_path: Path, folder: Path, settled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("PFGEN_RS_CACHE", str(tmp_path / "file"))
    keep(folder)
    assert found(folder) is None
