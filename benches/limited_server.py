"""A server with a hidden limit of requests at once, beyond which it refuses or lets wait.

    python benches/limited_server.py refuses|queues LIMIT

Prints its port and serves until it is killed. An answer takes a log-normal time. Beyond the limit, a server
that `refuses` answers 429 at once, and one that `queues` works on the requests in their order.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import deque
from random import Random
from typing import ClassVar

import instant_server

MEDIAN, SIGMA = 0.1, 0.3
"""Seconds, and the standard deviation of their logarithm."""
_REFUSAL = b"HTTP/1.1 429 Later\r\nContent-Length: 2\r\n\r\n{}"


class Limited(instant_server.Instant):
    """One connection."""

    refuses, limit, working = True, 1, 0
    waiting: ClassVar[deque[Limited]] = deque()
    random = Random(0)

    def answer(self, _body: bytes) -> None:
        """Answer a request when there is room, or refuse it."""
        if Limited.working < self.limit:
            self._begin()
        elif self.refuses:
            self._transport.write(_REFUSAL)
        else:
            self.waiting.append(self)

    def _begin(self) -> None:
        Limited.working += 1
        seconds = self.random.lognormvariate(math.log(MEDIAN), SIGMA)
        asyncio.get_running_loop().call_later(seconds, self._end)

    def _end(self) -> None:
        Limited.working -= 1
        self._transport.write(self.RESPONSE)
        if self.waiting:
            self.waiting.popleft()._begin()


if __name__ == "__main__":
    Limited.refuses, Limited.limit = sys.argv[1] == "refuses", int(sys.argv[2])
    asyncio.run(instant_server.main(Limited))
