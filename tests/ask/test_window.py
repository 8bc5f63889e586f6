"""The number of requests under way: what refusals and throughput make of it, in simulated time."""

import asyncio
import heapq
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, strategies as st

import generation
import limits
from pfgen_rs.ask.window import Gate, Window

Server = Callable[[float, int], float | None]
"""Seconds until the answer to a request at a time, with so many under way; `None` for a refusal."""


def simulated(window: Window, server: Server, answers: int) -> tuple[float, int]:
    """Ask until there are so many answers; returns the seconds that took, and the refusals."""
    ends: list[tuple[float, int, float, int, bool]] = []  # end, number, begun, busy, answered
    now, number, working, done, refused = 0.0, 0, 0, 0, 0
    while done < answers:
        while len(ends) < window.size:
            number, seconds = number + 1, server(now, working + 1)
            is_answered = seconds is not None
            end = now + (0.01 if seconds is None else seconds)
            heapq.heappush(ends, (end, number, now, len(ends) + 1, is_answered))
            working += is_answered
        now, _, begun, busy, is_answered = heapq.heappop(ends)
        if is_answered:
            window.answered(begun, now, busy)
        else:
            window.refused(begun, now, busy, "429")
        working, done, refused = (
            working - is_answered,
            done + is_answered,
            refused + (not is_answered),
        )
        assert 1 <= window.size <= window.largest <= window.most
        assert len(window.trace) <= 200
    return now, refused


def refusing(limit: int, random: Random) -> Server:
    return lambda _, busy: None if busy > limit else random.lognormvariate(0, 0.3)


def queueing(limit: int, random: Random) -> Server:
    """A server that works at so many at once, first come, first served."""
    free = [0.0] * limit

    def answer(now: float, _busy: int) -> float:
        end = max(now, free[0]) + random.lognormvariate(0, 0.3)
        heapq.heapreplace(free, end)
        return end - now

    return answer


@pytest.mark.parametrize("kind", [refusing, queueing])
@pytest.mark.parametrize("limit", [3, 20, 64, 200])
def test_a_hidden_limit_is_found(kind: Callable[[int, Random], Server], limit: int) -> None:
    window, answers = Window(), 120 * limit
    seconds, refused = simulated(window, kind(limit, Random(1)), answers)
    best, _ = simulated(Window(limit), kind(limit, Random(1)), answers)
    assert seconds < best / 0.9
    assert window.size <= max(4 * limit, 32)
    assert refused < 0.02 * answers + 10


def test_a_limit_that_is_gone_is_passed() -> None:
    window = Window(64)
    assert simulated(window, refusing(8, Random(1)), 500)[1] < 70
    assert window.size == 8
    simulated(window, queueing(200, Random(2)), 60_000)
    assert window.size == 64


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
            window.refused(begun, now, busy, "429")
            assert window.size <= before
        assert 1 <= window.size <= window.largest <= window.most == (most or 512)
    assert [size for _, size, _ in window.trace][-1] == window.size


def test_it_is_halved_once_a_round_trip() -> None:
    window = Window(64)
    for number in range(64):  # all begun before the first of them was refused
        window.refused(0.0, 1.0 + number, 64, "429")
    assert window.size == 32
    window.refused(1.5, 70.0, 32, "timeout")
    assert window.size == 16
    assert [*window.trace] == [(0.0, 64, "start"), (1.0, 32, "429"), (70.0, 16, "timeout")]


def test_a_real_server_with_a_hidden_limit() -> None:
    """The bench in small: no number is as good as one that is known, but nearly."""
    found = limits.hidden_limit("refuses", generation._server, limit=24, seconds=3.0, fixed=(4, 24))
    assert found.value < 40
    assert found.details["answers a second"]["auto"] > 3 * found.details["answers a second"]["4"]
    assert [change[2] for change in found.details["concurrency"]["trace"]][:2] == [
        "start",
        "throughput rises",
    ]


def test_the_gate_lets_through_as_many_as_fit_in_order() -> None:
    async def passed() -> list[tuple[int, int]]:
        window, seen = Window(2), []
        gate = Gate(window)

        async def request(number: int) -> None:
            seen.append((number, await gate.enter()))
            await asyncio.sleep(0)
            window.size = 1 if number == 2 else 3
            gate.leave()

        await asyncio.gather(*map(request, range(6)))
        assert await gate.enter() == 1
        return seen

    found = asyncio.run(passed())
    assert [number for number, _ in found] == list(range(6))
    assert max(busy for _, busy in found) <= 3
