"""Probabilities from a real server are those of one forward pass of transformers, for the same weights.

Needs torch and the server of `make test-llm` (PFGEN_LLM_ENV, its environment): `make test-torch` runs this.
"""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_tasks import details
from llm_server import served
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.engines.transformers import TransformersEngine
from pfgen_rs.ask.protocol import Details, Parameters, Task
from pfgen_rs.io.cleaning import Mode

pytestmark = pytest.mark.filterwarnings("default")
pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("gguf", reason="gguf is not installed")
pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
ENVIRONMENT = os.environ.get("PFGEN_LLM_ENV")
if not ENVIRONMENT:
    pytest.skip("PFGEN_LLM_ENV is not set", allow_module_level=True)

JUDGING = Parameters(max_tokens=1, temperature=0.0, top_p=None, stop=(), logprobs=20)
F32 = "0"  # ggml's number; keys and values are halved to 16 bits by default


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_gguf import write_model

    path = tmp_path_factory.mktemp("tiny")
    write_model(path)
    return path


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """A server with the model."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {"model": folder / "model.gguf", "port": port, "n_ctx": 512, "logits_all": True}
    settings |= {"type_k": F32, "type_v": F32}
    arguments = [str(part) for key, value in settings.items() for part in (f"--{key}", value)]
    python = str(Path(str(ENVIRONMENT), "bin", "python"))
    with served([python, "-m", "llama_cpp.server", *arguments], port, folder / "server.log"):
        yield f"http://127.0.0.1:{port}/v1"


def asked_in(mode: Mode) -> list[Task]:
    """Prompts of several lengths, with characters that are no tokens."""
    texts = ["A", "どちらが良い?", "[[A]]か[[B]]か。\n\n答は:", "x" * 200]
    history = (("user", "u1"), ("assistant", "は。")) if mode == "chat" else ()
    system = "判定せよ。" if mode == "chat" else None
    return [Task(f"q{n}", 1, mode, text, n, system, history) for n, text in enumerate(texts)]


def details_of(engine: Any, tasks: list[Task]) -> list[Details]:
    found = {one.task: details(one) for one in engine.generate(tasks, JUDGING)}
    return [found[task] for task in tasks]


def probabilities(known: Details) -> dict[str, float]:
    """Those of the alternatives to the first token, by its text."""
    assert known.tokens is not None
    [first] = known.tokens
    found: dict[str, float] = {}
    for one in first["top_logprobs"]:
        found[one["token"]] = found.get(one["token"], 0.0) + math.exp(one["logprob"])
    return found


@pytest.mark.parametrize("mode", ["chat", "completion"])
def test_a_server_s_probabilities_are_those_of_a_forward_pass(
    folder: Path, url: str, mode: Mode
) -> None:
    tasks = asked_in(mode)
    server = OpenAIEngine("tiny", base_url=url, concurrency=1)
    here = TransformersEngine(str(folder), device="cpu", dtype="float32", batch_size=3)
    for served_details, own in zip(details_of(server, tasks), details_of(here, tasks), strict=True):
        assert served_details.usage is not None
        assert own.usage is not None
        assert served_details.usage.prompt_tokens == own.usage.prompt_tokens
        theirs, ours = probabilities(served_details), probabilities(own)
        # Special tokens have no name there.
        named = {text for text in ours if text not in ("<unk>", "<s>", "</s>")}
        assert len(named) >= 17
        assert named <= theirs.keys()
        for text in named:
            assert theirs[text] == pytest.approx(ours[text], abs=1e-4)
        assert max(ours.values()) > 2 * min(ours.values())
