"""Verdicts of people, and criteria: files that are read, and what is said of bad ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fault_server import Asked, FaultServer, Handler
from judging import JUDGE, chat_reply, engine_for, judged, made_pairs, records, replying
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.judge.compare import (
    criteria_file,
    criteria_requests,
    make_criteria,
    pairs_with_criteria,
)
from pfgen_rs.judge.pairs import Pair, read_humans
from pfgen_rs.judge.prompts import find_prompt

CRITERIA = find_prompt("criteria", "criteria")
GOOD = {"id": "a", "rater": "r", "verdict": "A"}


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    "other", [{"id": "b", "rater": "r", "verdict": "C"}, {"id": 1, "rater": 2, "verdict": "B"}]
)
def test_verdicts_of_people(other: dict[str, object], tmp_path: Path) -> None:
    found = read_humans(write(tmp_path / "h.jsonl", GOOD, other), {"a", "b", "1"})
    rows = [tuple(map(str, GOOD.values())), tuple(map(str, other.values()))]
    assert found.rows() == rows
    assert found.columns == ["pair", "rater", "verdict"]
    csv = tmp_path / "h.csv"
    csv.write_text("id,rater,verdict\n" + "".join(f"{','.join(row)}\n" for row in rows))
    assert read_humans(csv, {"a", "b", "1"}).rows() == rows


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({**GOOD, "id": "z"}, "unknown pair id 'z'"),
        ({**GOOD, "verdict": "D"}, "invalid verdict 'D': expected A, B or C"),
        ({**GOOD, "verdict": "a"}, "invalid verdict 'a'"),
        ({**GOOD, "verdict": None}, "'verdict' must be text"),
        ({"id": "a", "verdict": "A"}, "'rater' must be"),
        ({**GOOD, "rater": ""}, "'rater' must be"),
        (GOOD, "second verdict of rater 'r' on pair 'a'"),
        ([], "expected an object"),
    ],
)
def test_bad_verdicts_are_errors_with_file_and_line(
    row: object, problem: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "h.jsonl", GOOD, row)
    with pytest.raises(InputError, match=problem) as caught:
        read_humans(path, {"a", "b"})
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_no_verdicts_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no verdicts"):
        read_humans(write(tmp_path / "h.jsonl"), {"a"})
    with pytest.raises(InputError, match="cannot be read"):
        read_humans(tmp_path / "missing.jsonl", {"a"})


def bare(count: int) -> list[Pair]:
    return [replace(pair, criteria=None) for pair in made_pairs(count)]


def stating(handler: Handler, asked: Asked) -> None:
    """State criteria that name the question."""
    question = asked.prompt.split("[質問開始]\n")[1].split("\n")[0]
    handler.reply(200, chat_reply(f"<think>…</think>\n・{question}の条件\n"))


def test_criteria_are_made_once_a_question(tmp_path: Path) -> None:
    pairs, out = bare(6), criteria_file(tmp_path / "pairs.jsonl")
    assert out == tmp_path / "pairs.criteria.jsonl"
    with FaultServer(default=stating) as server:
        for new in (3, 0):
            asked = make_criteria(pairs, engine_for(server.url), JUDGE, CRITERIA, out)
            assert (asked.total, asked.new, asked.complete) == (3, new, True)
        assert len(server.asked) == 3
    found = {row["question_id"]: row["criteria"] for row in records(tmp_path, out.name)}
    assert found == {f"q{n}": f"・質問{n}の条件" for n in range(3)}
    assert pairs_with_criteria(made_pairs(1), out)[0][0].criteria == "・正確さ"
    assert list(criteria_requests(made_pairs(4), CRITERIA)) == []
    complete, notes = pairs_with_criteria(pairs, out)
    wanted = [f"・質問{n // 2}の条件" for n in range(6)]
    assert ([pair.criteria for pair in complete], notes) == (wanted, [])
    # They belong to the question they were made of.
    changed = [replace(pair, question="別の質問") for pair in pairs[:2]] + pairs[2:]
    complete, [note] = pairs_with_criteria(changed, out)
    assert [pair.criteria for pair in complete] == [None, None, *wanted[2:]]
    assert "1 question were made of other texts and are not used: 'q0'" in note
    own = write(tmp_path / "own.jsonl", {"question_id": "q0", "criteria": "・私の条件"})
    complete, notes = pairs_with_criteria(changed, own)
    assert ([pair.criteria for pair in complete][:2], notes) == (["・私の条件"] * 2, [])


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (chat_reply("<think>x</think> \n"), "the criteria are empty"),
        (chat_reply("・条件", finish="length"), "cut off by the token limit"),
        (chat_reply("<think>考え中"), "cut off by the token limit"),
    ],
)
def test_empty_and_cut_criteria_are_failures(reply: bytes, reason: str, tmp_path: Path) -> None:
    with FaultServer(default=replying(reply)) as server:
        asked = make_criteria(
            bare(2), engine_for(server.url), JUDGE, CRITERIA, tmp_path / "c.jsonl"
        )
    assert not asked.complete
    assert reason in asked.failures[0].reason
    assert not records(tmp_path, "c.jsonl")


def test_prompts_with_criteria_need_them(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="pair 'p0' has no criteria"):
        judged(tmp_path / "v", bare(1), prompt="criteria-result")
    assert not (tmp_path / "v").exists()


def test_questions_have_one_text() -> None:
    one, other = bare(2)
    with pytest.raises(InputError, match="the question id 'q0' but different questions"):
        list(criteria_requests([one, replace(other, question="別")], CRITERIA))
