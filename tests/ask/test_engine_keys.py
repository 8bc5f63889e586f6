"""API keys never change an answer, whatever the key, the answer and the engine, and are left nowhere."""

import json
import lzma
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import fault_server as faults
from engine_tasks import engine, tasks
from fault_server import Asked, FaultServer, Handler
from helpers import pfgen
from pfgen_rs import GenerationError
from pfgen_rs.ask.engines.command import CommandEngine
from pfgen_rs.ask.engines.manual import AnswersFile
from pfgen_rs.ask.engines.vllm import VllmEngine
from pfgen_rs.ask.protocol import Answered, Engine, Failed, Outcome, Parameters
from pfgen_rs.ask.server import redacted
from pfgen_rs.io.cleaning import Mode

PRINTABLE = st.characters(min_codepoint=0x21, max_codepoint=0x7E)
ANSWERS = st.text(st.one_of(PRINTABLE, st.sampled_from("1x日月時間当たり。\n\t ")), max_size=40)
PLACEHOLDERS = st.sampled_from(["1", "x", "none", "EMPTY"])
SHORT_KEYS = st.text(PRINTABLE, min_size=1, max_size=15) | PLACEHOLDERS
LONG_KEYS = st.text(PRINTABLE, min_size=16, max_size=60)


Saying = Callable[[str, str, Mode], Outcome]


@pytest.fixture(scope="module")
def saying() -> Iterator[Saying]:
    """What becomes of a text that a server says, for a key."""
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    said = [""]

    def behave(handler: Handler, asked: Asked) -> None:
        faults.answer(said[0])(handler, asked)

    def answer(key: str, text: str, mode: Mode = "completion") -> Outcome:
        said[0] = text
        [outcome] = engine(server, api_key=key, retries=0).generate(tasks(1, mode), Parameters())
        return outcome

    with FaultServer(default=behave) as server:
        yield answer


def text_of(outcome: Outcome) -> str:
    assert isinstance(outcome, Answered), outcome
    return outcome.text


@given(key=SHORT_KEYS, text=ANSWERS, mode=st.sampled_from(["completion", "chat"]))
@settings(max_examples=100)
def test_a_server_s_answer_is_kept_as_it_was_sent(
    saying: Saying, key: str, text: str, mode: Mode
) -> None:
    for sent in (text, f"{key}日に{key}時間当たり{text}"):
        assert text_of(saying(key, sent, mode)) == sent


@given(key=LONG_KEYS, text=ANSWERS)
@settings(max_examples=100)
def test_an_answer_with_a_secret_fails_and_others_are_kept(
    saying: Saying, key: str, text: str
) -> None:
    assume(key not in text)
    assert text_of(saying(key, text, "completion")) == text
    exposed = saying(key, f"{text}{key}{text}", "completion")
    assert isinstance(exposed, Failed)
    assert "contains the API key (OPENAI_API_KEY)" in exposed.reason
    assert key not in exposed.reason


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
    for before in (0, 33, 255, 262, 290):
        for part in (SECRET, SECRET[:45]):
            behave = REFUSALS[how](f"{'x' * before}{part} {part}")
            given = {"api_key": SECRET, "retries": 1, "optional": ["seed"]}
            with FaultServer(default=behave) as server:
                asked = engine(server, **given)
                try:
                    reasons = [str(one) for one in asked.generate(tasks(4, "chat"), Parameters())]
                except GenerationError as error:
                    reasons = [str(error)]
            assert reasons
            assert SECRET[:8] not in "".join(reasons) + caplog.text, (before, part)


@pytest.mark.parametrize("length", [15, 16, 30, 47, 48])
def test_an_answer_that_is_cut_within_the_key_is_discarded(saying: Saying, length: int) -> None:
    whole = saying(SECRET, f"{SECRET[:length]} は", "completion")
    assert isinstance(whole, Failed if length == 48 else Answered)
    cut = saying(SECRET, f"鍵は{SECRET[:length]}", "completion")
    assert isinstance(cut, Answered if length < 16 else Failed)


ECHO = """
import json, os, sys
for line in sys.stdin:
    task = json.loads(line)
    print(json.dumps({"id": task["id"], REPLY}), flush=True)
"""


def _program(folder: Path, reply: str) -> CommandEngine:
    """A program that gives this reply, in Python, to each task."""
    path = folder / "program.py"
    path.write_text(ECHO.replace("REPLY", reply), encoding="utf-8")
    return CommandEngine("m", command=[sys.executable, str(path)])


def test_a_program_s_errors_do_not_show_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    asked = _program(tmp_path, "'error': 'x' * 470 + os.environ['OPENAI_API_KEY']")
    [outcome] = asked.generate(tasks(), Parameters())
    asked.close()
    assert isinstance(outcome, Failed)
    assert outcome.reason == "x" * 470 + "***"


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
    yield _program(folder, f"'answer': {text!a}")
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
            assert text_of(outcome) == said, other


KEY = "sk-0123456789-very-secret"
LOGGING = {"PYTHONASYNCIODEBUG": "1"}


def _command(server: FaultServer, results: Path, *more: str) -> tuple[int, str]:
    """Exit code and all output of one trial of the bundled benchmark."""
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    args = ("generate", "org/m", "--engine=openai", "-b", "mini", "--trials=1", "--set=retries=0")
    env = {**LOGGING, "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
    done = pfgen(*args, "--out", results, *more, env=env)
    return done.returncode, done.stdout + done.stderr


def _check_left_nowhere(folder: Path, shown: str) -> None:
    """The key is in no output, no file, packed ones unpacked as well, and no file's name."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    contents = [path.read_bytes() for path in files]
    packed = [lzma.decompress(path.read_bytes()) for path in files if path.suffix == ".xz"]
    written = b"\n".join([*contents, *packed, *(str(path).encode() for path in files)])
    assert b"very-secret" not in shown.encode() + written


def _answers(folder: Path) -> list[str]:
    [path] = folder.rglob("trials.jsonl.xz")
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    return [json.loads(line)["answer"] for line in lines]


@pytest.mark.parametrize(
    ("status", "more", "code", "requests", "said"),
    [
        (
            200,
            ("--mode", "chat", "--keep-going"),
            1,
            14,
            "the answer contains the API key (OPENAI_API_KEY) and was discarded",
        ),
        (400, (), 1, 14, "your key is Bearer ***"),
        (401, (), 2, None, "Check the API key (OPENAI_API_KEY)"),
    ],
)
def test_servers_that_say_the_key_leave_it_nowhere(
    status: int, more: Sequence[str], code: int, requests: int | None, said: str, tmp_path: Path
) -> None:
    with FaultServer(default=faults.echo_key(status)) as server:
        found, shown = _command(server, tmp_path, *more)
    assert found == code, shown
    assert requests in (None, len(server.asked))
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}
    assert said in shown
    _check_left_nowhere(tmp_path, shown)


def test_what_failed_is_asked_again(tmp_path: Path) -> None:
    for behave, code in ((faults.echo_key(400), 1), (faults.answer(), 0)):
        with FaultServer(default=behave) as server:
            assert _command(server, tmp_path)[0] == code
            assert len(server.asked) == 14
    assert len(_answers(tmp_path)) == 14
