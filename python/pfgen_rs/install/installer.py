"""Downloads and installs one published benchmark: from its publisher, a mirror, an archive or a checkout."""

import hashlib
import http.client
import os
import re
import urllib.error
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from pfgen_rs.errors import InstallError
from pfgen_rs.install import archive, store
from pfgen_rs.io.known_files import CACHE_VARIABLE
from pfgen_rs.io.remote import urls, web

_DEFAULT, _SET = "pfgen-bench", "set"
_ARCHIVES = (".tar", ".tar.gz", ".tar.xz", ".tgz", ".zip")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


DownloadProgress = Callable[[int, int | None], None]
"""Called with the bytes received so far and the bytes expected (None if unknown)."""


def install(
    name: str | None = None,
    source: str | Path | None = None,
    progress: DownloadProgress | None = None,
    *,
    sha256: str | None = None,
    check: Callable[[Path], object] | None = None,
) -> Path:
    """Install a benchmark and return the folder with its question files.

    `name`: that of a published benchmark (default: pfgen-bench). `source` is a URL, an archive file (.tar.gz,
    .tar.xz, .tar, .zip), or a folder (a checkout or its data folder); None means the publisher's archive.
    The source may also be the archive of a set as `pfgen-rs data publish` makes it, also in place of
    the name; it is installed by its own name, once `check` has raised nothing for the folder of its files.

    Every file is checked against its digest, known or in the set's archive, and the archive against `sha256`
    if that is given; nothing becomes visible before all files match. `progress(done, total)` is called
    during a download, in bytes. An intact installation is kept without reading the source.

    Raises `InstallError`, and leaves an existing installation unchanged.
    """
    is_path = name is not None and (_URL.match(name) is not None or os.path.lexists(name))
    is_alone = source is None and is_path and name not in store.known()
    if is_alone:
        name, source = None, name
    if source is None and name is not None and not is_path and name.endswith(_ARCHIVES):
        raise InstallError(f"{name}: no such file")
    is_set = source and (name is None or store.name_problem(name) is None)
    entry = None if is_set else store.find(_DEFAULT if name is None else name)
    if entry is not None and store.is_intact(entry):
        return store.place(entry.name)
    label = str(source or (entry and entry.url))
    try:
        with store.staging(entry.name if entry else _SET) as staged:
            path = _fetched(staged, label, progress, sha256)
            if entry is None:
                entry = _set_in(path, name, label, None if is_alone else _DEFAULT)
            _fill(staged, entry, path, label)
            if check is not None and entry.name not in store.known():
                check(staged / store.FILES)
            if store.is_intact(entry):
                return store.place(entry.name)
            return store.publish(staged, entry)
    except OSError as error:  # sources explain their own errors
        name = entry.name if entry else _SET
        raise InstallError(
            f"{store.place(name)}: cannot store {name}: {error.strerror or error}; free some "
            f"space or set {CACHE_VARIABLE} to a writable folder"
        ) from error


def _fetched(
    staged: Path, source: str, progress: DownloadProgress | None, sha256: str | None
) -> Path:
    """Returns the path of the source, downloaded if need be; checks its digest."""
    path = Path(source)
    if _URL.match(source):
        path = staged / "download"
        download(source, path, progress)
    if sha256 is not None:
        if not store.is_digest(sha256.strip().lower()):
            raise InstallError(f"invalid SHA-256 {sha256!r}: expected 64 hexadecimal digits")
        found = store.digest(path) if path.is_file() else "no archive"
        if found != sha256.strip().lower():
            raise InstallError(
                f"{source}: expected SHA-256 {sha256}, found {found}: not that archive"
            )
    return path


def _set_in(path: Path, name: str | None, label: str, default: str | None) -> store.CatalogEntry:
    """Returns what an archive says of the set in it; without a set, it has the benchmark `default`."""
    with closing(archive.read_members(path, [store.RECORD], label)) as members:
        content = next((content for _, content in members), None)
    if content is None:
        if name is None and default is not None:
            return store.find(default)
        raise InstallError(f"{label}: not an archive that 'pfgen-rs data publish' made")
    try:
        entry = store.entry_of(content)
    except InstallError as error:
        raise InstallError(f"{label}: {error}") from None
    if name not in (None, entry.name):
        raise InstallError(f"{label}: has the set {entry.name!r}, not {name!r}")
    place = store.place(entry.name)
    is_published = entry.name in store.known()
    if os.path.lexists(place) and not is_published and not store.is_intact(entry):
        raise InstallError(
            f"{place}: has another set of this name: remove this folder to replace it, or publish the set "
            "by another name"
        )
    return entry


def _fill(staged: Path, entry: store.CatalogEntry, path: Path, source: str) -> None:
    missing, size = dict.fromkeys(entry.digests), 0
    # Closed at once: an open file could not be removed everywhere.
    with closing(archive.read_members(path, entry.digests, source)) as members:
        for member, content in members:
            _check_digest(member, content, entry, source)
            size += len(content)
            if size > archive.UNPACKED_LIMIT:
                raise InstallError(f"{source}: unpacks to more than {archive.UNPACKED_LIMIT} bytes")
            store.add(staged, PurePosixPath(member).name, content)
            del missing[member]
    if missing:
        raise InstallError(
            f"{source}: missing {len(missing)} of {len(entry.digests)} files of {entry.name}: "
            f"{', '.join(missing)}; {_advice(entry)}"
        )


def _advice(entry: store.CatalogEntry) -> str:
    if not entry.url:
        return "the archive is damaged, or was changed: get it again"
    return f"use revision {entry.revision} of {entry.name}, unchanged (line ends included)"


def _check_digest(member: str, content: bytes, entry: store.CatalogEntry, label: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != entry.digests[member]:
        raise InstallError(
            f"{label}: {member} is not the published file: expected SHA-256 "
            f"{entry.digests[member]}, found {found}; {_advice(entry)}"
        )


# Downloading one file over HTTP(S), whole or not at all.


DOWNLOAD_LIMIT = 2**30
"""Most bytes a download may have."""
TIMEOUT = 30.0
"""Seconds without data from the server after which a download fails."""

_CHUNK = 2**17
_BY_HAND = "download the archive yourself and give its path as the source (--from)"
_ADVICE = f"try again later, or {_BY_HAND}"


def download(url: str, target: Path, progress: DownloadProgress | None = None) -> None:
    """Write what `url` (http or https) serves to the new file `target`.

    Follows redirects, to http and https only, and none from https to http, which would show others on the
    way what is asked for. On any failure, Ctrl-C and errors raised by `progress` included, `target` is
    removed.

    Raises `InstallError` where the server cannot be reached, refuses, stalls, sends less than it
    announced or more than `DOWNLOAD_LIMIT` bytes; `OSError` where `target` cannot be written.
    """
    sink = target.open("xb")  # fails, and removes nothing, where the file exists
    try:
        with sink, closing(_received(url)) as chunks:
            done = 0
            for chunk, total in chunks:
                sink.write(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, total)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _received(url: str) -> Generator[tuple[bytes, int | None]]:
    """Yield what the server sends, and how much it announced: nothing of a body that ends by itself."""
    with _errors_explained(url), web.asked(url, timeout=TIMEOUT) as response:
        done, total = 0, response.length
        if response.status != http.client.OK:
            raise InstallError(
                f"{url}: the server answered {response.status}, not a file; {_ADVICE}"
            )
        # read1 hands over what has arrived; read would wait for a full chunk.
        while max(done, total or 0) <= DOWNLOAD_LIMIT and (chunk := response.read1(_CHUNK)):
            done += len(chunk)
            yield chunk, total
            if done == total:
                return
        if max(done, total or 0) > DOWNLOAD_LIMIT:
            raise InstallError(
                f"{url}: larger than {DOWNLOAD_LIMIT} bytes: not the published archive"
            )
        if total is not None:
            raise InstallError(
                f"{url}: the download ended after {done} of {total} bytes; {_ADVICE}"
            )


@contextmanager
def _errors_explained(url: str) -> Iterator[None]:
    """Turn every way a transfer can fail into `InstallError`."""
    try:
        if urlsplit(url).scheme not in urls.WEB:
            raise InstallError(f"{url}: not an http or https URL: give a path for a local file")
        yield
    except urllib.error.HTTPError as error:
        error.close()
        text = f"the server answered {error.code} ({' '.join(error.reason.split())})"
        raise InstallError(f"{url}: {text}; {_ADVICE}") from error
    except http.client.IncompleteRead as error:
        raise InstallError(f"{url}: the download was cut short; {_ADVICE}") from error
    except web.RedirectError as error:
        raise InstallError(f"{error}; {_BY_HAND}") from error
    except web.FAILED as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, TimeoutError):
            reason = f"no data for {TIMEOUT:g} seconds"
        raise InstallError(f"{url}: cannot be downloaded: {reason}; {_ADVICE}") from error
