"""Wheels for another processor, run by an emulator: a Python of Debian or Ubuntu, unpacked.

Nothing is installed on the machine: packages are looked up with lists of their own, and only unpacked.
"""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from release.commands import needed, output
from release.environments import Found, compared, probe
from release.outcomes import CheckFailedError, CheckSkippedError

__all__ = ["check_emulated"]

DEBIAN = {"aarch64": "arm64", "x86_64": "amd64"}
PACKAGES = ("python3", "libstdc++6")


def check_emulated(
    wheel: Path, machine: str, python: Path, folder: Path, version: str, reference: Found | None
) -> str:
    """Install a wheel beside an unpacked Python of its processor, and score there."""
    emulator = needed(f"qemu-{machine}", "Debian's package qemu-user")
    root = folder / "root"
    interpreter = _unpacked_python(root) or _unpack(machine, folder)
    minor = interpreter.name.removeprefix("python")
    if int(minor.partition(".")[2]) < 11:
        raise CheckSkippedError(f"the distribution's Python for {machine} is {minor}")
    site = folder / "site"
    _install(wheel, machine, minor, python, site)
    env = {"PYTHONHOME": str(root / "usr"), "PYTHONPATH": str(site)}
    command = (emulator, "-L", root, interpreter)
    found = probe(command, folder, env)
    if found["machine"] != machine:
        raise CheckFailedError(f"the emulated Python says that it runs on {found['machine']}")
    printed = output([*command, "-m", "pfgen_rs", "--version"], cwd=folder, env=env)
    return compared(found, version, printed, reference) + " (emulated)"


def _unpacked_python(root: Path) -> Path | None:
    found = sorted(root.glob("usr/bin/python3.*"))
    names = [path for path in found if re.fullmatch(r"python3\.\d+", path.name)]
    return names[-1] if names else None


def _unpack(machine: str, folder: Path) -> Path:
    """Download Python and what it needs for another processor, and unpack it."""
    apt, dpkg = needed("apt-get", "Debian, Ubuntu"), needed("dpkg-deb", "Debian, Ubuntu")
    options = _options(folder / "apt", DEBIAN[machine])
    try:
        output([apt, *options, "update"])
        more = ("--yes", "--no-install-recommends", "--download-only", "install", *PACKAGES)
        output([apt, *options, *more])
    except CheckFailedError as reason:
        raise CheckSkippedError(
            f"no Python for {machine} could be downloaded with apt-get: {reason}"
        ) from None
    unpacked = folder / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    for package in sorted((folder / "apt" / "cache" / "archives").glob("*.deb")):
        output([dpkg, "--extract", package, unpacked])
    if _unpacked_python(unpacked) is None:
        raise CheckSkippedError(f"the distribution's packages for {machine} have no Python")
    unpacked.rename(folder / "root")
    found = _unpacked_python(folder / "root")
    assert found is not None
    return found


def _options(state: Path, architecture: str) -> Sequence[str]:
    """Options that keep apt-get away from the machine's own state."""
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    values = {
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::State::lists": state / "lists",
        "Dir::Cache": state / "cache",
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "1",
    }
    return [word for name, value in values.items() for word in ("-o", f"{name}={value}")]


def _install(wheel: Path, machine: str, minor: str, python: Path, site: Path) -> None:
    """Wheel and dependencies for another processor, which pip only has to unpack."""
    shutil.rmtree(site, ignore_errors=True)
    glibcs = ("2_28", "2_27", "2_24", "2_17")
    tags = [f"manylinux_{glibc}_{machine}" for glibc in glibcs] + [f"manylinux2014_{machine}"]
    platforms = [word for tag in tags for word in ("--platform", tag)]
    more = ("--python-version", minor, "--only-binary=:all:", "--target", site, wheel)
    output([python, "-m", "pip", "install", "--quiet", *platforms, *more])


def is_native(machine: str) -> bool:
    """Whether wheels for a processor run on this machine by themselves."""
    return platform.machine() == machine
