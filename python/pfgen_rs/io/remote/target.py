"""Files written to object storage: uploaded in parts, and there only when all parts are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from pfgen_rs.errors import InputError, OutputError
from pfgen_rs.io.ahead import interruptibly
from pfgen_rs.io.remote.storage import Object, Storage, StorageError, storage_errors
from pfgen_rs.io.remote.urls import BUCKETS, shown_url, split_url, url_text

__all__ = ["RemoteTarget"]

_PART = 8 << 20  # bytes of a part
_PARTS = 9_000  # S3 takes 10,000
_AT_ONCE = 4
_PATIENCE = 10  # seconds for aborting an upload


class RemoteTarget:
    """An object to write. Raises `OutputError` for URLs that cannot be written to."""

    def __init__(self, url: str | os.PathLike[str], storage: Storage | None = None) -> None:
        self._url = url_text(url)
        self._storage = storage or Storage()
        self.shown = shown_url(self._url)
        try:
            place = split_url(self._url)
        except InputError as error:
            raise OutputError(str(error)) from None
        if place.scheme not in BUCKETS:
            raise OutputError(
                f"{self.shown}: nothing can be written there: expected a local path, or a URL that begins "
                "with s3://, gs:// or az://"
            )

    def check(self) -> None:
        """Raise `OutputError` if the storage cannot be reached, lacks the bucket, or refuses the user."""
        with self._as_output():
            try:
                interruptibly(lambda: self._storage.object(self._url).get(0, 1))
            except StorageError as error:
                # Who may write need not be allowed to read, and the object need not be there.
                if error.kind == "missing" and error.code != "NoSuchBucket":
                    return
                if error.kind not in ("denied", "unranged"):
                    raise

    def put(self, content: bytes | Path) -> None:
        """Replace the object by bytes or a file's content, or leave it as it was. Raises `OutputError`."""
        with self._as_output():
            upload = _Upload(self._storage.object(self._url), content)
            try:
                interruptibly(upload)
            finally:
                upload.abort()

    @contextmanager
    def _as_output(self) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            raise OutputError(f"{self.shown}: cannot be written: {error.problem}") from None


class _Upload:
    """An upload, to be called in a thread. An error, or `abort`, also removes the parts that have arrived."""

    def __init__(self, found: Object, content: bytes | Path) -> None:
        self._found, self._content = found, content
        self._stopped, self._ended = Event(), Event()

    def __call__(self) -> None:
        """Upload everything, or raise `StorageError`."""
        size = (
            len(self._content) if isinstance(self._content, bytes) else self._content.stat().st_size
        )
        part = max(_PART, -(-size // _PARTS))
        how: dict[str, Any] = {"chunk_size": part, "max_concurrency": _AT_ONCE}
        if isinstance(self._content, bytes):
            content: bytes | Iterator[bytes] = self._content
        else:
            content = (
                self._content.read_bytes() if size <= part else self._parts(self._content, part)
            )
        try:
            with storage_errors(self._found.shown):
                self._found.store.put(self._found.key, content, **how)
        finally:
            self._ended.set()

    def abort(self) -> None:
        """Wait until nothing is uploaded any more, if only for some seconds."""
        self._stopped.set()
        self._ended.wait(_PATIENCE)

    def _parts(self, path: Path, size: int) -> Iterator[bytes]:
        with path.open("rb") as file:
            while part := file.read(size):
                if self._stopped.is_set():
                    raise ValueError("the upload was stopped")  # and obstore aborts it
                yield part
