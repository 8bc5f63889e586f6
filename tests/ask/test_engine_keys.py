"""API keys never change an answer, whatever the key, the answer and the engine, and are left nowhere."""

from __future__ import annotations

import json
import lzma
import sys
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import fault_server as faults
from engine_tasks import SHORT, engine, tasks
from fault_server import Asked, FaultServer, Handler
from generating import Key, journal, key_of
from helpers import pfgen
from pfgen_rs import GenerationError
from pfgen_rs.ask.engines.command import CommandEngine
from pfgen_rs.ask.engines.manual import AnswersFile
from pfgen_rs.ask.engines.openai import gathered
from pfgen_rs.ask.engines.vllm import VllmEngine
from pfgen_rs.ask.protocol import Answered, Engine, Failed, Meter, Outcome, Parameters
from pfgen_rs.ask.server import Place, redacted
from pfgen_rs.ask.wire import Form
from pfgen_rs.generate import Example, Prompter, Task
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.generate.runner import generate
from pfgen_rs.io.cleaning import Mode

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
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
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


CHARACTERS = [chr(code) for code in range(0x21, 0x7F)]
WORDS = ["1", "x", "none", "EMPTY", "null", "日", "1日に1時間当たり", "答えは", " ", "。"]


def _random_keys(random: Random) -> list[str]:
    """A thousand keys: every single character, and others of up to 60."""
    rest = (random.choices(CHARACTERS, k=random.randint(1, 60)) for _ in range(1000 - 94))
    return [*CHARACTERS, *map("".join, rest)]


class ManyKeys:
    """The engine for servers, with another key for each task."""

    name = "openai-api"
    rolling = True

    def __init__(self, server: FaultServer, keys: Mapping[Key, str]) -> None:
        self._url, self._keys = server.url, keys

    def generate(self, asked: Iterable[Task | None], parameters: Parameters) -> Iterator[Outcome]:
        return gathered(asked, partial(self._opened, parameters), 32)

    @asynccontextmanager
    async def _opened(
        self, parameters: Parameters
    ) -> AsyncIterator[Callable[[Task], Awaitable[Outcome]]]:
        from pfgen_rs.ask.client import Session, connected

        async def outcome(task: Task) -> Outcome:
            place = Place(self._url, self._keys[key_of(task)])
            given: dict[str, Any] = {"retries": 3, "backoff": SHORT, "meter": Meter()}
            async with connected(place, 20.0) as client:
                session = Session(client, place, Form("m"), parameters, timeout=20.0, **given)
                return await session.outcome(task)

        yield outcome

    def close(self) -> None:
        """Hold nothing."""


def test_a_run_with_a_thousand_keys_stores_what_the_server_sent(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    random = Random(12)
    examples = [Example(f"{n}番は何ですか？", f"{n}番です。") for n in range(50)]
    asked_for = [task for trial in range(1, 21) for task in Prompter(examples).tasks(trial)]
    keys = dict(zip(map(key_of, asked_for), _random_keys(random), strict=True))
    sent = {}
    for task in asked_for:
        said = [*random.choices(WORDS, k=6), *random.choices(CHARACTERS, k=3)]
        if random.random() < 0.5:
            said[random.randrange(9)] = keys[key_of(task)]
        sent[task.prompt, task.seed] = f"答{''.join(said)}。"

    def behave(handler: Handler, asked: Asked) -> None:
        faults.answer(sent[asked.prompt, asked.body["seed"]])(handler, asked)

    config = RunConfig("openai-api", "m", stop=())
    with FaultServer(default=behave) as server:
        run = generate(
            config, ManyKeys(server, keys), examples=examples, trials=20, results=tmp_path
        )
        assert {asked.headers["authorization"] for asked in server.asked} == {
            f"Bearer {key}" for key in keys.values()
        }
    expected = {key_of(task): sent[task.prompt, task.seed] for task in asked_for}
    exposed = {at for at, said in expected.items() if len(keys[at]) >= 16 and keys[at] in said}
    assert len(exposed) > 200
    assert {tuple(failure.about.values()) for failure in run.failures} == exposed
    stored = {(each["trial"], each["question"]): each["answer"] for each in journal(run.folder)}
    assert stored == {at: said for at, said in expected.items() if at not in exposed}


@given(
    key=st.text(PRINTABLE, min_size=1, max_size=40),
    cut=st.integers(0, 40),
    text=st.text("日月。 "),
)
def test_messages_show_at_most_seven_characters_of_a_key(key: str, cut: int, text: str) -> None:
    message = f"{text}{key}{text}…{key[:cut]}"
    hidden = "***" if len(key) >= 8 else key
    left = "***" if len(key[:cut]) >= 8 else key[:cut]
    assert redacted(message, key) == f"{text}{hidden}{text}…{left}"


SECRET = "sk-proj-aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYz1112223"


def _json(**body: object) -> bytes:
    return json.dumps(body).encode()


REFUSALS: dict[str, Callable[[str], faults.Behaviour]] = {
    "refused": lambda said: faults.status(400, said),
    "refused with an option": lambda said: faults.status(400, said, param="seed"),
    "refused for good": lambda said: faults.status(401, said),
    "tried again": lambda said: faults.status(500, said),
    "a long wait": lambda said: faults.status(429, said, {"retry-after": "6"}),
    "an error in a reply": lambda said: faults.raw(_json(error={"message": said})),
    "an error of another form": lambda said: faults.raw(_json(error={"code": said})),
    "text": lambda said: faults.raw(said.encode(), 400, {"content-type": "text/plain"}),
    "no JSON": lambda said: faults.raw(said.encode()),
    "a refusal": lambda said: faults.raw(
        faults.body(None, chat=True).replace(
            b'"content": null', b'"content": null, "refusal": ' + json.dumps(said).encode()
        )
    ),
}


@pytest.mark.parametrize("how", REFUSALS)
def test_no_message_of_a_server_shows_the_key_wherever_it_is_cut(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    behave = REFUSALS[how]
    for before in (0, 33, 255, 262, 290):
        for part in (SECRET, SECRET[:45]):
            said = f"{'x' * before}{part} {part}"
            with FaultServer(default=behave(said)) as server:
                asked = engine(server, api_key=SECRET, retries=1, optional=["seed"])
                try:
                    reasons = [str(one) for one in asked.generate(tasks(4, "chat"), Parameters())]
                except GenerationError as error:
                    reasons = [str(error)]
            assert reasons
            assert SECRET[:8] not in "".join(reasons) + caplog.text, (before, part)


@pytest.mark.parametrize("length", [15, 16, 30, 47, 48])
def test_an_answer_that_is_cut_within_the_key_is_discarded(saying: Saying, length: int) -> None:
    assert isinstance(
        saying.answer(SECRET, f"{SECRET[:length]} は"), Failed if length == 48 else Answered
    )
    cut = saying.answer(SECRET, f"鍵は{SECRET[:length]}")
    assert isinstance(cut, Answered if length < 16 else Failed)


def test_a_program_s_errors_do_not_show_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    program = tmp_path / "failing.py"
    said = "task = json.loads(line); error = 'x' * 470 + os.environ['OPENAI_API_KEY']"
    program.write_text(
        f"import json, os, sys\nfor line in sys.stdin:\n {said}\n"
        " print(json.dumps({'id': task['id'], 'error': error}), flush=True)\n",
        encoding="utf-8",
    )
    asked = CommandEngine("m", command=[sys.executable, str(program)])
    [outcome] = asked.generate(tasks(), Parameters())
    asked.close()
    assert isinstance(outcome, Failed)
    assert outcome.reason == "x" * 470 + "***"


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


KEY = "sk-0123456789-very-secret"
LOGGING = {"PYTHONASYNCIODEBUG": "1"}


def command(server: FaultServer, results: Path, *more: str, key: str = KEY) -> tuple[int, str]:
    """Exit code and all output of one trial of the bundled benchmark."""
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    args = ("generate", "org/m", "--engine=openai", "-b", "mini", "--trials=1", "--set=retries=0")
    env = {**LOGGING, "OPENAI_API_KEY": key, "OPENAI_BASE_URL": server.url}
    done = pfgen(*args, "--out", results, *more, env=env)
    return done.returncode, done.stdout + done.stderr


def _written(folder: Path) -> bytes:
    """Every file's name and contents, packed ones unpacked as well."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    contents = [path.read_bytes() for path in files]
    packed = [lzma.decompress(path.read_bytes()) for path in files if path.suffix == ".xz"]
    return b"\n".join([*contents, *packed, *(str(path).encode() for path in files)])


def _answers(folder: Path) -> list[str]:
    [path] = folder.rglob("trials.jsonl.xz")
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    return [json.loads(line)["answer"] for line in lines]


def test_answers_with_the_key_fail_and_the_key_is_left_nowhere(tmp_path: Path) -> None:
    with FaultServer(default=faults.echo_key(200)) as server:
        code, shown = command(server, tmp_path, "--mode", "chat", "--keep-going")
    assert code == 1, shown
    assert len(server.asked) == 14
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}
    assert "the answer contains the API key (OPENAI_API_KEY) and was discarded" in shown
    assert "very-secret" not in shown
    assert b"very-secret" not in _written(tmp_path)


def test_placeholders_for_keys_change_no_answer(tmp_path: Path) -> None:
    said = "1月1日に1時間当たり1回、none と EMPTY は x です。"
    for key in ("1", "x", "none", "EMPTY"):
        with FaultServer(default=faults.answer(said)) as server:
            code, shown = command(server, tmp_path / key, key=key)
        assert code == 0, shown
        assert set(_answers(tmp_path / key)) == {said}


def test_failures_are_told_without_the_key_and_asked_again(tmp_path: Path) -> None:
    with FaultServer(default=faults.echo_key(400)) as server:
        code, shown = command(server, tmp_path)
        assert code == 1, shown
        assert len(server.asked) == 14
        assert "very-secret" not in shown
        assert b"very-secret" not in _written(tmp_path)
        assert "your key is Bearer ***" in shown
    with FaultServer() as server:
        assert command(server, tmp_path)[0] == 0
        assert len(server.asked) == 14
    assert len(_answers(tmp_path)) == 14


def test_a_refused_key_ends_the_run_with_a_message(tmp_path: Path) -> None:
    with FaultServer(default=faults.echo_key(401)) as server:
        code, shown = command(server, tmp_path)
    assert code == 2
    assert "Check the API key (OPENAI_API_KEY)" in shown
    assert "very-secret" not in shown
    assert b"very-secret" not in _written(tmp_path)
