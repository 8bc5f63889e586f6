"""How many requests are under way at a server at once: a number that adapts to what the server bears."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MOST, _FIRST = 512, 64
"""The largest window if no number is given, and the one to begin with."""
_RISE = 1.2
"""How much more throughput twice the window must give to be doubled again."""
_PERSISTS = 3
"""How often requests were refused before that are refused in a round with a limit, in sum."""
_HOLD = 16
"""Rounds without a change before something else is tried."""
_STEP = 16
_BEYOND = 1.25
"""A limit counts as gone once the window has passed it by so much."""
_TRACE = 200


class Window:
    """The number of requests that may be under way at a server: `most`, until it refuses too many for now.

    Without `most` it begins with 64 and doubles as long as this raises the throughput (requests under way
    over the mean time of an answer), holds when it does not, and now and then begins again from half.

    It changes after rounds, in each of which as many requests as fit were begun and came back, at least one
    of them with an answer. If the server refuses requests for now, again and again, the window becomes what
    the server bore, at least half. It then holds and grows by a sixteenth, or one, a round, until the server
    refuses again or bears a quarter more, whereupon the window doubles again. Single faults change nothing.

    `size`: the window, from 1 to `most`; `largest`: the largest so far. `trace`: its last 200 changes, as
    seconds since it was made, window, and reason. Times are those of any clock, in seconds; `now`: the time.
    """

    def __init__(self, most: int | None = None, now: float = 0.0) -> None:
        self._measures = most is None
        self.most = MOST if most is None else most
        self.size = self.largest = _FIRST if most is None else most
        self.trace = deque([(0.0, self.size, "start")], _TRACE)
        self._limit: int | None = None  # what is left since the server refused more
        self._doubles, self._throughput = True, 0.0  # before the last doubling
        self._held, self._reason = 0, ""
        self._made = now
        self._refusals = deque[tuple[float, int, int]]((), MOST)
        self._begin_round(now)

    def answered(self, begun: float, now: float, busy: int) -> None:
        """Note an answer to a request begun at a time, when `busy` had a turn."""
        if not self._counts(begun, busy):
            return
        if not self._answers:  # a server that answers none is down, which says nothing of a limit
            self._refusals = deque((each for each in self._refusals if each[0] >= begun), MOST)
        self._answers += 1
        self._seconds += now - begun
        self._busy += busy
        self._judge(now)

    def refused(
        self, begun: float, now: float, busy: int, reason: str, *, before: int, left: int
    ) -> None:
        """Note that the server refused a request for now.

        `before`: how often it had refused that already; `left`: how many others are under way. Else as for
        `answered`.
        """
        if self._counts(begun, busy):
            self._reason = reason
            self._refusals.append((begun, before, left))
            self._judge(now)

    def _begin_round(self, since: float) -> None:
        self._since, self._answers, self._busy, self._seconds = since, 0, 0, 0.0
        self._refusals.clear()

    def _counts(self, begun: float, busy: int) -> bool:
        """Whether a request says something of this window, not of an earlier one or of smaller numbers."""
        return begun >= self._since and 2 * busy >= self.size

    def _judge(self, now: float) -> None:
        if not self._answers or self._answers + len(self._refusals) < self.size:
            return
        again = [(before, left) for _, before, left in self._refusals if before]
        if sum(before for before, _ in again) >= _PERSISTS:
            self._held = 0
            self._limit = max((self.size + 1) // 2, min(left for _, left in again))
            self._set(self._limit, self._reason, now)
        else:
            self._grow(self._busy / max(self._seconds, 1e-9), now)
        self._begin_round(now)

    def _grow(self, throughput: float, now: float) -> None:
        self._held += 1
        if self._limit is not None:
            if self.size > _BEYOND * self._limit:
                self._limit, self._doubles, self._throughput = None, True, 0.0
            elif self._held > _HOLD:
                self._set(self.size + max(1, self.size // _STEP), "not refused", now)
        elif self._doubles:
            self._doubles = not self._measures or throughput >= _RISE * self._throughput
            self._throughput, self._held = throughput, 0
            if self._doubles:
                self._set(2 * self.size, "throughput rises", now)
        elif self._held > _HOLD:
            self._doubles, self._throughput = True, 0.0
            self._set(self.size // 2, "measured again", now)

    def _set(self, size: int, reason: str, now: float) -> None:
        size = max(1, min(size, self.most))
        if size != self.size:
            self.size, self.largest = size, max(size, self.largest)
            self.trace.append((round(now - self._made, 3), size, reason))


class Gate:
    """Lets the requests of one event loop through, first come, first served, as a window allows.

    `busy`: how many have a turn.
    """

    def __init__(self, window: Window) -> None:
        self._window, self.busy = window, 0
        self._waiting = deque[asyncio.Future[None]]()
        self._opens: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def turn(self, *, again: bool) -> AsyncIterator[None]:
        """Returns a context for an attempt and the wait after it; those that come again come first."""
        loop = asyncio.get_running_loop()
        place = loop.create_future()
        (self._waiting.appendleft if again else self._waiting.append)(place)
        self._admit()
        await place
        try:
            yield
        finally:
            self.busy -= 1
            loop.call_soon(self._admit)

    def close(self, seconds: float) -> None:
        """Let nothing through for so many seconds."""
        loop = asyncio.get_running_loop()
        if self._opens is not None:
            if self._opens.when() >= loop.time() + seconds:
                return
            self._opens.cancel()
        self._opens = loop.call_later(seconds, self._open)

    def _open(self) -> None:
        self._opens = None
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._opens is None and self.busy < self._window.size:
            place = self._waiting.popleft()
            if not place.done():  # else its request was cancelled
                self.busy += 1
                place.set_result(None)
