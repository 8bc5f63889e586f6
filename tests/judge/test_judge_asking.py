"""Asking judges: nothing is asked twice, nothing is lost, and every fault is counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fault_server import Asked, Behaviour, FaultServer, Handler, close, cut, hang, raw, status
from judging import (
    JUDGE,
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
from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.request import Group
from pfgen_rs.errors import InputError, PfgenError, SettingsError
from pfgen_rs.judge.compare import compare
from pfgen_rs.judge.pairs import write_pairs
from pfgen_rs.judge.requests import Judge, comparison_requests, find_prompt
from pfgen_rs.judge.verdict_folder import VerdictFolder

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

RESULT = find_prompt("result", "pairwise")
SCRIPT = Path(sys.executable).parent / "pfgen-rs"


def prompt_of(pair: int, order: int, count: int = 8) -> str:
    """The prompt that a pair of `made_pairs` gets."""
    requests = list(comparison_requests(made_pairs(count), RESULT))
    return requests[2 * pair + order - 1].messages[-1][1]


def test_every_pair_is_judged_in_both_orders(tmp_path: Path) -> None:
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


def test_the_second_order_shows_the_answers_swapped() -> None:
    one, two = list(comparison_requests(made_pairs(1), RESULT))
    first, second = one.messages[0][1], two.messages[0][1]
    assert first.index("答え0の一") < first.index("答え0の二")
    assert second.index("答え0の二") < second.index("答え0の一")


THINKING = [token(t) for t in ("<think>", "A", "? A!</think>")]
SURE = {"thoughts": {"A": 0.3, "B": 0, "C": 0.6}, "reasoning": {"A": 0, "B": 0.5, "C": 0}}
FAULTS: dict[str, tuple[Behaviour, str | None, str | None]] = {
    "429": (status(429, "slow down", {"retry-after": "0"}), None, None),
    "500": (status(500), None, None),
    "close": (close(), None, None),
    "cut": (cut(), None, None),
    "hang": (hang(), None, None),
    "html": (raw(b"<html>"), None, None),
    "null logprobs": (replying(chat_reply("B")), "B", None),
    "split letter": (replying(chat_reply("B", [token("[["), token("B"), token("]]")])), "B", None),
    "in a word": (replying(chat_reply("AI", [token("A"), token("I")])), None, "no verdict"),
    "thoughts": (
        replying(
            chat_reply("<think>A? A!</think>C", [*THINKING, token("C", {"C": 0.6, "A": 0.3})])
        ),
        "C",
        None,
    ),
    "reasoning": (
        replying(chat_reply("B", [token("A"), token("B", {"B": 0.5})], reasoning_content="A")),
        "B",
        None,
    ),
    "empty": (replying(chat_reply("")), None, "empty"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_no_verdict_is_lost_doubled_or_invented(name: str, tmp_path: Path) -> None:
    fault, shown, problem = FAULTS[name]
    victim = prompt_of(3, 1)
    asked, _ = judged(tmp_path / "v", 8, faults={victim: [fault]}, retries=3, timeout=0.5)
    assert asked.complete
    found = records(tmp_path / "v")
    assert len(set(keys(found))) == len(found) == 16
    record = next(r for r in found if keys([r]) == [("p3", 1)])
    if shown is None and problem is None:  # it was asked again
        assert record["probabilities"] == pytest.approx(probabilities_for(victim))
    else:
        assert (record["shown"], record["problem"]) == (shown, problem)
        if name in SURE:
            assert record["probabilities"] == pytest.approx(SURE[name])
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


@pytest.mark.parametrize("name", ["logprobs", "seed", "temperature"])
def test_parameters_that_a_server_refuses_are_left_out(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def strict(handler: Handler, asked: Asked) -> None:
        if name in asked.body:
            status(400, f"{name} is not supported", param=name, code="unsupported_parameter")(
                handler, asked
            )
        else:
            judging(handler, asked)

    asked, _ = judged(tmp_path / "v", 8, strict, optional=("logprobs", "seed", "temperature"))
    assert asked.complete
    found = records(tmp_path / "v")
    assert len(found) == 16
    assert all(record["left_out"] == [name] for record in found)
    assert all((record["probabilities"] is None) == (name == "logprobs") for record in found)
    assert sum(name in message for message in caplog.messages) == 1


def test_cut_off_reasons_are_invalid_and_counted(tmp_path: Path) -> None:
    reply = replying(chat_reply("A の方が", [token("A"), token(" の方が")], finish="length"))
    judged(tmp_path / "v", 2, reply, prompt="reason")
    for record in records(tmp_path / "v"):
        assert (record["shown"], record["probabilities"]) == (None, None)
        assert record["problem"] == "cut off by the token limit"
        assert record["output"] == "A の方が"
    assert VerdictFolder(tmp_path / "v").decisions()["strict_state"].unique().to_list() == [
        "invalid"
    ]


def start(pairs: Path, out: Path, url: str, *more: str) -> subprocess.Popen[bytes]:
    options = ["-e", "openai", "-m", "judge", "--prompt", "result", "--concurrency", "4"]
    command = [SCRIPT, "judge", "compare", pairs, *options, "--out", out, "--base-url", url, *more]
    arguments = [str(part) for part in command]
    environment = {**os.environ, "OPENAI_API_KEY": "sk-0123456789-very-secret"}
    return subprocess.Popen(
        arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def slowly(handler: Handler, asked: Asked) -> None:
    time.sleep(0.05)
    judging(handler, asked)


def test_a_killed_judge_goes_on_where_it_stopped(tmp_path: Path) -> None:
    pairs, out = tmp_path / "pairs.jsonl", tmp_path / "v"
    write_pairs(pairs, made_pairs(40))
    with FaultServer(default=slowly) as server:
        process = start(pairs, out, server.url)
        journal = out / "judgments.jsonl"
        while not journal.exists() or journal.read_bytes().count(b"\n") < 30:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with journal.open("ab") as file:
            file.write(b'{"pair": "p1", "torn')
        kept, before = len(records_whole(journal)), len(server.asked)
        process = start(pairs, out, server.url)
        stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr
        assert len(server.asked) - before == 80 - kept
    assert f"80 of 80 judgments, {80 - kept} new".encode() in stdout
    found = records(out)
    assert len(set(keys(found))) == len(found) == 80
    assert b"sk-0123456789" not in b"".join(p.read_bytes() for p in out.rglob("*") if p.is_file())


def records_whole(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def test_processes_share_the_work(tmp_path: Path) -> None:
    pairs, out = tmp_path / "pairs.jsonl", tmp_path / "v"
    write_pairs(pairs, made_pairs(60))
    with FaultServer(default=slowly) as server:
        processes = [start(pairs, out, server.url) for _ in range(3)]
        ends = [process.communicate(timeout=90) for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0], ends
        assert len(server.asked) == 120
    found = records(out)
    assert len(set(keys(found))) == len(found) == 120


def test_journals_say_which_line_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"item": "a"}\nnonsense\n{"item": "b"}\n')
    with pytest.raises(InputError, match=r"line 2: .*remove the line"), Journal(path, ("item",)):
        pass
    assert path.read_bytes().count(b"\n") == 3


def test_another_prompt_needs_another_folder(tmp_path: Path) -> None:
    judged(tmp_path / "v", 1)
    with pytest.raises(SettingsError, match=r"prompt: name \('result', now 'reason'\)"):
        judged(tmp_path / "v", 1, prompt="reason")


def test_pairs_can_be_added_and_changed_answers_are_asked_about(tmp_path: Path) -> None:
    *_, last = pairs = made_pairs(5)
    changed = [*pairs[:-1], replace(last, answers=("別の答え", last.answers[1]))]
    for each, asked in ((pairs[:2], 4), (pairs, 6), (changed, 2)):
        assert len(judged(tmp_path / "v", each)[1]) == asked
    found = VerdictFolder(tmp_path / "v").decisions()
    assert found["pair"].to_list() == [f"p{n}" for n in range(5)]


def test_engines_are_asked_what_they_can_do_first(tmp_path: Path) -> None:
    class Mute:
        name = "mute"
        abilities = frozenset({"completion"})

        def generate(self, *_: object) -> Any:
            raise AssertionError("nothing may be sent")

        def close(self) -> None: ...

    with pytest.raises(SettingsError, match="'mute' does not support chats"):
        compare(made_pairs(1), Mute(), JUDGE, RESULT, tmp_path / "v")


def test_a_budget_is_never_passed(tmp_path: Path) -> None:
    prices = Prices(prompt=1000.0, completion=10_000.0, currency="USD")  # a reply costs 0.11
    counter = token_counter("judge")
    sent = 0
    for limit, spent in ((2.0, 0.0), (3.0, 1.21)):
        budget = Budget(limit, prices, counter, (), spent=spent)
        asked, more = judged(tmp_path / "v", 30, limits={"budget": budget})
        sent += len(more)
        assert asked.spent is not None
        assert asked.spent <= limit
        assert asked.unaffordable == 60 - asked.stored > 0
    assert sent == len(records(tmp_path / "v"))
    assert 10 < sent <= 27


def test_a_budget_needs_a_limit_on_the_output() -> None:
    groups = [Group(Judge("openai-api", "judge"), ())]
    with pytest.raises(SettingsError, match="max_tokens"):
        Budget(1.0, Prices(1, 1), token_counter("x"), groups)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no prices of 'judge'"),
        ("[models.judge]\nprompt = 1", "'completion' of 'judge' must be a number"),
        ('[models.judge]\nprompt = -1\ncompletion = "x"', "'prompt' of 'judge' must be"),
        ("[models", "is not TOML"),
    ],
)
def test_bad_prices_are_errors(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(PfgenError, match=problem):
        read_prices(path, "judge")


def test_dry_runs_ask_nothing_and_write_nothing(tmp_path: Path) -> None:
    pairs, out, prices = tmp_path / "pairs.jsonl", tmp_path / "v", tmp_path / "prices.toml"
    write_pairs(pairs, made_pairs(3))
    prices.write_text('currency = "USD"\n[models.judge]\nprompt = 2.5\ncompletion = 10\n')
    with FaultServer(default=judging) as server:
        estimate = ("--dry-run", "--prices", str(prices))
        process = start(pairs, out, server.url, *estimate)
        stdout, stderr = process.communicate()
        assert not server.asked
    assert process.returncode == 0, stderr
    text = stdout.decode()
    requests = list(comparison_requests(made_pairs(3), RESULT))
    tokens = sum(len(r.messages[0][1]) + 4 for r in requests)
    cost = (tokens * 2.5 + 6 * 64 * 10) / 1e6
    assert "6 requests to send, 0 already answered" in text
    assert f"prompt tokens: {tokens:,} (counted by characters)" in text
    assert "completion tokens: at most 384" in text
    assert f"cost: at most {cost:.4f} USD" in text
    assert not out.exists()
