"""`pfgen-rs index build|info|clear`: manages the cached indexes of whole benchmarks."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.errors import OutputError
from pfgen_rs.io.counted import counted

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("build")(build)
    app.command("info")(info)
    app.command("clear")(clear)


def build(
    benchmark: options.BenchmarkName = None,
    unit: options.UnitOption = None,
    threads: options.Threads = None,
) -> None:
    """Build and cache the index of a benchmark, so that later processes start faster.

    Example: `pfgen-rs index build --benchmark pfgen-bench`
    """
    loaded = options.load(benchmark, unit)
    start = time.perf_counter()
    loaded.prepare(threads=threads).batches(
        list(loaded), threads=threads
    )  # checks all that is cached
    seconds = time.perf_counter() - start
    path = loaded.index_path
    if path is None or not path.is_file():
        raise OutputError(
            f"{path}: the index was built but could not be saved: check that the folder exists and is "
            "writable, or set PFGEN_RS_CACHE to another folder"
        )
    size = path.stat().st_size
    questions = counted(len(loaded), "question")
    output.emit(f"{path}\n{questions}, {_index_file_megabytes(size)}, ready in {seconds:.2f} s\n")


def info(output_format: options.Format = options.JsonFormat.TABLE) -> None:
    """List the indexes in the cache.

    Example: `pfgen-rs index info --format json`
    """
    from pfgen_rs.questions import index_cache

    files = index_cache.index_files()
    if output_format is options.JsonFormat.JSON:
        output.emit_json(
            [
                {"file": str(f.path), "bytes": f.size, "written": _index_file_time(f.written)}
                for f in files
            ]
        )
        return
    table = output.new_table("file", "size", "written", numbers=("size",))
    for file in files:
        cells = (file.path.name, _index_file_megabytes(file.size), _index_file_time(file.written))
        table.add_row(*map(output.cell, cells))
    output.show(output.cell(str(index_cache.indexes_folder())), table)


def clear() -> None:
    """Remove all cached indexes. They are rebuilt when needed.

    Example: `pfgen-rs index clear`
    """
    from pfgen_rs.questions import index_cache

    removed = index_cache.clear_index_cache()
    files = "file" if len(removed) == 1 else "files"
    size = _index_file_megabytes(sum(file.size for file in removed))
    output.emit(f"removed {len(removed)} {files}, {size}\n")


def _index_file_megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _index_file_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
