"""The store: repair, replacement, lost races, full disks, kills, and the published data."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import install_sources as made
from pfgen_rs.errors import InstallError
from pfgen_rs.install import installer, store
from pfgen_rs.install.store import CatalogEntry

NEWER = {**made.FILES, "data/Q03.json": b'{"question_id": "Q03"}\n'}


@pytest.mark.parametrize("name", ["", ".", "..", "../tiny", "/tiny", "a/b", ".tiny", "a\\b"])
def test_a_path_is_no_name(name: str, good: Path) -> None:
    installer.install("tiny", good)
    assert store.installed_path(name) is None
    with pytest.raises(InstallError, match="expected one of tiny"):
        installer.install(name, good)


def test_what_is_installed_is_told_and_not_installed_again(
    good: Path, cache: Path, tmp_path: Path
) -> None:
    assert (store.installed(), store.installed_path("tiny")) == ([], None)
    assert not cache.exists()
    path = installer.install("tiny", good)
    assert store.installed() == [store.Installed("tiny", path, "0123abcd", 2)]
    assert store.installed_path("tiny") == path
    before = path.stat()
    assert installer.install("tiny", tmp_path / "absent") == path
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


HARMS: dict[str, tuple[str, bytes | None]] = {
    "spoil": ("Q01.json", b"[]"),
    "remove a file": ("Q01.json", None),
    "remove the record": ("installed.json", None),
    "spoil the record": ("installed.json", b"[1, 2]"),
    "add a question": ("Q99.json", b"{}"),
}


def harmed(path: Path, harm: str) -> None:
    name, content = HARMS[harm]
    if content is None:
        (path / name).unlink()
    else:
        (path / name).write_bytes(content)


@pytest.mark.parametrize("harm", HARMS)
def test_damaged_installation_is_repaired(harm: str, good: Path, cache: Path) -> None:
    harmed(installer.install("tiny", good), harm)
    is_listed = harm in ("spoil", "add a question")  # files are not checked again
    assert [found.name for found in store.installed()] == ["tiny"] * is_listed
    made.assert_installed(installer.install("tiny", good))
    assert made.leftovers(cache) == []


@pytest.mark.parametrize("in_the_way", ["file", "folder", "dangling"])
def test_what_lies_in_the_way_is_replaced(in_the_way: str, good: Path, cache: Path) -> None:
    place = cache / "benchmarks" / "tiny"
    place.parent.mkdir(parents=True)
    if in_the_way == "file":
        place.write_text("x")
    elif in_the_way == "folder":
        place.mkdir()
    else:
        place.symlink_to(cache / "absent")
    made.assert_installed(installer.install("tiny", good))
    assert made.leftovers(cache) == []


def test_newer_revision_replaces_older(
    good: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installer.install("tiny", good)
    made.use(monkeypatch, made.entry_of(NEWER, "4567"))
    assert [found.revision for found in store.installed()] == ["0123abcd"]
    path = installer.install("tiny", made.saved(tmp_path, made.tar_gz(made.in_tree(NEWER))))
    made.assert_installed(path, NEWER)
    assert [(found.revision, found.questions) for found in store.installed()] == [("4567", 3)]
    assert made.leftovers(cache) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), PermissionError(13, "Permission denied")])
def test_failed_swap_restores_the_older(
    error: BaseException, good: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = installer.install("tiny", good)
    made.use(monkeypatch, made.entry_of(NEWER, "4567"))
    rename = Path.rename

    def fails_at_the_last_step(self: Path, target: Path) -> Path:
        if self.name == "files":
            assert not path.exists()
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_at_the_last_step)
    with pytest.raises((InstallError, KeyboardInterrupt)):
        installer.install("tiny", made.saved(tmp_path, made.tar_gz(made.in_tree(NEWER))))
    made.assert_installed(path)
    assert made.leftovers(cache) == []


@pytest.mark.parametrize("moment", ["tiny", "files"], ids=["taken-away", "filled-before"])
def test_lost_race_is_no_error(
    moment: str, good: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harmed(installer.install("tiny", good), "spoil")
    rename = Path.rename

    def after_another_process(self: Path, target: Path) -> Path:
        if self.name == moment:
            monkeypatch.setattr(Path, "rename", rename)
            if moment == "tiny":
                shutil.rmtree(self)
            else:
                installer.install("tiny", good)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", after_another_process)
    made.assert_installed(installer.install("tiny", good))
    assert made.leftovers(cache) == []


def test_old_leftovers_are_removed_and_fresh_ones_kept(good: Path, cache: Path) -> None:
    old, fresh = (cache / "benchmarks" / f".tiny.{age}.tmp" for age in ("old", "fresh"))
    for folder in (old, fresh):
        (folder / "files").mkdir(parents=True)
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    installer.install("tiny", good)
    assert made.leftovers(cache) == [".tiny.fresh.tmp"]


def test_unusable_store(good: Path, cache: Path) -> None:
    cache.write_text("a file where the cache should be")
    with pytest.raises(InstallError, match=r"cannot store tiny: .*set PFGEN_RS_CACHE"):
        installer.install("tiny", good)


def test_default_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PFGEN_RS_CACHE")
    assert store.place("tiny").parts[-2:] == ("benchmarks", "tiny")
    assert "pfgen_rs" in store.place("tiny").parts


CHILD = """
import json, resource, sys
from pfgen_rs.errors import InstallError
from pfgen_rs.install import installer, store

given = json.loads(sys.argv[1])
entry = store.CatalogEntry("tiny", "http://127.0.0.1:9/", given["revision"], given["digests"])
store.known = lambda: {"tiny": entry}
if given["file_limit"]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (given["file_limit"], given["file_limit"]))
report = (lambda done, total: print(done, flush=True)) if given["report"] else None
try:
    installer.install("tiny", given["source"], report)
except InstallError as error:
    print(error)
    sys.exit(3)
"""


def child(
    entry: CatalogEntry, source: str, *, file_limit: int = 0, report: bool = False
) -> subprocess.Popen[str]:
    given = {
        "revision": entry.revision,
        "digests": dict(entry.digests),
        "source": source,
        "file_limit": file_limit,
        "report": report,
    }
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps(given)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")


@posix
@pytest.mark.parametrize("by_download", [False, True], ids=["file", "download"])
def test_full_disk(by_download: bool, good: Path, server: made.Server, cache: Path) -> None:
    path = installer.install("tiny", good)
    source = f"{server.url}/good" if by_download else str(good)
    with child(made.entry_of(made.FILES, "4567"), source, file_limit=40) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "")
    assert out.startswith(f"{path}: cannot store tiny: File too large; free some space or set")
    assert made.leftovers(cache) == []
    made.assert_installed(path)
    assert [found.revision for found in store.installed()] == ["0123abcd"]


@posix
def test_interrupt_keeps_what_was_installed(good: Path, server: made.Server, cache: Path) -> None:
    path = installer.install("tiny", good)
    newer = made.entry_of(made.FILES, "4567")
    with child(newer, f"{server.url}/stalls", report=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "100\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    assert made.leftovers(cache) == []
    made.assert_installed(path)


@posix
def test_killed_install_harms_nothing(good: Path, server: made.Server, cache: Path) -> None:
    with child(made.entry_of(made.FILES), f"{server.url}/stalls", report=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "100\n"
        process.kill()
        process.communicate(timeout=60)
    assert len(made.leftovers(cache)) == 1
    assert store.installed() == []
    made.assert_installed(installer.install("tiny", good))


@posix
def test_concurrent_processes(good: Path, cache: Path) -> None:
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(child(made.entry_of(made.FILES), str(good))) for _ in range(4)
        ]
        for process in started:
            assert process.communicate(timeout=60) == ("", "")
            assert process.returncode == 0
    made.assert_installed(cache / "benchmarks" / "tiny")
    assert made.leftovers(cache) == []


@pytest.mark.published
@pytest.mark.parametrize("kind", ["archive", "checkout", "data"])
def test_published_files(
    kind: str, published_archive: Path, checkout: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.use(monkeypatch, made.PUBLISHED)
    sources = {"archive": published_archive, "checkout": checkout, "data": checkout / "data"}
    path = installer.install(source=sources[kind])
    assert path == cache / "benchmarks" / "pfgen-bench"
    assert [(i.revision, i.questions) for i in store.installed()] == [(made.PUBLISHED.revision, 50)]
    assert installer.install() == path
    for name in made.PUBLISHED.files:
        assert (path / name).read_bytes() == (checkout / "data" / name).read_bytes()


def test_every_published_file_has_a_digest_and_a_name_of_its_own() -> None:
    questions = [f"data/Q{number:02}.json" for number in range(1, 51)]
    assert list(made.PUBLISHED.digests) == [*questions, "data/questions.jsonl"]
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in made.PUBLISHED.digests.values())
    assert len(made.PUBLISHED.files) == len(made.PUBLISHED.digests)
    assert made.PUBLISHED.revision in made.PUBLISHED.url
