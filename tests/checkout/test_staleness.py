"""Stale runs: they are named with the reason, and their new results keep how the old ones were added."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import readings
from checkouts import FIRST, MARKS, SECOND, add_run, contents, make_checkout
from helpers import GOOD, pfgen
from pfgen_rs.checkout.checkout import reason_lines
from pfgen_rs.errors import SettingsError
from pfgen_rs.metrics.settings import Summation
from pfgen_rs.report.update import report


@pytest.fixture
def reported(tmp_path: Path) -> Path:
    checkout = make_checkout(tmp_path / "checkout")
    assert report(checkout).problems == []
    return checkout


def edit(path: Path, **changes: Any) -> None:
    found = json.loads(path.read_bytes())
    path.write_text(json.dumps({**found, **changes}, ensure_ascii=False), encoding="utf-8")


def told(checkout: Path, **options: Any) -> dict[str, list[str]]:
    """The kinds of the reasons by run; what is announced is what the report has."""
    announced: list[Any] = []
    done = report(checkout, announce=announced.append, **options)
    assert announced == ([done.stale] if done.stale else [])
    kinds = {said: kind for kind, said in SAID.items()}
    return {
        run: [kinds[reason.partition(" (")[0]] for reason in reasons]
        for run, reasons in done.stale.items()
    }


SAID = {
    "missing": "no result.json",
    "unusable": "result.json cannot be used",
    "responses": "its answers have changed since it was scored",
    "questions": "was scored with other questions",
    "config": "its config.json has been edited since it was scored",
    "settings": "was scored with other settings",
    "forced": "everything is scored again",
}


CHANGES: dict[str, Callable[[Path], Any]] = {
    "missing": lambda run: (run / "result.json").unlink(),
    "unusable": lambda run: (run / "result.json").write_bytes(b"{"),
    "responses": lambda run: edit(run / "result.json", input_hash="0" * 40),
    "questions": lambda run: edit(run / "result.json", metadata_hash="0" * 40),
    "config": lambda run: edit(run / "config.json", temperature=0.5),
    "settings": lambda run: edit(run / "result.json", signature="pfgen|…"),
}
OF_PUBLISHED = {"missing", "unusable", "responses", "questions"}
"""What pfgen-bench's own tool scores, or ends at: it compares the two hashes and nothing else."""


@pytest.mark.parametrize("kind", CHANGES)
def test_each_change_is_a_reason_and_as_published_if_hashes_tell(reported: Path, kind: str) -> None:
    CHANGES[kind](reported / FIRST)
    left = contents(reported / FIRST)
    if kind not in OF_PUBLISHED:
        assert told(reported, as_published=True) == {}
        assert contents(reported / FIRST)["result.json"] == left["result.json"]
    assert told(reported, as_published=kind in OF_PUBLISHED) == {FIRST: [kind]}
    assert told(reported) == {}


@pytest.mark.parametrize(
    "change", [{"keywords": []}, {"scoring": {"target_length": 60}}], ids=["no rules", "own length"]
)
def test_a_set_with_own_settings_is_scored_once(reported: Path, change: dict[str, Any]) -> None:
    for path in (reported / "data").glob("Q*.json"):
        edit(path, **change)
    both = ["questions", "settings"]
    assert told(reported) == {FIRST: both, SECOND: both}
    assert told(reported) == {}
    result = reported / FIRST / "result.json"
    found = json.loads(result.read_bytes())
    edit(result, signature=found["signature"].replace("|v:", "|sum:compensated|v:0."))
    assert told(reported) == {}  # an earlier version, and Python's other sums
    del found["signature"]  # as before sets had such settings
    result.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    assert told(reported) == {FIRST: ["settings"]}


def test_all_reasons_are_told(reported: Path) -> None:
    for kind in ("settings", "config", "questions", "responses"):
        CHANGES[kind](reported / FIRST)
    assert told(reported) == {FIRST: ["responses", "questions", "config", "settings"]}
    assert told(reported, force=True) == {SECOND: ["forced"], FIRST: ["forced"]}


def test_force_as_published_is_neither(reported: Path) -> None:
    with pytest.raises(SettingsError, match="exclude each other"):
        report(reported, force=True, as_published=True)
    done = pfgen("report", reported, "--force", "--as-published")
    assert (done.returncode, done.stdout) == (2, "")


def test_lines_of_keys_and_of_results_that_cannot_be_used(reported: Path) -> None:
    edit(reported / FIRST / "config.json", b=1, a=2, mode="qa", top_p=1, z=0)
    [line] = reason_lines(report(reported).stale)
    assert line == f"{FIRST}: {SAID['config']} (a, b, mode, top_p, …)"
    edit(reported / FIRST / "config.json", **{"長" * 100_000: 1})
    CHANGES["unusable"](reported / SECOND)
    second, first = reason_lines(report(reported).stale)
    assert first.endswith(f" ({'長' * 59}…)")
    assert second.startswith(f"{SECOND}: result.json cannot be used (invalid JSON: ")
    assert "score the run again" not in second


def test_many_runs_with_the_same_reason_share_a_line() -> None:
    stale: dict[str, tuple[str, ...]]
    stale = {f"result/m/{i}": ("no result.json",) for i in range(11)}
    stale["result/n/0"] = ("a", "b")
    assert list(reason_lines(stale)) == [
        "11 runs: no result.json: result/m/0, result/m/1, result/m/2, …",
        "result/n/0: a, and b",
    ]
    stale.pop("result/m/10")
    assert len(list(reason_lines(stale))) == 11


def test_names_of_strangers_act_nowhere(reported: Path) -> None:
    add_run(reported, "result/evil\x1b[31m\n/0", GOOD)
    done = pfgen("report", reported)
    line = "scoring result/evil\\x1b[31m\\n/0: no result.json\n"
    assert (done.returncode, done.stderr) == (0, line)


# Stale results are rewritten with their sums as Python added them when they were first written.


@pytest.fixture(params=["plain", "compensated"])
def published(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Summation, bytes]:
    """A checkout with a run whose result is of this reading, and that result."""
    summation: Summation = request.param
    benchmark = readings.write_benchmark(tmp_path / "data")
    (tmp_path / "README.md").write_text(MARKS, encoding="utf-8")
    readings.write_run(tmp_path / FIRST, benchmark, "plain")
    assert report(tmp_path).problems == []  # packs the answers
    other = readings.write_result(tmp_path / FIRST, benchmark, readings.OTHER[summation])
    content = readings.write_result(tmp_path / FIRST, benchmark, summation)
    assert content != other
    return tmp_path, summation, content


def test_force_and_a_new_config_keep_the_reading(published: tuple[Path, Summation, bytes]) -> None:
    checkout, summation, content = published
    run = checkout / FIRST
    assert report(checkout, force=True).problems == []
    assert (run / "result.json").read_bytes() == content
    edit(run / "config.json", model="new/name")
    report(checkout)
    rewritten = (run / "result.json").read_bytes()
    assert rewritten == content.replace(b"some/model", b"new/name")
    assert rewritten == readings.write_result(run, checkout / "data", summation)


@pytest.mark.parametrize("kind", ["questions", "answers"])
def test_samples_tell_the_reading(published: tuple[Path, Summation, bytes], kind: str) -> None:
    """Whatever has changed since the result was written, its own samples still tell it."""
    checkout, summation, _ = published
    if kind == "questions":
        edit(checkout / "data" / "Q02.json", keywords=[])
    else:
        edit(checkout / FIRST / "result.json", input_hash="0" * 40)
    assert report(checkout).scored == [FIRST]
    rewritten = (checkout / FIRST / "result.json").read_bytes()
    assert rewritten == readings.write_result(checkout / FIRST, checkout / "data", summation)


def test_sums_are_plain_without_samples(
    published: tuple[Path, Summation, bytes],
) -> None:
    checkout, _, _ = published
    path = checkout / FIRST / "result.json"
    questions = json.loads(path.read_bytes())["questions"]
    bare = {key: {**entry, "samples": []} for key, entry in questions.items()}
    for damage in (
        lambda: edit(path, input_hash="0" * 40, questions=bare),
        lambda: edit(path, score=10**400),  # too large for a float
        lambda: path.write_bytes(b"{"),
        path.unlink,
    ):
        damage()
        assert report(checkout).problems == []
        found = path.read_bytes()
        assert found == readings.write_result(checkout / FIRST, checkout / "data", "plain")


# The published runs.


def test_edited_configurations_of_published_runs(published_dir: Path, tmp_path: Path) -> None:
    """Seven runs whose `config.json` is edited, and no others, are named; as published, none."""
    runs = sorted(path.parent for path in published_dir.rglob("trials.jsonl.xz"))[:9]
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for path in published_dir.glob("data/Q*.json"):
        (checkout / "data").mkdir(exist_ok=True)
        (checkout / "data" / path.name).symlink_to(path)
    shutil.copyfile(published_dir / "README.md", checkout / "README.md")
    names = [run.relative_to(published_dir).as_posix() for run in runs]
    for run, name in zip(runs, names, strict=True):
        shutil.copytree(run, checkout / name, copy_function=shutil.copyfile)
    assert told(checkout) == {}
    for name in names[:7]:
        edit(checkout / name / "config.json", note="edited after publishing")
    assert told(checkout, as_published=True) == {}
    done = pfgen("report", checkout)
    assert done.stderr.splitlines() == [
        f"scoring {name}: its config.json has been edited since it was scored (note)"
        for name in names[:7]
    ]
