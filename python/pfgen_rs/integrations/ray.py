"""Scores Ray datasets, and makes the figures of runs of them, on all machines of a cluster.

docs/how-to/ray.md has an example.
"""

from __future__ import annotations

import os
import pickle
import re
import socket
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pfgen_rs import errors
from pfgen_rs.errors import InputError, PfgenError, SettingsError, unreadable
from pfgen_rs.extras import needed

needed("ray.data", "ray")

import ray  # noqa: E402 - the error names the extra
from ray.exceptions import RayError  # noqa: E402

from pfgen_rs import distributed  # noqa: E402
from pfgen_rs.benchmark import Benchmark  # noqa: E402
from pfgen_rs.integrations.arrow import ArrowScorer, OnProblem, scorer  # noqa: E402
from pfgen_rs.integrations.ray_parts import Parts, empty_folder, encoded_url  # noqa: E402
from pfgen_rs.integrations.ray_pieces import Piece, ReadingTask, pieces_of  # noqa: E402
from pfgen_rs.integrations.ray_tasks import (  # noqa: E402
    ROWS,
    FiguresTask,
    ScoringTask,
    merged_task,
    partials_of,
)
from pfgen_rs.io.cleaning import Clean  # noqa: E402
from pfgen_rs.io.patterns import STANDARD_INPUT, expand_runs  # noqa: E402
from pfgen_rs.io.remote.storage import Storage  # noqa: E402
from pfgen_rs.io.remote.urls import is_url, shown_url  # noqa: E402
from pfgen_rs.metrics.settings import Settings  # noqa: E402
from pfgen_rs.runs.figures import left_out_note  # noqa: E402

if TYPE_CHECKING:
    from pfgen_rs.distributed import Evaluation

__all__ = ["connect", "evaluate", "score", "score_file"]

Made = TypeVar("Made")
Named = Benchmark | str | os.PathLike[str] | None
_CAUSE = re.compile(r"^([\w.]+): (.+)$", re.MULTILINE)
_READING = "/ray/data/datasource/"  # in tracebacks of tasks that read
_OWN_ERROR = re.compile(r"^pfgen_rs\.errors\.(\w+): (.+)$", re.MULTILINE)
_HOST_AND_PORT = re.compile(r"(?:ray://)?(?P<host>[\w.-]+):(?P<port>\d+)")
_PATIENCE = 10  # seconds
_TOGETHER = 16  # partial results that one task merges
_PARQUET = (".parquet", ".pq")
_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


def connect(address: str | None = None) -> None:
    """Connect to a cluster (`auto`: that of this machine), or start Ray on this one; no-op if connected.

    Raises `PfgenError` for an address at which no cluster is found: after ten seconds if nothing answers.
    """
    if ray.is_initialized():
        return
    try:
        if found := _HOST_AND_PORT.fullmatch(address or ""):
            # Ray itself would try for minutes.
            socket.create_connection((found["host"], int(found["port"])), _PATIENCE).close()
        ray.init(address=address, log_to_driver=False)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        raise PfgenError(f"no Ray cluster at address {address!r}: {error}") from error


def score(
    dataset: ray.data.Dataset,
    benchmark: Named = None,
    *,
    settings: Settings | None = None,
    question_field: str = "question",
    answer_field: str = "answer",
    clean: Clean = False,
    on_problem: OnProblem = "report",
    concurrency: int | None = None,
    **remote_args: Any,
) -> ray.data.Dataset:
    """Returns a dataset with scores, which are computed when it is used.

    Columns and arguments are those of `integrations.arrow.scorer`. Scores are computed by tasks with one
    thread each, at most `concurrency` at a time; `remote_args` are Ray's for tasks, such as `memory`. Rows
    keep their order within a block; blocks keep theirs if the data context's
    `execution_options.preserve_order` is set.

    Raises what `scorer` raises, and `SettingsError` for arguments that would make it actors.
    """
    made = _scorer_of(benchmark, settings, question_field, answer_field, clean, on_problem)
    task = ScoringTask(pickle.dumps(made))
    return _mapped(dataset, task, concurrency, remote_args)


def evaluate(
    dataset: ray.data.Dataset,
    benchmark: Named = None,
    *,
    by: str | None = None,
    order: str | None = None,
    settings: Settings | None = None,
    question_field: str = "question",
    answer_field: str = "answer",
    clean: Clean = False,
    on_problem: OnProblem = "report",
    concurrency: int | None = None,
    **remote_args: Any,
) -> Evaluation:
    """Returns the figures of runs: of a dataset of answers, which are scored, or of one that `score` made.

    `by`, `order`: as for `distributed.Partial`. With `order` figures are those of `Benchmark.evaluate`, and
    about 100 bytes a row must fit into the memory of one worker and of this process; without, some kilobytes
    a run do. Partial results are made by tasks and merged by tasks in a tree.

    Rows that cannot be scored are in the result's `left_out`, and a warning is logged. Raises `InputError`
    for no rows, and what `score` and `Partial.results` raise.
    """
    made = _scorer_of(benchmark, settings, question_field, answer_field, clean, on_problem)
    task = FiguresTask(pickle.dumps(made), by, order)
    partials = _mapped(dataset, task, concurrency, remote_args)
    refs = list(_run(partials.to_arrow_refs))
    return distributed.noted(_results(made, _merged_in_a_tree(task.pickled, refs)))


def score_file(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    benchmark: Named = None,
    *,
    by: str | None = None,
    order: str | None = None,
    settings: Settings | None = None,
    question_field: str = "question",
    answer_field: str = "answer",
    clean: Clean = False,
    on_problem: OnProblem = "report",
    concurrency: int | None = None,
    **remote_args: Any,
) -> Evaluation:
    """Score files to a folder of Parquet files, in one pass. Returns the figures of the runs in them.

    `paths`: Parquet, or JSON lines (plain or `.gz`): files, globs or folders of Parquet, URLs as well. `out`:
    a folder, or a URL, that is empty or does not exist. Each file in it appears whole, and `_SUCCESS`, a JSON
    object with the signature and counts, when all are there; if the job fails they are removed. Other
    arguments are those of `evaluate`.

    Raises `OutputError` for a folder that is not empty or cannot be written, and `InputError` for files of
    other formats, before anything is scored; then what `evaluate` raises, and `InputError` if no row can be
    scored.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise InputError("no files to score")
    made = _scorer_of(benchmark, settings, question_field, answer_field, clean, on_problem)
    figures = FiguresTask(pickle.dumps(made), by, order)
    dataset = _run(lambda: _read([os.fspath(path) for path in given]))
    parts = Parts(*empty_folder(os.fspath(out)), figures)
    scored = _mapped(dataset, ScoringTask(figures.pickled), concurrency, remote_args)
    try:
        _run(lambda: scored.write_datasink(parts))
        found = _results(made, parts.partials)
        if not found:
            raise InputError(f"nothing to summarise: {left_out_note(found.left_out)}")
        parts.mark(_about(made, found))
    except BaseException:
        parts.remove()
        raise
    return distributed.noted(found)


def _scorer_of(
    benchmark: Named,
    settings: Settings | None,
    question_field: str,
    answer_field: str,
    clean: Clean,
    on_problem: OnProblem,
) -> ArrowScorer:
    return scorer(
        benchmark,
        settings=settings,
        question_field=question_field,
        answer_field=answer_field,
        clean=clean,
        on_problem=on_problem,
        threads=1,
    )


def _mapped(
    dataset: ray.data.Dataset, task: Any, concurrency: int | None, remote_args: dict[str, Any]
) -> ray.data.Dataset:
    """Returns a dataset whose blocks are what tasks make of whole blocks."""
    if "compute" in remote_args or isinstance(concurrency, tuple | list):
        raise SettingsError(
            "scores are computed by tasks: a pool of actors that takes every CPU leaves none to read with, "
            "and Ray waits forever; limit the number of tasks with concurrency=N"
        )
    return dataset.map_batches(
        task,
        batch_size=None,
        batch_format="pyarrow",
        zero_copy_batch=True,
        concurrency=concurrency,
        **remote_args,
    )


def _merged_in_a_tree(pickled: bytes, refs: list[Any]) -> list[bytes]:
    """Returns the merged partial result of tables in Ray's store, in a list that is empty without any."""
    merge = ray.remote(merged_task)
    while len(refs) > 1:
        groups = (refs[at : at + _TOGETHER] for at in range(0, len(refs), _TOGETHER))
        refs = [merge.remote(pickled, *group) for group in groups]
    return partials_of(_run(lambda: ray.get(refs)))


def _results(made: ArrowScorer, partials: list[bytes]) -> Evaluation:
    if not partials:
        raise InputError("the dataset has no rows")
    return distributed.merged(partials, made.benchmark).results()


def _run(work: Callable[[], Made]) -> Made:
    """Do work on the cluster; an error of this package that a task raised is raised here."""
    try:
        return work()
    except Exception as error:
        found = _own_error(error) or _unreadable(error)
        if found is None:
            raise
        raise found from error


def _own_error(error: Exception) -> PfgenError | None:
    """Returns the error of this package that is behind one of Ray's, in which causes are only text.

    Ray's may be of the class of its cause, too, with a whole traceback as its message.
    """
    if not isinstance(error, RayError):
        return error if isinstance(error, PfgenError) else None
    found = _OWN_ERROR.findall(str(error))
    if not found:
        return None
    name, message = found[-1]
    kind = getattr(errors, name, PfgenError)
    made: PfgenError = kind(message)
    return made


def _unreadable(error: Exception) -> InputError | None:
    """Returns an error of one line for files that Ray or Arrow cannot read, in a task or before."""
    kind, text = type(error), str(error)
    if f"{kind.__module__}.{kind.__name__}" == "pyarrow.lib.ArrowInvalid":
        what = text
    elif isinstance(error, RayError) and _READING in text and (causes := _CAUSE.findall(text)):
        name, what = causes[-1]
        if name.endswith("JSONDecodeError"):  # of the whole file, with a place that says nothing
            what = "a line is not JSON"
    else:
        return None
    problem = (
        f"Ray cannot read the files: {what.rstrip('.')}; scored without Ray, the error says where"
    )
    return InputError(" ".join(problem.split()))


def _read(paths: Sequence[str]) -> ray.data.Dataset:
    for path in paths:
        encoded_url(path)  # refuses credentials, before anything shows them
    kinds = {_reader_of(path) for path in paths}
    if len(kinds) != 1:
        raise InputError("files of one format are needed: all Parquet, or all JSON lines")
    # Workers may have another working directory.
    found = expand_runs(paths, Storage({}))
    for path in found:
        _check_that_ray_reads(path)
    read = kinds.pop()
    taken = [_as_ray_takes(path) for path in found]
    pieces = pieces_of(taken) if read is ray.data.read_parquet else None
    return read(taken) if pieces is None else _read_pieces(pieces)


def _read_pieces(pieces: Sequence[Piece]) -> ray.data.Dataset:
    """Returns the rows of pieces, each of which a task reads."""
    rows = [piece._asdict() for piece in pieces]
    named = ray.data.from_items(rows, override_num_blocks=len(rows))
    return named.map_batches(
        ReadingTask(ROWS), batch_size=None, batch_format="pyarrow", zero_copy_batch=True
    )


def _as_ray_takes(path: str) -> str:
    if is_url(path):
        return encoded_url(path)
    if "?" in path:
        raise InputError("Ray takes what follows '?' for a query: rename the file", path=path)
    return str(Path(path).absolute())


def _reader_of(path: str) -> Any:
    name = path.lower()
    if name.endswith(_LINES):
        return ray.data.read_json
    if name.endswith(_PARQUET) or "." not in name.rstrip("/").rpartition("/")[2]:
        return ray.data.read_parquet
    raise InputError(
        "Ray reads Parquet and JSON lines (plain or .gz): convert the file, or score it without Ray",
        path=shown_url(path),
    )


def _check_that_ray_reads(path: str) -> None:
    """Raise `InputError` for what Ray would name in a traceback of its workers."""
    if is_url(path):
        if path.lower().startswith(("http", "hf")):
            raise InputError(
                "Ray reads local files and object storage: copy it there", path=shown_url(path)
            )
        return
    if path == STANDARD_INPUT:
        raise InputError("Ray cannot read standard input: name files", path=path)
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - the error says why
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    if is_folder and not any(Path(path).rglob("*.parquet")):
        raise InputError("the folder has no Parquet files", path=path)


def _about(made: ArrowScorer, found: Evaluation) -> dict[str, Any]:
    left_out = [[run, reason, n] for run, c in found.left_out.items() for reason, n in c.items()]
    rows = sum(run.height for run in found.values())
    rows += sum(counts.total() for counts in found.left_out.values())
    return {"signature": made.signature, "rows": rows, "left_out": left_out}
