"""Batches of requests: partial, expired, refused, shuffled and damaged ones, and servers that fail."""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fault_server as faults
from batch_service import KEY, BatchService, HangUpError, Plan, StatusError, prompt_of, said
from engine_tasks import SHORT
from fault_server import FaultServer
from generating import Place
from helpers import pfgen
from judging import JUDGE, keys, made_pairs, records
from pfgen_rs.ask import engines
from pfgen_rs.ask.batch_forms import AnthropicBatches, OpenAIBatches
from pfgen_rs.ask.batch_ledger import Ledger
from pfgen_rs.ask.batches import BatchEngine, pause
from pfgen_rs.ask.costs import Budget, Prices, token_counter
from pfgen_rs.ask.engines.anthropic import AnthropicEngine
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.loop import Asked, ask
from pfgen_rs.ask.protocol import Engine
from pfgen_rs.ask.request import Group, Request, Retry
from pfgen_rs.errors import GenerationError, InputError, SettingsError
from pfgen_rs.judge import Pair, write_pairs
from pfgen_rs.judge.compare import compare
from pfgen_rs.judge.requests import Judge, comparison_requests, find_prompt

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

REASON = find_prompt("reason", "pairwise")
BOTH = pytest.mark.parametrize("kind", ["openai", "anthropic"])
TOTAL = 16


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def engine_of(service: BatchService, kind: str, **more: Any) -> BatchEngine:
    """An engine that does not wait long."""
    waiting = {name: more.pop(name) for name in ("poll", "wait") if name in more}
    settings: dict[str, Any] = {"retries": 2, "backoff": SHORT, "timeout": 20.0, **more}
    kinds: dict[str, Callable[..., Engine]] = {"openai": OpenAIEngine, "anthropic": AnthropicEngine}
    url = service.url if kind == "openai" else service.root
    found = engines.in_batches(
        kinds[kind]("m", base_url=url, **settings), **{"poll": 0.02, **waiting}
    )
    assert isinstance(found, BatchEngine)
    return found


def judge(service: BatchService, kind: str, out: Path, **more: Any) -> Asked:
    """Ask about eight pairs in both orders."""
    limits = {name: more.pop(name) for name in ("budget", "pairs") if name in more}
    pairs: Sequence[Pair] = limits.pop("pairs", made_pairs(8))
    asked: Judge = more.pop("judge", JUDGE)
    return compare(pairs, engine_of(service, kind, **more), asked, REASON, out, **limits)


def check(service: BatchService, out: Path, total: int = TOTAL) -> list[dict[str, Any]]:
    """Each answer is stored once, where it belongs."""
    found = records(out)
    prompts = {
        (request.about["pair"], request.about["order"]): request.messages[-1][1]
        for request in comparison_requests(made_pairs(total // 2), REASON)
    }
    assert sorted(keys(found)) == sorted(prompts)
    for record in found:
        asked = {"prompt": prompts[record["pair"], record["order"]]}
        seed = {"seed": 1} if record["judge"]["engine"] != "anthropic" and has_seed(service) else {}
        assert record["output"] == said({**asked, **seed})
    return found


def has_seed(service: BatchService) -> bool:
    return any("seed" in body for batch in service.batches for _, body in batch.requests)


@BOTH
def test_a_batch_has_the_requests_that_would_be_sent_one_by_one(kind: str, tmp_path: Path) -> None:
    with BatchService(Plan(model="served-2")) as service:
        judge(service, kind, tmp_path / "v")
        found = check(service, tmp_path / "v")
        [batch] = service.batches
        sent = [body for _, body in batch.requests]
        service.asked.clear()
        bodies: list[Any] = []
        service.says = lambda body: bodies.append(body) or said(body)  # type: ignore[func-returns-value]
        inner = engine_of(service, kind)._engine
        asked = compare(made_pairs(8), inner, JUDGE, REASON, tmp_path / "w")
    assert asked.complete
    assert sorted(map(repr, bodies)) == sorted(map(repr, sent))
    assert [r["digest"] for r in found] == [r["digest"] for r in sorted_as(found, tmp_path / "w")]
    assert {record["served"] for record in found} == {"served-2"}
    assert {record["batch"] for record in found} == {batch.name}
    assert {len(i) for i, _ in batch.requests} == {58}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 40}
    assert all(record["usage"] == usage for record in found)
    assert all(KEY not in str(call) for call in service.calls)
    assert all(KEY in str(headers) for headers in service.headers)


def sorted_as(found: Sequence[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    other = {(r["pair"], r["order"]): r for r in records(folder)}
    return [other[r["pair"], r["order"]] for r in found]


def shuffled(lines: list[bytes]) -> list[bytes]:
    return random.Random(1).sample(lines, len(lines))


def with_strangers(lines: list[bytes]) -> list[bytes]:
    stranger = {**json.loads(lines[0]), "custom_id": "of-nobody"}
    return [json.dumps(stranger).encode(), *lines, *lines[:3], b""]


@BOTH
@pytest.mark.parametrize("edit", [shuffled, with_strangers])
def test_lines_come_in_any_order_twice_and_of_strangers(
    kind: str,
    edit: Callable[[list[bytes]], list[bytes]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with BatchService(Plan(edit=edit)) as service:
        assert judge(service, kind, tmp_path / "v").complete
        check(service, tmp_path / "v")
    said_ = "has results of 1 request that were not in it, which are ignored, such as 'of-nobody'"
    assert (said_ in caplog.text) == (edit is with_strangers)


def second(dropped: str) -> Callable[[int, Any], str | None]:
    return lambda number, _: dropped if number % 2 else None


@BOTH
@pytest.mark.parametrize(("dropped", "final"), [("expired", "expired"), ("canceled", "cancelled")])
def test_what_is_missing_fails_and_is_asked_by_the_next_call(
    kind: str, dropped: str, final: str, tmp_path: Path
) -> None:
    with BatchService(Plan(drop=second(dropped), final=final)) as service:
        asked = judge(service, kind, tmp_path / "v")
        assert (asked.stored, len(asked.failures)) == (8, 8)
        assert all(dropped[:6] in failure.reason for failure in asked.failures)
        assert judge(service, kind, tmp_path / "v").new == 8
        check(service, tmp_path / "v")
        assert [len(batch.requests) for batch in service.batches] == [16, 8]


@BOTH
def test_a_batch_without_some_results(kind: str, tmp_path: Path) -> None:
    with BatchService(Plan(edit=lambda lines: lines[3:])) as service:
        asked = judge(service, kind, tmp_path / "v")
        reasons = {failure.reason for failure in asked.failures}
        assert (asked.new, reasons) == (13, {"the batch ended without a result of it"})
        assert judge(service, kind, tmp_path / "v").complete
        check(service, tmp_path / "v")
    assert Counter(service.asked.values()) == {1: 13, 2: 3}


def damaged(lines: list[bytes]) -> list[bytes]:
    return [*lines[:5], b'{"custom_id": 7}', b"\xff\xfe", lines[5], lines[6][:50]]


@BOTH
def test_damaged_results_are_fetched_again_and_then_asked_again(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pfgen_rs.ask.batch_server._BETWEEN", 0.01)
    with BatchService(Plan(edit=damaged)) as service:
        asked = judge(service, kind, tmp_path / "v")
        assert asked.new == 6
        assert "(3 damaged lines in its results)" in asked.failures[0].reason
        assert judge(service, kind, tmp_path / "v").complete
        check(service, tmp_path / "v")


@BOTH
def test_results_that_are_damaged_once_cost_nothing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pfgen_rs.ask.batch_server._BETWEEN", 0.01)
    edits = iter([damaged])
    plan = Plan(edit=lambda lines: next(edits, list)(lines))
    with BatchService(plan) as service:
        assert judge(service, kind, tmp_path / "v").complete
        check(service, tmp_path / "v")
    assert set(service.asked.values()) == {1}


@BOTH
def test_results_that_are_a_web_page_stay_open(kind: str, tmp_path: Path) -> None:
    pages = iter([lambda _: [b"<html>", b"<body>"]])
    plan = Plan(edit=lambda lines: next(pages, list)(lines))
    with BatchService(plan) as service:
        with pytest.raises(GenerationError, match="are no JSON lines; they begin with '<html>'"):
            judge(service, kind, tmp_path / "v")
        assert judge(service, kind, tmp_path / "v").complete
        check(service, tmp_path / "v")
    assert set(service.asked.values()) == {1}


@BOTH
def test_a_refused_file_is_an_error_in_the_server_s_words(kind: str, tmp_path: Path) -> None:
    words = [f"the model is not known {KEY}", "second"]
    with BatchService(Plan(refused=words)) as service:
        with pytest.raises(GenerationError, match="the model is not known") as caught:
            judge(service, kind, tmp_path / "v")
        assert KEY not in str(caught.value)
        assert ("line 1: second" in str(caught.value)) == (kind == "openai")
        assert judge(service, kind, tmp_path / "v").complete
        check(service, tmp_path / "v")


@BOTH
def test_large_jobs_are_split(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in (OpenAIBatches, AnthropicBatches):
        monkeypatch.setattr(form, "most", 5)
    with BatchService(Plan(looks=3), Plan(), Plan(refused=["no"]), Plan()) as service:
        for form in (OpenAIBatches, AnthropicBatches):
            monkeypatch.setattr(form, "most_bytes", 10**9)
        with pytest.raises(GenerationError, match="no"):
            judge(service, kind, tmp_path / "v")
        assert judge(service, kind, tmp_path / "v").complete
        check(service, tmp_path / "v")
        assert {1} == set(service.asked.values())
        sizes = sorted(len(batch.requests) for batch in service.batches)
        assert sum(sizes) - (5 if kind == "openai" else 0) == TOTAL
        assert max(sizes) == 5
    with BatchService() as service:
        for form in (OpenAIBatches, AnthropicBatches):
            monkeypatch.setattr(form, "most_bytes", 1)
        assert judge(service, kind, tmp_path / "w").complete
        assert len(service.batches) == TOTAL


@BOTH
def test_without_waiting(kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with BatchService(Plan(looks=2)) as service:
        for expected in (0, 0, 16):
            caplog.clear()
            asked = judge(service, kind, tmp_path / "v", wait=False)
            assert asked.stored == expected
            said_ = "16 requests in batches at the server: the same command collects the answers"
            assert (said_ in caplog.text) == (not expected)
        check(service, tmp_path / "v")
    assert len(service.batches) == 1


def flaky(times: int) -> Callable[[], None]:
    left = [times]

    def hook() -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise HangUpError

    return hook


@BOTH
@pytest.mark.parametrize("moment", ["before create", "create", "look", "results", "list", "upload"])
def test_connections_that_break_double_nothing(kind: str, moment: str, tmp_path: Path) -> None:
    with BatchService() as service:
        service.hooks[moment] = flaky(2)
        if moment == "list":
            service.hooks["create"] = flaky(1)
        assert judge(service, kind, tmp_path / "v").complete
        check(service, tmp_path / "v")
    assert set(service.asked.values()) == {1}


def test_a_server_that_knows_no_metadata_is_asked_by_the_file(tmp_path: Path) -> None:
    with BatchService() as service:
        service.has_metadata = False
        service.hooks["create"] = flaky(1)
        assert judge(service, "openai", tmp_path / "v").complete
    assert set(service.asked.values()) == {1}


def test_a_batch_of_somebody_else_is_not_taken_for_the_own(tmp_path: Path) -> None:
    def create() -> None:
        if len(service.batches) == 1:
            service.create([(f"x{n}", {"messages": [{"content": f"他{n}"}]}) for n in range(TOTAL)])
            raise HangUpError

    with BatchService() as service:
        service.hooks["create"] = create
        assert judge(service, "anthropic", tmp_path / "v").complete
        check(service, tmp_path / "v")
    assert set(service.asked.values()) == {1}


def test_another_folder_s_batch_of_the_same_requests_is_not_taken(tmp_path: Path) -> None:
    def create() -> None:
        if len(service.calls) == 1:  # another folder submits what this one could not
            judge(service, "anthropic", tmp_path / "w")
            raise HangUpError

    with BatchService() as service:
        service.hooks["before create"] = create
        assert judge(service, "anthropic", tmp_path / "v").complete
    batches = [{r["batch"] for r in records(tmp_path / name)} for name in "wv"]
    assert batches == [{"batch_0"}, {"batch_1"}]


@BOTH
@pytest.mark.parametrize("lag", [2, 9])
def test_a_batch_that_was_created_without_a_clear_answer_is_found_later(
    kind: str, lag: int, tmp_path: Path
) -> None:
    """The list shows it only after some looks, possibly those of another call."""
    hidden: list[Any] = []

    def create() -> None:
        del service.hooks["create"]
        if lag == 9:
            service.hooks["before create"] = unable
        raise StatusError(504)

    def unable() -> None:
        raise StatusError(503)

    def listed() -> None:
        hidden.extend(service.batches)
        service.batches.clear()
        if sum("limit=" in path for _, path in service.calls) > lag:
            service.batches.extend(hidden)
            hidden.clear()

    with BatchService() as service:
        service.hooks |= {"create": create, "list": listed}
        if lag == 9:
            with pytest.raises(GenerationError, match=r"answered 503: not today\. Check"):
                judge(service, kind, tmp_path / "v")
        assert judge(service, kind, tmp_path / "v").complete
        check(service, tmp_path / "v")
    assert set(service.asked.values()) == {1}


@BOTH
@pytest.mark.parametrize(
    ("name", "said_"),
    [
        (f"b-{KEY}", "has the API key"),
        ("\ud800", "is missing or unprintable"),
        ("\x1b[31m", "is missing or unpr"),
    ],
)
def test_names_that_must_not_be_noted_are_refused(
    kind: str, name: str, said_: str, tmp_path: Path
) -> None:
    def create() -> None:
        service.batches[0].name = name

    with BatchService() as service:
        service.hooks["create"] = create
        with pytest.raises(GenerationError, match=said_) as caught:
            judge(service, kind, tmp_path / "v")
    assert KEY not in str(caught.value)
    assert all(KEY.encode() not in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


def test_strangers_are_told_without_the_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pfgen_rs.ask.batch_server._BETWEEN", 0.01)

    def edit(lines: list[bytes]) -> list[bytes]:
        strangers = ({**json.loads(lines[0]), "custom_id": i} for i in (f"a-{KEY[:14]}", KEY))
        return [*(json.dumps(each).encode() for each in strangers), *lines]

    with BatchService(Plan(edit=edit)) as service:
        assert judge(service, "openai", tmp_path / "v").complete
    assert "such as 'a-***'" in caplog.text
    assert KEY[:8] not in caplog.text


def test_a_damaged_ledger_is_an_error_with_its_line(tmp_path: Path) -> None:
    ledger = tmp_path / "v" / ".judgments.jsonl.batches"
    ledger.parent.mkdir()
    record = {"event": "submitting", "tag": "t", "base_url": "u", "ids": [5], "file": None}
    ledger.write_text(json.dumps({**record, "time": 0}) + "\n")
    with BatchService() as service, pytest.raises(InputError, match=r"line 1: is not the record"):
        judge(service, "openai", tmp_path / "v")


@pytest.mark.parametrize(
    "usage", ["x", [1], {"prompt_tokens": "x", "cached_tokens": 10**400}, {"prompt_tokens": None}]
)
def test_usage_that_is_none_costs_nothing(usage: object) -> None:
    good = {"usage": {"prompt_tokens": 1_000_000, "completion_tokens": 500_000}}
    assert Prices(1.0, 2.0).spent([{"usage": usage}, good]) == 2.0


def test_empty_answers_are_asked_for_anew(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with BatchService() as service:
        service.says = lambda _: ""
        run = place.run(engine_of(service, "openai"), trials=1, keep_going=True)
        assert (run.stored, len(service.batches)) == (0, 10)
        service.says = said
        assert place.run(engine_of(service, "openai"), trials=1).complete
        assert len(service.batches) == 11


def test_servers_without_batches_are_told(tmp_path: Path) -> None:
    with FaultServer(default=faults.raw(b"{}")) as server:
        engine = AnthropicEngine("m", base_url=server.url, retries=0)
        batched = engines.in_batches(engine, poll=0.02)
        with pytest.raises(
            GenerationError, match="is not that of a batch API: 'id' is missing or unpr"
        ):
            compare(made_pairs(2), batched, JUDGE, REASON, tmp_path / "v")


def strange(lines: list[bytes]) -> list[bytes]:
    first = json.loads(lines[0])
    first["response"]["status_code"] = None
    second = {**json.loads(lines[1]), "response": {"status_code": 200, "body": []}}
    return [json.dumps(first).encode(), json.dumps(second).encode(), *lines[2:]]


def test_strange_results_fail_alone(tmp_path: Path) -> None:
    with BatchService(Plan(edit=strange)) as service:
        asked = judge(service, "openai", tmp_path / "v")
        assert (asked.new, len(asked.failures)) == (14, 2)
        assert judge(service, "openai", tmp_path / "v").complete
        check(service, tmp_path / "v")


def test_waits_rise_to_a_minute_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    with BatchService() as service:
        engine = engine_of(service, "openai", poll=None)
        for look in (0, 1, 10, 100_000):
            pause(engine, look)
    assert waits == [10, 15, 60, 60]


def unknown_logprobs(_number: int, body: Any) -> tuple[str, str] | None:
    return ("not supported with this model", "logprobs") if "logprobs" in body else None


def test_optional_parameters_are_left_out_in_a_second_batch(tmp_path: Path) -> None:
    asked = Judge("openai-api", "m", max_tokens=64, logprobs=20)
    with BatchService(Plan(drop=unknown_logprobs), Plan(drop=unknown_logprobs)) as service:
        done = judge(service, "openai", tmp_path / "v", judge=asked, optional="logprobs")
        assert done.complete
        found = check(service, tmp_path / "v")
        assert len(service.batches) == 2
    assert {tuple(record["left_out"]) for record in found} == {("logprobs",)}
    with BatchService(Plan(drop=unknown_logprobs)) as service:
        done = judge(service, "openai", tmp_path / "w", judge=asked)
        assert "It rejects the option logprobs" in done.failures[0].reason


def test_other_settings_are_told_and_asked_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with BatchService(Plan(looks=99)) as service:
        judge(service, "openai", tmp_path / "v", wait=False)
        done = judge(service, "openai", tmp_path / "v", extra={"top_k": 1})
        assert done.complete
    assert "16 requests are in batches that were submitted with other settings" in caplog.text


@BOTH
def test_another_address_is_refused(kind: str, tmp_path: Path) -> None:
    with BatchService(Plan(looks=99)) as service, BatchService() as other:
        judge(service, kind, tmp_path / "v", wait=False)
        with pytest.raises(GenerationError, match=f"in a batch at {service.root}.* not at "):
            judge(other, kind, tmp_path / "v")
        assert not other.calls


@BOTH
@pytest.mark.parametrize(
    ("hook", "said_"),
    [("look", "batch batch_0 is not"), ("results", "results of batch batch_0 are not")],
)
def test_a_batch_that_is_gone_keeps_no_other_from_being_collected(
    kind: str, hook: str, said_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look() -> None:
        if "batch_0" in service.calls[-1][1]:
            raise StatusError(404 if hook == "look" else 410)

    for form in (OpenAIBatches, AnthropicBatches):
        monkeypatch.setattr(form, "most", 10)
    with BatchService() as service:
        judge(service, kind, tmp_path / "v", wait=False)
        service.hooks[hook] = look
        with pytest.raises(GenerationError, match=f"{said_} found: .*asks 10 requests") as caught:
            judge(service, kind, tmp_path / "v")
        assert len(records(tmp_path / "v")) == 6
        assert len(service.batches) == 2
        # What it says gives up that batch alone.
        found = re.search(r"lines with (\S+) from (\S+),", str(caught.value))
        assert found is not None
        lines = Path(found[2]).read_text().splitlines(keepends=True)
        Path(found[2]).write_text("".join(line for line in lines if found[1] not in line))
        assert judge(service, kind, tmp_path / "v").complete
        check(service, tmp_path / "v")
        assert sorted(service.asked.values()) == [1] * 6 + [2] * 10


@BOTH
def test_answers_with_the_key_are_discarded(kind: str, tmp_path: Path) -> None:
    with BatchService() as service:
        service.says = lambda _: f"{KEY} A"
        asked = judge(service, kind, tmp_path / "v")
        assert asked.stored == 0
        assert "the answer contains the API key" in asked.failures[0].reason
    everything = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert KEY.encode() not in everything


@BOTH
def test_a_budget_holds_for_batches(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    requests = list(comparison_requests(made_pairs(8), REASON))
    counter = token_counter("m")
    prices = Prices(1.0, 10.0, batch=0.5).in_batches()
    most = [prices.cost(sum(len(t) + 4 for t in request.texts), 64) for request in requests]
    with BatchService() as service:
        budget = Budget(sum(most[:5]) + most[5] / 2, prices, counter, [Group(JUDGE, requests)])
        asked = judge(service, kind, tmp_path / "v", budget=budget)
        # What was reserved and not spent allows for more.
        assert len(service.batches[0].requests) == 5
        assert asked.spent == pytest.approx(asked.new * prices.cost(100, 10))
        assert (asked.spent or 0) <= budget.limit
        assert asked.unaffordable + asked.new == TOTAL
    assert caplog.text.count("the budget allows 5 of 16 requests at a time") == 1


def test_retries_of_what_is_invalid_are_new_requests(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.jsonl", made_pairs(2))
    pairs, out = str(tmp_path / "pairs.jsonl"), f"--out={tmp_path / 'v'}"
    asked = ["judge", "compare", pairs, out, "-e", "openai", "-m", "m"]
    given = [*asked, "--batch", "--set=poll=0.05", "--keep-going"]
    with BatchService() as service:
        service.says = lambda _: "わかりません"
        assert pfgen(*given, env=service.environment).returncode == 0
        service.says = said
        done = pfgen(*given, "--retry-invalid", env=service.environment)
        assert (done.returncode, "4 new" in done.stdout) == (0, True), done.stderr
        assert set(service.asked.values()) == {2}
        assert len({i for batch in service.batches for i, _ in batch.requests}) == 8


def test_a_retry_is_never_credited_with_an_answer_that_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call before ended when it had stored the answers, and had not noted that."""

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    def run(asked: Judge) -> Asked:
        return judge(service, "openai", tmp_path / "v", judge=asked, pairs=made_pairs(2))

    again = replace(JUDGE, retry=Retry(None))
    with BatchService() as service:
        service.says = lambda _: "わかりません"
        run(JUDGE)
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "settled", dies)
            with pytest.raises(KeyboardInterrupt):
                run(again)
        assert len(records(tmp_path / "v")) == 8
        service.says = said
        assert run(again).complete
    by_batch = Counter(record["batch"] for record in records(tmp_path / "v"))
    assert by_batch == {"batch_0": 4, "batch_1": 4, "batch_2": 4}


def test_tasks_of_different_parameters_share_a_batch(tmp_path: Path) -> None:
    judges = [Judge("openai-api", "m", max_tokens=most) for most in (10, 20)]
    groups = [
        Group(judge, [Request(f"q{n}", (("user", f"{judge.max_tokens}-{n}"),), {"n": n})])
        for judge in judges
        for n in (1, 2)
    ]
    with (
        BatchService() as service,
        Journal(tmp_path / "j.jsonl", ("n", "digest")) as journal,
    ):
        asked = ask(journal, groups, engine_of(service, "openai"), lambda _, a: {"text": a.text})
        assert asked.complete
        [batch] = service.batches
        limits = {prompt_of(body): body["max_tokens"] for _, body in batch.requests}
    assert limits == {"10-1": 10, "10-2": 10, "20-1": 20, "20-2": 20}


def test_settings_are_checked() -> None:
    with BatchService() as service:
        for more, said_ in (
            ({"poll": 0}, "poll must be a positive number"),
            ({"wait": "no"}, "wait must be true or false"),
        ):
            with pytest.raises(SettingsError, match=said_):
                engine_of(service, "openai", **more)
        with pytest.raises(SettingsError, match="batches need a folder"):
            list(engine_of(service, "openai").generate([], JUDGE.parameters))
    done = pfgen("generate", "m", "-e", "command", "--command=true", "--batch", "--trials=1")
    assert done.returncode == 2
    able = "--batch requires the engine openai or anthropic"
    assert f"the engine 'command' has no batches: {able}" in done.stderr
