"""A server that keeps its clients waiting: when that is told, and what is said."""

from __future__ import annotations

import logging
import re
import socket
import time
from contextlib import ExitStack

import pytest

import fault_server as faults
from engine_tasks import engine, tasks
from fault_server import FaultServer
from pfgen_rs.ask import waits
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Answered, Parameters
from pfgen_rs.errors import GenerationError

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")


def test_the_first_timeout_is_told_at_once_and_only_the_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with FaultServer({"p0": [faults.hang()] * 2, "p1": [faults.hang()]}) as server:
        outcomes = engine(server, timeout=0.5, concurrency=1).generate(tasks(3), Parameters())
        begun = time.time()
        assert all(isinstance(outcome, Answered) for outcome in outcomes)
    said = (
        "a request timed out: no answer within 0.5 seconds; it is sent again up to 3 times (--timeout, "
        "--retries)"
    )
    assert caplog.record_tuples == [("pfgen_rs.generate", logging.WARNING, said)]
    assert 0.5 <= caplog.records[0].created - begun < 1.0


def test_a_timeout_without_retries(caplog: pytest.LogCaptureFixture) -> None:
    with FaultServer(default=faults.hang()) as server, pytest.raises(GenerationError):
        list(engine(server, timeout=0.2, retries=0).generate(tasks(), Parameters()))
    assert caplog.messages == [
        "a request timed out: no answer within 0.2 seconds; it is not sent again (--timeout, --retries)"
    ]


def test_a_server_that_accepts_no_connection(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pfgen_rs.ask import client

    monkeypatch.setattr(client, "_CONNECTING", 0.3)
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):  # its queue is full
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        asking = OpenAIEngine("m", base_url=url, retries=0)
        with pytest.raises(GenerationError, match=r"no connection within 0\.3 seconds"):
            list(asking.generate(tasks(), Parameters()))
    assert [m.split(";")[0] for m in caplog.messages] == [
        "a request timed out: no connection within 0.3 seconds"
    ]


def test_silence_is_told_at_growing_intervals(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "_QUIET", 0.3)
    with FaultServer({"p0": [faults.answer()]}, faults.hang()) as server:
        outcomes = engine(server, concurrency=4, timeout=600).generate(tasks(9), Parameters())
        assert isinstance(next(outcomes), Answered)
        begun = time.monotonic()
        while len(caplog.messages) < 3:
            assert time.monotonic() < begun + faults.DEADLINE
            time.sleep(0.01)
        outcomes.close()  # type: ignore[attr-defined]
    said = [
        re.fullmatch(
            r"no reply for (\d+) s: 4 requests are waiting, each for at most 600 s \(--timeout\)", m
        )
        for m in caplog.messages
    ]
    assert all(said)
    first, second, third = (record.created for record in caplog.records[:3])
    assert 0.25 < second - first < third - second


def test_pauses_that_the_server_asked_for_are_not_silence(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "_QUIET", 0.5)
    later = faults.status(429, "later", {"retry-after": "1"})
    with FaultServer({"p0": [later]}) as server:
        [outcome] = engine(server, backoff=None).generate(tasks(), Parameters())
    assert isinstance(outcome, Answered)
    assert caplog.messages == []


def test_replies_of_any_kind_end_the_silence(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "_QUIET", 0.8)

    def slow(handler: faults.Handler, asked: faults.Asked) -> None:
        time.sleep(0.3)
        faults.status(500)(handler, asked)

    with FaultServer({"p0": [slow] * 5}) as server:
        list(engine(server, retries=5).generate(tasks(), Parameters()))
    assert caplog.messages == []
