"""Asking judges, whose every fault is counted, and figures against a plain reading of their journals."""

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fault_server import Asked, Behaviour, FaultServer, Handler, close, cut, hang, raw, status
from helpers import SCRIPT
from judging import (
    JUDGE,
    FakeEngine,
    chat_reply,
    command,
    judged,
    judging,
    keys,
    made_pairs,
    probabilities_for,
    records,
    replying,
    token,
)
from pfgen_rs.ask.costs import Budget, Prices, read_prices, token_counter
from pfgen_rs.ask.protocol import Answered, Failed, Outcome, Task
from pfgen_rs.ask.request import Group
from pfgen_rs.errors import PfgenError, SettingsError
from pfgen_rs.judge import Pair, VerdictFolder, agree, decide, decisions, grading, rank, write_pairs
from pfgen_rs.judge.compare import compare
from pfgen_rs.judge.formats import read_format, write_format
from pfgen_rs.judge.imported import read_folder, write_folder
from pfgen_rs.judge.pages import index_payload, verdict_view
from pfgen_rs.judge.pairs import sample_path
from pfgen_rs.judge.requests import Judge, comparison_requests, find_prompt
from pfgen_rs.judge.verdicts import Verdict

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

RESULT = find_prompt("result", "pairwise")


def prompt_of(pair: int, order: int, count: int = 8) -> str:
    """The prompt that a pair of `made_pairs` gets."""
    requests = list(comparison_requests(made_pairs(count), RESULT))
    return requests[2 * pair + order - 1].messages[-1][1]


def test_every_pair_is_judged_in_both_orders(tmp_path: Path) -> None:
    first, second = prompt_of(0, 1), prompt_of(0, 2)
    assert first.index("答え0の一") < first.index("答え0の二")
    assert second.index("答え0の二") < second.index("答え0の一")
    asked, sent = judged(tmp_path / "v", 8)
    assert (asked.total, asked.stored, asked.new, asked.failures) == (16, 16, 16, [])
    again, repeated = judged(tmp_path / "v", 8)
    assert (again.stored, again.new, len(sent), len(repeated)) == (16, 0, 16, 0)
    found = records(tmp_path / "v")
    assert sorted(keys(found)) == [(f"p{n}", order) for n in range(8) for order in (1, 2)]
    for record in found:
        expected = probabilities_for(prompt_of(int(record["pair"][1:]), record["order"]))
        assert record["probabilities"] == pytest.approx(expected)
        assert record["shown"] == max(expected, key=lambda letter: expected[letter])
        assert record["usage"] == {"prompt_tokens": 100, "completion_tokens": 1}
        assert record["judge"]["temperature"] == 0
    wanted = {"temperature": 0, "seed": 1, "logprobs": True, "top_logprobs": 20}
    assert {name: sent[0].body[name] for name in wanted} == wanted
    assert [message["role"] for message in sent[0].body["messages"]] == ["user"]


THINKING = [token(t) for t in ("<think>", "A", "? A!</think>")]
THOUGHTS = chat_reply("<think>A? A!</think>C", [*THINKING, token("C", {"C": 0.6, "A": 0.3})])
REASONING = chat_reply("B", [token("A"), token("B", {"B": 0.5})], reasoning_content="A")
SPLIT = chat_reply("B", [token("[["), token("B"), token("]]")])
# The fault, and the letter, the problem and the probabilities of its record; none of them: asked again.
FAULTS: dict[str, tuple[Behaviour, str | None, str | None, dict[str, float] | None]] = {
    "429": (status(429, "slow down", {"retry-after": "0"}), None, None, None),
    "500": (status(500), None, None, None),
    "close": (close(), None, None, None),
    "cut": (cut(), None, None, None),
    "hang": (hang(), None, None, None),
    "html": (raw(b"<html>"), None, None, None),
    "null logprobs": (replying(chat_reply("B")), "B", None, None),
    "split letter": (replying(SPLIT), "B", None, None),
    "in a word": (replying(chat_reply("AI", [token("A"), token("I")])), None, "no verdict", None),
    "thoughts": (replying(THOUGHTS), "C", None, {"A": 0.3, "B": 0, "C": 0.6}),
    "reasoning": (replying(REASONING), "B", None, {"A": 0, "B": 0.5, "C": 0}),
    "empty": (replying(chat_reply("")), None, "empty", None),
}


@pytest.mark.parametrize("name", FAULTS)
def test_no_verdict_is_lost_doubled_or_invented(name: str, tmp_path: Path) -> None:
    fault, shown, problem, sure = FAULTS[name]
    victim = prompt_of(3, 1)
    asked, _ = judged(tmp_path / "v", 8, faults={victim: [fault]}, retries=3, timeout=0.5)
    assert asked.complete
    found = records(tmp_path / "v")
    assert len(set(keys(found))) == len(found) == 16
    [record] = [r for r in found if keys([r]) == [("p3", 1)]]
    if shown is None and problem is None:
        assert record["probabilities"] == pytest.approx(probabilities_for(victim))
    else:
        assert (record["shown"], record["problem"]) == (shown, problem)
        assert sure is None or record["probabilities"] == pytest.approx(sure)
    others = [r for r in found if r is not record]
    assert all(r["problem"] is None and r["shown"] for r in others)


def test_failures_are_reported_and_asked_again_by_the_next_call(tmp_path: Path) -> None:
    refused = {prompt_of(5, 2): [status(400, "no")] * 9}
    asked, _ = judged(tmp_path / "v", 8, faults=refused, retries=0)
    [failure] = asked.failures
    assert (failure.about["pair"], failure.about["order"]) == ("p5", 2)
    assert "400" in failure.reason
    assert (asked.stored, asked.complete, len(records(tmp_path / "v"))) == (15, False, 15)
    asked, sent = judged(tmp_path / "v", 8)
    assert (asked.complete, len(sent)) == (True, 1)


def test_parameters_that_a_server_refuses_are_left_out(tmp_path: Path) -> None:
    def strict(handler: Handler, asked: Asked) -> None:
        said = {"param": "logprobs", "code": "unsupported_parameter"}
        refusing = status(400, "logprobs is not supported", **said)
        (refusing if "logprobs" in asked.body else judging)(handler, asked)

    asked, _ = judged(tmp_path / "v", 8, strict, optional=("logprobs", "seed", "temperature"))
    assert asked.complete
    found = records(tmp_path / "v")
    assert len(found) == 16
    assert all((r["left_out"], r["probabilities"]) == (["logprobs"], None) for r in found)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "v"


def start(count: int, out: Path, url: str, *more: str) -> subprocess.Popen[bytes]:
    pairs = out.parent / "pairs.jsonl"
    write_pairs(pairs, made_pairs(count))
    options = ["-e", "openai", "-m", "judge", "--prompt", "result", "--concurrency", "4"]
    command = [SCRIPT, "judge", "compare", pairs, *options, "--out", out, "--base-url", url, *more]
    environment = {**os.environ, "OPENAI_API_KEY": "sk-0123456789-very-secret"}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([str(part) for part in command], env=environment, **pipes)


def slowly(handler: Handler, asked: Asked) -> None:
    time.sleep(0.05)
    judging(handler, asked)


def test_a_killed_judge_goes_on_where_it_stopped(out: Path) -> None:
    with FaultServer(default=slowly) as server:
        process = start(40, out, server.url)
        journal = out / "judgments.jsonl"
        while not journal.exists() or journal.read_bytes().count(b"\n") < 30:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with journal.open("ab") as file:
            file.write(b'{"pair": "p1", "torn')
        lines = journal.read_bytes().splitlines(keepends=True)
        kept, before = sum(line.endswith(b"\n") for line in lines), len(server.asked)
        process = start(40, out, server.url)
        stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr
        assert len(server.asked) - before == 80 - kept
    assert f"80 of 80 judgments, {80 - kept} new".encode() in stdout
    found = records(out)
    assert len(set(keys(found))) == len(found) == 80
    assert b"sk-0123456789" not in b"".join(p.read_bytes() for p in out.rglob("*") if p.is_file())


def test_processes_share_the_work(out: Path) -> None:
    with FaultServer(default=slowly) as server:
        processes = [start(60, out, server.url) for _ in range(3)]
        ends = [process.communicate(timeout=90) for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0], ends
        assert len(server.asked) == 120
    found = records(out)
    assert len(set(keys(found))) == len(found) == 120


def test_another_prompt_needs_another_folder(out: Path) -> None:
    judged(out, 1)
    with pytest.raises(SettingsError, match=r"prompt: name \('result', now 'reason'\)"):
        judged(out, 1, prompt="reason")


def test_pairs_can_be_added_and_changed_answers_are_asked_about(out: Path) -> None:
    *_, last = pairs = made_pairs(5)
    changed = [*pairs[:-1], replace(last, answers=("別の答え", last.answers[1]))]
    for each, asked in ((pairs[:2], 4), (pairs, 6), (changed, 2)):
        assert len(judged(out, each)[1]) == asked
    assert VerdictFolder(out).decisions()["pair"].to_list() == [f"p{n}" for n in range(5)]


def test_engines_are_asked_what_they_can_do_first(out: Path) -> None:
    engine = FakeEngine(Answered)  # type: ignore[arg-type]
    engine.abilities = frozenset({"completion"})
    with pytest.raises(SettingsError, match="'fake' does not support chats"):
        compare(made_pairs(1), engine, JUDGE, RESULT, out)
    assert engine.asked == 0


def test_a_budget_is_never_passed(out: Path) -> None:
    prices = Prices(prompt=1000.0, completion=10_000.0, currency="USD")  # a reply costs 0.11
    counter = token_counter("judge")
    sent = 0
    for limit, spent in ((2.0, 0.0), (3.0, 1.21)):
        budget = Budget(limit, prices, counter, (), spent=spent)
        asked, more = judged(out, 30, limits={"budget": budget})
        sent += len(more)
        assert asked.spent is not None
        assert asked.spent <= limit
        assert asked.unaffordable == 60 - asked.stored > 0
    assert sent == len(records(out))
    assert 10 < sent <= 27
    with pytest.raises(SettingsError, match="max_tokens"):
        Budget(1.0, prices, counter, [Group(Judge("openai-api", "judge"), ())])


def test_bad_prices_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    for text, problem in (
        ("", "no prices of 'judge'"),
        ("[models.judge]\nprompt = 1", "'completion' of 'judge' must be a number"),
        ('[models.judge]\nprompt = -1\ncompletion = "x"', "'prompt' of 'judge' must be"),
        ("[models", "is not TOML"),
    ):
        path.write_text(text)
        with pytest.raises(PfgenError, match=problem):
            read_prices(path, "judge")


def test_dry_runs_ask_nothing_and_write_nothing(out: Path) -> None:
    prices = out.with_name("prices.toml")
    prices.write_text('currency = "USD"\n[models.judge]\nprompt = 2.5\ncompletion = 10\n')
    with FaultServer(default=judging) as server:
        process = start(3, out, server.url, "--dry-run", "--prices", str(prices))
        stdout, stderr = process.communicate()
        assert not server.asked
    assert process.returncode == 0, stderr
    requests = list(comparison_requests(made_pairs(3), RESULT))
    tokens = sum(len(r.messages[0][1]) + 4 for r in requests)
    for told in (
        "6 requests to send, 0 already answered",
        f"prompt tokens: {tokens:,} (counted by characters)",
        "completion tokens: at most 384",
        f"cost: at most {(tokens * 2.5 + 6 * 64 * 10) / 1e6:.4f} USD",
    ):
        assert told in stdout.decode()
    assert not out.exists()


# Figures are those of a plain reading of the journals: verdicts count for the texts that were judged.


LOCAL = Judge("fake", "j", max_tokens=64)
SINGLE = find_prompt("single-reference", "grade")
TEXTS = ("赤", "青", "黄", "")


class Killed(BaseException):
    """The process ends here."""


def unreliable(source: random.Random, say: Sequence[str]) -> FakeEngine:
    """Answers, refuses and dies at random; what it says of a prompt changes from time to time."""
    most = source.choice([0, 1, 3, 1000, 1000])

    def reply(number: int, task: Task) -> Outcome:
        if number > most:
            raise Killed
        if source.random() < 0.2:
            return Failed(task, "refused", individual=True)
        return Answered(task, source.choice(say))

    return FakeEngine(reply)


def plain_digest(prompt: Any, **texts: str) -> str:
    """The digest of a request, as judging 1.5 says."""
    filled = prompt.text
    for name, text in texts.items():
        filled = filled.replace(f"{{{name}}}", text)
    messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
    messages.append({"role": "user", "content": filled})
    content = {"model": "j", "temperature": 0.0, "seed": 1, "max_tokens": 64, "top_p": None}
    content |= {"logprobs": 20, "messages": messages}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def journal(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().splitlines() if line.endswith(b"}")]


@pytest.mark.parametrize("seed", range(25))
def test_verdicts_are_those_of_the_texts_that_pairs_have_now(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    folder = tmp_path / "v"
    present: dict[str, Pair] = {}
    for _ in range(source.randint(2, 6)):
        pairs = [
            Pair(
                id=f"p{n}",
                question=f"質問{n}",
                models=("a", "b"),
                answers=(source.choice(TEXTS), source.choice(TEXTS)),
                reference=source.choice(("模範", "手本")),
            )
            for n in source.sample(range(4), source.randint(1, 4))
        ]
        present |= {pair.id: pair for pair in pairs}
        engine = unreliable(source, ("A", "B", "C", "？"))
        with contextlib.suppress(PfgenError, Killed):
            compare(pairs, engine, LOCAL, RESULT, folder, keep_going=True)
        if source.random() < 0.3 and (folder / "judgments.jsonl").exists():
            with (folder / "judgments.jsonl").open("ab") as file:
                file.write(b'{"pair": "p1", "torn')
        if source.random() < 0.3:
            (folder / ".digests.csv").unlink()
        if source.random() < 0.3 and (folder / "pairs.jsonl").exists():  # changed by hand
            present = {
                name: replace(pair, answers=(source.choice(TEXTS), pair.answers[1]))
                for name, pair in present.items()
            }
            write_pairs(folder / "pairs.jsonl", present.values())
        check_verdicts(folder, present)


def check_verdicts(folder: Path, present: dict[str, Pair]) -> None:
    stored = {(r["pair"], r["order"], r["digest"]): r for r in journal(folder / "judgments.jsonl")}
    found: dict[str, list[Any]] = {}
    for pair in present.values():
        a, b = pair.answers
        texts = {"question": pair.question, "reference": str(pair.reference)}
        digests = [
            plain_digest(RESULT, **texts, answer_a=x, answer_b=y) for x, y in ((a, b), (b, a))
        ]
        found[pair.id] = [stored.pop((pair.id, n, d), None) for n, d in enumerate(digests, 1)]
    orders = {record["order"] for record in journal(folder / "judgments.jsonl")}
    both = not orders or 2 in orders
    plain = {
        pair: decide(*(Verdict(None if r is None else r["shown"]) for r in records))
        for pair, records in found.items()
    }
    frame, coverage = VerdictFolder(folder).read()
    assert frame["pair"].to_list() == list(VerdictFolder(folder).decisions()["pair"])
    assert sorted(frame["pair"]) == sorted(present)
    for row in frame.iter_rows(named=True):
        wanted, records = plain[row["pair"]], found[row["pair"]]
        assert (row["v1"], row["v2"]) == wanted.verdicts
        assert (row["strict"], row["tie"], row["first"]) == (
            wanted.strict,
            wanted.tie,
            wanted.first,
        )
        assert [row["judged_1"], row["judged_2"]] == [r is not None for r in records]
        state = "missing" if None in records else wanted.strict_state
        assert row["strict_state"] == state
    lacking = [p for p in frame["pair"] if None in found[p][: 2 if both else 1]]
    assert list(coverage.missing) == lacking
    assert coverage.stale == len(stored)
    counts = Counter(
        row["state"] for row in decisions.decision_rows(frame, "tie").iter_rows(named=True)
    )
    assert counts["missing"] == sum(None in each for each in found.values())
    said = agree(frame, rule="tie").decisions.filter(pl.col("rule") == "tie").row(0, named=True)
    letters = Counter(str(each.tie) for each in plain.values())
    assert [said[letter] for letter in "ABC"] == [letters[letter] for letter in "ABC"]
    assert (said["missing"], said["invalid"]) == (counts["missing"], counts["invalid"])
    if any(letters[letter] for letter in "ABC"):
        models = rank(frame, rule="tie", with_strengths=False, resamples=100).models
        wins = {row["model"]: row["wins"] for row in models.iter_rows(named=True)}
        assert wins == {"a": letters["A"], "b": letters["B"]}
    view = verdict_view([folder])
    columns = index_payload(view, [0])["judges"][0]
    shown = dict(zip((pair.id for pair in view.pairs), columns["v1"], strict=True))
    for name, (one, two) in found.items():
        assert shown[name] == ("." if one is None else plain[name].verdicts[0] or "-")
        outputs = [[] if r is None else [r["output"]] for r in (one, two)]
        told = [view.judges[0].samples(name, order) for order in (1, 2)]
        assert [[each.output for each in own] for own in told] == outputs
    exported = {(r["pair"], r["order"]): r for r in read_folder(folder).judgments}
    assert exported == {
        (p, n): r for p, records in found.items() for n, r in enumerate(records, 1) if r
    }


@pytest.mark.parametrize("seed", range(25))
def test_ratings_are_those_of_the_answers_that_runs_have_now(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    folder = tmp_path / "r"
    references = {f"質問{n}": f"模範{n}" for n in range(2)}
    runs: dict[str, pl.DataFrame] = {}
    for _ in range(source.randint(2, 6)):
        for run in source.sample("XYZ", source.randint(1, 3)):
            rows = [(f"Q{n}", f"質問{n}", source.choice(TEXTS)) for n in (0, 0, 1, 1)]
            runs[run] = pl.DataFrame(
                rows, schema=["question_id", "question", "answer"], orient="row"
            )
        chosen = source.sample(sorted(runs), source.randint(1, len(runs)))
        # All runs share their model's name; what they are called depends on their order.
        names = {run: "M" if n == 0 else f"M ({n + 1})" for n, run in enumerate(chosen)}
        items = [
            item
            for run in chosen
            for item in grading.answers_of_run(runs[run], names[run], references)
        ]
        say = [f"説明。Rating: [[{n}]]" for n in (1, 4, 9)] + ["？"]
        with contextlib.suppress(PfgenError, Killed):
            grading.grade(items, unreliable(source, say), LOCAL, SINGLE, folder, keep_going=True)
        if not (folder / "ratings.jsonl").exists():
            continue
        shown = source.sample(sorted(runs), len(runs))
        check_ratings(folder, {run: runs[run] for run in shown}, references)


def check_ratings(folder: Path, runs: dict[str, pl.DataFrame], references: dict[str, str]) -> None:
    stored = {(r["trial"], r["digest"]): r["rating"] for r in journal(folder / "ratings.jsonl")}
    found = grading.ratings_of_runs(folder, runs, references, 2)
    means = {row["model"]: row for row in grading.mean_ratings(found.frame).iter_rows(named=True)}
    used = set()
    for run, frame in runs.items():
        seen: Counter[str] = Counter()
        wanted, missing = [], 0
        for question_id, question, answer in frame.iter_rows():
            seen[question_id] += 1
            texts = {"question": question, "reference": references[question], "answer": answer}
            key = seen[question_id], plain_digest(SINGLE, **texts)
            if key in stored:
                used.add(key)
                wanted.append(stored[key])
            else:
                missing += 1
        assert found.missing[run] == missing
        valid = [each for each in wanted if each is not None]
        if not wanted:
            assert run not in means
            continue
        assert (means[run]["ratings"], means[run]["invalid"]) == (
            len(valid),
            len(wanted) - len(valid),
        )
        mean = sum(valid) / len(valid) if valid else None
        assert means[run]["mean"] == (None if mean is None else pytest.approx(mean))
    assert found.others == len(stored) - len(used)


# Texts that change


GOOD, BAD = "とても良い答え", "悪い答え"
ONE = [Pair(f"p{n}", f"質問{n}", ("org/a", "org/b"), (GOOD, BAD)) for n in range(3)]
OTHER = [replace(pair, answers=(BAD, GOOD)) for pair in ONE]


def prefers_good(handler: Handler, asked: Asked) -> None:
    """Say which assistant gave the good answer."""
    best = "A" if asked.prompt.index(GOOD) < asked.prompt.index(BAD) else "B"
    handler.reply(200, chat_reply(best, [token(best, {best: 0.9})]))


def judge(pairs: Sequence[Pair], folder: Path, *, up: bool = True) -> None:
    if up:
        judged(folder, pairs, prefers_good)
        return
    with pytest.raises(PfgenError):  # the server has gone
        judged(folder, pairs, close(), retries=0)


def test_a_verdict_on_earlier_texts_is_not_shown_for_later_ones(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    judge(ONE, folder)
    judge(OTHER, folder, up=False)
    rows = json.loads(command("decide", folder, "--format", "json").stdout)
    assert [(row["decision"], row["state"]) for row in rows] == [(None, "missing")] * 3
    done = command("decide", folder)
    assert "3 of 3 pairs lack a judgment of their present texts" in done.stderr
    assert "'p0', 'p1', 'p2'" in done.stderr
    assert (
        "6 judgments of other texts than the pairs' present ones: kept, but not used" in done.stderr
    )
    for name in ("rank", "agree"):
        assert "no pair has a decision by probability" in command(name, folder, status=2).stderr
    judge(OTHER[:1], folder)
    found = json.loads(command("rank", folder, "--win-rates-only", "--format", "json").stdout)
    assert found["coverage"] == {
        "pairs": 3,
        "missing": 2,
        "missing_pairs": ["p1", "p2"],
        "stale": 6,
    }
    assert {row["model"]: row["wins"] for row in found["models"]} == {"org/a": 0, "org/b": 1}
    said = json.loads(command("agree", folder, "--format", "json").stdout)
    assert said["coverage"][0]["missing"] == 2
    [row] = [row for row in said["judges"][0]["decisions"] if row["rule"] == "probability"]
    assert (row["B"], row["invalid"], row["missing"]) == (1, 0, 2)
    page = tmp_path / "page.html"
    assert "2 of 3 pairs lack" in command("page", folder, "--out", page).stderr
    assert "判定がそろっていないペアが 2 件あります" in page.read_text("utf-8")
    assert len(read_folder(folder).judgments) == 2
    assert len(VerdictFolder(folder).judgments()) == 8


def test_imported_judgments_belong_to_the_texts_they_came_with(tmp_path: Path) -> None:
    given = read_folder(sample_path() / "verdicts" / "careful")
    write_format(tmp_path / "file.json", given, "json-lines")
    write_folder(tmp_path / "v", read_format([tmp_path / "file.json"]))
    folder = VerdictFolder(tmp_path / "v")
    assert folder.read()[1].notes() == []
    first, *others = folder.pairs()
    write_pairs(folder.path / "pairs.jsonl", [replace(first, answers=("別", "物")), *others])
    _, coverage = folder.read()
    assert (list(coverage.missing), coverage.stale) == ([first.id], 2)


def test_two_judges_are_only_compared_on_the_same_texts(tmp_path: Path) -> None:
    folders = tmp_path / "one", tmp_path / "two"
    for folder, pairs in zip(folders, (ONE, OTHER), strict=True):
        judge(pairs, folder)
    for arguments in (("against-scores", "-b", "mini"), ("page", "--out", tmp_path / "page")):
        error = command(*arguments, *folders, status=2).stderr
        assert "pair 'p0' has other texts or models than in another folder" in error
    assert not (tmp_path / "page").exists()
