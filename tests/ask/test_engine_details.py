"""What servers report beside answers: log probabilities, thoughts, tokens; and parameters they refuse."""

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

import fault_server as faults
from engine_tasks import bare, details, engine, exchanged, tasks
from fault_server import Asked, Behaviour, FaultServer, Handler
from pfgen_rs.ask import wire
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import (
    ABILITIES,
    Answered,
    Details,
    Failed,
    Outcome,
    Parameters,
    Task,
    Usage,
    abilities,
)
from pfgen_rs.ask.server import find_place
from pfgen_rs.errors import GenerationError
from pfgen_rs.judge.verdicts import TokenText, Verdict, read_output, spelling

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

KEY = "sk-0123456789-very-secret"
JUDGING = Parameters(max_tokens=1, temperature=0.0, top_p=None, stop=(), logprobs=20)
LIKELIEST = {"token": "A", "logprob": -0.25, "bytes": [65]}
TOKEN = {**LIKELIEST, "top_logprobs": [LIKELIEST, {"token": " B", "logprob": -1.5, "bytes": None}]}
READ = {**LIKELIEST, "top_logprobs": [LIKELIEST, {"token": " B", "logprob": -1.5}]}
LEGACY = {
    "tokens": ["A", "bytes:\\xe3\\x81"],
    "token_logprobs": [-0.25, None],
    "top_logprobs": [{"A": -0.25, " B": -1.5}, None],
    "text_offset": [0, 1],
}


def reply(chat: bool = True, text: str = "A", **more: Any) -> Behaviour:
    """An answer with further fields of its choice, and `usage`."""
    usage = {"prompt_tokens": 7, "completion_tokens": 1}
    content = {**json.loads(faults.body(text, chat, **more)), "usage": usage}
    return faults.raw(json.dumps(content).encode())


def sent(task: Task, parameters: Parameters, url: str | None = "http://localhost/v1") -> Any:
    """The body of a request."""
    form = OpenAIEngine("m", base_url=url, api_key=KEY).form
    return form.request(task, form.options(task, parameters))[1]


def test_log_probabilities_are_asked_for_as_each_api_has_it() -> None:
    [chat], [completion] = tasks(mode="chat"), tasks()
    for task, count, logprobs, top in (
        (chat, 20, True, 20),
        (completion, 20, 20, None),
        (chat, 0, True, 0),
        (chat, None, None, None),
    ):
        body = sent(task, replace(JUDGING, logprobs=count))
        assert (body.get("logprobs"), body.get("top_logprobs")) == (logprobs, top)
    for count, most in ((20, 5), (3, 3)):  # OpenAI itself reports five for completions
        assert sent(completion, replace(JUDGING, logprobs=count), None)["logprobs"] == most
        assert sent(chat, replace(JUDGING, logprobs=count), None)["top_logprobs"] == count
    assert find_place(None, KEY).is_openai
    assert not find_place("http://localhost/v1", KEY).is_openai


def test_what_was_not_asked_for_changes_no_request() -> None:
    """The bodies of runs, as they have always been."""
    [chat], [completion] = tasks(mode="chat"), tasks()
    form = wire.Form("m", extra={"top_k": 5})
    for task, first in ((chat, {"messages": chat.messages}), (completion, {"prompt": "p0"})):
        _, body = form.request(task, form.options(task, Parameters()))
        options = {"seed": 100, "stop": ["Q:"], "max_tokens": 300, "temperature": 1.0}
        expected = {**first, "model": "m", **options, "top_p": 0.98, "top_k": 5}
        assert json.dumps(body) == json.dumps(expected)


def test_details_of_a_chat() -> None:
    message = {"content": "A", "reasoning_content": "hm"}
    more: Any = {"message": message, "finish_reason": "length", "logprobs": {"content": [TOKEN]}}
    asked = tasks(mode="chat")
    outcomes, _ = exchanged(asked, default=reply(**more), parameters=JUDGING)
    known = Details([READ], "length", "hm", Usage(0, 1, 7, 1), ())
    assert outcomes == [Answered(asked[0], "A", known)]


LEGACY_READ = [
    {
        "token": "A",
        "logprob": -0.25,
        "top_logprobs": [{"token": "A", "logprob": -0.25}, {"token": " B", "logprob": -1.5}],
    },
    {"token": "bytes:\\xe3\\x81", "logprob": None, "bytes": [0xE3, 0x81], "top_logprobs": []},
]


CONTENTS: list[Any] = [None, [], {}, [5], [TOKEN, None], [{"logprob": -1}], [{"token": 5}]]
TEXTS: list[Any] = [[], None, [None]]
DAMAGED: list[Any] = [
    *(None, 5, "x", [], {}, {"tokens": "AB", "token_logprobs": [-1.0, -2.0]}),
    *({"content": content} for content in CONTENTS),
    *({"tokens": texts} for texts in TEXTS),
]


@pytest.mark.parametrize(
    ("logprobs", "tokens"),
    [(LEGACY, LEGACY_READ), ({"content": [TOKEN]}, [READ]), *((each, None) for each in DAMAGED)],
)
def test_either_form_is_read_for_either_api(logprobs: object, tokens: object) -> None:
    for mode in ("chat", "completion"):
        behaviour = reply(mode == "chat", logprobs=logprobs)
        asked = tasks(mode="chat" if mode == "chat" else "completion")
        [outcome], [_] = exchanged(asked, default=behaviour, parameters=JUDGING)
        assert bare([outcome]) == [Answered(asked[0], "A")]
        assert details(outcome).tokens == tokens


@pytest.mark.parametrize("value", [None, "-0.5", "NaN", float("nan"), float("inf"), -9999, 10**400])
def test_log_probabilities_are_kept_as_they_came(value: object) -> None:
    body = faults.body("A", True, logprobs={"content": [{"token": "A", "logprob": value}]})
    [task] = tasks(mode="chat")
    [token] = details(wire.read_answer(task, wire.read_reply(body))).tokens or []
    assert repr(token["logprob"]) == repr(value)
    assert token["top_logprobs"] == []


@pytest.mark.parametrize(
    ("alternatives", "read"),
    [
        (None, []),
        (5, []),
        ([None, {"token": None}, {"token": "B"}], ["B"]),
        ([{"token": "B", "logprob": []}], ["B"]),
        ([{"token": "B", "bytes": [256]}, {"token": "C", "bytes": "x"}], ["B", "C"]),
    ],
)
def test_damaged_alternatives_are_dropped(alternatives: object, read: list[str]) -> None:
    [token] = wire.read_tokens({"content": [{"token": "A", "top_logprobs": alternatives}]}) or []
    expected = [{"token": text, "logprob": None} for text in read]
    assert token == {"token": "A", "logprob": None, "top_logprobs": expected}


def test_completions_may_report_fewer_positions_than_tokens() -> None:
    read = wire.read_tokens({"tokens": ["A", "B"], "token_logprobs": [-1.0]})
    assert read == [
        {"token": text, "logprob": value, "top_logprobs": []}
        for text, value in (("A", -1.0), ("B", None))
    ]


def spelled(*texts: str) -> list[dict[str, Any]]:
    return [{"token": text, "logprob": -1.0, "top_logprobs": []} for text in texts]


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (["理", "", "", "は", " A"], "理由は A"),
        (["\ufffd", "\ufffd", "A", "", "", ""], "由A鍵"),
        (["", "", "。", "", "A"], "。。鍵A"),
        (["", "A"], "Ａは。A"),
        (["", "A", "<end>"], "鍵A<end>"),
        ([" A", "", "B"], " A鍵B"),
    ],
)
def test_characters_that_servers_drop_are_filled_in(sent: list[str], text: str) -> None:
    tokens = spelled(*sent)
    found = wire.completed(tokens, text.removesuffix("<end>"))
    assert tokens == spelled(*sent)
    assert [{k: v for k, v in one.items() if k != "bytes"} for one in found] == tokens
    assert b"".join(bytes(one["bytes"]) for one in found).decode() == text
    assert TokenText(found).text == text


def test_parts_of_a_letter_are_no_letter() -> None:
    """The probability of each part says nothing of the letter's."""
    for count in (2, 3, 4):
        parts = wire.completed(spelled(*[""] * count, "。"), "Ａ。")
        assert [spelling(part) for part in parts] == [""] * count + ["。"]
        assert read_output("Ａ。", parts) == Verdict("A")


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        *((["A", "\n"], "A\n"), (["", "A", ""], "A"), (["A", ""], "Ax"), (["A"], "A鍵")),
        (["", "", "B"], "鍵A"),  # another text
        (["", "A", "B"], "xAB"),  # a part of a character is never ASCII
        (["hm", "", "A"], "鍵A"),  # thoughts come first
    ],
)
def test_tokens_that_fit_already_or_do_not_otherwise_stay(sent: list[str], text: str) -> None:
    tokens = spelled(*sent)
    assert wire.completed(tokens, text) == tokens
    body = faults.body(text, True, logprobs={"content": tokens})
    assert details(wire.read_answer(tasks(mode="chat")[0], wire.read_reply(body))).tokens == tokens


def test_bytes_of_the_server_stay() -> None:
    tokens = [{**token, "bytes": [0xE9]} for token in spelled("", "\ufffd")]
    assert wire.completed([*tokens, *spelled("A")], "鍵A")[:2] == tokens


@given(st.lists(st.sampled_from(["A", " ", "鍵", "。", ""]), min_size=1), st.text("A 鍵。"))
def test_filling_in_spells_the_text_or_changes_nothing(sent: list[str], text: str) -> None:
    tokens = spelled(*sent)
    found = wire.completed(tokens, text)
    if found != tokens:
        assert b"".join(bytes(one["bytes"]) for one in found).decode().startswith(text)


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(
                ["content", "token", "tokens", "logprob", "token_logprobs", "top_logprobs", "bytes"]
            ),
            inner,
        )
    ),
    max_leaves=20,
)


@given(NESTED)
def test_whatever_json_comes_as_log_probabilities_is_read(logprobs: object) -> None:
    tokens = wire.read_tokens(logprobs)
    assert tokens is None or all(isinstance(token["token"], str) for token in tokens)
    assert all(isinstance(text, str) for text in wire.texts_in_tokens(tokens or []))


@pytest.mark.parametrize(
    "more",
    [
        {"logprobs": {"content": [{"token": KEY, "logprob": 0}]}},
        {"logprobs": {"content": [{"token": KEY[:9]}, {"token": KEY[9:]}]}},
        {"logprobs": {"content": [{**TOKEN, "top_logprobs": [{"token": KEY, "logprob": 0}]}]}},
        {"logprobs": {"content": [{"token": "", "bytes": list(KEY.encode())}]}},
        {"logprobs": {"content": [{"token": "A", "logprob": KEY}]}},
        {"logprobs": {"tokens": ["A"], "top_logprobs": [{KEY: -1.0}]}},
        {"message": {"content": "A", "reasoning_content": f"it is {KEY}."}},
        {"message": {"content": "A", "reasoning": f"it is {KEY}."}},
    ],
)
def test_an_answer_whose_details_contain_the_key_fails(more: Mapping[str, Any]) -> None:
    for key, kind in ((KEY, Failed), ("1", Answered)):
        [outcome], _ = exchanged(tasks(mode="chat"), None, reply(**more), JUDGING, api_key=key)
        assert isinstance(outcome, kind)
        assert key is not KEY or KEY not in repr(outcome)


def test_abilities_are_all_but_what_is_omitted() -> None:
    assert abilities(OpenAIEngine("m", api_key=KEY)) == ABILITIES
    omitting = OpenAIEngine("m", api_key=KEY, omit=["seed", "logprobs", "stop"])
    assert abilities(omitting) == ABILITIES - {"seed", "logprobs"}


class Choosy:
    """Refuses requests that have one of these parameters, as `refusal` says."""

    def __init__(self, **refusals: Behaviour) -> None:
        self._refusals = refusals

    def __call__(self, handler: Handler, asked: Asked) -> None:
        for name, refusal in self._refusals.items():
            if name in asked.body:
                refusal(handler, asked)
                return
        faults.answer()(handler, asked)


def judged(
    count: int,
    optional: Sequence[str],
    script: Mapping[str, Sequence[Behaviour]] | None = None,
    default: Behaviour | None = None,
    **more: Any,
) -> tuple[list[Outcome], list[Asked]]:
    settings = {"optional": optional, "retries": 0, "concurrency": 1, **more}
    return exchanged(tasks(count, "chat"), script, default, JUDGING, **settings)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [one for one in caplog.records if one.name == "pfgen_rs.generate"]
    assert {one.levelno for one in found} <= {logging.WARNING}
    return [one.getMessage() for one in found]


REFUSALS = {
    "param": faults.status(400, "no", param="logprobs"),
    "other name": faults.status(400, "no", param="top_logprobs"),
    "code": faults.status(400, "no", code="logprobs_not_supported"),
    "message": faults.status(422, "`logprobs` is not supported."),
    "capital": faults.status(422, "Logprobs is not supported."),
    "detail": faults.raw(b'{"detail": [{"loc": ["body", "top_logprobs"], "msg": "extra"}]}', 422),
    "hopeless": faults.status(400, "no", code="unsupported_parameter", param="logprobs"),
    "forbidden": faults.status(403, "You are not allowed to request logprobs from this model"),
    "unable": faults.status(500, "logprobs is not supported for models with logits_all=False"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_an_optional_parameter_that_is_refused_twice_in_a_row_is_left_out_from_then_on(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes, asked = judged(4, ["logprobs"], None, Choosy(logprobs=REFUSALS[kind]))
    assert [details(one).left_out for one in outcomes] == [("logprobs",)] * 4
    assert ["logprobs" in one.body for one in asked] == [True, False, True, False, False, False]
    first, again = asked[:2]
    same = {k: v for k, v in first.body.items() if k not in ("logprobs", "top_logprobs")}
    assert again.body == same
    [warning] = warnings(caplog)
    assert "logprobs is not sent from now on, since the server answered" in warning


def test_several_are_left_out_one_after_the_other_and_remembered_by_the_engine() -> None:
    names = ("logprobs", "seed", "top_p")
    refusals = {name: faults.status(400, f"{name} is unknown") for name in names}
    with FaultServer(default=Choosy(**refusals)) as server:
        asking = engine(server, optional=["temperature", *names], retries=0)
        left_out = []
        for parameters, requests in (
            (replace(JUDGING, top_p=0.5), 4),
            (replace(JUDGING, top_p=0.5), 8),
            (replace(JUDGING, top_p=0.5), 9),
            (replace(JUDGING, logprobs=None), 10),  # the others would not have been sent
        ):
            [outcome] = asking.generate(tasks(1, "chat"), parameters)
            left_out.append(details(outcome).left_out)
            assert len(server.asked) == requests
    assert left_out == [names, names, names, ("seed",)]
    assert server.asked[-1].body["temperature"] == 0


def test_refusals_of_requests_that_are_under_way_fail_none_of_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    count = 16
    refusal = faults.status(400, "no", param="seed")
    all_there = threading.Barrier(count)

    def behave(handler: Handler, asked: Asked) -> None:
        if "seed" in asked.body:
            if int(asked.prompt[1:]) < count:
                all_there.wait(faults.DEADLINE)
            refusal(handler, asked)
        else:
            faults.answer()(handler, asked)

    outcomes, asked = judged(count + 4, ["seed"], None, behave, concurrency=count)
    assert [details(one).left_out for one in outcomes] == [("seed",)] * (count + 4)
    refused = sum("seed" in one.body for one in asked)
    assert count <= refused <= count + 4  # until a second one is known to be refused
    assert len(asked) == count + 4 + refused
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        faults.status(400, "the prompt is too long"),
        faults.status(400, "no", param="messages", code="seed"),
        faults.status(400, "seed and temperature do not go together"),
        faults.status(400, "only 5 of temperature", param="temperature"),
        faults.status(500, "the seed is lost"),
        faults.status(429, "no logprobs for now"),
    ],
)
def test_other_refusals_stay_as_they_are(refusal: Behaviour) -> None:
    (first, second), asked = judged(2, ["seed", "logprobs"], {"p0": [refusal]})
    assert isinstance(first, Failed)
    assert details(second).left_out == ()
    assert len(asked) == 2
    assert {"seed", "logprobs", "temperature"} <= asked[1].body.keys()


def test_one_refusal_of_log_probabilities_leaves_them_to_all_other_requests(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Also one now and then: a request that is answered with them makes up for a refusal."""
    outcomes, _ = judged(7, ["logprobs"], {f"p{n}": [REFUSALS["forbidden"]] for n in (0, 2, 4)})
    left_out = [details(one).left_out for one in outcomes]
    assert left_out == [("logprobs",) if n in (0, 2, 4) else () for n in range(7)]
    assert not warnings(caplog)


def test_a_refusal_that_only_mentions_a_parameter_leaves_nothing_out() -> None:
    """An error message may quote the prompt; only an answer shows that the parameter was the reason."""
    quoting = faults.status(400, "not allowed: 'a seed in the garden'")
    (first, second), asked = judged(2, ["seed"], {"p0": [quoting, quoting]})
    assert isinstance(first, Failed)
    assert "a seed in the garden" in first.reason
    assert details(second).left_out == ()
    assert ["seed" in one.body for one in asked] == [True, False, True]


def test_without_optional_parameters_refusals_are_failures() -> None:
    for kind in ("param", "message"):
        [outcome], [_] = judged(1, [], {"p0": [REFUSALS[kind]]})
        assert isinstance(outcome, Failed)
        assert "It rejects the option logprobs" in outcome.reason
    with pytest.raises(GenerationError, match=r"omit=\[\"logprobs\"\]"):
        judged(1, [], None, REFUSALS["hopeless"])


def test_the_warning_does_not_contain_the_key(caplog: pytest.LogCaptureFixture) -> None:
    refusal = faults.status(400, f"{KEY}: no seed")
    outcomes, _ = judged(2, ["seed"], {"p0": [refusal], "p1": [refusal]}, api_key=KEY)
    assert [details(outcome).left_out for outcome in outcomes] == [("seed",)] * 2
    [warning] = warnings(caplog)
    assert KEY not in warning
    assert "***: no seed" in warning


def test_a_server_that_ignores_log_probabilities_gives_none() -> None:
    [outcome], _ = judged(1, ["logprobs"])
    assert details(outcome) == Details(None, "stop")
