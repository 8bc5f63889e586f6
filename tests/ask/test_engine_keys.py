"""API keys, which change no answer and are left nowhere; tokens, as servers report them; who answered."""

import json
import lzma
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import fault_server as faults
from engine_tasks import engine, tasks
from fault_server import Asked, Behaviour, FaultServer, Handler
from generating import CONFIG, FakeEngine, answers, finished_names, journal, names, write_samples
from helpers import pfgen
from pfgen_rs import GenerationError
from pfgen_rs.ask.engines.command import CommandEngine
from pfgen_rs.ask.engines.manual import AnswersFile
from pfgen_rs.ask.engines.vllm import VllmEngine
from pfgen_rs.ask.protocol import (
    Answered,
    Counting,
    Details,
    Engine,
    Failed,
    Outcome,
    Parameters,
    Task,
    Usage,
)
from pfgen_rs.ask.server import redacted
from pfgen_rs.ask.wire import reported_usage
from pfgen_rs.generate import Run, generate
from pfgen_rs.io.cleaning import Mode
from pfgen_rs.questions.locate import sample_runs

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
    key=st.text(PRINTABLE, min_size=1, max_size=40), cut=st.integers(0, 40), text=st.text("日月。 ")
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


# What a run keeps beside its answers: tokens, as servers report them, and who answered.


TOKENS = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


def reply(text: object = "答え", usage: object = TOKENS, **choice: Any) -> Behaviour:
    """An answer that reports its tokens."""

    def behave(handler: Handler, asked: Asked) -> None:
        chat = asked.path.endswith("/chat/completions")
        content = json.loads(faults.body(text, chat, **choice))
        handler.reply(200, json.dumps({**content, "usage": usage}).encode())

    return behave


def test_every_reply_with_tokens_counts_and_every_request() -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    script = {"p0": [faults.status(500), reply()], "p1": [reply("")], "p2": [reply(None)]}
    script |= {"p3": [reply(finish_reason="content_filter")], "p4": [faults.answer()]}
    script["p5"] = [faults.status(400)]
    with FaultServer(script) as server:
        asked = engine(server)
        assert asked.usage == Usage()
        list(asked.generate(tasks(6), Parameters()))
        assert asked.usage == Usage(7, 4, 40, 20, 8, 12)
        list(asked.generate(tasks(1), Parameters()))
        assert asked.usage == Usage(8, 4, 40, 20, 8, 12)


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (TOKENS, Usage(0, 1, 10, 5, 2, 3)),
        ({"prompt_tokens": 1}, Usage(0, 1, 1)),
        ({"prompt_tokens": 1, "completion_tokens": "7"}, Usage(0, 1, 1)),
        ({"prompt_tokens": 0, "prompt_tokens_details": None}, Usage(0, 1)),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        ({"prompt_tokens": 1.5, "completion_tokens": 10**400}, Usage()),
        *(
            (usage, Usage())
            for usage in ({"prompt_tokens_details": {"cached_tokens": 2}}, None, [1])
        ),
    ],
)
def test_invalid_numbers_are_not_counted(usage: object, found: Usage) -> None:
    assert reported_usage({"usage": usage}) == found


class CountingEngine(FakeEngine, Counting):
    """Uses two prompt tokens and one completion token for each task that it is asked."""

    def generate(self, tasks: Any, parameters: Parameters) -> Iterator[Outcome]:
        for outcome in super().generate(tasks, parameters):
            self.count(Usage(1, 1, 2, 1))
            yield outcome


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_samples(tmp_path / "tiny")


def run_in(tiny: Path, asked: Any, **options: Any) -> Run:
    options = {"trials": 2, **options}
    return generate(CONFIG, asked, benchmark=tiny, results=tiny.parent / "result", **options)


def test_a_run_says_what_this_call_used(tiny: Path) -> None:
    asked = CountingEngine()
    first = run_in(tiny, asked)
    assert first.usage == Usage(4, 4, 8, 4)
    assert names(first.folder) == finished_names(2)
    assert len(answers(first.folder)) == 4  # and their records have the published keys
    assert run_in(tiny, asked, trials=3).usage == Usage(2, 2, 4, 2)
    assert run_in(tiny, CountingEngine(), trials=3).usage == Usage()
    assert run_in(tiny, FakeEngine(), trials=3).usage is None


def _generate(server: FaultServer, folder: Path, *more: str) -> tuple[list[str], str]:
    """What a run of the bundled benchmark prints, and its warnings."""
    env: Mapping[str, str] = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url}
    arguments = ("generate", "org/m", "--engine=openai", "-b", "mini", f"--out={folder}")
    done = pfgen(*arguments, *more, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[1:], done.stderr


def test_the_command_prints_tokens(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    with FaultServer(default=reply()) as server:
        first, _ = _generate(server, tmp_path, "--trials=1")
        second, _ = _generate(server, tmp_path, "--trials=3")
    with FaultServer() as server:
        none, _ = _generate(server, tmp_path, "--trials=4")
    tokens = "140 prompt tokens (28 cached), 70 completion tokens (42 of reasoning)"
    assert first == [f"used: 14 requests, {tokens}"]
    assert second[0].startswith("used: 28 requests, 280 prompt tokens")
    assert none == ["used: 14 requests; no numbers of tokens were reported"]


class ToldEngine:
    """Answers with what it knows of each answer."""

    name, model = "told", "m"

    def __init__(self, details: Sequence[Details | None]) -> None:
        self._details = list(details)

    def generate(self, tasks: Sequence[Task], _parameters: object) -> Any:
        for task in tasks:
            yield Answered(task, "答え", self._details.pop(0))

    def close(self) -> None:
        pass


def served(folder: Path) -> list[dict[str, Any]]:
    names = ("trial", "served", "system_fingerprint", "finish_reason")
    return [{n: r[n] for n in names if r[n] is not None} for r in journal(folder)]


def test_a_run_remembers_who_answered_and_warns_when_that_changes(
    tiny: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = Details(model="m-2026", system_fingerprint="fp", finish_reason="stop")
    other = Details(model="n", finish_reason="length")
    folder = run_in(tiny, ToldEngine([one, other, None, one])).folder
    assert served(folder) == [
        {"trial": 1, "served": "m-2026", "system_fingerprint": "fp", "finish_reason": "stop"},
        {"trial": 1, "served": "n", "finish_reason": "length"},
        {"trial": 2},
        {"trial": 2, "served": "m-2026", "system_fingerprint": "fp", "finish_reason": "stop"},
    ]
    assert caplog.messages == [
        "the model that answers is 'm-2026': 'm' was asked for",
        "the model that answers is now 'n': earlier answers are by 'm-2026'",
    ]
    assert len(answers(folder)) == 4  # and their records have the published keys
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(b'{"trial": 3, "que')  # a kill
    caplog.clear()
    run_in(tiny, ToldEngine([other, one]), trials=3)
    assert caplog.messages == []
    assert len(served(folder)) == 6


def test_answers_cut_by_the_token_limit_are_counted_by_generate_score_and_compare(
    tmp_path: Path,
) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    cuts: list[bool] = []

    def cutting(handler: Handler, asked: Asked) -> None:
        cuts.append(len(cuts) % 3 == 0)
        content = json.loads(faults.body("答え", finish_reason="length" if cuts[-1] else "stop"))
        content |= {"model": "served", "system_fingerprint": None}
        handler.reply(200, json.dumps(content).encode())

    with FaultServer(default=cutting) as server:
        _, told = _generate(server, tmp_path, "--trials=2", "--concurrency=1")
    [folder] = (tmp_path / "org/m").iterdir()
    assert "the model that answers is 'served': 'org/m' was asked for" in told
    assert len(cuts) == 28
    said = f"{folder}: {sum(cuts)} of 28 answers ended by the token limit (--max-tokens)"
    assert told.count(said) == 1
    for command in (("score", folder), ("compare", folder, sample_runs()["faithful"])):
        assert said in pfgen(*command, "-b", "mini").stderr


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"model": f"proxy/{SECRET}"}, {"served": "proxy/***"}),
        ({"model": "x" * 190 + SECRET}, {"served": "x" * 190 + "***"}),
        ({"system_fingerprint": SECRET[:30]}, {"system_fingerprint": "***"}),
        ({"model": "m\ud800\x1b\u202e"}, {"served": "m\ufffd\ufffd\ufffd"}),
        ({"model": ["m"], "system_fingerprint": 1}, {}),
        ({"finish_reason": "stop\ud800\u202e"}, {"finish_reason": "stop\ufffd\ufffd"}),
        ({"finish_reason": "x" * 190 + SECRET}, {"finish_reason": "x" * 190 + "***"}),
    ],
)
def test_what_a_server_calls_itself_is_kept_without_the_key_and_as_valid_text(
    said: dict[str, Any], kept: dict[str, str], tiny: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

    reply = json.loads(faults.body("答え"))
    for name, value in said.items():
        (reply["choices"][0] if name == "finish_reason" else reply)[name] = value
    with FaultServer(default=faults.raw(json.dumps(reply).encode())) as server:
        folder = run_in(tiny, engine(server, api_key=SECRET), trials=1).folder
    for record in served(folder):
        assert record == {"trial": 1, "finish_reason": "stop", **kept}
    assert SECRET[:8] not in caplog.text
