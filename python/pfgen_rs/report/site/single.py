"""The page of one run, or of one comparison: a single file, or a folder with the page and its data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pfgen_rs.errors import InputError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.report import PER_QUESTION
from pfgen_rs.report.answers import Windows, distinct_windows, window_table
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.compare_page import (
    COMPARISON,
    MOST_COMPARED,
    ComparisonSettings,
    comparison_page,
)
from pfgen_rs.report.site.folder import SiteFolder
from pfgen_rs.report.site.run_page import answers_name, estimates, run_page, run_view, windows_name
from pfgen_rs.report.site.runs import Runs, run_page_folder
from pfgen_rs.runs.naming import named_results
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.sample import cleaned_together, sample_of
from pfgen_rs.stats.comparing import check_comparable, check_settings

_MOST_COMPARED = 30  # at a time: a browser takes half a second
Page = Callable[[Mapping[str, Any]], bytes]


def write_run(
    result: Result, path: str | os.PathLike[str], *, answers_per_question: int = PER_QUESTION
) -> None:
    """Write the page of a run: to one file if `path` ends in `.html`, else to a folder.

    A folder gets `index.html` and files with answers, which the page loads on demand; a single file contains
    everything. Raises `SettingsError` for units that pages cannot show, `InputError` if
    `answers_per_question` is below 5, and `OutputError`.
    """
    name, settings = result.name, result.benchmark.settings
    runs = Runs(result.benchmark, {name: result}, answers_per_question)
    view = run_view(result, estimates(sample_of(result)))
    folder = run_page_folder(name)
    _write_page(
        Path(path),
        _payloads(runs),
        lambda data: run_page(view, settings, folder=folder, sources=runs.sources, payloads=data),
    )


def write_comparison(
    results: Sequence[Result],
    path: str | os.PathLike[str],
    *,
    answers_per_question: int = PER_QUESTION,
    level: float = 0.95,
    permutations: int = 10_000,
    seed: int = 0,
) -> None:
    """Write the page that compares two or more runs, as `write_run` does.

    It shows what `pfgen_rs.stats.compare` gives for the chosen runs with the same settings and
    `interval="student"`. At first, all runs are chosen, but of more than 30 the best 30. Raises what
    `write_run` and `stats.compare` raise.
    """
    if not results:
        raise InputError("no run to compare")
    check_settings(level, seed)
    named = named_results(results)
    benchmark, clean = results[0].benchmark, cleaned_together(results)
    check_comparable([sample_of(result, name) for name, result in named.items()])
    runs = Runs(benchmark, named, answers_per_question)
    most = min(max(len(named), MOST_COMPARED), _MOST_COMPARED)
    settings = ComparisonSettings(level, permutations, seed, most=most, first=most)
    payloads = _payloads(runs)
    payloads[COMPARISON] = runs.comparison(settings, linked=False)
    _write_page(
        Path(path),
        payloads,
        lambda data: comparison_page(benchmark, clean=clean, most=most, payloads=data),
    )


def _payloads(runs: Runs) -> dict[str, Any]:
    """Returns all payloads of pages about these runs, by name: answers, and the windows in them."""
    found: dict[str, Any] = {}
    windows: dict[int, list[Windows]] = {}
    for run in runs.results:
        for number, answers in runs.answers(run):
            name = answers_name(run_page_folder(run), number)
            found[name] = payload.packed(answers.payload())
            windows.setdefault(number, []).append(distinct_windows(answers.texts))
    questions = list(runs.benchmark)
    for number, pieces in windows.items():
        merged = np.unique(np.concatenate(pieces))
        table = window_table(runs.benchmark, questions[number].id, merged)
        found[windows_name(number)] = payload.packed(table.payload())
    return found


def _write_page(path: Path, payloads: Mapping[str, Any], page: Page) -> None:
    """Write the page with its data inside or, in a folder, in files; the page comes last."""
    if path.suffix == ".html":
        write_atomic(path, page(payloads))
        return
    folder = SiteFolder(path)
    with folder.writing():
        for file, content in payload.payload_files(payloads):
            folder.write(file, content)
        folder.write("index.html", page({}))
        folder.finish()
