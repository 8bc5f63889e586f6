"""Every answer's record against the log of a server that fails in all ways, over kills of the processes."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fault_server as faults
from fault_server import Asked, FaultServer, Handler
from generating import journal
from helpers import SCRIPT, environment, lines

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

QUESTIONS = [f"{n}番目の質問は何ですか？" for n in range(50)]
TRIALS = 100
TASKS = len(QUESTIONS) * TRIALS
KILLS = [600 * n for n in range(1, 6)]  # answers after which a process is killed
SWITCH = TASKS // 2  # answers after which another model answers
DEADLINE = 300.0


def mixed(*values: object) -> int:
    """A number that looks random and depends on these values alone."""
    return int(hashlib.sha256(repr(values).encode()).hexdigest(), 16)


class Log:
    """What the server was asked, and what it answered; the text of an answer has its number."""

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
        self.faults = Counter[str]()
        self._lock = threading.Lock()
        self._seen = Counter[tuple[str, int]]()
        self._by_process = Counter[tuple[str, str, int]]()

    def behave(self, handler: Handler, asked: Asked) -> None:
        body = asked.body
        prompt, seed = body["prompt"], body["seed"]
        number = mixed(prompt, seed)
        with self._lock:
            before = self._seen[prompt, seed]
            self._seen[prompt, seed] += 1
            process = asked.headers["authorization"], prompt, seed
            self._by_process[process] += 1
            is_fault = number % 5 == 0 and before < number // 5 % 3
            kind = ("429", "500", "closed", "cut")[number // 15 % 4] if is_fault else ""
            self.faults[kind] += 1
            attempts = self._by_process[process]
            reply = b"" if kind else self._answered(body, number, attempts)
        if kind == "429":
            faults.status(429, "later", {"retry-after-ms": "1"})(handler, asked)
        elif kind == "500":
            faults.status(500)(handler, asked)
        elif kind:
            (faults.close() if kind == "closed" else faults.cut())(handler, asked)
        else:
            handler.reply(200, reply)

    def _answered(self, body: dict[str, Any], number: int, attempts: int) -> bytes:
        serial = len(self.answers)
        said = {
            "model": "m-old" if serial < SWITCH else "m-new",
            "system_fingerprint": f"fp-{number % 7}",
            "usage": {"prompt_tokens": len(body["prompt"]), "completion_tokens": number % 300},
        }
        reason = "length" if number % 11 == 3 else "stop"
        text = "" if number % 19 == 5 else f"答え{serial}"
        self.answers.append({**said, "reason": reason, "body": body, "attempts": attempts})
        content = json.loads(faults.body(text, finish_reason=reason))
        return json.dumps({**content, **said}).encode()


def base_seed(trial: int) -> int:
    return int(hashlib.sha1(f"::{trial}".encode(), usedforsecurity=False).hexdigest(), 16) % 2**31


def digest(body: dict[str, Any]) -> str:
    """As the page of formats says, without the package."""
    content = json.dumps(body["prompt"], ensure_ascii=False)
    stop = json.dumps(body["stop"], separators=(",", ":"))
    text = (
        f'{{"logprobs":null,"max_tokens":{body["max_tokens"]},"messages":[{{"content":{content},"role":"user"}}],'
        f'"mode":"completion","model":"org/m","seed":{body["seed"]},"stop":{stop},'
        f'"temperature":{body["temperature"]},"top_p":{body["top_p"]}}}'
    )
    return hashlib.sha256(text.encode()).hexdigest()


def expected(said: dict[str, Any], trial: int) -> dict[str, Any]:
    """The record of an answer, from what the server logged."""
    body = said["body"]
    return {
        "digest": digest(body),
        "served": said["model"],
        "system_fingerprint": said["system_fingerprint"],
        "finish_reason": said["reason"],
        "usage": said["usage"],
        "seed": body["seed"],
        "sampling": {k: body[k] for k in ("max_tokens", "temperature", "top_p", "stop")},
        "left_out": [],
        "engine": "openai-api",
        "attempts": said["attempts"],
        "empty": (body["seed"] - base_seed(trial)) % 2**31,
    }


def spans(values: Iterable[Any]) -> list[tuple[str, int]]:
    return sorted(Counter(map(in_order, values)).items())


def in_order(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def spread(values: list[int]) -> dict[str, Any]:
    ranks = (5, 25, 50, 75, 95, 100)
    found = np.quantile(values, [rank / 100 for rank in ranks], method="inverted_cdf")
    percentiles = dict(zip(map(str, ranks), map(int, found), strict=True))
    return {"known": len(values), "sum": sum(values), "percentiles": percentiles}


class Processes:
    """Processes that generate the run together; each has a key of its own, by which the log tells them."""

    def __init__(self, url: str, folder: Path) -> None:
        self.folder, self.running, self.count = folder, list[subprocess.Popen[bytes]](), 0
        self.command: list[str | Path] = [
            *(SCRIPT, "generate", "m", "--name=org/m", "--engine=openai", f"--base-url={url}"),
            *(f"--benchmark={folder / 'questions.jsonl'}", f"--trials={TRIALS}", "--shots=1"),
            # Tasks that a killed process left open are those whose first answers are empty.
            *(f"--out={folder / 'result'}", "--concurrency=24"),
        ]

    def start(self) -> None:
        key = environment(OPENAI_API_KEY=f"key-of-process-{self.count:03d}")
        with (self.folder / f"{self.count}.log").open("wb") as out:
            started = subprocess.Popen(self.command, env=key, stdout=out, stderr=subprocess.STDOUT)
        self.running.append(started)
        self.count += 1

    def kill_first(self) -> None:
        first = self.running.pop(0)
        assert first.poll() is None  # it was at work
        first.kill()
        assert first.wait() == -signal.SIGKILL

    def __enter__(self) -> Processes:
        """Begin with two."""
        self.start()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave none behind."""
        for process in self.running:
            process.kill()
            process.wait()


def until_answered(log: Log, count: int) -> None:
    end = time.monotonic() + DEADLINE
    while len(log.answers) < count:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_every_record_agrees_with_the_log_of_a_hostile_server(tmp_path: Path) -> None:
    log = Log()
    (tmp_path / "questions.jsonl").write_bytes(lines([(text, "答えです。") for text in QUESTIONS]))
    with FaultServer(default=log.behave) as server:
        with Processes(server.url, tmp_path) as processes:
            for count in KILLS:
                until_answered(log, count)
                processes.kill_first()
                processes.start()
            codes = [process.wait(DEADLINE) for process in processes.running]
        told = [path.read_text(encoding="utf-8") for path in sorted(tmp_path.glob("*.log"))]
        assert codes == [0, 0], told[-2:]
    assert min(log.faults[kind] for kind in ("429", "500", "closed", "cut")) > 10
    [folder] = (tmp_path / "result/org/m").iterdir()

    # Nothing is lost or doubled: the published files have each task once, with an answer that was given.
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for path in sorted(folder.glob("trial_*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            key = int(path.stem[6:]), record["question"]
            assert key not in found
            found[key] = log.answers[int(record["answer"].removeprefix("答え"))]
            assert f"Q: {key[1]}\nA:" in found[key]["body"]["prompt"]
    assert len(found) == TASKS

    records = {(each["trial"], each["question"]): each for each in journal(folder)}
    assert len(journal(folder)) == len(records) == TASKS
    for key, said in found.items():
        wanted = expected(said, key[0])
        assert {name: records[key][name] for name in wanted} == wanted
        assert log.answers[int(records[key]["answer"].removeprefix("答え"))] is said
    assert sum(each["empty"] > 0 for each in records.values()) > 100

    summary = json.loads((folder / "generation.json").read_text(encoding="utf-8"))
    check_summary(summary, [expected(said, key[0]) for key, said in found.items()])
    assert len({each["value"] for each in summary["said"]["served"]}) == 2
    assert 1 <= len(summary["calls"]) <= 2  # those that were not killed
    assert summary["journal_bytes"] == (folder / "journal.jsonl").stat().st_size


def check_summary(summary: dict[str, Any], records: list[dict[str, Any]]) -> None:
    """The summary is what the records of the server's log add up to."""
    cut = sum(each["finish_reason"] == "length" for each in records)
    again = sum(each["empty"] > 0 for each in records)
    assert summary["answers"] == TASKS
    assert summary["cut"] == {"answers": cut, "known": TASKS, "share": cut / TASKS}
    assert summary["asked_again"] == {"answers": again, "known": TASKS, "share": again / TASKS}
    for name, values in summary["said"].items():
        listed = sorted((in_order(each["value"]), each["answers"]) for each in values)
        assert listed == spans(each[name] for each in records), name
    for name in ("prompt_tokens", "completion_tokens"):
        assert summary["counted"][name] == spread([each["usage"][name] for each in records])
    for name in ("attempts", "empty"):
        assert summary["counted"][name] == spread([each[name] for each in records])
    assert summary["counted"]["cached_tokens"]["known"] == 0
    assert summary["counted"]["seconds"]["known"] == TASKS
