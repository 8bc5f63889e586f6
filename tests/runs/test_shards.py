"""Shards: every piece of the files in exactly one of them, and all together as one run of everything."""

from __future__ import annotations

import json
import os
import random
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import helpers
from helpers import CATS, GOOD, SEAS
from pfgen_rs import (
    Benchmark,
    InputError,
    OutputError,
    PfgenError,
    Settings,
    SettingsError,
    load_benchmark,
    merge_shards,
    score_runs,
    score_shard,
)
from pfgen_rs.io import TABLES, Options, Source
from pfgen_rs.io.unclean import Census, counted_together
from pfgen_rs.runs import journal, shard_folder, shard_plan, streaming
from pfgen_rs.runs.merging import MergeJob
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.resumable import Job
from pfgen_rs.runs.shard_plan import Input, Piece, Shard
from pfgen_rs.runs.shards import ShardJob

ROWS = 4  # in a chunk; so files are divided after 16
MODELS = ["b", "a", "org/c"]


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return load_benchmark(helpers.write_benchmark(tmp_path / "questions"))


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def told(result: Result) -> tuple[Any, ...]:
    """What is said of a result."""
    problems = [(type(p), str(p), p.line, p.question, p.item) for p in result.problems]
    unclean = list(result.unclean.items())
    note = str(result.cut_short)
    return result.name, result.place, str(result), problems, unclean, note, result.input_hash


def same_table(found: Path, expected: Path) -> None:
    """Compare all bytes; of Arrow files the values, because polars lays out equal texts in several ways."""
    if found.suffix == ".arrow":
        assert_frame_equal(pl.read_ipc(found), pl.read_ipc(expected))
    else:
        assert found.read_bytes() == expected.read_bytes(), found.suffix


def check_same(
    bench: Benchmark,
    place: Path,
    paths: Sequence[Path],
    total: int,
    options: Options | None = None,
    tables: Sequence[str] = (".parquet",),
    **how: Any,
) -> list[Result]:
    """Score files at once and in shards, which are merged in another order, and compare everything."""
    options = options or Options()
    names = [str(path) for path in paths]
    expected: list[Result] = []
    for suffix in tables:
        table = place / f"one{suffix}"
        with Job(
            bench, names, options, out=place / "one", per_response=table, allow_partial=True, **how
        ) as job:
            expected = job.run()
            job.write()
    for number in range(1, total + 1):
        shard = Shard(number, total)
        ShardJob(bench, names, options, shard, rows=True, **how).run(place / f"shards/{number}")
    shards = [place / f"shards/{number}" for number in range(1, total + 1)]
    random.Random(total).shuffle(shards)
    found: list[Result] = []
    for suffix in tables:
        table = place / f"all{suffix}"
        with MergeJob(
            shards, lambda *_: bench, out=place / "all", per_response=table, allow_partial=True
        ) as merging:
            found = merging.run()
            merging.write()
        same_table(table, place / f"one{suffix}")
    assert contents(place / "all") == contents(place / "one")
    assert list(map(told, found)) == list(map(told, expected))
    for one, other in zip(expected, found, strict=True):
        assert_frame_equal(other.frame.select(one.frame.columns), one.frame)
    return found


# The plan


sizes = st.lists(st.integers(0, 1 << 40) | st.integers(0, 100), max_size=30)


@given(sizes, st.integers(1, 40))
def test_pieces_are_dealt_once_and_evenly(weights: list[int], count: int) -> None:
    dealt = shard_plan._dealt(weights, count)
    assert len(dealt) == count
    assert sorted(piece for shard in dealt for piece in shard) == list(range(len(weights)))
    assert all(shard == sorted(shard) for shard in dealt)
    loads = [sum(weights[piece] for piece in shard) for shard in dealt]
    assert max(loads) <= sum(weights) / count + max(weights, default=0)
    assert dealt == shard_plan._dealt(weights, count)


@given(st.integers(1, 1 << 45), st.integers(0, 10_000_000), st.integers(1, 40))
def test_pieces_of_a_file_are_all_of_it(size: int, rows: int, count: int) -> None:
    step = 131_072
    file = Input("a.parquet", size, "", "", rows, "0")
    pieces = shard_plan._pieces_of_file(0, file, size / count, step)
    if pieces == [Piece(0)]:
        return
    ranges = [piece.rows for piece in pieces if piece.rows is not None]
    assert len(ranges) == len(pieces) > 1
    assert [first for first, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert ranges[-1][1] == rows
    assert all(first % step == 0 and first < end for first, end in ranges)
    assert size > shard_plan.SPLIT_FROM


def test_files_of_lines_and_small_tables_stay_whole(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.parquet"]
    paths[0].write_bytes(helpers.lines(GOOD * 100))
    pl.DataFrame({"question": [CATS], "answer": ["猫"]}).write_parquet(paths[1])
    plan = shard_plan.plan_shards(list(map(Source, paths)), 5, Options())
    assert plan.pieces == [Piece(0), Piece(1)]
    assert plan.shards == [[0], [1], [], [], []]
    assert [file.rows for file in plan.inputs] == [None, None]


WRONG_SHARDS = ["0/7", "8/7", "1/0", "3", "1/7/2", "-1/7", "a/b", "", "１/７", "1/9999999"]


@pytest.mark.parametrize("text", WRONG_SHARDS)
def test_there_is_no_such_shard(text: str) -> None:
    with pytest.raises(SettingsError, match="invalid"):
        Shard.parse(text)


def test_shards_count_from_one() -> None:
    assert Shard.parse("7/7") == Shard.of("7/7") == Shard.of((7, 7)) == (7, 7)
    for wrong in (3, (3,), (3, 7, 1), ("3", "7"), (0.5, 2), None):
        with pytest.raises(SettingsError, match="expected 'I/N' or"):
            Shard.of(wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=r"1/7 to 7/7 .*--array=1-7"):
        Shard.parse("0/7")


@given(
    st.lists(st.lists(st.sampled_from(["猫", " 猫", "Q:", "猫\n\n"]), max_size=12), max_size=8),
    st.integers(0, 20),
)
def test_unclean_answers_are_counted_as_in_one_file(chunks: list[list[str]], checked: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pfgen_rs.io.unclean.CHECKED", checked)
        columns = [pl.Series(chunk, dtype=pl.String) for chunk in chunks]
        whole, expected = Census(), Counter[str]()
        pieces = [Census(piece=True) for _ in range(3)]
        for number, column in enumerate(columns):
            expected.update(whole.count(column, "completion"))
            pieces[number * 3 // len(columns)].count(column, "completion")
        found = counted_together(chunk for piece in pieces for chunk in piece.counted)
    assert list(found.items()) == list(expected.items())


# Merging


def write_many(folder: Path) -> list[Path]:
    """Runs in several formats, with a config and without, whole and partial, clean and unclean."""
    folder.mkdir()
    first, second = folder / "a.jsonl", folder / "b.csv"
    first.write_bytes(helpers.lines(GOOD * 3))
    pl.DataFrame(
        [{"question": q, "answer": f" {a}", "note": i} for i, (q, a) in enumerate(GOOD)]
    ).write_csv(second)
    third = helpers.write_run(folder / "c", model="organisation/c")
    cut = folder / "d.jsonl"
    cut.write_bytes(helpers.lines(GOOD)[:-1])
    partial = folder / "e.parquet"
    pl.DataFrame({"question": [CATS] * 3, "answer": ["猫", "犬", "眠る"]}).write_parquet(partial)
    return [first, second, third, cut, partial]


@pytest.mark.parametrize("total", [1, 2, 7])
def test_shards_are_as_one_run(total: int, bench: Benchmark, tmp_path: Path) -> None:
    paths = write_many(tmp_path / "runs")
    found = check_same(bench, tmp_path, paths, total, tables=TABLES, keep=["note"])
    assert [result.is_partial for result in found] == [False] * 4 + [True]


def write_large(path: Path, rows: int = 90) -> Path:
    """A table of many chunks, in which some rows cannot be scored."""
    answers = [answer for _, answer in GOOD]
    pl.DataFrame(
        {
            "question": [[CATS, SEAS, "Q02"][i % 3] for i in range(rows - 1)] + ["誰？"],
            "answer": [
                None if i % 31 == 30 else f"{' ' * (i % 11 == 5)}{answers[i % 4]}{i % 13}"
                for i in range(rows)
            ],
            "model": [MODELS[max(i // 20 - i % 3, 0) % 3] for i in range(rows)],
            "number": range(rows),
            "at": [datetime(2025, 1, 1 + i // 24, i % 24) for i in range(rows)],
            "tags": [[i, i] for i in range(rows)],
        }
    ).write_parquet(path, row_group_size=10)
    return path


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> Options:
    """Options with which small tables are divided; only every other answer of a file is checked early."""
    monkeypatch.setattr(shard_plan, "SPLIT_FROM", 500)
    monkeypatch.setattr("pfgen_rs.io.unclean.CHECKED", 24)
    return Options(rows=ROWS, skip_bad_lines=True)


@pytest.mark.parametrize("how", [{}, {"run_field": "model"}, {"keep": "none"}])
@pytest.mark.parametrize("total", [2, 5])
def test_a_divided_file_is_as_one(
    how: dict[str, Any], total: int, bench: Benchmark, divided: Options, tmp_path: Path
) -> None:
    paths = [write_large(tmp_path / "large.parquet")]
    plan = shard_plan.plan_shards(list(map(Source, paths)), total, divided)
    assert len(plan.pieces) > 2
    found = check_same(bench, tmp_path, paths, total, divided, **how)
    assert [problem.line for problem in found[0].problems] == [31, 62, 90]
    if how.get("run_field"):
        assert [result.run for result in found] == MODELS


def test_a_divided_file_beside_others(bench: Benchmark, divided: Options, tmp_path: Path) -> None:
    paths = [*write_many(tmp_path / "runs"), write_large(tmp_path / "runs/large.parquet")]
    options = replace(divided, clean="qa")
    check_same(bench, tmp_path, paths, 4, options, keep=["note", "number"])


def test_similar_questions_are_suggested_as_in_one_file(
    bench: Benchmark, divided: Options, tmp_path: Path
) -> None:
    """For the first few unknown questions of the whole file, not of each piece."""
    path = tmp_path / "large.parquet"
    asked = [CATS if i % 5 else f"{CATS[:-1]}{i}" for i in range(90)]
    answers = [f"{i}{GOOD[i % 4][1] * 3}" for i in range(90)]
    pl.DataFrame({"question": asked, "answer": answers}).write_parquet(path)
    (result,) = check_same(bench, tmp_path, [path], 4, divided)
    suggested = [CATS in str(problem) for problem in result.problems]
    assert suggested == [True] * streaming.SEARCHES + [False] * 13


def test_only_one_shard_reads_all_of_a_divided_file(
    bench: Benchmark, divided: Options, tmp_path: Path
) -> None:
    path = write_large(tmp_path / "large.parquet")
    for number in (1, 2):
        ShardJob(bench, [str(path)], divided, Shard(number, 2)).run(tmp_path / f"{number}")
    found = [
        piece["input_hash"]
        for number in (1, 2)
        for piece in shard_folder.ShardFolder(tmp_path / f"{number}").pieces()
    ]
    assert sum(map(bool, found)) == 1
    (merged,) = merge_shards([tmp_path / "1", tmp_path / "2"], bench)
    path.unlink()
    assert merged.score
    with pytest.raises(InputError, match="was divided among shards, whose merging reads"):
        merged.to_dict()


def test_a_divided_file_that_changed_gives_no_samples(
    bench: Benchmark, divided: Options, tmp_path: Path
) -> None:
    path = write_large(tmp_path / "large.parquet")
    ShardJob(bench, [str(path)], divided, Shard(1, 1)).run(tmp_path / "1")
    (merged,) = merge_shards(tmp_path / "1", bench)
    write_large(path, 89)
    with pytest.raises(InputError, match="changed after it was scored"):
        merged.to_dict()


def test_functions(bench: Benchmark, tmp_path: Path) -> None:
    paths = write_many(tmp_path / "runs")[:3]
    expected = score_runs(paths, bench)
    numbers = [
        score_shard(paths, (i, 2), tmp_path / f"shards/{i}", bench, rows=True) for i in (1, 2)
    ]
    assert sum(numbers) == sum(result.height for result in expected)
    found = merge_shards(tmp_path / "shards", out=tmp_path / "out")
    assert [result.to_bytes() for result in found] == [result.to_bytes() for result in expected]
    assert len(contents(tmp_path / "out")) == 3
    for one, other in zip(expected, found, strict=True):
        assert_frame_equal(one.by_question, other.by_question)
        assert_frame_equal(one.frame, other.frame.select(one.frame.columns))
        assert one.with_summation("compensated").score == other.with_summation("compensated").score


def test_a_shard_replaces_an_earlier_one_and_nothing_else(bench: Benchmark, tmp_path: Path) -> None:
    path = helpers.write_run(tmp_path / "run")
    out = tmp_path / "shard"
    left = tmp_path / f".shard.{'0' * 16}.tmp"  # by a killed process
    left.mkdir()
    os.utime(left, (0, 0))
    for _ in range(2):
        score_shard(path, "1/1", out, bench)
        assert sorted(place.name for place in tmp_path.iterdir()) == ["questions", "run", "shard"]
    with pytest.raises(OutputError, match="not empty and not a shard"):
        score_shard(path, "1/1", path, bench)
    assert contents(path) == {"trials.jsonl": helpers.lines()}


def test_a_shard_that_is_scored_twice_at_once(bench: Benchmark, tmp_path: Path) -> None:
    job = ShardJob(bench, [str(helpers.write_run(tmp_path / "run"))], Options(), Shard(1, 1))
    out = tmp_path / "shard"

    def again(*_: object) -> None:
        score_shard(tmp_path / "run", "1/1", out, bench)

    job._scored_pieces = lambda *rest: [again(), *ShardJob._scored_pieces(job, *rest)][1:]  # type: ignore[assignment, method-assign, func-returns-value]
    job.run(out)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["questions", "run", "shard"]
    assert len(merge_shards(out, bench)) == 1


def test_what_fails_leaves_nothing(bench: Benchmark, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(helpers.lines() + b"{\n")
    with pytest.raises(InputError, match=r"bad\.jsonl, line 5"):
        score_shard(bad, "1/1", tmp_path / "shard", bench)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["bad.jsonl", "questions"]


def test_inputs_that_cannot_be_divided(bench: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="standard input cannot be divided"):
        score_shard("-", "1/2", tmp_path / "shard", bench)
    with pytest.raises(InputError, match="No such file"):
        score_shard(tmp_path / "none.jsonl", "1/2", tmp_path / "shard", bench)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match="not a regular file"):
            score_shard(tmp_path / "pipe", "1/2", tmp_path / "shard", bench)
    with pytest.raises(SettingsError, match="--rows"):
        score_shard(tmp_path, "1/2", tmp_path / "shard", bench, keep="all")


# Shards that do not merge


def edit(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def flipped(content: bytes, at: int, bit: int = 0) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


def older(content: bytes) -> bytes:
    return json.dumps({**json.loads(content), "format": 0}).encode()


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda s: shutil.rmtree(s / "2"), "1 of 3 shards is missing: 2"),
    "doubled": (lambda s: shutil.copytree(s / "2", s / "x"), "shard 2 of 3 was given twice"),
    "manifest": (lambda s: (s / "2/shard.json").unlink(), "shards is missing: 2"),
    "format": (lambda s: edit(s / "2/shard.json", older), "another version of pfgen-rs"),
    "digit": (
        lambda s: edit(
            s / "2/shard.json", lambda c: c.replace(b'"responses": ', b'"responses": 1')
        ),
        "shard.json: is damaged",
    ),
    "no JSON": (lambda s: edit(s / "2/shard.json", lambda c: c[:-9]), "shard.json: is damaged"),
    "no scores": (lambda s: (s / "2/scores.journal").unlink(), "scores.journal: cannot be read"),
    "cut scores": (lambda s: edit(s / "2/scores.journal", lambda c: c[:-1]), "journal: is damaged"),
    "scores": (lambda s: edit(s / "2/scores.journal", lambda c: flipped(c, -9)), "journal: is dam"),
    "header": (lambda s: edit(s / "2/scores.journal", lambda c: flipped(c, 9)), "journal: is dam"),
    "runs": (lambda s: edit(s / "2/runs.jsonl", lambda c: flipped(c, -20)), "jsonl: is damaged"),
    "rows": (lambda s: edit(s / "2/rows.bin", lambda c: flipped(c, -20)), "rows.bin: is damaged"),
    "front": (lambda s: edit(s / "2/rows.bin", lambda c: flipped(c, 0)), "rows.bin: is damaged"),
    "piece": (lambda s: edit(s / "2/rows.bin", lambda c: flipped(c, 4)), "rows.bin: is damaged"),
    "high piece": (
        lambda s: edit(s / "2/rows.bin", lambda c: flipped(c, 4, 2)),
        "rows.bin: is damaged",
    ),
    "cut rows": (lambda s: edit(s / "2/rows.bin", lambda c: c[:-1]), "rows.bin: is damaged"),
    "of another": (
        lambda s: shutil.copy(s / "1/scores.journal", s / "2/scores.journal"),
        "scores.journal: is damaged",
    ),
}


@pytest.fixture
def shards(bench: Benchmark, tmp_path: Path) -> Path:
    """Three shards of two files of equal size, of which the third is empty."""
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_bytes(helpers.lines())
    for number in (1, 2, 3):
        scored(bench, tmp_path, number)
    return tmp_path / "shards"


def scored(bench: Benchmark, place: Path, number: int, **how: Any) -> None:
    paths = [str(place / f"{name}.jsonl") for name in "ab"]
    score_shard(paths, (number, 3), place / f"shards/{number}", bench, **{"rows": True, **how})


def refused(shards: Path, reason: str, **how: Any) -> None:
    out = shards.parent / "out"
    with pytest.raises(PfgenError) as found:
        merge_shards(shards, out=out, per_response=out / "rows.parquet", **how)
    assert reason in str(found.value)
    assert "\n" not in str(found.value)
    assert not out.exists() or not contents(out)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_shards_are_refused(damage: str, shards: Path) -> None:
    change, reason = DAMAGES[damage]
    change(shards)
    refused(shards, reason)


def rewritten(shard: Path, **changes: Any) -> None:
    """Write the manifest again, with its checksum and the sizes that files have now."""
    manifest = shard_folder.Manifest.read(shard)
    files = {name: (shard / name).stat().st_size for name in manifest.files or {}}
    manifest = replace(manifest, **{"files": files, **changes})
    (shard / "shard.json").write_bytes(manifest.to_bytes())


def with_scores(key: str = "1 0 0", times: int = 1, **changes: Any) -> Callable[[Path], None]:
    """Scores whose header says something else, with a checksum that is right."""

    def change(shard: Path) -> None:
        path = shard / "scores.journal"
        first, rest = path.read_bytes().split(b"\n", 1)
        magic, size, body_size, _ = journal._FRONT.unpack_from(rest)
        begin = journal._FRONT.size + size
        header = json.loads(rest[begin - size : begin])
        header |= {"key": key, **{k: v for k, v in changes.items() if k != "bounds"}}
        for question, bounds in changes.get("bounds", {}).items():
            header["bounds"][question] = bounds
        content = json.dumps(header).encode()
        body = rest[begin:]
        check = zlib.crc32(content + body)
        front = journal._FRONT.pack(magic, len(content), body_size, check)
        path.write_bytes(first + b"\n" + (front + content + body) * times)

    return change


WRONG: dict[str, Callable[[Path], object]] = {
    "no rows": lambda s: (s / "rows.bin").write_bytes(b""),
    "rows twice": lambda s: edit(s / "rows.bin", lambda c: c * 2),
    "responses": lambda s: rewritten(s, responses=3),
    "piece of another": lambda s: rewritten(s, mine=[0]),
    "piece twice": lambda s: rewritten(s, mine=[1, 1]),
    "no such piece of a file": lambda s: rewritten(s, mine=[9]),
    "negative piece": lambda s: rewritten(s, mine=[-1]),
    "outside": with_scores(bounds={"Q02": [2, 400]}),
    "reversed": with_scores(bounds={"Q02": [4, 2]}),
    "text": with_scores(bounds={"Q02": ["2", "4"]}),
    "gap": with_scores(bounds={"Q02": [3, 4]}),
    "one bound": with_scores(bounds={"Q02": [2]}),
    "many rows": with_scores(rows=10**9),
    "text rows": with_scores(rows="4"),
    "no such chunk": with_scores("1 1 0"),
    "no such run": with_scores("1 0 1"),
    "no such piece": with_scores("9 0 0"),
    "a key of letters": with_scores("abc"),
    "a number as key": with_scores(7),  # type: ignore[arg-type]
    "scores twice": with_scores(times=2),
}


MANIFESTS = {
    "responses",
    "piece of another",
    "piece twice",
    "no such piece of a file",
    "negative piece",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_content_is_refused_whatever_its_checksums(wrong: str, shards: Path) -> None:
    shard = shards / "2"
    WRONG[wrong](shard)
    if wrong not in MANIFESTS:
        rewritten(shard)
    refused(shards, "is damaged")


def test_pieces_that_no_shard_has_are_refused(shards: Path) -> None:
    rewritten(shards / "2", mine=[])
    refused(shards, "the shards do not have all pieces")


FOREIGN: dict[str, tuple[dict[str, Any], str]] = {
    "settings": ({"settings": Settings(max_n=5)}, "other settings (max_n), unlike shard 1 of 3"),
    "options": ({"skip_bad_lines": True}, "other options (skip_bad_lines)"),
    "clean": ({"clean": "qa"}, "other options (clean)"),
    "rows": ({"rows": False}, "other options (rows)"),
    "keep": ({"keep": ["seed"]}, "other columns to keep"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_shards_are_refused(
    kind: str, bench: Benchmark, shards: Path, tmp_path: Path
) -> None:
    how, reason = FOREIGN[kind]
    scored(bench, tmp_path, 2, **how)
    refused(shards, f"shard 2 of 3 was scored with {reason}")


def test_shards_of_other_files_are_refused(bench: Benchmark, shards: Path, tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(helpers.lines(GOOD * 2))
    scored(bench, tmp_path, 2)
    refused(shards, "b.jsonl had ")
    (tmp_path / "b.jsonl").rename(tmp_path / "c.jsonl")
    score_shard([tmp_path / "a.jsonl", tmp_path / "c.jsonl"], "2/3", shards / "2", bench, rows=True)
    refused(shards, "other inputs (")
    score_shard([tmp_path / "a.jsonl"], "2/3", shards / "2", bench, rows=True)
    refused(shards, "other inputs (1 file, not 2)")
    score_shard([tmp_path / "a.jsonl"], "2/4", shards / "2", bench, rows=True)
    refused(shards, "shard 2 of 4 does not belong with shard 1 of 3")


def test_shards_of_other_questions_are_refused(
    bench: Benchmark, shards: Path, tmp_path: Path
) -> None:
    other = load_benchmark(helpers.write_benchmark(tmp_path / "other", {"Q01": {"note": "別"}}))
    refused(shards, "merge with the benchmark and the version that scored them", benchmark=other)
    scored(other, tmp_path, 2)
    refused(shards, "another question set")
    shutil.rmtree(tmp_path / "questions")
    scored(bench, tmp_path, 2)
    refused(shards, "the questions of the shards are not there")
    assert len(merge_shards(shards, bench)) == 2


def test_shards_without_rows_make_no_table(bench: Benchmark, shards: Path, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        scored(bench, tmp_path, number, rows=False)
    refused(shards, "score them with --rows")
    results = merge_shards(shards)
    assert results[0].to_bytes()
    with pytest.raises(InputError, match="the shards have no texts"):
        _ = results[0].frame


def test_no_shards(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a shard: shard\.json is missing"):
        merge_shards(tmp_path)
    with pytest.raises(InputError, match="not a shard: no such folder"):
        merge_shards(tmp_path / "none")
    with pytest.raises(InputError, match="no shards"):
        merge_shards([])


def test_partial_results_are_refused_before_anything_is_written(
    bench: Benchmark, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(helpers.lines([(CATS, "猫")]))
    score_shard(tmp_path / "a.jsonl", "1/1", tmp_path / "s", bench, rows=True)
    refused(tmp_path / "s", "1 of 2 questions has no answer")
    merge_shards(tmp_path / "s", out=tmp_path / "out", allow_partial=True)
    assert list(contents(tmp_path / "out")) == ["result.json"]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from(range(4)), min_size=1, max_size=40), st.integers(1, 6))
def test_any_rows_in_any_number_of_shards(answers: list[int], total: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        place = Path(name)
        patch.setattr(shard_plan, "SPLIT_FROM", 200)
        bench = load_benchmark(helpers.write_benchmark(place / "questions"))
        rows = [GOOD[answer] for answer in answers]
        path = place / "a.parquet"
        pl.DataFrame(rows, schema=["question", "answer"], orient="row").write_parquet(path)
        options = Options(rows=1)
        for number in range(1, total + 1):
            shard = Shard(number, total)
            ShardJob(bench, [str(path)], options, shard).run(place / f"shards/{number}")
        (merged,) = merge_shards(place / "shards", bench)
        (expected,) = score_runs([path], bench)
        allowed = {"allow_partial": True}
        assert merged.to_bytes(**allowed) == expected.to_bytes(**allowed)
