"""API keys never change an answer, whatever the key, the answer and the engine."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import fault_server as faults
from engine_tasks import engine, tasks
from fault_server import Asked, FaultServer, Handler
from pfgen_rs.generate.engines import Answered, Engine, Failed, Outcome, Parameters
from pfgen_rs.generate.engines.command import CommandEngine
from pfgen_rs.generate.engines.manual import AnswersFile, ManualEngine
from pfgen_rs.generate.engines.openai_place import Place
from pfgen_rs.generate.engines.vllm import VllmEngine
from pfgen_rs.generate.prompts import Mode

PRINTABLE = st.characters(min_codepoint=0x21, max_codepoint=0x7E)
ANSWERS = st.text(st.one_of(PRINTABLE, st.sampled_from("1x日月時間当たり。\n\t ")), max_size=40)
SHORT_KEYS = st.text(PRINTABLE, min_size=1, max_size=15)
LONG_KEYS = st.text(PRINTABLE, min_size=16, max_size=60)


class Saying:
    """A server that says whatever `text` is."""

    def __init__(self) -> None:
        self.text = ""
        self.server = FaultServer(default=self._behave)

    def _behave(self, handler: Handler, asked: Asked) -> None:
        faults.answer(self.text)(handler, asked)

    def answer(self, key: str, text: str, mode: Mode = "completion") -> Outcome:
        self.text = text
        [outcome] = engine(self.server, api_key=key, retries=0).generate(
            tasks(1, mode), Parameters()
        )
        return outcome


@pytest.fixture(scope="module")
def saying() -> Iterator[Saying]:
    pytest.importorskip("openai", reason="the package openai is not installed")
    one = Saying()
    with one.server:
        yield one


@given(key=SHORT_KEYS, text=ANSWERS, mode=st.sampled_from(["completion", "chat"]))
@settings(max_examples=40)
def test_a_server_s_answer_is_kept_as_it_was_sent(
    saying: Saying, key: str, text: str, mode: Mode
) -> None:
    for sent in (text, f"{key}日に{key}時間当たり{text}"):
        outcome = saying.answer(key, sent, mode)
        assert isinstance(outcome, Answered)
        assert outcome.text == sent


@given(key=LONG_KEYS, text=ANSWERS)
@settings(max_examples=40)
def test_an_answer_with_a_secret_fails_and_others_are_kept(
    saying: Saying, key: str, text: str
) -> None:
    assume(key not in text)
    outcome = saying.answer(key, text)
    assert isinstance(outcome, Answered)
    assert outcome.text == text
    exposed = saying.answer(key, f"{text}{key}{text}")
    assert isinstance(exposed, Failed)
    assert "contains the API key (OPENAI_API_KEY)" in exposed.reason
    assert key not in exposed.reason


@given(key=st.text(PRINTABLE, min_size=1, max_size=40), text=ANSWERS)
def test_messages_are_redacted_from_eight_characters_on(key: str, text: str) -> None:
    message = f"{text}{key}{text}"
    redacted = Place("http://localhost", key).redact(message)
    assert redacted == (message if len(key) < 8 else message.replace(key, "***"))


ECHO = "import json, sys\nfor line in sys.stdin:\n task = json.loads(line)\n" + (
    " print(json.dumps({'id': task['id'], 'answer': task['question']}), flush=True)\n"
)


def _fake_vllm(text: str) -> types.ModuleType:
    """As much of vLLM as says one text."""
    output = types.SimpleNamespace(outputs=[types.SimpleNamespace(text=text)])

    class LLM:
        def __init__(self, model: str, **_settings: object) -> None: ...

        def generate(self, *_args: object, **_more: object) -> list[object]:
            return [output]

    module = types.ModuleType("vllm")
    vars(module).update(LLM=LLM, SamplingParams=dict)
    return module


def _other_engines(folder: Path, text: str, patch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Every engine without a key of its own, saying `text` to the task of `tasks()`."""
    program = folder / "echo.py"
    program.write_text(ECHO.replace("task['question']", ascii(text)), encoding="utf-8")
    yield CommandEngine("m", command=[sys.executable, str(program)])
    yield ManualEngine("m", ask=lambda _task: text)
    answers = folder / "answers.jsonl"
    record = {"question": "q0", "trial": 1, "answer": text}
    answers.write_text(json.dumps(record) + "\n", encoding="utf-8")
    yield AnswersFile("m", answers)
    patch.setitem(sys.modules, "vllm", _fake_vllm(text))
    yield VllmEngine("m")


@given(key=st.text(PRINTABLE, min_size=1, max_size=40), text=ANSWERS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_engines_without_a_key_know_nothing_of_the_environment_s(
    tmp_path: Path, key: str, text: str
) -> None:
    said = f"答え{key}日に{text}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", key)
        for other in _other_engines(tmp_path, said, patch):
            [outcome] = other.generate(tasks(), Parameters())
            other.close()
            assert isinstance(outcome, Answered), other
            assert outcome.text == said, other
