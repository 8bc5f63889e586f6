"""Installing one published benchmark from its publisher, a mirror, an archive or a checkout."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath

from pfgen_rs.errors import InstallError
from pfgen_rs.install import archive, catalog, store
from pfgen_rs.install.download import DownloadProgress, download

__all__ = ["install"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def install(
    name: str = "pfgen-bench",
    source: str | Path | None = None,
    progress: DownloadProgress | None = None,
    force: bool = False,
) -> Path:
    """Install the published benchmark `name` and return the folder with its question files.

    `source` is a URL, an archive file (.tar.gz, .tar.xz, .tar, .zip), or a folder (a checkout or
    its data folder); None means the publisher's archive. Every file is checked against
    its known digest, whatever the source, and nothing becomes visible before all files match.
    `progress(done, total)` is called during a download, in bytes. An intact installation is kept
    without reading the source, unless `force` is true.

    Raises `InstallError`, and leaves an existing installation unchanged.
    """
    entry = catalog.find(name)
    if not force and store.is_intact(entry):
        return store.place(entry.name)
    with _installer_errors_explained(entry), store.staging(entry.name) as staged:
        path, label = _fetch_source_to_install(entry, source, staged, progress)
        _fill_staging(staged, entry, path, label)
        staged.seal(entry)
        return store.publish(staged, entry)


def _fetch_source_to_install(
    entry: catalog.CatalogEntry,
    source: str | Path | None,
    staged: store.Staging,
    progress: DownloadProgress | None,
) -> tuple[Path, str]:
    """Return a local path with the source's content, and the name to give it in errors."""
    where = entry.url if source is None else source
    if isinstance(where, Path) or not _URL.match(where):
        return Path(where), str(where)
    download(where, staged.download, progress=progress)
    return staged.download, where


def _fill_staging(
    staged: store.Staging, entry: catalog.CatalogEntry, path: Path, label: str
) -> None:
    missing = dict.fromkeys(entry.digests)
    # Closed at once: an open file could not be removed everywhere.
    with closing(archive.read_members(path, entry.digests, label)) as members:
        for member, content in members:
            _check_installed_digest(member, content, entry, label)
            staged.add(PurePosixPath(member).name, content)
            del missing[member]
    if missing:
        raise InstallError(
            f"{label}: missing {len(missing)} of {len(entry.digests)} files of {entry.name}: "
            f"{', '.join(missing)}; use revision {entry.revision}"
        )


def _check_installed_digest(
    member: str, content: bytes, entry: catalog.CatalogEntry, label: str
) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != entry.digests[member]:
        raise InstallError(
            f"{label}: {member} is not the published file: expected SHA-256 "
            f"{entry.digests[member]}, found {found}; use revision {entry.revision} of "
            f"{entry.name}, unchanged (line ends included)"
        )


@contextmanager
def _installer_errors_explained(entry: catalog.CatalogEntry) -> Iterator[None]:
    # Sources explain their own errors, so an OSError that gets here is about the store.
    try:
        yield
    except OSError as error:
        place = store.place(entry.name)
        raise InstallError(
            f"{place}: cannot store {entry.name}: {error.strerror or error}; free some space or set "
            f"{store.CACHE_VARIABLE} to a writable folder"
        ) from error
