"""Writes the page of verdicts: a single file, or a folder with the page and its data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from pfgen_rs.io import write_atomic
from pfgen_rs.judge.pages.payloads import (
    INDEX,
    chunk_name,
    chunk_payloads,
    chunk_starts,
    index_payload,
)
from pfgen_rs.judge.pages.summary import summaries
from pfgen_rs.judge.pages.views import LISTED, VerdictView, verdict_view
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.folder import SiteFolder
from pfgen_rs.report.site.pages import render

__all__ = ["write_verdict_page"]

_BATCH = 64  # payloads that are in memory at the same time


def write_verdict_page(
    folders: Sequence[str | os.PathLike[str]],
    path: str | os.PathLike[str],
    *,
    humans: str | os.PathLike[str] | None = None,
    sample: int = LISTED,
) -> VerdictView:
    """Write the page of the verdicts in `folders`: to one file if `path` ends in `.html`, else to a folder.

    A folder gets `index.html` and files with texts, which the page loads on demand; a single file contains
    everything. `humans`: a file with verdicts of people (`read_humans`). Of more than `sample` pairs, the
    page lists so many, drawn at random; its figures are about all. Returns what the page shows. Raises
    `InputError`, `OutputError`, and `PfgenError` without the extra `judge`.
    """
    view = verdict_view(folders, humans, sample)
    starts = chunk_starts(view)
    payloads = _verdict_payloads(view, starts)
    if Path(path).suffix == ".html":
        write_atomic(path, _verdict_page(view, starts, dict(payloads)))
        return view
    page = _verdict_page(view, starts, {})  # fails before anything is written
    folder = SiteFolder(path)
    with folder.writing():
        _write_verdict_payloads(folder, payloads)
        folder.write("index.html", page)
        folder.finish()
    return view


def _verdict_payloads(view: VerdictView, starts: Sequence[int]) -> Iterator[tuple[str, Any]]:
    yield INDEX, index_payload(view, starts)
    yield from chunk_payloads(view, starts)


def _write_verdict_payloads(folder: SiteFolder, payloads: Iterator[tuple[str, Any]]) -> None:
    """Write payloads in threads: compressing releases the GIL."""

    def write(named: tuple[str, Any]) -> None:
        name, value = named
        folder.write(f"{name}.js", payload.payload_file(name, value))

    with ThreadPoolExecutor() as pool:
        while batch := list(islice(payloads, _BATCH)):
            for _ in pool.map(write, batch):
                pass


def _verdict_page(view: VerdictView, starts: Sequence[int], payloads: Mapping[str, Any]) -> bytes:
    found = summaries(view)
    return render(
        "verdicts",
        parts=("blocks", "verdicts"),
        nav=(),
        here="",
        summaries=found,
        between=found[0].agreement.rater_agreement,
        pairs=len(view.pairs),
        total=view.total,
        raters=view.raters,
        several=len(view.judges) > 1,
        data={"index": INDEX, "chunks": [chunk_name(number) for number in range(len(starts))]},
        payloads=payloads,
    )
