"""What reports remember of a checkout only ever saves time: whatever has changed is noticed."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkouts import BETTER, FIRST, SECOND, add_run, contents, make_checkout, text
from helpers import GOOD
from pfgen_rs.checkout.checkout import inspect_run
from pfgen_rs.io import known_files
from pfgen_rs.report import update
from pfgen_rs.report.update import report


@pytest.fixture
def inspected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs whose files a report has read."""
    names: list[str] = []

    def inspect_and_tell(place: Any, run: Any, **how: Any) -> Any:
        names.append(run.name)
        return inspect_run(place, run, **how)

    monkeypatch.setattr(update, "inspect_run", inspect_and_tell)
    return names


@pytest.fixture
def remembered(tmp_path: Path, cache: Path, settled: None, inspected: list[str]) -> Path:
    """A checkout of which everything is known."""
    checkout = make_checkout(tmp_path / "checkout")
    for trials in checkout.rglob("trials.jsonl"):
        report(checkout)
        trials.unlink()  # only the packed ones stay, as in a checkout from elsewhere
    report(checkout)
    inspected.clear()
    assert report(checkout).problems == []
    assert inspected == []
    return checkout


def index(cache: Path) -> Path:
    [path] = (cache / "checkouts").iterdir()
    return path


def _known(content: bytes) -> Any:
    return json.loads(content.partition(b"\n")[2])


def scored(checkout: Path) -> list[str]:
    done = report(checkout)
    assert done.problems == []
    return done.scored


def test_tables_from_memory_are_those_from_files(remembered: Path) -> None:
    before = contents(remembered)
    for path in remembered.glob("leaderboard.*"):
        path.unlink()
    assert len(report(remembered).written) == 3
    assert contents(remembered) == before


def test_written_results_are_known(
    tmp_path: Path, cache: Path, settled: None, inspected: list[str]
) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    report(checkout)  # packs the trials, so that what was there before is not what is there now
    (checkout / FIRST / "result.json").unlink()
    assert scored(checkout) == [FIRST]
    inspected.clear()
    assert report(checkout).written == []
    assert inspected == []


def same_size(content: bytes) -> bytes:
    return content.replace(b'"timestamp"', b'"timestamq"').replace(b"0.", b"1.", 1)


CHANGED: dict[str, Callable[[Path], Any]] = {
    "in place, with the old time": lambda path: _overwritten(path),
    "replaced by an older file": lambda path: _replaced(path, age=10**15),
    "replaced by a file of the same time": lambda path: _replaced(path, age=0),
    "touched": lambda path: os.utime(path),
    "gone": lambda path: path.unlink(),
}


def _overwritten(path: Path) -> None:
    time, content = path.stat().st_mtime_ns, path.read_bytes()
    with path.open("r+b") as file:
        file.write(same_size(content))
    os.utime(path, ns=(time, time))
    assert path.stat().st_size == len(content)


def _replaced(path: Path, age: int) -> None:
    time = path.stat().st_mtime_ns
    other = path.with_name("other")
    other.write_bytes(same_size(path.read_bytes()))
    os.utime(other, ns=(time - age, time - age))
    other.replace(path)


@pytest.mark.parametrize("name", ["result.json", "README.md"])
@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_changed_files(
    remembered: Path, inspected: list[str], change: Callable[[Path], Any], name: str
) -> None:
    change(remembered / FIRST / name)
    report(remembered)
    assert inspected == [FIRST]


def test_what_has_changed_is_noticed(remembered: Path, inspected: list[str]) -> None:
    report(remembered, force=True)
    assert inspected == sorted([FIRST, SECOND])
    inspected.clear()
    (remembered / FIRST / "trial_001.jsonl").write_bytes(text(GOOD))
    left = remembered / FIRST / f".README.md.{'0' * 16}.tmp"
    left.write_bytes(b"half")  # of a report that was killed
    report(remembered)
    assert inspected == [FIRST]
    assert not left.exists()
    add_run(remembered, "result/third/model/0", BETTER)
    assert scored(remembered) == ["result/third/model/0"]
    path = next((remembered / "data").glob("Q*.json"))
    question = json.loads(path.read_bytes())
    path.write_text(json.dumps({**question, "note": "another"}), encoding="utf-8")
    assert scored(remembered) == sorted([FIRST, SECOND, "result/third/model/0"])


def test_other_answers_are_scored_and_a_broken_run_is_told_each_time(remembered: Path) -> None:
    packed = remembered / FIRST / "trials.jsonl.xz"
    packed.write_bytes((remembered / SECOND / "trials.jsonl.xz").read_bytes())
    assert scored(remembered) == [FIRST]
    (remembered / SECOND / "config.json").write_text('{"model": "new/name"}', encoding="utf-8")
    assert scored(remembered) == [SECOND]
    (remembered / FIRST / "config.json").unlink()
    for _ in range(2):
        assert report(remembered).failed == [FIRST]


def test_each_way_of_judging_has_its_own_memory(remembered: Path, inspected: list[str]) -> None:
    config = remembered / FIRST / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_bytes()), "temperature": 0.5}))
    assert report(remembered, as_published=True).stale == {}
    inspected.clear()
    assert report(remembered, as_published=True).stale == {}
    assert inspected == []  # remembered
    assert report(remembered).stale.keys() == {FIRST}
    assert inspected == [FIRST]  # and not by the other way of judging


def test_new_files_are_not_remembered(tmp_path: Path, cache: Path, inspected: list[str]) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    report(checkout)
    report(checkout)
    known = _known(index(cache).read_bytes()) if cache.exists() else {}
    assert known.get("runs", {}) == {}
    assert known.get("questions") is None
    inspected.clear()
    report(checkout)
    assert inspected == sorted([FIRST, SECOND])


def test_files_count_as_settled_after_two_seconds_and_only_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    files, now = known_files.file_states(tmp_path, ["a"]), 10**18
    assert files is not None
    for age, expected in ((1_999_999_999, False), (2_000_000_001, True)):
        for times in ([0, now - age], [now - age, 0]):
            files["a"][1:3] = times
            assert known_files.is_settled(files, now) is expected
    for name in ("", "missing", "a\0b"):
        assert known_files.file_states(tmp_path, [name]) is None


def _flip(content: bytes) -> bytes:
    at = content.rindex(b"0.")
    return content[:at] + b"1" + content[at + 1 :]


def _edited(content: bytes, **more: Any) -> bytes:
    found = {**_known(content), **more}
    new = json.dumps(found).encode()
    return known_files._known_digest(new) + b"\n" + new


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut short": lambda content: content[:-100],
    "a digit": _flip,
    "no JSON": lambda _: known_files._known_digest(b"{") + b"\n{",
    "a list": lambda _: known_files._known_digest(b"[]") + b"\n[]",
    "another version": lambda content: _edited(content, version=[0, "0.0.0"]),
    "noise": lambda content: os.urandom(len(content)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_index(
    remembered: Path, cache: Path, inspected: list[str], damage: Callable[[bytes], bytes]
) -> None:
    before = contents(remembered)
    good = index(cache).read_bytes()
    index(cache).write_bytes(damage(good))
    assert report(remembered).written == []
    assert inspected == sorted([FIRST, SECOND])
    assert contents(remembered) == before
    assert _known(index(cache).read_bytes()) == _known(good)


def test_a_cache_without_place(
    tmp_path: Path, settled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("PFGEN_RS_CACHE", str(tmp_path / "file"))
    checkout = make_checkout(tmp_path / "checkout")
    assert scored(checkout) == sorted([FIRST, SECOND])
    assert scored(checkout) == []


def test_two_reports_at_once(remembered: Path, cache: Path, inspected: list[str]) -> None:
    before = contents(remembered)
    for _ in range(3):
        for run in (FIRST, SECOND):
            (remembered / run / "result.json").unlink()
        threads = [threading.Thread(target=report, args=(remembered,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert contents(remembered) == before
        assert scored(remembered) == []
    assert [path.suffix for path in (cache / "checkouts").iterdir()] == [".json"]
    inspected.clear()
    assert scored(remembered) == []
    assert inspected == []


def test_a_moved_checkout_is_another(remembered: Path, cache: Path, inspected: list[str]) -> None:
    remembered.rename(remembered.with_name("moved"))
    assert scored(remembered.with_name("moved")) == []
    assert inspected == sorted([FIRST, SECOND])
    assert len(list((cache / "checkouts").iterdir())) == 2
