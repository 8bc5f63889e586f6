"""Checkouts that are reported again: what has changed is noticed, named, and nothing else is touched."""

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import readings
from checkouts import BETTER, FIRST, MARKS, SECOND, add_run, contents, make_checkout, text, times
from helpers import GOOD, pfgen
from pfgen_rs import Benchmark
from pfgen_rs.checkout.checkout import inspect_run, reason_lines
from pfgen_rs.checkout.entries import read_entries
from pfgen_rs.checkout.published import read_published
from pfgen_rs.checkout.rescoring import marks_of
from pfgen_rs.errors import SettingsError
from pfgen_rs.io import known_files
from pfgen_rs.metrics.settings import Summation
from pfgen_rs.report import readme, update
from pfgen_rs.report.update import report
from places import published_runs


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
        for stamps in ([0, now - age], [now - age, 0]):
            files["a"][1:3] = stamps
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


# Stale runs: they are named with the reason, and their new results keep how the old ones were added.


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


def test_sums_are_plain_without_samples(published: tuple[Path, Summation, bytes]) -> None:
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


# The published checkout reported anew: every file byte for byte.


pytestmark = pytest.mark.published

BEGIN, END = readme.BEGIN, readme.END
SYSTEM = ("data", "data/final")
KEPT = "data/final/result.json"  # its responses are not published
TABLES = {"leaderboard.parquet", "leaderboard.csv", "leaderboard.json"}


def emptied_copy(published: Path, folder: Path) -> Path:
    """The checkout as it is before anything is reported; what is only read is linked."""
    for path in published.rglob("*"):
        place = path.relative_to(published)
        if path.is_dir() or path.name in ("result.json", "README.md"):
            continue
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).symlink_to(path)
    shutil.copyfile(published / KEPT, folder / KEPT)
    before, _, rest = (published / "README.md").read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    (folder / "README.md").write_text(f"{before}{BEGIN}\nold\n{END}{after}", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def published_anew(
    published_dir: Path, published_benchmark: Benchmark, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A copy in which everything was made anew by one command; the cache has the index."""
    folder = emptied_copy(published_dir, tmp_path_factory.mktemp("checkout"))
    done = pfgen("report", folder)
    assert done.returncode == 0
    assert done.stderr.startswith("scoring 25 runs: no result.json: data, result/")
    assert done.stderr.count("\n") == 1
    assert done.stdout.startswith("26 runs: 25 scored;")
    return folder


def test_a_run_is_byte_identical(
    published_run: str, published_dir: Path, published_anew: Path
) -> None:
    for name in ("result.json", "README.md"):
        same_bytes(published_anew / published_run / name, published_dir / published_run / name)


def test_other_readmes_are_byte_identical(published_dir: Path, published_anew: Path) -> None:
    files = [f"{run}/{name}" for run in SYSTEM for name in ("result.json", "README.md")]
    for name in ("README.md", *files):
        same_bytes(published_anew / name, published_dir / name)


def same_bytes(ours: Path, theirs: Path) -> None:
    """Equal contents; else say where they part rather than print megabytes."""
    got, wanted = ours.read_bytes(), theirs.read_bytes()
    if got != wanted:
        pairs = zip(got, wanted, strict=False)
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(got), len(wanted)))
        span = slice(max(0, at - 80), at + 80)
        pytest.fail(f"{ours.name} at {at}: {got[span]!r} rather than {wanted[span]!r}")


def test_no_other_file_appears(published_dir: Path, published_anew: Path) -> None:
    assert contents(published_anew).keys() - contents(published_dir).keys() == TABLES


def test_nothing_stale_nothing_written(published_anew: Path) -> None:
    before = times(published_anew)
    done = pfgen("report", published_anew)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "26 runs: 0 scored; 0 files written in the checkout\n",
        "",
    )
    assert times(published_anew) == before


def test_the_tables_agree(published_anew: Path) -> None:
    found = json.loads((published_anew / "leaderboard.json").read_bytes())
    parquet = pl.read_parquet(published_anew / "leaderboard.parquet")
    csv = pl.read_csv(published_anew / "leaderboard.csv", schema=parquet.schema)
    assert parquet.to_dicts() == csv.to_dicts() == found["runs"]
    assert found["signature"].startswith("pfgen|set:13581cc9|")
    runs = {*published_runs(), *SYSTEM}
    assert set(parquet["run"]) == runs
    results = [
        json.loads((published_anew / run / "result.json").read_bytes()) for run in parquet["run"]
    ]
    for column in ("score", "score_std", "num_trials", "length", "length_std", "input_hash"):
        assert parquet[column].to_list() == [result[column] for result in results]
    assert parquet["score"].is_sorted(descending=True)


def test_ranks_of_the_published_runs(published_dir: Path) -> None:
    entries, problems = read_entries(published_dir)
    assert not problems
    systems = [entry.model for entry in entries if entry.rank is None]
    assert systems == ["system/ground-truth", "system/criteria"]
    ranked = [entry for entry in entries if entry.rank is not None]
    assert [entry.rank for entry in ranked] == list(range(1, 25))
    for entry in ranked:
        ranges: Any = (1, entry.rank_low, entry.own_rank_low)
        ranges += (entry.own_rank_high, entry.rank_high, 24)
        assert list(ranges) == sorted(ranges)
        bounds: Any = (entry.estimate.low, entry.score, entry.estimate.high)
        assert list(bounds) == sorted(bounds)
    assert (ranked[-1].rank_low, ranked[-1].rank_high) == (24, 24)  # it answers nothing
    [gpt] = [entry for entry in ranked if entry.model == "openai/gpt-4o"]
    assert (gpt.rank, gpt.rank_low, gpt.rank_high) == (3, 3, 6)
    assert (gpt.own_rank_low, gpt.own_rank_high) == (3, 4)


def test_marks_need_no_other_runs(published_dir: Path, published_benchmark: Benchmark) -> None:
    results = [read_published(published_dir / run, run).result for run in published_runs()[:3]]
    together = marks_of(published_benchmark, results)
    assert together == [marks_of(published_benchmark, [result])[0] for result in results]
