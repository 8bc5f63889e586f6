"""Asking judges: nothing is asked twice, nothing is lost, and every fault is counted."""

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fault_server import Asked, Behaviour, FaultServer, Handler, close, cut, hang, raw, status
from helpers import SCRIPT
from judging import (
    JUDGE,
    FakeEngine,
    chat_reply,
    judged,
    judging,
    keys,
    made_pairs,
    probabilities_for,
    records,
    replying,
    token,
)
from pfgen_rs.ask.costs import Budget, Prices, read_prices, token_counter
from pfgen_rs.ask.protocol import Answered
from pfgen_rs.ask.request import Group
from pfgen_rs.errors import PfgenError, SettingsError
from pfgen_rs.judge import VerdictFolder, write_pairs
from pfgen_rs.judge.compare import compare
from pfgen_rs.judge.requests import Judge, comparison_requests, find_prompt

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

RESULT = find_prompt("result", "pairwise")


def prompt_of(pair: int, order: int, count: int = 8) -> str:
    """The prompt that a pair of `made_pairs` gets."""
    requests = list(comparison_requests(made_pairs(count), RESULT))
    return requests[2 * pair + order - 1].messages[-1][1]


def test_every_pair_is_judged_in_both_orders(tmp_path: Path) -> None:
    first, second = prompt_of(0, 1), prompt_of(0, 2)
    assert first.index("答え0の一") < first.index("答え0の二")
    assert second.index("答え0の二") < second.index("答え0の一")
    asked, sent = judged(tmp_path / "v", 8)
    assert (asked.total, asked.stored, asked.new, asked.failures) == (16, 16, 16, [])
    again, repeated = judged(tmp_path / "v", 8)
    assert (again.stored, again.new, len(sent), len(repeated)) == (16, 0, 16, 0)
    found = records(tmp_path / "v")
    assert sorted(keys(found)) == [(f"p{n}", order) for n in range(8) for order in (1, 2)]
    for record in found:
        expected = probabilities_for(prompt_of(int(record["pair"][1:]), record["order"]))
        assert record["probabilities"] == pytest.approx(expected)
        assert record["shown"] == max(expected, key=lambda letter: expected[letter])
        assert record["usage"] == {"prompt_tokens": 100, "completion_tokens": 1}
        assert record["judge"]["temperature"] == 0
    wanted = {"temperature": 0, "seed": 1, "logprobs": True, "top_logprobs": 20}
    assert {name: sent[0].body[name] for name in wanted} == wanted
    assert [message["role"] for message in sent[0].body["messages"]] == ["user"]


THINKING = [token(t) for t in ("<think>", "A", "? A!</think>")]
THOUGHTS = chat_reply("<think>A? A!</think>C", [*THINKING, token("C", {"C": 0.6, "A": 0.3})])
REASONING = chat_reply("B", [token("A"), token("B", {"B": 0.5})], reasoning_content="A")
SPLIT = chat_reply("B", [token("[["), token("B"), token("]]")])
# The fault, and the letter, the problem and the probabilities of its record; none of them: asked again.
FAULTS: dict[str, tuple[Behaviour, str | None, str | None, dict[str, float] | None]] = {
    "429": (status(429, "slow down", {"retry-after": "0"}), None, None, None),
    "500": (status(500), None, None, None),
    "close": (close(), None, None, None),
    "cut": (cut(), None, None, None),
    "hang": (hang(), None, None, None),
    "html": (raw(b"<html>"), None, None, None),
    "null logprobs": (replying(chat_reply("B")), "B", None, None),
    "split letter": (replying(SPLIT), "B", None, None),
    "in a word": (replying(chat_reply("AI", [token("A"), token("I")])), None, "no verdict", None),
    "thoughts": (replying(THOUGHTS), "C", None, {"A": 0.3, "B": 0, "C": 0.6}),
    "reasoning": (replying(REASONING), "B", None, {"A": 0, "B": 0.5, "C": 0}),
    "empty": (replying(chat_reply("")), None, "empty", None),
}


@pytest.mark.parametrize("name", FAULTS)
def test_no_verdict_is_lost_doubled_or_invented(name: str, tmp_path: Path) -> None:
    fault, shown, problem, sure = FAULTS[name]
    victim = prompt_of(3, 1)
    asked, _ = judged(tmp_path / "v", 8, faults={victim: [fault]}, retries=3, timeout=0.5)
    assert asked.complete
    found = records(tmp_path / "v")
    assert len(set(keys(found))) == len(found) == 16
    [record] = [r for r in found if keys([r]) == [("p3", 1)]]
    if shown is None and problem is None:
        assert record["probabilities"] == pytest.approx(probabilities_for(victim))
    else:
        assert (record["shown"], record["problem"]) == (shown, problem)
        assert sure is None or record["probabilities"] == pytest.approx(sure)
    others = [r for r in found if r is not record]
    assert all(r["problem"] is None and r["shown"] for r in others)


def test_failures_are_reported_and_asked_again_by_the_next_call(tmp_path: Path) -> None:
    refused = {prompt_of(5, 2): [status(400, "no")] * 9}
    asked, _ = judged(tmp_path / "v", 8, faults=refused, retries=0)
    [failure] = asked.failures
    assert (failure.about["pair"], failure.about["order"]) == ("p5", 2)
    assert "400" in failure.reason
    assert (asked.stored, asked.complete, len(records(tmp_path / "v"))) == (15, False, 15)
    asked, sent = judged(tmp_path / "v", 8)
    assert (asked.complete, len(sent)) == (True, 1)


def test_parameters_that_a_server_refuses_are_left_out(tmp_path: Path) -> None:
    def strict(handler: Handler, asked: Asked) -> None:
        said = {"param": "logprobs", "code": "unsupported_parameter"}
        refusing = status(400, "logprobs is not supported", **said)
        (refusing if "logprobs" in asked.body else judging)(handler, asked)

    asked, _ = judged(tmp_path / "v", 8, strict, optional=("logprobs", "seed", "temperature"))
    assert asked.complete
    found = records(tmp_path / "v")
    assert len(found) == 16
    assert all((r["left_out"], r["probabilities"]) == (["logprobs"], None) for r in found)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "v"


def start(count: int, out: Path, url: str, *more: str) -> subprocess.Popen[bytes]:
    pairs = out.parent / "pairs.jsonl"
    write_pairs(pairs, made_pairs(count))
    options = ["-e", "openai", "-m", "judge", "--prompt", "result", "--concurrency", "4"]
    command = [SCRIPT, "judge", "compare", pairs, *options, "--out", out, "--base-url", url, *more]
    environment = {**os.environ, "OPENAI_API_KEY": "sk-0123456789-very-secret"}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([str(part) for part in command], env=environment, **pipes)


def slowly(handler: Handler, asked: Asked) -> None:
    time.sleep(0.05)
    judging(handler, asked)


def test_a_killed_judge_goes_on_where_it_stopped(out: Path) -> None:
    with FaultServer(default=slowly) as server:
        process = start(40, out, server.url)
        journal = out / "judgments.jsonl"
        while not journal.exists() or journal.read_bytes().count(b"\n") < 30:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with journal.open("ab") as file:
            file.write(b'{"pair": "p1", "torn')
        lines = journal.read_bytes().splitlines(keepends=True)
        kept, before = sum(line.endswith(b"\n") for line in lines), len(server.asked)
        process = start(40, out, server.url)
        stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr
        assert len(server.asked) - before == 80 - kept
    assert f"80 of 80 judgments, {80 - kept} new".encode() in stdout
    found = records(out)
    assert len(set(keys(found))) == len(found) == 80
    assert b"sk-0123456789" not in b"".join(p.read_bytes() for p in out.rglob("*") if p.is_file())


def test_processes_share_the_work(out: Path) -> None:
    with FaultServer(default=slowly) as server:
        processes = [start(60, out, server.url) for _ in range(3)]
        ends = [process.communicate(timeout=90) for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0], ends
        assert len(server.asked) == 120
    found = records(out)
    assert len(set(keys(found))) == len(found) == 120


def test_another_prompt_needs_another_folder(out: Path) -> None:
    judged(out, 1)
    with pytest.raises(SettingsError, match=r"prompt: name \('result', now 'reason'\)"):
        judged(out, 1, prompt="reason")


def test_pairs_can_be_added_and_changed_answers_are_asked_about(out: Path) -> None:
    *_, last = pairs = made_pairs(5)
    changed = [*pairs[:-1], replace(last, answers=("別の答え", last.answers[1]))]
    for each, asked in ((pairs[:2], 4), (pairs, 6), (changed, 2)):
        assert len(judged(out, each)[1]) == asked
    assert VerdictFolder(out).decisions()["pair"].to_list() == [f"p{n}" for n in range(5)]


def test_engines_are_asked_what_they_can_do_first(out: Path) -> None:
    engine = FakeEngine(Answered)  # type: ignore[arg-type]
    engine.abilities = frozenset({"completion"})
    with pytest.raises(SettingsError, match="'fake' does not support chats"):
        compare(made_pairs(1), engine, JUDGE, RESULT, out)
    assert engine.asked == 0


def test_a_budget_is_never_passed(out: Path) -> None:
    prices = Prices(prompt=1000.0, completion=10_000.0, currency="USD")  # a reply costs 0.11
    counter = token_counter("judge")
    sent = 0
    for limit, spent in ((2.0, 0.0), (3.0, 1.21)):
        budget = Budget(limit, prices, counter, (), spent=spent)
        asked, more = judged(out, 30, limits={"budget": budget})
        sent += len(more)
        assert asked.spent is not None
        assert asked.spent <= limit
        assert asked.unaffordable == 60 - asked.stored > 0
    assert sent == len(records(out))
    assert 10 < sent <= 27
    with pytest.raises(SettingsError, match="max_tokens"):
        Budget(1.0, prices, counter, [Group(Judge("openai-api", "judge"), ())])


def test_bad_prices_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    for text, problem in (
        ("", "no prices of 'judge'"),
        ("[models.judge]\nprompt = 1", "'completion' of 'judge' must be a number"),
        ('[models.judge]\nprompt = -1\ncompletion = "x"', "'prompt' of 'judge' must be"),
        ("[models", "is not TOML"),
    ):
        path.write_text(text)
        with pytest.raises(PfgenError, match=problem):
            read_prices(path, "judge")


def test_dry_runs_ask_nothing_and_write_nothing(out: Path) -> None:
    prices = out.with_name("prices.toml")
    prices.write_text('currency = "USD"\n[models.judge]\nprompt = 2.5\ncompletion = 10\n')
    with FaultServer(default=judging) as server:
        process = start(3, out, server.url, "--dry-run", "--prices", str(prices))
        stdout, stderr = process.communicate()
        assert not server.asked
    assert process.returncode == 0, stderr
    requests = list(comparison_requests(made_pairs(3), RESULT))
    tokens = sum(len(r.messages[0][1]) + 4 for r in requests)
    for told in (
        "6 requests to send, 0 already answered",
        f"prompt tokens: {tokens:,} (counted by characters)",
        "completion tokens: at most 384",
        f"cost: at most {(tokens * 2.5 + 6 * 64 * 10) / 1e6:.4f} USD",
    ):
        assert told in stdout.decode()
    assert not out.exists()
