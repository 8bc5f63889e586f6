"""Several samples of a judge against plain counting, simulated judges, and a server that draws letters."""

import hashlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from batch_service import KEY, BatchService
from fault_server import Asked, FaultServer, Handler
from helpers import SCRIPT
from judging import (
    LETTERS,
    FakeEngine,
    chat_reply,
    command,
    made_pairs,
    probabilities_for,
    records,
    token,
)
from pfgen_rs.ask import engines
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Answered, Task
from pfgen_rs.ask.request import Retry
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.judge import Pair, VerdictFolder, agree, plots, sampling, verdict_folder, write_pairs
from pfgen_rs.judge.compare import compare, comparison_config
from pfgen_rs.judge.imported import read_folder
from pfgen_rs.judge.plan import SIZES, plan_samples
from pfgen_rs.judge.requests import Judge, find_prompt
from simulated_judges import asked_until_settled, table_of_samples

RESULT = find_prompt("result", "pairwise")
JUDGE = Judge("fake", "j", temperature=1.0, max_tokens=64)
SWAPPED = {"A": "B", "B": "A", "C": "C"}
Counts = tuple[Sequence[int], Sequence[int]]


# Decisions against a plain reading of journals


def plain_digest(pair: Pair, order: int, sample: int) -> str:
    """The digest of a request, as judging 1.5 says."""
    text = RESULT.text
    answers = pair.answers if order == 1 else pair.answers[::-1]
    names = ("question", "reference", "answer_a", "answer_b")
    for name, value in zip(names, (pair.question, str(pair.reference), *answers), strict=True):
        text = text.replace(f"{{{name}}}", value)
    content = {"model": "j", "temperature": 1.0, "seed": 1 + sample, "max_tokens": 64}
    content |= {"top_p": None, "logprobs": 20, "messages": [{"role": "user", "content": text}]}
    said = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(said.encode()).hexdigest()


def line(pair: Pair, order: int, sample: int, letter: str | None, **more: Any) -> dict[str, Any]:
    """A line of a journal."""
    about = {"pair": pair.id, "order": order, "sample": sample, "shown": letter}
    return {**about, "digest": plain_digest(pair, order, sample), "probabilities": None, **more}


def made_folder(folder: Path, pairs: Sequence[Pair], lines: Sequence[Any], **config: Any) -> Path:
    made = {**comparison_config(JUDGE, RESULT), **config}
    verdict_folder.open_verdict_folder(folder, made, pairs)
    written = "".join(f"{json.dumps(each)}\n" for each in lines)
    (folder / "judgments.jsonl").write_text(written, encoding="utf-8")
    return folder


def plain_letter(counts: Counter[str]) -> str | None:
    most = max(counts.values(), default=0)
    best = [letter for letter, count in counts.items() if count == most]
    return None if not best else best[0] if len(best) == 1 else "C"


def plain_decision(orders: Sequence[Counter[str]]) -> str | None:
    said = [counts for counts in orders if counts.total()]
    if not said:
        return None
    p = {x: sum(Fraction(c[x] + 1, c.total() + 3) for c in said) / len(said) for x in LETTERS}
    best = [letter for letter in LETTERS if p[letter] == max(p.values())]
    return best[0] if len(best) == 1 else "C"


def made_lines(source: random.Random, pairs: Sequence[Pair], samples: int) -> list[dict[str, Any]]:
    """Lines in any order: some lacking, invalid, repeated, or of other texts."""
    lines = [
        line(pair, order, sample, source.choice([*"AABC", None]))
        for pair, order, sample in product(pairs, (1, 2), range(samples))
        for _ in range(source.choice((0, 1, 1, 1, 2)))
    ]
    lines += [line(replace(pair, answers=("別", "物")), 1, 0, "A") for pair in pairs[:2]]
    lines.append(line(pairs[0], 1, samples - 1, "B"))  # as many samples as are meant
    source.shuffle(lines)
    return lines


def check_row(row: dict[str, Any], present: dict[tuple[str, int, int], str | None]) -> None:
    """A row of decisions, against the last letters of a pair's present texts."""
    orders = []
    for order in (1, 2):
        said = [x for (p, o, _), x in present.items() if (p, o) == (row["pair"], order)]
        letters = [x if order == 1 else SWAPPED[x] for x in said if x is not None]
        orders.append(Counter(letters))
        assert row[f"samples_{order}"] == len(said)
        same = len(set(said)) == 1 and None not in said
        assert row[f"stable_{order}"] == (same if len(said) > 1 else None)
        assert row[f"v{order}"] == plain_letter(orders[-1])
        for x in LETTERS:
            p = (orders[-1][x] + 1) / (len(letters) + 3)
            assert row[f"p{order}_{x.lower()}"] == (pytest.approx(p) if letters else None)
    assert row["probability"] == plain_decision(orders)
    assert row["t_a"] is None


@pytest.mark.parametrize("seed", range(20))
def test_decisions_are_those_of_the_counts(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    pairs = source.sample(made_pairs(8), 8)
    lines = made_lines(source, pairs, source.choice((2, 3, 5)))
    folder = VerdictFolder(made_folder(tmp_path / "v", pairs, lines))
    if source.random() < 0.5:
        (folder.path / ".digests.csv").unlink()
    frame, coverage = folder.read()
    assert frame["pair"].to_list() == [pair.id for pair in pairs]
    by_id = {pair.id: pair for pair in pairs}
    present = {
        (each["pair"], each["order"], each["sample"]): each["shown"]
        for each in lines
        if each["digest"] == plain_digest(by_id[each["pair"]], each["order"], each["sample"])
    }
    used = list(folder.present_judgments())
    assert coverage.stale == len(lines) - len(used) > 0
    assert {(r["pair"], r["order"], r["sample"]): r["shown"] for r in used} == present
    for row in frame.iter_rows(named=True):
        check_row(row, present)
    none = pl.min_horizontal("samples_1", "samples_2") == 0
    assert list(coverage.missing) == frame.filter(none)["pair"].to_list()


@pytest.mark.parametrize(
    ("one", "two"), [("BBBBCC", "AAAAAB"), ("ABBBCC", "AAAABB"), ("AAB", "ABB")]
)
def test_equal_sums_of_fractions_are_a_tie(one: str, two: str, tmp_path: Path) -> None:
    # 1/9 + 6/9 and 5/9 + 2/9 differ in floating point.
    [pair] = made_pairs(1)
    lines = [line(pair, 1, n, x) for n, x in enumerate(one)]
    lines += [line(pair, 2, n, SWAPPED[x]) for n, x in enumerate(two)]
    decided = VerdictFolder(made_folder(tmp_path / one, [pair], lines)).decisions()
    assert decided.select("probability", "strict").row(0) == ("C", None)


def test_one_sample_is_decided_by_its_tokens(tmp_path: Path) -> None:
    [pair] = made_pairs(1)
    p = {"A": 0.1, "B": 0.7, "C": 0.15}
    lines = [line(pair, order, 0, "A", probabilities=p) for order in (1, 2)]
    one = VerdictFolder(made_folder(tmp_path / "one", [pair], lines)).decisions().row(0, named=True)
    assert (one["p1_b"], one["p2_a"], one["stable_1"], one["t_b"]) == (0.7, 0.7, None, None)
    lines += [
        line(pair, order, 1, "A", probabilities={"A": 0.5, "B": 0.3, "C": 0.2}) for order in (1, 2)
    ]
    several = (
        VerdictFolder(made_folder(tmp_path / "two", [pair], lines)).decisions().row(0, named=True)
    )
    assert (several["p1_a"], several["p2_b"]) == (0.6, 0.6)
    assert several["t_a"] == pytest.approx((0.3 + 0.5) / 2)
    assert several["stable_1"] is True


def test_records_of_other_texts_do_not_change_what_decides(tmp_path: Path) -> None:
    pair = made_pairs(1)[0]
    p = {"A": 0.7, "B": 0.1, "C": 0.06}
    used = [line(pair, order, 0, "A", probabilities=p) for order in (1, 2)]
    other = replace(pair, answers=("別", "物"))
    stale = [line(other, 1, 1, "B"), line(replace(pair, id="gone"), 1, 999, "B")]
    stale.append({**line(pair, 1, 0, "B"), "sample": 999})
    plain = VerdictFolder(made_folder(tmp_path / "a", [pair], used)).decisions()
    frame, coverage = VerdictFolder(made_folder(tmp_path / "b", [pair], [*used, *stale])).read()
    assert frame.equals(plain, null_equal=True)
    assert (coverage.stale, coverage.samples) == (3, 1)


def test_fewer_samples_keep_what_more_were_stopped_at(tmp_path: Path) -> None:
    for asked, kept in (
        ({"samples": 9, "stop_at": 0.2}, {"samples": 9, "stop_at": 0.2}),
        ({"samples": 3, "stop_at": None}, {"samples": 9, "stop_at": 0.2}),
        ({"samples": 9, "stop_at": 0.1}, {"samples": 9, "stop_at": 0.1}),
    ):
        folder = made_folder(tmp_path / "v", made_pairs(1), [], sampling=asked)
        assert VerdictFolder(folder).config["sampling"] == kept


def test_invalid_samples_are_asked_again_once(tmp_path: Path) -> None:
    """Although another process holds a request, which is looked at again as long as there is news."""
    pairs, out = made_pairs(2), tmp_path / "v"
    asked: list[str] = []

    def say(_: int, task: Task) -> Answered:
        asked.append(task.question)
        assert len(asked) < 100
        return Answered(task, "？" if task.question == pairs[0].id else "A")

    def run(judge: Judge) -> None:
        compare(
            pairs, FakeEngine(say), judge, RESULT, out, samples=3, stop_at=0.01, keep_going=True
        )

    run(JUDGE)
    path, held = out / "judgments.jsonl", line(pairs[1], 1, 0, "A")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(each for each in lines if held["digest"] not in each), encoding="utf-8")
    asked.clear()
    with verdict_folder.judgment_journal(out) as journal:
        assert journal.claim(journal.key(held))
        run(replace(JUDGE, retry=Retry(64)))
    assert asked == [pairs[0].id] * 6


def test_several_models_are_told(tmp_path: Path) -> None:
    pairs = made_pairs(2)
    lines = [line(p, o, 0, "A", served=f"m-{p.id}") for p in pairs for o in (1, 2)]
    folder = VerdictFolder(made_folder(tmp_path / "v", pairs, lines))
    assert folder.read()[1].notes() == ["several models answered as this judge: 'm-p0', 'm-p1'"]
    assert folder.read()[1].to_dict()["served"] == ["m-p0", "m-p1"]


# Simulated judges


def test_samples_decide_as_true_probabilities_do() -> None:
    rows = table_of_samples("mixed", np.random.default_rng(0))
    shares, errors = ([row[i] for row in rows] for i in (1, 2))
    assert shares == sorted(shares)
    assert shares[0] < 0.8 < 0.85 < shares[1] < shares[2] < 0.95 < shares[3]
    assert errors == sorted(errors, reverse=True)
    assert errors[3] < 0.06


def test_estimates_are_calibrated_where_the_prior_holds() -> None:
    for _, _, error in table_of_samples("uniform", np.random.default_rng(1)):
        assert error < 0.015


JUDGES = ("mixed", "uniform", "hard", "slight", "coin", "third")


@pytest.mark.parametrize("samples", [3, 9, 27])
@pytest.mark.parametrize("stop_at", [0.05, 0.1])
def test_stopping_keeps_its_error(samples: int, stop_at: float) -> None:
    for kind in JUDGES:
        random = np.random.default_rng(2)
        saved, wrong = asked_until_settled(kind, 2000, samples, stop_at, random)
        margin = 3 * math.sqrt(stop_at * (1 - stop_at) / 2000)
        assert wrong <= stop_at + (margin if kind == "coin" else 0), kind
        if kind == "mixed" and samples >= 9:
            assert saved >= 0.4
        assert saved >= 0


def plain_risk(one: Sequence[int], two: Sequence[int], left: tuple[int, int]) -> Fraction:
    """The probability that a decision changes, by all sequences of letters to come."""

    def decision(counts: Counts) -> str | None:
        return plain_decision([Counter(dict(zip(LETTERS, each, strict=True))) for each in counts])

    now = decision((one, two))
    if now is None:
        return Fraction(1)
    risks = []
    for rival in set(LETTERS) - {now}:
        p = {x: Fraction(9, 20) if x in (now, rival) else Fraction(1, 10) for x in LETTERS}
        risk = Fraction(0)
        for coming in product(LETTERS, repeat=sum(left)):
            first, second = coming[: left[0]], coming[left[0] :]
            ends = [
                [count + some.count(x) for x, count in zip(LETTERS, counts, strict=True)]
                for counts, some in ((one, first), (two, second))
            ]
            if decision((ends[0], ends[1])) != now:
                risk += math.prod((p[x] for x in coming), start=Fraction(1))
        risks.append(risk)
    return max(risks)


@pytest.mark.parametrize("seed", range(30))
def test_risks_are_sums_over_all_that_may_come(seed: int) -> None:
    source = random.Random(seed)
    one, two = ([source.randint(0, 2) for _ in LETTERS] for _ in range(2))
    left = source.choice(((0, 0), (1, 1), (2, 2), (0, 2), (2, 1), (3, 0), (1, 3)))
    expected = float(plain_risk(one, two, left))
    assert sampling.change_risk(tuple(one), tuple(two), left) == pytest.approx(expected, abs=1e-12)
    for stop_at in (expected - 1e-6, expected + 1e-6):
        first, second, open_ = (np.array([each]) for each in (one, two, left))
        assert sampling.settled(first, second, open_, stop_at).item() is (stop_at > expected)


def test_three_raters_as_samples(judging_dir: Path) -> None:
    found = json.loads((judging_dir / "data/pandalm/testset-v1.json").read_text(encoding="utf-8"))
    letters = np.array([[int(each[f"annotator{n}"]) for n in (1, 2, 3)] for each in found])

    def counts(samples: int) -> Any:
        return np.stack([np.count_nonzero(letters[:, :samples] == x, axis=1) for x in (1, 2, 0)], 1)

    two, none = counts(2), np.zeros((999, 3), dtype=np.int64)
    settled = sampling.settled(two, none, np.tile((1, 0), (999, 1)), 0.05)
    assert settled.tolist() == (two.max(axis=1) == 2).tolist()
    assert (sampling.leaders(two) == sampling.leaders(counts(3)))[settled].all()
    assert np.count_nonzero(settled) / 2997 == pytest.approx(0.304, abs=0.001)


# A server that draws letters


def drawing(handler: Handler, asked: Asked) -> None:
    """Judge by a letter drawn with the seed of the request, with probabilities if they are asked for."""
    p = probabilities_for(asked.prompt)
    source = random.Random(f"{asked.prompt}{asked.body['seed']}")
    letter = source.choices([*p], [*p.values()])[0]
    tokens = [token(letter, {letter: p[letter], **p})] if asked.body.get("logprobs") else None
    handler.reply(200, chat_reply(letter, tokens))


def slowly(handler: Handler, asked: Asked) -> None:
    time.sleep(0.02)
    drawing(handler, asked)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    write_pairs(tmp_path / "pairs.jsonl", made_pairs(12))
    return tmp_path / "v"


def asking(out: Path, url: str, *more: object) -> list[str]:
    """The words of a command."""
    options = ("-e", "openai", "-m", "judge", "--prompt", "result", "--base-url", url, *more)
    return [*map(str, ("compare", out.parent / "pairs.jsonl", "--out", out, *options))]


def start(out: Path, url: str, *more: object) -> subprocess.Popen[bytes]:
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "OPENAI_API_KEY": "none"}
    return subprocess.Popen(
        [str(SCRIPT), "judge", *asking(out, url, *more)], env=environment, **pipes
    )


def places(out: Path) -> list[tuple[str, int, int]]:
    return [(r["pair"], r["order"], r["sample"]) for r in records(out)]


def test_samples_are_asked_round_by_round_and_more_can_be_added(out: Path) -> None:
    with FaultServer(default=drawing) as server:
        done = command(*asking(out, server.url, "--samples", 3, "--concurrency", 1))
        assert "72 of 72 judgments, 72 new" in done.stdout
        assert [sample for _, _, sample in places(out)] == [0] * 24 + [1] * 24 + [2] * 24
        assert {each.body["temperature"] for each in server.asked} == {1}
        assert Counter(each.body["seed"] for each in server.asked) == {1: 24, 2: 24, 3: 24}
        done = command(*asking(out, server.url, "--samples", 5))
        assert "120 of 120 judgments, 48 new" in done.stdout
        done = command(*asking(out, server.url, "--samples", 3))
        assert "72 of 72 judgments, 0 new" in done.stdout
        wrong = command(*asking(out, server.url, "--samples", 3, "--temperature", 0), status=2)
        assert "several samples need a temperature above 0" in wrong.stderr
    frame = VerdictFolder(out).decisions()
    assert frame["samples_1"].to_list() == frame["samples_2"].to_list() == [5] * 12
    assert frame["t_a"].null_count() == 0
    config = json.loads((out / "config.json").read_text())
    assert config["sampling"] == {"samples": 5, "stop_at": None}


@pytest.mark.parametrize(
    ("judge", "samples", "stop_at", "problem"),
    [
        (replace(JUDGE, temperature=0.0), 3, None, "several samples need a temperature above 0"),
        (JUDGE, 1, 0.05, "stopping early needs two samples or more"),
        (JUDGE, 3, 2.0, "an error between 0 and 1"),
        (JUDGE, 0, None, "samples must be from 1 to 1000, not 0"),
        (replace(JUDGE, temperature=0.5), 3, None, r"temperature \(1.0, now 0.5\)"),
    ],
)
def test_samples_that_make_no_sense(
    judge: Judge, samples: int, stop_at: float | None, problem: str, tmp_path: Path
) -> None:
    folder = made_folder(tmp_path / "v", made_pairs(1), [])
    engine = FakeEngine(Answered)  # type: ignore[arg-type]
    more: Any = {"samples": samples, "stop_at": stop_at}
    with pytest.raises(SettingsError, match=problem):
        compare(made_pairs(1), engine, judge, RESULT, folder, **more)
    assert engine.asked == 0


@pytest.mark.parametrize("stop", [(), ("--stop-at", "0.05")])
def test_a_killed_judge_goes_on(out: Path, stop: tuple[str, ...]) -> None:
    with FaultServer(default=slowly) as server:
        whole = out.with_name("whole")
        command(*asking(whole, server.url, "--samples", 5, *stop))
        process = start(out, server.url, "--samples", 5, *stop, "--concurrency", 2)
        journal = out / "judgments.jsonl"
        while not journal.exists() or journal.read_bytes().count(b"\n") < 50:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        notes = VerdictFolder(out).read()[1].notes()
        assert any("fewer than 5 samples in one order or both" in note for note in notes)
        command(*asking(out, server.url, "--samples", 5, *stop))
    assert sorted(places(out)) == sorted(places(whole))
    assert len(set(places(out))) == len(places(out))
    assert VerdictFolder(out).read()[1].notes() == []
    names = ("pair", "v1", "v2", "probability", "samples_1", "stable_2")
    frames = [VerdictFolder(each).decisions().select(names) for each in (out, whole)]
    assert frames[0].equals(frames[1])


def test_invalid_samples_are_asked_again_and_other_models_are_told(out: Path) -> None:
    def changed(handler: Handler, asked: Asked) -> None:
        """The second sample has no letter, and a model of another name says the third."""
        letter = "？" if asked.body["seed"] == 2 else "A"
        reply = json.loads(chat_reply(letter)) | {"model": f"m{asked.body['seed'] // 3}"}
        handler.reply(200, json.dumps(reply).encode())

    with FaultServer(default=changed) as server:
        done = command(*asking(out, server.url, "--samples", 3))
        assert "24 judgments invalid: no verdict" in done.stderr
        assert "several models answered as this judge: 'm0', 'm1'" in done.stderr
        frame = VerdictFolder(out).decisions()
        assert set(frame["p1_a"]) == {0.6}  # (2 + 1)/(2 + 3)
        assert not frame["stable_1"].any()
    with FaultServer(default=drawing) as server:
        done = command(*asking(out, server.url, "--samples", 3, "--retry-invalid"))
        assert "72 of 72 judgments, 24 new" in done.stdout
        assert {each.body["seed"] for each in server.asked} == {2}
    assert len(records(out)) == 96
    assert VerdictFolder(out).decisions()["samples_1"].to_list() == [3] * 12


def test_processes_share_rounds(out: Path) -> None:
    stop = ("--samples", 9, "--stop-at", 0.1)
    with FaultServer(default=slowly) as server:
        processes = [start(out, server.url, *stop, "--concurrency", 3) for _ in range(3)]
        ends = [process.communicate(timeout=90) for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0], ends
        sent = len(server.asked)
        done = command(*asking(out, server.url, *stop))
        assert len(server.asked) == sent
    found = places(out)
    assert len(set(found)) == len(found) == sent < 12 * 18
    assert f"{sent} of {sent} judgments, 0 new" in done.stdout
    assert f"--stop-at 0.1: {sent} of at most 216 judgments" in done.stderr
    assert VerdictFolder(out).read()[1].notes() == []


PROGRAM = """
import json, sys
for line in sys.stdin:
    task = json.loads(line)
    print(json.dumps({"id": task["id"], "answer": "ABA"[task["seed"] % 3]}), flush=True)
"""


def test_samples_need_no_log_probabilities(out: Path) -> None:
    (out.parent / "judge.py").write_text(PROGRAM)
    program = f"{sys.executable} {out.parent / 'judge.py'}"
    words = (
        "compare",
        out.parent / "pairs.jsonl",
        "--prompt",
        "result",
        "-e",
        "command",
        "-m",
        "j",
    )
    for folder, more, warned in ((out, ("--samples", 3), False), (out.with_name("w"), (), True)):
        done = command(*words, "--command", program, "--out", folder, *more)
        assert ("reports no log probabilities" in done.stderr) is warned
    done = command("decide", out)
    assert "decisions by probability" in done.stdout
    assert done.stderr == ""
    done = command("decide", out.with_name("w"))
    assert "pairs are decided by strict" in done.stderr
    frame = VerdictFolder(out).decisions()
    assert set(frame["p1_a"]) == set(frame["p2_b"]) == {0.5}  # A, B, A: (2 + 1) / (3 + 3)


# What follows from samples


def sampled(folder: Path, samples: int = 4, **config: Any) -> Path:
    """A folder of 40 pairs whose letters are drawn from the probabilities of their tokens."""
    source = random.Random(3)
    pairs, lines = made_pairs(40), []
    for pair, order, sample in product(pairs, (1, 2), range(samples)):
        p = probabilities_for(f"{pair.id}{order}")
        letter = source.choices([*p], [x**3 for x in p.values()])[0]
        usage = {"prompt_tokens": 100, "completion_tokens": 2}
        lines.append(line(pair, order, sample, letter, probabilities=p, usage=usage, output=letter))
    return made_folder(folder, pairs, lines, **config)


def raters(pairs: Sequence[str]) -> pl.DataFrame:
    source = random.Random(4)
    rows = [(pair, name, source.choice(LETTERS)) for pair in pairs for name in ("x", "y", "z")]
    return pl.DataFrame(rows, schema=["pair", "rater", "verdict"], orient="row")


def test_repetition_and_calibration_of_tokens_and_samples(tmp_path: Path) -> None:
    frame = VerdictFolder(sampled(tmp_path / "v")).decisions()
    found = agree(frame, raters(frame["pair"].to_list()))
    for row in found.repetition.iter_rows(named=True):
        stable = frame[f"stable_{row['order']}"]
        assert (row["pairs"], row["stable"]) == (40, stable.sum())
        assert row["repetition"] == stable.mean()
        assert 0 <= row["low"] < row["repetition"] < row["high"] <= 1
    assert found.repetition.select("task", "order").rows() == [
        (None, 1), ("校正", 1), (None, 2), ("校正", 2)
    ]  # fmt: skip
    tokens = frame.with_columns(p_a="t_a", p_b="t_b", p_c="t_c")
    letters = tokens.select(pl.concat_list("p_a", "p_b", "p_c").list.arg_max())
    by_hand = [LETTERS[place] for place in letters.to_series()]
    alone = agree(
        tokens.with_columns(probability=pl.Series(by_hand)).drop("t_a", "t_b", "t_c"),
        raters(frame["pair"].to_list()),
    )
    assert found.token_calibration is not None
    assert alone.calibration is not None
    assert found.calibration is not None
    assert found.token_calibration.to_dict() == alone.calibration.to_dict()
    assert found.calibration.error != found.token_calibration.error
    assert alone.token_calibration is None
    one = agree(frame.drop("stable_1", "stable_2"))
    assert one.repetition.is_empty()
    assert "repetition" not in one.to_dict()


def test_commands_show_samples(tmp_path: Path) -> None:
    folder = sampled(tmp_path / "v")
    humans = tmp_path / "humans.csv"
    frame = raters([f"p{n}" for n in range(40)])
    frame.rename({"pair": "id"}).write_csv(humans)
    said = command("agree", folder, "--humans", humans).stdout
    assert "pairs whose samples all say the same, %" in said
    assert "% of the samples, " in said
    drawn = plots.figure_of_verdicts("reliability", [folder], humans=humans)
    name = VerdictFolder(folder).judge_name
    titles = [axes.get_title(loc="left").partition("\n")[0] for axes in drawn.figure.axes]
    assert [title for title in titles if title] == [f"{name} · tokens", f"{name} · samples"]


def test_what_is_exported_counts_all_samples(tmp_path: Path) -> None:
    folder = sampled(tmp_path / "v")
    frame = {row["pair"]: row for row in VerdictFolder(folder).decisions().iter_rows(named=True)}
    found = read_folder(folder).judgments
    assert len(found) == 80
    for each in found:
        row, order = frame[each["pair"]], each["order"]
        assert SWAPPED[each["shown"]] == row["v2"] if order == 2 else each["shown"] == row["v1"]
        assert each["probabilities"]["B" if order == 2 else "A"] == row[f"p{order}_a"]
        assert row["outside"] == 0
    pair = made_pairs(1)[0]
    said = [line(pair, 1, n, x, output=x, problem=None) for n, x in enumerate("AAB")]
    said.append(line(pair, 1, 3, None, output="？", problem="no verdict"))
    [only] = read_folder(made_folder(tmp_path / "w", [pair], said)).judgments
    assert (only["shown"], only["output"], only["problem"]) == ("A", "A", None)


def test_a_plan_counts_what_samples_would_take(tmp_path: Path) -> None:
    folder = sampled(tmp_path / "v", 9)
    found = plan_samples(folder, pairs=1000)
    table = found.table
    assert table["samples"].to_list() == list(SIZES)
    assert table["requests"].to_list() == [2000 * size for size in SIZES]
    assert table["agreement"].is_sorted()
    assert (table["requests_stopped"] <= table["requests"]).all()
    assert (table["requests_stopped"] < table["requests"])[-1]
    ratio = table["pilot_half_width"] / table["half_width"]
    assert ratio.to_list() == pytest.approx([5.0] * len(SIZES))  # √(1000/40)
    reached = dict(table.select("samples", "agreement").rows())
    near = [size for size in SIZES if reached[size] >= reached[27] - 0.01]
    assert found.enough == near[0]
    assert plan_samples(folder, pairs=1000).to_dict() == found.to_dict()
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "USD"\n[models.j]\nprompt = 1000\ncompletion = 10000\n')
    done = command("plan", folder, "--pairs", 10, "--prices", prices, "--format", "json")
    rows = json.loads(done.stdout)["table"]
    assert rows[1]["cost"] == pytest.approx(60 * (100 * 1000 + 2 * 10_000) / 1e6)
    said = command("plan", folder, "--pairs", 1000).stdout
    assert found.advice in said
    assert "as decided" in said


def test_a_pilot_needs_samples(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs a pilot with two samples or more"):
        plan_samples(sampled(tmp_path / "v", 1))
    for more, problem in (({"pairs": 0}, "at least 1"), ({"stop_at": 1.5}, "between 0 and 1")):
        with pytest.raises(SettingsError, match=problem):
            plan_samples(sampled(tmp_path / "w", 3), **more)


# Batches


@pytest.mark.parametrize("wait", [True, False])
def test_rounds_are_batches(wait: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    judge = Judge("openai-api", "m", temperature=1.0, max_tokens=64)
    pairs, reason = made_pairs(8), find_prompt("reason", "pairwise")
    with BatchService() as service:
        for _ in range(40):
            engine = engines.in_batches(
                OpenAIEngine("m", base_url=service.url), poll=0.02, wait=wait
            )
            out = tmp_path / "v"
            asked = compare(pairs, engine, judge, reason, out, samples=5, stop_at=0.1)
            if asked.complete:
                break
            assert not wait
        sizes = [len(batch.requests) for batch in service.batches]
    found = records(out)
    assert asked.complete
    assert len(sizes) == 5
    assert sizes[0] == 16
    assert sizes == sorted(sizes, reverse=True)
    assert (
        len({(r["pair"], r["order"], r["sample"]) for r in found}) == len(found) == sum(sizes) < 80
    )
    assert VerdictFolder(out).read()[1].notes() == []
