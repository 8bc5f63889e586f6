"""Scored rows as a folder of Parquet files, which Ray's workers write."""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pyarrow.fs as pafs  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from ray.data import Datasink
from ray.data.block import BlockAccessor

from pfgen_rs.errors import OutputError
from pfgen_rs.integrations.ray_tasks import FiguresTask
from pfgen_rs.io.remote.urls import BUCKETS, shown_url, split_url

__all__ = ["MARK", "Parts", "empty_folder", "encoded_url"]

MARK = "_SUCCESS"
"""The file that is written last: a folder with it is whole."""


class Parts(Datasink[bytes]):
    """Writes blocks of scored rows to files of a folder, and makes partial results of them.

    A file is called by the number of its task, so that a task that runs again replaces what it has written.
    """

    def __init__(self, filesystem: Any, folder: str, figures: FiguresTask) -> None:
        self.filesystem, self.folder, self.figures = filesystem, folder, figures
        self.partials: list[bytes] = []

    def write(self, blocks: Iterable[Any], ctx: Any) -> bytes:
        """Write the blocks of one task."""
        whole = None
        for number, block in enumerate(blocks):
            table = BlockAccessor.for_block(block).to_arrow()
            if not table.num_rows:
                continue
            self._write_whole(table, f"part-{ctx.task_idx:06}-{number:03}.parquet")
            part = self.figures.partial(table)
            if whole is None:
                whole = part
            else:
                whole.merge(part)
        return b"" if whole is None else whole.to_bytes()

    def on_write_complete(self, write_result: Any) -> None:
        """Keep the partial results."""
        self.partials = [part for part in write_result.write_returns if part]

    def mark(self, about: dict[str, Any]) -> None:
        """Write the mark of a whole folder."""
        with self.filesystem.open_output_stream(posixpath.join(self.folder, MARK)) as out:
            out.write(json.dumps(about, ensure_ascii=False).encode())

    def remove(self) -> None:
        """Remove what was written; the folder was empty before."""
        self.filesystem.delete_dir_contents(self.folder, missing_dir_ok=True)

    def _write_whole(self, table: Any, name: str) -> None:
        path = posixpath.join(self.folder, name)
        if not isinstance(self.filesystem, pafs.LocalFileSystem):
            pq.write_table(table, path, filesystem=self.filesystem)  # appears when it is closed
            return
        unfinished = posixpath.join(self.folder, f".{name}.{uuid4().hex}")
        pq.write_table(table, unfinished, filesystem=self.filesystem)
        self.filesystem.move(unfinished, path)


def encoded_url(url: str) -> str:
    """Returns a URL of object storage, whose path names an object as it is, as pyarrow takes it.

    Other URLs stay as they are. Raises `InputError` for credentials in a URL.
    """
    if not url.lower().startswith(tuple(f"{scheme}://" for scheme in BUCKETS)):
        return url
    place = split_url(url)
    return f"{place.scheme}://{place.host}/{quote(place.path)}"


def empty_folder(url: str) -> tuple[Any, str]:
    """Returns the file system and the path of a folder, a URL or a path; it is made unless it exists.

    Raises `OutputError` if there is something in it, or it cannot be made, and `InputError` for credentials
    in a URL.
    """
    encoded, shown = encoded_url(url), shown_url(url)
    try:
        if "://" in url:
            filesystem, path = pafs.FileSystem.from_uri(encoded)
        else:
            filesystem, path = pafs.LocalFileSystem(), os.path.abspath(url)  # noqa: PTH100 - keeps links
        found = filesystem.get_file_info(pafs.FileSelector(path, allow_not_found=True))
        if not found:
            filesystem.create_dir(path)
    except (OSError, ValueError) as error:
        raise OutputError(f"{shown}: cannot be written: {error}") from error
    if found:
        names = {info.base_name for info in found}
        is_unfinished = MARK not in names and any("part-" in name for name in names)
        hint = f" (without {MARK}, it is of a job that did not end)" if is_unfinished else ""
        raise OutputError(f"{shown}: is not empty{hint}: choose another folder")
    return filesystem, path
