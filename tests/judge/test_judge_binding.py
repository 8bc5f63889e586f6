"""A verdict counts only for the texts that the judge saw: what is stored of other texts is never used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fault_server import Asked, Handler, close
from helpers import pfgen
from judging import chat_reply, judged, token
from pfgen_rs.cli.app import app
from pfgen_rs.errors import PfgenError
from pfgen_rs.judge import VerdictFolder, pages
from pfgen_rs.judge.formats import read_format, write_format
from pfgen_rs.judge.imported import read_folder, write_folder
from pfgen_rs.judge.pairs import Pair, write_pairs
from pfgen_rs.judge.sample import sample_path

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

GOOD, BAD = "とても良い答え", "悪い答え"
ONE = [Pair(f"p{n}", f"質問{n}", ("org/a", "org/b"), (GOOD, BAD)) for n in range(3)]
OTHER = [replace(pair, answers=(BAD, GOOD)) for pair in ONE]


def prefers_good(handler: Handler, asked: Asked) -> None:
    """Say which assistant gave the good answer."""
    best = "A" if asked.prompt.index(GOOD) < asked.prompt.index(BAD) else "B"
    handler.reply(200, chat_reply(best, [token(best, {best: 0.9})]))


def judge(pairs: Sequence[Pair], folder: Path, *, up: bool = True) -> None:
    if up:
        judged(folder, pairs, prefers_good)
        return
    with pytest.raises(PfgenError):  # the server has gone
        judged(folder, pairs, close(), retries=0)


def command(*arguments: object, status: int = 0) -> Any:
    done = pfgen("judge", *map(str, arguments))
    assert done.returncode == status, done.stderr
    return done


def test_a_verdict_on_earlier_texts_is_not_shown_for_later_ones(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    judge(ONE, folder)
    judge(OTHER, folder, up=False)
    rows = json.loads(command("decide", folder, "--format", "json").stdout)
    assert [(row["decision"], row["state"]) for row in rows] == [(None, "missing")] * 3
    done = command("decide", folder)
    assert "3 of 3 pairs lack a judgment of their present texts" in done.stderr
    assert "'p0', 'p1', 'p2'" in done.stderr
    assert (
        "6 judgments of other texts than the pairs' present ones: kept, but not used" in done.stderr
    )
    for name in ("rank", "agree"):
        assert "no pair has a decision by probability" in command(name, folder, status=2).stderr
    judge(OTHER[:1], folder)
    found = json.loads(command("rank", folder, "--win-rates-only", "--format", "json").stdout)
    assert found["coverage"] == {
        "pairs": 3,
        "missing": 2,
        "missing_pairs": ["p1", "p2"],
        "stale": 6,
    }
    assert {row["model"]: row["wins"] for row in found["models"]} == {"org/a": 0, "org/b": 1}
    said = json.loads(command("agree", folder, "--format", "json").stdout)
    assert said["coverage"][0]["missing"] == 2
    [row] = [row for row in said["judges"][0]["decisions"] if row["rule"] == "probability"]
    assert (row["B"], row["invalid"], row["missing"]) == (1, 0, 2)
    page = tmp_path / "page.html"
    assert "2 of 3 pairs lack" in command("page", folder, "--out", page).stderr
    assert "判定がそろっていないペアが 2 件あります" in page.read_text("utf-8")
    assert len(read_folder(folder).judgments) == 2
    assert len(VerdictFolder(folder).judgments()) == 8


def test_texts_changed_by_hand_have_no_verdicts(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    judge(ONE, folder)
    (folder / ".digests.csv").unlink()
    frame, coverage = VerdictFolder(folder).read()
    assert frame["probability"].to_list() == ["A"] * 3
    assert (coverage.missing, coverage.stale) == ([], 0)
    write_pairs(folder / "pairs.jsonl", [ONE[0], *OTHER[1:]])
    frame, coverage = VerdictFolder(folder).read()
    assert frame["probability"].to_list() == ["A", None, None]
    assert (list(coverage.missing), coverage.stale) == (["p1", "p2"], 4)


def test_imported_judgments_belong_to_the_texts_they_came_with(tmp_path: Path) -> None:
    given = read_folder(sample_path() / "verdicts" / "careful")
    write_format(tmp_path / "file.json", given, "json-lines")
    write_folder(tmp_path / "v", read_format([tmp_path / "file.json"]))
    folder = VerdictFolder(tmp_path / "v")
    assert folder.read()[1].notes() == []
    first, *others = folder.pairs()
    write_pairs(folder.path / "pairs.jsonl", [replace(first, answers=("別", "物")), *others])
    _, coverage = folder.read()
    assert (list(coverage.missing), coverage.stale) == ([first.id], 2)


def test_two_judges_are_only_compared_on_the_same_texts(tmp_path: Path) -> None:
    judge(ONE, tmp_path / "one")
    judge(OTHER, tmp_path / "two")
    humans = tmp_path / "humans.jsonl"
    humans.write_text('{"id": "p0", "rater": "r", "verdict": "A"}\n')
    folders = (tmp_path / "one", tmp_path / "two")
    for arguments in (
        ("agree", *folders, "--humans", humans),
        ("against-scores", *folders, "-b", "mini"),
        ("page", *folders, "--out", tmp_path / "page"),
    ):
        error = command(*arguments, status=2).stderr
        assert "pair 'p0' has other texts or models than in another folder" in error


def test_a_page_of_many_pairs_lists_a_sample_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged(tmp_path / "v", 30)
    monkeypatch.setattr(pages, "LISTED", 7)
    view = pages.write_verdict_page([tmp_path / "v"], tmp_path / "page.html")
    assert (len(view.pairs), view.total, len(view.judges[0].decisions)) == (7, 30, 30)
    ids = {pair.id for pair in view.pairs}
    assert {pair for pair, _ in view.judges[0].said} == ids
    assert "全 30 ペアから無作為に選んだ 7 ペア" in (tmp_path / "page.html").read_text("utf-8")
    done = CliRunner().invoke(
        app, ["judge", "page", str(tmp_path / "v"), "-o", str(tmp_path / "p")]
    )
    assert done.stdout == f"{tmp_path / 'p'}: 30 pairs, 7 of them listed, drawn at random\n"
