"""A server like vLLM's for a made-up checkpoint, whose file `weights` says how it behaves.

    model_server.py CHECKPOINT PORT PIDS

A number: answers with so many letters. `exit`: ends at once. `silent`: listens, and answers nothing. `error`:
answers tasks with status 500. `trickle`: never ends what it says. `key K`: expects the key K. `die`: ends at
the third task. `hang`: answers no task. `stubborn N`: as N, but ignores SIGTERM and has a child that does,
too. Appends to PIDS the ids of its processes and its port.
"""

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

CHILD = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); "
    "time.sleep(1000)"
)
checkpoint, port, pids = sys.argv[1:]
kind, _, rest = Path(checkpoint, "weights").read_text().partition(" ")
asked = count(1)


def note(process: int) -> None:
    """Append an id."""
    with Path(pids).open("a") as file:
        file.write(f"{process} {port}\n")


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self) -> None:
        """Say what is served."""
        if kind == "silent":
            time.sleep(1000)
        if kind == "trickle":
            self.send_response(200)
            self.end_headers()
            for _ in range(1000):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.1)
        if kind == "key" and self.headers["authorization"] != f"Bearer {rest}":
            self.reply(401, {})
            return
        models = {"data": [{"id": f"served {checkpoint}"}]}
        self.reply(200, models if self.path == "/v1/models" else {})

    def do_POST(self) -> None:
        """Answer a task."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if kind == "die" and next(asked) > 2:
            print("CUDA error: out of memory", flush=True)
            os._exit(3)
        if kind == "hang":
            time.sleep(1000)
        if kind == "error" or body["model"] != f"served {checkpoint}":
            self.reply(500, {"error": {"message": "broken"}})
            return
        text = "a" * int(rest if rest.isdigit() else kind if kind.isdigit() else 1)
        self.reply(200, {"choices": [{"index": 0, "text": text, "finish_reason": "stop"}]})

    def reply(self, code: int, content: object) -> None:
        """Send a whole response."""
        data = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()


if __name__ == "__main__":
    note(os.getpid())
    print("starting", flush=True)
    if kind == "exit":
        sys.exit("no GPU")
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with subprocess.Popen([sys.executable, "-S", "-c", CHILD], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.read(1)
            note(child.pid)
            ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
    ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
