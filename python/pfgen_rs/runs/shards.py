"""Scores one shard of many: its part of the files, into a folder that `merging` puts together with others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import polars as pl

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import Options, Source
from pfgen_rs.io.chunk import Kept
from pfgen_rs.io.keep import Keep, kept_columns, with_runs
from pfgen_rs.io.remote.source import opened_sources
from pfgen_rs.io.remote.storage import Storage
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs import streaming
from pfgen_rs.runs.file_scores import FileScores
from pfgen_rs.runs.responses import FileResponses
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.score_store import stored_columns
from pfgen_rs.runs.shard_folder import Manifest, ShardWriter
from pfgen_rs.runs.shard_plan import Shard, plan_shards

__all__ = ["ShardJob"]


class ShardJob:
    """A shard to score: `run` writes its folder, which appears whole or not at all.

    `sources`: its files and pieces of files. `rows`: whether to keep the responses' rows, which tables of all
    responses need; others as for `Job`. Raises `InputError`, `SettingsError`, `OutputError`.
    """

    def __init__(
        self,
        benchmark: QuestionSet,
        paths: Sequence[str],
        options: Options,
        shard: Shard,
        *,
        rows: bool = False,
        keep: Keep = None,
        run_field: str | None = None,
        threads: int | None = None,
        storage: Storage | None = None,
    ) -> None:
        self._benchmark, self._shard, self._threads = benchmark, shard.checked(), threads
        if keep is not None and not rows:
            raise SettingsError("keeping columns of a shard requires its rows (--rows)")
        self._inputs = opened_sources(paths, storage)
        self._plan = plan_shards(self._inputs, shard.total, options)
        self._rows = rows
        taken = ["file", "question", "answer", "question_id", "signature", *self._names]
        kept = kept_columns(self._inputs, options, keep, taken) if rows else ()
        self._options = with_runs(replace(options, keep=kept), run_field, taken)
        self._asked = keep not in (None, "all")
        self.sources = [self._source(number) for number in self._mine]

    @property
    def _names(self) -> list[str]:
        return [name for name in stored_columns(self._benchmark.sources) if name != "start"]

    @property
    def _mine(self) -> list[int]:
        return self._plan.shards[self._shard.number - 1]

    def _source(self, number: int) -> Source:
        piece = self._plan.pieces[number]
        if piece.rows is None:
            return self._inputs[piece.file]
        source = Source(self._plan.inputs[piece.file].path)
        source.rows = piece.rows
        return source

    def run(
        self, out: str | os.PathLike[str], progress: streaming.ScoringProgress | None = None
    ) -> Manifest:
        """Score the shard and write its folder `out`, in place of an earlier one. Returns its manifest."""
        manifest = self._manifest()
        width = len(stored_columns(self._benchmark.sources))
        with ShardWriter(out, manifest, width, rows=self._rows) as writer:
            if self.sources:  # one of several shards builds the index for all of them
                self._benchmark.prepare(threads=self._threads)
            responses = sum(self._scored_pieces(writer, progress))
            writer.commit(responses)
        return replace(manifest, responses=responses)

    def _manifest(self) -> Manifest:
        benchmark, options, plan = self._benchmark, self._options, self._plan
        about = {
            "signature": benchmark.signature,
            "metadata_hash": benchmark.metadata_hash,
            "settings": asdict(benchmark.settings),
            "columns": stored_columns(benchmark.sources),
            "options": {
                "question_field": options.question_field,
                "answer_field": options.answer_field,
                "skip_bad_lines": options.skip_bad_lines,
                "strict": options.strict,
                "replace_invalid": options.replace_invalid,
                "clean": options.clean,
                "run_field": None if options.run is None else options.run.key,
                "rows": self._rows,
            },
            "keep": [_kept_in_words(kept) for kept in options.keep],
            "asked": self._asked,
            "run": None if options.run is None else options.run.name,
            "sizes": [options.text_size, options.rows],
        }
        folder = None if benchmark.folder is None else str(benchmark.folder)
        return Manifest(self._shard, about, folder, plan.inputs, plan.pieces, self._mine)

    def _scored_pieces(
        self, writer: ShardWriter, progress: streaming.ScoringProgress | None
    ) -> Iterator[int]:
        """Score and write all pieces. Yields the number of responses of each."""
        numbers = {
            id(source): number for number, source in zip(self._mine, self.sources, strict=True)
        }
        filled: set[str] = set()

        def take(source: Source, rows: pl.DataFrame, _: str) -> None:
            filled.update(
                kept.name for kept in self._options.keep if rows[kept.name].null_count() < len(rows)
            )
            writer.add_rows(numbers[id(source)], rows)

        pieces = streaming.score_pieces(
            self._benchmark,
            self.sources,
            self._options,
            threads=self._threads,
            take=take if self._rows else None,
            progress=progress,
        )
        for number, source, found in zip(self._mine, self.sources, pieces, strict=True):
            self._refuse_changed(number, source)
            content = self._piece(number, source, found)
            _write_scores(writer, number, found)
            writer.add_piece({**content, "filled": sorted(filled)})
            filled.clear()
            yield sum(scores.height for scores in found.runs.values())

    def _refuse_changed(self, number: int, source: Source) -> None:
        """Raise `InputError` if a file is not as it was when all were divided."""
        if source.size != self._plan.inputs[self._plan.pieces[number].file].size:
            raise InputError(
                "the file changed while it was in use: score it again", path=source.path
            )

    def _piece(self, number: int, source: Source, found: FileScores) -> dict[str, Any]:
        """Returns what is to be known of a piece besides its scores."""
        samples = {} if source.rows is not None else self._samples(source, found)
        return {
            "piece": number,
            "config": found.config,
            "clean": found.clean,
            "input_hash": found.input_hash,
            "decoded": found.decoded,
            "chunks": max((len(scores.parts) for scores in found.runs.values()), default=0),
            "runs": [
                {
                    "name": name,
                    "unclean": found.unclean.get(name, {}),
                    "counted": found.counted.get(name, []),
                    "samples": samples.get(name),
                }
                for name in found.runs
            ],
            "problems": [_problem_in_words(problem) for problem in found.problems],
            "cut_short": None if found.cut_short is None else _problem_in_words(found.cut_short),
        }

    def _samples(self, source: Source, found: FileScores) -> dict[str | None, list[Any]]:
        """Returns the records that `result.json` shows of each run of a whole file, with their lines."""
        texts = FileResponses(source, self._options, None, found.clean)
        results = found.results(
            self._benchmark, self._options.run, dict.fromkeys(found.runs, texts)
        )
        return {result.run: _samples_of_run(result) for result in results}


def _samples_of_run(result: Result) -> list[Any]:
    places = result.sample_places
    records = [record for _, record in result.responses.records(places)]
    return [[line, record] for (line, _), record in zip(places, records, strict=True)]


def _write_scores(writer: ShardWriter, number: int, found: FileScores) -> None:
    for run, scores in enumerate(found.runs.values()):
        for chunk, (part, matrix) in enumerate(scores.stored()):
            if part.rows:
                writer.add_scores(f"{number} {chunk} {run}", matrix, part.bounds)


def _kept_in_words(kept: Kept) -> list[str]:
    return [kept.key, kept.name, str(kept.kind)]


def _problem_in_words(problem: InputError) -> dict[str, Any]:
    return {
        "kind": type(problem).__name__,
        "problem": problem.problem,
        "line": problem.line,
        "question": problem.question,
        "item": problem.item,
    }
