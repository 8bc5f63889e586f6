"""The cached index: used when it is right, told and built again when it is not, never in the way."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import helpers
from pfgen_rs import Benchmark, Settings, load_benchmark
from pfgen_rs.questions import index_cache

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
    assert again.baselines(again["Q01"]) == load_benchmark(folder).baselines(again["Q01"])
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


def test_a_folder_in_the_files_place_is_told(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    built = scores(load_benchmark(folder))
    path = only_file()
    path.unlink()
    path.mkdir()
    caplog.set_level(logging.INFO, LOGGER)
    assert scores(load_benchmark(folder)) == built
    assert len(reports(caplog)) == 2  # it cannot be read, and not be replaced
    path.rmdir()


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
        "print(bench.prepare().baselines(bench['Q01']))\n"
    )
    cache = tmp_path / "full"
    environment = helpers.environment(PFGEN_RS_CACHE=str(cache))
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    benchmark = load_benchmark(folder)
    assert done.stdout.strip() == str(benchmark.baselines(benchmark["Q01"]))
    assert list((cache / "indexes").iterdir()) == []


def test_processes_and_threads_at_once(folder: Path, tmp_path: Path) -> None:
    script = (
        "import sys, pfgen_rs\n"
        "bench = pfgen_rs.load_benchmark(sys.argv[1]).prepare()\n"
        "print(bench.score('Q01', '猫は眠ります。').average)\n"
    )
    environment = helpers.environment(PFGEN_RS_CACHE=str(tmp_path / "shared"))
    command = [sys.executable, "-c", script, str(folder)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
        for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in running}) == 1
    assert not any(process.returncode for process in running)
    assert len(list((tmp_path / "shared" / "indexes").iterdir())) == 1
    benchmark = load_benchmark(folder)
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: benchmark.score("Q02", "海").average, range(32)))) == 1


def test_what_is_in_use_may_be_cleared(folder: Path) -> None:
    load_benchmark(folder).prepare()
    user = load_benchmark(folder).prepare()
    before = scores(user)
    assert [file.path for file in index_cache.clear_index_cache()] == [user.index_path]
    assert scores(user) == before
    assert index_cache.clear_index_cache() == []


def test_leftovers_of_a_killed_process_are_listed_and_cleared(folder: Path) -> None:
    load_benchmark(folder).prepare()
    path = only_file()
    path.with_name(f".{path.name}.0123.tmp").write_bytes(b"begun")
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
