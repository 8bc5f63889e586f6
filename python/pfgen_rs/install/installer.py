"""Downloads and installs one published benchmark: from its publisher, a mirror, an archive or a checkout."""

from __future__ import annotations

import hashlib
import http.client
import re
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import urlsplit

from pfgen_rs.errors import InstallError
from pfgen_rs.install import archive, store
from pfgen_rs.io.known_files import CACHE_VARIABLE
from pfgen_rs.io.remote.web import RedirectError, asked

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
    entry = store.find(name)
    if not force and store.is_intact(entry):
        return store.place(entry.name)
    with _store_errors_explained(entry), store.staging(entry.name) as staged:
        path, label = _fetch(entry, source, staged, progress)
        _fill(staged, entry, path, label)
        staged.seal(entry)
        return store.publish(staged, entry)


def _fetch(
    entry: store.CatalogEntry,
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


def _fill(staged: store.Staging, entry: store.CatalogEntry, path: Path, label: str) -> None:
    missing = dict.fromkeys(entry.digests)
    # Closed at once: an open file could not be removed everywhere.
    with closing(archive.read_members(path, entry.digests, label)) as members:
        for member, content in members:
            _check_digest(member, content, entry, label)
            staged.add(PurePosixPath(member).name, content)
            del missing[member]
    if missing:
        raise InstallError(
            f"{label}: missing {len(missing)} of {len(entry.digests)} files of {entry.name}: "
            f"{', '.join(missing)}; use revision {entry.revision}"
        )


def _check_digest(member: str, content: bytes, entry: store.CatalogEntry, label: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != entry.digests[member]:
        raise InstallError(
            f"{label}: {member} is not the published file: expected SHA-256 "
            f"{entry.digests[member]}, found {found}; use revision {entry.revision} of "
            f"{entry.name}, unchanged (line ends included)"
        )


@contextmanager
def _store_errors_explained(entry: store.CatalogEntry) -> Iterator[None]:
    # Sources explain their own errors, so an OSError that gets here is about the store.
    try:
        yield
    except OSError as error:
        place = store.place(entry.name)
        raise InstallError(
            f"{place}: cannot store {entry.name}: {error.strerror or error}; free some space or set "
            f"{CACHE_VARIABLE} to a writable folder"
        ) from error


# Downloading one file over HTTP(S), whole or not at all.


DownloadProgress = Callable[[int, int | None], None]
"""Called with the bytes received so far and the bytes expected (None if unknown)."""

DOWNLOAD_LIMIT = 2**30
"""Most bytes a download may have."""
TIMEOUT = 30.0
"""Seconds without data from the server after which a download fails."""

_SCHEMES = ("http", "https")
_CHUNK = 2**17
_BY_HAND = "download the archive yourself and give its path as the source (--from)"
_ADVICE = f"try again later, or {_BY_HAND}"


def download(
    url: str,
    target: Path,
    *,
    progress: DownloadProgress | None = None,
    timeout: float | None = None,
    limit: int | None = None,
) -> int:
    """Write what `url` (http or https) serves to the new file `target`; return its size in bytes.

    Follows redirects, to http and https only, and none from https to http, which would show others on the
    way what is asked for. `timeout` (seconds) bounds each wait for the server.
    On any failure, Ctrl-C and errors raised by `progress` included, `target` is removed.

    Raises `InstallError` where the server cannot be reached, refuses, stalls, sends less than it
    announced or more than `limit` bytes; `OSError` where `target` cannot be written.
    """
    _check_url(url)
    timeout = TIMEOUT if timeout is None else timeout
    limit = DOWNLOAD_LIMIT if limit is None else limit
    with _errors_explained(url, timeout):
        response = asked(url, timeout=timeout)
    with response, _removed_on_failure(target) as sink:
        total = _announced_size(response, url, limit)
        done = 0
        for chunk in _chunks(response, total, url, timeout):
            done += len(chunk)
            if done > limit:
                raise _too_large(url, limit)
            sink.write(chunk)
            if progress is not None:
                progress(done, total)
    return done


def _announced_size(response: http.client.HTTPResponse, url: str, limit: int) -> int | None:
    """Return the size of the body; None for a chunked one, or one that ends with the connection."""
    if response.status != http.client.OK:
        raise InstallError(f"{url}: the server answered {response.status}, not a file; {_ADVICE}")
    if (response.length or 0) > limit:
        raise _too_large(url, limit)
    return response.length


def _chunks(
    response: http.client.HTTPResponse, total: int | None, url: str, timeout: float
) -> Iterator[bytes]:
    done = 0
    while done != total:
        with _errors_explained(url, timeout):
            # read1 hands over what has arrived; read would wait for a full chunk.
            chunk = response.read1(_CHUNK)
        if not chunk:
            break
        done += len(chunk)
        yield chunk
    if total is not None and done != total:
        raise InstallError(f"{url}: the download ended after {done} of {total} bytes; {_ADVICE}")


def _too_large(url: str, limit: int) -> InstallError:
    return InstallError(f"{url}: larger than {limit} bytes: not the published archive")


@contextmanager
def _removed_on_failure(target: Path) -> Iterator[IO[bytes]]:
    sink = target.open("xb")  # fails, and removes nothing, where the file exists
    try:
        with sink:
            yield sink
    except BaseException:
        target.unlink(missing_ok=True)
        raise


@contextmanager
def _errors_explained(url: str, timeout: float) -> Iterator[None]:
    """Turn every way a transfer can fail into `InstallError`."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        text = f"the server answered {error.code} ({' '.join(error.reason.split())})"
        raise InstallError(f"{url}: {text}; {_ADVICE}") from error
    except http.client.IncompleteRead as error:
        raise InstallError(f"{url}: the download was cut short; {_ADVICE}") from error
    except RedirectError as error:
        raise InstallError(f"{error}; {_BY_HAND}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, TimeoutError):
            reason = f"no data for {timeout:g} seconds"
        raise InstallError(f"{url}: cannot be downloaded: {reason}; {_ADVICE}") from error


def _check_url(url: str) -> None:
    try:
        scheme = urlsplit(url).scheme
    except ValueError as error:
        raise InstallError(f"{url}: invalid URL: {error}") from error
    if scheme not in _SCHEMES:
        raise InstallError(f"{url}: not an http or https URL: give a path for a local file")
