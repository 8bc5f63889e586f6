"""The checks of wheels and sdist find what is wrong, and say what they could not check."""

from __future__ import annotations

import io
import os
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import release.__main__ as command
from release import archives, emulated, environments
from release.commands import needed, output
from release.environments import KNOWN, Interpreter, compared
from release.outcomes import (
    CheckFailedError,
    CheckSkippedError,
    Outcome,
    checked,
    exit_status,
    table,
)

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX programs")
WHEEL = Path("pfgen_rs-0.2.0-cp311-abi3-manylinux2014_aarch64.manylinux_2_17_aarch64.whl")
SHOWN = """{name}
is consistent with the following platform
tag: "manylinux_{glibc}_aarch64".
"""
FOUND: dict[str, Any] = {
    "machine": "aarch64",
    "python": "3.12.1",
    "version": "0.2.0",
    "scores": {run: {"score": score, "fluency": "0.5"} for run, score in KNOWN.items()},
}


def raising(error: Exception) -> Callable[[], str]:
    def run() -> str:
        raise error

    return run


def answering(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Commands of `archives` print this."""
    monkeypatch.setattr(archives, "output", lambda _words: text)


def sdist_of(folder: Path, *names: str, content: bytes = b"") -> Path:
    path = folder / "pfgen_rs-0.2.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(f"pfgen_rs-0.2.0/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_every_check_has_a_line_and_what_was_skipped_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcomes = [
        checked("a", lambda: "found"),
        checked("longer", raising(CheckSkippedError("no qemu"))),
        checked("c", raising(CheckFailedError("first\nsecond"))),
    ]
    assert [line.split(maxsplit=4)[-1] for line in table(outcomes).splitlines()[:3]] == [
        "found",
        "no qemu",
        "first",
    ]
    assert table(outcomes).splitlines()[-1] == "1 ok, 1 skipped, 1 FAILED"
    assert "second" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("states", "status", "strictly"),
    [(["ok"], 0, 0), (["ok", "skipped"], 0, 1), (["skipped", "FAILED"], 1, 1), ([], 0, 0)],
)
def test_what_was_skipped_fails_a_strict_check(
    states: list[Any], status: int, strictly: int
) -> None:
    outcomes = [Outcome("a", state, "") for state in states]
    assert exit_status(outcomes, strict=False) == status
    assert exit_status(outcomes, strict=True) == strictly


def test_a_command_that_fails_shows_its_end() -> None:
    code = "print(*range(99), sep='\\n'); raise SystemExit(3)"
    with pytest.raises(CheckFailedError, match=r"ended with 3\n87\n(.*\n)+98$"):
        output([sys.executable, "-c", code])


def test_commands_do_not_find_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    text = output([sys.executable, "-c", "import os; print(os.environ.get('PYTHONPATH'))"])
    assert text.strip() == "None"


def test_a_missing_tool_is_said() -> None:
    with pytest.raises(CheckSkippedError, match=r"no-such-tool is not installed \(Debian\)"):
        needed("no-such-tool", "Debian")


def test_an_emulator_that_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckSkippedError, match="qemu-aarch64 is not installed"):
        emulated.check_emulated(WHEEL, "aarch64", Path("python"), tmp_path, "0.2.0", None)


def test_a_target_that_rust_lacks_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "output", lambda _words: f"{tmp_path / 'lib'}\n")
    with pytest.raises(CheckSkippedError, match="rustup target add aarch64-unknown-linux-gnu"):
        command._cross("aarch64")


def test_an_sdist_has_all_and_nothing_that_was_built(tmp_path: Path) -> None:
    whole = sdist_of(tmp_path, *archives.WANTED)
    assert archives.sdist_content(whole).startswith(f"{len(archives.WANTED)} files")
    few = sdist_of(tmp_path, *(name for name in archives.WANTED if "mini-en" not in name))
    with pytest.raises(CheckFailedError, match="lacks data/mini-en/questions"):
        archives.sdist_content(few)


@pytest.mark.parametrize(
    "name",
    ["tests/__pycache__/a.pyc", "target/x", "python/pfgen_rs/_native.abi3.so", ".venv-llm/a"],
)
def test_what_was_built_is_found_in_an_sdist(tmp_path: Path, name: str) -> None:
    with pytest.raises(CheckFailedError, match=f"has {name}"):
        archives.sdist_content(sdist_of(tmp_path, *archives.WANTED, name))


def test_folders_of_the_machine_are_found(tmp_path: Path) -> None:
    home = Path("/home/someone/project")
    with pytest.raises(CheckFailedError, match=r"names folders of this machine in .*a\.txt"):
        archives.traces(sdist_of(tmp_path, "a.txt", content=str(home).encode()), [home])
    wheel = tmp_path / WHEEL
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a.so", b"\0/home/someone/project/rust\0")
    with pytest.raises(CheckFailedError, match=r"a\.so"):
        archives.traces(wheel, [home])
    assert archives.traces(wheel, [Path("/home/another/project")])


def test_a_wheel_asks_for_the_glibc_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, SHOWN.format(name=WHEEL, glibc="2_17"))
    assert archives.manylinux(WHEEL, Path("python")) == "glibc 2.17, no other libraries"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (SHOWN.format(name=WHEEL, glibc="2_34"), WHEEL.name, "asks for glibc 2.34"),
        (
            SHOWN.format(name=WHEEL, glibc="2_34"),
            "a-cp311-abi3-manylinux_2_34_aarch64.whl",
            "asks for glibc 2.34",
        ),
        (SHOWN.format(name=WHEEL, glibc="2_17"), "a-linux_aarch64.whl", "asks for glibc 2.17"),
        (
            SHOWN.format(name=WHEEL, glibc="2_17")
            + "The following external shared libraries are\nrequired by the wheel: libgomp.so.1",
            WHEEL.name,
            "libraries that a machine may lack",
        ),
        ("linux_aarch64", WHEEL.name, "no manylinux tag"),
    ],
)
def test_a_wheel_for_few_machines_is_found(
    monkeypatch: pytest.MonkeyPatch, text: str, name: str, message: str
) -> None:
    answering(monkeypatch, text)
    with pytest.raises(CheckFailedError, match=message):
        archives.manylinux(Path(name), Path("python"))


def test_violations_of_the_stable_interface_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    auditor = tmp_path / "abi3audit"
    with pytest.raises(CheckSkippedError, match="abi3audit could not be installed"):
        archives.abi3(WHEEL, auditor)
    auditor.touch()
    line = (
        f"{WHEEL}: 1 extensions scanned; 0 ABI version mismatches and\n {{}} ABI violations found"
    )
    answering(monkeypatch, line.format(0))
    assert archives.abi3(WHEEL, auditor)
    answering(monkeypatch, line.format(10))
    with pytest.raises(CheckFailedError, match="10 ABI violations"):
        archives.abi3(WHEEL, auditor)
    with pytest.raises(CheckFailedError, match="not tagged"):
        archives.abi3(Path("pfgen_rs-0.2.0-cp311-cp311-linux_aarch64.whl"), auditor)


def test_a_file_that_twine_does_not_pass_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "Checking a: PASSED\nChecking b: FAILED")
    with pytest.raises(CheckFailedError, match="passes 1 of 2"):
        archives.metadata([Path("a"), Path("b")], Path("python"))


def test_figures_are_compared_to_the_last_bit() -> None:
    printed = "pfgen|v:0.2.0\n"
    said = compared(FOUND, "0.2.0", printed, FOUND)
    assert said == "Python 3.12.1 on aarch64: 0.8256, 0.4594, 0.1063"
    other = {**FOUND, "scores": {**FOUND["scores"], "babbling": {"score": "0.1063"}}}
    with pytest.raises(CheckFailedError, match="figures differ"):
        compared(FOUND, "0.2.0", printed, other)
    changed = {**FOUND, "scores": {run: {"score": "0.5"} for run in KNOWN}}
    with pytest.raises(CheckFailedError, match="the bundled runs score"):
        compared(changed, "0.2.0", printed, None)
    with pytest.raises(CheckFailedError, match=r"expected v:0\.3\.0"):
        compared(FOUND, "0.3.0", printed, None)


def test_the_probe_scores_the_bundled_runs_as_known(tmp_path: Path) -> None:
    python_path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    found = environments.probe([sys.executable], tmp_path, python_path)
    scores = {run: figures["score"] for run, figures in found["scores"].items()}
    assert scores == KNOWN


@posix
def test_interpreters_are_those_that_run_and_are_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {
        "python3.11": "3 11 2",
        "python3.10": "3 10 9",
        "python3.12": "",
        "python3": "3 13 1",
    }
    for folder, patch in (("a", "0"), ("b", "1")):
        (tmp_path / folder).mkdir()
        for name, version in versions.items():
            path = tmp_path / folder / name
            path.write_text(f"#!/bin/sh\necho {version and version + patch}\n")
            path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'a'}{os.pathsep}{tmp_path / 'b'}")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert environments.interpreters() == [Interpreter((3, 11, 21), tmp_path / "b" / "python3.11")]


def test_the_target_for_another_processor_is_the_other() -> None:
    assert emulated.is_native("x86_64") != emulated.is_native("aarch64")
    assert archives.machine_of(WHEEL) == "aarch64"
    with pytest.raises(CheckFailedError):
        archives.machine_of(Path("pfgen_rs-0.2.0-cp311-abi3-win_amd64.whl"))
