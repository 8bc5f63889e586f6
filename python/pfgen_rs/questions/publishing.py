"""Publishing a set: its checked files in one archive with digests, which `pfgen-rs data install` takes.

    NAME/installed.json     the set's name, its metadata hash, and the SHA-256 of each file
    NAME/…                  question files, README.md, and provenance.json and questions.jsonl if there are

The same files give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.errors import BenchmarkError, BenchmarkNotFoundError, InstallError
from pfgen_rs.install import archive, store
from pfgen_rs.io.atomic import refuse_url, write_atomic
from pfgen_rs.io.run_files import EXAMPLES
from pfgen_rs.questions import card
from pfgen_rs.questions.about import STATED, About
from pfgen_rs.questions.folder import settings_of_folder
from pfgen_rs.questions.question import Question, question_paths, read_folder
from pfgen_rs.questions.question_set import stated_by

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
    if not folder.is_dir():
        raise BenchmarkNotFoundError("no such folder", path=folder)
    questions, metadata_hash = read_folder(folder)
    settings = settings_of_folder(folder, None, stated_by(questions))
    place = question_paths(folder)[0].parent
    made = _provenance(place / store.PROVENANCE, questions, metadata_hash)
    names = [str(question.file) for question in questions]
    names += [name for name in (store.PROVENANCE, EXAMPLES, _CARD) if (place / name).is_file()]
    files = {name: (place / name).read_bytes() for name in names}
    if _CARD not in files:
        files[_CARD] = card.card(questions, settings, metadata_hash, made)
    name = _name_of(questions[0].about, folder)
    entry = store.CatalogEntry(name, "", metadata_hash, _digests(files))
    path = Path(out or f"{name}.tar.xz")
    refuse_url(path)
    content = _packed(entry, files)
    _read_again(content, entry)
    write_atomic(path, content)
    digest = hashlib.sha256(content).hexdigest()
    return Published(
        name, path, len(content), digest, len(questions), _wanting(questions, name, made, place)
    )


def check_loads(folder: Path) -> None:
    """Raise `InstallError` unless a folder has a set that can be loaded; the `check` of `install`."""
    try:
        stated_by(read_folder(folder)[0])
    except BenchmarkError as error:
        raise InstallError(
            f"the set cannot be used: {Path(error.path or folder).name}: {error.problem}"
        ) from None


def _provenance(
    path: Path, questions: Sequence[Question], metadata_hash: str
) -> card.Provenance | None:
    """Returns the provenance of a set, if there is one. Raises `BenchmarkError` if it is of other files."""
    counts = {q.id: {source: len(own) for source, own in q.answers.items()} for q in questions}
    try:
        made: dict[str, Any] = json.loads(path.read_bytes())
        told = {name: own["answers"] for name, own in made["questions"].items() if own["answers"]}
        own_hash = made.get("metadata_hash", metadata_hash)  # older ones do not say
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        told, own_hash = {}, None
    if (told, own_hash) != (counts, metadata_hash):
        raise BenchmarkError(
            "is not that of the question files beside it: build the set again, or remove it",
            path=path,
        )
    return made


def _name_of(about: About | None, folder: Path) -> str:
    names = [name for name in (about.name if about else "", folder.resolve().name) if name]
    found = next((name for name in names if store.name_problem(name) is None), None)
    if found is None:
        problem = store.name_problem(names[0])
        raise InstallError(f"{names[0]!r} {problem}: set 'name' and build, or rename the folder")
    return found


def _wanting(
    questions: Sequence[Question], name: str, made: card.Provenance | None, place: Path
) -> list[str]:
    """Returns sentences about what users of the set would ask for."""
    about, makers = questions[0].about or About(), card.makers_of(questions)
    missing = [name for name in STATED if not getattr(about, name)]
    details = (made or {}).get("makers", {})
    unlicensed = [name for name in makers if name and not details.get(name, {}).get("licence")]
    told = {
        f"the set is called {about.name!r}, which is no name to install by: it is published as {name!r}": (
            about.name not in ("", name)
        ),
        f"the set does not state its {', '.join(missing)}: add them and build again": missing,
        f"{makers.get('', 0):,} of {sum(makers.values()):,} answers name no model": makers.get(""),
        f"no licence is known of {', '.join(unlicensed)}: add [models] and build again": unlicensed,
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
        found = dict(archive.read_members(path, [store.RECORD, *entry.digests], entry.name))
    if store.entry_of(found.pop(store.RECORD)) != entry or _digests(found) != entry.digests:
        raise InstallError(f"{entry.name}: the archive has other files than it was given")


def _digests(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}
