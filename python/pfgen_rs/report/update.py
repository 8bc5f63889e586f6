"""Brings a checkout of pfgen-bench up to date, as `make report` does: results, READMEs, leaderboard."""

import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pfgen_rs.checkout.checkout import Checkout, State, inspect_run, open_checkout, write_changed
from pfgen_rs.checkout.leaderboard import JSON, load_leaderboard, results_digest
from pfgen_rs.checkout.published import Published, digest_line
from pfgen_rs.errors import InputError, PfgenError, SettingsError, unreadable
from pfgen_rs.io.run_files import EXAMPLES, PACKED, README, RESULT
from pfgen_rs.io.table_writer import csv_text
from pfgen_rs.report import most_shown, readme

if TYPE_CHECKING:
    from pfgen_rs.checkout.rescoring import Rescored, Watch
    from pfgen_rs.questions.question_set import QuestionSet
    from pfgen_rs.report.site.builder import Steps


Announce = Callable[[Mapping[str, tuple[str, ...]]], None]
"""Takes the runs that are about to be scored, by name, with the reasons."""

_TOGETHER = 16  # runs whose samples are looked up in the reference answers together


@dataclass
class Report:
    """What a report has done: usable runs, scored runs, failed runs, and files written in the checkout.

    `stale`: why runs were to be scored, by name, also those that failed. `problems`: errors of runs and
    files. `unfinished`: files that were left out. `site`: the first page of the site, if one was requested.
    """

    checkout: Checkout
    runs: list[Published] = field(default_factory=list)
    stale: dict[str, tuple[str, ...]] = field(default_factory=dict)
    scored: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    problems: list[PfgenError] = field(default_factory=list)
    unfinished: list[Path] = field(default_factory=list)
    site: Path | None = None


def report(
    checkout: str | os.PathLike[str],
    *,
    force: bool = False,
    as_published: bool = False,
    html: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    announce: Announce | None = None,
    watch: "Watch | None" = None,
    steps: "Steps | None" = None,
) -> Report:
    """Bring everything in a checkout up to date, as `make report` does there.

    Packs finished trials, scores stale runs, and writes READMEs and leaderboards, each file atomically and
    only if it changes. An unusable run is listed in `problems`; its files stay unchanged, and other runs are
    not affected. `force`: treat everything as stale. `as_published`: a result is stale only if the hash of
    its answers or of its questions has changed, as pfgen-bench's own tool judges; otherwise, also if its
    `config.json` has been edited. `html`: folder for a site of all runs. `jobs`: number of threads (default:
    all cores). `announce` is told which runs will be scored and why, `watch` about the progress of scoring,
    `steps` about that of the site's runs.

    Raises `BenchmarkNotFoundError` if the folder is not a checkout, `BenchmarkError` for bad questions, and
    `SettingsError` for both `force` and `as_published`.
    """
    if force and as_published:
        raise SettingsError("force and as_published exclude each other")
    found = open_checkout(checkout, as_published=as_published)
    done = Report(found)
    states = _inspected(done, force, jobs)
    done.stale = {state.run.name: state.stale for state in states if state.stale}
    if announce is not None and done.stale:
        announce(done.stale)
    _update_runs(done, states, jobs, watch)
    for state in states:
        done.problems += state.problems
        done.unfinished += state.unfinished
    done.failed = [state.run.name for state in states if state.problems]
    done.runs = [state.published for state in states if state.published is not None]
    for write in (_write_leaderboard, partial(write_tables, force=force)):
        try:
            done.written += write(done.checkout, done.runs)
        except PfgenError as error:
            done.problems.append(error)
    for state in states:
        found.remember(state)
    found.known.save()
    if html is not None:
        wrong = [s.run.name for s in states if any(isinstance(p, InputError) for p in s.problems)]
        _write_site(done, html, wrong, force, jobs, steps)
    return done


def _inspected(done: Report, force: bool, jobs: int | None) -> list[State]:
    """Inspect changed runs in threads; packed trials are written here, in the thread that gets signals."""
    checkout = done.checkout
    known = {} if force else {run.name: checkout.remembered(run) for run in checkout.runs}
    states = {name: state for name, state in known.items() if state is not None}
    changed = [run for run in checkout.runs if run.name not in states]
    if changed:
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(jobs or os.cpu_count() or 1)
        try:
            found = pool.map(lambda run: inspect_run(checkout, run, force=force), changed)
            states |= {state.run.name: _write_packed(done, state) for state in found}
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return [states[run.name] for run in checkout.runs]


def _write_packed(done: Report, state: State) -> State:
    if state.packed is not None:
        written = _write_file(done, state, state.run.folder / PACKED, state.packed)
        state.packed = None
        if not written:
            state.stale = ()
    return state


def _update_runs(
    done: Report, states: Sequence[State], jobs: int | None, watch: "Watch | None"
) -> None:
    stale = [state for state in states if state.stale]
    described = [state for state in states if state.stale or state.stale_readme]
    if not described:
        return
    from pfgen_rs.benchmark import load_benchmark  # slow to import, and rarely needed
    from pfgen_rs.checkout.rescoring import rescored

    benchmark = load_benchmark(done.checkout.data)
    runs = [state.run for state in stale]
    results = rescored(benchmark, runs, jobs=jobs, watch=watch) if stale else ()
    waiting: list[State] = []
    for state, result in zip(stale, results, strict=True):
        _write_result(done, state, result)
        waiting.append(state)
        if len(waiting) == _TOGETHER:
            _write_readmes(done, benchmark, waiting)
            waiting = []
    rest = [state for state in described if not state.stale]
    _write_readmes(done, benchmark, [*waiting, *rest])


def _write_result(done: Report, state: State, result: "Rescored") -> None:
    if isinstance(result, PfgenError):
        state.problems.append(result)
        return
    published, content = result
    if _write_file(done, state, state.run.folder / RESULT, content):
        state.published = published
        state.stale_readme = True
        done.scored.append(state.run.name)


def _write_readmes(done: Report, benchmark: "QuestionSet", states: Sequence[State]) -> None:
    from pfgen_rs.checkout.rescoring import marks_of

    usable = [
        (state, found) for state in states if (found := _usable_result(done, benchmark, state))
    ]
    results = [found.result for _, found in usable]
    for (state, found), marks in zip(usable, marks_of(benchmark, results), strict=True):
        path = state.run.folder / README
        _write_file(done, state, path, _readme_content(path, found, marks))
        found.drop_samples()


def _readme_content(path: Path, found: Published, marks: Mapping[tuple[str, int], bytes]) -> bytes:
    """Returns the content of a README: what is there if it was made of the same result, on any Python."""
    plain = readme.run_readme(found.result, found.digest, marks)
    try:
        old = path.read_bytes()
    except OSError:  # missing; otherwise writing it will say why
        return plain
    if old == plain or digest_line(found.digest).encode() not in old:
        return plain
    compensated = readme.run_readme(found.result, found.digest, marks, compensated=True)
    return compensated if old == compensated else plain


def _usable_result(done: Report, benchmark: "QuestionSet", state: State) -> Published | None:
    """Returns the result that a stale README is made of, if it is about these questions alone."""
    found = state.published
    if found is None or not state.stale_readme:
        return None
    if found.result["metadata_hash"] != done.checkout.metadata_hash:
        return None
    strangers = found.result["questions"].keys() - {q.id for q in benchmark}
    if not strangers:
        return found
    problem = (
        f"unknown question {min(strangers)!r}, which is not in data/: "
        "remove the file and score the run again"
    )
    state.problems.append(InputError(problem, path=state.run.folder / RESULT))
    return None


def _write_file(done: Report, state: State, path: Path, content: bytes) -> bool:
    try:
        if write_changed(path, content):
            done.written.append(path)
    except PfgenError as error:
        state.problems.append(error)
        return False
    return True


def _write_site(
    done: Report,
    folder: str | os.PathLike[str],
    unusable: Sequence[str],
    force: bool,
    jobs: int | None,
    steps: "Steps | None",
) -> None:
    """Write the site, whose runs have a page if they have usable answers, or leave one that is up to date.

    `unusable`: runs whose answers are known to be wrong. Runs that have changed are scored again.
    """
    # Rarely needed.
    from pfgen_rs.drawing.style import drawn_with
    from pfgen_rs.report.site import folder as sites, model_facts
    from pfgen_rs.report.site.site_runs import answered_runs, site_runs

    checkout, runs = done.checkout, done.runs
    done.site = Path(folder, "index.html")
    # Refuses a folder with other files before anything is scored.
    place = sites.SiteFolder(folder, anew=force)
    folders = {run.name: run for run in checkout.runs}
    usable = [run for run in runs if run.run not in unusable]
    answered = answered_runs(folders, usable, checkout.metadata_hash)
    whole = sites.digest_of(
        sites.code_digest(),
        checkout.metadata_hash,
        sites.files_digest([checkout.data / EXAMPLES, checkout.folder / model_facts.FILE]),
        [most_shown(len(answered)), *drawn_with()],
        [(run.run, run.digest) for run in runs],
        answered,
    )
    if place.is_whole(whole):
        return
    from pfgen_rs.benchmark import load_benchmark  # not needed for a site that is up to date

    facts = model_facts.read_facts(checkout.folder / model_facts.FILE)
    benchmark = load_benchmark(checkout.data)
    found = site_runs(benchmark, folders, runs, answered, data=checkout.data, jobs=jobs)
    site = found.site(place, facts, plots=True)
    for name, problem in site.write(found.scored, jobs=jobs, steps=steps, whole=whole):
        if name not in done.failed:  # the others are known
            done.failed.append(name)
            done.problems.append(problem)


# The leaderboard: in the main `README.md`, and as `leaderboard.parquet`, `.csv` and `.json` next to it.


def _write_leaderboard(checkout: Checkout, runs: Sequence[Published]) -> list[Path]:
    path = checkout.readme
    try:
        old = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"no such file: {readme.WHERE}", path=path) from None
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    new = readme.readme_with_leaderboard(old, readme.leaderboard_table(runs), path)
    return [path] if write_changed(path, new) else []


_PARQUET, _CSV = "leaderboard.parquet", "leaderboard.csv"


def write_tables(checkout: Checkout, runs: Sequence[Published], *, force: bool) -> list[Path]:
    """Write the three files unless they were made from these results. Returns those that changed.

    The JSON object has `signature` and `metadata_hash` of the questions, `results` (a digest of the results
    that it was made from), and `runs` (the rows of `entries_frame`).
    """
    folder = checkout.folder
    results = results_digest((run.digest, run.run) for run in runs)
    head = {"metadata_hash": checkout.metadata_hash, "results": results}
    if not force and _are_tables_current(folder, head):
        return []
    # Slow to import, and rarely needed.
    from pfgen_rs.benchmark import load_for_scores
    from pfgen_rs.checkout.entries import entries, entries_frame

    head = {"signature": load_for_scores(checkout.data).signature, **head}
    table = entries_frame(entries(runs))
    parquet = io.BytesIO()
    table.write_parquet(parquet)
    text = json.dumps({**head, "runs": table.to_dicts()}, ensure_ascii=False, indent=1) + "\n"
    # The file that names the results comes last, so a report that was killed is repeated.
    contents = {_PARQUET: parquet.getvalue(), _CSV: csv_text(table).encode(), JSON: text.encode()}
    return [
        folder / name for name, content in contents.items() if write_changed(folder / name, content)
    ]


def _are_tables_current(folder: Path, head: dict[str, str]) -> bool:
    try:
        found = load_leaderboard(folder / JSON)
    except InputError:
        return False
    there = all((folder / name).is_file() for name in (_PARQUET, _CSV))
    return there and all(found.get(key) == value for key, value in head.items())
