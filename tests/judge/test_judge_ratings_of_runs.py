"""Ratings belong to answers: whatever runs are called, and in whatever order they are named."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from fault_server import Asked, FaultServer, Handler
from helpers import pfgen
from judging import chat_reply
from pfgen_rs.benchmark import load_benchmark

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

QUESTIONS = [question.text for question in load_benchmark("mini")][:4]


def write_run(folder: Path, text: str) -> Path:
    """A run of the model M, as published folders have them, whose answers all contain a text."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model": "M", "mode": "qa"}))
    lines = [
        json.dumps({"question": each, "answer": f"{each} {text} {n}"}, ensure_ascii=False)
        for each in QUESTIONS
        for n in range(2)
    ]
    (folder / "pfgen.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "pfgen.jsonl"


def rating(handler: Handler, asked: Asked) -> None:
    """Rate by what the answer says."""
    score = next(n for word, n in (("良", 9), ("中", 5), ("悪", 2)) if f" {word} " in asked.prompt)
    handler.reply(200, chat_reply(f"説明。Rating: [[{score}]]"))


def judge(*arguments: object) -> Any:
    done = pfgen("judge", *map(str, arguments))
    assert done.returncode == 0, done.stderr
    return done


def test_two_runs_of_one_model_keep_their_own_ratings(tmp_path: Path) -> None:
    runs = {word: write_run(tmp_path / word / "run", word) for word in "良中悪"}
    wanted = {"良": 9.0, "中": 5.0, "悪": 2.0}
    out = tmp_path / "r"
    with FaultServer(default=rating) as server:
        for order in permutations(runs.values()):
            judge(
                *("grade", *order, "-b", "mini", "-e", "openai", "-m", "judge"),
                *("--base-url", server.url, "--out", out),
            )
        assert len(server.asked) == 3 * 2 * len(QUESTIONS)
    for words in permutations(runs):
        paths = [part for word in words for part in ("--run", runs[word])]
        done = judge("against-scores", "--ratings", out, *paths, "-b", "mini", "--format", "json")
        found = json.loads(done.stdout)["runs"]
        ratings = {row["model"]: row["rating"] for row in found["runs"]}
        assert len(ratings) == 3
        assert {
            word: ratings[name] for name in ratings for word in wanted if word in name
        } == wanted
        assert (set(found["missing"].values()), found["stale"]) == ({0}, 0)
    done = judge("against-scores", "--ratings", out, "--run", runs["悪"], "-b", "mini")
    assert "16 ratings of answers that are not in these runs: kept, but not used" in done.stderr


def test_a_run_whose_answers_have_changed_is_not_rated(tmp_path: Path) -> None:
    run, other, out = (
        write_run(tmp_path / "run", "良"),
        write_run(tmp_path / "x" / "other", "中"),
        tmp_path / "r",
    )
    with FaultServer(default=rating) as server:
        judge(
            *("grade", run, other, "-b", "mini", "-e", "openai", "-m", "judge"),
            *("--base-url", server.url, "--out", out),
        )
    run.write_text(run.read_text("utf-8").replace("良", "悪"), encoding="utf-8")
    done = judge(
        *("against-scores", "--ratings", out, "--run", run, "--run", other, "-b", "mini"),
        *("--format", "json"),
    )
    found = json.loads(done.stdout)["runs"]
    assert [row["rating"] for row in found["runs"]] == [5.0]
    assert (sorted(found["missing"].values()), found["stale"]) == ([0, 8], 8)
    assert "8 answers without a rating" in done.stderr
