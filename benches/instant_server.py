"""A server that answers every completion at once with the same text, as fast as Python can.

    python benches/instant_server.py

Prints its port and serves until it is killed. It reads no more of a request than its length.
"""

from __future__ import annotations

import asyncio
import json
from typing import cast

ANSWER = " " + "あ" * 100
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


def _response() -> bytes:
    choice = {"index": 0, "text": ANSWER, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 2000, "completion_tokens": 60, "total_tokens": 2060}
    reply = {"id": "1", "object": "text_completion", "created": 1, "model": "instant"}
    body = json.dumps({**reply, "choices": [choice], "usage": usage}).encode()
    return _HEAD % len(body) + body


class Instant(asyncio.Protocol):
    """One connection."""

    RESPONSE = _response()

    def __init__(self) -> None:
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to answer."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self._read += data
        while (end := self._read.find(_END)) >= 0:
            head = self._read[:end].lower()
            length = int(head[head.index(_LENGTH) + len(_LENGTH) :].split(b"\r\n", 1)[0])
            if len(self._read) < end + len(_END) + length:
                return
            body = self._read[end + len(_END) : end + len(_END) + length]
            self._read = self._read[end + len(_END) + length :]
            self.answer(body)

    def answer(self, _body: bytes) -> None:
        """Answer a request."""
        self._transport.write(self.RESPONSE)


async def main(kind: type[Instant] = Instant) -> None:
    """Serve on a free port of 127.0.0.1."""
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
