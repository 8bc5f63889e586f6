"""Runs of pfgen-bench, of checkouts and in folders; results are computed where they are stale."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pfgen_rs.benchmark import Benchmark, load_benchmark
from pfgen_rs.checkout import rescoring
from pfgen_rs.checkout.checkout import DATA, Run, find_runs, is_checkout
from pfgen_rs.checkout.published import Published, read_published
from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.io.run_files import CONFIG, RESULT, output_names, run_file
from pfgen_rs.io.source import read_config
from pfgen_rs.questions.question import file_digest
from pfgen_rs.report.site.board import Contribution
from pfgen_rs.site.sources import Given, site_source

KIND = "runs"


@site_source(
    KIND,
    about="checkouts of pfgen-bench, and folders of runs (trials.jsonl.xz, config.json)",
    recognises=lambda path: is_checkout(path) or is_run(path),
)
def contribute(_: Sequence[Given]) -> Iterator[tuple[str, Contribution]]:
    """Yield nothing: runs are the rows of a site, which `read_runs` reads."""
    yield from ()


def is_run(path: Path) -> bool:
    """Whether a folder is a run with its configuration."""
    return path.is_dir() and (path / CONFIG).is_file() and run_file(path) is not None


class Runs(NamedTuple):
    """Runs with their results, and those without, each with the reason. `data`: folder of the questions."""

    benchmark: Benchmark
    data: Path | None
    folders: Mapping[str, Run]
    published: Sequence[Published]
    problems: Sequence[tuple[str, PfgenError]]


def read_runs(given: Sequence[Given], benchmark: str | None, jobs: int | None) -> Runs:
    """Read the results of runs, and score those whose `result.json` is missing or stale, writing nothing.

    `benchmark`: as `load_benchmark` takes it (default: the questions of the first checkout). Results of
    other questions stay as they are published. Raises `BenchmarkError`.
    """
    paths = [each.path for each in given]
    checkouts = [path for path in paths if is_checkout(path)]
    data = checkouts[0] / DATA if checkouts and benchmark is None else None
    questions = load_benchmark(data or benchmark)
    folders = {run.name: run for run in _all_runs(paths)}
    published: list[Published] = []
    problems: list[tuple[str, PfgenError]] = []
    stale: list[Run] = []
    for run in folders.values():
        found = _current(run, questions)
        if isinstance(found, Published):
            published.append(found.condensed())
        elif run.responses is None:
            problems.append((run.name, found))
        else:
            stale.append(run)
    scored = rescoring.rescored(questions, stale, jobs=jobs) if stale else iter(())
    for run, result in zip(stale, scored, strict=True):
        if isinstance(result, PfgenError):
            problems.append((run.name, result))
        else:
            published.append(result[0].condensed())
    return Runs(questions, data, folders, published, problems)


def _all_runs(paths: Sequence[Path]) -> Iterator[Run]:
    """Yield the runs, with names of which no two are alike: of folders, what tells their paths apart."""
    checkouts = [path for path in paths if is_checkout(path)]
    prefixes = output_names([str(path.resolve()) for path in checkouts]) if checkouts else []
    for path, prefix in zip(checkouts, prefixes, strict=True):
        for run in find_runs(path):
            yield run if len(checkouts) == 1 else Run(run.folder, f"{prefix}/{run.name}", run.files)
    alone = [path for path in paths if not is_checkout(path)]
    names = output_names([str(path.resolve()) for path in alone]) if alone else []
    yield from (Run(path, f"runs/{name}") for path, name in zip(alone, names, strict=True))


def _current(run: Run, benchmark: Benchmark) -> Published | PfgenError:
    """Returns a run's result if it is of its files, or of other questions; otherwise why not."""
    try:
        found = read_published(run.folder, run.name)
        answers = run.responses
        if answers is None or found.result["metadata_hash"] != benchmark.metadata_hash:
            return found
        is_named = read_config(str(answers)) in (None, found.config)
        if is_named and found.result.get("input_hash") == file_digest(answers.read_bytes()):
            return found
    except InputError as error:
        return error
    except OSError as error:
        return InputError(str(error), path=run.folder)
    return InputError("its answers or config.json have changed", path=run.folder / RESULT)
