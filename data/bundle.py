"""Files of a bundled set: written whole or not at all, compared unpacked."""

from __future__ import annotations

import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path

from pfgen_rs.io.atomic import write_atomic

__all__ = ["differences", "report", "write"]


def write(path: Path, content: bytes) -> None:
    """Write whole or not at all; a `.xz` path is compressed."""
    write_atomic(path, compress(content) if path.suffix == ".xz" else content)


def compress(content: bytes) -> bytes:
    """Compress as the `.xz` files of the published runs: LZMA2, CRC64."""
    return lzma.compress(
        content, lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, preset=9 | lzma.PRESET_EXTREME
    )


def read(path: Path) -> bytes | None:
    """Return the unpacked content; None where there is no file or it cannot be unpacked."""
    try:
        data = path.read_bytes()
        return lzma.decompress(data) if path.suffix == ".xz" else data
    except (FileNotFoundError, lzma.LZMAError):
        return None


def differences(contents: Mapping[str, bytes], folder: Path) -> list[str]:
    """List what in `folder` is not as in `contents`: missing, different and extra files."""
    lines = [
        f"{name}: {'missing' if not (folder / name).exists() else 'differs'}"
        for name, content in contents.items()
        if read(folder / name) != content
    ]
    lying = [*folder.glob("Q*.json*"), *folder.glob("runs/*/*")]
    extra = {path.relative_to(folder).as_posix() for path in lying} - set(contents)
    return [*lines, *(f"{name}: not made from any grammar" for name in sorted(extra))]


def report(lines: Sequence[str]) -> int:
    """Print the differences and return the exit code."""
    for line in lines:
        print(line)
    print("the files differ from a rebuild" if lines else "the files are as rebuilt")
    return 1 if lines else 0
