"""Servers that speak OpenAI's protocol: each fault, what passes and what does not, limits, and waiting."""

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

import fault_server as faults
from engine_tasks import SHORT, bare, engine, exchanged, tasks, until
from fault_server import FaultServer
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Answered, Failed, Outcome, Parameters
from pfgen_rs.ask.retrying import Backoff, retry_after
from pfgen_rs.ask.server import find_place
from pfgen_rs.ask.wire import CutError, read_answer, read_reply
from pfgen_rs.errors import GenerationError, PfgenError, SettingsError
from pfgen_rs.io.cleaning import Mode
from places import SUPPORT

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

KEY = "sk-0123456789-very-secret"


def reason(outcome: Outcome) -> str:
    assert isinstance(outcome, Failed), outcome
    return outcome.reason


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


# Requests.


def test_a_completion_is_asked_for_with_every_option() -> None:
    [task] = tasks()
    outcomes, [asked] = exchanged([task], parameters=Parameters(stop=("Q:", "\n\n")))
    assert bare(outcomes) == [Answered(task, "p0/100")]
    assert asked.path == "/v1/completions"
    sampling = {"stop": ["Q:", "\n\n"], "max_tokens": 300, "temperature": 1.0, "top_p": 0.98}
    assert asked.body == {"model": "m", "prompt": "p0", "seed": 100, **sampling}


@pytest.mark.parametrize(("mode", "count"), [("chat", 2), ("qa", 1)])
def test_chats_are_asked_for_with_their_messages(mode: Mode, count: int) -> None:
    [task] = tasks(mode=mode)
    outcomes, [asked] = exchanged([task])
    assert bare(outcomes) == [Answered(task, "p0/100")]
    assert asked.path == "/v1/chat/completions"
    assert asked.body["messages"] == task.messages
    assert len(task.messages) == count


RENAMED = {"max_tokens_name": "max_completion_tokens", "extra": {"top_k": 5}}


@pytest.mark.parametrize(
    ("settings", "parameters", "names"),
    [
        ({"omit": "seed"}, Parameters(None, None, None, ()), ""),
        ({"omit": ["stop", "top_p"]}, Parameters(temperature=0), "seed max_tokens temperature"),
        (
            RENAMED,
            Parameters(temperature=None, top_p=None),
            "seed stop max_completion_tokens top_k",
        ),
    ],
)
def test_what_is_none_or_omitted_is_not_sent_and_extras_are(
    settings: dict[str, Any], parameters: Parameters, names: str
) -> None:
    _, [asked] = exchanged(tasks(), parameters=parameters, **settings)
    assert set(asked.body) - {"model", "prompt"} == set(names.split())
    assert asked.body.get("temperature", 0) == 0


# Faults.


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
SAID = {
    "429": "429: slow down",
    "503": "busy",
    "hanging": "no answer within 0.6 seconds",
    "closed": "connection failed",
    "cut": "connection failed: ",
}


@pytest.mark.parametrize("kind", PASSING)
def test_what_passes_is_asked_again(kind: str) -> None:
    timeout = 0.6 if kind in ("hanging", "trickle") else 20.0
    outcomes, asked = exchanged(tasks(2), {"p0": [PASSING[kind]]}, timeout=timeout)
    # p1 may be slow on a busy machine, and is asked again then.
    assert Answered(tasks()[0], "p0/100") in bare(outcomes)
    assert len(outcomes) == 2
    assert sum(one.prompt == "p0" for one in asked) >= 2


@pytest.mark.parametrize("kind", PASSING)
def test_what_does_not_pass_fails_with_its_reason(kind: str) -> None:
    timeout = 0.6 if kind in ("hanging", "trickle") else 20.0
    script = {"p1": [PASSING[kind]] * 2}
    outcomes, asked = exchanged(tasks(2), script, concurrency=1, retries=1, timeout=timeout)
    first, second = outcomes
    assert isinstance(first, Answered)
    assert reason(second).endswith("(attempts: 2)")
    assert sum(one.prompt == "p1" for one in asked) == 2
    assert "400" not in reason(second)
    assert SAID.get(kind, "") in reason(second)
    assert reason(second).isprintable()


ONLY_THOUGHTS = {"content": None, "reasoning_content": "hm"}
REFUSING = {"content": None, "refusal": "I will\tnot"}


def _message(message: object) -> bytes:
    return json.dumps({"choices": [{"index": 0, "message": message}]}).encode()


@pytest.mark.parametrize(
    ("mode", "content", "said"),
    [
        *(("completion", each, "no choices") for each in (b'{"choices": [7]}', b"{}")),
        ("completion", b'{"choices": []}', "no choices"),
        ("completion", b'{"error": {"message": "all\\n busy"}}', "with an error: all busy"),
        ("completion", b'{"error": "lost"}', "answered with an error: lost"),
        ("completion", faults.body(None), "no text: text is null"),
        ("completion", faults.body([7]), "no text: text is a list without text"),
        ("completion", faults.body({"a": 1}), "no text: text is dict"),
        ("completion", faults.body("half", finish_reason="content_filter"), "content filter"),
        ("chat", _message({"content": None}), "content is null"),
        ("chat", _message({}), "content is null"),
        ("chat", _message(None), "content is null"),
        ("chat", _message(ONLY_THOUGHTS), "(only reasoning; try a larger max_tokens)"),
        ("chat", _message(REFUSING), "the model refused: I will not"),
    ],
)
def test_answers_without_text_fail_and_are_not_asked_again(
    mode: Mode, content: bytes, said: str
) -> None:
    [outcome], [_] = exchanged(tasks(mode=mode), {"p0": [faults.raw(content)]})
    assert said in reason(outcome)


def test_texts_come_as_they_are() -> None:
    script = {"p0": [faults.answer("")], "p1": [faults.answer(" a\ud83d\n")]}
    outcomes, _ = exchanged(tasks(2), script, concurrency=1)
    assert bare(outcomes) == [
        Answered(task, text) for task, text in zip(tasks(2), ("", " a\ud83d\n"), strict=True)
    ]


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            faults.status(400, "bad stop.", param="stop"),
            "400: bad stop. It rejects the option stop",
        ),
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
    (first, second), asked = exchanged(tasks(2), {"p0": [refusal]}, concurrency=1)
    assert said in reason(first)
    assert len(reason(first)) < 400
    assert reason(first).isprintable()
    assert isinstance(second, Answered)
    assert len(asked) == 2


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
    for script in (
        {f"p{n}": [seed] for n in range(1, 20)},  # after an answer
        {f"p{n}": [stop if n == 3 else seed] for n in range(20)},
        {f"p{n}": [faults.status(400, f"only {n} left of max_tokens")] for n in range(20)},
    ):
        outcomes, _ = exchanged(tasks(20), script, concurrency=1)
        assert sum(isinstance(outcome, Failed) for outcome in outcomes) == len(script)


def test_no_server_is_an_error() -> None:
    with FaultServer() as server:
        pass
    said = r"127.*the connection failed: .*attempts: 2.*Check that"
    with pytest.raises(GenerationError, match=said):
        list(engine(server, retries=1).generate(tasks(), Parameters()))


def test_a_server_that_dies_ends_everything_after_eight_tasks() -> None:
    with FaultServer() as server:
        outcomes = engine(server, concurrency=1, retries=1).generate(tasks(50), Parameters())
        assert isinstance(next(outcomes), Answered)
        server.stop()
        rest: list[Outcome] = []
        with pytest.raises(GenerationError, match="Check that the server is running"):
            rest.extend(outcomes)


# Servers and keys.


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
        said = "proxy that the environment names for http is"
        with pytest.raises(GenerationError, match=said) as caught:
            list(asking.generate(tasks(), Parameters()))
        assert "s3cret" not in str(caught.value)
        assert len(list(engine(server).generate(tasks(), Parameters()))) == 1  # on this machine
        assert server.asked[-1].path == "/v1/completions"
        monkeypatch.setenv("no_proxy", "elsewhere.lan")
        with pytest.raises(GenerationError, match="elsewhere") as bypassed:
            list(asking.generate(tasks(), Parameters()))
        assert "proxy" not in str(bypassed.value)


def test_passwords_and_cookies_of_others_do_not_replace_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password s3cret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    reply = faults.raw(faults.body("A"), headers={"set-cookie": "who=me"})
    _, asked = exchanged(tasks(2), None, reply, concurrency=1, api_key="sk-0123")
    assert [one.headers["authorization"] for one in asked] == ["Bearer sk-0123"] * 2
    assert not any("cookie" in one.headers for one in asked)


def test_places_come_from_arguments_then_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://10.0.0.7:8000/v1")
    place = find_place()
    assert (place.url, place.key, place.sent_key) == ("http://10.0.0.7:8000/v1", None, "none")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert find_place().key == KEY
    assert find_place("http://there/v1", "other").key == "other"
    assert find_place("http://there/v1").url == "http://there/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert find_place().url == "https://api.openai.com/v1"
    assert KEY not in repr(find_place())


LOCAL = ("localhost:1", "127.3.2.1", "[::1]:8", "192.168.1.2", "vllm:8000", "box.local")


def test_local_servers_need_no_key_and_others_do() -> None:
    assert {find_place(f"http://{host}/v1").sent_key for host in LOCAL} == {"none"}
    for url in (None, "https://example.com/v1", "http://8.8.8.8/v1"):
        with pytest.raises(GenerationError, match="set OPENAI_API_KEY in the environment"):
            find_place(url)


UNUSABLE = [f"http://user:{KEY}@host/v1", f"http://host/v1?key={KEY}", f"http://host/v1#{KEY}"]
UNUSABLE += ["host:8000", "ftp://host/v1", "http://", "http://host:99999/v1", "http://[::1/v1"]


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        *((url, None, "OPENAI_BASE_URL") for url in UNUSABLE),
        *(("http://host/v1", f"{KEY}{end}", "not shown") for end in ("\nx: y", "鍵")),
    ],
)
def test_addresses_and_keys_that_cannot_be_used_are_refused_unseen(
    url: str, key: str | None, said: str
) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        find_place(url, key)
    assert KEY not in str(caught.value)
    assert caught.value.__context__ is None or KEY not in str(caught.value.__context__)


OWN = ("model", "messages", "prompt", "seed", "stop", "max_tokens", "temperature", "top_p")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"concurrency": 0}, "concurrency must be between 1 and 1000, not 0"),
        ({"timeout": 0.0}, "must be positive"),
        ({"timeout": float("nan")}, "must be positive"),
        ({"retries": -1}, "must be at least 0"),
        ({"omit": ["stops"]}, "omit: invalid option 'stops': expected one of seed, stop"),
        ({"omit": "stops"}, "omit: invalid option 'stops'"),
        ({"omit": [["seed"]]}, r"omit: invalid option \['seed'\]"),
        ({"omit": 5}, "omit must be a list of names, not 5"),
        (
            {"optional": "stop"},
            "optional: invalid option 'stop': expected one of logprobs, seed, temp",
        ),
        ({"optional": ["seed", "max_tokens"]}, "optional: invalid option 'max_tokens'"),
        ({"optional": 5}, "optional must be a list of names, not 5"),
        ({"max_tokens_name": 5}, "max_tokens_name must be a non-empty string, not 5"),
        ({"extra": "foo"}, "extra must be an object such as .* not 'foo'"),
        ({"extra": ["foo"]}, "extra must be an object"),
        ({"extra": {1: 2}}, "extra must be an object"),
        *(({"extra": {key: 1}}, f"extra must not set '{key}'") for key in (*OWN, "stream", "n")),
        ({"extra": {"limit": 1}, "max_tokens_name": "limit"}, "extra must not set 'limit'"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        OpenAIEngine("m", base_url="http://host/v1", **settings)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(PfgenError, match=r"pip install 'pfgen_rs\[openai\]'"):
        OpenAIEngine("m", base_url="http://host/v1")


# Reading.


NAMES = ["choices", "text", "message", "content", "error", "refusal"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["choices", "error"]), JSON), st.booleans())
def test_whatever_json_comes_is_an_answer_or_a_failure(
    reply: dict[str, object], chat: bool
) -> None:
    [task] = tasks(mode="chat" if chat else "completion")
    outcome = read_answer(task, read_reply(json.dumps(reply).encode()))
    assert isinstance(outcome, Answered) or reason(outcome).isprintable()


@given(st.binary())
def test_whatever_bytes_come_are_an_answer_a_failure_or_cut(content: bytes) -> None:
    with suppress(CutError):
        assert isinstance(read_answer(tasks()[0], read_reply(content)), Failed)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([{"type": "text", "text": "海は"}, {"type": "text", "text": "青い。"}], "海は青い。"),
        (["海は", {"text": "青い。"}], "海は青い。"),
        ([{"type": "output_text", "text": "海"}], "海"),
        ([{"type": "thinking", "text": "hmm"}, {"type": "text", "text": "海"}], "海"),
        ([{"type": "image_url", "image_url": {}}, {"type": "text", "text": ""}], ""),
        ([], None),
        ([{"type": "image_url"}], None),
        ([None, 5, {"type": "text", "text": None}], None),
    ],
)
def test_parts_of_text_are_joined(parts: list[object], text: str | None) -> None:
    [task] = tasks(mode="chat")
    outcome = read_answer(task, {"choices": [{"message": {"content": parts}}]})
    if text is None:
        said = "the server's answer has no text: content is a list without text"
        assert reason(outcome) == said
    else:
        assert bare([outcome]) == [Answered(task, text)]


# How the engine for OpenAI's protocol keeps its limits: requests at once, waits, silence, cancelling.


pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def test_all_tasks_are_answered_and_begun_in_order() -> None:
    given = tasks(30)
    outcomes, asked = exchanged(given, concurrency=1)
    assert [one.prompt for one in asked] == [task.prompt for task in given]
    assert bare(outcomes) == [Answered(task, f"{task.prompt}/{task.seed}") for task in given]
    assert exchanged([]) == ([], [])


def test_as_many_requests_as_allowed_are_under_way_and_never_more() -> None:
    with FaultServer(default=faults.meet(8)) as server:
        outcomes = list(engine(server, concurrency=8).generate(tasks(64), Parameters()))
    assert sorted(outcome.task.seed for outcome in outcomes) == list(range(100, 164))
    assert server.most_at_once == 8


def test_connections_are_used_again_and_refusals_leave_them_open() -> None:
    script = {f"p{n}": [faults.status(code, "later")] for n, code in enumerate((429, 503, 529))}
    with FaultServer(script) as server:
        asked = engine(server, concurrency=4)
        outcomes = list(asked.generate(tasks(200), Parameters()))
        assert all(isinstance(outcome, Answered) for outcome in outcomes)
        assert len(server.asked) == 203
        assert server.connections <= 4
    notes = asked.notes()
    assert (notes["requests"], notes["retries"]) == (203, 3)
    assert 0 < notes["waits"] < 3
    assert notes["concurrency"]["most"] == 4
    assert notes["concurrency"]["trace"] == [[0.0, 4, "start"]]  # single refusals change nothing
    assert json.loads(json.dumps(notes)) == notes


def test_without_a_number_few_requests_are_under_way_at_first() -> None:
    with FaultServer(default=faults.meet(16)) as server:
        asked = engine(server)
        outcomes = list(asked.generate(tasks(64), Parameters()))
        assert len(outcomes) == 64
        assert 16 <= server.most_at_once <= 64
    assert asked.notes()["concurrency"]["trace"][0] == [0.0, 64, "start"]


def test_a_slow_reader_is_waited_for() -> None:
    with FaultServer() as server:
        outcomes = engine(server, concurrency=4).generate(tasks(60), Parameters())
        next(outcomes)
        # The reader pauses until no more is begun.
        until(lambda: len(server.asked) == 8)
        for taken, _ in enumerate(outcomes, 2):
            assert len(server.asked) <= taken + 8
    assert len(server.asked) == 60


@given(st.integers(0, 5000), st.integers(), st.none() | st.floats(0, 1e9))
def test_waits_have_bounds(failure: int, seed: int, asked: float | None) -> None:
    backoff = Backoff(first=0.5, longest=30.0, patience=120.0)
    wait = backoff.wait(failure, Random(seed), asked)
    assert wait == backoff.wait(failure, Random(seed), asked)
    if asked is None:
        assert 0.25 <= wait <= 30.0
    else:
        assert min(asked, 120.0) <= wait <= 120.5


DAY = "Fri, 02 Jan 2026"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        *(({"retry-after": text}, float(text)) for text in ("7", "0", "1.5")),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": format_datetime(NOON + timedelta(seconds=90), usegmt=True)}, 90.0),
        *(({"retry-after": f"{DAY} {time}"}, 5.0) for time in ("12:00:05 -0000", "13:00:05 +0100")),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:00 GMT"}, 0.0),
        *(({"retry-after": text}, None) for text in ("-3", "nan", "inf", "tomorrow")),
        ({"retry-after": "Fri, 99 Jan 2026 12:00:00 GMT"}, None),
        ({"retry-after": f"{DAY} 12:00:00 -9999"}, None),
    ],
)
def test_when_to_come_back_is_understood(headers: Mapping[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOON) == seconds


@given(st.text())
def test_no_header_breaks_the_reading(text: str) -> None:
    seconds = retry_after({"retry-after": text}, NOON)
    assert seconds is None or seconds >= 0


def test_long_waits_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    far = faults.status(429, f"{KEY} is slow", {"retry-after": "3600"})
    near = faults.status(429, "soon", {"retry-after": "0.02"})
    script = {"p0": [near, far, far], "p1": [far], "p2": [far]}
    exchanged(tasks(3), script, api_key=KEY, backoff=Backoff(0.01, 0.01, 0.02))
    said = "waiting 0 s: the server answered 429: *** is slow (server asked for 3,600 s)"
    assert caplog.record_tuples == [("pfgen_rs.generate", logging.WARNING, said)]


def test_waits_double_and_are_seeded() -> None:
    _, asked = exchanged(tasks(), {"p0": [faults.status(500)] * 3})
    random = Random("100 q0")
    for failure, (early, late) in enumerate(pairwise(asked)):
        wait = SHORT.wait(failure, random)
        assert 0.01 * 2**failure <= wait <= 0.02 * 2**failure
        assert late.at - early.at >= wait
    assert len(asked) == 4


def test_a_server_that_says_when_is_believed_up_to_a_limit() -> None:
    for header, least in (({"retry-after-ms": "80"}, 0.08), ({"retry-after": "86400"}, 0.1)):
        _, (first, second) = exchanged(tasks(), {"p0": [faults.status(429, "wait", header)]})
        assert second.at - first.at >= least


def test_closing_the_iterator_cancels_what_is_under_way() -> None:
    with FaultServer({"p0": [faults.answer()]}, faults.hang()) as server:
        outcomes = engine(server, concurrency=4, timeout=600).generate(tasks(50), Parameters())
        assert isinstance(next(outcomes), Answered)
        until(lambda: len(server.asked) == 5)
        outcomes.close()  # type: ignore[attr-defined]
        for _ in range(4):
            assert server.left.acquire(timeout=faults.DEADLINE)
        assert len(server.asked) == 5


INTERRUPTED = """
import sys
from engine_tasks import tasks
from pfgen_rs.ask.protocol import Parameters
from pfgen_rs.ask.engines.openai import OpenAIEngine

engine = OpenAIEngine("m", base_url=sys.argv[1], concurrency=4)
try:
    for outcome in engine.generate(tasks(50), Parameters()):
        print("answered", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_an_interrupt_ends_the_waiting() -> None:
    found = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": found}
    with FaultServer({"p0": [faults.answer()]}, faults.hang()) as server:
        command = [sys.executable, "-c", INTERRUPTED, server.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"answered\n"
            until(lambda: len(server.asked) == 5)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=faults.DEADLINE)[0] == b"interrupted\n"
        assert process.returncode == 0


def test_it_works_where_an_event_loop_runs() -> None:
    async def within(server: FaultServer) -> list[Outcome]:
        return list(engine(server).generate(tasks(3), Parameters()))

    with FaultServer() as server:
        assert len(asyncio.run(within(server))) == 3


@pytest.mark.parametrize("code", [200, 400, 401, 429, 500])
def test_the_key_is_shown_nowhere(
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    chained: tuple[BaseException | None, ...] = (None, None)
    with FaultServer(default=faults.echo_key(code)) as server:
        asking = engine(server, retries=1)
        shown.append(repr(asking) + str(asking))
        try:
            shown += [repr(outcome) for outcome in asking.generate(tasks(2), Parameters())]
        except GenerationError as error:
            # Nothing hangs on it that knows the key, such as the package's error with its request.
            chained = (error.__cause__, error.__context__)
            shown += traceback.format_exception(error)
    assert chained == (None, None)
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert len(caplog.messages) > 0
    said = "contains the API key" if code == 200 else "your key is Bearer ***"
    assert said in "".join(shown)
    everything = "".join([*shown, caplog.text, *caplog.messages, *capfd.readouterr()])
    assert KEY not in everything
    assert "very-secret" not in everything


def test_the_first_timeout_is_told_at_once_and_only_the_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun, script = time.time(), {"p0": [faults.hang()] * 2, "p1": [faults.hang()]}
    outcomes, _ = exchanged(tasks(3), script, timeout=0.5, concurrency=1)
    assert all(isinstance(outcome, Answered) for outcome in outcomes)
    said = "a request timed out: no answer within 0.5 seconds (--set timeout=…, retries=…)"
    assert caplog.record_tuples == [("pfgen_rs.generate", logging.WARNING, said)]
    assert 0.5 <= caplog.records[0].created - begun < 1.0


def test_a_long_timeout_is_not_rounded_up_to_whole_seconds() -> None:
    from pfgen_rs.ask import client

    async def opened() -> Any:
        asking = OpenAIEngine("m", base_url="http://127.0.0.1:1/v1", timeout=5.5)
        connection = client.Connection(**asking.connection)
        connection.open()
        await connection.__aexit__()
        return connection._http.timeout

    limits = asyncio.run(opened())
    assert limits.total == 5.5
    assert limits.total < limits.ceil_threshold  # of aiohttp, which rounds from there on


def test_a_server_that_accepts_no_connection(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pfgen_rs.ask import client

    monkeypatch.setattr(client, "_CONNECTING", 0.3)
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):  # its queue is full
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        asking = OpenAIEngine("m", base_url=url, retries=0)
        with pytest.raises(GenerationError, match=r"no connection within 0\.3 seconds"):
            list(asking.generate(tasks(), Parameters()))
    assert [m.split(" (")[0] for m in caplog.messages] == [
        "a request timed out: no connection within 0.3 seconds"
    ]
