"""What differs on Windows and macOS, simulated: locks, renames, names, commands, streams and clocks."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from builds import prepare
from helpers import environment, pfgen, python
from pfgen_rs import OutputError, SettingsError
from pfgen_rs.ask.journal import Journal, _offset
from pfgen_rs.cli import app, process, terminal
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.io import atomic, locks
from pfgen_rs.io.atomic import temporary_copy, write_atomic
from pfgen_rs.io.run_files import result_names
from pfgen_rs.io.source import Source
from pfgen_rs.questions import index_cache
from pfgen_rs.references.pipeline import build

RUN = Path("data/mini/runs/faithful")


class Ranges:
    """`msvcrt.locking`: ranges of files that one handle has locked, from its current position on."""

    LK_UNLCK, LK_NBLCK = 0, 2

    def __init__(self) -> None:
        self.held: dict[tuple[int, int, int], int] = {}

    def locking(self, handle: int, mode: int, count: int) -> None:
        state = os.fstat(handle)
        at = os.lseek(handle, 0, os.SEEK_CUR)
        assert count == 1
        # Nobody else can read what is locked.
        assert state.st_size < at < 1 << 31 or not state.st_size
        place = (state.st_dev, state.st_ino, at)
        if mode == self.LK_UNLCK:
            if self.held.get(place) != handle:
                raise PermissionError(errno.EACCES, "not locked")
            del self.held[place]
        elif self.held.setdefault(place, handle) != handle:
            raise PermissionError(errno.EACCES, "locked")

    def closed(self, handle: int) -> None:
        self.held = {place: by for place, by in self.held.items() if by != handle}


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Ranges:
    """Locks are those of Windows, and what is open is neither renamed nor removed."""
    ranges = Ranges()
    monkeypatch.setattr(atomic, "WINDOWS", True)
    monkeypatch.setattr(atomic, "_PATIENCE", 0.2)
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", ranges)
    close = os.close

    def closed(handle: int) -> None:
        ranges.closed(handle)
        close(handle)

    monkeypatch.setattr(os, "close", closed)
    for name in ("unlink", "rename", "replace"):
        monkeypatch.setattr(Path, name, _unless_open(getattr(Path, name)))
    monkeypatch.setattr(os, "unlink", _unless_open(os.unlink))
    monkeypatch.setattr(os, "rmdir", _unless_open(os.rmdir))
    return ranges


def _unless_open(do: Callable[..., Any]) -> Callable[..., Any]:
    def done(path: Any, *others: Any, **options: Any) -> Any:
        place = path
        if options.get("dir_fd") is not None:  # of `shutil.rmtree`
            place = Path(f"/proc/self/fd/{options['dir_fd']}").readlink() / path
        if _open_below(Path(place)) or any(_open_below(Path(other)) for other in others):
            raise PermissionError(errno.EACCES, "in use", str(place))
        return do(path, *others, **options)

    return done


def _open_below(path: Path) -> list[str]:
    """Files at this path or below it that this process has open."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        try:
            target = handle.readlink()
            is_file = target.is_file()
        except OSError:
            continue
        if is_file and target.is_relative_to(path.resolve()):
            found.append(str(target))
    return found


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="simulates Windows by /proc")


# Locks


def test_one_handle_has_the_lock_of_a_file(windows: Ranges, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"content")
    one, other = (os.open(path, os.O_RDWR) for _ in range(2))
    os.lseek(one, 3, os.SEEK_SET)
    assert locks.lock(one)
    assert os.lseek(one, 0, os.SEEK_CUR) == 3
    assert not locks.lock(other)
    locks.unlock(one)
    assert locks.lock(other)
    os.close(one)
    os.close(other)
    assert not windows.held


def test_whoever_waits_for_a_lock_gets_it(windows: Ranges, tmp_path: Path) -> None:
    free, got = threading.Event(), threading.Event()

    def wait() -> None:
        with locks.locked(tmp_path):
            got.set()

    with locks.locked(tmp_path):
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not got.wait(0.3)
        free.set()
    waiting.join()
    assert got.is_set()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_in_use_is_not_waited_for(windows: Ranges, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with locks.locked(folder, wait=False) as first, locks.locked(folder, wait=False) as second:
        assert (first, second) == (True, False)
    with locks.locked(folder, wait=False) as again:
        assert again
        folder.rmdir()  # as its user may
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_goes_with_its_holder(windows: Ranges, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locks.alone_with(path) as first, locks.alone_with(path) as second:
        assert (first, second) == (True, False)
    assert not path.exists()
    with index_cache.alone(tmp_path / "a.pfgenidx", lambda: None):
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_journals_claim_records(windows: Ranges, tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "j.jsonl", ["id"]) as one,
        Journal(tmp_path / "j.jsonl", ["id"]) as other,
        one._claims_path.open("a+b") as elsewhere,
    ):
        place = elsewhere.fileno(), _offset((1,))
        assert one.claim((1,))
        assert not locks.lock(*place)  # as another process would find
        assert one.add({"id": 1})
        assert not other.add({"id": 1})
        one.release((1,))
        assert locks.lock(*place)
        assert one.claim((2,))
        with Journal(one.path, ["id"]):
            pass
        assert not other.claim((2,))  # the end of another of this process frees nothing


def test_claims_that_share_a_place_free_it_together(windows: Ranges, tmp_path: Path) -> None:
    twin = next(n for n in itertools.count(2) if _offset((n,)) == _offset((1,)))
    with (
        Journal(tmp_path / "j.jsonl", ["id"]) as one,
        one._claims_path.open("a+b") as elsewhere,
    ):
        place = elsewhere.fileno(), _offset((1,))
        assert one.claim((1,))
        assert one.claim((twin,))
        one.release((1,))
        one.release((1,))
        assert not locks.lock(*place)
        one.release((twin,))
        assert locks.lock(*place)
        assert not one.claim((1,))


# Renames


def test_a_file_that_is_open_for_a_moment_is_replaced(windows: Ranges, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    scanner = path.open("rb")
    closing = threading.Timer(0.05, scanner.close)
    closing.start()
    write_atomic(path, b"new")
    closing.join()
    assert path.read_bytes() == b"new"


def test_a_file_that_stays_open_is_an_error_for_people(windows: Ranges, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"old")
    with path.open("rb"), pytest.raises(OutputError, match=r"a.csv: cannot be written: in use"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]


def test_elsewhere_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waits"))
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(PermissionError):
        atomic.put_in_place(tmp_path / "a", tmp_path / "b")


# Temporary files


def test_a_copy_can_be_opened_again_and_goes_when_closed() -> None:
    copy = temporary_copy(".csv")
    copy.write(b"abc")
    copy.flush()
    assert copy.name.endswith(".csv")
    assert Path(copy.name).read_bytes() == b"abc"
    copy.close()
    assert not Path(copy.name).exists()
    copy.close()


def test_a_copy_that_is_in_use_goes_at_the_end(windows: Ranges) -> None:
    copy = temporary_copy("")
    with Path(copy.name).open("rb"):
        copy.close()
        assert Path(copy.name).exists()
    atomic.remove_temporary_files()
    assert not Path(copy.name).exists()


def test_a_fork_leaves_the_copies() -> None:
    program = """
import os
from pfgen_rs.io.atomic import temporary_copy
copy = temporary_copy("")
if (child := os.fork()) == 0:
    raise SystemExit
os.waitpid(child, 0)
assert os.path.exists(copy.name)
print(copy.name)
"""
    done = python(program)
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists()  # at the end of the process, at the latest


def test_a_pipe_is_read_twice(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=lambda: pipe.write_bytes(b"line\n"))
    writing.start()
    source = Source(pipe)
    name = source.file()
    writing.join()
    with source.open() as again:
        assert again.read() == b"line\n"
    del source, again
    assert not Path(name).exists()


# Names


PORTABLE = [("con", "con_"), ("NUL", "NUL_"), ("aux.v2", "aux_.v2"), ("com1 .x", "com1_.x")]
PORTABLE += [("LPT³", "LPT³_"), ("v1.", "v1_"), ("v1 ", "v1_")]
PORTABLE += [(name, name) for name in ("con-7b", "com10", "コン")]


def test_names_are_those_of_folders_everywhere() -> None:
    for name, portable in PORTABLE:
        assert atomic.portable_name(name) == atomic.portable_name(portable) == portable
    named = [("a.jsonl", name) for name in ("con", "gemma:2b.", "b")]
    assert result_names(named) == ["con_", "gemma__2b_", "b"]


def test_runs_windows_cannot_have(windows: Ranges, monkeypatch: pytest.MonkeyPatch) -> None:
    models = ["org/gemma:2b", "aux/model", "org/nul.txt", "org/model.", "a/b?"]
    for model in models:
        with pytest.raises(SettingsError, match=r"invalid run name .* Windows .*: set --name"):
            RunConfig(model=model, engine="vllm", mode="qa")
    monkeypatch.setattr(atomic, "WINDOWS", False)
    for model in models:
        assert RunConfig(model=model, engine="vllm", mode="qa").model == model


def test_commands_are_split_as_their_system_does(monkeypatch: pytest.MonkeyPatch) -> None:
    command = r'"C:\Program Files\py.exe" D:\a\b.py --name it\'s "two words" x"y z"'
    assert atomic.command_words("a 'b c' d\\ e") == ["a", "b c", "d e"]
    monkeypatch.setattr(atomic, "WINDOWS", True)
    found = atomic.command_words(command.replace("\\'", "'"))
    assert found[:2] == [r"C:\Program Files\py.exe", r"D:\a\b.py"]
    assert found[2:] == ["--name", "it's", "two words", "xy z"]
    with pytest.raises(ValueError, match="quotation"):
        atomic.command_words('a "b')


# Streams


@pytest.mark.parametrize(
    ("code", "is_windows", "gone"),
    [
        *[(errno.EPIPE, False, True), (errno.EPIPE, True, True), (errno.EINVAL, True, True)],
        *[(errno.EINVAL, False, False), (errno.ENOSPC, True, False)],
    ],
)
def test_a_reader_that_is_gone_ends_a_command_quietly(
    code: int, is_windows: bool, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(atomic, "WINDOWS", is_windows)
    monkeypatch.setattr(process, "_discard_output", lambda: None)
    assert atomic.is_reader_gone(OSError(code, "")) is gone
    raw = _Stream()
    stream = process._StandardOutput.of(io.TextIOWrapper(raw, encoding="utf-8"))
    stream.write("x")
    monkeypatch.setattr(raw, "write", fail)
    with pytest.raises((OutputError, RuntimeError)) as raised:
        stream.flush()
    assert isinstance(raised.value, OutputError) is not gone
    assert getattr(raised.value, "exit_code", None) == (141 if gone else None)
    monkeypatch.undo()


class _Stream(io.BytesIO):
    """One whose methods can be replaced."""


COMMANDS: list[tuple[str | Path, ...]] = [
    *[("score", RUN), ("score", RUN, "--format", "json"), ("score", RUN, "--format", "csv")],
    *[("score", "無い.jsonl"), ("data", "list"), ("--help",), ("score", "--help")],
    ("explain", "Q02", "光合成は、植物が光を使って養分をつくる働きです。"),
    ("compare", RUN, RUN.with_name("careless"), "--questions", "3"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(map(str, command[:4:3])))
def test_a_japanese_code_page_shows_the_same(command: tuple[str | Path, ...]) -> None:
    """Streams to files are in cp932 on a Japanese Windows."""
    shown = pfgen(*command)
    encoded = environment(PYTHONIOENCODING="cp932", PYTHONUTF8="0")
    arguments = ("-X", "warn_default_encoding", "-W", "error::EncodingWarning", "-m", "pfgen_rs")
    done = subprocess.run([sys.executable, *arguments, *command], capture_output=True, env=encoded)
    assert done.returncode == shown.returncode
    texts = (done.stdout.decode("cp932"), done.stderr.decode("cp932"))
    assert "\\u" not in "".join(texts) or "json" in command
    assert "\\x" not in "".join(texts)
    assert "Traceback" not in texts[1]
    if "json" in command:
        assert json.loads(texts[0]) == json.loads(shown.stdout)
    else:
        assert _words(texts[0]) == _words(shown.stdout)
        assert _words(texts[1]) == _words(shown.stderr)


def _words(text: str) -> set[str]:
    """All but marks and frames, which differ."""
    return set(re.findall(r"\w+", text))


def test_marks_that_a_stream_lacks_are_replaced() -> None:
    for encoding, expected in (("cp932", "a - b / ±\\udcff -"), ("utf-8", "a – b · ±\\udcff –")):
        assert "a – b · ±\udcff –".encode(encoding, process._SPELLED).decode(encoding) == expected


# Clocks


def test_a_clock_that_stands_still_stops_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)
    source = Source(RUN)
    with terminal.scoring([source]) as update:
        for done in (10, 20):
            update(source, done, 5)


# Whole commands, which leave nothing hidden behind


ANSWER = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "answer": "光合成です。"}), flush=True)
"""


def commands(folder: Path) -> dict[str, tuple[str | Path, ...]]:
    program = folder / "program.py"
    program.write_text(ANSWER, encoding="utf-8")
    careless = RUN.with_name("careless")
    engine = f'"{sys.executable}" {program}'
    trials = ("-b", "mini", "--trials", "2", "--out", folder / "runs")
    return {
        "table": ("score", RUN, "--per-response", folder / "scores.parquet"),
        "lines": ("score", RUN, "--per-response", folder / "scores.jsonl"),
        "results": ("score", RUN, careless, "--out", folder / "results"),
        "page": ("compare", RUN, careless, "--html", folder / "page.html"),
        "generate": ("generate", "o/m", "--engine", "command", "--command", engine, *trials),
        "index": ("index", "build"),
    }


@pytest.mark.parametrize("name", ["table", "lines", "results", "page", "generate", "index", "set"])
def test_commands_end_well_twice(name: str, windows: Ranges, tmp_path: Path) -> None:
    config = prepare(tmp_path) if name == "set" else None
    for _ in range(2):
        if config is not None:
            build(config)
            continue
        done = CliRunner().invoke(app.app, list(map(str, commands(tmp_path)[name])))
        assert done.exit_code == 0, done.output
    assert [path for path in tmp_path.rglob(".*") if path.suffix != ".claims"] == []
