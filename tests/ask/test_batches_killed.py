"""Batches whose client is killed at any moment: nothing is lost, doubled or credited wrongly."""

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from batch_service import BatchService, Plan, prompt_of, said
from generating import write_samples
from helpers import GOOD, SCRIPT, environment, lines
from jpeval_data import SAMPLES, write_data
from judging import made_pairs
from pfgen_rs.ask.request import digest_of
from pfgen_rs.judge import write_pairs

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

TASKS = [f"--tasks={task}" for task in SAMPLES]
Made = tuple[list[str], str, int]
"""Arguments, the pattern of the journal, and how many records it gets."""


def compare(folder: Path) -> Made:
    write_pairs(folder / "pairs.jsonl", made_pairs(12))
    given = [str(folder / "pairs.jsonl"), "-m", "m", "--prompt=reason", f"--out={folder / 'v'}"]
    return ["judge", "compare", *given], "v/judgments.jsonl", 24


def samples(folder: Path) -> Made:
    arguments, journal, _ = compare(folder)
    return [*arguments, "--samples=3", "--temperature=1"], journal, 72


def grade(folder: Path) -> Made:
    write_samples(folder / "tiny")
    runs = [folder / f"{name}.jsonl" for name in "ab"]
    for run in runs:
        run.write_bytes(lines([(question, f"{run.stem}{answer}") for question, answer in GOOD[:2]]))
    given = [*map(str, runs), "-b", str(folder / "tiny"), "-m", "m", f"--out={folder / 'r'}"]
    sampled = ["--samples=3", "--temperature=1", "--logprobs=none"]
    return ["judge", "grade", *given, *sampled], "r/ratings.jsonl", 12


def generate(folder: Path) -> Made:
    write_samples(folder / "tiny")
    given = ["org/m", "-b", str(folder / "tiny"), "--trials=6", "--mode=chat", "--stop=none"]
    return ["generate", *given, f"--out={folder / 'g'}"], "g/org/m/*/journal.jsonl", 12


def llm_jp_eval(folder: Path) -> Made:
    write_data(folder / "data")
    given = ["org/m", f"--data={folder / 'data'}", f"--out={folder / 'j'}", *TASKS]
    return ["llm-jp-eval", "run", *given], "j/outputs.jsonl", 9


COMMANDS: dict[str, Callable[[Path], Made]] = {
    "compare": compare,
    "samples": samples,
    "grade": grade,
    "generate": generate,
    "llm-jp-eval": llm_jp_eval,
}


def command(made: Made, engine: str, *more: str) -> list[str]:
    mode = ["--chat"] if made[0][0] == "llm-jp-eval" and engine == "anthropic" else []
    return [*made[0], *mode, f"--engine={engine}", "--batch", "--set=_poll=0.1", *more]


def started(service: BatchService, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [SCRIPT, *arguments],
        env=environment(**service.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes], status: int = 0) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == status, err.decode()
    assert b"Traceback" not in err, err.decode()
    return out.decode() + err.decode()


def digests(body: Mapping[str, Any], seed: int) -> set[str]:
    """Under which digests the answer to a request may stand."""
    messages = body.get("messages") or [{"role": "user", "content": body["prompt"]}]
    system = [{"role": "system", "content": body["system"]}] if "system" in body else []
    content = {
        "model": body["model"],
        "seed": body.get("seed", seed),
        "messages": [*system, *messages],
        **{key: body.get(key) for key in ("temperature", "max_tokens", "top_p")},
    }
    judged = {**content, "logprobs": body.get("top_logprobs")}
    generated = {**content, "stop": [], "logprobs": None, "mode": "chat"}
    return {digest_of(judged), digest_of({**judged, "logprobs": 20}), digest_of(generated)}


def check(service: BatchService, folder: Path, made: Made, times: int = 1) -> None:
    """Every request was asked for so many times, and its answer stands once, where it belongs."""
    _, pattern, count = made
    [path] = folder.glob(pattern)
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert len(records) == count
    assert len({record["digest"] for record in records}) == count
    assert set(service.asked.values()) == {times}, service.asked
    bodies = [body for batch in service.batches for _, body in batch.requests]
    seeds = (1, 2, 3)  # of samples, where the protocol has none
    right = {d: said(body) for body in bodies for seed in seeds for d in digests(body, seed)}
    for record in records:
        found = record.get("output", record.get("answer"))
        wanted = right[record["digest"]]
        assert found in (wanted, wanted.partition("\n")[0]), record
        assert record["batch"] in {batch.name for batch in service.batches}
        assert record["served"] == "served-1"


MOMENTS = ("upload", "before create", "create", "look", "results", "journal")
CASES = [
    pytest.param(engine, name, moment, marks=[] if is_fast else pytest.mark.slow)
    for moment in MOMENTS
    for engine, name in (
        ("openai", "samples"),
        ("anthropic", "samples"),
        ("openai", "generate"),
        ("openai", "llm-jp-eval"),
        ("anthropic", "grade"),
    )
    if (engine, moment) != ("anthropic", "upload")
    for is_fast in [name == "samples" and moment == "create"]
]


@pytest.mark.parametrize(("engine", "name", "moment"), CASES)
def test_a_client_is_killed(engine: str, name: str, moment: str, tmp_path: Path) -> None:
    made = COMMANDS[name](tmp_path)
    arguments = command(made, engine)
    with BatchService(Plan(looks=2)) as service:
        if moment != "journal":
            service.hooks[moment] = service.kill_client
        service.client = started(service, arguments)
        if moment == "journal":
            while service.client.poll() is None and not written(tmp_path, made[1]):
                time.sleep(0.0005)
            service.client.kill()
        service.client.communicate()
        service.hooks.clear()
        ended(started(service, arguments))
        # Its samples differ by nothing that the protocol has.
        check(service, tmp_path, made, 3 if engine == "anthropic" else 1)
        looked = len(service.calls)
        ended(started(service, arguments))
        assert len(service.calls) == looked


def written(folder: Path, pattern: str) -> bool:
    return any(path.stat().st_size for path in folder.glob(pattern))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["openai", "anthropic"])
def test_a_client_is_killed_again_and_again(engine: str, tmp_path: Path) -> None:
    made = compare(tmp_path)
    arguments = command(made, engine)
    with BatchService() as service:
        for moment in ("create", "list", "look", "results", "results"):
            service.hooks = {moment: service.kill_client}
            service.client = None
            service.client = started(service, arguments)
            service.client.communicate()
        service.hooks.clear()
        ended(started(service, arguments))
        check(service, tmp_path, made)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["openai", "anthropic"])
def test_two_processes_share_a_folder(engine: str, tmp_path: Path) -> None:
    made = compare(tmp_path)
    with BatchService(Plan(looks=5), Plan(looks=2)) as service:
        both = [started(service, command(made, engine)) for _ in range(2)]
        for process in both:
            ended(process)
        check(service, tmp_path, made)


def test_one_process_takes_over_what_another_leaves(tmp_path: Path) -> None:
    made = compare(tmp_path)
    with BatchService(Plan(looks=10**9)) as service:
        first = started(service, command(made, "openai"))
        while not service.batches or not service.batches[0].looked:
            time.sleep(0.01)
        said_ = ended(started(service, command(made, "openai")))
        assert "24 requests in progress in other processes" in said_
        first.kill()
        first.communicate()
        service.batches[0].plan.looks = 0
        ended(started(service, command(made, "openai")))
        check(service, tmp_path, made)


def test_a_folder_goes_on_with_and_without_batches(tmp_path: Path) -> None:
    made = compare(tmp_path)
    with BatchService(Plan(drop=lambda n, _: "expired" if n % 2 else None)) as service:
        ended(started(service, command(made, "openai")), 1)
        [path] = tmp_path.glob(made[1])
        assert len(path.read_bytes().splitlines()) == 12
        alone = [
            each for each in command(made, "openai") if each not in ("--batch", "--set=_poll=0.1")
        ]
        ended(started(service, alone))
        records = [json.loads(line) for line in path.read_bytes().splitlines()]
        assert Counter(record.get("batch") for record in records) == {"batch_0": 12, None: 12}
        assert {record["judge"]["engine"] for record in records} == {"openai-api"}
        assert Counter(service.asked.values()) == {1: 12, 2: 12}
        assert "batch" not in (tmp_path / "v" / "config.json").read_text()
        ended(started(service, command(made, "openai")))
        assert sum(service.asked.values()) == 36


def test_prompts_are_those_that_are_asked(tmp_path: Path) -> None:
    made = generate(tmp_path)
    with BatchService() as service:
        ended(started(service, command(made, "openai")))
        check(service, tmp_path, made)
        assert {prompt_of(body)[:3] for _, body in service.batches[0].requests} == {"Q: "}


def test_an_interrupt_says_how_to_go_on(tmp_path: Path) -> None:
    made = compare(tmp_path)
    with BatchService(Plan(looks=10**9)) as service:
        process = started(service, command(made, "openai"))
        while not service.batches or not service.batches[0].looked:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert "run the same command to continue" in ended(process, 130)
        service.batches[0].plan.looks = 0
        ended(started(service, command(made, "openai")))
        check(service, tmp_path, made)
