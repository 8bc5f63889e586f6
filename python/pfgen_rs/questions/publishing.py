"""Publishing a set: its checked files in one archive with digests, which `pfgen-rs data install` takes.

    NAME/installed.json     the set's name, its metadata hash, and the SHA-256 of each file
    NAME/…                  question files, README.md, and provenance.json and questions.jsonl if there are

The same files give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pfgen_rs.errors import BenchmarkError, InstallError, OutputError
from pfgen_rs.install import archive, installer, store
from pfgen_rs.io.atomic import refuse_url, write_atomic
from pfgen_rs.io.run_files import EXAMPLES
from pfgen_rs.questions import card
from pfgen_rs.questions.about import STATED
from pfgen_rs.questions.folder import settings_of_folder
from pfgen_rs.questions.question import question_paths, read_folder
from pfgen_rs.questions.question_set import QuestionSet, stated_by

_CARD = card.CARD


@dataclass(frozen=True)
class Published:
    """An archive that was written: the set's name, its path, size in bytes, digest, and what is wanting."""

    name: str
    path: Path
    size: int
    sha256: str
    questions: int
    warnings: list[str]


def publish(folder: Path, out: str | Path | None = None) -> Published:
    """Write the archive of a set, and read it again.

    `out`: default, `NAME.tar.xz` here. The name is that which the set states or, if none can be
    installed by it, that of the folder. Raises `BenchmarkError` for question files or a provenance that
    cannot be used, `OutputError`, and `InstallError` for a set that cannot be installed.
    """
    questions, metadata_hash = read_folder(folder)
    settings = settings_of_folder(folder, None, stated_by(questions))
    bench = QuestionSet(questions, metadata_hash, settings, folder)
    place = question_paths(folder)[0].parent
    made = card.read_provenance(place / store.PROVENANCE)
    if made is not None:
        _check_provenance(bench, made, place / store.PROVENANCE)
    names = [str(question.file) for question in questions]
    names += [name for name in (store.PROVENANCE, EXAMPLES, _CARD) if (place / name).is_file()]
    files = {name: (place / name).read_bytes() for name in names}
    if _CARD not in files:
        files[_CARD] = card.card(questions, bench.settings, metadata_hash, made)
    name = _name_of(bench, folder)
    digests = {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}
    entry = store.CatalogEntry(name, "", metadata_hash, digests)
    path = Path(out or f"{name}.tar.xz")
    refuse_url(path)
    content = _packed(entry, files)
    _read_again(content, entry)
    write_atomic(path, content)
    digest = hashlib.sha256(content).hexdigest()
    return Published(name, path, len(content), digest, len(bench), _wanting(bench, made, place))


def install(
    name: str | None = None,
    source: str | Path | None = None,
    progress: installer.DownloadProgress | None = None,
    *,
    sha256: str | None = None,
) -> Path:
    """Install as `pfgen_rs.install.install` does; a set must be one that can be loaded."""
    return installer.install(name, source, progress, sha256=sha256, check=_check_loads)


def _check_loads(folder: Path) -> None:
    try:
        stated_by(read_folder(folder)[0])
    except BenchmarkError as error:
        raise InstallError(
            f"the set cannot be used: {Path(error.path or folder).name}: {error.problem}"
        ) from None


def _check_provenance(bench: QuestionSet, made: card.Provenance, path: Path) -> None:
    """Raise `BenchmarkError` unless a provenance is that of these question files."""
    counts = {q.id: {source: len(own) for source, own in q.answers.items()} for q in bench}
    told = {
        name: each.get("answers") for name, each in made["questions"].items() if each.get("answers")
    }
    own_hash = made.get("metadata_hash", bench.metadata_hash)  # older ones do not say
    if told != counts or own_hash != bench.metadata_hash:
        raise BenchmarkError(
            "is not that of the question files beside it: build the set again, or remove it",
            path=path,
        )


def _name_of(bench: QuestionSet, folder: Path) -> str:
    stated = bench.about.name if bench.about else ""
    for name in (stated, folder.resolve().name):
        problem = store.name_problem(name)
        if problem is None:
            return name
    raise InstallError(
        f"{stated or folder.resolve().name!r} {problem}: set 'name' and build, or rename the folder"
    )


def _wanting(bench: QuestionSet, made: card.Provenance | None, place: Path) -> list[str]:
    """Returns sentences about what users of the set would ask for."""
    about, makers = bench.about, card.makers_of(bench)
    missing = [name for name in STATED if not (about and getattr(about, name))]
    details = (made or {}).get("makers", {})
    unlicensed = [name for name in makers if name and not details.get(name, {}).get("licence")]
    told = {
        f"the set does not state its {', '.join(missing)}": bool(missing),
        f"{makers.get('', 0):,} of {sum(makers.values()):,} answers name no model": bool(
            makers.get("")
        ),
        f"no licence is known of {', '.join(unlicensed)}": bool(unlicensed),
        f"{store.PROVENANCE} is missing: nothing says how the set was made": made is None,
        f"{_CARD} is missing: one was made for the archive": not (place / _CARD).is_file(),
    }
    return [said for said, is_so in told.items() if is_so]


def _packed(entry: store.CatalogEntry, files: Mapping[str, bytes]) -> bytes:
    """Returns the archive: members in order, without times, owners and permissions of their own."""
    unpacked = io.BytesIO()
    with tarfile.open(fileobj=unpacked, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in [(store.RECORD, store.record_of(entry)), *sorted(files.items())]:
            member = tarfile.TarInfo(f"{entry.name}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return lzma.compress(unpacked.getvalue())


def _read_again(content: bytes, entry: store.CatalogEntry) -> None:
    """Raise `InstallError` unless an archive has what it says, as it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive"
        path.write_bytes(content)
        wanted = [store.RECORD, *entry.digests]
        found = dict(archive.read_members(path, wanted, entry.name))
    if store.entry_of(found.pop(store.RECORD)) != entry:
        raise OutputError(f"{entry.name}: the archive has another record than it was given")
    if {name: hashlib.sha256(own).hexdigest() for name, own in found.items()} != entry.digests:
        raise OutputError(f"{entry.name}: the archive has other files than it was given")
