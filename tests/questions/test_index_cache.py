"""The cached index: built once, used when it is right, told and built again when it is not."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import helpers
from pfgen_rs import Benchmark, Settings, load_benchmark, score_file
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.locks import lock
from pfgen_rs.questions import index_cache
from pfgen_rs.runs.resumable import Job

LOGGER = "pfgen_rs.questions.index_cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Question files of the tiny benchmark."""
    return helpers.write_benchmark(tmp_path / "questions")


def scores(benchmark: Benchmark) -> list[float]:
    frame = benchmark.score_batch([q for q, _ in helpers.GOOD], [a for _, a in helpers.GOOD])
    return [*frame["average"], *frame["fluency_A"], *frame["truthfulness_B"]]


def only_file() -> Path:
    (file,) = index_cache.index_files()
    return file.path


def reports(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == LOGGER]


def test_a_second_benchmark_uses_what_the_first_built(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    built = scores(load_benchmark(folder))
    written = only_file().stat().st_mtime_ns
    again = load_benchmark(folder)

    def refuse(*_: object) -> None:
        raise AssertionError("built although it was stored")

    monkeypatch.setattr("pfgen_rs._native.Scorer", refuse)
    assert scores(again) == built
    assert only_file().stat().st_mtime_ns == written
    assert again._baselines(again["Q01"]) == load_benchmark(folder)._baselines(again["Q01"])
    assert not reports(caplog)


def test_some_questions_alone_are_not_kept(folder: Path) -> None:
    benchmark = load_benchmark(folder)
    benchmark.score("Q01", "猫")
    assert not index_cache.index_files()
    benchmark.score("Q02", "海")
    assert only_file() == benchmark.index_path


def test_settings_versions_and_questions_have_files_of_their_own(folder: Path) -> None:
    paths = {load_benchmark(folder).index_path}
    paths.add(load_benchmark(folder, settings=Settings(max_n=5)).index_path)
    paths.add(load_benchmark(folder, settings=Settings(variant="paper")).index_path)
    helpers.write_benchmark(folder, {"Q01": {"note": "changed"}})
    paths.add(load_benchmark(folder).index_path)
    assert len(paths) == 4
    assert None not in paths


def test_questions_that_were_changed_in_memory_have_no_file(folder: Path) -> None:
    questions = list(load_benchmark(folder))
    changed = replace(questions[0], answers={"A": ("海",), "B": ("空",)})
    benchmark = Benchmark([changed, questions[1]], "0" * 40).prepare()
    assert benchmark.index_path is None
    assert not index_cache.index_files()


def flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "cut short"),
    "cut short": (lambda content: content[:-1], "cut short"),
    "half": (lambda content: content[: len(content) // 2], "cut short"),
    "another kind": (lambda _: b"PK" * 1000, "another kind"),
    "byte order": (lambda content: content[:8] + content[11:7:-1] + content[12:], "byte order"),
    "older": (lambda content: flip(content, 12), "another version"),
    "other questions": (lambda content: flip(content, 20), "other questions"),
    "directory": (lambda content: flip(content, 90), "directory was changed"),
    "content": (lambda content: flip(content, len(content) - 200), "content was changed"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_told_in_one_line_and_repaired(
    damage: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    built = scores(load_benchmark(folder))
    path = only_file()
    whole = path.read_bytes()
    change, reason = DAMAGES[damage]
    path.write_bytes(change(whole))
    assert scores(load_benchmark(folder)) == built
    (line,) = reports(caplog)
    assert reason in line
    assert str(path) in line
    assert "\n" not in line
    assert path.read_bytes() == whole
    caplog.clear()
    assert scores(load_benchmark(folder)) == built
    assert not reports(caplog)


@pytest.mark.skipif(sys.platform == "win32", reason="folders are made read-only by their mode")
def test_a_folder_that_cannot_be_written_costs_only_the_speed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = scores(load_benchmark(folder))
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    caplog.set_level(logging.INFO, LOGGER)
    for cache in (in_the_way, "/proc/none"):
        monkeypatch.setenv("PFGEN_RS_CACHE", str(cache))
        assert scores(load_benchmark(folder)) == expected
    assert len(reports(caplog)) == 2


def test_a_full_disk_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    script = (
        "import resource, signal, sys, pfgen_rs\n"
        "bench = pfgen_rs.load_benchmark(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "print(bench.prepare()._baselines(bench['Q01']))\n"
    )
    cache = tmp_path / "full"
    done = helpers.python(script, folder, env={"PFGEN_RS_CACHE": str(cache)})
    benchmark = load_benchmark(folder)
    assert done.stdout.strip() == str(benchmark._baselines(benchmark["Q01"]))
    assert list((cache / "indexes").iterdir()) == []


def test_what_is_in_use_may_be_cleared(folder: Path) -> None:
    load_benchmark(folder).prepare()
    user = load_benchmark(folder).prepare()
    before = scores(user)
    assert [file.path for file in index_cache.clear_index_cache()] == [user.index_path]
    assert scores(user) == before
    assert index_cache.clear_index_cache() == []
    load_benchmark(folder).prepare()
    path = only_file()
    path.with_name(f".{path.name}.0123.tmp").write_bytes(b"left by a killed process")
    other = path.with_name("notes.txt")
    other.write_text("mine")
    assert len(index_cache.clear_index_cache()) == 2
    assert list(other.parent.iterdir()) == [other]


def test_commands(folder: Path, tmp_path: Path) -> None:
    place = {"PFGEN_RS_CACHE": str(tmp_path / "commands")}
    assert "removed 0 files" in helpers.pfgen("index", "clear", env=place).stdout
    built = helpers.pfgen("index", "build", "--benchmark", folder, env=place)
    assert built.returncode == 0
    path = Path(built.stdout.splitlines()[0])
    assert path.is_file()
    assert "2 questions" in built.stdout
    listed = helpers.pfgen("index", "info", env=place).stdout
    assert path.name in listed
    assert str(path) in helpers.pfgen("index", "info", "--format", "json", env=place).stdout
    assert "removed 1 file" in helpers.pfgen("index", "clear", env=place).stdout
    assert not path.exists()
    shutil.rmtree(tmp_path / "commands")
    (tmp_path / "commands").write_text("in the way")
    refused = helpers.pfgen("index", "build", "--benchmark", folder, env=place)
    assert refused.returncode == 2
    assert "PFGEN_RS_CACHE" in refused.stderr


CHANGED = """
import os, sys, pfgen_rs
folder, kind = sys.argv[1:]
QUESTIONS, ANSWERS = ["Q01", "Q02"], ["猫は眠ります。", "海は広いです。"]

def scores(benchmark):
    frame = benchmark.score_batch(QUESTIONS, ANSWERS)
    return [*frame["average"], *frame["fluency_A"], *frame["truthfulness_B"]]

expected = scores(pfgen_rs.load_benchmark(folder))
used, prepared = pfgen_rs.load_benchmark(folder), pfgen_rs.load_benchmark(folder).prepare()
one = pfgen_rs.load_benchmark(folder)
one.score(QUESTIONS[0], ANSWERS[0])
scorer = used.scorer()
before = list(scorer(QUESTIONS, ANSWERS))
size = os.path.getsize(used.index_path)
content = {
    "zeros": bytes(size),
    "ones": b"\\xff" * size,
    "random": os.urandom(size),
    "cut short": b"",
    "longer": os.urandom(2 * size),
}[kind]
with open(used.index_path, "r+b") as file:  # as `cp` and `rsync --inplace` do: the same file
    file.truncate(len(content))
    file.write(content)
assert list(scorer(QUESTIONS, ANSWERS)) == before
for benchmark in (used, prepared, one, pfgen_rs.load_benchmark(folder)):
    assert scores(benchmark) == expected
print("as before")
"""


@pytest.mark.parametrize("kind", ["zeros", "ones", "random", "cut short", "longer"])
def test_a_change_in_place_reaches_no_scorer(kind: str, folder: Path, tmp_path: Path) -> None:
    done = helpers.python(CHANGED, folder, kind, env={"PFGEN_RS_CACHE": str(tmp_path / "changed")})
    assert (done.returncode, done.stdout) == (0, "as before\n"), done.stderr
    told = [line for line in done.stderr.splitlines() if "rebuilding it" in line]
    assert len(told) == 2  # by those that had not read everything


READ = """
import sys, pfgen_rs
print(pfgen_rs.load_benchmark(sys.argv[1]).score("Q01", "猫は眠ります。").average)
print(pfgen_rs.load_benchmark(sys.argv[1]).prepare().score("Q01", "猫は眠ります。").average)
"""


def test_one_file_alone_reads_scorers_and_frees_them(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "a.jsonl"
    run.write_bytes(helpers.lines(helpers.GOOD))
    built = load_benchmark(folder)
    expected = score_file(run, built).to_bytes()
    assert len(built._scorers) == len(built)

    def score(benchmark: Benchmark) -> bytes:
        with Job(benchmark, [str(run)], Options()) as job:
            [result] = job.run()
            return result.to_bytes()

    read = load_benchmark(folder)
    assert score(read) == expected
    assert not read._scorers
    assert not reports(caplog)
    content = only_file().read_bytes()
    only_file().write_bytes(flip(content, len(content) - 1))  # which opening it does not notice
    damaged = load_benchmark(folder)
    assert score(damaged) == expected
    assert len(reports(caplog)) == 1
    assert len(damaged._scorers) == len(built)
    assert only_file().read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="special files")
@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder", "link to a pipe"])
def test_special_files_are_told_and_do_not_block(kind: str, folder: Path, tmp_path: Path) -> None:
    expected = load_benchmark(folder).prepare().score("Q01", "猫は眠ります。").average
    (usual,) = index_cache.index_files()
    cache = tmp_path / "special"
    path = cache / "indexes" / usual.path.name
    path.parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        here = Path.cwd()
        os.chdir(path.parent)  # the names of sockets are short
        try:
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(path.name)
        finally:
            os.chdir(here)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
    done = helpers.python(READ, folder, env={"PFGEN_RS_CACHE": str(cache)})
    assert (done.returncode, done.stdout) == (0, f"{expected}\n" * 2), done.stderr
    told = [line for line in done.stderr.splitlines() if "not a regular file; rebuilding" in line]
    assert len(told) == 2
    assert all(str(path) in line for line in told)
    if kind != "folder":  # replaced by the second benchmark, which built all questions
        assert path.is_file()
        assert not path.is_symlink()


BUILD = """
import logging, sys, time, pfgen_rs
from pfgen_rs.questions.question_set import QuestionSet
logging.basicConfig(level=logging.INFO, format="%(message)s")
seconds, make = float(sys.argv[2]), QuestionSet._scorer

def slowly(self, question):
    if self._cache.load(self._number_of[question.id]) is None:
        print("building", flush=True)
        time.sleep(seconds)
    return make(self, question)

QuestionSet._scorer = slowly
print(pfgen_rs.load_benchmark(sys.argv[1]).prepare(threads=1).score("Q01", "猫は眠ります。").average)
"""


@pytest.fixture
def start(tmp_path: Path) -> Callable[[float], subprocess.Popen[str]]:
    """Starts a process that needs the index, and takes these seconds a question to build it."""
    folder = helpers.write_benchmark(tmp_path / "questions")
    environment = helpers.environment(PFGEN_RS_CACHE=str(tmp_path / "shared"))

    def started(seconds: float) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", BUILD, str(folder), str(seconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )

    return started


def files_of_cache(tmp_path: Path) -> list[str]:
    return sorted(path.suffix for path in (tmp_path / "shared" / "indexes").iterdir())


def test_processes_that_start_together_build_once(
    start: Callable[[float], subprocess.Popen[str]], tmp_path: Path
) -> None:
    running = [start(0.3) for _ in range(2)]
    said = [process.communicate() for process in running]
    assert not any(process.returncode for process in running)
    assert sum(errors.count(": built") for _, errors in said) == 1
    assert sum(out.count("building") for out, _ in said) == 2  # the two questions
    assert len({out.splitlines()[-1] for out, _ in said}) == 1
    assert files_of_cache(tmp_path) == [".pfgenidx"]


def test_another_takes_over_from_one_that_is_killed(
    start: Callable[[float], subprocess.Popen[str]], tmp_path: Path
) -> None:
    with start(60) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "building\n"
        with start(0) as other:
            assert other.stderr is not None
            assert "waiting for the process that builds it" in other.stderr.readline()
            assert other.poll() is None
            killed.kill()
            out, errors = other.communicate()
    assert other.returncode == 0
    assert out.count("building") == 2
    assert ": built" in errors
    assert files_of_cache(tmp_path) == [".pfgenidx"]


def test_without_locks_everyone_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    waits: list[None] = []
    index = tmp_path / "a.pfgenidx"
    with (
        index_cache.alone(index, lambda: waits.append(None)),
        index_cache.alone(index, lambda: waits.append(None)),
    ):
        pass
    assert waits == []


def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_cache, "PATIENCE", 0.3)
    waits: list[None] = []
    index = tmp_path / "a.pfgenidx"
    with (tmp_path / f".{index.name}.lock").open("w") as held:
        assert lock(held.fileno())
        with index_cache.alone(index, lambda: waits.append(None)):
            assert len(waits) == 1


def test_an_index_that_cannot_be_written_is_built_side_by_side(tmp_path: Path) -> None:
    """Those that waited do not wait for each other as well."""
    index = tmp_path / "a.pfgenidx"
    waiting, inside = threading.Semaphore(0), threading.Barrier(3, timeout=5)

    def build() -> None:
        with index_cache.alone(index, waiting.release):
            inside.wait()

    with ThreadPoolExecutor(3) as pool:
        with index_cache.alone(index, lambda: None):
            running = [pool.submit(build) for _ in range(3)]
            for _ in running:
                assert waiting.acquire(timeout=60)
        for process in running:
            process.result()
    assert list(tmp_path.iterdir()) == []
