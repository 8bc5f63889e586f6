"""The page of one run, or of one comparison: a single file, or a folder with the page and its data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io import run_files
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.lazy import np
from pfgen_rs.report import PER_QUESTION
from pfgen_rs.report.answers import Windows, distinct_windows, run_answers, window_table
from pfgen_rs.report.site import compare_page, payload, run_page
from pfgen_rs.report.site.folder import SiteFolder
from pfgen_rs.runs import outputs
from pfgen_rs.runs.result import Result
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
    view = run_page.run_view(result, run_page.estimates(outputs.sample_of(result)))
    folder = run_page.page_folder(result.name)
    _write_page(
        Path(path),
        _payloads({result.name: result}, answers_per_question),
        lambda data: run_page.run_page(view, folder=folder, payloads=data),
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
    named = run_files.named_results(results)
    benchmark, clean = results[0].benchmark, outputs.cleaned_together(results)
    check_comparable([outputs.sample_of(result, name) for name, result in named.items()])
    most = min(max(len(named), compare_page.MOST_COMPARED), _MOST_COMPARED)
    runs = (
        compare_page.listed_run(
            name,
            run_page.page_folder(name),
            compare_page.compared_run(benchmark, outputs.sample_of(result)),
            is_system=run_files.is_system(result.config or {}),
        )
        for name, result in named.items()
    )
    payloads = _payloads(named, answers_per_question)
    payloads[compare_page.COMPARISON] = compare_page.comparison_data(
        benchmark,
        runs,
        level=level,
        permutations=permutations,
        seed=seed,
        most=most,
        first=most,
    )
    _write_page(
        Path(path),
        payloads,
        lambda data: compare_page.comparison_page(benchmark, clean=clean, most=most, payloads=data),
    )


def _payloads(results: Mapping[str, Result], limit: int) -> dict[str, Any]:
    """Returns all payloads of pages about these runs, by name: answers, and the windows in them."""
    found: dict[str, Any] = {}
    windows: dict[str, list[Windows]] = {}
    benchmark = next(iter(results.values())).benchmark
    numbers = {question.id: number for number, question in enumerate(benchmark)}
    for run, result in results.items():
        for answers in run_answers(result, limit=limit):
            key = answers.question.id
            name = run_page.answers_name(run_page.page_folder(run), numbers[key])
            found[name] = payload.packed(answers.payload())
            windows.setdefault(key, []).append(distinct_windows(answers.texts))
    for key, pieces in windows.items():
        table = window_table(benchmark, key, np.unique(np.concatenate(pieces)))
        found[run_page.windows_name(numbers[key])] = payload.packed(table.payload())
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
