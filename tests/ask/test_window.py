"""The number of requests under way: what refusals and throughput make of it, in simulated time."""

import asyncio
import heapq
import itertools
import selectors
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

import generation
import limits
from engine_tasks import tasks
from pfgen_rs.ask import wire
from pfgen_rs.ask.protocol import Answered, Outcome, Parameters, Task
from pfgen_rs.ask.retrying import Again, Backoff, Waits
from pfgen_rs.ask.server import Place
from pfgen_rs.ask.window import Gate, Window

TASKS = tasks(30_000)

Server = Callable[[float, int], tuple[float, Any]]
"""Seconds until the reply to a request at a time, with so many under way, and what that is: an answer
(`""`), or a refusal (`None`, or the seconds in its `Retry-After`)."""


class Leaping(selectors.DefaultSelector):
    """Waits for nothing: time leaps to when something is due."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


def simulated(
    most: int | None, server: Server, answers: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[float, Counter[str], Window]:
    """Returns the seconds until there are so many answers, the numbers of kinds of replies, the window."""
    client = pytest.importorskip("pfgen_rs.ask.client", reason="aiohttp is not installed")
    selector = Leaping()
    loop = asyncio.SelectorEventLoop(selector)
    monkeypatch.setattr(loop, "time", lambda: selector.now)
    monkeypatch.setattr(client.time, "monotonic", lambda: selector.now)
    seen, working, window = Counter[str](), 0, Window(most)

    class Session(client.Session):  # type: ignore[misc, name-defined]
        async def _attempt(self, task: Task, _attempts: Iterator[int]) -> Outcome | Again:
            nonlocal working
            working += 1
            seconds, reply = server(selector.now, working)
            working -= reply != ""
            await asyncio.sleep(seconds)
            working -= reply == ""
            seen["answer" if reply == "" else "refusal"] += 1
            if isinstance(reply, str):
                return Answered(task, "")
            return Again("later", reply, busy="429")

    async def asked() -> float:
        place, patience = Place("http://localhost", None), (1.0, 6, Backoff(), Waits())
        session = Session(place, wire.Form("m"), *patience, Parameters(), lambda _: None, window)
        numbered, done = iter(TASKS), asyncio.Event()

        async def worker() -> None:
            for task in numbered:
                outcome = await session._outcome(task)
                seen["failure"] += not isinstance(outcome, Answered)
                if seen["answer"] >= answers:
                    done.set()

        workers = [asyncio.create_task(worker()) for _ in range(window.most)]
        await asyncio.wait(
            [*workers, ended := asyncio.ensure_future(done.wait())], return_when="FIRST_COMPLETED"
        )
        assert ended.done()
        for each in workers:
            each.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        return selector.now

    try:
        return loop.run_until_complete(asked()), seen, window
    finally:
        loop.close()


def taking(random: Random, sigma: float = 0.3) -> Server:
    return lambda _now, _busy: (random.lognormvariate(0, sigma), "")


def refusing(limit: int, random: Random, after: float | None = None) -> Server:
    answer = taking(random)
    return lambda now, busy: (0.01, after) if busy > limit else answer(now, busy)


def queueing(limit: int, random: Random) -> Server:
    """A server that works at so many at once, first come, first served."""
    free = [0.0] * limit

    def answer(now: float, _busy: int) -> tuple[float, str]:
        end = max(now, free[0]) + random.lognormvariate(0, 0.3)
        heapq.heapreplace(free, end)
        return end - now, ""

    return answer


def failing(share: float, random: Random) -> Server:
    answer = taking(random)
    return lambda now, busy: (0.05, None) if random.random() < share else answer(now, busy)


def blinking(number: int, random: Random) -> Server:
    """A server that refuses one request."""
    count, answer = itertools.count(1), taking(random)
    return lambda now, busy: (0.01, None) if next(count) == number else answer(now, busy)


def starting(seconds: float, random: Random) -> Server:
    answer = taking(random)
    return lambda now, busy: (0.01, None) if now < seconds else answer(now, busy)


def rated(number: int, seconds: float, random: Random) -> Server:
    """A server that answers so many requests in each stretch of time."""
    seen, answer = Counter[float](), taking(random)

    def reply(now: float, busy: int) -> tuple[float, Any]:
        seen[now // seconds] += 1
        full = seen[now // seconds] > number
        return (0.02, seconds - now % seconds) if full else answer(now, busy)

    return reply


@pytest.mark.parametrize("limit", [3, 20, 64, 200])
@pytest.mark.parametrize("kind", [refusing, queueing])
def test_a_hidden_limit_is_found(
    kind: Callable[[int, Random], Server], limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = max(120 * limit, 1000)
    seconds, seen, window = simulated(None, kind(limit, Random(1)), answers, monkeypatch)
    best, _, _ = simulated(limit, kind(limit, Random(1)), answers, monkeypatch)
    assert seconds < best / 0.9
    assert window.size <= max(4 * limit, 128)
    assert seen["refusal"] < 0.02 * answers + 300  # those of the beginning, with 64 at once


def test_a_limit_that_is_gone_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = refusing(8, Random(1)), queueing(200, Random(2))
    _, _, window = simulated(64, low, 500, monkeypatch)
    assert window.size <= 9
    gone = simulated(
        64, lambda now, busy: (low if now < 60 else high)(now, busy), 4000, monkeypatch
    )
    assert min(size for _, size, _ in gone[2].trace) <= 9
    assert gone[2].size == 64


STEADY: dict[str, Callable[[Random], Server]] = {
    "the first is refused": lambda random: blinking(1, random),
    "the thirtieth is refused": lambda random: blinking(30, random),
    "1 % of faults": lambda random: failing(0.01, random),
    "starting": lambda random: starting(4.0, random),
    "a rate with Retry-After": lambda random: rated(200, 5.0, random),
    "heavy tails": lambda random: taking(random, 1.0),
}


@pytest.mark.parametrize("server", STEADY)
def test_what_is_no_limit_costs_nothing(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed, seen, window = simulated(64, STEADY[server](Random(1)), 2000, monkeypatch)
    assert seen["failure"] == 0
    assert window.size > 56
    adapted, _, _ = simulated(None, STEADY[server](Random(1)), 2000, monkeypatch)
    assert adapted < 1.05 * fixed
    monkeypatch.setattr(Window, "refused", lambda *_, **_more: None)
    assert fixed < 1.05 * simulated(64, STEADY[server](Random(1)), 2000, monkeypatch)[0]


@given(
    st.none() | st.integers(1, 600),
    st.lists(st.tuples(st.floats(0, 9), st.integers(1, 700), st.booleans()), max_size=300),
)
def test_the_window_keeps_its_bounds(
    most: int | None, events: list[tuple[float, int, bool]]
) -> None:
    window, now = Window(most), 0.0
    for seconds, busy, is_answered in events:
        before, now = window.size, now + seconds
        begun = max(0.0, now - 1.0)
        if is_answered:
            window.answered(begun, now, busy)
            assert window.size <= 2 * before
        else:
            window.refused(begun, now, busy, "429", before=busy % 4, left=busy - 1)
            assert window.size <= before
        assert 1 <= window.size <= window.largest <= window.most == (most or 512)
    assert [size for _, size, _ in window.trace][-1] == window.size


def test_it_is_halved_once_a_round_trip() -> None:
    window = Window(64)
    window.answered(0.0, 1.0, 64)
    for number in range(640):  # all begun before the first of them was refused
        window.refused(0.0, 1.0 + number, 64, "429", before=1, left=3)
    assert window.size == 32


def test_a_real_server_with_a_hidden_limit() -> None:
    """The bench in small; how near it comes to the best number is tested in simulated time above."""
    found = limits.hidden_limit("refuses", generation._server, limit=24, seconds=3.0, fixed=(4, 24))
    assert found.details["answers a second"]["auto"] > 2 * found.details["answers a second"]["4"]
    assert [change[2] for change in found.details["concurrency"]["trace"]][:2] == ["start", "429"]


def test_the_gate_lets_through_as_many_as_fit_in_order() -> None:
    async def passed() -> list[tuple[int, int]]:
        window, seen = Window(2), []
        gate = Gate(window)

        async def request(number: int) -> None:
            async with gate.turn(again=False):
                seen.append((number, gate.busy))
                await asyncio.sleep(0)
                window.size = 1 if number == 2 else 3

        await asyncio.gather(*map(request, range(6)))
        assert gate.busy == 0
        return seen

    found = asyncio.run(passed())
    assert [number for number, _ in found] == list(range(6))
    assert max(busy for _, busy in found) <= 3
