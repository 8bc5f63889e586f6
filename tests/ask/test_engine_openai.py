"""The engine for OpenAI's protocol, through the real client, against a server that misbehaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fault_server as faults
from engine_tasks import bare, engine, tasks
from fault_server import FaultServer
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Answered, Failed, Outcome, Parameters, Task
from pfgen_rs.errors import GenerationError
from pfgen_rs.io.cleaning import Mode

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")


def run(server: FaultServer, asked: list[Task], **more: Any) -> dict[str, Outcome]:
    outcomes = bare(engine(server, **more).generate(asked, Parameters()))
    assert len(outcomes) == len(asked)
    return {outcome.task.prompt: outcome for outcome in outcomes}


def reason(outcome: Outcome) -> str:
    assert isinstance(outcome, Failed), outcome
    return outcome.reason


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_a_completion_is_asked_for_with_every_option() -> None:
    with FaultServer() as server:
        [task] = tasks()
        outcomes = bare(engine(server).generate([task], Parameters(stop=("Q:", "\n\n"))))
    assert outcomes == [Answered(task, "p0/100")]
    [asked] = server.asked
    assert asked.path == "/v1/completions"
    assert asked.body == {
        "model": "m",
        "prompt": "p0",
        "seed": 100,
        "stop": ["Q:", "\n\n"],
        "max_tokens": 300,
        "temperature": 1.0,
        "top_p": 0.98,
    }


@pytest.mark.parametrize("mode", ["chat", "qa"])
def test_chats_are_asked_for_with_their_messages(mode: Mode) -> None:
    with FaultServer() as server:
        [task] = tasks(mode=mode)
        assert bare(engine(server).generate([task], Parameters())) == [Answered(task, "p0/100")]
    [asked] = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.body["messages"] == task.messages
    assert len(task.messages) == (2 if mode == "chat" else 1)


def test_what_is_none_or_omitted_is_not_sent_and_extras_are() -> None:
    nothing = Parameters(max_tokens=None, temperature=None, top_p=None, stop=())
    with FaultServer() as server:
        list(engine(server, omit="seed").generate(tasks(), nothing))
        list(engine(server, omit=["stop", "top_p"]).generate(tasks(), Parameters(temperature=0)))
        renamed = engine(server, max_tokens_name="max_completion_tokens", extra={"top_k": 5})
        list(renamed.generate(tasks(), Parameters(temperature=None, top_p=None)))
    assert [set(asked.body) - {"model", "prompt"} for asked in server.asked] == [
        set(),
        {"seed", "max_tokens", "temperature"},
        {"seed", "stop", "max_completion_tokens", "top_k"},
    ]
    assert server.asked[1].body["temperature"] == 0


PASSING = {
    "429": faults.status(429, "slow down", {"retry-after": "0.01"}),
    "500": faults.status(500),
    "503": faults.raw(b"<html>busy</html>", 503, {"content-type": "text/html"}),
    "408": faults.status(408),
    "cut": faults.cut(),
    "cut in the head": faults.bytes_alone(b"HTTP/1.1 200 OK\r\ncontent-le"),
    "no json": faults.raw(b'{"choices": [{"text": "abc'),
    "no utf-8": faults.raw(b'{"choices": [{"text": "\xff"}]}'),
    "deep": faults.raw(b"[" * 200_000),
    "a list": faults.raw(b"[]"),
    "garbage": faults.bytes_alone(b"\x00\xff\x16\x03garbage\r\n\r\n"),
    "bad chunks": faults.bytes_alone(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"
    ),
    "bad gzip": faults.raw(b"no gzip", headers={"content-encoding": "gzip"}),
    "closed": faults.close(),
    "hanging": faults.hang(),
    "trickle": faults.trickle(),
}


@pytest.mark.parametrize("kind", PASSING)
def test_what_passes_is_asked_again(kind: str) -> None:
    timeout = 0.6 if kind in ("hanging", "trickle") else 20.0
    with FaultServer({"p0": [PASSING[kind]]}) as server:
        outcomes = run(server, tasks(2), timeout=timeout)
    # p1 may be slow on a busy machine, and is asked again then.
    assert outcomes["p0"] == Answered(tasks()[0], "p0/100")
    assert len(server.attempts("p0")) >= 2


@pytest.mark.parametrize("kind", PASSING)
def test_what_does_not_pass_fails_with_its_reason(kind: str) -> None:
    timeout = 0.6 if kind in ("hanging", "trickle") else 20.0
    with FaultServer({"p1": [PASSING[kind]] * 2}) as server:
        asking = engine(server, concurrency=1, retries=1, timeout=timeout)
        first, second = asking.generate(tasks(2), Parameters())
    assert isinstance(first, Answered)
    assert reason(second).endswith("(attempts: 2)")
    assert len(server.attempts("p1")) == 2
    said = {
        "429": "429: slow down",
        "503": "busy",
        "hanging": "no answer within 0.6 seconds",
        "closed": "connection failed",
        "cut": "connection failed: ",
    }
    assert "400" not in reason(second)
    assert said.get(kind, "") in reason(second)
    assert reason(second).isprintable()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"choices": []}', "no choices"),
        (b'{"choices": [7]}', "no choices"),
        (b"{}", "no choices"),
        (b'{"error": {"message": "all\\n busy"}}', "answered with an error: all busy"),
        (b'{"error": "lost"}', "answered with an error: lost"),
        (faults.body(None), "no text: text is null"),
        (faults.body([7]), "no text: text is a list without text"),
        (faults.body({"a": 1}), "no text: text is dict"),
        (faults.body("half", finish_reason="content_filter"), "content filter"),
    ],
)
def test_answers_without_text_fail_and_are_not_asked_again(content: bytes, said: str) -> None:
    with FaultServer({"p0": [faults.raw(content)]}) as server:
        assert said in reason(run(server, tasks())["p0"])
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"content": None}, "content is null"),
        ({"content": None, "reasoning_content": "hm"}, "(only reasoning; try a larger max_tokens)"),
        ({"content": None, "refusal": "I will\tnot"}, "the model refused: I will not"),
        ({}, "content is null"),
        (None, "content is null"),
    ],
)
def test_chats_without_text_fail(message: object, said: str) -> None:
    content = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
    with FaultServer({"p0": [faults.raw(content)]}) as server:
        assert said in reason(run(server, tasks(mode="chat"))["p0"])


def test_texts_come_as_they_are() -> None:
    with FaultServer({"p0": [faults.answer("")], "p1": [faults.answer(" a\ud83d\n")]}) as server:
        outcomes = run(server, tasks(2))
    assert outcomes["p0"] == Answered(tasks()[0], "")
    assert outcomes["p1"] == Answered(tasks(2)[1], " a\ud83d\n")


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (faults.status(400, "bad stop", param="stop"), "It rejects the option stop"),
        (faults.status(422, "extra: seed is not permitted"), "It rejects the option seed"),
        (faults.status(400, "the prompt is too long"), "answered 400: the prompt is too long"),
        (faults.raw(b'{"detail": [{"loc": ["top_p"]}]}', 422), "It rejects the option top_p"),
        (faults.status(400, "x" * 5000), "xxx…"),
        (faults.status(400, "\x1b[31mred\u202e"), "\N{REPLACEMENT CHARACTER}[31mred"),
    ],
)
def test_a_refusal_fails_its_task_and_names_the_option(
    refusal: faults.Behaviour, said: str
) -> None:
    with FaultServer({"p0": [refusal]}) as server:
        outcomes = run(server, tasks(2))
    assert said in reason(outcomes["p0"])
    assert len(reason(outcomes["p0"])) < 400
    assert reason(outcomes["p0"]).isprintable()
    assert isinstance(outcomes["p1"], Answered)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (faults.status(401, "wrong key"), "401: wrong key. Check the API key (OPENAI_API_KEY)"),
        (faults.status(403, "no access"), "403: no access. Check the API key"),
        (faults.status(404, "no such model"), "404: no such model. Check the model 'm'"),
        (faults.status(429, "pay first", code="insufficient_quota"), "429: pay first"),
        (
            faults.status(400, "not max_tokens", code="unsupported_parameter", param="max_tokens"),
            "rejects the option max_tokens: rename it with --set max_tokens_name=max_completion_tokens, or",
        ),
        (
            faults.status(400, "only 1", code="unsupported_value", param="temperature"),
            """It rejects the option temperature: omit it with --set 'omit=["temperature"]'""",
        ),
    ],
)
def test_what_concerns_all_tasks_ends_everything(refusal: faults.Behaviour, said: str) -> None:
    with FaultServer(default=refusal) as server:
        with pytest.raises(GenerationError) as caught:
            list(engine(server, concurrency=2).generate(tasks(50), Parameters()))
        # Whoever was under way has been asked; nobody else.
        assert len(server.asked) <= 4
    assert said in str(caught.value)


def test_an_option_that_the_first_tasks_are_all_refused_for_ends_everything() -> None:
    with FaultServer(default=faults.status(400, "unknown argument: seed")) as server:
        outcomes = engine(server, concurrency=1).generate(tasks(50), Parameters())
        assert [type(next(outcomes)) for _ in range(7)] == [Failed] * 7
        with pytest.raises(GenerationError) as caught:
            next(outcomes)
        assert len(server.asked) == 8
    assert str(caught.value) == (
        "the server answered 400: unknown argument: seed. It rejects the option seed: "
        """omit it with --set 'omit=["seed"]'"""
    )


def test_refusals_that_differ_or_follow_an_answer_end_nothing() -> None:
    seed, stop = (faults.status(400, f"bad {option}") for option in ("seed", "stop"))
    long = {f"p{n}": [faults.status(400, f"only {n} left of max_tokens")] for n in range(20)}
    scripts = [
        {f"p{n}": [seed] for n in range(1, 20)},  # after an answer
        {f"p{n}": [stop if n == 3 else seed] for n in range(20)},
        long,
    ]
    for script in scripts:
        with FaultServer(script) as server:
            outcomes = list(engine(server, concurrency=1).generate(tasks(20), Parameters()))
        assert sum(isinstance(outcome, Failed) for outcome in outcomes) == len(script)


def test_answers_before_such_an_error_are_kept() -> None:
    with FaultServer({"p2": [faults.status(401)]}) as server:
        outcomes = engine(server, concurrency=1).generate(tasks(5), Parameters())
        assert [next(outcomes).task.prompt, next(outcomes).task.prompt] == ["p0", "p1"]
        with pytest.raises(GenerationError):
            next(outcomes)


def test_no_server_is_an_error() -> None:
    with FaultServer() as server:
        pass
    with pytest.raises(
        GenerationError, match=r"127.*the connection failed: .*attempts: 2.*Check that"
    ):
        list(engine(server, retries=1).generate(tasks(), Parameters()))


def test_a_server_that_dies_ends_everything_after_eight_tasks() -> None:
    with FaultServer() as server:
        outcomes = engine(server, concurrency=1, retries=1).generate(tasks(50), Parameters())
        assert isinstance(next(outcomes), Answered)
        server.stop()
        rest: list[Outcome] = []
        with pytest.raises(GenerationError, match="Check that the server is running"):
            rest.extend(outcomes)


def test_the_proxy_of_the_environment_is_used_unless_it_is_bypassed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with FaultServer() as server:
        place = server.url.removesuffix("/v1")
        for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        for proxy in (place, place.removeprefix("http://")):
            monkeypatch.setenv("http_proxy", proxy)
            asking = OpenAIEngine("m", base_url="http://elsewhere.lan/v1", retries=0)
            assert bare(asking.generate(tasks(), Parameters())) == [Answered(tasks()[0], "p0/100")]
            assert server.asked[-1].path == "http://elsewhere.lan/v1/completions"
        monkeypatch.setenv("http_proxy", "socks5://user:s3cret@127.0.0.1:9")
        with pytest.raises(
            GenerationError, match="proxy that the environment names for http is"
        ) as caught:
            list(engine(server).generate(tasks(), Parameters()))
        assert "s3cret" not in str(caught.value)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert len(list(engine(server).generate(tasks(), Parameters()))) == 1
        assert server.asked[-1].path == "/v1/completions"


def test_passwords_and_cookies_of_others_do_not_replace_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password s3cret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    reply = faults.raw(faults.body("A"), headers={"set-cookie": "who=me"})
    with FaultServer(default=reply) as server:
        list(engine(server, concurrency=1, api_key="sk-0123").generate(tasks(2), Parameters()))
    assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer sk-0123"] * 2
    assert not any("cookie" in asked.headers for asked in server.asked)
