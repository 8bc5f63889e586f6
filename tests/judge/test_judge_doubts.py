"""Verdicts that were read from prose are read as before, but counted and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fault_server import Asked, FaultServer, Handler
from judging import JUDGE, chat_reply, engine_for, judging, made_pairs
from pfgen_rs.cli.app import app
from pfgen_rs.judge.compare import compare
from pfgen_rs.judge.prompts import find_prompt
from pfgen_rs.judge.verdict_folder import VerdictFolder
from pfgen_rs.judge.verdicts import Which, doubt_of, read_verdict_text


@pytest.mark.parametrize(
    ("output", "which", "shown", "doubt"),
    [
        ("I'm sorry, but I can't compare A and B", "first", "A", "refusal"),
        ("I'm sorry, but I can't compare A and B", "last", "B", "refusal"),
        ("I cannot judge. A", "first", "A", "refusal"),
        ("As an AI language model, I see no winner: C", "last", "C", "refusal"),
        ("申し訳ありませんが、A と B は比べられません", "first", "A", "refusal"),
        ("「すみません、A は読めません」", "last", "A", "refusal"),
        ("AとBの比較はできません。判断できません: C", "first", None, "refusal"),
        ("結論：C（A と B は同等のため）", "last", "B", "several letters"),
        ("結論：C（A と B は同等のため）", "first", "C", "several letters"),
        ("A better answer is B", "first", "A", "several letters"),
        ("Ａ　Ｂ", "first", "A", "several letters"),
        ("アシスタント A は詳しく、B は短い。\n\nA", "last", "A", None),
        ("A は詳しい。\n\n以上。\nB\n", "last", "B", None),
        ("<think>A か B か</think>A", "first", "A", None),
        ("A", "first", "A", None),
        ("A。AI と A1 は別", "first", "A", None),
        ("回答 A の方が正確です。", "first", "A", None),
        ("[[A]] は B より良い", "brackets", "A", None),
        ("I'm sorry: [[C]]", "brackets", "C", "refusal"),
        ("", "first", None, None),
    ],
)
def test_refusals_and_several_letters_are_doubtful_and_read_as_before(
    output: str, which: Which, shown: str | None, doubt: str | None
) -> None:
    if shown is not None:
        assert read_verdict_text(output, which).shown == shown
    assert doubt_of(output, which) == doubt


def test_doubtful_verdicts_are_counted_and_shown(tmp_path: Path) -> None:
    texts = ["I'm sorry, but I can't compare A and B", "A better answer is B", "?"]
    said: list[str] = []

    def behave(handler: Handler, asked: Asked) -> None:
        if len(said) < len(texts):
            said.append(texts[len(said)])
            handler.reply(200, chat_reply(said[-1]))
        else:
            judging(handler, asked)

    with FaultServer(default=behave) as server:
        engine, prompt = engine_for(server.url, concurrency=1), find_prompt("result", "pairwise")
        compare(made_pairs(6), engine, JUDGE, prompt, tmp_path)
    found = VerdictFolder(tmp_path).doubts()
    assert len(found) == 11  # one has no verdict
    shown = found.drop_nulls("doubt").select("shown", "doubt", "output").rows()
    assert sorted(shown) == [("A", "refusal", texts[0]), ("A", "several letters", texts[1])]
    told = CliRunner().invoke(app, ["judge", "decide", str(tmp_path), "--by", "first"])
    assert "2 of 11 verdicts (18.2 %) are doubtful" in told.stderr
    listed = CliRunner().invoke(app, ["judge", "decide", str(tmp_path), "--doubtful", "-f", "json"])
    assert {row["output"] for row in json.loads(listed.stdout)} == {*texts[:2]}
    table = CliRunner().invoke(app, ["judge", "decide", str(tmp_path), "--doubtful"])
    assert "several letters" in table.stdout
