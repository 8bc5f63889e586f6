"""Records that do not lie in lines: logs of inspect_ai, Hugging Face datasets on disk, nested tables."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, cast

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.lines import LONGEST_LINE, Block
from pfgen_rs.io.source import DatasetSource, Source, parsed_config
from pfgen_rs.io.tables import table_errors
from pfgen_rs.lazy import pl

EVAL = ".eval"
"""The suffix of logs of inspect_ai in its own format, a ZIP archive of samples."""
_LOG = re.compile(rb'\s*\{\s*"version":\s*[0-9]+,\s*"status":\s*"')
_HEAD = 256
_ROWS = 1 << 12  # of a table at once
_SIZE = 4 << 20  # bytes of lines at once


def container_blocks(source: Source) -> Iterator[Block] | None:
    """Returns the records of a file as lines of JSON; `None` if it is text or a flat table."""
    if isinstance(source, DatasetSource):
        return json_blocks(_rows_of_dataset(source), "row")
    if source.suffix == EVAL:
        return json_blocks(_samples_of_archive(source), "sample")
    if source.suffix == ".json" and _is_log(source):
        return json_blocks(_samples_of_log(source), "sample")
    return None


def json_blocks(lines: Iterable[bytes], item: Any) -> Iterator[Block]:
    """Yield lines of JSON in blocks."""
    start, first, kept, size = 0, 1, list[bytes](), 0
    for line in lines:
        kept.append(line)
        size += len(line) + 1
        if size >= _SIZE:
            yield Block(start, b"\n".join((*kept, b"")), item=item, first=first)
            start, first, kept, size = start + size, first + len(kept), [], 0
    if kept:
        yield Block(start, b"\n".join((*kept, b"")), item=item, first=first)


# Logs of inspect_ai.


def _is_log(source: Source) -> bool:
    try:
        with open(source.path, "rb") as file:  # noqa: PTH123
            return _LOG.match(file.read(_HEAD)) is not None
    except OSError:
        return False  # which is told when it is read


def _samples_of_archive(source: Source) -> Iterator[bytes]:
    zipfile = _zipfile()
    try:
        with zipfile.ZipFile(source.file()) as archive:
            places = ((_place_of_sample(info.filename), info) for info in archive.infolist())
            infos = sorted((place, info) for place, info in places if place)
            if not infos:
                raise InputError("the log has no samples")
            for _, info in infos:
                if info.file_size > LONGEST_LINE:
                    raise InputError(f"a sample is larger than {LONGEST_LINE >> 20} MiB")
                yield _line(json.loads(archive.read(info)))
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot be read as a log of inspect_ai: {error}") from None


def _place_of_sample(name: str) -> tuple[int, str] | None:
    """Returns the epoch and the id of a sample, by which samples are ordered."""
    match = re.fullmatch(r"samples/(.+)_epoch_([0-9]+)\.json", name, re.DOTALL)
    return None if match is None else (int(match[2]), match[1])


def _samples_of_log(source: Source) -> Iterator[bytes]:
    with source.open() as raw:
        content = raw.read()
    samples = parsed_config(content or b"", source.path).get("samples")
    if not isinstance(samples, list) or not samples:
        raise InputError("the log has no samples")
    for sample in samples:
        yield _line(sample)


def _line(sample: Any) -> bytes:
    return json.dumps(sample, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _zipfile() -> Any:
    """Returns the module of that name, which from Python 3.14 on knows zstd, as newer logs have it."""
    if sys.version_info < (3, 14):
        from backports.zstd import zipfile
    else:
        import zipfile
    return zipfile


# Rows of tables.


def _rows_of_dataset(source: DatasetSource) -> Iterator[bytes]:
    for shard in source.shards:
        try:
            with shard.open():
                frame = pl.read_ipc_stream(shard.path)
        except table_errors() as error:
            raise InputError(unreadable(cast("Exception", error)), path=shard.path) from None
        yield from rows_as_json(frame)


def rows_as_json(frame: pl.DataFrame) -> Iterator[bytes]:
    """Yield the rows of a table as JSON, without columns of bytes."""
    frame = frame.select(name for name, kind in frame.schema.items() if kind != pl.Binary)
    for at in range(0, frame.height, _ROWS):
        yield from frame[at : at + _ROWS].write_ndjson().encode().splitlines()
