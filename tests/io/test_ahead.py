"""Work in threads that run ahead."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

from pfgen_rs import InputError
from pfgen_rs.io.ahead import THREADS, Ahead, begun


def test_what_runs_ahead_stays_near_and_ends() -> None:
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for i in range(100):
            made.append(i)
            yield i

    with Ahead(numbers, 2) as ahead:
        assert [next(ahead), next(ahead)] == [0, 1]
        time.sleep(0.2)
        assert len(made) <= 5
    time.sleep(0.1)
    assert len(made) <= 6
    assert THREADS not in {thread.name for thread in threading.enumerate()}
    assert list(Ahead(lambda: iter(range(50)), 3)) == list(range(50))


def test_nothing_is_made_before_there_is_room_for_it() -> None:
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for i in range(9):
            made.append(i)
            yield i

    with Ahead(numbers, room_first=True) as ahead:
        for i in range(9):
            assert next(ahead) == i
            time.sleep(0.02)
            assert len(made) <= i + 2
        assert list(ahead) == []


def test_errors_travel_to_where_the_item_is_missed() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise InputError("oops")

    ahead = Ahead(broken)
    assert next(ahead) == 1
    with pytest.raises(InputError, match="oops"):
        next(ahead)
    assert list(ahead) == []


def test_begun_work_goes_on_meanwhile_and_raises_where_it_is_awaited() -> None:
    started = threading.Barrier(3, timeout=10)

    def meet(number: int) -> int:
        started.wait()
        return number

    both = [begun(partial(meet, number)) for number in (1, 2)]
    started.wait()  # both are at work
    assert [next(work) for work in both] == [1, 2]
    with pytest.raises(ZeroDivisionError):
        next(begun(lambda: 1 // 0))
