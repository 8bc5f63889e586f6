"""Parts of the engine for OpenAI's protocol: waits, places and keys, settings, reading of answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_tasks import bare, tasks
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Answered, Failed
from pfgen_rs.ask.retrying import Backoff, retry_after
from pfgen_rs.ask.server import find_place
from pfgen_rs.ask.wire import CutError, read_answer, read_reply
from pfgen_rs.errors import GenerationError, PfgenError, SettingsError

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

KEY = "sk-0123456789-very-secret"
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@given(st.integers(0, 5000), st.integers(), st.none() | st.floats(0, 1e9))
def test_waits_have_bounds(failure: int, seed: int, asked: float | None) -> None:
    backoff = Backoff(first=0.5, longest=30.0, patience=120.0)
    wait = backoff.wait(failure, Random(seed), asked)
    assert wait == backoff.wait(failure, Random(seed), asked)
    if asked is None:
        assert 0.25 <= wait <= 30.0
    else:
        assert min(asked, 120.0) <= wait <= 120.5


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": format_datetime(NOON + timedelta(seconds=90), usegmt=True)}, 90.0),
        ({"retry-after": "Fri, 02 Jan 2026 12:00:05 -0000"}, 5.0),
        ({"retry-after": "Fri, 02 Jan 2026 13:00:05 +0100"}, 5.0),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Fri, 99 Jan 2026 12:00:00 GMT"}, None),
        ({"retry-after": "Fri, 02 Jan 2026 12:00:00 -9999"}, None),
    ],
)
def test_when_to_come_back_is_understood(headers: Mapping[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOON) == seconds


@given(st.text())
def test_no_header_breaks_the_reading(text: str) -> None:
    seconds = retry_after({"retry-after": text}, NOON)
    assert seconds is None or seconds >= 0


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


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:1/v1",
        "http://127.3.2.1",
        "http://[::1]:8/v1",
        "http://192.168.1.2/v1",
        "http://vllm:8000/v1",
        "http://box.local/v1",
    ],
)
def test_local_servers_need_no_key(url: str) -> None:
    assert find_place(url).sent_key == "none"


@pytest.mark.parametrize("url", [None, "https://example.com/v1", "http://8.8.8.8/v1"])
def test_other_servers_do(url: str | None) -> None:
    with pytest.raises(GenerationError, match="set OPENAI_API_KEY in the environment"):
        find_place(url)


@pytest.mark.parametrize(
    "url",
    [
        f"http://user:{KEY}@host/v1",
        f"http://host/v1?key={KEY}",
        f"http://host/v1#{KEY}",
        "host:8000",
        "ftp://host/v1",
        "http://",
        "http://host:99999/v1",
        "http://[::1/v1",
    ],
)
def test_addresses_that_are_none_or_hold_secrets_are_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="OPENAI_BASE_URL") as caught:
        find_place(url)
    assert KEY not in str(caught.value)
    assert caught.value.__context__ is None or KEY not in str(caught.value.__context__)


@pytest.mark.parametrize("key", [f"{KEY}\nx: y", f"{KEY}鍵"])
def test_keys_that_cannot_be_sent_are_refused_unseen(key: str) -> None:
    with pytest.raises(SettingsError, match="not shown") as caught:
        find_place("http://host/v1", key)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"concurrency": 0}, "concurrency must be between 1 and 1000, not 0"),
        ({"timeout": 0.0}, "must be positive"),
        ({"timeout": float("nan")}, "must be positive"),
        ({"retries": -1}, "must be at least 0"),
        ({"omit": ["stops"]}, "cannot omit 'stops': expected one of seed, stop"),
        ({"omit": "stops"}, "cannot omit 'stops'"),
        ({"omit": [["seed"]]}, r"cannot omit \['seed'\]"),
        ({"omit": 5}, "omit must be a list of names, not 5"),
        ({"max_tokens_name": 5}, "max_tokens_name must be a non-empty string, not 5"),
        ({"extra": "foo"}, "extra must be an object such as .* not 'foo'"),
        ({"extra": ["foo"]}, "extra must be an object"),
        ({"extra": {1: 2}}, "extra must be an object"),
        *(
            ({"extra": {key: 1}}, f"extra must not set '{key}'")
            for key in (
                *("model", "messages", "prompt", "seed", "stop", "max_tokens", "temperature"),
                *("top_p", "stream", "n"),
            )
        ),
        ({"extra": {"limit": 1}, "max_tokens_name": "limit"}, "extra must not set 'limit'"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        OpenAIEngine("m", base_url="http://host/v1", **settings)  # type: ignore[arg-type]


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(PfgenError, match=r"pip install 'pfgen_rs\[openai\]'"):
        OpenAIEngine("m", base_url="http://host/v1")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["choices", "text", "message", "content", "error", "refusal"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["choices", "error"]), JSON), st.booleans())
def test_whatever_json_comes_is_an_answer_or_a_failure(
    reply: dict[str, object], chat: bool
) -> None:
    [task] = tasks(mode="chat" if chat else "completion")
    outcome = read_answer(task, read_reply(json.dumps(reply).encode()))
    assert isinstance(outcome, Answered | Failed)
    if isinstance(outcome, Failed):
        assert outcome.reason.isprintable()


@given(st.binary())
def test_whatever_bytes_come_are_an_answer_a_failure_or_cut(content: bytes) -> None:
    with suppress(CutError):
        assert isinstance(read_answer(tasks()[0], read_reply(content)), Failed)


def _parts(*parts: object) -> dict[str, object]:
    """A reply whose message is a list of parts."""
    return {"choices": [{"message": {"content": list(parts)}}]}


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([{"type": "text", "text": "海は"}, {"type": "text", "text": "青い。"}], "海は青い。"),
        (["海は", {"text": "青い。"}], "海は青い。"),
        ([{"type": "output_text", "text": "海"}], "海"),
        ([{"type": "thinking", "text": "hmm"}, {"type": "text", "text": "海"}], "海"),
        ([{"type": "image_url", "image_url": {}}, {"type": "text", "text": ""}], ""),
    ],
)
def test_parts_of_text_are_joined(parts: list[object], text: str) -> None:
    [task] = tasks(mode="chat")
    assert bare([read_answer(task, _parts(*parts))]) == [Answered(task, text)]


@pytest.mark.parametrize(
    "parts", [[], [{"type": "image_url"}], [None, 5, {"type": "text", "text": None}]]
)
def test_parts_without_text_fail(parts: list[object]) -> None:
    [task] = tasks(mode="chat")
    said = "the server's answer has no text: content is a list without text"
    outcome = read_answer(task, _parts(*parts))
    assert isinstance(outcome, Failed)
    assert outcome.reason == said
