"""Files written to object storage: uploaded in parts, and there only when all parts are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, OutputError
from pfgen_rs.io.ahead import interruptibly
from pfgen_rs.io.remote.storage import Storage, StorageError, storage_errors
from pfgen_rs.io.remote.urls import BUCKETS, shown_url, split_url, url_text

__all__ = ["RemoteTarget"]

_PART = 8 << 20  # bytes of a part
_PARTS = 9_000  # S3 takes 10,000
_AT_ONCE = 4


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
            interruptibly(lambda: self._put(content))

    def _put(self, content: bytes | Path) -> None:
        found = self._storage.object(self._url)
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        part = max(_PART, -(-size // _PARTS))
        how: dict[str, Any] = {"chunk_size": part, "max_concurrency": _AT_ONCE}
        with storage_errors(found.shown):
            found.store.put(found.key, content, **how)

    @contextmanager
    def _as_output(self) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            raise OutputError(f"{self.shown}: cannot be written: {error.problem}") from None
