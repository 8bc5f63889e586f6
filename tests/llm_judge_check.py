"""Judges pairs with a real, small model behind a real server; kills that half-way, and resumes.

    python tests/llm_judge_check.py ENVIRONMENT

`make test-llm` makes ENVIRONMENT, with the server and the model, and runs this. For each prompt: `pfgen-rs
judge compare` is killed when half of the requests are answered; a second call must ask for what is not in the
journal, and for nothing else; a third call must ask for nothing. What comes of it is printed: a model of this
size understands neither the prompts nor the answers, so its verdicts are near chance, if it gives any.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from llm_check import (
    CONCURRENCY,
    MODEL,
    SCRIPT,
    SECONDS,
    client_environment,
    expect,
    killed_half_way,
    server_command,
)
from llm_recorder import Recorder
from llm_server import Server, served
from pfgen_rs.judge import position_bias, robustness
from pfgen_rs.judge.verdict_folder import VerdictFolder

PROMPTS = {
    "result": None,
    "letter": """
[pairwise.letter]
verdict = "first"
text = '''
Which answer is better? {question}
A: {answer_a}
B: {answer_b}
Write only the letter A or B, or C if they are equally good.'''
""",
}
"""One of Morita et al., and one of a user's in the model's own language."""
PAIRS = 30
TOTAL = 2 * PAIRS  # in both orders
CONTEXT = 1536
# Each further token takes the server a tenth of a second.
COMPARE = ("--engine", "openai", "--model", MODEL, "--max-tokens", 8, "--keep-going")


class Judged(NamedTuple):
    """What a prompt came to.

    `kept`: judgments before the kill that were not asked for again; `probable`: judgments with probabilities.
    """

    prompt: str
    kept: int
    requests: int
    letters: Counter[str]
    problems: Counter[str]
    probable: int
    decided: Counter[str]
    robustness: float
    bias: str
    seconds: float


def main(environment: Path) -> None:
    """Check every prompt and print a table."""
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-llm-") as folder:
        command, port = server_command(environment, CONTEXT)
        with (
            served(command, port, Path(folder, "server.log")) as server,
            Recorder(port) as recorder,
        ):
            check = _JudgeCheck(server, recorder, Path(folder))
            rows = [check.of(prompt) for prompt in PROMPTS]
    expect(any(row.probable for row in rows), "no judgment has probabilities")
    print(f"{PAIRS} pairs in both orders; a model as small as this one is near chance")
    for row in rows:
        print(
            f"{row.prompt}: {row.kept} judgments kept, {row.requests} requests, {row.seconds:.0f} s;"
            f" letters {dict(row.letters)}, invalid {dict(row.problems)}, {row.probable} with"
            f" probabilities, which decide {dict(row.decided)}; robustness {row.robustness:.3f},"
            f" position bias {row.bias}"
        )


class _JudgeCheck:
    """Checks of one server; each prompt has a folder of verdicts."""

    def __init__(self, server: Server, recorder: Recorder, folder: Path) -> None:
        self._server, self._recorder, self._folder = server, recorder, folder
        self._pairs = folder / "pairs.jsonl"
        lines = [f"{json.dumps(_short_pair(number))}\n" for number in range(PAIRS)]
        self._pairs.write_text("".join(lines), encoding="utf-8")

    def of(self, prompt: str) -> Judged:
        """Judge half of the pairs, then the rest, then nothing."""
        out = self._folder / prompt
        options: tuple[object, ...] = ("--concurrency", CONCURRENCY, "--prompt", prompt)
        own = PROMPTS[prompt]
        if own is not None:
            file = self._folder / f"{prompt}.toml"
            file.write_text(own, encoding="utf-8")
            options = (*options, "--prompts", file)
        command = ("compare", self._pairs, *COMPARE, *options, "--out", out)
        begun = time.monotonic()
        arguments = [str(SCRIPT), "judge", *map(str, command)]
        kept = killed_half_way(
            arguments, self._server, self._recorder, out / "judgments.jsonl", TOTAL
        )
        requests = len(self._recorder.asked)
        asked = self._run(*command)
        expect(len(asked) == TOTAL - kept, f"{len(asked)} requests with {kept} judgments kept")
        expect(len(set(asked)) == len(asked), "something was asked twice")
        seconds = time.monotonic() - begun
        expect(not self._run(*command), "judgments that are stored were asked again")
        judgments = _judge_records(out / "judgments.jsonl")
        shown = {(each["pair"], each["order"]) for each in judgments}
        expect(len(shown) == len(judgments) == TOTAL, "judgments are missing or stored twice")
        for each in judgments:
            _check_judgment(each)
        decisions = VerdictFolder(out).decisions()
        first, second = (decisions[name].to_list() for name in ("v1", "v2"))
        bias = position_bias(first, second)
        low, high = bias.interval.low, bias.interval.high
        return Judged(
            prompt,
            kept,
            requests + len(asked),
            Counter(each["shown"] for each in judgments if each["shown"] is not None),
            Counter(each["problem"] for each in judgments if each["problem"] is not None),
            sum(each["probabilities"] is not None for each in judgments),
            Counter(decisions["probability"].drop_nulls().to_list()),
            robustness(first, second),
            f"{bias.count} of {bias.n} flips towards the first shown ({low:.2f} to {high:.2f})",
            seconds,
        )

    def _run(self, *command: object) -> list[str]:
        """Returns what a call asked the server for."""
        self._recorder.forget()
        arguments = [str(SCRIPT), "judge", *map(str, command)]
        code, _ = self._server.run(arguments, SECONDS, client_environment(self._recorder))
        expect(code == 0, f"exit code {code} of {command[0]}")
        return self._recorder.asked


def _check_judgment(judgment: dict[str, Any]) -> None:
    """A letter or a reason why there is none; probabilities that are some."""
    expect((judgment["shown"] is None) == (judgment["problem"] is not None), "a letter is invalid")
    p = judgment["probabilities"]
    if p is not None:
        expect(judgment["shown"] is not None, "there are probabilities without a letter")
        expect(min(p.values()) >= 0, "a probability is negative")
        expect(p[judgment["shown"]] > 0, "the letter that was said has no probability")
        expect(sum(p.values()) <= 1 + 1e-6, "probabilities exceed 1")


def _short_pair(number: int) -> dict[str, Any]:
    """A sum with its result and a wrong one: longer texts would take the server minutes."""
    right, wrong = str(number + 7), str(number + 9)
    answers = [right, wrong] if number % 2 else [wrong, right]
    question = f"{number} + 7 = ?"
    return {"id": str(number), "question": question, "models": ["a", "b"], "answers": answers}


def _judge_records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
