"""Figures are those of a plain reading of the journals: verdicts count for the texts that were judged."""

import contextlib
import hashlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fault_server import Asked, Handler, close
from judging import FakeEngine, chat_reply, command, judged, token
from pfgen_rs.ask.protocol import Answered, Failed, Outcome, Task
from pfgen_rs.errors import PfgenError
from pfgen_rs.judge import Pair, VerdictFolder, agree, decide, decisions, grading, rank, write_pairs
from pfgen_rs.judge.compare import compare
from pfgen_rs.judge.formats import read_format, write_format
from pfgen_rs.judge.imported import read_folder, write_folder
from pfgen_rs.judge.pages import index_payload, verdict_view
from pfgen_rs.judge.pairs import sample_path
from pfgen_rs.judge.requests import Judge, find_prompt
from pfgen_rs.judge.verdicts import Verdict

JUDGE = Judge("fake", "j", max_tokens=64)
RESULT, SINGLE = find_prompt("result", "pairwise"), find_prompt("single-reference", "grade")
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
    content = {
        "model": "j",
        "temperature": 0.0,
        "seed": 1,
        "max_tokens": 64,
        "top_p": None,
        "logprobs": 20,
        "messages": messages,
    }
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
            compare(pairs, engine, JUDGE, RESULT, folder, keep_going=True)
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
        said_of = [view.judges[0].said.get((name, order)) for order in (1, 2)]
        outputs = [None if r is None else r["output"] for r in (one, two)]
        assert [each and each.output for each in said_of] == outputs
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
            grading.grade(items, unreliable(source, say), JUDGE, SINGLE, folder, keep_going=True)
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
