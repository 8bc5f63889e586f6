"""Builds wheels and sdist and checks them, as `make release-check` does.

    python -m release [--strict] [ARCHIVE...]

Given wheels or sdists, it only installs them for the Python that runs it, and scores. Otherwise everything is
built into dist/. Checks that this machine cannot make stand in the table at the end, with what
is missing; with `--strict` they count as failures.
"""

from __future__ import annotations

import argparse
import functools
import platform
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from release import archives
from release.commands import output
from release.emulated import check_emulated, is_native
from release.environments import Found, Interpreter, compared, installed, interpreters, probe
from release.outcomes import (
    CheckFailedError,
    CheckSkippedError,
    Outcome,
    checked,
    exit_status,
    table,
)

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
WORK = ROOT / "target" / "release-check"
MACHINES = ("x86_64", "aarch64")


def main() -> None:
    """Build, check, print the table."""
    parser = argparse.ArgumentParser(prog="make release-check")
    parser.add_argument("--strict", action="store_true", help="fail if a check cannot be made")
    parser.add_argument("archives", nargs="*", type=Path, metavar="ARCHIVE")
    arguments = parser.parse_args()
    outcomes = list(_given(arguments.archives) if arguments.archives else _outcomes())
    print("\n" + table(outcomes))
    sys.exit(exit_status(outcomes, strict=arguments.strict))


def _given(files: Sequence[Path]) -> Iterator[Outcome]:
    version = (sys.version_info.major, sys.version_info.minor, sys.version_info.micro)
    interpreter = Interpreter(version, Path(sys.executable))
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-release-") as folder:
        for file in files:
            check = functools.partial(
                _in_empty, file.resolve(), interpreter, [], {}, Path(folder, "environment")
            )
            yield checked(f"{file.name}: score, Python {interpreter.label}", check)


def _outcomes() -> Iterator[Outcome]:
    WORK.mkdir(parents=True, exist_ok=True)
    for old in (*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")):
        old.unlink()
    yield checked("build sdist", functools.partial(_made, "sdist", "*.tar.gz"))
    yield checked(f"build wheel {platform.machine()}", functools.partial(_made, "wheel", "*.whl"))
    [other] = [machine for machine in MACHINES if machine != platform.machine()]
    yield checked(f"build wheel {other}", functools.partial(_cross, other))
    wheels, sdists = sorted(DIST.glob("*.whl")), sorted(DIST.glob("*.tar.gz"))
    yield from _read(wheels, sdists)
    reference: list[Found] = []
    yield checked("score in the checkout", functools.partial(_reference, reference))
    yield from _installed(wheels, sdists, reference)
    if not interpreters():
        yield checked("install", _no_interpreter)


def _made(target: str, pattern: str) -> str:
    before = set(DIST.glob(pattern))
    done = subprocess.run(["make", target], cwd=ROOT, check=False)
    made = sorted(set(DIST.glob(pattern)) - before)
    if done.returncode or len(made) != 1:
        raise CheckFailedError(
            f"make {target} ended with {done.returncode} and made {len(made)} files"
        )
    return f"{made[0].name}, {made[0].stat().st_size / 2**20:.1f} MiB"


def _cross(machine: str) -> str:
    rust = f"{machine}-unknown-linux-gnu"
    libraries = Path(output(["rustc", "--print", "target-libdir", "--target", rust]).strip())
    if not libraries.is_dir():
        raise CheckSkippedError(f"Rust cannot compile for {rust} here (rustup target add {rust})")
    return _made("cross-wheel", "*.whl")


def _read(wheels: list[Path], sdists: list[Path]) -> Iterator[Outcome]:
    python = Path(sys.executable)
    auditor = _auditor()
    yield checked("twine check", functools.partial(archives.metadata, [*sdists, *wheels], python))
    for wheel in wheels:
        name = f"wheel {archives.machine_of(wheel)}"
        yield checked(f"{name}: auditwheel", functools.partial(archives.manylinux, wheel, python))
        yield checked(f"{name}: abi3", functools.partial(archives.abi3, wheel, auditor))
    for sdist in sdists:
        yield checked("sdist: files", functools.partial(archives.sdist_content, sdist))
    # Native libraries name the folder of Cargo's registry, where their crates panic.
    folders = {".gz": [ROOT, Path.home()], ".whl": [ROOT]}
    for each in (*sdists, *wheels):
        name = "sdist" if each in sdists else f"wheel {archives.machine_of(each)}"
        run = functools.partial(archives.traces, each, folders[each.suffix])
        yield checked(f"{name}: paths", run)


def _auditor() -> Path:
    """abi3audit, in an environment of its own; it may be missing without the network."""
    program = WORK / "tools" / "bin" / "abi3audit"
    if not program.exists():
        try:
            output([sys.executable, "-m", "venv", WORK / "tools"])
            output(
                [WORK / "tools" / "bin" / "python", "-m", "pip", "install", "--quiet", "abi3audit"]
            )
        except CheckFailedError:
            pass
    return program


def _reference(reference: list[Found]) -> str:
    """What this checkout scores, for comparison to the last bit."""
    found = probe([sys.executable], WORK, {"PYTHONPATH": str(ROOT / "python")})
    printed = output([sys.executable, "-m", "pfgen_rs", "--version"], cwd=ROOT)
    reference.append(found)
    return compared(found, _version(), printed, None)


def _version() -> str:
    return str(tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"])


def _installed(wheels: list[Path], sdists: list[Path], reference: list[Found]) -> Iterator[Outcome]:
    for wheel in wheels:
        machine = archives.machine_of(wheel)
        if is_native(machine):
            yield from _everywhere(f"wheel {machine}", wheel, reference, {})
        else:
            folder = WORK / machine
            folder.mkdir(exist_ok=True)
            run = functools.partial(_emulated, wheel, machine, folder, reference)
            yield checked(f"wheel {machine}: score", run)
    for sdist in sdists:
        # Unpacked once, where pip would for each Python, so that Rust is compiled once; without the network,
        # and with the versions of Cargo.lock.
        offline = {
            "CARGO_NET_OFFLINE": "true",
            "CARGO_TARGET_DIR": str(WORK / "cargo"),
            "MATURIN_PEP517_ARGS": "--locked",
        }
        yield from _everywhere("sdist", _unpacked(sdist), reference, offline)


def _unpacked(sdist: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(WORK / "sdist", filter="data")
    return WORK / "sdist" / sdist.name.removesuffix(".tar.gz")


def _everywhere(
    name: str, what: Path, reference: list[Found], env: Mapping[str, str]
) -> Iterator[Outcome]:
    for interpreter in interpreters():
        folder = WORK / "environments" / interpreter.label
        run = functools.partial(_in_empty, what, interpreter, reference, env, folder)
        yield checked(f"{name}: score, Python {interpreter.label}", run)


def _in_empty(
    what: Path,
    interpreter: Interpreter,
    reference: list[Found],
    env: Mapping[str, str],
    folder: Path,
) -> str:
    python = installed(what, interpreter, folder, env)
    found = probe([python, "-I"], folder)
    if not Path(found["folder"]).is_relative_to(folder.resolve()):
        raise CheckFailedError(f"imports {found['folder']}, not what was installed")
    printed = output([python.with_name(f"pfgen-rs{python.suffix}"), "--version"], cwd=folder)
    return compared(found, _version(), printed, reference[0] if reference else None)


def _emulated(wheel: Path, machine: str, folder: Path, reference: list[Found]) -> str:
    python = Path(sys.executable)
    known = reference[0] if reference else None
    return check_emulated(wheel, machine, python, folder, _version(), known)


def _no_interpreter() -> str:
    raise CheckSkippedError("there is no Python 3.11 or newer with venv on PATH")


if __name__ == "__main__":
    main()
