"""Scores files into files: written incrementally, put in place at the end, resumable after interruptions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from pfgen_rs.errors import InputError
from pfgen_rs.io import run_files
from pfgen_rs.io.atomic import remove_unfinished, writing_failed
from pfgen_rs.io.chunk import Kept, Options
from pfgen_rs.io.reading import Keep, kept_columns, with_runs
from pfgen_rs.io.remote.urls import is_url
from pfgen_rs.io.run_files import stated_model
from pfgen_rs.io.source import Closing, Source, opened_sources, storage_for
from pfgen_rs.io.table_writer import TableWriter
from pfgen_rs.lazy import pl
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs import outputs, streaming
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.score_store import Store, stored_columns

if TYPE_CHECKING:
    from pfgen_rs.io.remote.storage import RemoteTarget, Storage

JOURNAL = "scores.journal"
_JOURNALED_FROM = 1 << 16  # responses; the scores of fewer are quickly recomputed


class Job(Closing):
    """Files that are scored together, and the outputs to write.

    A context manager: call `run`, then `write`. If it ends early, existing files are unchanged, and the
    scores of a large run are kept in a hidden folder beside its target (`left`), for the same job
    when it runs again: nothing is scored twice. The benchmark should be used for nothing else, since its
    scorers may not be kept.

    `raw`: see `TableWriter`. `paths`, `out` and `per_response` may be URLs, opened with `storage`. Scores
    of what is written there are not kept; that it can be written is tried before anything is scored.
    """

    def __init__(
        self,
        benchmark: QuestionSet,
        paths: Sequence[str],
        options: Options,
        *,
        out: str | os.PathLike[str] | None = None,
        per_response: str | os.PathLike[str] | None = None,
        raw: bool = False,
        allow_partial: bool = False,
        keep: Keep = None,
        run_field: str | None = None,
        threads: int | None = None,
        storage: Storage | None = None,
    ) -> None:
        if per_response is not None:
            run_files.refuse_overwriting(per_response, paths)
        self._storage = storage or storage_for([*paths, out, per_response])
        self._check_remote_targets(out, per_response)
        self.sources = opened_sources(paths, self._storage)
        self._benchmark, self._threads = benchmark, threads
        kept = () if per_response is None else self._kept(options, keep)
        self._options = with_runs(replace(options, keep=kept), run_field, self._taken)
        self._filled: set[str] = set()
        self._asked = keep not in (None, "all")  # for these names
        self._out, self._table_path, self._raw = out, per_response, raw
        self._allow_partial = allow_partial
        self._table: TableWriter | None = None
        self._written: set[str] = set()  # signatures
        self._results: list[Result] = []
        self._done = False
        self._store = self._new_store()

    def _check_remote_targets(
        self,
        out: str | os.PathLike[str] | None,
        per_response: str | os.PathLike[str] | None,
    ) -> None:
        place = None if out is None else outputs.result_place(out)
        for target in (place, per_response):
            if target is not None and is_url(target):
                from pfgen_rs.io.remote.storage import RemoteTarget

                RemoteTarget(target, self._storage).check()

    def _table_target(self) -> str | os.PathLike[str] | RemoteTarget:
        path = cast("str | os.PathLike[str]", self._table_path)
        if not is_url(path):
            return path
        from pfgen_rs.io.remote.storage import RemoteTarget

        return RemoteTarget(path, self._storage)

    @property
    def _taken(self) -> list[str]:
        """Names of columns that the table always has."""
        return ["file", "question", "answer", "question_id", "signature", *self._names]

    @property
    def _names(self) -> list[str]:
        return [name for name in stored_columns(self._benchmark.sources) if name != "start"]

    def _kept(self, options: Options, keep: Keep) -> tuple[Kept, ...]:
        return kept_columns(self.sources, options, keep, self._taken)

    @property
    def folder(self) -> Path | None:
        """Folder in which scores are kept, for the same job after an interruption."""
        target = self._table_path or self._out
        if target is None or is_url(target):
            return None
        target = Path(os.path.abspath(target))  # noqa: PTH100 - "." has no name of its own
        return target.parent / f".{target.name}.pfgen-rs"

    @property
    def left(self) -> Path | None:
        """The folder, if scores were left there by an early end."""
        return self.folder if not self._done and self._store.journaled else None

    def _new_store(self) -> Store:
        folder = self.folder
        if folder is None:
            return streaming.new_store(self._benchmark)
        # The same bytes, read and scored with the same options, have the same scores.
        options = self._options
        about = {
            "signature": self._benchmark.signature,
            "metadata_hash": self._benchmark.metadata_hash,
            "settings": repr(self._benchmark.settings),
            "fields": options.fields,
            "layout": [options.layout, options.requests, options.think],
            "clean": options.clean,
            "left_out": options.leave_out and [options.leave_out, *self._models()],
            "run": None if options.run is None else options.run.key,
            "sizes": [options.text_size, options.rows],
        }
        store = streaming.new_store(
            self._benchmark,
            about=about,
            open_file=lambda: _open_journal(folder),
            in_memory=_JOURNALED_FROM,
        )
        if (folder / JOURNAL).exists():
            store.resume()
            if self._table_path is not None:
                remove_unfinished(Path(self._table_path))
        return store

    def _models(self) -> list[str | None]:
        """Returns who wrote the answers of each file, as far as it is known."""
        return [self._options.model or stated_model(source.config()) for source in self.sources]

    def run(self, progress: streaming.ScoringProgress | None = None) -> list[Result]:
        """Score everything, and write the rows of the table as they become available."""
        self._results = streaming.score_sources(
            self._benchmark,
            self.sources,
            self._options,
            self._store,
            threads=self._threads,
            take=None if self._table_path is None else self._take,
            progress=progress,
            once=True,
        )
        return self._results

    def _take(self, source: Source, rows: pl.DataFrame, signature: str) -> None:
        # Whether all questions are answered is only known at the end; usually they are.
        self._written.add(signature)
        for column in self._options.keep:
            if column.name not in self._filled and rows[column.name].null_count() < len(rows):
                self._filled.add(column.name)
        self._add(outputs.with_place(rows, source.path, signature))

    def _add(self, frame: pl.DataFrame) -> None:
        if self._table is None:
            self._table = TableWriter(self._table_target(), frame.schema, raw=self._raw)
        self._table.write(frame)

    def write(self) -> None:
        """Put all files in place. Raises `IncompleteRunError` before that, as `write_results` does."""
        self._refuse_unknown()
        if self._out is not None:
            outputs.refuse_incomplete(self._results, allow_partial=self._allow_partial)
        if any(result.signature not in self._written for result in self._results):
            self._rewrite()
        if self._table is not None:
            self._table.finish()
        if self._out is not None:
            outputs.write_results(
                self._results,
                self._out,
                allow_partial=self._allow_partial,
                storage_options=self._storage,
            )
        if self._table is not None:
            self._table.commit()
        self._done = True

    def _refuse_unknown(self) -> None:
        """Raise `InputError` for a key to keep that no response has."""
        for column in self._options.keep:
            if self._table is not None and self._asked and column.name not in self._filled:
                raise InputError(f"cannot keep {column.key!r}: no response has a value for it")

    def _rewrite(self) -> None:
        """Write the table again, now that the signatures are known."""
        if self._table is None:
            return
        self._table.discard()
        self._table = None
        for _, runs in groupby(self._results, key=_scores_of_file):
            for frame in outputs.signed_frames(list(runs)):
                self._add(frame)

    def close(self) -> None:
        """Remove files that are not in place and, unless it ended early, what is kept for the next time."""
        if self._table is not None:
            self._table.discard()
        if self.left is None and self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def _scores_of_file(result: Result) -> tuple[str | None, int]:
    """Returns a key that is equal only for runs of the same file."""
    return result.path, id(result) if result.run is None else 0


def _open_journal(folder: Path) -> tuple[IO[bytes], Path]:
    path = folder / JOURNAL
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.open("xb").close()
        return cast("IO[bytes]", path.open("r+b", buffering=0)), path
    except OSError as error:
        raise writing_failed(path, error) from error
