"""Files appear whole or not at all, and what killed writers leave is removed by the next."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers import TIMEOUT, environment, pfgen, write_benchmark, write_run
from pfgen_rs import OutputError
from pfgen_rs.checkout.checkout import remove_unfinished
from pfgen_rs.io import atomic
from pfgen_rs.io.atomic import new_file, own, write_atomic


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o027])
def test_permissions_follow_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_atomic(tmp_path / "new.json", b"1")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o666 & ~mask


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "result.json"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        write_atomic(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["folder", "file/result.json", "a" * 300])
def test_places_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        write_atomic(tmp_path / name, b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


WRITING = """
import sys, time
from pathlib import Path
from pfgen_rs.io.atomic import new_file
temporary, file = new_file(Path(sys.argv[1]))
file.write(b"half")
file.flush()
print("writing", flush=True)
time.sleep(60)
"""


def temporary_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(".*.tmp"))


def killed(command: list[str | Path], *, after: float = 0.0) -> None:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment())
    assert process.stdout is not None
    if after:
        time.sleep(after)
    else:
        assert process.stdout.readline() == b"writing\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=TIMEOUT)


@posix
def test_what_a_kill_left_is_removed_by_the_next_run_of_the_same_command(tmp_path: Path) -> None:
    run, bench = write_run(tmp_path / "run"), write_benchmark(tmp_path / "bench")
    out = tmp_path / "out"
    out.mkdir()
    for name in ("o.parquet", "result.json", "other"):
        killed([sys.executable, "-c", WRITING, out / name])
    assert len(temporary_files(out)) == 3
    command = ("score", run, f"--benchmark={bench}", f"--out={out}")
    done = pfgen(*command, f"--per-response={out / 'o.parquet'}")
    assert done.returncode == 0, done.stderr
    [left] = temporary_files(out)  # of another file
    assert left.name.startswith(".other.")


@posix
def test_what_another_process_is_writing_stays(tmp_path: Path) -> None:
    path = tmp_path / "x"
    temporary, file = new_file(path)
    with file:
        file.write(b"half")
        file.flush()
        write_atomic(path, b"whole")
        empty, another = new_file(path)
        with another:
            write_atomic(path, b"again")
            remove_unfinished(tmp_path)  # as a report does, of any file
            assert temporary_files(tmp_path) == sorted([temporary, empty])
    write_atomic(path, b"last")
    assert temporary_files(tmp_path) == []


@posix
def test_a_file_removed_before_it_was_marked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def own_late(handle: int, path: Path) -> bool:
        if not made:
            remove_unfinished(tmp_path)  # as another process might
        made.append(path)
        return own(handle, path)

    monkeypatch.setattr(atomic, "own", own_late)
    write_atomic(tmp_path / "x", b"whole")
    assert len(made) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@posix
def test_an_index_that_was_cut_off_leaves_nothing_for_long(tmp_path: Path) -> None:
    bench, cache = write_benchmark(tmp_path / "bench"), tmp_path / "cache"
    env = {"PFGEN_RS_CACHE": str(cache)}
    assert pfgen("index", "build", "-b", bench, env=env).returncode == 0
    [index] = (cache / "indexes").glob("*.pfgenidx")
    index.unlink()
    killed([sys.executable, "-c", WRITING, index])
    assert len(temporary_files(cache / "indexes")) == 1
    assert pfgen("index", "build", "-b", bench, env=env).returncode == 0
    assert temporary_files(cache / "indexes") == []
