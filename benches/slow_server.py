"""A server whose answers take as long as those of models: log-normally distributed, the same in every run.

    python benches/slow_server.py [SECONDS]

Prints its port and serves until it is killed. With SECONDS, the first request is put off: it gets status 429
and `Retry-After`.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
from random import Random

import instant_server

MEDIAN, SIGMA = 1.0, 0.8
"""Seconds, and the standard deviation of their logarithm."""
_LATER = b"HTTP/1.1 429 Later\r\nRetry-After: %s\r\nContent-Length: 2\r\n\r\n{}"


def latency(prompt: str, seed: int) -> float:
    """How long the answer to a request takes, in seconds."""
    return Random(f"{seed} {prompt}").lognormvariate(math.log(MEDIAN), SIGMA)


class Slow(instant_server.Instant):
    """One connection."""

    put_off = b""

    def answer(self, body: bytes) -> None:
        """Answer a request later."""
        if Slow.put_off:
            self._transport.write(_LATER % Slow.put_off)
            Slow.put_off = b""
            return
        asked = json.loads(body)
        seconds = latency(asked["prompt"], asked["seed"])
        asyncio.get_running_loop().call_later(seconds, self._transport.write, self.RESPONSE)


if __name__ == "__main__":
    Slow.put_off = sys.argv[1].encode() if len(sys.argv) > 1 else b""
    asyncio.run(instant_server.main(Slow))
