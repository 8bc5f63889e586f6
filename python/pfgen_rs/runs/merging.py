"""Puts scored shards together: the results and files of one run over all of their inputs, byte for byte."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

import polars as pl

from pfgen_rs.errors import InputError, OutputError, UnknownQuestionError
from pfgen_rs.io import Options, Source, TableWriter, patterns
from pfgen_rs.io.chunk import Kept
from pfgen_rs.io.cleaning import Mode
from pfgen_rs.io.closing import Closing
from pfgen_rs.io.counted import counted, plural
from pfgen_rs.io.keep import MOST_RUNS, too_many_runs
from pfgen_rs.io.remote.storage import Storage
from pfgen_rs.io.remote.target import RemoteTarget
from pfgen_rs.io.remote.urls import is_url
from pfgen_rs.io.unclean import Counted, counted_together
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.metrics.units import Answer
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs import outputs, streaming
from pfgen_rs.runs.file_scores import FileScores
from pfgen_rs.runs.naming import output_names, run_name
from pfgen_rs.runs.responses import FileResponses, with_texts
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.score_store import Part, ResponseScores, Store, stored_columns
from pfgen_rs.runs.shard_folder import Manifest, ShardFolder, is_shard
from pfgen_rs.runs.shard_plan import Input, is_unchanged
from pfgen_rs.runs.shard_rows import DAMAGED

__all__ = ["MergeJob", "open_shards"]

_SHOWN = 10
_DIFFERENCES = {
    "settings": "other settings",
    "options": "other options",
    "run": "other options",
    "keep": "other columns to keep",
    "asked": "other columns to keep",
    "metadata_hash": "another question set",
    "columns": "another question set",
    "signature": "another version",
    "sizes": "another version",
}


def open_shards(places: Iterable[str | os.PathLike[str]]) -> list[ShardFolder]:
    """Open the folders of shards, or all shards directly in a folder. Returns them by number.

    Raises `InputError` if shards are missing, are given twice, or do not belong together.
    """
    found = [ShardFolder(path) for place in places for path in _shards_in(Path(place))]
    if not found:
        raise InputError("no shards: name their folders")
    first = min(found, key=lambda shard: shard.manifest.shard.number)
    by_number: dict[int, ShardFolder] = {}
    for shard in found:
        _refuse_foreign(shard, first)
        number = shard.manifest.shard.number
        if number in by_number:
            raise InputError(
                f"{shard.manifest.shard} was given twice: {by_number[number].path} and {shard.path}"
            )
        by_number[number] = shard
    total = first.manifest.shard.total
    missing = [number for number in range(1, total + 1) if number not in by_number]
    if missing:
        shown = ", ".join(map(str, missing[:_SHOWN])) + (", …" if len(missing) > _SHOWN else "")
        is_are = plural(len(missing), "is", "are")
        raise InputError(f"{len(missing)} of {counted(total, 'shard')} {is_are} missing: {shown}")
    shards = [by_number[number] for number in sorted(by_number)]
    _refuse_incomplete(shards)
    return shards


def _refuse_incomplete(shards: Sequence[ShardFolder]) -> None:
    """Raise `InputError` unless the shards have every piece once: their manifests may have been edited."""
    pieces = range(len(shards[0].manifest.pieces))
    owners = Counter(number for shard in shards for number in shard.manifest.mine)
    for shard in shards:
        if any(owners[number] > 1 or number not in pieces for number in shard.manifest.mine):
            raise InputError(DAMAGED, path=shard.path)
    if len(owners) < len(pieces):
        raise InputError("the shards do not have all pieces of the inputs: score them again")


def _shards_in(place: Path) -> list[Path]:
    if is_shard(place) or not place.is_dir():
        return [place]
    return sorted(path for path in place.iterdir() if path.name[0] != "." and is_shard(path)) or [
        place
    ]


def _refuse_foreign(shard: ShardFolder, first: ShardFolder) -> None:
    """Raise `InputError` for a shard that does not belong to the first one."""
    mine, theirs = shard.manifest, first.manifest
    other = f"{theirs.shard} ({first.path})"
    if mine.shard.total != theirs.shard.total:
        raise InputError(f"{mine.shard} does not belong with {other}", path=shard.path)
    difference = _difference_of_shards(mine, theirs)
    if difference is not None:
        raise InputError(
            f"{mine.shard} was scored with {difference}, unlike {other}", path=shard.path
        )


def _difference_of_shards(mine: Manifest, theirs: Manifest) -> str | None:
    """Returns what differs, such as `other settings (unit)`; `None` if they belong together."""
    for key, difference in _DIFFERENCES.items():
        one, other = mine.about[key], theirs.about[key]
        if one != other:
            return f"{difference}{_keys_that_differ(one, other)}"
    for one, other in zip(mine.inputs, theirs.inputs, strict=False):
        if one != other:
            return f"other inputs ({_difference_of_inputs(one, other)})"
    if len(mine.inputs) != len(theirs.inputs):
        return f"other inputs ({counted(len(mine.inputs), 'file')}, not {len(theirs.inputs)})"
    return None if mine.pieces == theirs.pieces else "inputs divided otherwise"


def _keys_that_differ(one: Any, other: Any) -> str:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return f" ({one!r}, not {other!r})" if isinstance(one, str) else ""
    return f" ({', '.join(key for key in one if one[key] != other.get(key))})"


def _difference_of_inputs(one: Input, other: Input) -> str:
    if one.path != other.path:
        return f"{one.path}, not {other.path}"
    if one.size != other.size:
        return f"{one.path} had {one.size:,} bytes, not {other.size:,}"
    if (one.rows, one.footer) != (other.rows, other.footer):
        return f"{one.path} has changed"
    return f"{one.path} would be named {one.folder!r}, not {other.folder!r}"


@dataclass
class _Scored:
    """A piece: its shard, what is known of it, and the parts of its runs by run and chunk."""

    shard: ShardFolder
    about: Mapping[str, Any]
    parts: dict[tuple[int, int], Part] = field(default_factory=dict)

    @property
    def rows(self) -> Iterator[pl.DataFrame]:
        """Its rows, chunk by chunk, without empty chunks."""
        return self.shard.rows.frames(self.about["piece"])


class MergeJob(Closing):
    """Shards to merge, and the outputs to write.

    A context manager: call `run`, then `write`. `load` returns the benchmark with these settings, given the
    folder that it had. `out` and `per_response` may be URLs, opened with `storage`. Needs the inputs only for
    samples of files that were divided.
    """

    def __init__(
        self,
        places: Iterable[str | os.PathLike[str]],
        load: Callable[[str | None, Settings], QuestionSet],
        *,
        out: str | os.PathLike[str] | None = None,
        per_response: str | os.PathLike[str] | None = None,
        allow_partial: bool = False,
        storage: Storage | None = None,
    ) -> None:
        self._shards = open_shards(places)
        self._manifest = self._shards[0].manifest
        self._about = self._manifest.about
        self._inputs = self._manifest.inputs
        self._out, self._table_path = out, per_response
        self._storage = storage or Storage()
        self._allow_partial = allow_partial
        self._table: TableWriter | None = None
        self._refuse_outputs()
        self._benchmark = self._loaded(load)
        self._options = self._read_options()
        self._files: list[list[_Scored]] = [[] for _ in self._inputs]
        self._results: list[list[Result]] = []

    def _refuse_outputs(self) -> None:
        """Raise an error for what cannot be written."""
        paths = [file.path for file in self._inputs]
        if self._table_path is not None:
            patterns.refuse_overwriting(self._table_path, paths)
            if not self._about["options"]["rows"]:
                raise OutputError(
                    "the shards have no rows for a table of all responses: score them with --rows (in "
                    "Python: rows=True)"
                )
        place = None if self._out is None else outputs.result_place(self._out)
        for target in (place, self._table_path):
            if target is not None and is_url(target):
                RemoteTarget(target, self._storage).check()
        named = [(file.folder, file.name) for file in self._inputs]
        here = list(zip(output_names(paths), map(run_name, paths), strict=True))
        if named != here:
            raise InputError(
                "the relative paths of inputs give other names here: merge in the folder in which the shards "
                "were scored"
            )

    def _loaded(self, load: Callable[[str | None, Settings], QuestionSet]) -> QuestionSet:
        benchmark = load(self._manifest.benchmark, Settings(**self._about["settings"]))
        theirs = (self._about["signature"], self._about["metadata_hash"])
        if (benchmark.signature, benchmark.metadata_hash) != theirs:
            raise InputError(
                f"the shards have scores of {theirs[0]}, but this is {benchmark.signature}: merge with the "
                "benchmark and the version that scored them"
            )
        return benchmark

    def _read_options(self) -> Options:
        options, run = self._about["options"], self._about["run"]
        return Options(
            options["question_field"],
            options["answer_field"],
            options["skip_bad_lines"],
            tokens=self._benchmark.settings.unit == "token",
            clean=options["clean"],
            strict=options["strict"],
            replace_invalid=options.get("replace_invalid", False),
            run=None if run is None else Kept(options["run_field"], run, pl.String()),
        )

    def run(self) -> list[Result]:
        """Read and check all shards. Returns the results, in the order of one run."""
        store = streaming.new_store(self._benchmark)
        for shard in self._shards:
            self._read(shard, store)
        for number, pieces in enumerate(self._files):
            pieces.sort(key=lambda piece: piece.about["piece"])
            self._results.append(self._merged(self._inputs[number], pieces, store))
        return [result for results in self._results for result in results]

    def _read(self, shard: ShardFolder, store: Store) -> None:
        """Read the scores of a shard into the store."""
        manifest = shard.manifest
        found = {about["piece"]: _Scored(shard, about) for about in shard.pieces()}
        names = stored_columns(self._benchmark.sources)
        for record, matrix in shard.scores(len(names), self._benchmark.ids):
            part = store.add(str, matrix, record.bounds)
            if not _is_placed(part, record.key, found):
                raise InputError(DAMAGED, path=shard.path)
        heights = Counter(
            {piece: sum(part.rows for part in of.parts.values()) for piece, of in found.items()}
        )
        if heights.total() != manifest.responses:
            raise InputError(DAMAGED, path=shard.path)
        if self._about["options"]["rows"] and shard.rows.heights() != +heights:
            raise InputError(DAMAGED, path=shard.path)
        for number, scored in found.items():
            self._files[manifest.pieces[number].file].append(scored)

    def _merged(self, file: Input, pieces: list[_Scored], store: Store) -> list[Result]:
        found = _scores_of_pieces(file, pieces, store, self._options, self._benchmark)
        responses = {
            name: _ShardResponses(file, pieces, name, self._options, self._kept, found.clean)
            for name in found.runs
        }
        return found.results(self._benchmark, self._options.run, responses)

    @property
    def _kept(self) -> list[str]:
        return [name for _, name, _ in self._about["keep"]]

    def write(self) -> None:
        """Put all files in place, as `Job.write` does."""
        self._refuse_unknown()
        results = [result for results in self._results for result in results]
        if self._out is not None:
            outputs.refuse_incomplete(results, allow_partial=self._allow_partial)
        if self._table_path is not None:
            self._write_rows()
        if self._table is not None:
            self._table.finish()
        if self._out is not None:
            outputs.write_results(
                results,
                self._out,
                allow_partial=self._allow_partial,
                storage_options=self._storage,
            )
        if self._table is not None:
            self._table.commit()

    def _refuse_unknown(self) -> None:
        """Raise `InputError` for a key to keep that no response has."""
        if self._table_path is None or not self._about["asked"]:
            return
        filled = {
            name for pieces in self._files for piece in pieces for name in piece.about["filled"]
        }
        for key, name, _ in self._about["keep"]:
            if name not in filled:
                raise InputError(f"cannot keep {key!r}: no response has a value for it")

    def _write_rows(self) -> None:
        for pieces, results in zip(self._files, self._results, strict=True):
            for piece in pieces:
                for rows in piece.rows:
                    self._add(_signed_rows(rows, results, self._about["run"]))

    def _add(self, frame: pl.DataFrame) -> None:
        if self._table is None:
            path = cast("str | os.PathLike[str]", self._table_path)
            target = RemoteTarget(path, self._storage) if is_url(path) else path
            self._table = TableWriter(target, frame.schema)
        self._table.write(frame)

    def close(self) -> None:
        """Remove a table that is not in place."""
        if self._table is not None:
            self._table.discard()


def _is_placed(part: Part, key: str, pieces: Mapping[int, _Scored]) -> bool:
    """Put a part where its key says, once; returns whether there is such a place."""
    match = re.fullmatch(r"([0-9]{1,9}) ([0-9]{1,9}) ([0-9]{1,9})", key)
    piece, chunk, run = map(int, match.groups()) if match else (-1, -1, -1)
    scored = pieces.get(piece)
    if scored is None or chunk >= scored.about["chunks"] or run >= len(scored.about["runs"]):
        return False
    return scored.parts.setdefault((run, chunk), part) is part


def _signed_rows(rows: pl.DataFrame, results: Sequence[Result], run: str | None) -> pl.DataFrame:
    """Returns rows with the file, and with the signatures of their runs."""
    placed = outputs.with_place(rows, results[0].path, results[0].signature)
    signatures = {result.run: result.signature for result in results}
    if run is None or len(set(signatures.values())) == 1:
        return placed
    return placed.with_columns(pl.col(run).replace_strict(signatures).alias("signature"))


def _scores_of_pieces(
    file: Input,
    pieces: Sequence[_Scored],
    store: Store,
    options: Options,
    benchmark: QuestionSet,
) -> FileScores:
    """Returns what scoring the whole file would have found."""
    first = pieces[0].about
    if any(
        (piece.about["config"], piece.about["clean"]) != (first["config"], first["clean"])
        for piece in pieces
    ):
        raise InputError("its config.json changed while shards were scored", path=file.path)
    names = list(dict.fromkeys(run["name"] for piece in pieces for run in piece.about["runs"]))
    if len(names) > MOST_RUNS and options.run is not None:
        raise InputError(too_many_runs(options.run.key), path=file.path)
    cut_short = [piece.about["cut_short"] for piece in pieces if piece.about["cut_short"]]
    return FileScores(
        file.path,
        first["config"],
        first["clean"],
        first["input_hash"],
        sum(piece.about["decoded"] for piece in pieces),
        {name: _scores_of_run(name, pieces, store) for name in names},
        _problems_of_pieces(file, pieces, benchmark),
        _problem_of_words(cut_short[-1], file.path) if cut_short else None,
        {name: _unclean_of_run(name, pieces) for name in names},
    )


def _run_in_piece(name: str | None, piece: _Scored) -> tuple[int, Mapping[str, Any]] | None:
    """Returns the number of a run in a piece, and what is known of it there."""
    runs = enumerate(piece.about["runs"])
    return next(((number, run) for number, run in runs if run["name"] == name), None)


def _scores_of_run(name: str | None, pieces: Sequence[_Scored], store: Store) -> ResponseScores:
    scores = ResponseScores(store)
    for piece in pieces:
        found = _run_in_piece(name, piece)
        number = None if found is None else found[0]
        for chunk in range(piece.about["chunks"]):
            part = None if number is None else piece.parts.get((number, chunk))
            scores.parts.append(part or store.nothing)
    return scores


def _unclean_of_run(name: str | None, pieces: Sequence[_Scored]) -> Counter[str]:
    found = [run[1] for piece in pieces if (run := _run_in_piece(name, piece)) is not None]
    if len(pieces) == 1:
        return Counter(found[0]["unclean"])
    return counted_together(
        Counted(answers, Counter(unclean), noticed)
        for run in found
        for answers, unclean, noticed in run["counted"]
    )


def _problems_of_pieces(
    file: Input, pieces: Sequence[_Scored], benchmark: QuestionSet
) -> list[InputError]:
    """Returns the problems of a file; similar questions are suggested for its first unknown ones only."""
    found = [
        _problem_of_words(words, file.path) for piece in pieces for words in piece.about["problems"]
    ]
    unknown = (i for i, problem in enumerate(found) if isinstance(problem, UnknownQuestionError))
    for i in islice(unknown, streaming.SEARCHES, None):
        asked, line, item = str(found[i].question), found[i].line, found[i].item
        found[i] = benchmark.unknown(asked, path=file.path, line=line, item=item, search=False)
    return found


def _problem_of_words(words: Mapping[str, Any], path: str) -> InputError:
    kind = UnknownQuestionError if words["kind"] == UnknownQuestionError.__name__ else InputError
    return kind(
        words["problem"],
        path=path,
        line=words["line"],
        question=words["question"],
        item=words["item"],
    )


class _ShardResponses:
    """The texts of a run as far as its shards have them; those of a file that was divided are read again."""

    def __init__(
        self,
        file: Input,
        pieces: Sequence[_Scored],
        run: str | None,
        options: Options,
        kept: Sequence[str],
        clean: Mode | None,
    ) -> None:
        self._file, self._pieces, self._run = file, pieces, run
        self._options, self._kept, self._clean = options, kept, clean

    def frames(self, scores: ResponseScores) -> Iterator[pl.DataFrame]:
        """Yield rows with texts and scores, in order."""
        if not all(piece.shard.has_rows for piece in self._pieces):
            raise InputError(
                "the shards have no texts: score them with --rows (in Python: rows=True)",
                path=self._file.path,
            )
        parts = (part for part in scores.parts if part.rows)
        chunks = (rows for piece in self._pieces for rows in piece.rows)
        for rows in chunks:
            mine = rows
            if self._run is not None and self._options.run is not None:
                mine = rows.filter(pl.col(self._options.run.name) == self._run)
            if len(mine):
                texts = mine.get_column("question"), mine.get_column("answer")
                yield with_texts(scores.frame(next(parts)), *texts, mine.select(self._kept))

    def column(self, scores: ResponseScores, key: str) -> Iterator[pl.Series]:
        """Refuse: shards have no other texts."""
        del scores
        raise InputError(f"the shards have no {key!r}", path=self._file.path)

    def records(
        self, samples: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[Answer, dict[str, Any]]]:
        """Yield the answer and complete record of the samples."""
        [found, *others] = [_run_in_piece(self._run, piece) for piece in self._pieces]
        if others or found is None or found[1]["samples"] is None:
            yield from self._read_again(samples)
            return
        records = dict(found[1]["samples"])
        for line, _ in samples:
            record = records[line]
            yield record[self._options.answer_field], record

    def _read_again(
        self, samples: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[Answer, dict[str, Any]]]:
        """Read samples from a file that was divided among shards: none of them could know which they are."""
        path = self._file.path
        try:
            unchanged = is_unchanged(self._file)
        except InputError as error:
            raise InputError(
                f"{error.problem}: it was divided among shards, whose merging reads its samples again",
                path=path,
            ) from None
        if not unchanged:
            raise InputError("the file changed after it was scored: score it again", path=path)
        options = replace(self._options, run=None)
        yield from FileResponses(Source(path), options, None, self._clean).records(samples)
