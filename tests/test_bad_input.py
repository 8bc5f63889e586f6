"""Bad responses and bad question files: a clear error that says where, and nothing written."""

import json
import lzma
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from helpers import CATS, GOOD, QUESTIONS, SEAS, lines, pfgen, write_benchmark
from pfgen_rs import BenchmarkError, InputError, UnknownQuestionError, load_benchmark, score_file
from pfgen_rs.errors import BenchmarkNotFoundError
from pfgen_rs.io import tables


def many_lines() -> bytes:
    """So many different answers that xz needs more than one read to unpack them."""
    noise = random.Random(1)
    answers = ("".join(chr(noise.randrange(0x4E00, 0x9FFF)) for _ in range(60)) for _ in range(800))
    return lines([(CATS, answer) for answer in answers])


def cut_xz() -> bytes:
    whole = lzma.compress(many_lines())
    return whole[: len(whole) // 2]


START = lines(GOOD[:2])


def third(record: object) -> bytes:
    """Lines of which the third is this record."""
    return START + json.dumps(record, ensure_ascii=False).encode() + b"\n"


# Name: (content, number of the bad line, what the message must hold).
BAD_LINES: dict[str, tuple[bytes, int, list[str]]] = {
    "no JSON": (START + b"{answer\n", 3, ["not JSON"]),
    "JSON but no object": (START + b"[1, 2]\n", 3, ["object"]),
    "missing answer": (third({"question": CATS}), 3, ["'answer'", "missing"]),
    "missing question": (third({"answer": "猫"}), 3, ["'question'", "missing"]),
    "answer of wrong type": (third({"question": CATS, "answer": 3}), 3, ["text", "3"]),
    "answer null": (third({"question": CATS, "answer": None}), 3, ["text", "null"]),
    "unknown question": (third({"question": "空は？", "answer": "青"}), 3, ["空は？", "question"]),
    "invalid UTF-8": (START + b'{"question": "\xff"}\n', 3, ["UTF-8"]),
    "lone surrogate": (START + b'{"question": "Q01", "answer": "\\ud800"}\n', 3, ["surrogate"]),
    "nested too deeply": (START + b"[" * 100_000 + b"\n", 3, ["nested"]),
}
# Name: (content, what the message must hold).
BAD_FILES: dict[str, tuple[bytes, list[str]]] = {
    "empty": (b"", ["no responses"]),
    "blank lines only": (b"\n \n\n", ["no responses"]),
    "cut inside an xz block": (cut_xz(), ["cut short", "line "]),
    "xz header only": (lzma.compress(START)[:12], ["cut short"]),
}


def source_is(value: object) -> dict[str, Any]:
    return {"answers": {"A": ["猫"], "B": value}}


def rules(*keywords: object) -> dict[str, Any]:
    return {"keywords": [*keywords]}


def nested_rule(depth: int) -> dict[str, Any]:
    rule: dict[str, Any] = {"t": "水"}
    for _ in range(depth - 1):
        rule = {"and": [rule]}
    return rule


# Name: (what replaces keys of Q02, what the message must hold).
BAD_QUESTIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "unknown rule": (rules({"t": "水"}, {"not": "赤"}), ["keywords[1]", "not"]),
    "unknown inner rule": (rules({"and": [{"t": "水"}, {"x": "赤"}]}), ["keywords[0].and[1]"]),
    "invalid expression": (rules({"t": "(赤"}), ["keywords[0]", "(赤", "expression"]),
    "huge count": (rules({"t": f"赤{{{'9' * 5000}}}"}), ["keywords[0]", "expression"]),
    "importance out of range": (rules({"t": "赤", "importance": 2}), ["keywords[0]", "importance"]),
    "no keywords": ({"keywords": None}, ["keywords"]),
    "no answers": ({"answers": {}}, ["answers"]),
    "answers missing": ({"answers": None}, ["answers"]),
    "source with an empty list": (source_is([]), ["'B'"]),
    "source with only empty answers": (source_is(["", ""]), ["'B'", "empty"]),
    "answer of wrong type": (source_is(["水", 5]), ["'B'", "answer 1", "5"]),
    "duplicate id": ({"question_id": "Q01"}, ["Q01", "same id"]),
    "duplicate question": ({"question": CATS}, [CATS, "same question"]),
    "question missing": ({"question": None}, ["'question'", "missing"]),
    "note of wrong type": ({"note": 1}, ["'note'", "text"]),
    "surrogate in the question": ({"question": "\ud800"}, ["'question'", "surrogate"]),
    "surrogate in a source": ({"answers": {"\ud800": ["水"]}}, ["source", "surrogate"]),
    "surrogate in name": (
        rules({"t": "水", "name": "\ud800"}),
        ["keywords[0]", "name", "surrogate"],
    ),
    "rules too deep": (rules(nested_rule(101)), ["keywords[0]", "levels deep"]),
}
each_bad_line = pytest.mark.parametrize("name", BAD_LINES)


def must_hold(message: str, *parts: object) -> None:
    for part in parts:
        assert str(part) in message


@each_bad_line
def test_a_bad_line_is_named(benchmark: Path, tmp_path: Path, name: str) -> None:
    content, number, parts = BAD_LINES[name]
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        score_file(path, benchmark)
    must_hold(str(caught.value), path, f"line {number}", *parts)
    assert caught.value.line == number
    assert isinstance(caught.value, UnknownQuestionError) == (name == "unknown question")


@each_bad_line
def test_a_bad_line_can_be_skipped(benchmark: Path, tmp_path: Path, name: str) -> None:
    content, number, _ = BAD_LINES[name]
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content + lines(GOOD[2:]))
    result = score_file(path, benchmark, skip_bad_lines=True)
    assert [problem.line for problem in result.problems] == [number]
    assert result.frame.get_column("line").to_list() == [1, 2, 4, 5]
    path.write_bytes(lines(GOOD))
    assert result.score == score_file(path, benchmark).score


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_named(benchmark: Path, tmp_path: Path, name: str) -> None:
    content, parts = BAD_FILES[name]
    path = tmp_path / "bad.jsonl.xz"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        score_file(path, benchmark)
    must_hold(str(caught.value), path, *parts)


def test_what_a_cut_file_still_holds_can_be_used(benchmark: Path, tmp_path: Path) -> None:
    whole, path = many_lines(), tmp_path / "cut.jsonl.xz"
    path.write_bytes(lzma.compress(START) + lzma.compress(whole)[:-1000])
    result = score_file(path, benchmark, skip_bad_lines=True)
    used = result.frame.height
    assert 700 < used < 2 + whole.count(b"\n")
    assert result.frame.get_column("answer").to_list()[:2] == [answer for _, answer in GOOD[:2]]
    [problem] = result.problems
    assert problem.line == used + 1
    must_hold(str(problem), "cut short", path)


@pytest.mark.parametrize("name", BAD_QUESTIONS)
def test_a_bad_question_file_is_named(tmp_path: Path, name: str) -> None:
    changes, parts = BAD_QUESTIONS[name]
    folder = write_benchmark(tmp_path / "tiny")
    (folder / "Q02.json").write_text(json.dumps({**QUESTIONS["Q02"], **changes}))
    with pytest.raises(BenchmarkError) as caught:
        load_benchmark(folder)
    must_hold(str(caught.value), folder / "Q02.json", *parts)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        *((content, "not JSON") for content in (b"", b"{", b"[" * 100_000)),
        *((b"\xff{}", "UTF-8"), (b"[]", "object")),
        (lzma.compress(json.dumps(QUESTIONS["Q02"]).encode())[:-30], "cut short"),
    ],
)
def test_a_question_file_that_is_no_question(tmp_path: Path, content: bytes, part: str) -> None:
    folder = write_benchmark(tmp_path / "tiny")
    (folder / "Q02.json").write_bytes(content)
    with pytest.raises(BenchmarkError) as caught:
        load_benchmark(folder)
    must_hold(str(caught.value), folder / "Q02.json", part)


def test_rules_within_rules_may_be_deep(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "tiny", {"Q02": {"keywords": [nested_rule(100)]}})
    score = load_benchmark(folder).score("Q02", "水")
    assert (score.helpfulness, score.details.helpfulness_cut) == (1.0, 1)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b'{"model": "\\ud800"}'])
def test_a_bad_config_is_named(benchmark: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "good.jsonl").write_bytes(lines())
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(InputError, match=r"config\.json"):
        score_file(tmp_path / "good.jsonl", benchmark)


@pytest.mark.parametrize("name", ["a\0b", "a" * 5000])
def test_names_that_no_file_can_have(benchmark: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        score_file(name, benchmark)
    with pytest.raises(BenchmarkNotFoundError, match="unknown benchmark"):
        load_benchmark(name)


def test_a_table_with_columns_that_json_has_no_form_for(benchmark: Path, tmp_path: Path) -> None:
    more = {"at": datetime(2025, 1, 2, 3, 4, 5), "raw": b"\xff", "__row": 0}
    rows = [{"question": question, "answer": answer, **more} for question, answer in GOOD]
    pl.DataFrame(rows).write_parquet(tmp_path / "run.parquet")
    score_file(tmp_path / "run.parquet", benchmark).to_json(tmp_path / "result.json")
    written = json.loads((tmp_path / "result.json").read_bytes())
    [first, *_] = written["questions"]["Q01"]["samples"]
    assert first["at"] == "2025-01-02 03:04:05"


@pytest.mark.parametrize(
    "columns",
    [
        *(({"question": ["Q01"], "answer": [wrong]},) for wrong in (None, 1)),
        (pl.LazyFrame({"question": ["Q01"]}),),
        ({"question": ["\ud800"], "answer": ["猫"]},),
        *((wrong, ["猫"]) for wrong in (["\ud800"], "Q01", [None])),
        *((["Q01"], wrong) for wrong in ([1], "猫")),
    ],
)
def test_bad_columns(benchmark: Path, columns: Any) -> None:
    loaded = load_benchmark(benchmark)
    for call in (loaded.score_batch, loaded.evaluate):
        with pytest.raises(InputError):
            call(*columns)


# The same through the command line: exit code 2, one line that names the place, nothing written.


def score_into(tmp_path: Path, benchmark: Path, source: Path, *more: str) -> tuple[int, str, str]:
    """Score over existing outputs; they must be unchanged where that fails."""
    out, table = tmp_path / "out", tmp_path / "scores.jsonl"
    out.mkdir()
    for old in (out / "result.json", table):
        old.write_text("old")
    done = pfgen("score", source, "-b", benchmark, "--out", out, "--per-response", table, *more)
    if done.returncode:
        assert sorted(path.name for path in out.iterdir()) == ["result.json"]
        assert [(out / "result.json").read_text(), table.read_text()] == ["old", "old"]
        assert not list(tmp_path.glob(".*"))
    return done.returncode, done.stdout, done.stderr


def refused(outcome: tuple[int, str, str], *parts: object) -> None:
    code, stdout, stderr = outcome
    assert code == 2
    assert stdout == ""
    assert stderr.startswith("error: ")
    assert stderr.count("\n") == 1
    must_hold(stderr, *parts)


@pytest.mark.parametrize("name", ["no JSON", "unknown question", "empty", "cut inside an xz block"])
def test_the_command_refuses_a_bad_line(benchmark: Path, tmp_path: Path, name: str) -> None:
    content, *places, parts = BAD_LINES.get(name) or BAD_FILES[name]
    path = tmp_path / ("bad.jsonl" if places else "bad.jsonl.xz")
    path.write_bytes(content)
    lines_named = [f"line {place}" for place in places]
    refused(score_into(tmp_path, benchmark, path), path, *lines_named, *parts)


def test_the_command_refuses_a_bad_question_file(tmp_path: Path) -> None:
    changes, parts = BAD_QUESTIONS["duplicate id"]
    folder = write_benchmark(tmp_path / "tiny", {"Q02": changes})
    path = tmp_path / "good.jsonl"
    path.write_bytes(lines())
    refused(score_into(tmp_path, folder, path), folder / "Q02.json", *parts)


def test_one_bad_file_of_several_stops_all(benchmark: Path, tmp_path: Path) -> None:
    (tmp_path / "1-good.jsonl").write_bytes(lines())
    (tmp_path / "2-bad.jsonl").write_bytes(lines() + b"oops\n")
    refused(score_into(tmp_path, benchmark, tmp_path / "[12]-*.jsonl"), "2-bad.jsonl, line 5")


def test_skipped_lines_are_counted_and_reported(benchmark: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    bad = b"".join(content.removeprefix(START) for content, _, _ in BAD_LINES.values())
    path.write_bytes(START + bad + lines(GOOD[2:]))
    code, stdout, stderr = score_into(tmp_path, benchmark, path, "--skip-bad-lines", "-f", "json")
    assert code == 0
    [run] = json.loads(stdout)
    assert run["left_out"] == len(BAD_LINES)
    assert run["responses"] == len(GOOD)
    reported = stderr.splitlines()
    assert [row.split(": ")[1] for row in reported[:-1]] == ["skipped"] * 5
    must_hold(reported[0], f"{path}, line 3")
    must_hold(reported[-1], path, f"{len(BAD_LINES)} lines")
    assert json.loads((tmp_path / "out" / "result.json").read_bytes())["num_trials"] == 2


def test_a_missing_file_and_an_empty_glob(benchmark: Path, tmp_path: Path) -> None:
    for source in (tmp_path / "none.jsonl", tmp_path / "none*"):
        done = pfgen("score", source, "-b", benchmark)
        refused((done.returncode, done.stdout, done.stderr), source)


def test_a_damaged_table_at_which_its_reader_panics(
    benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panics(*_: object) -> pl.DataFrame:
        raise pl.exceptions.PanicException("not yet implemented")

    monkeypatch.setattr(tables, "_scanned", panics)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"bad\.parquet: cannot be read as \.parquet"):
        score_file(tmp_path / "bad.parquet", benchmark)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_tables_that_are_none(benchmark: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"bad{suffix}"
    for content in (b"", b"\x00\x01nothing\n", f'question,text\n{SEAS},"'.encode()):
        path.write_bytes(content)
        with pytest.raises(InputError, match=path.name):
            score_file(path, benchmark)
