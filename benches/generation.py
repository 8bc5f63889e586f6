"""What asking a server costs besides the server: seconds a request, and whole runs over their ideal time.

    python benches/generation.py [--json FILE]

A server in another process answers at once. Measured is the whole of `OpenAIEngine.generate`, opening its
connections included; the server's own work is part of it wherever there is no other core. Machines are
shared, so the best of several runs counts. CPU is that of this process alone: of the engine, of `generate`
with all that it writes, and of aiohttp that sends the same bodies and reads the replies, turn by turn.

Servers with a hidden limit of requests at once follow (see `limits`).

Then whole runs of 100 trials of 50 questions are generated from a server that takes as long as models do. Its
latencies are the same in every run; the ideal time is that of the same requests in the same order, each begun
as soon as another ends. The same engine in batches of 1,000 tasks, each of which ends before the next begins,
stands beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import aiohttp

import instant_server
import limited_server
import limits
import measures
import slow_server
from measures import Measure
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Answered, Engine, Outcome, Parameters
from pfgen_rs.ask.wire import Form, encoded
from pfgen_rs.generate import Example, Prompter, RunConfig, Task, generate, read_examples

CONCURRENCY = 64
TRIALS = 200
REPEATS = 7
BENCHMARK = "mini"
RUN_TRIALS = 100
QUESTIONS = [Example(f"{n}番は何ですか？", f"{n}番です。") for n in range(50)]
PUT_OFF = 60
LONG = [Example(f"{n}番は何ですか？", f"{n}番" + "です" * 50) for n in range(50)]
"""Of a length that published ones have."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the measures there, too")
    options = parser.parse_args()
    overhead = [client_overhead(), generate_cpu()]
    print("\n".join(measures.lines(overhead)))
    hidden = [limits.hidden_limit(kind, _server) for kind in ("refuses", "queues")]
    print("\n".join(measures.lines(hidden)))
    runs = [*(run_time(n) for n in (CONCURRENCY, 256)), put_off()]
    print("\n".join(measures.lines(runs)))
    if options.json:
        prompts = f"prompts of the bundled benchmark, {CONCURRENCY} at a time"
        latencies = (
            f"latencies log-normal, median {slow_server.MEDIAN:g} s, sigma {slow_server.SIGMA:g}"
        )
        waits = f"latencies log-normal, median {limited_server.MEDIAN:g} s, sigma {limited_server.SIGMA:g}"
        tables = {
            "A server that answers at once": measures.as_json(overhead, prompts),
            "A server with a hidden limit": measures.as_json(hidden, waits),
            "A server that takes its time": measures.as_json(runs, latencies),
        }
        measures.write_json(options.json, tables)


def client_overhead() -> Measure:
    """Milliseconds a request."""
    prompter = Prompter(read_examples(BENCHMARK))
    tasks = [task for trial in range(1, TRIALS + 1) for task in prompter.tasks(trial)]
    with _server() as url:
        times = [_request(url, tasks) for _ in range(REPEATS)]
    best, worst = min(times), max(times)
    note = (
        f"{len(tasks):,} requests, best of {REPEATS} (slowest {worst[0]:.2f} ms), "
        f"{best[1]:.2f} ms of CPU"
    )
    return Measure("client_overhead", best[0], note)


def _request(url: str, tasks: Sequence[Task]) -> tuple[float, float]:
    """Milliseconds a request: by the clock, and of this process's CPU."""
    engine = OpenAIEngine("instant", base_url=url, concurrency=CONCURRENCY)
    wall, cpu = time.perf_counter(), time.process_time()
    outcomes = list(engine.generate(tasks, Parameters()))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    answered = [one.text for one in outcomes if isinstance(one, Answered)]
    if answered != [instant_server.ANSWER] * len(tasks):
        raise SystemExit(f"only {len(answered)} of {len(tasks)} requests were answered, or wrongly")
    return 1e3 * wall / len(tasks), 1e3 * cpu / len(tasks)


def generate_cpu(trials: int = 60, repeats: int = REPEATS) -> Measure:
    """Milliseconds of CPU a request, through all of `generate`."""
    with _server() as url:
        _generated(url, 2)
        turns = [(_generated(url, trials), _bare(url, trials)) for _ in range(repeats)]
    (ours, bare), worst = map(min, zip(*turns, strict=True)), max(turns)[0]
    note = (
        f"{trials * len(LONG):,} requests, best of {repeats} (most {worst:.2f} ms); "
        f"aiohttp alone with the same bodies {bare:.2f} ms"
    )
    return Measure("generate_cpu", ours, note, {"bare": bare, "turns": turns})


def _generated(url: str, trials: int) -> float:
    engine = OpenAIEngine("instant", base_url=url, concurrency=CONCURRENCY)
    with tempfile.TemporaryDirectory() as results:
        config, begun = RunConfig(engine.name, "instant"), time.process_time()
        run = generate(config, engine, examples=LONG, trials=trials, results=results)
        taken = time.process_time() - begun
    if run.new != trials * len(LONG):
        raise SystemExit(f"only {run.new} answers")
    return 1e3 * taken / run.new


def _bare(url: str, trials: int) -> float:
    form, prompter = Form("instant"), Prompter(LONG)
    tasks = [task for trial in range(1, trials + 1) for task in prompter.tasks(trial)]
    sent = [form.request(task, form.options(task, Parameters())) for task in tasks]
    bodies = iter([(url + path, encoded(body)) for path, body in sent])
    headers = {"Content-Type": "application/json"}

    async def work(session: aiohttp.ClientSession) -> None:
        for place, body in bodies:
            async with session.post(place, data=body, headers=headers) as reply:
                await reply.read()

    async def all_work() -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            begun = time.process_time()
            await asyncio.gather(*(work(session) for _ in range(CONCURRENCY)))
            return time.process_time() - begun

    return 1e3 * asyncio.run(all_work()) / len(sent)


class InBatches:
    """An engine that gets its tasks as lists."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name = engine.name

    def generate(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """Yield one outcome per task."""
        return self._engine.generate(tasks, parameters)

    def close(self) -> None:
        """Hold nothing."""


def run_time(concurrency: int) -> Measure:
    """Percent of its ideal time that a run takes beyond it."""
    ideal = _ideal(concurrency)
    rolling, batches = _run(concurrency), _run(concurrency, batches=True)
    note = (
        f"{RUN_TRIALS} trials of {len(QUESTIONS)} questions: {rolling:.1f} s, ideally {ideal:.1f} s; in "
        f"batches {batches:.1f} s ({batches / ideal - 1:.0%} beyond it)"
    )
    return Measure(f"run_time_{concurrency}", 100 * (rolling / ideal - 1), note)


def put_off() -> Measure:
    """Seconds that a run takes longer if its first request is put off."""
    before, after = _run(CONCURRENCY), _run(CONCURRENCY, put_off=PUT_OFF)
    early = _run(CONCURRENCY, batches=True)
    late = _run(CONCURRENCY, batches=True, put_off=PUT_OFF)
    note = f"{before:.1f} s and {after:.1f} s; in batches {early:.1f} s and {late:.1f} s"
    return Measure("put_off", after - before, note)


def _ideal(concurrency: int) -> float:
    """Seconds that the requests take without any gap."""
    prompter = Prompter(QUESTIONS)
    tasks = (task for trial in range(1, RUN_TRIALS + 1) for task in prompter.tasks(trial))
    ends = [0.0] * concurrency
    for task in tasks:
        heapq.heapreplace(ends, ends[0] + slow_server.latency(task.prompt, task.seed))
    return max(ends)


@cache
def _run(concurrency: int, *, batches: bool = False, put_off: int = 0) -> float:
    """Seconds that a run takes."""
    with _server(slow_server.__file__, *([str(put_off)] if put_off else [])) as url:
        asked: Engine = OpenAIEngine("slow", base_url=url, concurrency=concurrency)
        if batches:
            asked = InBatches(asked)
        with tempfile.TemporaryDirectory() as results:
            begun = time.perf_counter()
            run = generate(
                RunConfig(asked.name, "slow"),
                asked,
                examples=QUESTIONS,
                trials=RUN_TRIALS,
                results=results,
            )
            seconds = time.perf_counter() - begun
    if not run.complete:
        raise SystemExit(f"only {run.new} answers")
    return seconds


@contextmanager
def _server(script: str = instant_server.__file__, *args: str) -> Iterator[str]:
    command = [sys.executable, script, *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        port = process.stdout.readline().strip() if process.stdout else ""
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


if __name__ == "__main__":
    main()
