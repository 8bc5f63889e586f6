"""Installing in real processes: full disks, interrupts, kills and races."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from install_sources import FILES, Server, assert_installed, entry_of, leftovers
from pfgen_rs.install import installer, store
from pfgen_rs.install.store import CatalogEntry

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
def test_full_disk(by_download: bool, good: Path, server: Server, cache: Path) -> None:
    path = installer.install("tiny", good)
    source = f"{server.url}/good" if by_download else str(good)
    with child(entry_of(FILES, "4567"), source, file_limit=40) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "")
    assert out.startswith(f"{path}: cannot store tiny: File too large; free some space or set")
    assert leftovers(cache) == []
    assert_installed(path)
    assert [found.revision for found in store.installed()] == ["0123abcd"]


@posix
def test_interrupt_keeps_what_was_installed(good: Path, server: Server, cache: Path) -> None:
    path = installer.install("tiny", good)
    newer = entry_of(FILES, "4567")
    with child(newer, f"{server.url}/stalls", report=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "100\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    assert leftovers(cache) == []
    assert_installed(path)


@posix
def test_killed_install_harms_nothing(good: Path, server: Server, cache: Path) -> None:
    with child(entry_of(FILES), f"{server.url}/stalls", report=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "100\n"
        process.kill()
        process.communicate(timeout=60)
    assert len(leftovers(cache)) == 1
    assert store.installed() == []
    assert_installed(installer.install("tiny", good))


@posix
def test_concurrent_processes(good: Path, cache: Path) -> None:
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(child(entry_of(FILES), str(good))) for _ in range(4)]
        for process in started:
            assert process.communicate(timeout=60) == ("", "")
            assert process.returncode == 0
    assert_installed(cache / "benchmarks" / "tiny")
    assert leftovers(cache) == []
