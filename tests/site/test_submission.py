"""`pfgen-rs site check`: honest runs pass, and runs of planted cheats are found."""

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import pfgen_rs
from helpers import pfgen
from pfgen_rs.site import submission
from pfgen_rs.site.submission import Finding, Submission, check_runs
from places import needed

HOSTILE = "evil|`x` <img src=x onerror=alert(1)>\n### @all"
Edit = Callable[[list[dict[str, str]]], list[dict[str, str]]]
MINI = pfgen_rs.load_benchmark("mini")


def write(folder: Path, records: list[dict[str, str]], **config: object) -> Path:
    """A run with its `result.json`."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (folder / "trials.jsonl").write_text(text, encoding="utf-8")
    result = pfgen_rs.score_file(folder, MINI)
    result.to_json(folder / "result.json", allow_partial=True)
    return folder


def answers_of(run: str | Path) -> list[dict[str, str]]:
    found = pfgen_rs.score_file(run, MINI).frame.select("question", "answer")
    return found.to_dicts()


def edited(text: str, letters: int, seed: int) -> str:
    """A text of which some letters are others."""
    made, chance = list(text), random.Random(seed)
    for place in chance.sample(range(len(made)), letters):
        made[place] = chance.choice("のをにはがと人大")
    return "".join(made)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two honest runs, which nothing is written into."""
    place = tmp_path_factory.mktemp("honest") / "runs"
    for name in ("faithful", "careless"):
        write(place / name, answers_of(pfgen_rs.sample_runs()[name]), model=f"mini/{name}")
    return place


def references(records: list[dict[str, str]]) -> list[dict[str, str]]:
    """Reference answers, of each of which two letters differ."""
    texts = {q.text: [a for own in q.answers.values() for a in own] for q in MINI}
    return [
        {**record, "answer": edited(texts[record["question"]][i], 2, i)}
        for i, record in enumerate(records)
    ]


def copies(records: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{**r, "answer": edited(r["answer"], 2, i)} for i, r in enumerate(records)]


def one_answer(records: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{**r, "answer": f"{records[0]['answer']} {len(r['question'])}"} for r in records]


CHEATS: dict[str, tuple[Edit, str]] = {
    "reference answers with two letters changed": (references, "references"),
    "another model's answers with two letters changed": (copies, "others"),
    "one answer, many times": (one_answer, "repeats"),
    "answers cut at a length": (
        lambda records: [{**r, "answer": r["answer"][:40]} for r in records],
        "lengths",
    ),
    "answers longer than allowed": (
        lambda records: [{**r, "answer": r["answer"] * 9} for r in records],
        "impossible",
    ),
    "a question left out": (
        lambda records: [r for r in records if r["question"] != records[0]["question"]],
        "questions",
    ),
    "the best answers twice": (lambda records: [*records, records[0]], "questions"),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_planted_cheat_is_found(tmp_path: Path, runs: Path, name: str) -> None:
    edit, check = CHEATS[name]
    other = runs / "careless"
    folder = write(tmp_path / "new", edit(answers_of(other)), model="mini/new", max_tokens=30)
    [found] = check_runs([str(folder)], [str(runs)], MINI)
    failed = {each.check for each in found.findings if each.verdict == "fail"}
    assert check in failed
    assert not found.passed


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda result: result.update(score=result["score"] + 0.01), "verify"),
        (lambda result: result["questions"]["Q01"]["samples"][0].update(answer="x"), "verify"),
        (lambda result: result["config"].update(model="other/model"), "verify"),
        (lambda result: result.update(metadata_hash="0" * 64), "signature"),
        (lambda result: result.update(signature="pfgen|set:0|v:1"), "signature"),
    ],
)
def test_an_edited_result_is_found(
    tmp_path: Path, runs: Path, change: Callable[[dict[str, object]], None], check: str
) -> None:
    folder = Path(shutil.copytree(runs / "careless", tmp_path / "new"))
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    change(result)
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    [found] = check_runs([str(folder)], [], MINI)
    assert [each.check for each in found.findings if each.verdict == "fail"] == [check]


def test_the_same_model_again_is_a_note(tmp_path: Path, runs: Path) -> None:
    folder = Path(shutil.copytree(runs / "careless", tmp_path / "again"))
    [found] = check_runs([str(folder)], [str(runs)], MINI)
    assert found.passed
    assert found.findings[-1].verdict == "note"
    assert "the same model" in found.findings[-1].sentence


def test_submitted_runs_are_held_against_each_other(tmp_path: Path, runs: Path) -> None:
    folder = write(tmp_path / "copy", answers_of(runs / "careless"), model="mini/copy")
    found = list(check_runs([str(folder), str(runs / "careless")], [], MINI))
    assert [each.passed for each in found] == [False, False]


def test_names_in_markdown_are_inert() -> None:
    finding = Finding("others", "fail", HOSTILE, 0.5, 0.2)
    text = Submission(HOSTILE, HOSTILE, HOSTILE, [finding]).to_markdown()
    assert not re.search(r"<img|`|@|\n### e|evil\|", text)
    assert "| others | ❌ | 50.0% | 20.0% |" in text


def test_the_command_tells_and_exits(tmp_path: Path, runs: Path) -> None:
    honest = str(runs / "faithful")
    done = pfgen("site", "check", honest, "--against", str(runs), "-b", "mini")
    assert (done.returncode, "passes" in done.stdout) == (0, True)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "trials.jsonl").write_text("{")
    done = pfgen("site", "check", honest, str(broken), "-b", "mini", "-f", "json")
    found = {each["run"]: each for each in json.loads(done.stdout)}
    assert (done.returncode, found[honest]["passed"]) == (1, True)
    assert found[str(broken)]["findings"][0]["check"] == "read"
    assert pfgen("site", "check", str(tmp_path / "none"), "-b", "mini").returncode in (1, 2)


@pytest.mark.published
def test_public_runs_pass_and_their_copies_do_not(tmp_path: Path) -> None:
    checkout = needed("pfgen-bench")
    found = list(check_runs([str(checkout / "result")], [str(checkout / "result")], str(checkout)))
    assert len(found) == 24
    assert [each.run for each in found if not each.passed] == []
    shares: dict[str, float] = {}
    for each in found:
        for finding in each.findings:
            shares[finding.check] = max(shares.get(finding.check, 0), finding.share or 0)
    assert shares["references"] < 0.07
    assert shares["others"] < 0.13
    assert shares["repeats"] < 0.24
    assert 1.5 * shares["others"] < submission.COPIED
    source = checkout / "result" / "openai" / "gpt-4" / "8cad1b9"
    copy = Path(shutil.copytree(source, tmp_path / "copy"))
    (copy / "config.json").chmod(0o600)
    (copy / "config.json").write_text('{"model": "evil/new"}')
    [cheat] = check_runs([str(copy)], [str(source)], str(checkout))
    failed = {each.check for each in cheat.findings if each.verdict == "fail"}
    assert failed == {"others", "verify"}
