"""What tests of judges share: pairs, a server that judges, and readings of folders."""

from __future__ import annotations

import json
import math
import random
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fault_server import Asked, Behaviour, FaultServer, Handler
from helpers import pfgen
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Outcome, Parameters, Task
from pfgen_rs.ask.retrying import Backoff
from pfgen_rs.judge.compare import compare
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.requests import Judge, find_prompt

LETTERS = "ABC"
MODELS = ("org/one", "org/two")
QUICK = Backoff(first=0.01, longest=0.02, patience=0.05)
JUDGE = Judge("openai-api", "judge", max_tokens=64)


class FakeEngine:
    """Says `reply` of the number of a task (from 1) and the task; `asked`: how many it got."""

    name = "fake"
    abilities = frozenset({"chat", "completion", "history", "seed", "logprobs"})

    def __init__(self, reply: Callable[[int, Task], Outcome]) -> None:
        self.reply, self.asked = reply, 0

    def generate(self, tasks: Sequence[Task], _: Parameters) -> Iterator[Outcome]:
        for task in tasks:
            self.asked += 1
            yield self.reply(self.asked, task)

    def close(self) -> None: ...


def made_pairs(count: int, per_question: int = 2) -> list[Pair]:
    """Pairs with references and criteria."""
    return [
        Pair(
            id=f"p{n}",
            question=f"質問{n // per_question}",
            models=MODELS,
            answers=(f"答え{n}の一", f"答え{n}の二"),
            question_id=f"q{n // per_question}",
            task="校正",
            reference=f"模範{n // per_question}",
            criteria="・正確さ",
        )
        for n in range(count)
    ]


def chat_reply(
    text: str | None,
    tokens: Sequence[Mapping[str, Any]] | None = None,
    finish: str = "stop",
    **message: Any,
) -> bytes:
    """A chat completion with log probabilities."""
    logprobs = None if tokens is None else {"content": list(tokens)}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": finish,
        "logprobs": logprobs,
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 1}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def token(text: str, probabilities: Mapping[str, float] | None = None) -> dict[str, Any]:
    """A sampled token with its most likely alternatives."""
    tops = [{"token": t, "logprob": math.log(p)} for t, p in (probabilities or {text: 0.9}).items()]
    return {"token": text, "logprob": tops[0]["logprob"], "top_logprobs": tops}


def probabilities_for(prompt: str) -> dict[str, float]:
    """What the server of `judging` thinks of a prompt: it depends on nothing else."""
    source = random.Random(prompt)
    parts = [source.random() + 0.01 for _ in LETTERS]
    return {letter: part / sum(parts) * 0.95 for letter, part in zip(LETTERS, parts, strict=True)}


def judging(handler: Handler, asked: Asked) -> None:
    """Judge a pair, with probabilities if they are asked for."""
    p = probabilities_for(asked.prompt)
    best = max(p, key=lambda letter: p[letter])
    tokens = [token(best, {best: p[best], **p})] if asked.body.get("logprobs") else None
    handler.reply(200, chat_reply(best, tokens))


def replying(content: bytes) -> Behaviour:
    """One reply."""
    return lambda handler, _: handler.reply(200, content)


def engine_for(url: str, **options: Any) -> OpenAIEngine:
    """An engine that does not wait long."""
    return OpenAIEngine("judge", base_url=url, api_key="none", backoff=QUICK, **options)


def judged(
    out: Path,
    pairs: Sequence[Pair] | int,
    behave: Behaviour = judging,
    faults: Mapping[str, Sequence[Behaviour]] | None = None,
    *,
    prompt: str = "result",
    limits: Mapping[str, Any] | None = None,
    **engine: Any,
) -> tuple[Any, list[Asked]]:
    """Have a server judge pairs into a folder; returns what `compare` does, and what the server was asked."""
    about = made_pairs(pairs) if isinstance(pairs, int) else pairs
    with FaultServer(faults or {}, default=behave) as server:
        chosen = find_prompt(prompt, "pairwise")
        made = engine_for(server.url, **engine)
        return compare(about, made, JUDGE, chosen, out, **(limits or {})), server.asked


def records(folder: Path, name: str = "judgments.jsonl") -> list[dict[str, Any]]:
    """The journal of a folder."""
    return [json.loads(line) for line in (folder / name).read_bytes().splitlines()]


def keys(found: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Pair and order of each judgment."""
    return [(record["pair"], record["order"]) for record in found]


def command(*arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run `pfgen-rs judge` to its end, which has this exit code."""
    done = pfgen("judge", *map(str, arguments))
    assert done.returncode == status, done.stderr
    return done
