"""Servers that speak Anthropic's protocol: requests, replies, faults, keys; and what requests cost."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import fault_server as faults
from batch_service import KEY, BatchService, Plan
from engine_tasks import SHORT, tasks
from fault_server import Asked, Behaviour, FaultServer, Handler
from generating import write_samples
from helpers import pfgen
from judging import made_pairs
from pfgen_rs.ask import engines
from pfgen_rs.ask.costs import Prices, estimate_of, read_prices, token_counter
from pfgen_rs.ask.engines.anthropic import AnthropicEngine
from pfgen_rs.ask.protocol import Answered, Details, Failed, Outcome, Parameters, Task, Usage
from pfgen_rs.errors import GenerationError, InputError, SettingsError
from pfgen_rs.judge import write_pairs

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

USAGE = {
    "input_tokens": 5,
    "output_tokens": 7,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 20,
}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def reply(*blocks: Mapping[str, Any], stop: str = "end_turn", **more: Any) -> Behaviour:
    """A message with these blocks, or a text that names the prompt."""

    def behave(handler: Handler, asked: Asked) -> None:
        content = list(blocks) or [{"type": "text", "text": f"{asked.prompt}!"}]
        message = {"model": "m-1", "content": content, "stop_reason": stop, "usage": USAGE, **more}
        handler.reply(200, json.dumps(message).encode())

    return behave


def refusal(
    code: int, kind: str, message: str, headers: Mapping[str, str] | None = None
) -> Behaviour:
    """A refusal, worded as Anthropic does."""
    content = {"type": "error", "error": {"type": kind, "message": message}}
    return faults.raw(json.dumps(content).encode(), code, headers)


def exchanged(
    asked: Sequence[Task],
    script: Mapping[str, Sequence[Behaviour]] | None = None,
    default: Behaviour | None = None,
    parameters: Parameters | None = None,
    **more: Any,
) -> tuple[list[Outcome], list[Asked], AnthropicEngine]:
    settings: dict[str, Any] = {"retries": 3, "backoff": SHORT, "api_key": KEY, **more}
    with FaultServer(script, default or reply()) as server:
        engine = AnthropicEngine(
            "m", base_url=server.url, **settings
        )  # with /v1, as others have it
        outcomes = list(engine.generate(asked, parameters or Parameters()))
    return outcomes, server.asked, engine


def test_a_message_is_asked_for_with_every_option() -> None:
    [task] = tasks(mode="chat")
    [outcome], [asked], engine = exchanged(
        [task], parameters=Parameters(300, 0.5, 0.9, ("Q:",), 20)
    )
    assert asked.path == "/v1/messages"
    assert asked.body == {
        "model": "m",
        "system": "answer",
        "messages": [{"role": "user", "content": "p0"}],
        "max_tokens": 300,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["Q:"],
    }
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in asked.headers
    usage = Usage(0, 1, 125, 7, 100)
    assert outcome == Answered(task, "p0!", Details(None, "stop", None, usage, model="m-1"))
    assert engine.usage == Usage(1, 1, 125, 7, 100)
    assert KEY not in repr(engine)


def test_what_is_none_is_not_sent_but_the_limit_is() -> None:
    nothing = Parameters(None, None, None, ())
    task = tasks(mode="qa")[0]
    _, [asked], _ = exchanged([task], parameters=nothing, extra={"thinking": {"type": "disabled"}})
    assert asked.body.keys() == {"model", "messages", "max_tokens", "thinking"}
    assert asked.body["max_tokens"] == 4096
    _, [asked], _ = exchanged([task], omit=["temperature", "stop"])
    assert asked.body.keys() == {"model", "messages", "max_tokens", "top_p"}
    for wrong in ({"extra": {"system": "x"}}, {"omit": "seed"}, {"omit": "logprobs"}):
        with pytest.raises(SettingsError):
            AnthropicEngine("m", api_key=KEY, **wrong)


TEXT, THOUGHT = {"type": "text", "text": "は"}, {"type": "thinking", "thinking": "えー"}
REPLIES: dict[str, tuple[Behaviour, str | None, str | None, str]] = {
    "joined": (reply(TEXT, {"type": "tool_use"}, TEXT), "はは", "stop", ""),
    "thoughts": (reply(THOUGHT, TEXT, stop="stop_sequence"), "は", "stop", "えー"),
    "cut": (reply(TEXT, stop="max_tokens"), "は", "length", ""),
    "full": (reply(TEXT, stop="model_context_window_exceeded"), "は", "length", ""),
    "other": (reply(TEXT, stop="pause_turn"), "は", "pause_turn", ""),
    "empty": (reply(content=[]), "", "stop", ""),
    "refusal": (reply(TEXT, stop="refusal"), None, None, "the model refused"),
    "only thoughts": (reply(THOUGHT, stop="max_tokens"), None, None, "only thinking"),
    "no content": (reply(content=None), None, None, "has no content"),
}


@pytest.mark.parametrize("kind", REPLIES)
def test_replies(kind: str) -> None:
    behave, text, finish, words = REPLIES[kind]
    [outcome], _, _ = exchanged(tasks(mode="chat"), default=behave)
    if text is None:
        assert isinstance(outcome, Failed)
        assert words in outcome.reason
    else:
        assert isinstance(outcome, Answered)
        assert outcome.details is not None
        assert (outcome.text, outcome.details.finish_reason) == (text, finish)
        assert (outcome.details.reasoning or "") == words


PASSING = {
    "overloaded": refusal(529, "overloaded_error", "Overloaded"),
    "limit": refusal(429, "rate_limit_error", "slow", {"retry-after": "0.01"}),
    "error": refusal(500, "api_error", "Internal server error"),
    "cut": faults.cut(),
    "closed": faults.close(),
}


@pytest.mark.parametrize("kind", PASSING)
def test_what_passes_is_asked_again(kind: str) -> None:
    [outcome], asked, _ = exchanged(tasks(mode="chat"), {"p0": [PASSING[kind]]})
    assert isinstance(outcome, Answered)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        (401, "authentication_error", "Check the API key (ANTHROPIC_API_KEY)"),
        (403, "permission_error", "Check the API key (ANTHROPIC_API_KEY)"),
        (404, "not_found_error", "Check the model 'm' and the base URL (ANTHROPIC_BASE_URL)"),
    ],
)
def test_what_is_hopeless_ends_the_run_without_the_key(code: int, kind: str, advice: str) -> None:
    with pytest.raises(GenerationError) as caught:
        exchanged(tasks(9, "chat"), default=refusal(code, kind, f"{KEY} is wrong"))
    assert advice in str(caught.value)
    assert f"the server answered {code}: *** is wrong" in str(caught.value)


def without_temperature(handler: Handler, asked: Asked) -> None:
    words = "`temperature` is not supported by this model"
    known = refusal(400, "invalid_request_error", words) if "temperature" in asked.body else reply()
    known(handler, asked)


def test_a_temperature_that_is_refused_is_left_out() -> None:
    given = tasks(9, "chat")
    outcomes, asked, _ = exchanged(
        given, None, without_temperature, optional="temperature", concurrency=1
    )
    assert all(isinstance(outcome, Answered) for outcome in outcomes)
    assert len(asked) == 9 + 2
    with pytest.raises(GenerationError, match="rejects the option temperature: omit it with"):
        exchanged(given, default=without_temperature)
    most = refusal(400, "invalid_request_error", "max_tokens: 300 > 200, the maximum")
    with pytest.raises(GenerationError, match="the option max_tokens: set --max-tokens"):
        exchanged(given, default=most)


def test_an_answer_with_the_key_is_discarded() -> None:
    for block in ({"type": "text", "text": f"a{KEY}"}, {"type": "thinking", "thinking": KEY}):
        [outcome], _, _ = exchanged(tasks(mode="chat"), default=reply(block, TEXT))
        assert isinstance(outcome, Failed)
        assert (
            outcome.reason
            == "the answer contains the API key (ANTHROPIC_API_KEY) and was discarded"
        )


def test_addresses_and_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        GenerationError, match=r"anthropic\.com needs an API key: set ANTHROPIC_API_KEY"
    ):
        AnthropicEngine("m")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert AnthropicEngine("m").place.url == "https://api.anthropic.com"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://there/v1/")
    assert AnthropicEngine("m").place.url == "http://there"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://user:secret@there")
    with pytest.raises(SettingsError, match="ANTHROPIC_BASE_URL") as caught:
        AnthropicEngine("m")
    assert "secret" not in str(caught.value)


def test_completions_are_refused(tmp_path: Path) -> None:
    write_samples(tmp_path / "tiny")
    env = {"ANTHROPIC_API_KEY": KEY}
    given = ("generate", "m", "-e", "anthropic", "-b", tmp_path / "tiny", "--out", tmp_path / "out")
    done = pfgen(*given, env=env)
    assert done.returncode == 2
    assert "the engine 'anthropic' does not support completions" in done.stderr


# Costs.


def test_prices_of_batches_and_cached_tokens(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text("[models.m]\nprompt = 2\ncompletion = 10\ncached = 0.5\nbatch = 0.5\n")
    prices = read_prices(path, "m")
    assert prices == Prices(2.0, 10.0, "", 0.5, 0.5)
    assert prices.cost(1e6, 1e5, 4e5) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 1)
    assert prices.in_batches().cost(1e6, 1e5, 4e5) == pytest.approx(2.4 / 2)
    assert Prices(2.0, 10.0).in_batches() == Prices(2.0, 10.0)
    used = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
    records: list[dict[str, Any]] = [
        {"usage": used},
        {"usage": {**used, "cached_tokens": 1_000_000}, "batch": "b"},
    ]
    assert prices.spent([*records, {"usage": None}, {}]) == pytest.approx(2 + 0.25)
    path.write_text("[models.m]\nprompt = 2\ncompletion = 10\nbatch = -1\n")
    with pytest.raises(InputError, match="'batch' of 'm' must be a number of at least 0, not -1"):
        read_prices(path, "m")
    counter = token_counter("m")
    estimate = estimate_of([["abc", "d"], ["e"]], 7, counter)
    assert (estimate.requests, estimate.prompt, estimate.completion) == (2, 4 + 4 + 4 + 5, 14)
    assert estimate_of([], None, counter).completion == 0
    assert estimate_of([["a"]], None, counter).cost(prices) is None


@pytest.mark.parametrize("batched", [True, False])
def test_commands_say_what_is_paid(batched: bool, tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.jsonl", made_pairs(2))
    write_samples(tmp_path / "tiny")
    path = tmp_path / "prices.toml"
    path.write_text(
        'currency = "USD"\n[models.m]\nprompt = 1000\ncompletion = 10000\nbatch = 0.5\n'
    )
    more = [
        f"--prices={path}",
        "-e",
        "openai",
        *(["--batch", "--set=_poll=0.05"] if batched else []),
    ]
    share = 0.5 if batched else 1
    with BatchService(Plan()) as service:
        judge = ("judge", "compare", tmp_path / "pairs.jsonl", "-m", "m", "--out", tmp_path / "v")
        done = pfgen(*judge, *more, env=service.environment)
        assert done.returncode == 0, done.stderr
        assert "cost of 4 requests: at most " in done.stderr
        assert f"cost so far: {Prices(0, 0, 'USD').shown(4 * 0.2 * share)}" in done.stderr
        run = ("generate", "m", "-b", tmp_path / "tiny", "--trials=1", "--out", tmp_path / "g")
        done = pfgen(*run, *more, env=service.environment)
        assert "cost of 2 requests: at most " in done.stderr
        assert f"cost of this call: {2 * 0.2 * share:.4f} USD" in done.stderr
    config = next((tmp_path / "g").rglob("config.json")).read_text()
    assert "poll" not in config
    assert "batch" not in config


def test_the_engine_is_registered() -> None:
    assert engines.kind("anthropic") is AnthropicEngine
    assert engines.names()[:2] == ["openai", "anthropic"]
