"""How the engine for OpenAI's protocol keeps its limits: requests at once, waits, silence, cancelling."""

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fault_server as faults
from engine_tasks import SHORT, bare, engine, exchanged, tasks, until
from fault_server import FaultServer
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Answered, Outcome, Parameters
from pfgen_rs.ask.retrying import Backoff, retry_after
from pfgen_rs.errors import GenerationError
from places import SUPPORT

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

KEY = "sk-0123456789-very-secret"
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def test_all_tasks_are_answered_and_begun_in_order() -> None:
    given = tasks(30)
    outcomes, asked = exchanged(given, concurrency=1)
    assert [one.prompt for one in asked] == [task.prompt for task in given]
    assert bare(outcomes) == [Answered(task, f"{task.prompt}/{task.seed}") for task in given]
    assert exchanged([]) == ([], [])


def test_as_many_requests_as_allowed_are_under_way_and_never_more() -> None:
    with FaultServer(default=faults.meet(8)) as server:
        outcomes = list(engine(server, concurrency=8).generate(tasks(64), Parameters()))
    assert sorted(outcome.task.seed for outcome in outcomes) == list(range(100, 164))
    assert server.most_at_once == 8


def test_a_slow_reader_is_waited_for() -> None:
    with FaultServer() as server:
        outcomes = engine(server, concurrency=4).generate(tasks(60), Parameters())
        next(outcomes)
        # The reader pauses until no more is begun.
        until(lambda: len(server.asked) == 8)
        for taken, _ in enumerate(outcomes, 2):
            assert len(server.asked) <= taken + 8
    assert len(server.asked) == 60


@given(st.integers(0, 5000), st.integers(), st.none() | st.floats(0, 1e9))
def test_waits_have_bounds(failure: int, seed: int, asked: float | None) -> None:
    backoff = Backoff(first=0.5, longest=30.0, patience=120.0)
    wait = backoff.wait(failure, Random(seed), asked)
    assert wait == backoff.wait(failure, Random(seed), asked)
    if asked is None:
        assert 0.25 <= wait <= 30.0
    else:
        assert min(asked, 120.0) <= wait <= 120.5


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": format_datetime(NOON + timedelta(seconds=90), usegmt=True)}, 90.0),
        ({"retry-after": "Fri, 02 Jan 2026 12:00:05 -0000"}, 5.0),
        ({"retry-after": "Fri, 02 Jan 2026 13:00:05 +0100"}, 5.0),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Fri, 99 Jan 2026 12:00:00 GMT"}, None),
        ({"retry-after": "Fri, 02 Jan 2026 12:00:00 -9999"}, None),
    ],
)
def test_when_to_come_back_is_understood(headers: Mapping[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOON) == seconds


@given(st.text())
def test_no_header_breaks_the_reading(text: str) -> None:
    seconds = retry_after({"retry-after": text}, NOON)
    assert seconds is None or seconds >= 0


def test_long_waits_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    far = faults.status(429, f"{KEY} is slow", {"retry-after": "3600"})
    near = faults.status(429, "soon", {"retry-after": "0.02"})
    script = {"p0": [near, far, far], "p1": [far], "p2": [far]}
    exchanged(tasks(3), script, api_key=KEY, backoff=Backoff(0.01, 0.01, 0.02))
    said = "waiting 0 s: the server answered 429: *** is slow (server asked for 3,600 s)"
    assert caplog.record_tuples == [("pfgen_rs.generate", logging.WARNING, said)]


def test_waits_double_and_are_seeded() -> None:
    _, asked = exchanged(tasks(), {"p0": [faults.status(500)] * 3})
    random = Random("100 q0")
    for failure, (early, late) in enumerate(pairwise(asked)):
        wait = SHORT.wait(failure, random)
        assert 0.01 * 2**failure <= wait <= 0.02 * 2**failure
        assert late.at - early.at >= wait
    assert len(asked) == 4


def test_a_server_that_says_when_is_believed_up_to_a_limit() -> None:
    for header, least in (({"retry-after-ms": "80"}, 0.08), ({"retry-after": "86400"}, 0.1)):
        _, (first, second) = exchanged(tasks(), {"p0": [faults.status(429, "wait", header)]})
        assert second.at - first.at >= least


def test_closing_the_iterator_cancels_what_is_under_way() -> None:
    with FaultServer({"p0": [faults.answer()]}, faults.hang()) as server:
        outcomes = engine(server, concurrency=4, timeout=600).generate(tasks(50), Parameters())
        assert isinstance(next(outcomes), Answered)
        until(lambda: len(server.asked) == 5)
        outcomes.close()  # type: ignore[attr-defined]
        for _ in range(4):
            assert server.left.acquire(timeout=faults.DEADLINE)
        assert len(server.asked) == 5


INTERRUPTED = """
import sys
from engine_tasks import tasks
from pfgen_rs.ask.protocol import Parameters
from pfgen_rs.ask.engines.openai import OpenAIEngine

engine = OpenAIEngine("m", base_url=sys.argv[1], concurrency=4)
try:
    for outcome in engine.generate(tasks(50), Parameters()):
        print("answered", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_an_interrupt_ends_the_waiting() -> None:
    found = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": found}
    with FaultServer({"p0": [faults.answer()]}, faults.hang()) as server:
        command = [sys.executable, "-c", INTERRUPTED, server.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"answered\n"
            until(lambda: len(server.asked) == 5)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=faults.DEADLINE)[0] == b"interrupted\n"
        assert process.returncode == 0


def test_it_works_where_an_event_loop_runs() -> None:
    async def within(server: FaultServer) -> list[Outcome]:
        return list(engine(server).generate(tasks(3), Parameters()))

    with FaultServer() as server:
        assert len(asyncio.run(within(server))) == 3


@pytest.mark.parametrize("code", [200, 400, 401, 429, 500])
def test_the_key_is_shown_nowhere(
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    chained: tuple[BaseException | None, ...] = (None, None)
    with FaultServer(default=faults.echo_key(code)) as server:
        asking = engine(server, retries=1)
        shown.append(repr(asking) + str(asking))
        try:
            shown += [repr(outcome) for outcome in asking.generate(tasks(2), Parameters())]
        except GenerationError as error:
            # Nothing hangs on it that knows the key, such as the package's error with its request.
            chained = (error.__cause__, error.__context__)
            shown += traceback.format_exception(error)
    assert chained == (None, None)
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert len(caplog.messages) > 0
    said = "contains the API key" if code == 200 else "your key is Bearer ***"
    assert said in "".join(shown)
    everything = "".join([*shown, caplog.text, *caplog.messages, *capfd.readouterr()])
    assert KEY not in everything
    assert "very-secret" not in everything


def test_the_first_timeout_is_told_at_once_and_only_the_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun, script = time.time(), {"p0": [faults.hang()] * 2, "p1": [faults.hang()]}
    outcomes, _ = exchanged(tasks(3), script, timeout=0.5, concurrency=1)
    assert all(isinstance(outcome, Answered) for outcome in outcomes)
    said = "a request timed out: no answer within 0.5 seconds (--set timeout=…, retries=…)"
    assert caplog.record_tuples == [("pfgen_rs.generate", logging.WARNING, said)]
    assert 0.5 <= caplog.records[0].created - begun < 1.0


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
    assert [m.split(" (")[0] for m in caplog.messages] == [
        "a request timed out: no connection within 0.3 seconds"
    ]
