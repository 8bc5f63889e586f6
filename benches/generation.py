"""What asking a server costs besides the server: seconds a request, 64 at a time.

    python benches/generation.py [--json FILE]

A server in another process answers at once. Measured is the whole of `OpenAIEngine.generate`, opening its
connections included; the server's own work is part of it wherever there is no other core. Machines are
shared, so the best of several runs counts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import openai

import instant_server
import measures
from measures import Measure
from pfgen_rs.generate import Prompter, Task, read_examples
from pfgen_rs.generate.engines import Answered, Parameters
from pfgen_rs.generate.engines.openai import OpenAIEngine

CONCURRENCY = 64
TRIALS = 200
REPEATS = 7
BENCHMARK = "mini"
# As of OpenAIEngine: over aiohttp where that is installed.
TRANSPORTS = ("aiohttp", "httpx")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the measures there, too")
    options = parser.parse_args()
    measured = [client_overhead()]
    print("\n".join(measures.lines(measured)))
    if options.json:
        what = f"prompts of the bundled benchmark, {CONCURRENCY} at a time, a server that answers at once"
        measures.write_json(options.json, measures.as_json(measured, what))


def client_overhead() -> Measure:
    """Milliseconds a request, by what speaks HTTP."""
    prompter = Prompter(read_examples(BENCHMARK))
    tasks = [task for trial in range(1, TRIALS + 1) for task in prompter.tasks(trial)]
    with _server() as url:
        runs = {name: [_request(url, tasks, name) for _ in range(REPEATS)] for name in TRANSPORTS}
    best = {name: min(times) for name, times in runs.items()}
    worst = max(wall for wall, _ in runs["aiohttp"])
    note = (
        f"{len(tasks):,} requests, best of {REPEATS} (slowest {worst:.2f} ms), "
        f"{best['aiohttp'][1]:.2f} ms of CPU; without aiohttp {best['httpx'][0]:.2f} ms"
    )
    return Measure("client_overhead", best["aiohttp"][0], note)


def _request(url: str, tasks: Sequence[Task], transport: str) -> tuple[float, float]:
    """Milliseconds a request: by the clock, and of this process's CPU."""
    engine = OpenAIEngine("instant", base_url=url, concurrency=CONCURRENCY)
    client = (
        openai.DefaultAioHttpClient if transport == "aiohttp" else openai.DefaultAsyncHttpxClient
    )
    with patch.object(openai, "DefaultAioHttpClient", client):
        wall, cpu = time.perf_counter(), time.process_time()
        outcomes = list(engine.generate(tasks, Parameters()))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    answered = [one.text for one in outcomes if isinstance(one, Answered)]
    if answered != [instant_server.ANSWER] * len(tasks):
        raise SystemExit(f"only {len(answered)} of {len(tasks)} requests were answered, or wrongly")
    return 1e3 * wall / len(tasks), 1e3 * cpu / len(tasks)


@contextmanager
def _server() -> Iterator[str]:
    command = [sys.executable, instant_server.__file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        port = process.stdout.readline().strip() if process.stdout else ""
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


if __name__ == "__main__":
    main()
