"""A cached index that is changed while it is used, or that is no regular file: never a wrong score."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import helpers
from pfgen_rs import load_benchmark
from pfgen_rs.questions import index_cache

SECONDS = 60
"""Until a process counts as hanging."""

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Question files of the tiny benchmark."""
    return helpers.write_benchmark(tmp_path / "questions")


def run(script: str, *arguments: object, cache: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=helpers.environment(PFGEN_RS_CACHE=str(cache)),
        check=False,
    )


@pytest.mark.parametrize("kind", ["zeros", "ones", "random", "cut short", "longer"])
def test_a_change_in_place_reaches_no_scorer(kind: str, folder: Path, tmp_path: Path) -> None:
    done = run(CHANGED, folder, kind, cache=tmp_path / "changed")
    assert (done.returncode, done.stdout) == (0, "as before\n"), done.stderr
    told = [line for line in done.stderr.splitlines() if "rebuilding it" in line]
    assert len(told) == 2  # by those that had not read everything


READ = """
import sys, pfgen_rs
print(pfgen_rs.load_benchmark(sys.argv[1]).score("Q01", "猫は眠ります。").average)
print(pfgen_rs.load_benchmark(sys.argv[1]).prepare().score("Q01", "猫は眠ります。").average)
"""


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
    done = run(READ, folder, cache=cache)
    assert (done.returncode, done.stdout) == (0, f"{expected}\n" * 2), done.stderr
    told = [
        line for line in done.stderr.splitlines() if "not a regular file; rebuilding it" in line
    ]
    assert len(told) == 2
    assert all(str(path) in line for line in told)
    if kind != "folder":  # replaced by the second benchmark, which built all questions
        assert path.is_file()
        assert not path.is_symlink()
