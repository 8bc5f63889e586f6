"""How many requests are under way at a server at once: a number that adapts to what the server bears."""

import asyncio
from collections import deque

MOST, _FIRST = 512, 16
"""The largest window if no number is given, and the one to begin with."""
_RISE = 1.2
"""How much more throughput twice the window must give to be doubled again."""
_HOLD = 24
"""Rounds without a change before something else is tried."""
_STEP = 32
_BEYOND = 1.25
"""A limit counts as gone once the window has passed it by so much."""
_TRACE = 200


class Window:
    """The number of requests that may be under way at a server: `most`, until it refuses one for now.

    Without `most` it begins small and changes after rounds, in each of which as many requests as fit, and at
    least as many as in the beginning, were begun and answered. It doubles as long as this raises the
    throughput (requests under way over the mean time of an answer), holds when it does not, and now and then
    begins again from half.

    When the server refuses a request for now, the window is halved, at most once a round trip. It then
    returns to what the server had accepted, holds, and grows by a thirty-second, or one, a round, until the
    server refuses again or bears so much more that the window may double.

    `size`: the window, from 1 to `most`; `largest`: the largest so far. `trace`: its last 200 changes, as
    seconds since it was made, window, and reason. Times are those of any clock, in seconds; `now`: the time.
    """

    def __init__(self, most: int | None = None, now: float = 0.0) -> None:
        self._measures = self._doubles = most is None
        self.most = MOST if most is None else most
        self.size = self.largest = _FIRST if most is None else most
        self.trace = deque([(0.0, self.size, "start")], _TRACE)
        self._limit: int | None = None  # what the server accepted before it refused more
        self._throughput = 0.0  # before the last doubling
        self._held = 0
        self._made = self._cut = now
        self._begin_round(now)

    def answered(self, begun: float, now: float, busy: int) -> None:
        """Note an answer to a request begun at a time, with which `busy` were under way."""
        if begun < self._since or 2 * busy < self.size:  # it says nothing of larger windows
            return
        self._answers += 1
        self._seconds += now - begun
        self._busy += busy
        if self._answers >= max(self.size, _FIRST):
            self._end_round(self._busy / max(self._seconds, 1e-9), now)
            self._begin_round(now)

    def refused(self, begun: float, now: float, busy: int, reason: str) -> None:
        """Note that the server refused a request for now; arguments as for `answered`."""
        if begun < self._cut:
            if self._limit is not None:  # requests that begin together are refused in any order
                self._limit = max(self.size, min(self._limit, busy - 1))
            return
        if self._limit is None or self.size > self._limit:
            limit = min(self.size, busy) - 1 - busy // _STEP
        else:  # it does not bear so many any more
            limit = self._limit - 1 - self._limit // _STEP
        self._limit, self._held, self._cut = max(1, limit), 0, now
        self._set(min(self.size // 2, self._limit), reason, now)
        self._begin_round(now)

    def _begin_round(self, since: float) -> None:
        self._since, self._answers, self._busy, self._seconds = since, 0, 0, 0.0

    def _end_round(self, throughput: float, now: float) -> None:
        self._held += 1
        if self._limit is not None:
            self._near_limit(self._limit, now)
        elif self._doubles:
            self._doubles = throughput >= _RISE * self._throughput
            self._throughput, self._held = throughput, 0
            if self._doubles:
                self._set(2 * self.size, "throughput rises", now)
        elif self._held > _HOLD and self._measures:
            self._doubles, self._throughput = True, 0.0
            self._set(self.size // 2, "measured again", now)

    def _near_limit(self, limit: int, now: float) -> None:
        if self.size < limit:
            self._held = 0
            self._set(min(2 * self.size, limit), "back", now)
        elif self.size > _BEYOND * limit:
            self._limit, self._doubles, self._throughput = None, True, 0.0
        elif self._held > _HOLD:
            self._set(self.size + max(1, self.size // _STEP), "not refused", now)

    def _set(self, size: int, reason: str, now: float) -> None:
        size = max(1, min(size, self.most))
        if size != self.size:
            self.size, self.largest = size, max(size, self.largest)
            self.trace.append((round(now - self._made, 3), size, reason))


class Gate:
    """Lets the requests of one event loop through, first come, first served, as a window allows."""

    def __init__(self, window: Window) -> None:
        self._window, self._busy = window, 0
        self._waiting = deque[asyncio.Future[int]]()

    async def enter(self) -> int:
        """Wait for a place; returns how many are taken with it."""
        place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._admit()
        return await place

    def leave(self) -> None:
        """Free the place."""
        self._busy -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._busy < self._window.size:
            place = self._waiting.popleft()
            if not place.done():  # else its request was cancelled
                self._busy += 1
                place.set_result(self._busy)
