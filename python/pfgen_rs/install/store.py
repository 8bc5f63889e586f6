"""Where benchmarks are installed, and how a new one takes its place.

    CACHE/benchmarks/NAME/              question files, side by side, and `installed.json`
    CACHE/benchmarks/.NAME.*.tmp/       work in progress; never read

A folder NAME appears by one rename, complete and checked, so no lock is needed: of two installs
at once one wins, and the other finds the same content already there and drops its own.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from pfgen_rs.errors import InstallError, unreadable
from pfgen_rs.io import atomic, known_files
from pfgen_rs.io.compression import SUFFIXES

RECORD, FILES = "installed.json", "files"
"""The file that says what is installed, also within archives of sets; and where files are staged."""
PROVENANCE = "provenance.json"
"""File beside the questions of a built set that records how it was built."""
_RECORDS = (RECORD, PROVENANCE)
_COMPRESSED = rf"({'|'.join(map(re.escape, SUFFIXES))})\Z"
_ATTEMPTS = 20
# What renaming a folder gives where the other folder came or went in between.
_RACED = {errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed benchmark: `path` directly holds its `questions` question files."""

    name: str
    path: Path
    revision: str
    questions: int


def benchmarks_folder() -> Path:
    """Return the folder of all installations; it need not exist."""
    return known_files.cache_folder() / "benchmarks"


def place(name: str) -> Path:
    """Return the folder that a benchmark called `name` is installed in, whether or not it is."""
    return benchmarks_folder() / name


def installed() -> list[Installed]:
    """Every complete installation, by name, of any revision; files are not checked again.

    Raises `InstallError` where the folder of installations cannot be read.
    """
    folder = benchmarks_folder()
    try:
        names = sorted(_names(folder)) if folder.is_dir() else []
    except OSError as error:
        raise InstallError(f"{folder}: {unreadable(error)}") from error
    return [found for name in names if (found := _read(name)) is not None]


def installed_path(name: str) -> Path | None:
    """Return the folder with the question files of `name`; None if it is not installed."""
    found = _read(name)
    return None if found is None else found.path


def is_intact(entry: "CatalogEntry") -> bool:
    """Whether exactly `entry` is installed: its revision, its files, and no other JSON file."""
    found = _read(entry.name)
    if found is None or found.revision != entry.revision:
        return False
    try:
        others = _names(found.path) - {*entry.files, RECORD}
        if any(name.endswith(".json") for name in others):
            return False
        return all(digest(found.path / name) == hexa for name, hexa in entry.files.items())
    except OSError:
        return False


@contextmanager
def staging(name: str) -> Iterator[Path]:
    """Make a private folder on the store's file system for the benchmark `name`; remove it at the end."""
    folder = benchmarks_folder()
    folder.mkdir(parents=True, exist_ok=True)
    atomic.remove_old_folders(folder, name)
    staged = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".tmp", dir=folder))
    try:
        (staged / FILES).mkdir()
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def add(staged: Path, name: str, content: bytes) -> None:
    """Write one file of an installation and flush it to disk; raises `OSError` on failure."""
    with (staged / FILES / name).open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def publish(staged: Path, entry: "CatalogEntry") -> Path:
    """Make the files that were added the installation of `entry`; return its folder.

    An intact installation is left alone: it has the same content. Anything else in its place is
    moved aside first, and moved back on failure, which raises `InstallError`.
    """
    add(staged, RECORD, record_of(entry))
    _sync(staged / FILES)
    final = place(entry.name)
    for attempt in range(_ATTEMPTS):
        if is_intact(entry):
            return final
        if _swap(staged / FILES, final, staged / f"old-{attempt}"):
            _sync(final.parent)
            return final
    raise InstallError(f"{final}: other processes keep replacing this folder; try again later")


def record_of(entry: "CatalogEntry") -> bytes:
    """Returns the content of the file that says what is installed."""
    record = {"name": entry.name, "revision": entry.revision, "files": entry.files}
    return (json.dumps(record, indent=2) + "\n").encode()


def _swap(new: Path, final: Path, aside: Path) -> bool:
    """Rename `new` to `final`; False where another process was in the way at that moment."""
    try:
        if os.path.lexists(final):
            atomic.put_in_place(final, aside)
        atomic.put_in_place(new, final)
    except BaseException as error:
        if os.path.lexists(aside) and not os.path.lexists(final):
            with suppress(OSError):  # another process may fill the place first
                atomic.put_in_place(aside, final)
        if isinstance(error, OSError) and error.errno in _RACED:
            return False
        raise
    return True


def _read(name: str) -> Installed | None:
    """Return the installation called `name`, if its record is sound and all its files are there."""
    path = place(name)
    if not _NAME.fullmatch(name):  # a plain name: no separator, no leading dot
        return None
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
        files, revision = record["files"], record["revision"]
        present = _names(path)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not (isinstance(files, dict) and isinstance(revision, str) and present >= files.keys()):
        return None
    return Installed(name, path, revision, count_questions(files))


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# The published benchmarks that can be installed, each fixed by the digests of its files.


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MOST_FILES = 10_000
BUNDLED = "mini"
_PFGEN_REVISION = "03db7c4310c651171627ab327a4830d75d6bb1d0"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One published benchmark.

    `digests` maps a member's path inside the published tree (`data/Q01.json`) to its SHA-256 in
    lower-case hex. Members are stored under their last component, so those must differ.
    """

    name: str
    url: str
    revision: str
    digests: Mapping[str, str]

    @property
    def files(self) -> dict[str, str]:
        """File name, as stored, to digest."""
        return {PurePosixPath(member).name: hexa for member, hexa in self.digests.items()}


def count_questions(files: Mapping[str, str]) -> int:
    """How many of the stored file names are question files."""
    return sum(map(may_be_question, files))


def may_be_question(name: str) -> bool:
    """Whether a file of this name may be a question file: JSON, perhaps compressed, not hidden, no record."""
    plain = re.sub(_COMPRESSED, "", name)
    return plain.endswith(".json") and name[0] != "." and plain.lower() not in _RECORDS


@cache
def known() -> Mapping[str, CatalogEntry]:
    """Every benchmark this version can install, by name."""
    list_of_digests = Path(__file__).with_name("pfgen-bench.sha256")
    lines = map(str.split, list_of_digests.read_text(encoding="utf-8").splitlines())
    pfgen = CatalogEntry(
        name="pfgen-bench",
        url=f"https://github.com/pfnet-research/pfgen-bench/archive/{_PFGEN_REVISION}.tar.gz",
        revision=_PFGEN_REVISION,
        digests={member: digest for digest, member in lines},
    )
    return {pfgen.name: pfgen}


def name_problem(name: str) -> str | None:
    """Returns why no set can be installed by this name, if so."""
    if not _NAME.fullmatch(name):
        return "is no name to install by: expected letters, digits, -, _ or ., not beginning with a mark"
    taken = name.lower() in (BUNDLED, *map(str.lower, known()))
    return "is the name of another benchmark" if taken else None


def is_digest(text: str) -> bool:
    """Whether a text is a SHA-256 in hexadecimal."""
    return _SHA256.fullmatch(text) is not None


def entry_of(content: bytes) -> CatalogEntry:
    """Returns what the record in an archive of a set says. Raises `InstallError`: it may say anything."""
    try:
        record = json.loads(content)
        name, revision, files = record["name"], record["revision"], record["files"]
        sound = _SHA256.fullmatch(revision.rjust(64, "0")) and 0 < len(files) <= _MOST_FILES
        sound = sound and len({each.lower() for each in files}) == len(files)
        sound = (
            sound
            and all(map(_FILE.fullmatch, files))
            and all(map(_SHA256.fullmatch, files.values()))
        )
        if name in known():
            return known()[name]
        problem = name_problem(name) if sound and count_questions(files) else "has a damaged record"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        problem = "has a damaged record"
    if problem is not None or RECORD in map(str.lower, files):
        raise InstallError(f"the set {problem or 'has a damaged record'}")
    return CatalogEntry(name, "", revision, files)


def find(name: str) -> CatalogEntry:
    """Return the entry called `name`; raises `InstallError` for an unknown name."""
    entries = known()
    if name not in entries:
        names = ", ".join(sorted(entries))
        raise InstallError(
            f"unknown benchmark {name!r}: expected one of {names}, or the archive or URL of a set that "
            "'pfgen-rs data publish' made"
        )
    return entries[name]
